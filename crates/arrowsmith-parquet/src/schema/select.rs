// SPDX-License-Identifier: Apache-2.0
//! Which leaves are read: paths of columns → numbers of leaves.

use std::ops::Range;

use arrowsmith_core::{Error, Result};
use parquet::schema::types::Type;

use super::Shape;
use crate::options::{Columns, ReadOptions};

/// What is known of each leaf.
#[derive(Debug, Clone, Copy, Default)]
struct Choice {
    /// Place of the first path that selects it; `None` if it is not read.
    order: Option<usize>,
    dictionary: bool,
}

/// The leaves that are selected.
pub(super) struct Selection(Vec<Choice>);

impl Selection {
    /// # Errors
    /// A path that selects nothing.
    pub(super) fn new(root: &Type, options: &ReadOptions) -> Result<Self> {
        let mut paths = Vec::new();
        for child in root.get_fields() {
            collect(child, false, &Paths::default(), &mut paths);
        }
        let mut choices = vec![Choice::default(); paths.len()];
        match &options.columns {
            None => choices.iter_mut().for_each(|choice| choice.order = Some(0)),
            Some(columns) => {
                for (order, column) in columns.iter().enumerate() {
                    let found = mark(column, &paths, &mut choices, |choice| {
                        choice.order.get_or_insert(order);
                    });
                    if !found {
                        return Err(no_column(column, root));
                    }
                }
            }
        }
        match &options.dictionary {
            Columns::None => {}
            Columns::All => choices.iter_mut().for_each(|choice| choice.dictionary = true),
            Columns::Paths(columns) => {
                for column in columns {
                    if !mark(column, &paths, &mut choices, |choice| choice.dictionary = true) {
                        return Err(no_column(column, root));
                    }
                }
            }
        }
        Ok(Self(choices))
    }

    pub(super) fn holds(&self, leaf: usize) -> bool {
        self.0.get(leaf).is_some_and(|choice| choice.order.is_some())
    }

    pub(super) fn any(&self, leaves: Range<usize>) -> bool {
        leaves.into_iter().any(|leaf| self.holds(leaf))
    }

    pub(super) fn dictionary(&self, leaf: usize) -> bool {
        self.0.get(leaf).is_some_and(|choice| choice.dictionary)
    }

    /// Place of a column with these leaves among those that are read.
    pub(super) fn order(&self, leaves: Range<usize>) -> usize {
        let orders = self.0.get(leaves).into_iter().flatten().filter_map(|choice| choice.order);
        orders.min().unwrap_or(0)
    }
}

/// The paths of a leaf: with all of Parquet's names; without those of the groups inside lists and
/// maps; and with only `element` for the items of lists, as in the schemas of Spark and Iceberg.
#[derive(Clone, Default)]
struct Paths {
    full: Vec<String>,
    short: Vec<String>,
    elements: Vec<String>,
}

/// Adds the leaves of a type, which is inside of `around`. One that is `silent` has no name of its
/// own in the short path.
fn collect(kind: &Type, silent: bool, around: &Paths, paths: &mut Vec<Paths>) {
    let mut here = around.clone();
    here.full.push(kind.name().to_owned());
    if !silent {
        here.short.push(kind.name().to_owned());
        here.elements.push(kind.name().to_owned());
    }
    if kind.is_primitive() {
        paths.push(here);
    } else {
        let shape = super::shape(kind);
        for child in kind.get_fields() {
            let around = shape == Shape::List && !child.is_primitive();
            if around && !super::is_element(child, kind.name()) {
                let mut inside = here.clone();
                inside.full.push(child.name().to_owned());
                inside.elements.push("element".to_owned());
                for item in child.get_fields() {
                    collect(item, true, &inside, paths);
                }
            } else {
                collect(child, shape != Shape::Struct, &here, paths);
            }
        }
    }
}

/// Marks the leaves that a path selects; false if there are none.
fn mark(
    column: &str,
    paths: &[Paths],
    choices: &mut [Choice],
    choose: impl Fn(&mut Choice),
) -> bool {
    let own = |path: &Paths| leads_to(column, &path.full) || leads_to(column, &path.short);
    // A field may be called `element`, too: it comes first.
    let has_own = paths.iter().any(own);
    let mut found = false;
    for (path, choice) in paths.iter().zip(choices) {
        let selected = if has_own { own(path) } else { leads_to(column, &path.elements) };
        if selected {
            choose(choice);
            found = true;
        }
    }
    found
}

/// Whether a dotted path is that of these names, or of some at their start. Names that contain dots
/// may be in quotes.
pub fn leads_to(column: &str, names: &[String]) -> bool {
    after_names(column, names) == Some("")
}

/// Whether a dotted path is of something inside of what these names lead to.
pub fn leads_into(column: &str, names: &[String]) -> bool {
    after_names(column, names).is_some_and(|rest| !rest.is_empty())
}

/// What a path has after these names, or nothing if it ends with one of them; `None` if it has
/// others.
fn after_names<'a>(column: &'a str, names: &[String]) -> Option<&'a str> {
    let mut rest = column;
    for name in names {
        let after = match rest.strip_prefix('"') {
            Some(quoted) => after_quoted(quoted, name).or_else(|| rest.strip_prefix(name.as_str())),
            None => rest.strip_prefix(name.as_str()),
        };
        match after? {
            "" => return Some(""),
            after => rest = after.strip_prefix('.').filter(|rest| !rest.is_empty())?,
        }
    }
    Some(rest)
}

/// What follows a name in quotes, of which the first is not there any more.
fn after_quoted<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let mut rest = text;
    for c in name.chars() {
        if matches!(c, '"' | '\\') {
            rest = rest.strip_prefix('\\')?;
        }
        rest = rest.strip_prefix(c)?;
    }
    rest.strip_prefix('"')
}

fn no_column(column: &str, root: &Type) -> Error {
    let mut names: Vec<&str> = root.get_fields().iter().map(|field| field.name()).collect();
    let more = names.len().saturating_sub(20);
    names.truncate(20);
    let and = if more > 0 { format!(", … and {more} more") } else { String::new() };
    Error::Config(format!("no column {column}; the file has {}{and}", names.join(", ")))
}
