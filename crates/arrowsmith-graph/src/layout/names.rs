// SPDX-License-Identifier: Apache-2.0
//! The names of a program that generated C++ may meet, as far as debug information has them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use gimli::constants as dw;

use super::dwarf::{Debug, Entry};

/// What a program names outside of its namespaces, and the files it was compiled from.
#[derive(Debug, Clone, Default)]
pub struct Names {
    outer: BTreeSet<String>,
    files: BTreeSet<PathBuf>,
}

impl Names {
    pub(super) fn new(debug: &Debug) -> Self {
        // Enumerators are where their enumeration is, unless it is scoped.
        let is_outer = |entry: &Entry| match (entry.tag, entry.parent) {
            (dw::DW_TAG_enumerator, Some(parent)) => {
                let parent = &debug.entries[parent];
                parent.parent.is_none() && !parent.is_enum_class
            }
            // A namespace may be continued, and generated code may be part of the program.
            (tag, parent) => parent.is_none() && tag != dw::DW_TAG_namespace,
        };
        let outer = debug.entries.iter().filter(|entry| is_outer(entry));
        Self {
            outer: outer.filter_map(|entry| entry.name.clone()).collect(),
            files: debug.files.iter().flat_map(|files| files.values().cloned()).collect(),
        }
    }

    /// Whether a function, variable or type outside of the program's namespaces has this name.
    pub fn contains(&self, name: &str) -> bool {
        self.outer.contains(name)
    }

    /// The program's files of this name, without regard to their folders.
    pub fn files<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Path> + 'a {
        let named = move |file: &&Path| file.file_name().is_some_and(|end| end == name);
        self.files.iter().map(PathBuf::as_path).filter(named)
    }
}
