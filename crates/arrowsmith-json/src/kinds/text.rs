// SPDX-License-Identifier: Apache-2.0
//! The kinds as JSON text.
//!
//! A place is an object: `seen` has the names of its kinds, `digits` the maximum number of digits
//! of its large integers, `items` the place of the items of its lists, and `fields` the places of
//! the fields of its objects, in order of appearance.

use std::fmt::{Display, Formatter, Result, Write};

use super::Kinds;
use super::tree::{
    BOOLEAN, EMPTY, FLOAT, INTEGER, LARGE, LIST, NULL, OBJECT, ROOT, STRING, Seen, Tree,
};

const NAMES: [(Seen, &str); 9] = [
    (NULL, "null"),
    (BOOLEAN, "boolean"),
    (INTEGER, "integer"),
    (LARGE, "large"),
    (FLOAT, "float"),
    (EMPTY, "empty"),
    (STRING, "string"),
    (LIST, "list"),
    (OBJECT, "object"),
];

impl Display for Kinds {
    fn fmt(&self, to: &mut Formatter<'_>) -> Result {
        place(&self.tree, ROOT, to)
    }
}

/// Recursion is as deep as records may be.
fn place(tree: &Tree, node: u32, to: &mut Formatter<'_>) -> Result {
    let kinds = tree.node(node);
    to.write_str("{\"seen\":[")?;
    let seen = NAMES.iter().filter(|(kind, _)| kinds.seen & kind != 0);
    for (number, (_, name)) in seen.enumerate() {
        write!(to, "{}\"{name}\"", if number > 0 { "," } else { "" })?;
    }
    to.write_char(']')?;
    if kinds.digits > 0 {
        write!(to, ",\"digits\":{}", kinds.digits)?;
    }
    if let Some(item) = tree.item(node) {
        to.write_str(",\"items\":")?;
        place(tree, item, to)?;
    }
    if let Some(fields) = tree.fields(node) {
        to.write_str(",\"fields\":{")?;
        for (number, field) in fields.iter().enumerate() {
            to.write_str(if number > 0 { ",\"" } else { "\"" })?;
            escape(&field.name, to)?;
            to.write_str("\":")?;
            place(tree, field.node, to)?;
        }
        to.write_char('}')?;
    }
    to.write_char('}')
}

fn escape(name: &str, to: &mut Formatter<'_>) -> Result {
    for character in name.chars() {
        match character {
            '"' | '\\' => write!(to, "\\{character}")?,
            '\0'..' ' => write!(to, "\\u{:04x}", u32::from(character))?,
            _ => to.write_char(character)?,
        }
    }
    Ok(())
}
