// SPDX-License-Identifier: Apache-2.0
//! Classes of debug information and annotations → [`Layout`]: the classes reachable from the root,
//! their members flattened, type ids, and the possible targets of each pointer. Unsupported classes
//! and members are refused by name.

mod containers;
mod kinds;
mod members;
mod notes;
mod references;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use gimli::constants as dw;

use self::kinds::alignment;
use super::annotate::{Annotations, ClassNote, Sources};
use super::classes::{BaseOf, Classes, is_vptr};
use super::dwarf::{self, Debug};
use super::{Base, Class, FORMAT, Layout, LayoutError, Member, Names, Reference, VtablePointer};

type Result<T> = std::result::Result<T, LayoutError>;

/// Maximum number of classes and members visited for a layout, repeated visits included.
const STEPS_MAX: usize = 1 << 22;

/// Maximum number of refusals that are reported at once.
const REFUSALS_MAX: usize = 100;

/// Options of a layout.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The static class of the pointer to the first object.
    pub root: String,
    /// Annotations of a TOML file; they override those in comments.
    pub annotations: Annotations,
    /// Ignore comments in source files.
    pub no_comments: bool,
}

/// A layout, with notes for its user.
#[derive(Debug, Clone)]
pub struct Extracted {
    /// The layout, checked.
    pub layout: Layout,
    /// The names of the program, which the layout does not keep.
    pub names: Names,
    /// The classes that were skipped, with the reason, one sentence each.
    pub notes: Vec<String>,
}

/// Reads the layout of the classes reachable from a root, from an object file, a shared library or
/// a program.
///
/// # Errors
///
/// A file without debug information, or all unsupported classes and members, by name.
pub fn from_object(bytes: &[u8], options: &Options) -> Result<Extracted> {
    let debug = dwarf::read(bytes)?;
    let classes = Classes::new(&debug);
    let root = classes.find(&options.root)?;
    let mut builder = Builder {
        classes: &classes,
        debug: &debug,
        options,
        sources: Sources::default(),
        made: BTreeMap::new(),
        open: Vec::new(),
        used: BTreeSet::new(),
        walked: BTreeSet::new(),
        notes: BTreeSet::new(),
        refusals: Vec::new(),
        aligns: HashMap::new(),
        steps: 0,
    };
    let layout = builder.run(root)?;
    layout.check()?;
    let notes = builder.notes.into_iter().collect();
    Ok(Extracted { layout, names: Names::new(&debug), notes })
}

struct Builder<'a> {
    classes: &'a Classes<'a>,
    debug: &'a Debug,
    options: &'a Options,
    sources: Sources,
    /// Classes of possible objects, without type ids.
    made: BTreeMap<String, (Class, ClassNote)>,
    /// Static classes of pointers still to be visited.
    open: Vec<String>,
    /// The annotations used: of a class, and of its members by their names.
    used: BTreeSet<(String, Option<String>)>,
    /// The annotated classes whose members were all visited.
    walked: BTreeSet<String>,
    notes: BTreeSet<String>,
    /// What cannot be sent: all of it is reported at once.
    refusals: Vec<LayoutError>,
    /// Memo of [`Self::natural_align`].
    aligns: HashMap<usize, u64>,
    /// Number of classes and members visited, so that the walk ends on broken debug information.
    steps: usize,
}

/// The walk's position in a class.
#[derive(Clone)]
struct Place {
    /// For messages: the class that is laid out.
    class: String,
    prefix: String,
    offset: u64,
    depth: usize,
}

impl Place {
    fn error(&self, name: &str, message: impl Into<String>) -> LayoutError {
        LayoutError::new(format!("{}::{}{name}", self.class, self.prefix), message)
    }
}

/// The result of walking a class.
#[derive(Default)]
struct Parts {
    members: Vec<Member>,
    /// Offset, the class whose vtable group it points into, the offset within an object of that
    /// class.
    vptrs: Vec<(u64, String, u64)>,
    align: u64,
    /// Transient paths, and whether such a member was found.
    transient: BTreeMap<String, bool>,
}

impl<'a> Builder<'a> {
    fn run(&mut self, root: String) -> Result<Layout> {
        self.open.push(root.clone());
        let mut seen = BTreeSet::new();
        while let Some(name) = self.open.pop() {
            if !seen.insert(name.clone()) {
                continue;
            }
            let candidates = match self.candidates(&name) {
                Ok(candidates) => candidates,
                // Its members may be refused, too.
                Err(error) => {
                    self.refuse::<()>(error)?;
                    vec![name]
                }
            };
            for class in candidates {
                if self.made.contains_key(&class) {
                    continue;
                }
                match self.class(&class) {
                    Ok(made) => {
                        self.made.insert(class, made);
                    }
                    Err(error) => self.refuse(error)?,
                }
            }
        }
        self.unused_annotations()?;
        let order = self.type_ids()?;
        let mut slot = 0;
        let mut classes = Vec::new();
        for (index, name) in (0_u32..).zip(&order) {
            let Some((mut class, _)) = self.made.get(name).cloned() else { continue };
            class.type_id = index;
            for vptr in &mut class.vptrs {
                vptr.slot = slot;
                slot += 1;
            }
            self.resolve(name, &mut class.members, &order)?;
            classes.push(class);
        }
        let mut reference = Reference { to: root, nullable: false, targets: Vec::new() };
        self.targets("root", &mut reference, &order)?;
        self.all_refusals()?;
        let root_declaration = self.classes.declaration(&reference.to)?;
        let target = self.debug.target.clone();
        Ok(Layout { format: FORMAT, target, root: reference, root_declaration, classes })
    }

    /// Keeps a refusal, so that the walk goes on and finds the others.
    fn refuse<T: Default>(&mut self, error: LayoutError) -> Result<T> {
        if self.refusals.len() >= REFUSALS_MAX {
            return Err(self.all_refusals().err().unwrap_or(error));
        }
        if !self.refusals.contains(&error) {
            self.refusals.push(error);
        }
        Ok(T::default())
    }

    /// All refusals as one error.
    fn all_refusals(&mut self) -> Result<()> {
        match self.refusals.as_slice() {
            [] => Ok(()),
            [only] => Err(only.clone()),
            several => {
                let lines: String = several.iter().map(|error| format!("\n  {error}")).collect();
                let count = several.len();
                let first = if count < REFUSALS_MAX { "" } else { "the first " };
                let message = format!("{first}{count} members and classes cannot be sent:{lines}");
                Err(LayoutError::new("", message))
            }
        }
    }

    /// The classes of the objects that a pointer to `name` may point to.
    fn candidates(&mut self, name: &str) -> Result<Vec<String>> {
        if !self.classes.is_polymorphic(name)? {
            let derived = self.classes.with_derived(name).split_off(1);
            if !derived.is_empty() {
                self.notes.insert(format!(
                    "{name}: has no vtable, so a pointer to it is sent as a {name} even if it points \
                     to an object of a derived class ({}); a virtual destructor makes them known",
                    derived.join(", ")
                ));
            }
            return Ok(vec![name.to_owned()]);
        }
        let mut found = Vec::new();
        for class in self.classes.with_derived(name) {
            match self.has_no_objects(&class) {
                Ok(true) => continue,
                Ok(false) => {}
                Err(error) => {
                    self.refuse::<()>(error)?;
                    // Its members may be refused, too.
                    found.push(class);
                    continue;
                }
            }
            if self.classes.has_vtable(&class) {
                found.push(class);
            } else {
                self.notes.insert(format!(
                    "{class}: this file makes no object of it (its vtable is not there), so none can be sent"
                ));
            }
        }
        Ok(found)
    }

    fn has_no_objects(&mut self, class: &str) -> Result<bool> {
        Ok(self.class_note(class)?.skip || self.classes.is_abstract(class)?)
    }

    fn class(&mut self, name: &str) -> Result<(Class, ClassNote)> {
        let note = self.class_note(name)?;
        let entry = self.classes.entry(name)?;
        let size = entry.byte_size.unwrap_or(0);
        let size = u32::try_from(size)
            .map_err(|_| LayoutError::new(name, format!("has a size of {size} bytes")))?;
        let place = Place { class: name.to_owned(), prefix: String::new(), offset: 0, depth: 0 };
        let mut parts = Parts { align: 1, ..Parts::default() };
        self.complete_object(name, &place, &mut parts)?;
        for (path, _) in parts.transient.iter().filter(|(_, met)| !**met) {
            let message = "is annotated as transient, but is not a member";
            self.refuse::<()>(place.error(path, message))?;
        }
        let mut vptrs = Vec::new();
        for (offset, group, within) in std::mem::take(&mut parts.vptrs) {
            match self.vtable_pointer(name, offset, &group, within) {
                Ok(vptr) => vptrs.push(vptr),
                Err(error) => self.refuse(error)?,
            }
        }
        vptrs.sort_by_key(|vptr| vptr.offset);
        let mut bases = Vec::new();
        for base in self.subobjects(name)?.into_iter().skip(1) {
            bases.push(Base { name: base.name, offset: narrow(name, base.offset)? });
        }
        let align = narrow(name, alignment(parts.align, u64::from(size)))?;
        let members = unique_names(parts.members);
        Ok((Class { type_id: 0, name: name.to_owned(), size, align, bases, vptrs, members }, note))
    }

    /// Collects an object that is not a base: its vtable pointers are those of its own vtable
    /// group.
    fn complete_object(&mut self, name: &str, place: &Place, parts: &mut Parts) -> Result<()> {
        for part in self.subobjects(name)? {
            let entry = self.classes.entry(&part.name)?;
            for vptr in self.classes.children(entry).filter(|child| is_vptr(child)) {
                let within = part.offset + vptr.member_offset.unwrap_or(0);
                parts.vptrs.push((place.offset + within, name.to_owned(), within));
                parts.align = parts.align.max(u64::from(self.debug.target.pointer_bytes));
            }
        }
        self.walk(name, place, parts)
    }

    /// A class and its bases; none if they are refused.
    fn subobjects(&mut self, name: &str) -> Result<Vec<BaseOf>> {
        self.classes.subobjects(name).or_else(|error| self.refuse(error))
    }

    fn vtable_pointer(
        &self,
        class: &str,
        offset: u64,
        group: &str,
        within: u64,
    ) -> Result<VtablePointer> {
        let bad = |message: String| Err(LayoutError::new(class, message));
        let local = group.contains("(anonymous namespace)") || group.contains("()");
        let vtable = self.debug.vtables.get(group);
        if local || vtable.is_some_and(|vtable| !vtable.is_global) {
            return bad(format!("needs the vtable of {group}, for which other files have no name"));
        }
        let symbol = match vtable {
            Some(vtable) => vtable.symbol.clone(),
            None => match mangled(group) {
                Some(symbol) => symbol,
                None => {
                    return bad(format!("needs the vtable of {group}, which is not in this file"));
                }
            },
        };
        let width = u64::from(self.debug.target.pointer_bytes);
        // Before each address point are the offset to the top of the object, and the type
        // information.
        let point = if within == 0 {
            2 * width
        } else {
            let mask = if width == 8 { u64::MAX } else { u64::from(u32::MAX) };
            let to_top = 0_u64.wrapping_sub(within) & mask;
            let words = vtable.map(|vtable| vtable.words.as_slice()).unwrap_or_default();
            match words.iter().position(|word| *word == to_top) {
                Some(index) => (index as u64 + 2) * width,
                None => {
                    return bad(format!(
                        "has several bases, and the vtable of {group} is not in this file: add the object file that \
                         has it, or link them"
                    ));
                }
            }
        };
        let offset = narrow(class, offset)?;
        Ok(VtablePointer { offset, slot: 0, symbol, address_point: narrow(class, point)? })
    }

    /// Collects the members of a class, those of its bases first.
    fn walk(&mut self, name: &str, place: &Place, parts: &mut Parts) -> Result<()> {
        self.step(place)?;
        let entry = self.classes.entry(name)?;
        parts.align = parts.align.max(entry.alignment.unwrap_or(1));
        for transient in self.class_note(name)?.transient {
            parts.transient.entry(format!("{}{transient}", place.prefix)).or_insert(false);
        }
        // Its only member finds the counter that shared pointers to this object share.
        if name.starts_with("std::enable_shared_from_this<") {
            parts.align = parts.align.max(u64::from(self.debug.target.pointer_bytes));
            return Ok(());
        }
        for base in self.classes.bases(name).or_else(|error| self.refuse(error))? {
            let inner = Place {
                offset: place.offset.saturating_add(base.offset),
                depth: place.depth + 1,
                ..place.clone()
            };
            let outcome = self.walk(&base.name, &inner, parts);
            self.go_on(outcome, place)?;
        }
        for child in self.classes.children(entry) {
            let member = child.tag == dw::DW_TAG_member;
            if !member || child.is_static || child.is_declaration || is_vptr(child) {
                continue;
            }
            self.member_or_refusal(name, child, place, parts)?;
        }
        self.walked.insert(name.to_owned());
        Ok(())
    }
}

/// Numbers the members of the same name from several bases.
fn unique_names(mut members: Vec<Member>) -> Vec<Member> {
    let mut seen: BTreeSet<String> = BTreeSet::new();
    for member in &mut members {
        let mut number = 2;
        let plain = member.name.clone();
        while !seen.insert(member.name.clone()) {
            member.name = format!("{plain}#{number}");
            number += 1;
        }
    }
    members
}

/// The symbol of the vtable group of a class that is not a template.
fn mangled(class: &str) -> Option<String> {
    if class.contains(['<', '(']) || class.starts_with("std::") {
        return None;
    }
    let parts: Vec<&str> = class.split("::").collect();
    let text: String = parts.iter().map(|part| format!("{}{part}", part.len())).collect();
    Some(if parts.len() == 1 { format!("_ZTV{text}") } else { format!("_ZTVN{text}E") })
}

fn narrow(path: &str, value: u64) -> Result<u32> {
    u32::try_from(value).map_err(|_| LayoutError::new(path, format!("has {value} bytes")))
}
