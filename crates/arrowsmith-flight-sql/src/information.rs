// SPDX-License-Identifier: Apache-2.0
//! `information_schema`: what is served, as tables. No settings: they are the server's, and clients
//! cannot change them.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int32Array, RecordBatch, StringArray};
use arrow_schema::ArrowError;
use arrowsmith_flight::Catalog;
use datafusion::catalog::{MemTable, SchemaProvider, TableProvider};
use datafusion::common::Result;

use crate::tables::tables;
use crate::{CATALOG, INFORMATION, SCHEMA, plain};

/// Its tables.
const TABLES: [&str; 4] = ["columns", "schemata", "tables", "views"];

/// The schema with that name.
#[derive(Debug)]
pub(crate) struct Information(pub(crate) Arc<Catalog>);

fn text<T: AsRef<str>>(values: impl IntoIterator<Item = T>) -> ArrayRef {
    let values: Vec<T> = values.into_iter().collect();
    Arc::new(StringArray::from_iter_values(values))
}

fn same(value: &str, rows: usize) -> ArrayRef {
    text(std::iter::repeat_n(value, rows))
}

impl Information {
    fn batch(&self, name: &str) -> std::result::Result<Option<RecordBatch>, ArrowError> {
        let served: Vec<_> = tables(&self.0).collect();
        let columns: Vec<(&str, ArrayRef)> = match name {
            "schemata" => vec![
                ("catalog_name", same(CATALOG, 2)),
                ("schema_name", text([SCHEMA, INFORMATION])),
            ],
            "tables" => {
                let names = served.iter().map(|(name, _)| *name).chain(TABLES);
                let ours = served.len();
                let rows = ours + TABLES.len();
                let schemas = (0..rows).map(|row| if row < ours { SCHEMA } else { INFORMATION });
                let kinds = (0..rows).map(|row| if row < ours { "BASE TABLE" } else { "VIEW" });
                vec![
                    ("table_catalog", same(CATALOG, rows)),
                    ("table_schema", text(schemas)),
                    ("table_name", text(names)),
                    ("table_type", text(kinds)),
                ]
            }
            "views" => vec![
                ("table_catalog", same(CATALOG, 0)),
                ("table_schema", same(SCHEMA, 0)),
                ("table_name", same("", 0)),
                ("definition", same("", 0)),
            ],
            "columns" => {
                let all = || {
                    served.iter().flat_map(|(table, snapshot)| {
                        let fields = snapshot.schema.fields().iter().enumerate();
                        fields.map(move |(place, field)| (*table, place, field))
                    })
                };
                let rows = all().count();
                let place = |place: usize| i32::try_from(place + 1).unwrap_or(i32::MAX);
                let places: Vec<i32> = all().map(|(_, at, _)| place(at)).collect();
                let nullable =
                    all().map(|(.., field)| if field.is_nullable() { "YES" } else { "NO" });
                vec![
                    ("table_catalog", same(CATALOG, rows)),
                    ("table_schema", same(SCHEMA, rows)),
                    ("table_name", text(all().map(|(table, ..)| table))),
                    ("column_name", text(all().map(|(.., field)| field.name()))),
                    ("ordinal_position", Arc::new(Int32Array::from(places))),
                    ("is_nullable", text(nullable)),
                    (
                        "data_type",
                        text(
                            all()
                                .map(|(.., field)| plain::data_type(field.data_type()).to_string()),
                        ),
                    ),
                ]
            }
            _ => return Ok(None),
        };
        RecordBatch::try_from_iter(columns).map(Some)
    }
}

#[tonic::async_trait]
impl SchemaProvider for Information {
    fn table_names(&self) -> Vec<String> {
        TABLES.map(str::to_owned).to_vec()
    }

    async fn table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        let Some(batch) = self.batch(name)? else { return Ok(None) };
        let table = MemTable::try_new(batch.schema(), vec![vec![batch]])?;
        Ok(Some(Arc::new(table)))
    }

    fn table_exist(&self, name: &str) -> bool {
        TABLES.contains(&name)
    }
}
