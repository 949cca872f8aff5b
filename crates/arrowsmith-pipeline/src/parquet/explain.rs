// SPDX-License-Identifier: Apache-2.0
//! Who decodes what, and why: for people who wonder about speed, and for the summary line.

use std::fmt;

/// One column of the batches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnNote {
    /// Its name.
    pub name: String,
    /// Its Arrow type.
    pub data_type: String,
    /// What gives its values: the engine, the `parquet` crate, the folders' names.
    pub by: &'static str,
    /// Why another engine decodes it than was asked for, if one does.
    pub fall_back: Option<String>,
}

/// What a pipeline is going to do, by its first file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation {
    /// The columns of the batches.
    pub columns: Vec<ColumnNote>,
    /// The plan as text: a line for each part of each column.
    pub plan: String,
    /// The condition, as it is understood.
    pub filter: Option<String>,
    /// Row groups of the first file, and how many of them its metadata does not rule out.
    pub row_groups: (usize, usize),
    /// Files.
    pub files: usize,
}

impl Explanation {
    /// Columns that another engine decodes than the one that was asked for.
    pub fn fall_backs(&self) -> usize {
        self.columns.iter().filter(|column| column.fall_back.is_some()).count()
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
            write!(f, "  {}: {} by {}", column.name, column.data_type, column.by)?;
            match &column.fall_back {
                Some(why) => writeln!(f, ": {why}")?,
                None => writeln!(f)?,
            }
        }
        writeln!(f, "plan:")?;
        self.plan.lines().try_for_each(|line| writeln!(f, "  {line}"))
    }
}
