// SPDX-License-Identifier: Apache-2.0
//! Where the records of a document are: a path of keys, in either of its two forms.

use std::fmt;
use std::str::FromStr;

use arrowsmith_core::{Error, Limits};
use arrowsmith_plan::split_path;

/// The keys that lead from a document to the array of its records: dotted as the paths of columns
/// (`data.items`, `"a.b".c`), or a JSON pointer (`/data/items`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordsPath {
    pub(super) keys: Vec<String>,
    text: String,
}

impl FromStr for RecordsPath {
    type Err = Error;

    /// # Errors
    /// [`Error::Config`] for a path without a key or with more than [`Limits::DEPTH_MAX`], and an
    /// invalid JSON pointer.
    fn from_str(text: &str) -> Result<Self, Error> {
        let refused = |why: &str| Error::Config(format!("the path of records {text:?} {why}"));
        let keys: Vec<_> = match text.strip_prefix('/') {
            _ if text.is_empty() => return Err(refused("is empty")),
            None => split_path(text),
            Some(pointer) => {
                let key = |token: &str| {
                    let plain = token.replace("~0", "").replace("~1", "");
                    (!plain.contains('~')).then(|| token.replace("~1", "/").replace("~0", "~"))
                };
                let keys: Option<_> = pointer.split('/').map(key).collect();
                keys.ok_or_else(|| refused("is not a JSON pointer: '~' is neither ~0 nor ~1"))?
            }
        };
        if keys.len() > Limits::DEPTH_MAX {
            return Err(refused(&format!("is deeper than {} levels", Limits::DEPTH_MAX)));
        }
        Ok(Self { keys, text: text.to_owned() })
    }
}

/// As it was given.
impl fmt::Display for RecordsPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
