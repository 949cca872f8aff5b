// SPDX-License-Identifier: Apache-2.0
//! How the cases write a schema: `name: type, …`, on one line.
//!
//! ```text
//! a: int64 not null, "odd name": list<utf8 not null>, s: struct<x: int8, y: json>,
//! m: map<utf8, float64>, f: fixed_size_list<int8, 3>, d: dictionary<int8, utf8>,
//! n: decimal128(10, 2), t: timestamp(us, "UTC"), l: time32(s), b: binary hex
//! ```
//!
//! `= type` instead says that records are values. This is a notation of the tests, shorter than the
//! text form of the product, and shares nothing with its parser.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};
use arrowsmith_plan::ROOT_METADATA_KEY;
use arrowsmith_plan::plan::{
    ENCODING_METADATA_KEY, EXTENSION_NAME_KEY, JSON_EXTENSION_NAME, VALUE_FIELD_NAME,
};

/// Reads a schema.
///
/// # Errors
/// What is wrong with it, in words.
pub fn parse(text: &str) -> Result<SchemaRef, String> {
    let mut parser = Parser { text, rest: text };
    if parser.take("=") {
        let field = parser.field(VALUE_FIELD_NAME)?;
        parser.end()?;
        let metadata = HashMap::from([(ROOT_METADATA_KEY.to_owned(), "value".to_owned())]);
        return Ok(Arc::new(Schema::new_with_metadata(vec![field], metadata)));
    }
    let fields = parser.fields("")?;
    parser.end()?;
    Ok(Arc::new(Schema::new(fields)))
}

struct Parser<'a> {
    text: &'a str,
    rest: &'a str,
}

impl<'a> Parser<'a> {
    fn take(&mut self, token: &str) -> bool {
        let rest = self.rest.trim_start();
        match rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn need(&mut self, token: &str) -> Result<(), String> {
        if self.take(token) { Ok(()) } else { Err(self.error(&format!("no {token:?}"))) }
    }

    fn error(&self, what: &str) -> String {
        format!("schema {:?}: {what} at {:?}", self.text, self.rest)
    }

    fn end(&self) -> Result<(), String> {
        if self.rest.trim().is_empty() { Ok(()) } else { Err(self.error("more than a schema")) }
    }

    fn word(&mut self) -> Result<&'a str, String> {
        let rest = self.rest.trim_start();
        let is_part = |c: char| c.is_alphanumeric() || "_+-".contains(c);
        let len = rest.find(|c: char| !is_part(c)).unwrap_or(rest.len());
        let (word, rest) = rest.split_at(len);
        self.rest = rest;
        if word.is_empty() { Err(self.error("no word")) } else { Ok(word) }
    }

    /// A word, or anything in quotes.
    fn name(&mut self) -> Result<&'a str, String> {
        if !self.take("\"") {
            return self.word();
        }
        let (name, rest) = self.rest.split_once('"').ok_or_else(|| self.error("open quote"))?;
        self.rest = rest;
        Ok(name)
    }

    fn fields(&mut self, close: &str) -> Result<Vec<Field>, String> {
        let mut fields = Vec::new();
        loop {
            let rest = self.rest.trim_start();
            if rest.is_empty() || (!close.is_empty() && rest.starts_with(close)) {
                return Ok(fields);
            }
            let name = self.name()?;
            self.need(":")?;
            fields.push(self.field(name)?);
            if !self.take(",") {
                return Ok(fields);
            }
        }
    }

    fn field(&mut self, name: &str) -> Result<Field, String> {
        let (data_type, metadata) = self.data_type()?;
        let nullable = !self.take("not null");
        Ok(Field::new(name, data_type, nullable).with_metadata(metadata))
    }

    fn item(&mut self) -> Result<Arc<Field>, String> {
        self.field("item").map(Arc::new)
    }

    fn number<T: std::str::FromStr>(&mut self) -> Result<T, String> {
        let word = self.word()?;
        word.parse().map_err(|_| self.error("no number"))
    }

    fn data_type(&mut self) -> Result<(DataType, HashMap<String, String>), String> {
        use DataType as T;
        let mut metadata = HashMap::new();
        let word = self.word()?;
        let data_type = match word {
            "null" => T::Null,
            "bool" => T::Boolean,
            "int8" => T::Int8,
            "int16" => T::Int16,
            "int32" => T::Int32,
            "int64" => T::Int64,
            "uint8" => T::UInt8,
            "uint16" => T::UInt16,
            "uint32" => T::UInt32,
            "uint64" => T::UInt64,
            "float16" => T::Float16,
            "float32" => T::Float32,
            "float64" => T::Float64,
            "utf8" => T::Utf8,
            "large_utf8" => T::LargeUtf8,
            "utf8_view" => T::Utf8View,
            "json" => {
                metadata.insert(EXTENSION_NAME_KEY.to_owned(), JSON_EXTENSION_NAME.to_owned());
                T::Utf8
            }
            "binary" => T::Binary,
            "large_binary" => T::LargeBinary,
            "binary_view" => T::BinaryView,
            "date32" => T::Date32,
            "date64" => T::Date64,
            _ => self.with_arguments(word, &mut metadata)?,
        };
        if self.take("hex") {
            metadata.insert(ENCODING_METADATA_KEY.to_owned(), "hex".to_owned());
        }
        Ok((data_type, metadata))
    }

    fn with_arguments(
        &mut self,
        word: &str,
        metadata: &mut HashMap<String, String>,
    ) -> Result<DataType, String> {
        use DataType as T;
        let close = if self.take("(") {
            ")"
        } else {
            self.need("<")?;
            ">"
        };
        let data_type = match word {
            "fixed_size_binary" => T::FixedSizeBinary(self.number()?),
            "decimal128" | "decimal256" => {
                let precision = self.number()?;
                self.need(",")?;
                let scale = self.number()?;
                let make = if word == "decimal128" { T::Decimal128 } else { T::Decimal256 };
                make(precision, scale)
            }
            "time32" => T::Time32(self.unit()?),
            "time64" => T::Time64(self.unit()?),
            "duration" => T::Duration(self.unit()?),
            "timestamp" => {
                let unit = self.unit()?;
                let zone = if self.take(",") { Some(Arc::from(self.name()?)) } else { None };
                T::Timestamp(unit, zone)
            }
            "list" => T::List(self.item()?),
            "large_list" => T::LargeList(self.item()?),
            "fixed_size_list" => {
                let item = self.item()?;
                self.need(",")?;
                T::FixedSizeList(item, self.number()?)
            }
            "struct" => T::Struct(self.fields(close)?.into()),
            "map" => {
                let key = self.field("key")?.with_nullable(false);
                self.need(",")?;
                let value = self.field("value")?;
                let entries = Field::new_struct("entries", vec![key, value], false);
                T::Map(Arc::new(entries), false)
            }
            "dictionary" => {
                let (keys, _) = self.data_type()?;
                self.need(",")?;
                let (values, below) = self.data_type()?;
                metadata.extend(below);
                T::Dictionary(Box::new(keys), Box::new(values))
            }
            other => return Err(self.error(&format!("no type {other}"))),
        };
        self.need(close)?;
        Ok(data_type)
    }

    fn unit(&mut self) -> Result<TimeUnit, String> {
        match self.word()? {
            "s" => Ok(TimeUnit::Second),
            "ms" => Ok(TimeUnit::Millisecond),
            "us" => Ok(TimeUnit::Microsecond),
            "ns" => Ok(TimeUnit::Nanosecond),
            other => Err(self.error(&format!("no unit {other}"))),
        }
    }
}
