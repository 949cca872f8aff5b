// SPDX-License-Identifier: Apache-2.0
//! Which engine decodes what, and why: for `--explain`, and for the summary line.

use std::fmt;

use arrowsmith_engine::Decision;

/// One column of the batches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnNote {
    /// Its name.
    pub name: String,
    /// Its Arrow type.
    pub data_type: String,
    /// The source of its values.
    pub by: ColumnSource,
    /// What the engine adds to that.
    pub how: Option<String>,
}

/// The source of a column's values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ColumnSource {
    /// The file does not have it: nulls.
    Missing,
    /// The names of the folders around the file.
    Folders,
    /// An engine, with those that declined before it.
    Engine(Decision),
}

impl fmt::Display for ColumnSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("nothing: the file does not have it"),
            Self::Folders => f.write_str("the folders' names"),
            Self::Engine(decision) => decision.fmt(f),
        }
    }
}

/// What a pipeline will do, by its first file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation {
    /// The columns of the batches.
    pub columns: Vec<ColumnNote>,
    /// The plan as text: one line for each part of each column.
    pub plan: String,
    /// The parsed condition.
    pub filter: Option<String>,
    /// Row groups of the first file, and how many of them its metadata does not rule out.
    pub row_groups: (usize, usize),
    /// Files.
    pub files: usize,
}

impl Explanation {
    /// The number of columns that another engine than the requested one decodes.
    pub fn fall_backs(&self) -> usize {
        self.declined().count()
    }

    /// Columns that the requested engine declined: which engine decodes them, and why.
    pub fn declined(&self) -> impl Iterator<Item = (&str, &Decision)> {
        self.columns.iter().filter_map(|column| match &column.by {
            ColumnSource::Engine(decision) if !decision.declined.is_empty() => {
                Some((column.name.as_str(), decision))
            }
            _ => None,
        })
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (all, left) = self.row_groups;
        if self.files == 1 {
            writeln!(f, "row groups: {left} of {all}")?;
        } else {
            writeln!(f, "files: {}; row groups of the first: {left} of {all}", self.files)?;
        }
        if let Some(filter) = &self.filter {
            writeln!(f, "where: {filter}")?;
        }
        writeln!(f, "columns:")?;
        for column in &self.columns {
            writeln!(f, "  {}: {} by {}", column.name, column.data_type, column.by)?;
            if let Some(how) = &column.how {
                writeln!(f, "    {how}")?;
            }
        }
        writeln!(f, "plan:")?;
        self.plan.lines().try_for_each(|line| writeln!(f, "  {line}"))
    }
}
