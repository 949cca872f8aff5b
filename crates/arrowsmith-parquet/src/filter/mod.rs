// SPDX-License-Identifier: Apache-2.0
//! A condition bound to a file's columns and types: which rows may match before they are read
//! (`prune`), and which do match afterwards (`mask`).
//!
//! Literals are compared exactly: `x < 1.5` is exact for integers too, and a decimal is not
//! rounded. Floating-point numbers are compared as IEEE 754 says, so that NaN equals nothing and -0
//! equals 0. Strings and bytes are compared byte by byte.

pub(crate) mod bind;
mod mask;
mod number;
mod time;

use arrow_array::RecordBatch;
use arrow_buffer::{BooleanBuffer, i256};
use arrowsmith_core::{Error, Result};

use crate::file::File;
use crate::plan::{Column, Leaf, ReadPlan};
use crate::predicate::{Comparison, Predicate};
use crate::prune::{self, RowSelection};

/// A literal in the domain in which the column's type is compared.
#[derive(Debug, Clone, PartialEq, PartialOrd)]
pub(crate) enum Key {
    /// Integers, dates, times; unscaled decimals.
    Integer(i128),
    /// An unscaled decimal of more than 128 bits.
    Wide(i256),
    /// Floating-point numbers.
    Float(f64),
    /// Strings and bytes.
    Bytes(Vec<u8>),
    /// Booleans.
    Boolean(bool),
}

/// The test of a column's values.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Test {
    IsNull,
    Compare(Comparison, Key),
    /// True of every value: the literal is outside of the type.
    Always,
    /// False of every value.
    Never,
}

/// A column that a condition looks at.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    /// Indices into the batch and the structures inside it.
    pub(crate) places: Vec<usize>,
    /// The leaf; `None` for a structure, list or map.
    pub(crate) leaf: Option<Leaf>,
}

#[derive(Debug, Clone)]
pub(crate) enum Node {
    Test(Target, Test),
    And(Vec<Node>),
    Or(Vec<Node>),
    Not(Box<Node>),
}

/// A condition on the rows of a plan's batches.
#[derive(Debug, Clone)]
pub struct Filter {
    node: Node,
}

impl Filter {
    /// Gives a condition the columns and types of a plan. The plan has to read the columns that the
    /// condition names.
    ///
    /// # Errors
    /// A column that the plan does not have or that repeats, a value that its type cannot be
    /// compared with.
    pub fn new(predicate: &Predicate, plan: &ReadPlan) -> Result<Self> {
        Ok(Self { node: bind(predicate, plan)? })
    }

    /// Rows of a row group that may match, by statistics, bloom filters and the page index; all
    /// that match are among them. Parts of the file that are not in memory are not used.
    ///
    /// # Errors
    /// A row group that the file does not have.
    pub fn prune(&self, file: &File, row_group: usize) -> Result<RowSelection> {
        prune::rows(&self.node, file, row_group)
    }

    /// The rows of a batch of the plan that match.
    ///
    /// # Errors
    /// A batch that does not have the plan's schema.
    pub fn mask(&self, batch: &RecordBatch) -> Result<BooleanBuffer> {
        mask::rows(&self.node, batch)
    }
}

fn bind(predicate: &Predicate, plan: &ReadPlan) -> Result<Node> {
    let all = |parts: &[Predicate]| -> Result<Vec<Node>> {
        parts.iter().map(|part| bind(part, plan)).collect()
    };
    Ok(match predicate {
        Predicate::And(parts) => Node::And(all(parts)?),
        Predicate::Or(parts) => Node::Or(all(parts)?),
        Predicate::Not(part) => Node::Not(Box::new(bind(part, plan)?)),
        Predicate::IsNull(column) => Node::Test(target(column, plan)?, Test::IsNull),
        Predicate::Compare { column, comparison, value } => {
            let target = target(column, plan)?;
            let test = bind::test(column, &target, *comparison, value)?;
            Node::Test(target, test)
        }
        Predicate::In { column, values } => {
            let target = target(column, plan)?;
            let tests = values.iter().map(|value| {
                let test = bind::test(column, &target, Comparison::Equal, value)?;
                Ok(Node::Test(target.clone(), test))
            });
            Node::Or(tests.collect::<Result<_>>()?)
        }
    })
}

/// Finds a column by its dotted path, through structures only.
fn target(column: &str, plan: &ReadPlan) -> Result<Target> {
    let mut found = Vec::new();
    find(column, &plan.fields, &mut Vec::new(), &mut found);
    if found.len() > 1 {
        return Err(ambiguous(column));
    }
    let Some((places, at)) = found.pop() else {
        return Err(Error::Config(format!(
            "condition: no column {column} that could be compared (what is inside of a list or map \
             cannot)"
        )));
    };
    let leaf = match at {
        Column::Leaf(leaf) => Some(leaf.clone()),
        _ => None,
    };
    Ok(Target { places, leaf })
}

/// The error of a path that several columns have: names may contain dots.
#[must_use]
pub fn ambiguous(column: &str) -> Error {
    Error::Config(format!("condition: {column} is the path of more than one column"))
}

/// Every column with this path.
fn find<'a>(
    path: &str,
    columns: &'a [Column],
    places: &mut Vec<usize>,
    found: &mut Vec<(Vec<usize>, &'a Column)>,
) {
    for (place, column) in columns.iter().enumerate() {
        let Some(rest) = path.strip_prefix(column.field().name().as_str()) else { continue };
        places.push(place);
        if rest.is_empty() {
            found.push((places.clone(), column));
        } else if let (Some(inside), Column::Struct(structure)) = (rest.strip_prefix('.'), column) {
            find(inside, &structure.children, places, found);
        }
        places.pop();
    }
}

#[cfg(test)]
mod tests;
