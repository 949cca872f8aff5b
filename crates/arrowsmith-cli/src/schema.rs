// SPDX-License-Identifier: Apache-2.0
//! Schemas as the command line reads and prints them.

use std::path::Path;
use std::sync::Arc;

use arrow_schema::{Schema, SchemaRef};
use arrowsmith::plan::load::load_schema;
use arrowsmith::plan::text::format_schema;
use arrowsmith_core::Error;
use arrowsmith_workload::Workload;

use crate::failure::Outcome;

/// What `--schema` names: a file, a workload, or the text itself, in this order.
pub fn load(name: &str) -> Outcome<SchemaRef> {
    if Path::new(name).exists() {
        return Ok(Arc::new(load_schema(name)?));
    }
    match name.parse::<Workload>() {
        Ok(workload) => Ok(Arc::new(workload.schema())),
        Err(_) if name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-') => {
            let workloads = Workload::ALL.map(Workload::name).join(", ");
            let message = format!(
                "there is no file {name:?} and no workload of that name ({workloads}), and a \
                 schema is written 'name: type, …'"
            );
            Err(Error::schema("", message).into())
        }
        Err(_) => Ok(Arc::new(load_schema(name)?)),
    }
}

/// The schema and its metadata in the text form that `--schema` accepts.
pub fn text(schema: &Schema) -> String {
    format_schema(schema)
}

/// The schema as part of a report.
pub fn section(schema: &str) -> String {
    let mut text = "\nschema:\n".to_owned();
    for line in schema.lines() {
        text.push_str(&format!("  {line}\n"));
    }
    text
}

/// The note that not all records were looked at.
pub fn inferred_from(records: u64) -> String {
    format!("note: inferred from the first {records} records; --infer-records all uses all of them")
}
