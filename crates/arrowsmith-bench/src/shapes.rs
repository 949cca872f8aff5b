// SPDX-License-Identifier: Apache-2.0
//! The schemas of the benchmark's inputs, by name: those of the generators, and those of the public
//! files, which are in `bench/definitions/shapes`.
//!
//! The hand-written peers repeat each of these in their own language; the comparison of results
//! detects differences.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, SchemaRef};
use arrowsmith_workload::Workload;

/// The schemas of public files, by the names of their shapes, in the text form.
const FILES: [(&str, &str); 3] = [
    ("canada", include_str!("../embedded/definitions/shapes/canada.schema")),
    ("citm", include_str!("../embedded/definitions/shapes/citm.schema")),
    ("twitter", include_str!("../embedded/definitions/shapes/twitter.schema")),
];

/// The schema with this name.
pub(crate) fn schema(shape: &str) -> Option<SchemaRef> {
    if let Ok(workload) = shape.parse::<Workload>() {
        let schema = workload.schema();
        let fields = schema.fields().iter().map(|field| numeric_zone(field));
        return Some(Arc::new(Schema::new(fields.collect::<Vec<_>>())));
    }
    let (_, text) = FILES.iter().find(|(name, _)| *name == shape)?;
    arrowsmith_plan::text::parse_schema(text).ok().map(Arc::new)
}

/// UTC by its offset: arrow-json knows the names of zones only with a time zone database, which no
/// other code here needs. It is the same time zone, and the values are the same.
fn numeric_zone(field: &Field) -> Field {
    match field.data_type() {
        DataType::Timestamp(unit, Some(zone)) if &**zone == "UTC" => {
            let utc = DataType::Timestamp(*unit, Some("+00:00".into()));
            field.clone().with_data_type(utc)
        }
        _ => field.clone(),
    }
}
