// SPDX-License-Identifier: Apache-2.0
//! The array writer: the leaves of one field of one row group → one Arrow array a batch.

use std::sync::Arc;

use arrow_array::builder::UInt32Builder;
use arrow_array::{
    Array, ArrayRef, FixedSizeListArray, GenericListArray, GenericListViewArray, ListArray,
    MapArray, OffsetSizeTrait, StructArray,
};
use arrow_buffer::{NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType, FieldRef};
use arrow_select::take::take;
use arrowsmith_core::{Error, FileErrorKind, Result};
use arrowsmith_parquet::{Column, File, ListKind, RepeatedLevels, RowSelection};
use arrowsmith_simd::Level;
use arrowsmith_simd::column::levels::Slots;

use super::leaf::LeafDecoder;
use super::levels::Ancestor;
use super::{corrupt, values};

/// How columns are decoded.
#[derive(Debug, Clone, Copy)]
pub struct ColumnOptions {
    /// The instruction set.
    pub level: Level,
    /// Hold pages that have a checksum to it.
    pub verify_checksums: bool,
}

impl Default for ColumnOptions {
    /// With the best instruction set of this CPU, or the one that `ARROWSMITH_CPU` names.
    fn default() -> Self {
        Self { level: Level::get(), verify_checksums: false }
    }
}

/// Whether this engine decodes a column.
///
/// # Errors
/// Why not: what in it is not supported.
pub fn supports(column: &Column) -> Result<(), String> {
    let within = |level: u16| match u8::try_from(level) {
        Ok(_) => Ok(()),
        Err(_) => Err("it is nested more than 255 levels deep".to_owned()),
    };
    match column {
        Column::Leaf(leaf) => {
            within(leaf.max_def.max(leaf.max_rep))?;
            values::of(leaf, Level::get(), usize::MAX).map(|_| ())
        }
        Column::List(list) => supports(&list.item),
        Column::Map(map) => supports(&map.key).and_then(|()| supports(&map.value)),
        Column::Struct(structure) if structure.children.is_empty() => {
            Err("a structure without columns".to_owned())
        }
        Column::Struct(structure) => structure.children.iter().try_for_each(supports),
    }
}

/// Decodes one field of one row group, batch by batch.
pub struct FieldDecoder {
    leaves: Vec<LeafDecoder>,
    tree: Node,
    selection: Vec<std::ops::Range<usize>>,
    /// The range that comes next, and how many of its rows are taken.
    range: usize,
    taken: usize,
    rows_left: usize,
    /// Whether an error has left the parts out of step.
    failed: bool,
    place: (File, usize, usize),
}

/// A node of the field; `at` names the leaf that builds it and its place among the leaf's ancestors.
enum Node {
    Leaf(usize),
    List { at: (usize, usize), kind: ListKind, field: FieldRef, item: Box<Node> },
    Struct { at: (usize, usize), field: FieldRef, children: Vec<Node> },
    Map { at: (usize, usize), field: FieldRef, key: Box<Node>, value: Box<Node> },
}

impl FieldDecoder {
    /// Over one field of a row group: the rows of `selection`, or all.
    ///
    /// # Errors
    /// A column that [`supports`] refuses, or a column chunk that is encrypted or not where its metadata
    /// says.
    pub fn new(
        file: &File,
        row_group: usize,
        column: &Column,
        selection: Option<&RowSelection>,
        options: ColumnOptions,
    ) -> Result<Self> {
        let rows = file.row_group_rows(row_group)?;
        supports(column).map_err(|reason| {
            let name = column.field().name();
            Error::file(FileErrorKind::Unsupported, format!("column {name}: {reason}"))
        })?;
        let all = RowSelection::all(rows);
        let ranges = selection.unwrap_or(&all).ranges().to_vec();
        if ranges.last().is_some_and(|range| range.end > rows) {
            return Err(Error::Config("rows beyond the end of the row group".to_owned()));
        }
        let mut maker = Maker { file, row_group, selection, options, leaves: Vec::new() };
        let root = Slots { repetition: 0, definition: 0 };
        let tree = maker.node(column, root, Vec::new())?;
        let leaf = column.leaves().first().map_or(0, |leaf| leaf.index);
        Ok(Self {
            leaves: maker.leaves,
            tree,
            rows_left: ranges.iter().map(std::ops::Range::len).sum(),
            selection: ranges,
            range: 0,
            taken: 0,
            failed: false,
            place: (file.clone(), row_group, leaf),
        })
    }

    /// Selected rows that were not handed out yet.
    pub fn rows_left(&self) -> usize {
        self.rows_left
    }

    /// The next `rows` selected rows, or as many as are left.
    ///
    /// # Errors
    /// Pages that are not sound or hold what this engine does not decode, or more data than one array
    /// can have. After an error there are no more rows.
    pub fn next(&mut self, rows: usize) -> Result<ArrayRef> {
        if self.failed {
            return Err(self.named(corrupt("the column could not be read before")));
        }
        let done = self.batch(rows.min(self.rows_left));
        self.failed = done.is_err();
        done
    }

    fn batch(&mut self, rows: usize) -> Result<ArrayRef> {
        self.leaves.iter_mut().for_each(|leaf| leaf.begin(rows));
        let mut left = rows;
        while left > 0 {
            let Some(range) = self.selection.get(self.range) else { break };
            let start = range.start + self.taken;
            let some = left.min(range.end - start);
            for leaf in &mut self.leaves {
                leaf.skip_to(start)?;
                leaf.take(some)?;
            }
            self.taken += some;
            left -= some;
            if self.taken == range.len() {
                self.range += 1;
                self.taken = 0;
            }
        }
        self.rows_left -= rows;
        let array = array(&mut self.leaves, &self.tree).map_err(|error| self.named(error))?;
        if array.len() != rows {
            let message = format!("{} values in {rows} rows", array.len());
            return Err(self.named(corrupt(message)));
        }
        Ok(array)
    }

    fn named(&self, error: Error) -> Error {
        let (file, row_group, leaf) = &self.place;
        file.place(error, *row_group, *leaf)
    }
}

/// Makes the nodes and leaves of a field.
struct Maker<'a> {
    file: &'a File,
    row_group: usize,
    selection: Option<&'a RowSelection>,
    options: ColumnOptions,
    leaves: Vec<LeafDecoder>,
}

impl Maker<'_> {
    /// `ancestors` are the nodes around that have no leaf yet: the next leaf builds them.
    fn node(&mut self, column: &Column, slots: Slots, ancestors: Vec<Ancestor>) -> Result<Node> {
        let mut ancestors = ancestors;
        let at = (self.leaves.len(), ancestors.len());
        Ok(match column {
            Column::Leaf(leaf) => {
                let decoder = LeafDecoder::new(
                    self.file,
                    self.row_group,
                    leaf,
                    slots,
                    ancestors,
                    self.selection,
                    self.options,
                )?;
                self.leaves.push(decoder);
                Node::Leaf(at.0)
            }
            Column::List(list) => {
                let (valid, elements) = repeated(list.levels)?;
                ancestors.push(Ancestor::new(slots, valid, Some(elements)));
                let item = Box::new(self.node(&list.item, elements, ancestors)?);
                Node::List { at, kind: list.kind, field: Arc::clone(&list.field), item }
            }
            Column::Map(map) => {
                let (valid, elements) = repeated(map.levels)?;
                ancestors.push(Ancestor::new(slots, valid, Some(elements)));
                let key = Box::new(self.node(&map.key, elements, ancestors)?);
                let value = Box::new(self.node(&map.value, elements, Vec::new())?);
                Node::Map { at, field: Arc::clone(&map.field), key, value }
            }
            Column::Struct(structure) => {
                ancestors.push(Ancestor::new(slots, narrow(structure.def)?, None));
                let mut children = Vec::with_capacity(structure.children.len());
                for child in &structure.children {
                    children.push(self.node(child, slots, std::mem::take(&mut ancestors))?);
                }
                Node::Struct { at, field: Arc::clone(&structure.field), children }
            }
        })
    }
}

fn repeated(levels: RepeatedLevels) -> Result<(u8, Slots)> {
    let elements =
        Slots { repetition: narrow(levels.rep_item)?, definition: narrow(levels.def_item)? };
    Ok((narrow(levels.def_list)?, elements))
}

/// A level as the kernels have it; [`supports`] lets no greater one pass.
fn narrow(level: u16) -> Result<u8> {
    u8::try_from(level).map_err(|_| Error::file(FileErrorKind::Unsupported, "more than 255 levels"))
}

/// The array of a node, from what its leaves have taken.
fn array(leaves: &mut [LeafDecoder], node: &Node) -> Result<ArrayRef> {
    let ancestor = |leaves: &mut [LeafDecoder], at: (usize, usize)| {
        let ancestor = &mut leaves[at.0].ancestors[at.1];
        (ancestor.take_nulls(), ancestor.take_offsets())
    };
    match node {
        Node::Leaf(leaf) => leaves[*leaf].array(),
        Node::Struct { at, field, children } => {
            let children =
                children.iter().map(|child| array(leaves, child)).collect::<Result<Vec<_>>>()?;
            let (nulls, _) = ancestor(leaves, *at);
            let nulls = nulls.filter(|_| field.is_nullable());
            let DataType::Struct(fields) = field.data_type() else { return Err(mistyped(field)) };
            let array = StructArray::try_new(fields.clone(), children, nulls);
            Ok(Arc::new(array.map_err(unsound)?))
        }
        Node::List { at, kind, field, item } => {
            let values = array(leaves, item)?;
            let (nulls, offsets) = ancestor(leaves, *at);
            complete(&offsets, &values)?;
            // Nulls that are only a parent's stay here: the items of one size are null there too.
            list(*kind, field, offsets, values, nulls)
        }
        Node::Map { at, field, key, value } => {
            let (keys, values) = (array(leaves, key)?, array(leaves, value)?);
            let (nulls, offsets) = ancestor(leaves, *at);
            complete(&offsets, &keys)?;
            let DataType::Map(entries, sorted) = field.data_type() else {
                return Err(mistyped(field));
            };
            let DataType::Struct(fields) = entries.data_type() else { return Err(mistyped(field)) };
            if keys.null_count() > 0 {
                return Err(corrupt("a map with a key that is null"));
            }
            let pairs = StructArray::try_new(fields.clone(), vec![keys, values], None);
            let (offsets, pairs) = (OffsetBuffer::new(offsets), pairs.map_err(unsound)?);
            let nulls = nulls.filter(|_| field.is_nullable());
            let map = MapArray::try_new(Arc::clone(entries), offsets, pairs, nulls, *sorted);
            Ok(Arc::new(map.map_err(unsound)?))
        }
    }
}

/// Lists of a kind.
fn list(
    kind: ListKind,
    field: &FieldRef,
    offsets: ScalarBuffer<i32>,
    values: ArrayRef,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef> {
    let item = match field.data_type() {
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::ListView(item)
        | DataType::LargeListView(item)
        | DataType::FixedSizeList(item, _) => Arc::clone(item),
        _ => return Err(mistyped(field)),
    };
    let wide = |offsets: &ScalarBuffer<i32>| -> ScalarBuffer<i64> {
        offsets.iter().map(|offset| i64::from(*offset)).collect()
    };
    match kind {
        ListKind::Small => {
            let offsets = OffsetBuffer::new(offsets);
            let list = ListArray::try_new(item, offsets, values, nulls).map_err(unsound)?;
            Ok(Arc::new(list))
        }
        ListKind::Large => {
            let offsets = OffsetBuffer::new(wide(&offsets));
            let list = GenericListArray::try_new(item, offsets, values, nulls).map_err(unsound)?;
            Ok(Arc::new(list))
        }
        ListKind::View => views(item, &offsets, values, nulls),
        ListKind::LargeView => views(item, &wide(&offsets), values, nulls),
        ListKind::Fixed(size) => fixed(item, size, &offsets, values, nulls),
    }
}

fn views<O: OffsetSizeTrait>(
    item: FieldRef,
    offsets: &ScalarBuffer<O>,
    values: ArrayRef,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef> {
    let sizes: ScalarBuffer<O> = offsets.windows(2).map(|ends| ends[1] - ends[0]).collect();
    let starts = offsets.slice(0, sizes.len());
    let list = GenericListViewArray::try_new(item, starts, sizes, values, nulls);
    Ok(Arc::new(list.map_err(unsound)?))
}

/// Lists of one size: Parquet stores nothing for one that is null, Arrow has `size` items for it too.
fn fixed(
    item: FieldRef,
    size: i32,
    offsets: &ScalarBuffer<i32>,
    values: ArrayRef,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef> {
    let rows = offsets.len() - 1;
    let valid = |row: usize| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row));
    for (row, ends) in offsets.windows(2).enumerate() {
        let found = ends[1] - ends[0];
        if valid(row) && found != size {
            return Err(corrupt(format!("a list of {found} items where each has {size}")));
        }
    }
    let whole = usize::try_from(size).ok().and_then(|size| size.checked_mul(rows));
    let values = match whole {
        Some(whole) if whole == values.len() => values,
        Some(whole) if u32::try_from(whole).is_ok() => {
            let mut places = UInt32Builder::with_capacity(whole);
            for (row, &start) in offsets.iter().take(rows).enumerate() {
                for at in 0..size {
                    // Both are at least 0.
                    places.append_option(valid(row).then_some((start + at).cast_unsigned()));
                }
            }
            take(&values, &places.finish(), None)?
        }
        _ => return Err(Error::file(FileErrorKind::Overflow, "more items than can be counted")),
    };
    let list = FixedSizeListArray::try_new_with_length(item, size, values, nulls, rows);
    Ok(Arc::new(list.map_err(unsound)?))
}

/// Holds the items that one leaf has counted against the array that another may have made.
fn complete(offsets: &ScalarBuffer<i32>, values: &ArrayRef) -> Result<()> {
    let items = offsets.last().copied().unwrap_or(0);
    if usize::try_from(items) == Ok(values.len()) {
        return Ok(());
    }
    Err(corrupt(format!("lists of {items} items in all, and {} items", values.len())))
}

fn mistyped(field: &FieldRef) -> Error {
    let (name, found) = (field.name(), field.data_type());
    Error::file(FileErrorKind::Unsupported, format!("{name} cannot be {found}"))
}

/// The columns of a field that do not fit one another.
fn unsound(error: ArrowError) -> Error {
    corrupt(error.to_string())
}
