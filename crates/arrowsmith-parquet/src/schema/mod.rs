// SPDX-License-Identifier: Apache-2.0
//! The Parquet schema → the plan: Arrow types, levels, and which leaves they come from.
//!
//! Lists and maps follow the specification's rules, including those for backward compatibility. The
//! Arrow schema in the file is a hint: where it does not match the Parquet schema, it is ignored.

mod extension;
mod hint;
mod leaf;
mod select;

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::extension::EXTENSION_TYPE_NAME_KEY;
use arrow_schema::{DataType, Field, FieldRef, Fields, Schema};
use arrowsmith_core::{Error, FileErrorKind, Result};
use parquet::basic::{ConvertedType, LogicalType, Repetition};
use parquet::schema::types::Type;

use crate::file::File;
use crate::options::{ListForm, ReadOptions};
use crate::plan::{Column, Leaf, List, ListKind, Map, ReadPlan, RepeatedLevels, Struct};
pub(crate) use hint::{ARROW_SCHEMA_KEY, is_sound_in as has_arrow_schema};
use leaf::Primitive;
use select::Selection;
pub use select::{leads_into, leads_to};

/// Metadata key of a field's id in the Parquet schema.
pub const FIELD_ID_KEY: &str = "PARQUET:field_id";

/// Makes the plan of a file.
pub(crate) fn plan(file: &File, options: &ReadOptions) -> Result<ReadPlan> {
    let file_metadata = file.metadata().file_metadata();
    let root = file_metadata.schema_descr().root_schema();
    let (metadata, hint) = hint::metadata(file_metadata);
    let hint = hint.filter(|_| options.arrow_schema);
    let selection = Selection::new(root, options)?;
    let fields = columns(root, hint.as_ref(), options, &selection)?;
    let arrow: Fields = fields.iter().map(|column| Arc::clone(column.field())).collect();
    let schema = Arc::new(Schema::new_with_metadata(arrow, metadata));
    Ok(ReadPlan { fields, schema })
}

/// The top-level columns that are selected, in the order in which they are.
fn columns(
    root: &Type,
    hint: Option<&Schema>,
    options: &ReadOptions,
    selection: &Selection,
) -> Result<Vec<Column>> {
    let mut builder = Builder { next_leaf: 0, path: Vec::new(), options, selection };
    let hints = hint.and_then(|schema| matching(schema.fields(), root.get_fields()));
    let mut found = Vec::new();
    for (index, child) in root.get_fields().iter().enumerate() {
        let first = builder.next_leaf;
        let hint = hints.map(|hints| &*hints[index]);
        let place = Place { def: 0, rep: 0, hint, whole: false, element: false };
        if let Some(column) = builder.column(child, place)? {
            found.push((selection.order(first..builder.next_leaf), column));
        }
    }
    found.sort_by_key(|(order, _)| *order);
    Ok(found.into_iter().map(|(_, column)| column).collect())
}

/// The fields of a hint, if they are those of the Parquet schema.
fn matching<'a>(hints: &'a Fields, fields: &[Arc<Type>]) -> Option<&'a Fields> {
    let same = hints.len() == fields.len()
        && hints.iter().zip(fields).all(|(hint, field)| hint.name() == field.name());
    same.then_some(hints)
}

/// The position of a type in the tree.
#[derive(Clone, Copy)]
struct Place<'a> {
    /// Definition level of its parent.
    def: u16,
    /// Repetition level of its parent.
    rep: u16,
    /// Its field in the Arrow schema.
    hint: Option<&'a Field>,
    /// Whether everything inside is read, selected or not.
    whole: bool,
    /// Whether it is a repeated type whose list has been made already.
    element: bool,
}

struct Builder<'a> {
    next_leaf: usize,
    path: Vec<&'a str>,
    options: &'a ReadOptions,
    selection: &'a Selection,
}

impl<'a> Builder<'a> {
    /// The column of a type; `None` if nothing in it is selected.
    fn column(&mut self, kind: &'a Type, place: Place<'_>) -> Result<Option<Column>> {
        self.path.push(kind.name());
        let column = self.column_inside(kind, place);
        self.path.pop();
        column
    }

    fn column_inside(&mut self, kind: &'a Type, place: Place<'_>) -> Result<Option<Column>> {
        let repetition = repetition(kind);
        if repetition == Repetition::REPEATED && !place.element {
            return self.implicit_list(kind, place);
        }
        let nullable = repetition == Repetition::OPTIONAL;
        let place = Place { def: place.def + u16::from(nullable), ..place };
        let Some(primitive) = Primitive::of(kind) else {
            return match shape(kind) {
                Shape::List => self.list(kind, place, nullable),
                Shape::Map => self.map(kind, place, nullable),
                Shape::Struct => self.structure(kind, place, nullable),
            };
        };
        self.leaf(kind, &primitive, place, nullable)
    }

    fn leaf(
        &mut self,
        kind: &Type,
        primitive: &Primitive<'_>,
        place: Place<'_>,
        nullable: bool,
    ) -> Result<Option<Column>> {
        let index = self.next_leaf;
        self.next_leaf += 1;
        if !place.whole && !self.selection.holds(index) {
            return Ok(None);
        }
        let path = self.path.join(".");
        let hint = place.hint.map(Field::data_type);
        let (data_type, conversion) = primitive
            .target(hint, self.options, self.selection.dictionary(index))
            .map_err(|error| error.at(|at| at.column = Some(path.clone())))?;
        Ok(Some(Column::Leaf(Leaf {
            field: field(kind, data_type, nullable, &place),
            index,
            path,
            physical: primitive.physical,
            type_bytes: usize::try_from(primitive.type_bytes).unwrap_or(0),
            conversion,
            max_def: place.def,
            max_rep: place.rep,
        })))
    }

    fn structure(
        &mut self,
        kind: &'a Type,
        place: Place<'_>,
        nullable: bool,
    ) -> Result<Option<Column>> {
        let fields = kind.get_fields();
        let hints = place.hint.and_then(|hint| match hint.data_type() {
            DataType::Struct(hints) => matching(hints, fields),
            _ => None,
        });
        let mut children = Vec::with_capacity(fields.len());
        for (index, child) in fields.iter().enumerate() {
            let hint = hints.map(|hints| &*hints[index]);
            let inside = Place { hint, element: false, ..place };
            children.extend(self.column(child, inside)?);
        }
        if children.is_empty() {
            return Ok(None);
        }
        let fields: Fields = children.iter().map(|child| Arc::clone(child.field())).collect();
        let field = field(kind, DataType::Struct(fields), nullable, &place);
        Ok(Some(Column::Struct(Struct { field, children, def: place.def })))
    }

    /// A repeated type outside of a LIST: a list that is never null, of items that are never null.
    fn implicit_list(&mut self, kind: &'a Type, place: Place<'_>) -> Result<Option<Column>> {
        let levels = levels(&place);
        let item_hint = place.hint.and_then(|hint| list_item(hint.data_type()));
        let inside = Place {
            def: levels.def_item,
            rep: levels.rep_item,
            hint: item_hint,
            element: true,
            ..place
        };
        // The path includes this type's name already.
        let Some(item) = self.column_inside(kind, inside)? else { return Ok(None) };
        let list_kind = list_kind(place.hint, self.options.lists);
        let item = match item_hint {
            Some(hint) => named(item, hint),
            // If a list has the id itself, its items have none.
            None => with_field(item, |field| {
                let mut metadata = field.metadata().clone();
                metadata.remove(FIELD_ID_KEY);
                field.with_metadata(metadata)
            }),
        };
        let field = field(kind, list_type(list_kind, item.field()), false, &place);
        Ok(Some(Column::List(List { field, kind: list_kind, item: Box::new(item), levels })))
    }

    /// A group that is annotated as LIST.
    fn list(&mut self, kind: &'a Type, place: Place<'_>, nullable: bool) -> Result<Option<Column>> {
        let [repeated] = kind.get_fields() else {
            return Err(self.shape("a LIST of other than one field"));
        };
        if repetition(repeated) != Repetition::REPEATED {
            return Err(self.shape("a LIST whose field does not repeat"));
        }
        let levels = levels(&place);
        let item_hint = place.hint.and_then(|hint| list_item(hint.data_type()));
        let inside = Place {
            def: levels.def_item,
            rep: levels.rep_item,
            hint: item_hint,
            element: true,
            ..place
        };
        let item = match repeated.as_ref() {
            group if !group.is_primitive() && !is_element(group, kind.name()) => {
                self.path.push(repeated.name());
                let item = self.column(&group.get_fields()[0], Place { element: false, ..inside });
                self.path.pop();
                item?
            }
            element => self.column(element, inside)?,
        };
        let Some(item) = item else { return Ok(None) };
        let item = match item_hint {
            Some(hint) => named(item, hint),
            None => item,
        };
        let list_kind = list_kind(place.hint, self.options.lists);
        let field = field(kind, list_type(list_kind, item.field()), nullable, &place);
        Ok(Some(Column::List(List { field, kind: list_kind, item: Box::new(item), levels })))
    }

    /// A group that is annotated as MAP, or by its old name MAP_KEY_VALUE.
    fn map(&mut self, kind: &'a Type, place: Place<'_>, nullable: bool) -> Result<Option<Column>> {
        let [entries] = kind.get_fields() else {
            return Err(self.shape("a MAP of other than one field"));
        };
        if repetition(entries) != Repetition::REPEATED || entries.is_primitive() {
            return Err(self.shape("a MAP whose field is not a repeated group"));
        }
        let (key_type, value_type) = match entries.get_fields() {
            [key, value] => (key, value),
            // A map without values is a set: a list of its keys.
            [_] => return self.list(kind, place, nullable),
            _ => return Err(self.shape("a MAP whose entries are other than key and value")),
        };
        if repetition(key_type) == Repetition::REPEATED {
            return Err(self.shape("a MAP whose keys repeat"));
        }
        // A map is read with its keys, and with all of its values if none are selected.
        let key_leaves = self.next_leaf..self.next_leaf + leaves(key_type);
        let value_leaves = key_leaves.end..key_leaves.end + leaves(value_type);
        let values = self.selection.any(value_leaves);
        let wanted = place.whole || values || self.selection.any(key_leaves);
        if !wanted {
            self.next_leaf += leaves(entries);
            return Ok(None);
        }
        let (hint, sorted) = match place.hint.map(Field::data_type) {
            Some(DataType::Map(entries, sorted)) => (Some(entries), *sorted),
            _ => (None, false),
        };
        let hints = hint.and_then(|entries| match entries.data_type() {
            DataType::Struct(fields) if fields.len() == 2 => Some((&*fields[0], &*fields[1])),
            _ => None,
        });
        let levels = levels(&place);
        let inside = Place { def: levels.def_item, rep: levels.rep_item, whole: true, ..place };
        let key_place = Place { hint: hints.map(|(key, _)| key), element: false, ..inside };
        let value_place = Place {
            hint: hints.map(|(_, value)| value),
            whole: place.whole || !values,
            ..key_place
        };
        self.path.push(entries.name());
        let key = self.column(key_type, key_place);
        let value = self.column(value_type, value_place);
        self.path.pop();
        let (Some(mut key), Some(mut value)) = (key?, value?) else { return Ok(None) };
        if let Some(hints) = hints {
            (key, value) = (named(key, hints.0), named(value, hints.1));
        }
        let key_field = Arc::new(key.field().as_ref().clone().with_nullable(false));
        let pair = DataType::Struct([key_field, Arc::clone(value.field())].into_iter().collect());
        let entries =
            Field::new(hint.map_or(entries.name(), |entries| entries.name()), pair, false)
                .with_metadata(
                    hint.map_or_else(HashMap::new, |entries| entries.metadata().clone()),
                );
        let field = field(kind, DataType::Map(Arc::new(entries), sorted), nullable, &place);
        Ok(Some(Column::Map(Map { field, key: Box::new(key), value: Box::new(value), levels })))
    }

    fn shape(&self, message: &str) -> Error {
        let path = self.path.join(".");
        Error::file(FileErrorKind::Corrupt, message).at(|place| place.column = Some(path))
    }
}

pub(crate) fn repetition(kind: &Type) -> Repetition {
    let info = kind.get_basic_info();
    if info.has_repetition() { info.repetition() } else { Repetition::REQUIRED }
}

/// What a group is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    List,
    Map,
    Struct,
}

pub(crate) fn shape(kind: &Type) -> Shape {
    let info = kind.get_basic_info();
    match (info.logical_type_ref(), info.converted_type()) {
        (Some(LogicalType::List), _) | (None, ConvertedType::LIST) => Shape::List,
        (Some(LogicalType::Map), _) | (None, ConvertedType::MAP | ConvertedType::MAP_KEY_VALUE) => {
            Shape::Map
        }
        _ => Shape::Struct,
    }
}

/// Leaves inside a type.
fn leaves(kind: &Type) -> usize {
    if kind.is_primitive() { 1 } else { kind.get_fields().iter().map(|child| leaves(child)).sum() }
}

fn levels(place: &Place<'_>) -> RepeatedLevels {
    RepeatedLevels { def_list: place.def, def_item: place.def + 1, rep_item: place.rep + 1 }
}

/// Whether the repeated group inside a LIST is the element itself, and not a group around the
/// element: the specification's rules for backward compatibility.
pub(crate) fn is_element(repeated: &Type, list_name: &str) -> bool {
    let [child] = repeated.get_fields() else { return true };
    let annotated = shape(repeated) != Shape::Struct;
    let tuple = repeated.name().strip_suffix("_tuple") == Some(list_name);
    annotated || repetition(child) == Repetition::REPEATED || repeated.name() == "array" || tuple
}

/// The items' field of a list type.
fn list_item(kind: &DataType) -> Option<&Field> {
    match kind {
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::ListView(item)
        | DataType::LargeListView(item)
        | DataType::FixedSizeList(item, _) => Some(item),
        _ => None,
    }
}

fn list_kind(hint: Option<&Field>, form: ListForm) -> ListKind {
    match (form, hint.map(Field::data_type)) {
        (_, Some(DataType::FixedSizeList(_, size))) if *size >= 0 => ListKind::Fixed(*size),
        (ListForm::Small, _) => ListKind::Small,
        (ListForm::Large, _) => ListKind::Large,
        (ListForm::AsFile, Some(DataType::LargeList(_))) => ListKind::Large,
        (ListForm::AsFile, Some(DataType::ListView(_))) => ListKind::View,
        (ListForm::AsFile, Some(DataType::LargeListView(_))) => ListKind::LargeView,
        (ListForm::AsFile, _) => ListKind::Small,
    }
}

fn list_type(kind: ListKind, item: &FieldRef) -> DataType {
    let item = Arc::clone(item);
    match kind {
        ListKind::Small => DataType::List(item),
        ListKind::Large => DataType::LargeList(item),
        ListKind::View => DataType::ListView(item),
        ListKind::LargeView => DataType::LargeListView(item),
        ListKind::Fixed(size) => DataType::FixedSizeList(item, size),
    }
}

/// The Arrow field of a type: metadata from the hint if there is one, else the field's id and
/// extension. VARIANT is one even if the hint has only its storage, as that of pyarrow.
fn field(kind: &Type, data_type: DataType, nullable: bool, place: &Place<'_>) -> FieldRef {
    let info = kind.get_basic_info();
    let metadata = match place.hint {
        Some(hint) => {
            let mut metadata = hint.metadata().clone();
            let logical = info.logical_type_ref();
            if matches!(logical, Some(LogicalType::Variant(_)))
                && !metadata.contains_key(EXTENSION_TYPE_NAME_KEY)
            {
                extension::add(logical, &data_type, &mut metadata);
            }
            metadata
        }
        None => {
            let mut metadata = HashMap::new();
            if info.has_id() {
                metadata.insert(FIELD_ID_KEY.to_owned(), info.id().to_string());
            }
            extension::add(info.logical_type_ref(), &data_type, &mut metadata);
            metadata
        }
    };
    let ordered = matches!(data_type, DataType::Dictionary(..))
        && place.hint.and_then(Field::dict_is_ordered).unwrap_or(false);
    let field = Field::new(kind.name(), data_type, nullable).with_metadata(metadata);
    Arc::new(field.with_dict_is_ordered(ordered))
}

/// A part of a list or map with its name in Arrow: the format prescribes the one in Parquet.
fn named(column: Column, hint: &Field) -> Column {
    with_field(column, |field| field.with_name(hint.name()))
}

fn with_field(mut column: Column, change: impl FnOnce(Field) -> Field) -> Column {
    let field = match &mut column {
        Column::Leaf(leaf) => &mut leaf.field,
        Column::List(list) => &mut list.field,
        Column::Struct(structure) => &mut structure.field,
        Column::Map(map) => &mut map.field,
    };
    *field = Arc::new(change(field.as_ref().clone()));
    column
}

#[cfg(test)]
mod tests;
