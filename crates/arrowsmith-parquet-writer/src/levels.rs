// SPDX-License-Identifier: Apache-2.0
//! Definition and repetition levels of a leaf, and which of its values are stored.
//!
//! The way from a column to its leaf is walked one step after the other, for all rows at once. An
//! *entry* is what has a level: an item, or the place where a parent is null or an empty list. An
//! entry is alive as long as its definition level is the highest so far; at the end those alive are
//! the values that are stored.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_buffer::NullBuffer;
use arrow_schema::DataType;
use arrowsmith_core::{Error, Result};

use crate::number::view_len;
use crate::schema::{Leaf, Step};

/// Which values of a leaf's array are stored.
#[derive(Debug)]
pub(crate) enum Selection {
    /// All of a range.
    Range(Range<usize>),
    /// Of a range those that are valid; the bits are those of the range.
    Valid(Range<usize>, NullBuffer),
    /// These, ascending within each list.
    Index(Vec<usize>),
}

impl Selection {
    /// Number of values.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Range(range) => range.len(),
            Self::Valid(range, nulls) => range.len() - nulls.null_count(),
            Self::Index(index) => index.len(),
        }
    }
}

/// The levels of a page.
#[derive(Debug, Default)]
pub(crate) struct Levels {
    /// Number of entries.
    pub(crate) entries: usize,
    /// Number of entries that are null, or that a null or an empty list is around.
    pub(crate) nulls: usize,
    /// Definition levels; empty if they are in `valid`, or all of the highest.
    pub(crate) def: Vec<u16>,
    /// For a leaf of one definition level that is in no list: that level, a bit per entry.
    pub(crate) valid: Vec<u8>,
    /// Repetition levels; empty if there are none.
    pub(crate) rep: Vec<u16>,
}

impl Levels {
    pub(crate) fn clear(&mut self) {
        self.entries = 0;
        self.nulls = 0;
        self.def.clear();
        self.valid.clear();
        self.rep.clear();
    }

    /// Appends the levels of rows of a column; returns the leaf's array and which values of it are
    /// stored.
    pub(crate) fn append(
        &mut self,
        leaf: &Leaf,
        column: &ArrayRef,
        rows: Range<usize>,
    ) -> Result<(ArrayRef, Selection)> {
        let (array, selection, entries) = if leaf.steps.is_empty() {
            self.append_flat(leaf, column, rows)?
        } else {
            self.append_nested(leaf, column, rows)?
        };
        self.entries += entries;
        self.nulls += entries - selection.len();
        Ok((array, selection))
    }

    /// Appends the levels of rows in which a column that may be null is null.
    pub(crate) fn append_nulls(&mut self, leaf: &Leaf, rows: usize) {
        if leaf.steps.is_empty() {
            // Bounded: by the rows of a page.
            self.valid.resize((self.entries + rows).div_ceil(8), 0);
        } else {
            // Bounded: by the rows of a page.
            self.def.resize(self.def.len() + rows, 0);
        }
        if leaf.max_rep > 0 {
            // Bounded: by the rows of a page.
            self.rep.resize(self.rep.len() + rows, 0);
        }
        self.entries += rows;
        self.nulls += rows;
    }

    fn append_flat(
        &mut self,
        leaf: &Leaf,
        column: &ArrayRef,
        rows: Range<usize>,
    ) -> Result<(ArrayRef, Selection, usize)> {
        let nulls = some_null(column.logical_nulls(), &rows);
        let entries = rows.len();
        if !leaf.nullable && nulls.is_some() {
            return Err(null_in(leaf));
        }
        if leaf.nullable {
            push_bits(&mut self.valid, self.entries, nulls.as_ref(), entries);
        }
        let selection = match nulls {
            Some(nulls) => Selection::Valid(rows, nulls),
            None => Selection::Range(rows),
        };
        Ok((Arc::clone(column), selection, entries))
    }

    fn append_nested(
        &mut self,
        leaf: &Leaf,
        column: &ArrayRef,
        rows: Range<usize>,
    ) -> Result<(ArrayRef, Selection, usize)> {
        let mut walk = Walk::new(leaf, rows);
        let mut array = Arc::clone(column);
        for step in &leaf.steps {
            array = match *step {
                Step::Struct { child, nullable } => {
                    walk.nulls(array.nulls(), nullable)?;
                    let array = array.as_struct_opt().ok_or_else(|| other_type(leaf))?;
                    Arc::clone(array.columns().get(child).ok_or_else(|| other_type(leaf))?)
                }
                Step::Map { child, nullable } => {
                    walk.nulls(array.nulls(), nullable)?;
                    let map = array.as_map_opt().ok_or_else(|| other_type(leaf))?;
                    let offsets = map.offsets();
                    walk.list(|i| (index(offsets[i]), index(offsets[i + 1] - offsets[i])));
                    let entries = map.entries();
                    walk.nulls(entries.nulls(), false).map_err(|_| null_in(leaf))?;
                    walk.def_of_items();
                    Arc::clone(entries.columns().get(child).ok_or_else(|| other_type(leaf))?)
                }
                Step::List { nullable } => {
                    walk.nulls(array.nulls(), nullable)?;
                    let items = walk.items(&array)?;
                    walk.def_of_items();
                    items
                }
            };
        }
        let nulls = array.logical_nulls();
        walk.nulls(nulls.as_ref(), leaf.nullable)?;
        let Walk { def, rep, alive, entries, uniform, .. } = walk;
        if leaf.max_def > 0 {
            if uniform {
                // Bounded: by items, which are in memory.
                self.def.resize(self.def.len() + entries, leaf.max_def);
            } else {
                self.def.extend_from_slice(&def);
            }
        }
        if leaf.max_rep > 0 {
            self.rep.extend_from_slice(&rep);
        }
        Ok((array, alive, entries))
    }
}

fn null_in(leaf: &Leaf) -> Error {
    Error::schema(leaf.path.clone(), "a null in a column that is not nullable")
}

fn other_type(leaf: &Leaf) -> Error {
    Error::schema(leaf.path.clone(), "the batch has another type than the schema")
}

fn index(offset: i32) -> usize {
    usize::try_from(offset).unwrap_or_default()
}

fn wide_index(offset: i64) -> usize {
    usize::try_from(offset).unwrap_or_default()
}

/// The nulls of a range, if there are any.
fn some_null(nulls: Option<NullBuffer>, rows: &Range<usize>) -> Option<NullBuffer> {
    let nulls = nulls.filter(|nulls| nulls.null_count() > 0)?;
    Some(nulls.slice(rows.start, rows.len())).filter(|nulls| nulls.null_count() > 0)
}

/// Appends bits, ones where there are no nulls, to a bitmap that has `len`.
fn push_bits(bits: &mut Vec<u8>, len: usize, nulls: Option<&NullBuffer>, count: usize) {
    // Bounded: by rows, which are in memory.
    bits.resize((len + count).div_ceil(8), 0);
    let mut at = len;
    let mut put = |word: u64, count: usize| {
        // A word shifted by up to 7 bits has up to 9 bytes.
        let shifted = u128::from(word) << (at % 8);
        let bytes = (at % 8 + count).div_ceil(8);
        let start = at / 8;
        for (to, from) in bits[start..start + bytes].iter_mut().zip(shifted.to_le_bytes()) {
            *to |= from;
        }
        at += count;
    };
    match nulls {
        None => {
            for start in (0..count).step_by(64) {
                let part = (count - start).min(64);
                put(u64::MAX >> (64 - part), part);
            }
        }
        Some(nulls) => {
            let chunks = nulls.inner().bit_chunks();
            chunks.iter().for_each(|word| put(word, 64));
            if chunks.remainder_len() > 0 {
                put(chunks.remainder_bits(), chunks.remainder_len());
            }
        }
    }
}

/// The state of a walk: the entries after some steps.
struct Walk<'a> {
    leaf: &'a Leaf,
    /// Definition level of an entry that is alive.
    level: u16,
    /// Repetition level of the last list.
    lists: u16,
    entries: usize,
    /// Whether all entries are alive; `def` is empty then.
    uniform: bool,
    def: Vec<u16>,
    rep: Vec<u16>,
    /// Indices of those alive in the array of the current step.
    alive: Selection,
}

impl<'a> Walk<'a> {
    fn new(leaf: &'a Leaf, rows: Range<usize>) -> Self {
        Self {
            leaf,
            level: 0,
            lists: 0,
            entries: rows.len(),
            uniform: true,
            def: Vec::new(),
            rep: Vec::new(),
            alive: Selection::Range(rows),
        }
    }

    /// The items of a list exist: their definition level is one higher than that of an empty list.
    fn def_of_items(&mut self) {
        self.level += 1;
    }

    /// Ends the entries that are null in the array of this step.
    fn nulls(&mut self, nulls: Option<&NullBuffer>, nullable: bool) -> Result<()> {
        let nulls = nulls.filter(|nulls| nulls.null_count() > 0);
        if !nullable {
            let null = nulls.is_some_and(|nulls| match &self.alive {
                Selection::Range(range) | Selection::Valid(range, _) => {
                    nulls.slice(range.start, range.len()).null_count() > 0
                }
                Selection::Index(index) => index.iter().any(|i| nulls.is_null(*i)),
            });
            return if null { Err(null_in(self.leaf)) } else { Ok(()) };
        }
        let level = self.level;
        self.level += 1;
        let Some(nulls) = nulls else {
            for def in &mut self.def {
                *def += u16::from(*def == level);
            }
            return Ok(());
        };
        if self.uniform {
            // Bounded: by the entries of a page, whose items are in memory.
            self.def.resize(self.entries, level);
            self.uniform = false;
        }
        let mut kept = Vec::new();
        match &self.alive {
            Selection::Range(range) | Selection::Valid(range, _) => {
                let alive = self.def.iter_mut().filter(|def| **def == level);
                for (def, next) in alive.zip(range.clone()) {
                    if nulls.is_valid(next) {
                        *def = level + 1;
                        kept.push(next);
                    }
                }
            }
            Selection::Index(index) => {
                let alive = self.def.iter_mut().filter(|def| **def == level);
                for (def, next) in alive.zip(index) {
                    if nulls.is_valid(*next) {
                        *def = level + 1;
                        kept.push(*next);
                    }
                }
            }
        }
        self.alive = Selection::Index(kept);
        Ok(())
    }

    /// Goes into a list: returns its items.
    fn items(&mut self, array: &ArrayRef) -> Result<ArrayRef> {
        Ok(match array.data_type() {
            DataType::List(_) => {
                let list = array.as_list::<i32>();
                let offsets = list.offsets();
                self.list(|i| (index(offsets[i]), index(offsets[i + 1] - offsets[i])));
                Arc::clone(list.values())
            }
            DataType::LargeList(_) => {
                let list = array.as_list::<i64>();
                let offsets = list.offsets();
                self.list(|i| (wide_index(offsets[i]), wide_index(offsets[i + 1] - offsets[i])));
                Arc::clone(list.values())
            }
            DataType::ListView(_) => {
                let list = array.as_list_view::<i32>();
                let (offsets, sizes) = (list.offsets(), list.sizes());
                self.list(|i| (index(offsets[i]), index(sizes[i])));
                Arc::clone(list.values())
            }
            DataType::LargeListView(_) => {
                let list = array.as_list_view::<i64>();
                let (offsets, sizes) = (list.offsets(), list.sizes());
                self.list(|i| (wide_index(offsets[i]), wide_index(sizes[i])));
                Arc::clone(list.values())
            }
            DataType::FixedSizeList(_, size) => {
                let size = index(*size);
                self.list(|i| (i * size, size));
                Arc::clone(array.as_fixed_size_list().values())
            }
            _ => return Err(other_type(self.leaf)),
        })
    }

    /// Replaces every entry alive by its items; `items` returns their start and number. The items
    /// are one level higher, which [`Walk::def_of_items`] makes the level of those alive.
    fn list(&mut self, items: impl Fn(usize) -> (usize, usize)) {
        self.lists += 1;
        let (level, repeated) = (self.level, self.lists);
        let first_list = repeated == 1;
        // Where each entry that is alive starts, and how many items it has.
        let mut runs = Runs::default();
        let mut lengths = Vec::new();
        let mut visit = |at: usize| {
            let (start, len) = items(at);
            runs.push(start, len);
            lengths.push(len);
        };
        match &self.alive {
            Selection::Range(range) | Selection::Valid(range, _) => {
                range.clone().for_each(&mut visit);
            }
            Selection::Index(index) => index.iter().for_each(|at| visit(*at)),
        }
        let total: usize = lengths.iter().map(|len| (*len).max(1)).sum();
        let total = total + (self.entries - lengths.len());
        // Bounded: by the items and the entries, which are in memory.
        let mut def = vec![level + 1; total];
        let mut rep = vec![repeated; total];
        let mut lengths = lengths.into_iter();
        let mut at = 0;
        let mut all = true;
        for entry in 0..self.entries {
            rep[at] = if first_list { 0 } else { self.rep[entry] };
            if !self.uniform && self.def[entry] != level {
                def[at] = self.def[entry];
                at += 1;
                all = false;
                continue;
            }
            match lengths.next() {
                Some(len) if len > 0 => at += len,
                _ => {
                    def[at] = level;
                    at += 1;
                    all = false;
                }
            }
        }
        self.entries = total;
        self.uniform = all;
        if all {
            def.clear();
        }
        self.def = def;
        self.rep = rep;
        self.alive = runs.selection();
    }
}

/// Ranges of items: one as long as they follow each other.
#[derive(Default)]
struct Runs {
    range: Range<usize>,
    rest: Option<Vec<usize>>,
}

impl Runs {
    fn push(&mut self, start: usize, len: usize) {
        if len == 0 {
            return;
        }
        if let Some(rest) = &mut self.rest {
            rest.extend(start..start + len);
        } else if self.range.is_empty() {
            self.range = start..start + len;
        } else if self.range.end == start {
            self.range.end += len;
        } else {
            self.rest = Some(self.range.clone().chain(start..start + len).collect());
        }
    }

    fn selection(self) -> Selection {
        match self.rest {
            Some(index) => Selection::Index(index),
            None => Selection::Range(self.range),
        }
    }
}

/// Estimates the bytes of a leaf's values in rows of a column, without nulls being taken out.
pub(crate) fn leaf_bytes(leaf: &Leaf, column: &ArrayRef, rows: Range<usize>) -> u64 {
    let (mut array, mut range) = (Arc::clone(column), rows);
    for step in &leaf.steps {
        let (next, child) = match (step, array.data_type()) {
            (Step::Struct { child, .. }, DataType::Struct(_)) => {
                (array.as_struct().columns().get(*child).cloned(), range)
            }
            (Step::Map { child, .. }, DataType::Map(..)) => {
                let map = array.as_map();
                let offsets = map.offsets();
                let inside = index(offsets[range.start])..index(offsets[range.end]);
                (map.entries().columns().get(*child).cloned(), inside)
            }
            (_, DataType::List(_)) => {
                let list = array.as_list::<i32>();
                let offsets = list.offsets();
                let inside = index(offsets[range.start])..index(offsets[range.end]);
                (Some(Arc::clone(list.values())), inside)
            }
            (_, DataType::LargeList(_)) => {
                let list = array.as_list::<i64>();
                let offsets = list.offsets();
                let inside = wide_index(offsets[range.start])..wide_index(offsets[range.end]);
                (Some(Arc::clone(list.values())), inside)
            }
            (_, DataType::ListView(_)) => {
                let list = array.as_list_view::<i32>();
                let share = list.values().len() * range.len() / list.len().max(1);
                (Some(Arc::clone(list.values())), 0..share)
            }
            (_, DataType::LargeListView(_)) => {
                let list = array.as_list_view::<i64>();
                let share = list.values().len() * range.len() / list.len().max(1);
                (Some(Arc::clone(list.values())), 0..share)
            }
            (_, DataType::FixedSizeList(_, size)) => {
                let size = index(*size);
                let list = array.as_fixed_size_list();
                (Some(Arc::clone(list.values())), range.start * size..range.end * size)
            }
            // Another type than the schema's: an error when it is encoded.
            _ => return 0,
        };
        let Some(next) = next else { return 0 };
        (array, range) = (next, child);
    }
    let count = range.len() as u64;
    match array.data_type() {
        DataType::Utf8 => offsets_bytes(array.as_string::<i32>().offsets(), &range) + 4 * count,
        DataType::Binary => offsets_bytes(array.as_binary::<i32>().offsets(), &range) + 4 * count,
        DataType::LargeUtf8 => {
            wide_offsets_bytes(array.as_string::<i64>().offsets(), &range) + 4 * count
        }
        DataType::LargeBinary => {
            wide_offsets_bytes(array.as_binary::<i64>().offsets(), &range) + 4 * count
        }
        DataType::Utf8View => views_bytes(&array.as_string_view().views()[range]) + 4 * count,
        DataType::BinaryView => views_bytes(&array.as_binary_view().views()[range]) + 4 * count,
        _ => count * leaf.width.max(4) as u64,
    }
}

fn offsets_bytes(offsets: &[i32], range: &Range<usize>) -> u64 {
    (index(offsets[range.end]) - index(offsets[range.start])) as u64
}

fn wide_offsets_bytes(offsets: &[i64], range: &Range<usize>) -> u64 {
    (wide_index(offsets[range.end]) - wide_index(offsets[range.start])) as u64
}

fn views_bytes(views: &[u128]) -> u64 {
    views.iter().map(|view| u64::from(view_len(*view))).sum()
}
