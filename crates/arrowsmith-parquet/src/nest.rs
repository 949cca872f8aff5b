// SPDX-License-Identifier: Apache-2.0
//! The array writer: the decoded leaves of a field → one Arrow array, nested to any depth.
//!
//! `Nest` is the shape of a field, as data: its leaves, and for each the lists and structures
//! around it whose validity and offsets follow from its levels. An engine decodes the leaves,
//! through the trait `Leaves`.

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
use arrowsmith_simd::column::levels::Slots;

use crate::{Column, Leaf, ListKind, RepeatedLevels};

/// A list or structure around a leaf.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ancestor {
    /// Which entries begin a slot of it.
    pub slots: Slots,
    /// Definition level from which it is not null.
    pub valid: u8,
    /// Which entries begin an element, if it is a list or map.
    pub elements: Option<Slots>,
}

/// A leaf of a field.
#[derive(Debug, Clone)]
pub struct NestedLeaf {
    /// The column.
    pub leaf: Leaf,
    /// Which entries begin a value.
    pub slots: Slots,
    /// The ancestors of which it is the first leaf, outermost first.
    pub ancestors: Vec<Ancestor>,
}

/// The shape of a field.
#[derive(Debug, Clone)]
pub struct Nest {
    /// Its leaves, in order.
    pub leaves: Vec<NestedLeaf>,
    tree: Node,
}

/// The decoded leaves of a field, as an engine provides them.
pub trait Leaves {
    /// Maximum bytes of an array that is longer than what the leaves have decoded.
    fn bytes_max(&self) -> usize {
        usize::MAX
    }

    /// The values of a leaf, by its number.
    ///
    /// # Errors
    /// Why there are none.
    fn array(&mut self, leaf: usize) -> Result<ArrayRef>;

    /// Nulls and offsets of an ancestor: `at` is the leaf's number, and the ancestor's among those
    /// of the leaf. The offsets start at 0 and ascend; there is one more than slots. Those of a
    /// structure do not matter.
    fn ancestor(&mut self, at: (usize, usize)) -> (Option<NullBuffer>, ScalarBuffer<i32>);
}

/// A node of the field; `at` names the leaf that builds it and its place among the leaf's
/// ancestors.
#[derive(Debug, Clone)]
enum Node {
    Leaf(usize),
    List { at: (usize, usize), kind: ListKind, field: FieldRef, item: Box<Node> },
    Struct { at: (usize, usize), field: FieldRef, children: Vec<Node> },
    Map { at: (usize, usize), field: FieldRef, key: Box<Node>, value: Box<Node> },
}
impl Nest {
    /// The shape of a field.
    ///
    /// # Errors
    /// More than 255 levels, a structure without columns.
    pub fn new(column: &Column) -> Result<Self> {
        let mut leaves = Vec::new();
        let root = Slots { repetition: 0, definition: 0 };
        let tree = node(&mut leaves, column, root, Vec::new())?;
        Ok(Self { leaves, tree })
    }

    /// The array of the field.
    ///
    /// # Errors
    /// What `leaves` returns; leaves whose lengths do not match.
    pub fn array(&self, leaves: &mut dyn Leaves) -> Result<ArrayRef> {
        array(leaves, &self.tree)
    }
}

/// Adds a node and its leaves; `ancestors` are those that have no leaf yet: the next leaf builds
/// them.
fn node(
    leaves: &mut Vec<NestedLeaf>,
    column: &Column,
    slots: Slots,
    mut ancestors: Vec<Ancestor>,
) -> Result<Node> {
    let at = (leaves.len(), ancestors.len());
    Ok(match column {
        Column::Leaf(leaf) => {
            leaves.push(NestedLeaf { leaf: leaf.clone(), slots, ancestors });
            Node::Leaf(at.0)
        }
        Column::List(list) => {
            let (valid, elements) = repeated(list.levels)?;
            ancestors.push(Ancestor { slots, valid, elements: Some(elements) });
            let item = Box::new(node(leaves, &list.item, elements, ancestors)?);
            Node::List { at, kind: list.kind, field: Arc::clone(&list.field), item }
        }
        Column::Map(map) => {
            let (valid, elements) = repeated(map.levels)?;
            ancestors.push(Ancestor { slots, valid, elements: Some(elements) });
            let key = Box::new(node(leaves, &map.key, elements, ancestors)?);
            let value = Box::new(node(leaves, &map.value, elements, Vec::new())?);
            Node::Map { at, field: Arc::clone(&map.field), key, value }
        }
        // Nothing would tell its number of rows, or which are null.
        Column::Struct(structure) if structure.children.is_empty() => {
            return Err(Error::file(FileErrorKind::Unsupported, "a structure without columns"));
        }
        Column::Struct(structure) => {
            ancestors.push(Ancestor { slots, valid: narrow(structure.def)?, elements: None });
            let mut children = Vec::with_capacity(structure.children.len());
            for child in &structure.children {
                children.push(node(leaves, child, slots, std::mem::take(&mut ancestors))?);
            }
            Node::Struct { at, field: Arc::clone(&structure.field), children }
        }
    })
}

fn repeated(levels: RepeatedLevels) -> Result<(u8, Slots)> {
    let elements =
        Slots { repetition: narrow(levels.rep_item)?, definition: narrow(levels.def_item)? };
    Ok((narrow(levels.def_list)?, elements))
}

/// A level in the width that the engines' kernels use.
fn narrow(level: u16) -> Result<u8> {
    u8::try_from(level).map_err(|_| Error::file(FileErrorKind::Unsupported, "more than 255 levels"))
}

/// The array of a node, from its leaves.
fn array(leaves: &mut dyn Leaves, node: &Node) -> Result<ArrayRef> {
    match node {
        Node::Leaf(leaf) => leaves.array(*leaf),
        Node::Struct { at, field, children } => {
            let children =
                children.iter().map(|child| array(leaves, child)).collect::<Result<Vec<_>>>()?;
            let (nulls, _) = leaves.ancestor(*at);
            // A structure that cannot be null keeps the nulls of its parents: they mask those of
            // its children, which the parents' own are too far away for.
            let nulls = nulls.filter(|nulls| field.is_nullable() || nulls.null_count() > 0);
            let DataType::Struct(fields) = field.data_type() else { return Err(mistyped(field)) };
            let array = StructArray::try_new(fields.clone(), children, nulls);
            Ok(Arc::new(array.map_err(unsound)?))
        }
        Node::List { at, kind, field, item } => {
            let values = array(leaves, item)?;
            let (nulls, offsets) = leaves.ancestor(*at);
            complete(&offsets, &values)?;
            // Nulls of a parent stay: fixed-size items are null there too.
            match kind {
                ListKind::Fixed(size) => {
                    fixed(field, *size, &offsets, values, nulls, leaves.bytes_max())
                }
                _ => list(*kind, field, offsets, values, nulls),
            }
        }
        Node::Map { at, field, key, value } => {
            let (keys, values) = (array(leaves, key)?, array(leaves, value)?);
            let (nulls, offsets) = leaves.ancestor(*at);
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

/// Lists of one kind.
fn list(
    kind: ListKind,
    field: &FieldRef,
    offsets: ScalarBuffer<i32>,
    values: ArrayRef,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef> {
    let item = item_of(field)?;
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
        ListKind::Fixed(_) => Err(mistyped(field)),
    }
}

fn item_of(field: &FieldRef) -> Result<FieldRef> {
    match field.data_type() {
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::ListView(item)
        | DataType::LargeListView(item)
        | DataType::FixedSizeList(item, _) => Ok(Arc::clone(item)),
        _ => Err(mistyped(field)),
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

/// Fixed-size lists: Parquet stores nothing for one that is null, Arrow has `size` items for it
/// too.
fn fixed(
    field: &FieldRef,
    size: i32,
    offsets: &ScalarBuffer<i32>,
    values: ArrayRef,
    nulls: Option<NullBuffer>,
    bytes_max: usize,
) -> Result<ArrayRef> {
    let item = item_of(field)?;
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
        // A null list has no bytes in the file, but any size in memory.
        Some(whole) if whole > bytes_max / (4 + item_bytes(&values)) => {
            let message = format!("{rows} lists of {size} items each: memory_bytes_max is less");
            return Err(Error::file(FileErrorKind::Limit, message));
        }
        Some(whole) if u32::try_from(whole).is_ok() => {
            // Bounded: by the maximum bytes of a batch, see above.
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

/// Average bytes of an item, at least those of a null.
fn item_bytes(values: &ArrayRef) -> usize {
    let width = match values.data_type() {
        DataType::FixedSizeBinary(width) => usize::try_from(*width).unwrap_or(0),
        DataType::FixedSizeList(..) | DataType::Struct(_) => {
            values.get_array_memory_size() / values.len().max(1)
        }
        other => other.primitive_width().unwrap_or(4),
    };
    width.max(1)
}

/// Checks the number of items that one leaf has counted against the array of another.
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

fn corrupt(message: impl Into<String>) -> Error {
    Error::file(FileErrorKind::Corrupt, message)
}

/// The error for columns of a field that do not match each other.
fn unsound(error: ArrowError) -> Error {
    corrupt(error.to_string())
}
