// SPDX-License-Identifier: Apache-2.0
//! Manifests and lists of manifests: which files are part of a snapshot, for version 2 of the
//! format. Fields are found by their ids.

use arrow_schema::DataType;
use serde_json::{Value, json};

use super::avro::{self, Encoder};
use super::partition::{PartitionValue, Spec};
use crate::table::{Bound, Column, Statistics, lower_text, upper_text};
use arrowsmith_parquet::FIELD_ID_KEY;
use arrowsmith_source::iceberg::Encoded;

/// Characters of a text that are kept in bounds.
const TEXT_MAX: usize = 32;

/// What a manifest says of its table.
pub(super) struct About<'a> {
    pub(super) schema: &'a Value,
    pub(super) spec: &'a Spec,
    /// The fields of `spec` as metadata has them.
    pub(super) fields: &'a Value,
    pub(super) snapshot: i64,
}

/// A file that is added.
pub(super) struct Entry<'a> {
    /// Its URL.
    pub(super) location: String,
    pub(super) partition: &'a [PartitionValue],
    pub(super) bytes: u64,
    pub(super) statistics: &'a Statistics,
}

/// A manifest of files that are added.
pub(super) fn manifest(about: &About<'_>, entries: &[Entry<'_>]) -> Vec<u8> {
    let mut records = Encoder::default();
    for entry in entries {
        // Added by this snapshot; its sequence number is that of the manifest.
        records.long(1);
        records.some();
        records.long(about.snapshot);
        records.null();
        records.null();
        data_file(&mut records, entry);
    }
    let (spec_id, schema_id) =
        (about.spec.id.to_string(), about.schema["schema-id"].as_i64().unwrap_or(0).to_string());
    let (schema, fields) = (about.schema.to_string(), about.fields.to_string());
    let head = [
        ("schema", schema.as_str()),
        ("schema-id", &schema_id),
        ("partition-spec", &fields),
        ("partition-spec-id", &spec_id),
        ("format-version", "2"),
        ("content", "data"),
    ];
    avro::file(&entry_schema(about.spec), &head, entries.len() as i64, &records.0)
}

fn data_file(out: &mut Encoder, entry: &Entry<'_>) {
    let columns =
        || entry.statistics.columns.iter().filter_map(|column| Some((id(column)?, column)));
    out.long(0);
    out.bytes(entry.location.as_bytes());
    out.bytes(b"PARQUET");
    for value in entry.partition {
        match value {
            Some(value) => {
                out.some();
                out.0.extend_from_slice(&value.0);
            }
            None => out.null(),
        }
    }
    let rows = entry.statistics.rows.cast_signed();
    out.long(rows);
    out.long(entry.bytes.cast_signed());
    // Sizes of columns.
    out.null();
    let counts: Vec<(i64, i64)> = columns().map(|(id, _)| (id, rows)).collect();
    let nulls: Vec<(i64, i64)> =
        columns().map(|(id, column)| (id, column.nulls.cast_signed())).collect();
    for numbers in [counts, nulls] {
        out.some();
        out.array(numbers.into_iter(), |out, (id, number)| {
            out.long(id);
            out.long(number);
        });
    }
    // Counts of NaN.
    out.null();
    let bounds: Vec<(i64, Vec<u8>, Vec<u8>)> = columns()
        .filter_map(|(id, column)| {
            let (low, high) = column.bounds()?;
            Some((id, bound(column, low, true)?, bound(column, high, false)?))
        })
        .collect();
    for is_lower in [true, false] {
        out.some();
        out.array(bounds.iter(), |out, (id, low, high)| {
            out.long(*id);
            out.bytes(if is_lower { low } else { high });
        });
    }
    // No key, offsets of row groups, ids of equality deletes, sort order.
    for _ in 0..4 {
        out.null();
    }
}

/// The id of a column.
fn id(column: &Column) -> Option<i64> {
    column.field.metadata().get(FIELD_ID_KEY)?.parse().ok()
}

/// A bound in the form of the specification, "binary single-value serialization".
fn bound(column: &Column, bound: &Bound, is_lower: bool) -> Option<Vec<u8>> {
    // The order of the specification has -0 before 0, and values that are equal may be either.
    let zero = |value: f64| match (value == 0.0, is_lower) {
        (true, true) => -0.0,
        (true, false) => 0.0,
        (false, _) => value,
    };
    Some(match (bound, column.field.data_type()) {
        (Bound::Integer(value), DataType::Int32 | DataType::Date32) => {
            i32::try_from(*value).ok()?.to_le_bytes().to_vec()
        }
        (Bound::Integer(value), _) => value.to_le_bytes().to_vec(),
        #[allow(clippy::cast_possible_truncation, reason = "it was one of 32 bits")]
        (Bound::Float(value), DataType::Float32) => (zero(*value) as f32).to_le_bytes().to_vec(),
        (Bound::Float(value), _) => zero(*value).to_le_bytes().to_vec(),
        (Bound::Decimal(value), _) => {
            let bytes = value.to_be_bytes();
            let spare = (0..15).take_while(|at| {
                let sign = if bytes[at + 1] & 0x80 == 0 { 0 } else { 0xFF };
                bytes[*at] == sign
            });
            bytes[spare.count()..].to_vec()
        }
        (Bound::Text(text), _) if is_lower => lower_text(text, TEXT_MAX).into_bytes(),
        (Bound::Text(text), _) => upper_text(text, TEXT_MAX)?.into_bytes(),
    })
}

/// An optional field.
fn optional(name: &str, id: i32, kind: &Value) -> Value {
    json!({"name": name, "field-id": id, "type": ["null", kind], "default": null})
}

fn required(name: &str, id: i32, kind: &Value) -> Value {
    json!({"name": name, "field-id": id, "type": kind})
}

/// A map whose keys are ids of columns.
fn by_column(name: &str, id: i32, key: i32, value: i32, kind: &str) -> Value {
    let record = json!({
        "type": "record", "name": format!("k{key}_v{value}"),
        "fields": [required("key", key, &json!("int")), required("value", value, &json!(kind))],
    });
    optional(name, id, &json!({"type": "array", "items": record, "logicalType": "map"}))
}

fn list(name: &str, id: i32, element: i32, kind: &str) -> Value {
    let list = json!({"type": "array", "items": kind, "element-id": element});
    optional(name, id, &list)
}

/// The schema of the entries of a manifest.
fn entry_schema(spec: &Spec) -> Value {
    let (int, long, string) = (json!("int"), json!("long"), json!("string"));
    let data_file = json!({"type": "record", "name": "r2", "fields": [
        required("content", 134, &int),
        required("file_path", 100, &string),
        required("file_format", 101, &string),
        required("partition", 102, &spec.avro()),
        required("record_count", 103, &long),
        required("file_size_in_bytes", 104, &long),
        by_column("column_sizes", 108, 117, 118, "long"),
        by_column("value_counts", 109, 119, 120, "long"),
        by_column("null_value_counts", 110, 121, 122, "long"),
        by_column("nan_value_counts", 137, 138, 139, "long"),
        by_column("lower_bounds", 125, 126, 127, "bytes"),
        by_column("upper_bounds", 128, 129, 130, "bytes"),
        optional("key_metadata", 131, &json!("bytes")),
        list("split_offsets", 132, 133, "long"),
        list("equality_ids", 135, 136, "int"),
        optional("sort_order_id", 140, &int),
    ]});
    json!({"type": "record", "name": "manifest_entry", "fields": [
        required("status", 0, &int),
        optional("snapshot_id", 1, &long),
        optional("sequence_number", 3, &long),
        optional("file_sequence_number", 4, &long),
        required("data_file", 2, &data_file),
    ]})
}

/// The schema of a list of manifests.
fn list_schema() -> Value {
    let (int, long) = (json!("int"), json!("long"));
    let summary = json!({"type": "record", "name": "r508", "fields": [
        required("contains_null", 509, &json!("boolean")),
        optional("contains_nan", 518, &json!("boolean")),
        optional("lower_bound", 510, &json!("bytes")),
        optional("upper_bound", 511, &json!("bytes")),
    ]});
    let partitions = json!({"type": "array", "items": summary, "element-id": 508});
    json!({"type": "record", "name": "manifest_file", "fields": [
        required("manifest_path", 500, &json!("string")),
        required("manifest_length", 501, &long),
        required("partition_spec_id", 502, &int),
        required("content", 517, &int),
        required("sequence_number", 515, &long),
        required("min_sequence_number", 516, &long),
        required("added_snapshot_id", 503, &long),
        required("added_files_count", 504, &int),
        required("existing_files_count", 505, &int),
        required("deleted_files_count", 506, &int),
        required("added_rows_count", 512, &long),
        required("existing_rows_count", 513, &long),
        required("deleted_rows_count", 514, &long),
        optional("partitions", 507, &partitions),
        optional("key_metadata", 519, &json!("bytes")),
    ]})
}

/// A manifest in a list.
pub(super) struct Listed<'a> {
    /// Its URL.
    pub(super) location: &'a str,
    pub(super) bytes: usize,
    pub(super) spec: i64,
    pub(super) sequence: i64,
    pub(super) snapshot: i64,
    pub(super) files: usize,
    pub(super) rows: u64,
}

impl Listed<'_> {
    /// The value of a field; none for those that a list need not have.
    fn number(&self, id: i64) -> Option<i64> {
        Some(match id {
            501 => self.bytes as i64,
            502 => self.spec,
            503 => self.snapshot,
            504 => self.files as i64,
            505 | 506 | 513 | 514 | 517 => 0,
            512 => self.rows.cast_signed(),
            515 | 516 => self.sequence,
            _ => return None,
        })
    }
}

/// The list of the manifests of a snapshot: those of the one before as they are, and one more.
///
/// # Errors
/// What a list of another writer has that is not known here.
pub(super) fn list_with(
    before: Option<Encoded>,
    listed: &Listed<'_>,
    parent: Option<i64>,
) -> Result<Vec<u8>, String> {
    let before =
        before.unwrap_or_else(|| Encoded { schema: list_schema(), records: 0, bytes: Vec::new() });
    let fields = before.schema["fields"].as_array().cloned().unwrap_or_default();
    let has = |id: i64| fields.iter().any(|field| field["field-id"].as_i64() == Some(id));
    if !(has(515) && has(517)) {
        return Err("lists of manifests of version 1".to_owned());
    }
    let mut record = Encoder(before.bytes);
    for field in &fields {
        let id = field["field-id"].as_i64().unwrap_or(-1);
        let text = (id == 500).then_some(listed.location);
        let number = listed.number(id);
        let unknown = || format!("lists of manifests with {}", field["name"]);
        let kind = match &field["type"] {
            Value::Array(branches) => {
                let is_null = text.is_none() && number.is_none();
                let branch = branches.iter().position(|branch| (branch == "null") == is_null);
                let branch = branch.ok_or_else(unknown)?;
                record.long(branch as i64);
                if is_null {
                    continue;
                }
                &branches[branch]
            }
            kind => kind,
        };
        match (kind.as_str(), text, number) {
            (Some("string"), Some(text), _) => record.bytes(text.as_bytes()),
            (Some("int" | "long"), _, Some(number)) => record.long(number),
            _ => return Err(unknown()),
        }
    }
    let (snapshot, sequence) = (listed.snapshot.to_string(), listed.sequence.to_string());
    let parent = parent.map_or_else(|| "null".to_owned(), |id| id.to_string());
    let head = [
        ("snapshot-id", snapshot.as_str()),
        ("parent-snapshot-id", &parent),
        ("sequence-number", &sequence),
        ("format-version", "2"),
    ];
    Ok(avro::file(&before.schema, &head, before.records + 1, &record.0))
}
