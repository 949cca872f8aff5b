// SPDX-License-Identifier: Apache-2.0
//! The portions of all files, in order.
//!
//! Files are opened in turn. Row groups that cannot match are skipped; a large one is split along
//! its rows if it has too few columns for all threads.

use std::collections::VecDeque;
use std::sync::Arc;

use arrowsmith_core::{Error, Result};
use arrowsmith_parquet::RowSelection;
use arrowsmith_source::DataFile;

use super::portion::Portion;
use super::prepare::{Condition, Prepared, Request};

/// Minimum rows of a part of a row group: fewer do not pay for reading the dictionary twice.
const PART_ROWS_MIN: usize = 256 << 10;

/// Maximum rows of a part, if an index gives the page where it begins: then the data that threads
/// decode ahead stays in the cache, and its memory is reused.
const PART_ROWS_MAX: usize = 512 << 10;

/// Minimum bytes of a column in a part: four pages, as most writers make them.
const PART_BYTES_MIN: usize = 4 << 20;

/// Maximum rows of a part with a bitmap of rows: for a condition, or a selection with gaps.
const MASK_ROWS_MAX: usize = 64 << 20;

/// A row group that is split lazily into parts: the number of rows in the file is untrusted.
struct Parts {
    file: Arc<Prepared>,
    row_group: usize,
    selection: RowSelection,
    rows: usize,
    part_rows: usize,
    /// Where the next part begins.
    from: usize,
}

/// Walks over files and row groups.
pub(crate) struct Cursor {
    request: Arc<Request>,
    files: VecDeque<DataFile>,
    file: Option<Arc<Prepared>>,
    /// The first file, which was opened for its schema.
    first: Arc<Prepared>,
    /// Remaining row groups of the file.
    row_groups: VecDeque<usize>,
    /// The row group that is being split.
    parts: Option<Parts>,
    threads: usize,
    batch_rows: usize,
    /// Rows of earlier row groups.
    rows_before: usize,
    /// Rows left of the limit; only without a condition.
    rows_left: Option<u64>,
}

impl Cursor {
    pub(crate) fn new(
        request: Arc<Request>,
        first: Arc<Prepared>,
        files: VecDeque<DataFile>,
        threads: usize,
        batch_rows: usize,
        limit: Option<u64>,
    ) -> Self {
        let mut cursor = Self {
            rows_left: limit.filter(|_| request.filter.is_none()),
            request,
            files,
            file: None,
            first: Arc::clone(&first),
            row_groups: VecDeque::new(),
            parts: None,
            threads,
            batch_rows,
            rows_before: 0,
        };
        cursor.enter(first);
        cursor
    }

    fn enter(&mut self, file: Arc<Prepared>) {
        self.row_groups = match &self.request.row_groups {
            Some(wanted) => wanted.iter().copied().collect(),
            None => (0..file.opened.file.row_groups()).collect(),
        };
        self.file = Some(file);
    }

    /// The next portion; `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<Portion>> {
        loop {
            if self.rows_left == Some(0) {
                return Ok(None);
            }
            if let Some(part) = self.part() {
                return Ok(Some(self.limited(part)));
            }
            let (Some(file), Some(row_group)) = (self.file.clone(), self.row_groups.pop_front())
            else {
                let Some(next) = self.files.pop_front() else { return Ok(None) };
                let file = Prepared::new(next, &self.request, Some(&self.first.schema))?;
                self.enter(Arc::new(file));
                continue;
            };
            let rows = file.opened.file.row_group_rows(row_group)?;
            let mut selection = match &file.condition {
                Condition::All => RowSelection::all(rows),
                Condition::None => RowSelection::default(),
                Condition::Some(plan) => {
                    let here = file.with_indexes(&plan.plan, row_group)?;
                    plan.filter.prune(&here, row_group)?
                }
            };
            if let Some(left) = file.left(row_group)? {
                selection = selection.intersection(&left);
            }
            if let Some(wanted) = &self.request.rows {
                selection = selection.intersection(&part(wanted, self.rows_before, rows));
            }
            self.rows_before = self.rows_before.saturating_add(rows);
            if !selection.is_empty() {
                file.check_rows(row_group)?;
            }
            self.cut(&file, row_group, selection, rows);
        }
    }

    /// Starts a row group, which is split so that there is work for every thread, and so that the
    /// memory per row is bounded.
    fn cut(
        &mut self,
        file: &Arc<Prepared>,
        row_group: usize,
        selection: RowSelection,
        rows: usize,
    ) {
        if selection.is_empty() {
            return;
        }
        let few = self.threads > 1 && file.plan().leaves().len() < 2 * self.threads;
        let part_rows = match few {
            true => {
                let most = most_rows(file, row_group, rows);
                let share = rows.div_ceil(self.threads).min(most).max(PART_ROWS_MIN);
                share.div_ceil(self.batch_rows).saturating_mul(self.batch_rows)
            }
            false => rows,
        };
        let masked = matches!(file.condition, Condition::Some(_)) || selection.ranges().len() > 1;
        let part_rows = if masked { part_rows.min(MASK_ROWS_MAX) } else { part_rows };
        let file = Arc::clone(file);
        self.parts =
            Some(Parts { file, row_group, selection, rows, part_rows: part_rows.max(1), from: 0 });
    }

    /// The next part of the current row group.
    fn part(&mut self) -> Option<Portion> {
        let parts = self.parts.as_mut()?;
        let ranges = parts.selection.ranges();
        let next = ranges.partition_point(|range| range.end <= parts.from);
        if let Some(next) = ranges.get(next) {
            // Skips parts without a row.
            let gap = next.start.saturating_sub(parts.from);
            let from = parts.from + gap / parts.part_rows * parts.part_rows;
            let to = parts.rows.min(from.saturating_add(parts.part_rows));
            parts.from = to;
            let range = RowSelection::from_ranges(std::iter::once(from..to));
            return Some(Portion {
                prepared: Arc::clone(&parts.file),
                row_group: parts.row_group,
                selection: parts.selection.intersection(&range),
                batch_rows: self.batch_rows,
                counted: from == 0,
            });
        }
        self.parts = None;
        None
    }

    /// The portion without the rows beyond the limit.
    fn limited(&mut self, mut portion: Portion) -> Portion {
        let Some(left) = &mut self.rows_left else { return portion };
        let rows = portion.selection.rows();
        let wanted = usize::try_from(*left).unwrap_or(usize::MAX).min(rows);
        if wanted < rows {
            let mut missing = wanted;
            let ranges = portion.selection.ranges().iter().map(|range| {
                let taken = range.len().min(missing);
                missing -= taken;
                range.start..range.start + taken
            });
            portion.selection = RowSelection::from_ranges(ranges);
        }
        *left -= wanted as u64;
        portion
    }

    /// Checks that the requested row groups exist.
    pub(crate) fn check(request: &Request, first: &Prepared) -> Result<()> {
        let Some(wanted) = &request.row_groups else { return Ok(()) };
        if request.many {
            return Err(Error::Config("row_groups: for one file only".to_owned()));
        }
        let found = first.opened.file.row_groups();
        match wanted.iter().find(|row_group| **row_group >= found) {
            Some(row_group) => {
                let message = format!("row_groups: there is no {row_group}, the file has {found}");
                Err(Error::Config(message))
            }
            None => Ok(()),
        }
    }
}

/// Maximum rows of a part of a row group: all, unless an index locates the pages, and enough for
/// some pages of each column, since a part that begins within a page decodes the rows before it in
/// vain.
fn most_rows(file: &Prepared, row_group: usize, rows: usize) -> usize {
    let mut most = PART_ROWS_MAX;
    for leaf in file.plan().leaves() {
        match file.opened.file.chunk(row_group, leaf) {
            Ok(chunk) if chunk.offset_index_offset().is_some() => {
                let bytes = usize::try_from(chunk.uncompressed_size()).unwrap_or(0).max(1);
                most = most.max(rows.saturating_mul(PART_BYTES_MIN) / bytes);
            }
            _ => return rows,
        }
    }
    most.min(rows)
}

/// The `count` rows of a selection from `first` on, counted from there.
fn part(selection: &RowSelection, first: usize, count: usize) -> RowSelection {
    let end = first.saturating_add(count);
    let ranges = selection.ranges();
    let from = ranges.partition_point(|range| range.end <= first);
    let inside = ranges[from..].iter().take_while(|range| range.start < end);
    RowSelection::from_ranges(
        inside.map(|range| range.start.max(first) - first..range.end.min(end) - first),
    )
}
