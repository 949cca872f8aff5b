// SPDX-License-Identifier: Apache-2.0
//! What is wanted of documents that contain records: the keys that lead to the records, and to
//! fields beside them that each record is to have, too.

use std::collections::HashSet;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use arrowsmith_core::Error;

use super::RecordsPath;

/// A field of a document that its records are to have as a key of their own: `NAME=PATH`, or a path
/// alone, which then is the name, too, with dots between its keys. The path is one as those of
/// records are, through objects only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParentField {
    name: String,
    path: RecordsPath,
}

impl FromStr for ParentField {
    type Err = Error;

    /// # Errors
    /// [`Error::Config`] for an empty name or path, and an invalid JSON pointer.
    fn from_str(text: &str) -> Result<Self, Error> {
        let (name, path) = match text.split_once('=') {
            Some((name, path)) => (Some(name.trim()), path.trim()),
            None => (None, text.trim()),
        };
        if name == Some("") {
            return Err(Error::Config(format!("the parent's field {text:?} has no name")));
        }
        let path: RecordsPath = path.parse()?;
        let name = name.map_or_else(|| path.keys.join("."), str::to_owned);
        Ok(Self { name, path })
    }
}

impl fmt::Display for ParentField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.name, self.path)
    }
}

/// Where the records of documents are, and which fields beside them the records are to have.
#[derive(Debug, Clone)]
pub struct Documents {
    /// The first one is the document.
    nodes: Arc<[Node]>,
    names: Arc<[Name]>,
}

/// The name of a field beside the records.
#[derive(Debug)]
pub(super) struct Name {
    pub(super) text: String,
    /// The same as a JSON string.
    pub(super) quoted: String,
}

/// A document, or a value inside of it that matters.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) key: String,
    /// Keys that lead to it, joined by dots.
    pub(super) path: String,
    pub(super) children: Vec<usize>,
    /// Length of the longest key of these.
    pub(super) key_bytes_max: usize,
    pub(super) role: Role,
    /// Whether the records are in it, or it is them.
    pub(super) has_records: bool,
}

/// What a value is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// An object with others that matter.
    Way,
    /// The array of records.
    Records,
    /// The field with this number.
    Field(usize),
}

impl From<RecordsPath> for Documents {
    fn from(records: RecordsPath) -> Self {
        let mut nodes = vec![Node::new(String::new(), String::new())];
        grow(&mut nodes, &records.keys, Role::Records);
        Self { nodes: nodes.into(), names: Arc::default() }
    }
}

impl Documents {
    /// Documents with records at a path, which are to have these fields.
    ///
    /// # Errors
    /// [`Error::Config`] for two fields of one name, and a field that has another or the records
    /// inside, or is in one of them.
    pub fn new(records: RecordsPath, fields: &[ParentField]) -> Result<Self, Error> {
        let mut names = HashSet::with_capacity(fields.len());
        let mut all = Vec::from(&[(&records, Role::Records)][..]);
        for (number, field) in fields.iter().enumerate() {
            let refused =
                |why: String| Error::Config(format!("the parent's field {}: {why}", field.path));
            if !names.insert(&field.name) {
                return Err(refused(format!("there is another one named {}", field.name)));
            }
            if let Some((other, _)) = all.iter().find(|(other, _)| {
                let (one, two) = (&field.path.keys, &other.keys);
                one.starts_with(two) || two.starts_with(one)
            }) {
                return Err(refused(format!("it cannot be read beside {other}")));
            }
            all.push((&field.path, Role::Field(number)));
        }
        let mut nodes = vec![Node::new(String::new(), String::new())];
        for (path, role) in all {
            grow(&mut nodes, &path.keys, role);
        }
        let name = |text: &String| Name { text: text.clone(), quoted: quoted(text) };
        let names = fields.iter().map(|field| name(&field.name)).collect();
        Ok(Self { nodes: nodes.into(), names })
    }

    /// The document, or a value inside of it.
    pub(super) fn node(&self, number: usize) -> Option<&Node> {
        self.nodes.get(number)
    }

    /// Number of the nodes.
    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Names of the fields beside the records.
    pub(super) fn names(&self) -> &[Name] {
        &self.names
    }

    /// The array of records.
    pub(super) fn records(&self) -> Option<&Node> {
        self.nodes.iter().find(|node| node.role == Role::Records)
    }
}

impl Node {
    fn new(key: String, path: String) -> Self {
        Self {
            key,
            path,
            children: Vec::new(),
            key_bytes_max: 0,
            role: Role::Way,
            has_records: false,
        }
    }
}

/// Adds a path.
fn grow(nodes: &mut Vec<Node>, keys: &[String], role: Role) {
    let mut at = 0;
    for (depth, key) in keys.iter().enumerate() {
        let next = nodes.len();
        let Some(node) = nodes.get_mut(at) else { return };
        node.has_records |= role == Role::Records;
        let known = node.children.clone();
        let known = known.iter().find(|child| nodes.get(**child).is_some_and(|it| it.key == *key));
        at = match known {
            Some(child) => *child,
            None => {
                nodes[at].children.push(next);
                nodes[at].key_bytes_max = nodes[at].key_bytes_max.max(key.len());
                nodes.push(Node::new(key.clone(), keys[..=depth].join(".")));
                next
            }
        };
    }
    if let Some(node) = nodes.get_mut(at) {
        node.role = role;
        node.has_records |= role == Role::Records;
    }
}

/// A JSON string.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            '\0'..' ' => quoted.push_str(&format!("\\u{:04x}", u32::from(character))),
            _ => quoted.push(character),
        }
    }
    quoted + "\""
}
