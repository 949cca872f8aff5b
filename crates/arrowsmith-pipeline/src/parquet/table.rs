// SPDX-License-Identifier: Apache-2.0
//! The columns of a table whose files may lack some: which of them are requested, and the types
//! that they have in the batches, by the first file.

use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, Fields};
use arrowsmith_parquet::{PHYSICAL_NAME_KEY, leads_into, leads_to};

use super::conform::{find, is_wider, item, with_item};

/// The names that Parquet puts between a list and its items, and that are optional in paths.
pub(super) const LIST: &[&[&str]] = &[&["list"], &["list", "element"], &["element"]];

/// The same for the values of a map.
pub(super) const MAP: &[&[&str]] = &[&["key_value"], &["key_value", "value"], &["value"]];

/// Whether a schema has a column of this path. What is inside of lists and maps is not looked for.
pub(super) fn has_path(fields: &Fields, path: &str) -> bool {
    has_path_below(fields, path, &[])
}

fn has_path_below(fields: &Fields, path: &str, around: &[String]) -> bool {
    fields.iter().any(|field| {
        let names = [around, std::slice::from_ref(field.name())].concat();
        let is_inside = || match field.data_type() {
            DataType::Struct(fields) => has_path_below(fields, path, &names),
            other => item(other).is_some() || matches!(other, DataType::Map(..)),
        };
        leads_to(path, &names) || (leads_into(path, &names) && is_inside())
    })
}

/// The columns that are requested; `None`: all.
#[derive(Clone, Copy)]
pub(super) struct Requested<'a>(pub(super) Option<&'a [String]>);

impl Requested<'_> {
    /// Whether a field, by all of its paths, is requested, or what it is inside of.
    pub(super) fn whole(self, paths: &[Names]) -> bool {
        let Some(requested) = self.0 else { return true };
        requested.iter().any(|requested| paths.iter().any(|names| leads_to(requested, names)))
    }

    /// Whether something inside of it is requested.
    fn part(self, paths: &[Names]) -> bool {
        let mut requested = self.0.unwrap_or_default().iter();
        requested.any(|requested| paths.iter().any(|names| leads_into(requested, names)))
    }

    /// The place of the first request for a column, or for something inside of it.
    pub(super) fn place(self, name: &str) -> Option<usize> {
        let names = [name.to_owned()];
        let is_it = |column: &String| leads_to(column, &names) || leads_into(column, &names);
        self.0?.iter().position(is_it)
    }

    /// What is requested of a column that no file may have.
    pub(super) fn of(self, field: &Field) -> Option<FieldRef> {
        self.of_path(field, &[vec![field.name().clone()]])
    }

    fn of_path(self, field: &Field, paths: &[Names]) -> Option<FieldRef> {
        let plain = field.clone().with_metadata(plain(field));
        if self.whole(paths) {
            return Some(Arc::new(plain.with_data_type(without_names(field.data_type()))));
        }
        if !self.part(paths) {
            return None;
        }
        let data_type = match field.data_type() {
            DataType::Struct(fields) => {
                let parts =
                    fields.iter().filter_map(|field| self.of_path(field, &below(paths, field)));
                DataType::Struct(parts.collect())
            }
            other => without_names(other),
        };
        Some(Arc::new(plain.with_data_type(data_type)))
    }

    /// The type of a column by the first file: that of the file, with the fields of structs that
    /// the table has, and its types where they are wider.
    pub(super) fn evolved(self, stored: &DataType, field: &Field) -> DataType {
        self.evolved_path(stored, field.data_type(), &[vec![field.name().clone()]])
    }

    fn evolved_path(self, stored: &DataType, table: &DataType, paths: &[Names]) -> DataType {
        let within = |stored: &FieldRef, table: &Field, paths: &[Names]| {
            let data_type = self.evolved_path(stored.data_type(), table.data_type(), paths);
            let nullable = stored.is_nullable() || table.is_nullable();
            Arc::new(stored.as_ref().clone().with_data_type(data_type).with_nullable(nullable))
        };
        match (stored, table) {
            (DataType::Struct(stored), DataType::Struct(table)) => {
                // What is read instead of something that the file lacks is not requested. In lists
                // and maps, whose parts have many names, it stays.
                let is_exact = paths.len() == 1;
                let fields = table.iter().filter_map(|field| {
                    let paths = below(paths, field);
                    let is_requested = || !is_exact || self.whole(&paths) || self.part(&paths);
                    match find(stored, field.name()) {
                        Some((_, stored)) => is_requested().then(|| within(stored, field, &paths)),
                        None => self.of_path(field, &paths),
                    }
                });
                DataType::Struct(fields.collect())
            }
            (DataType::Map(entries, sorted), DataType::Map(table, _)) => {
                let (DataType::Struct(stored), DataType::Struct(table)) =
                    (entries.data_type(), table.data_type())
                else {
                    return DataType::Map(Arc::clone(entries), *sorted);
                };
                let paths = aliases(paths, MAP);
                let parts = stored.iter().zip(table);
                let mut parts: Vec<FieldRef> =
                    parts.map(|(stored, field)| within(stored, field, &paths)).collect();
                if let Some(key) = parts.first_mut() {
                    *key = Arc::new(key.as_ref().clone().with_nullable(false));
                }
                parts.extend(stored.iter().skip(parts.len()).cloned());
                let pair = DataType::Struct(parts.into());
                DataType::Map(Arc::new(entries.as_ref().clone().with_data_type(pair)), *sorted)
            }
            _ => match (item(stored), item(table)) {
                (Some(inner), Some(field)) => {
                    with_item(stored, &within(inner, field, &aliases(paths, LIST)))
                }
                _ if is_wider(stored, table) => table.clone(),
                _ => stored.clone(),
            },
        }
    }
}

/// A path, as names from the root.
pub(super) type Names = Vec<String>;

/// Whether a path is another one, or inside of it.
pub(super) fn is_within(path: &str, other: &str) -> bool {
    path.strip_prefix(other).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

pub(super) fn below(paths: &[Names], field: &Field) -> Vec<Names> {
    paths.iter().map(|path| [&path[..], std::slice::from_ref(field.name())].concat()).collect()
}

/// The paths of what is inside of a list or a map.
pub(super) fn aliases(paths: &[Names], names: &[&[&str]]) -> Vec<Names> {
    let below = |path: &Names, names: &[&str]| {
        path.iter().cloned().chain(names.iter().map(|&name| name.to_owned())).collect()
    };
    let inside = paths.iter().flat_map(|path| names.iter().map(move |names| below(path, names)));
    paths.iter().cloned().chain(inside).collect()
}

/// The metadata of a field without its name in files.
fn plain(field: &Field) -> std::collections::HashMap<String, String> {
    let mut metadata = field.metadata().clone();
    metadata.remove(PHYSICAL_NAME_KEY);
    metadata
}

/// A type without the names of its fields in files.
fn without_names(data_type: &DataType) -> DataType {
    let field = |field: &FieldRef| {
        let metadata = plain(field);
        let data_type = without_names(field.data_type());
        Arc::new(field.as_ref().clone().with_metadata(metadata).with_data_type(data_type))
    };
    match data_type {
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(field).collect()),
        DataType::Map(entries, sorted) => DataType::Map(field(entries), *sorted),
        other => match item(other) {
            Some(inner) => with_item(other, &field(inner)),
            None => other.clone(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(all: &[(&str, DataType)]) -> Fields {
        all.iter().map(|(name, kind)| Field::new(*name, kind.clone(), true)).collect()
    }

    fn record(all: &[(&str, DataType)]) -> DataType {
        DataType::Struct(fields(all))
    }

    #[test]
    fn a_table_may_have_more_than_its_file() {
        let one = |kind| DataType::new_list(record(&[("a", kind)]), true);
        let both =
            DataType::new_list(record(&[("b", DataType::Int8), ("a", DataType::Int64)]), true);
        let evolved = |stored: &DataType, table: &DataType, requested: Option<&[String]>| {
            Requested(requested).evolved(stored, &Field::new("s", table.clone(), true))
        };
        assert_eq!(evolved(&one(DataType::Int32), &both, None), both);
        assert_eq!(
            evolved(&one(DataType::Int64), &one(DataType::Int32), None),
            one(DataType::Int64)
        );
        assert_eq!(evolved(&both, &one(DataType::Int64), None), one(DataType::Int64));
        // What is not requested is not added; what the file has stays.
        for (requested, expected) in [
            ("s.a", one(DataType::Int64)),
            ("s.list.element.a", one(DataType::Int64)),
            ("s.b", both.clone()),
            ("s.list.element.b", both.clone()),
            ("s.element", both.clone()),
            ("s", both.clone()),
            ("st", one(DataType::Int64)),
        ] {
            let requested = [requested.to_owned()];
            assert_eq!(
                evolved(&one(DataType::Int32), &both, Some(&requested)),
                expected,
                "{requested:?}"
            );
        }
    }

    #[test]
    fn what_was_read_instead_of_a_field_is_left_out() {
        let stored = record(&[("a", DataType::Int32), ("b", record(&[("c", DataType::Int8)]))]);
        let table = record(&[
            ("a", DataType::Int32),
            ("b", record(&[("c", DataType::Int8), ("d", DataType::Int8)])),
        ]);
        let field = Field::new("s", table, true);
        let requested = ["s.b.d".to_owned()];
        let found = Requested(Some(&requested)).evolved(&stored, &field);
        assert_eq!(found, record(&[("b", record(&[("d", DataType::Int8)]))]));
        let stored = record(&[("a", DataType::Int32)]);
        let quoted = ["\"s\".\"a\"".to_owned()];
        assert_eq!(Requested(Some(&quoted)).evolved(&stored, &field), stored);
    }

    #[test]
    fn a_part_of_a_column_may_be_requested() {
        let inner = record(&[("c", DataType::Int8), ("d", DataType::Int8)]);
        let field = Field::new("a", record(&[("b", inner), ("e", DataType::Int8)]), true);
        for (requested, expected) in [
            (&["a"][..], Some(field.data_type().clone())),
            (&["a.b.d", "x"], Some(record(&[("b", record(&[("d", DataType::Int8)]))]))),
            (&["a.e"], Some(record(&[("e", DataType::Int8)]))),
            (&["\"a\".\"e\""], Some(record(&[("e", DataType::Int8)]))),
            (&["ab"], None),
            (&[], None),
        ] {
            let requested: Vec<String> =
                requested.iter().map(|&requested| requested.to_owned()).collect();
            let found =
                Requested(Some(&requested)).of(&field).map(|field| field.data_type().clone());
            assert_eq!(found, expected, "{requested:?}");
        }
    }

    #[test]
    fn paths_are_those_of_structs() {
        let fields = fields(&[
            ("a", record(&[("b.c", DataType::Int8)])),
            ("d", DataType::new_list(DataType::Int8, true)),
            ("e", DataType::Int8),
        ]);
        for (path, is_there) in [
            ("a", true),
            ("a.b.c", true),
            ("\"a\".\"b.c\"", true),
            ("a.b", false),
            ("d.x", true),
            ("e.x", false),
            ("f", false),
        ] {
            assert_eq!(has_path(&fields, path), is_there, "{path}");
        }
    }
}
