// SPDX-License-Identifier: Apache-2.0
//! Information that the compiler does not have: transient members, wire widths, type ids. From a
//! TOML file, or from comments next to the declarations, whose file and line the debug information
//! gives.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::LayoutError;

/// Source files longer than this are not searched for comments.
const SOURCE_BYTES_MAX: u64 = 16 << 20;

/// The word that annotations in comments begin with.
const ANNOTATION_PREFIX: &str = "arrowsmith:";

/// Annotations of classes, by qualified name.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Annotations {
    /// `[class."ns::Name"]`; of a template's classes also by the template's name.
    #[serde(default, rename = "class")]
    pub classes: BTreeMap<String, ClassNote>,
}

/// The annotation of a class.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ClassNote {
    /// Its type id.
    #[serde(rename = "type")]
    pub type_id: Option<u32>,
    /// Members, inherited ones too, that are not sent.
    #[serde(default)]
    pub transient: Vec<String>,
    /// Objects of the class are never sent.
    #[serde(default)]
    pub skip: bool,
    /// The annotations of its members.
    #[serde(default, rename = "member")]
    pub members: BTreeMap<String, MemberNote>,
}

/// The annotation of a member.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct MemberNote {
    /// It is not sent; a reader makes it zero.
    #[serde(default)]
    pub transient: bool,
    /// Width of the integer on the wire, in bytes.
    pub wire: Option<u32>,
    /// The valid values, both ends included.
    pub range: Option<[i64; 2]>,
    /// All values of its width are valid.
    #[serde(default)]
    pub unchecked: bool,
    /// The pointer is never null.
    #[serde(default)]
    pub not_null: bool,
}

impl Annotations {
    /// Reads the TOML form.
    ///
    /// # Errors
    ///
    /// Text that is not TOML, or an unknown word.
    pub fn from_toml(text: &str) -> Result<Self, LayoutError> {
        toml::from_str(text)
            .map_err(|error| LayoutError::new("annotations", error.to_string().trim().to_owned()))
    }
}

/// The source files read so far.
#[derive(Debug, Default)]
pub struct Sources {
    lines: HashMap<PathBuf, Vec<String>>,
}

impl Sources {
    /// The annotations in comments at a line of a file, counted from 1: on the line itself, or in
    /// the comment lines right above it. Missing files have none.
    pub fn at(&mut self, file: &Path, line: u64) -> Vec<String> {
        let lines = self.lines.entry(file.to_owned()).or_insert_with(|| read(file));
        let Some(index) = usize::try_from(line).ok().and_then(|line| line.checked_sub(1)) else {
            return Vec::new();
        };
        let Some(own) = lines.get(index) else { return Vec::new() };
        let mut found = Vec::new();
        found.extend(note(own));
        for above in lines[..index].iter().rev() {
            if !above.trim_start().starts_with("//") {
                break;
            }
            found.extend(note(above));
        }
        found
    }
}

fn read(file: &Path) -> Vec<String> {
    // Bounded: debug information may name anything; a pipe or a device is not opened.
    let sound = fs::metadata(file).is_ok_and(|m| m.is_file() && m.len() <= SOURCE_BYTES_MAX);
    let bytes = if sound { fs::read(file).unwrap_or_default() } else { Vec::new() };
    String::from_utf8_lossy(&bytes).lines().map(str::to_owned).collect()
}

fn note(line: &str) -> Option<String> {
    let (_, comment) = line.split_once("//")?;
    comment
        .trim_start_matches(['/', '!', '<', ' '])
        .strip_prefix(ANNOTATION_PREFIX)
        .map(|s| s.trim().to_owned())
}

impl ClassNote {
    /// Adds an annotation of a comment: `type 3`, `transient m_a m_b`, `skip`.
    pub fn add(&mut self, path: &str, item: &str) -> Result<(), LayoutError> {
        let words: Vec<&str> = item.split_whitespace().collect();
        match words.as_slice() {
            ["type", number] => self.type_id = Some(parse(path, number)?),
            ["transient", names @ ..] if !names.is_empty() => {
                self.transient.extend(names.iter().map(|&name| name.to_owned()));
            }
            ["skip"] => self.skip = true,
            _ => return Err(unknown(path, item, "type N, transient NAME..., skip")),
        }
        Ok(())
    }
}

impl MemberNote {
    /// Adds an annotation of a comment: `wire 1`, `range 0..3`.
    pub fn add(&mut self, path: &str, item: &str) -> Result<(), LayoutError> {
        let words: Vec<&str> = item.split_whitespace().collect();
        match words.as_slice() {
            ["transient"] => self.transient = true,
            ["wire", number] => self.wire = Some(parse(path, number)?),
            ["range", range] => {
                let (low, high) =
                    range.split_once("..").ok_or_else(|| unknown(path, item, "range LOW..HIGH"))?;
                self.range = Some([parse(path, low)?, parse(path, high)?]);
            }
            ["unchecked"] => self.unchecked = true,
            ["not-null"] => self.not_null = true,
            _ => {
                let known = "transient, wire N, range LOW..HIGH, unchecked, not-null";
                return Err(unknown(path, item, known));
            }
        }
        Ok(())
    }
}

/// The annotations of a comment: `wire 1; range 0..3`.
pub fn items(text: &str) -> impl Iterator<Item = &str> {
    text.split(';').map(str::trim).filter(|item| !item.is_empty())
}

fn parse<T: std::str::FromStr>(path: &str, text: &str) -> Result<T, LayoutError> {
    text.parse().map_err(|_| LayoutError::new(path, format!("annotation has a bad number {text}")))
}

fn unknown(path: &str, item: &str, known: &str) -> LayoutError {
    LayoutError::new(path, format!("annotation `{item}` is not known; there are: {known}"))
}
