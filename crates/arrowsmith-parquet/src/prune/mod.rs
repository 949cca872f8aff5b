// SPDX-License-Identifier: Apache-2.0
//! Which rows of a row group may match a condition, before any page is read.
//!
//! For each test: the chunk's statistics, its bloom filter, the bounds of its pages; for the whole
//! condition: sets of rows that may be true and that may be false, joined as the condition says. If
//! an index is missing or malformed, more is read.

mod bounds;

use std::ops::Range;

use arrow_buffer::BooleanBuffer;
use arrowsmith_core::Result;
use parquet::bloom_filter::Sbbf;

use crate::file::File;
use crate::filter::{Key, Node, Target, Test};
use crate::index::{self, column_index};
use crate::plan::{Conversion, Leaf, Physical};
use crate::predicate::Comparison;
use bounds::{Bounds, Verdict};

/// Maximum size of a bloom filter that is read, in bytes: a larger one saves nothing over reading
/// the pages.
const BLOOM_BYTES_MAX: i32 = 16 << 20;

/// Rows of a row group: ranges in ascending order that neither overlap nor touch.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RowSelection {
    ranges: Vec<Range<usize>>,
}

impl RowSelection {
    /// All rows from 0.
    pub fn all(rows: usize) -> Self {
        Self::from_ranges(std::iter::once(0..rows))
    }

    /// These ranges, in any order; empty ones are dropped, adjacent ones merged.
    pub fn from_ranges(ranges: impl IntoIterator<Item = Range<usize>>) -> Self {
        let mut sorted: Vec<_> = ranges.into_iter().filter(|range| !range.is_empty()).collect();
        sorted.sort_by_key(|range| range.start);
        let mut joined: Vec<Range<usize>> = Vec::with_capacity(sorted.len());
        for range in sorted {
            match joined.last_mut() {
                Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
                _ => joined.push(range),
            }
        }
        Self { ranges: joined }
    }

    /// The rows whose bits are set, the first bit being row `first`.
    pub fn from_mask(mask: &BooleanBuffer, first: usize) -> Self {
        let ranges = mask.set_slices().map(|(start, end)| first + start..first + end);
        Self { ranges: ranges.collect() }
    }

    /// The ranges.
    pub fn ranges(&self) -> &[Range<usize>] {
        &self.ranges
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.ranges.iter().map(Range::len).sum()
    }

    /// Whether no row is selected.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Rows in one of the two.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        Self::from_ranges(self.ranges.iter().chain(&other.ranges).cloned())
    }

    /// Rows in both.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        let (mut a, mut b) = (self.ranges.iter().peekable(), other.ranges.iter().peekable());
        let mut ranges = Vec::new();
        while let (Some(left), Some(right)) = (a.peek(), b.peek()) {
            let both = left.start.max(right.start)..left.end.min(right.end);
            let left_first = left.end < right.end;
            if !both.is_empty() {
                ranges.push(both);
            }
            if left_first {
                a.next();
            } else {
                b.next();
            }
        }
        Self { ranges }
    }
}

/// Rows for which a condition may be true, and for which it may be false.
struct Sets {
    yes: RowSelection,
    no: RowSelection,
}

/// The rows of a row group for which a condition may be true.
pub(crate) fn rows(node: &Node, file: &File, row_group: usize) -> Result<RowSelection> {
    let rows = file.row_group_rows(row_group)?;
    Ok(sets(node, file, row_group, rows).yes)
}

fn sets(node: &Node, file: &File, row_group: usize, rows: usize) -> Sets {
    let all = || RowSelection::all(rows);
    let none = RowSelection::default;
    match node {
        Node::Test(target, test) => test_sets(target, test, file, row_group, rows),
        Node::And(parts) => parts.iter().fold(Sets { yes: all(), no: none() }, |both, part| {
            // Once no row can match, no further index is needed.
            if both.yes.is_empty() {
                return Sets { no: all(), ..both };
            }
            let one = sets(part, file, row_group, rows);
            Sets { yes: both.yes.intersection(&one.yes), no: both.no.union(&one.no) }
        }),
        Node::Or(parts) => parts.iter().fold(Sets { yes: none(), no: all() }, |either, part| {
            let one = sets(part, file, row_group, rows);
            Sets { yes: either.yes.union(&one.yes), no: either.no.intersection(&one.no) }
        }),
        Node::Not(part) => {
            let Sets { yes, no } = sets(part, file, row_group, rows);
            Sets { yes: no, no: yes }
        }
    }
}

fn test_sets(target: &Target, test: &Test, file: &File, row_group: usize, rows: usize) -> Sets {
    let whole = |verdict: Verdict| {
        let part = |may: bool| if may { RowSelection::all(rows) } else { RowSelection::default() };
        Sets { yes: part(verdict.yes), no: part(verdict.no) }
    };
    let leaf = target.leaf.as_ref().filter(|leaf| leaf.max_rep == 0);
    let (Some(leaf), Ok(chunk)) = (leaf, file.chunk(row_group, leaf_index(target))) else {
        return whole(Verdict::UNKNOWN);
    };
    if file.is_encrypted(row_group, leaf.index) {
        return whole(Verdict::UNKNOWN);
    }
    let order = file.metadata().file_metadata().column_order(leaf.index);
    let bounds = Bounds::of_chunk(leaf, chunk.statistics(), order, rows);
    let mut verdict = bounds.verdict(test);
    if verdict.yes && excluded_by_bloom(leaf, test, file, row_group) {
        verdict.yes = false;
    }
    if !(verdict.yes && verdict.no) {
        return whole(verdict);
    }
    by_pages(leaf, test, file, row_group).unwrap_or_else(|| whole(verdict))
}

fn leaf_index(target: &Target) -> usize {
    target.leaf.as_ref().map_or(usize::MAX, |leaf| leaf.index)
}

/// The rows by the bounds of the chunk's pages; `None` if there are no valid ones.
fn by_pages(leaf: &Leaf, test: &Test, file: &File, row_group: usize) -> Option<Sets> {
    let order = file.metadata().file_metadata().column_order(leaf.index);
    let index = column_index(file, row_group, leaf.index).ok()??;
    let pages = index::page_locations(file, row_group, leaf.index).ok()??;
    let count = pages.len();
    let counted = index.null_counts.len() == count;
    if index.null_pages.len() != count || index.min.len() != count || index.max.len() != count {
        return None;
    }
    let (mut yes, mut no) = (Vec::new(), Vec::new());
    for (page, location) in pages.into_iter().enumerate() {
        let nulls = if index.null_pages[page] {
            Some(location.rows.len())
        } else if counted {
            usize::try_from(index.null_counts[page]).ok()
        } else {
            None
        };
        let bounds = Bounds::of_page(
            leaf,
            (&index.min[page], &index.max[page]),
            order,
            nulls,
            location.rows.len(),
        );
        let verdict = bounds.verdict(test);
        if verdict.yes {
            yes.push(location.rows.clone());
        }
        if verdict.no {
            no.push(location.rows);
        }
    }
    Some(Sets { yes: RowSelection::from_ranges(yes), no: RowSelection::from_ranges(no) })
}

/// Whether the chunk's bloom filter says that no value is equal to the test's.
fn excluded_by_bloom(leaf: &Leaf, test: &Test, file: &File, row_group: usize) -> bool {
    let Test::Compare(Comparison::Equal, key) = test else { return false };
    let Some(stored) = stored_bytes(leaf, key) else { return false };
    let read = || {
        let chunk = file.chunk(row_group, leaf.index).ok()?;
        let start = u64::try_from(chunk.bloom_filter_offset()?).ok()?;
        let length = chunk.bloom_filter_length().filter(|length| *length <= BLOOM_BYTES_MAX)?;
        let end = start.checked_add(u64::try_from(length).ok()?)?;
        Sbbf::from_bytes(&file.slice(start..end).ok()?).ok()
    };
    read().is_some_and(|filter| filter.num_blocks() > 0 && !filter.check(stored.as_slice()))
}

/// A value as it is stored, in the bytes that bloom filters hash; `None` where several stored
/// values are equal to it, or the stored value is unknown.
fn stored_bytes(leaf: &Leaf, key: &Key) -> Option<Vec<u8>> {
    match (leaf.physical, leaf.conversion, key) {
        (
            Physical::INT32,
            Conversion::AsStored | Conversion::IntegerToDecimal,
            Key::Integer(value),
        ) => {
            // Unsigned columns are stored with the same bits.
            let bits = i32::try_from(*value).map(i32::cast_unsigned);
            Some(bits.or_else(|_| u32::try_from(*value)).ok()?.to_le_bytes().to_vec())
        }
        (
            Physical::INT64,
            Conversion::AsStored | Conversion::IntegerToDecimal,
            Key::Integer(value),
        ) => {
            let bits = i64::try_from(*value).map(i64::cast_unsigned);
            Some(bits.or_else(|_| u64::try_from(*value)).ok()?.to_le_bytes().to_vec())
        }
        // Zero has two forms.
        (Physical::DOUBLE, _, Key::Float(value)) if *value != 0.0 => {
            Some(value.to_le_bytes().to_vec())
        }
        (
            Physical::BYTE_ARRAY | Physical::FIXED_LEN_BYTE_ARRAY,
            Conversion::AsStored,
            Key::Bytes(value),
        ) => Some(value.clone()),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
