// SPDX-License-Identifier: Apache-2.0
//! The name of the generated files and of their namespace: it must be C++, and must not meet a name
//! of the program or one of its headers.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::{GENERATED, Options};
use crate::layout::{Layout, LayoutError, Names};

/// Words that cannot name a namespace; `std` and `arrowsmith` are namespaces of others.
const TAKEN: &str = "alignas alignof and and_eq arrowsmith asm auto bitand bitor bool break case \
    catch char char16_t char32_t char8_t class co_await co_return co_yield compl concept const \
    const_cast consteval constexpr constinit continue decltype default delete do double \
    dynamic_cast else enum explicit export extern false float for friend goto if inline int long \
    main mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected \
    public register reinterpret_cast requires return short signed sizeof static static_assert \
    static_cast std struct switch template this thread_local throw true try typedef typeid \
    typename union unsigned using virtual void volatile wchar_t while xor xor_eq";

/// The name for a program's file name without its end: `STEM_messages`. `STEM` itself is likely to
/// be a name of the program or of the C library (`time`, `index`), and its header one of the
/// program's, with or without `includes`; of such names the layout knows only classes.
pub fn default_name(stem: &str, layout: &Layout, includes: &[String]) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let mut name: String = stem.chars().map(plain).collect();
    if name.starts_with(|c: char| c.is_ascii_digit()) {
        name.insert(0, '_');
    }
    name.push_str("_messages");
    let mut options = Options { name: name.clone(), includes: includes.to_vec() };
    let mut number = 2;
    // Ends: the names of a layout and its includes are finite.
    while check(layout, &options).is_err() {
        options.name = format!("{name}_{number}");
        number += 1;
    }
    options.name
}

/// Checks a name against what the debug information of the program names, which is more than the
/// layout has: functions, variables, and headers that no `--include` gives.
///
/// # Errors
///
/// A name that the program has outside of its namespaces, or one of its headers.
pub fn check_name(name: &str, program: &Names) -> Result<(), LayoutError> {
    let bad = |message: String| Err(LayoutError::new(name, message));
    if program.contains(name) {
        return bad("is a name of the program; choose another name with --name".into());
    }
    let header = format!("{name}.hpp");
    match program.files(&header).find(|file| !is_generated(file)) {
        Some(own) => bad(format!(
            "would give the generated header the name of the program's {}, and one would be found \
             in place of the other; choose another name with --name",
            own.display()
        )),
        None => Ok(()),
    }
}

/// Whether a file of the program was generated before, or is no longer there.
fn is_generated(file: &Path) -> bool {
    // Debug information may name anything; a pipe or a device is not opened.
    if !file.is_file() {
        return true;
    }
    let mut start = Vec::new();
    let opened = File::open(file).map(|file| file.take(GENERATED.len() as u64));
    let read = opened.and_then(|mut file| file.read_to_end(&mut start));
    read.is_err() || start == GENERATED.as_bytes()
}

/// Checks a name against the classes and headers of the program.
pub(super) fn check(layout: &Layout, options: &Options) -> Result<(), LayoutError> {
    let name = &options.name;
    let bad = |message: String| Err(LayoutError::new(name.as_str(), message));
    let first = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    if !first || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        return bad("is not a name of C++".into());
    }
    if TAKEN.split_ascii_whitespace().any(|word| word == name) {
        return bad("is a word of C++, or the name of a library; choose another name".into());
    }
    let header = format!("{name}.hpp");
    let same = |include: &&String| include.rsplit('/').next() == Some(header.as_str());
    if let Some(include) = options.includes.iter().find(same) {
        return bad(format!(
            "would give the generated header the name of {include}, which it includes; choose \
             another name"
        ));
    }
    let bases = layout.classes.iter().flat_map(|class| &class.bases).map(|base| &base.name);
    let mut classes = layout.classes.iter().map(|class| &class.name).chain(bases);
    let outermost = |class: &&String| class.split("::").next() == Some(name.as_str());
    match classes.find(outermost) {
        Some(class) if class == name => {
            bad("is the name of a class of the program; choose another name".into())
        }
        Some(class) => {
            bad(format!("is the namespace of the program's {class}; choose another name"))
        }
        None => Ok(()),
    }
}
