// SPDX-License-Identifier: Apache-2.0
//! The width of a row: the Arrow size of an object without keys, and the limits on it.
//!
//! A record of two bytes is a row with every column of the schema, and a schema of thirty bytes can
//! have columns of any width. So the width is computed, and limited, before decoding.

use arrow_schema::DataType;
use arrowsmith_core::{Error, Limits, Result};

use crate::{FloatWidth, IntWidth, Node, Op, Plan};

impl Plan {
    /// Approximate Arrow size of an empty object, in bytes: the values of fixed size, and the
    /// offsets of the others. Each value counts as at least one byte.
    pub fn row_bytes(&self) -> usize {
        width(self.root())
    }

    /// Checks the schema against [`Limits::fields_max`] and [`Limits::row_bytes_max`].
    ///
    /// # Errors
    /// [`Error::Schema`] names the limit, and the field that is too wide.
    pub fn check(&self, limits: &Limits) -> Result<()> {
        let fields = count(self.root());
        let most = limits.fields_max;
        if fields > most {
            let message = format!("{fields} fields are more than fields_max, {most}");
            return Err(Error::schema("", message));
        }
        let name = match self.is_value_root() {
            true => self.schema().field(0).name().as_str(),
            false => "",
        };
        check(self.root(), name, limits.row_bytes_max)
    }
}

/// Number of fields of an object and of nested objects.
fn count(node: &Node) -> usize {
    match &node.op {
        Op::Struct(fields) => fields.iter().map(|field| 1 + count(&field.node)).sum(),
        Op::List(item) | Op::FixedSizeList(item, _) => count(item),
        Op::Map { key, value } => count(key) + count(value),
        _ => 0,
    }
}

/// Checks that neither this value nor one inside it is wider than `most` bytes.
fn check(node: &Node, path: &str, most: usize) -> Result<()> {
    match &node.op {
        Op::Struct(fields) => {
            for field in fields {
                let dot = if path.is_empty() { "" } else { "." };
                check(&field.node, &format!("{path}{dot}{}", field.key), most)?;
            }
        }
        Op::List(item) | Op::FixedSizeList(item, _) => check(item, &format!("{path}[]"), most)?,
        Op::Map { value, .. } => check(value, &format!("{path}{{}}"), most)?,
        _ => {}
    }
    let bytes = width(node);
    if bytes <= most {
        return Ok(());
    }
    let what = if path.is_empty() { "an empty record" } else { "an empty value" };
    let message = format!("{what} takes {bytes} bytes, more than row_bytes_max, {most}");
    Err(Error::schema(path, message))
}

/// Approximate Arrow size of a null with all its children, in bytes; see [`Plan::row_bytes`].
pub fn width(node: &Node) -> usize {
    match &node.op {
        Op::Struct(fields) => {
            fields.iter().map(|field| width(&field.node)).fold(0, usize::saturating_add).max(1)
        }
        Op::FixedSizeList(item, len) => {
            width(item).saturating_mul(usize::try_from(*len).unwrap_or(0)).max(1)
        }
        Op::Binary(_) => fixed_size(&node.data_type).unwrap_or(4),
        Op::Null | Op::Bool | Op::Int(IntWidth::I8 | IntWidth::U8) => 1,
        Op::Int(IntWidth::I16 | IntWidth::U16) | Op::Float(FloatWidth::F16) => 2,
        Op::Decimal128 { .. } => 16,
        Op::Decimal256 { .. } => 32,
        Op::Utf8 | Op::Json | Op::List(_) | Op::Map { .. } | Op::Date32 => 4,
        Op::Int(IntWidth::I32 | IntWidth::U32) | Op::Float(FloatWidth::F32) => 4,
        Op::Int(IntWidth::I64 | IntWidth::U64) | Op::Float(FloatWidth::F64) => 8,
        Op::Date64 | Op::Time(_) | Op::Timestamp { .. } | Op::Duration(_) => 8,
    }
}

/// Size of a value of a fixed-size binary column, or of a dictionary of such values, in bytes.
fn fixed_size(data_type: &DataType) -> Option<usize> {
    match data_type {
        DataType::FixedSizeBinary(len) => Some(usize::try_from(*len).unwrap_or(0).max(1)),
        DataType::Dictionary(_, values) => fixed_size(values),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::text::parse_schema;

    fn plan(text: &str) -> Plan {
        Plan::new(Arc::new(parse_schema(text).unwrap())).unwrap()
    }

    fn refusal(text: &str, limits: &Limits) -> Option<String> {
        plan(text).check(limits).err().map(|error| error.to_string())
    }

    #[test]
    fn a_row_is_as_wide_as_what_nulls_take() {
        assert_eq!(
            plan("a: int64, b: utf8, c: struct<d: bool, e: decimal256(70, 2)>").row_bytes(),
            45
        );
        assert_eq!(plan("a: fixed_size_list<fixed_size_list<int16, 3>, 5>").row_bytes(), 30);
        assert_eq!(plan("a: list<struct<b: int64, c: int64>>").row_bytes(), 4);
        assert_eq!(plan("root value, v: fixed_size_binary(9)").row_bytes(), 9);
        assert_eq!(plan("a: fixed_size_list<null, 2147483647>").row_bytes(), 2_147_483_647);
    }

    #[test]
    fn what_is_too_wide_is_refused_by_its_name() {
        let limits = Limits::default();
        for (text, path) in [
            ("a: fixed_size_binary(2147483647)", "a"),
            ("a: struct<b: fixed_size_list<int8, 2147483647>>", "a.b"),
            ("a: list<fixed_size_list<null, 2147483647>>", "a[]"),
            ("a: fixed_size_list<fixed_size_list<int8, 65536>, 65536>", "a"),
            ("a: map<utf8, struct<b: fixed_size_binary(2000000)>>", "a{}.b"),
            ("root value, v: fixed_size_list<decimal256(9, 2), 40000>", "v"),
            ("a: dictionary<int8, fixed_size_binary(1048577)>", "a"),
        ] {
            let said = refusal(text, &limits).expect(text);
            assert!(said.starts_with(&format!("schema, field {path}: ")), "{said}");
            assert!(said.ends_with("more than row_bytes_max, 1048576"), "{said}");
        }
        assert_eq!(refusal("a: fixed_size_binary(1048576)", &limits), None);
        assert_eq!(refusal("a: list<fixed_size_list<float32, 1536>>", &limits), None);
    }

    #[test]
    fn a_binary_of_no_bytes_is_no_column() {
        let schema = parse_schema("a: list<fixed_size_binary(0)>").unwrap();
        let said = Plan::new(Arc::new(schema)).unwrap_err().to_string();
        assert!(said.starts_with("schema, field a[]: "), "{said}");
    }

    #[test]
    fn fields_are_counted_wherever_they_are() {
        let limits = Limits::default().with_fields_max(4);
        assert_eq!(refusal("a: int8, b: list<struct<c: int8, d: int8>>", &limits), None);
        let said =
            refusal("a: int8, b: list<struct<c: int8, d: map<utf8, struct<e: int8>>>>", &limits);
        assert_eq!(said.unwrap(), "schema: 5 fields are more than fields_max, 4");
        let limits = Limits::default().with_row_bytes_max(7);
        let said = refusal("a: int32, b: int32", &limits).unwrap();
        assert_eq!(said, "schema: an empty record takes 8 bytes, more than row_bytes_max, 7");
    }
}
