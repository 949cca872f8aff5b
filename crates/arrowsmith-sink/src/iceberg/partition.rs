// SPDX-License-Identifier: Apache-2.0
//! [`Spec`]: how a table is partitioned, and the values of a file's partition, which are those of
//! the folders that it is in.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Decimal128Type, TimestampMicrosecondType};
use arrow_array::{Array, ArrayRef, StringArray};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{DataType, TimeUnit};
use arrowsmith_core::{Error, Result};
use arrowsmith_source::partitions_of;
use serde_json::{Value, json};

use super::avro::Encoder;
use super::schema::decimal;
use crate::folder::Partition;

/// The first id of a partition field.
const IDS_FROM: usize = 1000;

/// How a table is partitioned.
#[derive(Debug, Clone)]
pub(super) struct Spec {
    pub(super) id: i64,
    pub(super) fields: Vec<PartitionField>,
}

/// What a table is partitioned by.
#[derive(Debug, Clone)]
pub(super) struct PartitionField {
    pub(super) partition: Partition,
    name: String,
    id: i64,
    /// What Iceberg calls the type of the column.
    of: String,
}

/// The value of a partition field; none is null.
pub(super) type PartitionValue = Option<Encoder>;

impl Spec {
    /// The partitions of a table that is created.
    ///
    /// # Errors
    /// [`Error::Schema`] for a column that is not there.
    pub(super) fn new(partitions: &[Partition], columns: &[Value]) -> Result<Self> {
        let fields = partitions.iter().enumerate().map(|(at, partition)| {
            let column = columns.iter().find(|column| column["name"] == partition.column());
            let of = column.and_then(|column| column["type"].as_str()).ok_or_else(|| {
                Error::schema(partition.column(), "there is no such column to partition by")
            })?;
            Ok(PartitionField {
                partition: partition.clone(),
                name: partition.name(),
                id: (IDS_FROM + at) as i64,
                of: of.to_owned(),
            })
        });
        Ok(Self { id: 0, fields: fields.collect::<Result<_>>()? })
    }

    /// The partitions that metadata states.
    ///
    /// # Errors
    /// What is not known here.
    pub(super) fn parse(spec: &Value, columns: &[Value]) -> std::result::Result<Self, String> {
        let fields = spec["fields"].as_array().into_iter().flatten().map(|field| {
            let (transform, name) = (field["transform"].as_str(), field["name"].as_str());
            let known = || format!("partitions by {}", transform.unwrap_or("no transform"));
            // Only the names of columns are missing.
            transform.and_then(|word| Partition::by_transform(word, "")).ok_or_else(known)?;
            let column = columns.iter().find(|column| column["id"] == field["source-id"]);
            let column = column.ok_or_else(|| "partitions by fields of structs".to_owned())?;
            let of_column = column["name"].as_str().zip(column["type"].as_str());
            let (column, of) = of_column.ok_or_else(known)?;
            let partition = transform.and_then(|word| Partition::by_transform(word, column));
            Ok(PartitionField {
                partition: partition.ok_or_else(known)?,
                name: name.unwrap_or_default().to_owned(),
                id: field["field-id"].as_i64().ok_or_else(known)?,
                of: of.to_owned(),
            })
        });
        let id = spec["spec-id"].as_i64().unwrap_or(0);
        Ok(Self { id, fields: fields.collect::<std::result::Result<_, String>>()? })
    }

    pub(super) fn partitions(&self) -> Vec<Partition> {
        self.fields.iter().map(|field| field.partition.clone()).collect()
    }

    /// As metadata has the fields; columns are those of the table.
    pub(super) fn json(&self, columns: &[Value]) -> Value {
        let fields = self.fields.iter().map(|field| {
            let name = field.partition.column();
            let source = columns.iter().find(|column| column["name"] == name);
            json!({
                "source-id": source.map(|column| &column["id"]), "field-id": field.id,
                "name": field.name, "transform": field.partition.transform(),
            })
        });
        fields.collect()
    }

    /// The largest id that metadata has to know.
    pub(super) fn last_id(&self) -> i64 {
        let ids = self.fields.iter().map(|field| field.id);
        ids.max().unwrap_or(IDS_FROM as i64 - 1)
    }

    /// The schema of a partition in Avro.
    pub(super) fn avro(&self) -> Value {
        let fields = self.fields.iter().map(|field| {
            json!({
                "name": avro_name(&field.name), "field-id": field.id, "default": null,
                "type": ["null", field.avro()],
            })
        });
        json!({"type": "record", "name": "r102", "fields": fields.collect::<Vec<_>>()})
    }

    /// The values of a file's partition.
    ///
    /// # Errors
    /// [`Error::Schema`] for a value that the table's type does not have.
    pub(super) fn values(&self, path: &str) -> Result<Vec<PartitionValue>> {
        let values = partitions_of(path.split('/'));
        let values = self.fields.iter().map(|field| {
            let name = field.partition.name();
            let value = values.iter().find(|(of, _)| *of == name);
            let Some((_, Some(text))) = value else { return Ok(None) };
            let encoded = field.encoded(text);
            encoded.map(Some).ok_or_else(|| {
                let message = format!("{text:?} is not written as the partition of a table");
                Error::schema(name, message)
            })
        });
        values.collect()
    }
}

impl PartitionField {
    fn avro(&self) -> Value {
        match (self.partition.transform(), self.of.as_str()) {
            ("day", _) | ("identity", "date") => json!({"type": "int", "logicalType": "date"}),
            ("year" | "month" | "hour", _) | ("identity", "int") => json!("int"),
            ("identity", "boolean" | "long" | "string") => json!(self.of),
            ("identity", time @ ("timestamp" | "timestamptz")) => json!({
                "type": "long", "logicalType": "timestamp-micros",
                "adjust-to-utc": time == "timestamptz",
            }),
            _ => {
                let (digits, scale) = decimal(&self.of).unwrap_or((38, 0));
                json!({
                    "type": "fixed", "name": format!("decimal_{digits}_{scale}"),
                    "size": decimal_bytes(digits), "logicalType": "decimal",
                    "precision": digits, "scale": scale,
                })
            }
        }
    }

    /// A value by the text that a folder has of it.
    fn encoded(&self, text: &str) -> Option<Encoder> {
        let mut out = Encoder::default();
        let number = match (self.partition.transform(), self.of.as_str()) {
            ("year", _) => text.parse::<i64>().ok()? - 1970,
            ("month", _) => {
                let (year, month) = text.rsplit_once('-')?;
                (year.parse::<i64>().ok()? - 1970) * 12 + month.parse::<i64>().ok()? - 1
            }
            ("day", _) | (_, "date") => days(text)?,
            ("hour", _) => {
                let (day, hour) = text.rsplit_once('-')?;
                days(day)? * 24 + hour.parse::<i64>().ok()?
            }
            (_, "boolean") => {
                out.0.push(u8::from(text.parse::<bool>().ok()?));
                return Some(out);
            }
            (_, "int" | "long") => text.parse().ok()?,
            (_, "string") => {
                out.bytes(text.as_bytes());
                return Some(out);
            }
            (_, time @ ("timestamp" | "timestamptz")) => {
                let zone = (time == "timestamptz").then(|| "UTC".into());
                let array = parsed(text, &DataType::Timestamp(TimeUnit::Microsecond, zone))?;
                array.as_primitive::<TimestampMicrosecondType>().value(0)
            }
            (_, other) => {
                let (digits, scale) = decimal(other)?;
                let array = parsed(text, &DataType::Decimal128(digits, scale))?;
                let bytes = array.as_primitive::<Decimal128Type>().value(0).to_be_bytes();
                out.0.extend_from_slice(
                    bytes.last_chunk::<16>()?.get(16 - decimal_bytes(digits)..)?,
                );
                return Some(out);
            }
        };
        out.long(number);
        Some(out)
    }
}

/// Days since 1970-01-01.
fn days(text: &str) -> Option<i64> {
    let array = parsed(text, &DataType::Date32)?;
    Some(i64::from(array.as_primitive::<Date32Type>().value(0)))
}

/// One value by its text.
fn parsed(text: &str, data_type: &DataType) -> Option<ArrayRef> {
    let text: ArrayRef = Arc::new(StringArray::from(vec![text]));
    let options = CastOptions { safe: false, ..CastOptions::default() };
    let array = cast_with_options(&text, data_type, &options).ok()?;
    array.is_valid(0).then_some(array)
}

/// The fewest bytes that have every decimal of this many digits.
fn decimal_bytes(digits: u8) -> usize {
    let largest = 10_u128.saturating_pow(u32::from(digits)) - 1;
    (1..16).find(|bytes| largest < 1 << (8 * bytes - 1)).unwrap_or(16)
}

/// A name as Avro allows it: readers find fields by their ids.
fn avro_name(name: &str) -> String {
    let mut out = String::new();
    for (at, character) in name.chars().enumerate() {
        match character {
            'a'..='z' | 'A'..='Z' | '_' => out.push(character),
            '0'..='9' if at > 0 => out.push(character),
            '0'..='9' => out.extend(['_', character]),
            other => out.push_str(&format!("_x{:X}", u32::from(other))),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_those_of_the_folders() {
        let encoded = |partition: &str, of: &str, text: &str| {
            let column = json!({"id": 1, "name": "c", "type": of});
            let spec = Spec::new(&[partition.parse().unwrap()], &[column]).unwrap();
            let name = spec.fields[0].partition.name();
            spec.values(&format!("data/{name}={text}/x.parquet"))
                .map(|values| values.into_iter().next().unwrap().map(|value| value.0))
        };
        let long = |number: i64| {
            let mut out = Encoder::default();
            out.long(number);
            Some(out.0)
        };
        for (partition, of, text, expected) in [
            ("c", "int", "-7", long(-7)),
            ("c", "long", "9223372036854775807", long(i64::MAX)),
            ("c", "boolean", "true", Some(vec![1])),
            ("c", "string", "a%2Fb", Some(b"\x06a/b".to_vec())),
            ("c", "string", "", Some(vec![0])),
            ("c", "string", "__HIVE_DEFAULT_PARTITION__", None),
            ("c", "date", "1969-12-31", long(-1)),
            ("c", "timestamp", "1970-01-01T00%3A00%3A00.000001", long(1)),
            ("c", "timestamptz", "1969-12-31T23%3A59%3A59Z", long(-1_000_000)),
            ("c", "decimal(9, 2)", "-1.23", Some(vec![0xFF, 0xFF, 0xFF, 0x85])),
            ("c", "decimal(20, 0)", "18446744073709551615", {
                Some([&[0][..], &[0xFF; 8]].concat())
            }),
            ("year(c)", "date", "1969", long(-1)),
            ("month(c)", "date", "1969-12", long(-1)),
            ("month(c)", "date", "2024-03", long(650)),
            ("day(c)", "timestamp", "2024-03-05", long(19_787)),
            ("hour(c)", "timestamp", "1969-12-31-23", long(-1)),
        ] {
            let found = encoded(partition, of, text).unwrap();
            assert_eq!(found, expected, "{partition} {of} {text}");
        }
        for (partition, of, text) in [("c", "date", "no date"), ("hour(c)", "date", "2024")] {
            encoded(partition, of, text).unwrap_err();
        }
    }

    #[test]
    fn decimals_take_the_fewest_bytes() {
        let bytes = [1, 2, 3, 9, 10, 18, 19, 38].map(decimal_bytes);
        assert_eq!(bytes, [1, 1, 2, 4, 5, 8, 9, 16]);
        assert_eq!(avro_name("1 ä-b_c"), "_1_x20_xE4_x2Db_c");
    }
}
