// SPDX-License-Identifier: Apache-2.0
//! Partition values of a file, as the text of hive folders.
//!
//! The values of a column by which a table is partitioned as it is (`identity`) are those of all
//! rows of a file, which need not have the column: files of a hive table that became an Iceberg
//! table do not. Other partitions only say which files to read.

use super::avro::Value;
use super::schema::{Column, Kind};

/// Whether the values of a column can be had as text.
pub(super) fn has_text(column: &Column) -> bool {
    let Kind::Primitive(kind) = &column.kind else { return false };
    !matches!(kind.as_str(), "binary" | "uuid" | "time") && !kind.starts_with("fixed[")
}

/// A value of a column as text; `None` if it is null.
///
/// # Errors
/// A value that is not of the column's type.
pub(super) fn text(column: &Column, value: &Value<'_>) -> Result<Option<String>, String> {
    let Kind::Primitive(kind) = &column.kind else { return Ok(None) };
    Ok(Some(match (kind.as_str(), value) {
        (_, Value::Null) => return Ok(None),
        ("boolean", Value::Boolean(value)) => value.to_string(),
        ("int" | "long", Value::Long(value)) => value.to_string(),
        ("float", Value::Float(value)) => value.to_string(),
        ("double", Value::Double(value)) => value.to_string(),
        ("date", Value::Long(days)) => date(*days),
        ("timestamp", Value::Long(value)) => timestamp(*value, 6),
        ("timestamptz", Value::Long(value)) => timestamp(*value, 6) + "Z",
        ("timestamp_ns", Value::Long(value)) => timestamp(*value, 9),
        ("timestamptz_ns", Value::Long(value)) => timestamp(*value, 9) + "Z",
        ("string", value) if value.text().is_some() => value.text().unwrap_or_default().to_owned(),
        (kind, Value::Bytes(bytes)) if kind.starts_with("decimal(") => {
            decimal(bytes, kind).ok_or(format!("a value of {} that is none", column.name))?
        }
        _ => return Err(format!("a partition value that is none of {}", column.name)),
    }))
}

/// The date that many days after 1970-01-01, in the proleptic Gregorian calendar.
fn date(days: i64) -> String {
    // In eras of 400 years, which begin on the first of March of their year 0.
    let day = days.saturating_add(719_468);
    let (era, day) = (day.div_euclid(146_097), day.rem_euclid(146_097));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day_of_month = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year + era * 400 + i64::from(month <= 2);
    let sign = if year < 0 { "-" } else { "" };
    format!("{sign}{:04}-{month:02}-{day_of_month:02}", year.unsigned_abs())
}

/// A time since 1970-01-01, in units of `10^-digits` seconds.
fn timestamp(value: i64, digits: u32) -> String {
    let unit = 10_i64.pow(digits);
    let (seconds, part) = (value.div_euclid(unit), value.rem_euclid(unit));
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    let digits = digits as usize;
    format!("{}T{hour:02}:{minute:02}:{second:02}.{part:0digits$}", date(days))
}

/// A decimal of this type, whose unscaled value is these bytes, the most significant first.
fn decimal(bytes: &[u8], kind: &str) -> Option<String> {
    let scale = kind.split_once(',')?.1.trim_end_matches(')').trim().parse::<usize>().ok()?;
    if bytes.len() > 16 || scale > 38 {
        return None;
    }
    let sign = if bytes.first()? & 0x80 != 0 { 0xFF } else { 0 };
    let mut wide = [sign; 16];
    wide[16 - bytes.len()..].copy_from_slice(bytes);
    let value = i128::from_be_bytes(wide);
    let digits = format!("{:0width$}", value.unsigned_abs(), width = scale + 1);
    let (whole, part) = digits.split_at(digits.len() - scale);
    let minus = if value < 0 { "-" } else { "" };
    let dot = if part.is_empty() { "" } else { "." };
    Some(format!("{minus}{whole}{dot}{part}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(kind: &str, value: Value<'_>) -> Result<Option<String>, String> {
        let column = format!(r#"{{"id":1,"name":"a","required":false,"type":"{kind}"}}"#);
        let column: Column = serde_json::from_str(&column).unwrap();
        assert!(has_text(&column), "{kind}");
        text(&column, &value)
    }

    #[test]
    fn values_are_text() {
        for (kind, value, expected) in [
            ("int", Value::Long(-7), "-7"),
            ("boolean", Value::Boolean(true), "true"),
            ("float", Value::Float(0.1), "0.1"),
            ("double", Value::Double(-0.5), "-0.5"),
            ("string", Value::Bytes("ä/=".as_bytes()), "ä/="),
            ("date", Value::Long(0), "1970-01-01"),
            ("date", Value::Long(19_782), "2024-02-29"),
            ("date", Value::Long(-719_162), "0001-01-01"),
            ("date", Value::Long(-1), "1969-12-31"),
            ("timestamp", Value::Long(-1), "1969-12-31T23:59:59.999999"),
            ("timestamptz", Value::Long(1_709_210_096_000_001), "2024-02-29T12:34:56.000001Z"),
            ("timestamp_ns", Value::Long(1), "1970-01-01T00:00:00.000000001"),
            ("decimal(9, 2)", Value::Bytes(&[0xFF, 0x85]), "-1.23"),
            ("decimal(9,0)", Value::Bytes(&[1, 0]), "256"),
            ("decimal(9,3)", Value::Bytes(&[5]), "0.005"),
        ] {
            assert_eq!(of(kind, value).unwrap().as_deref(), Some(expected), "{kind}");
        }
        assert_eq!(of("long", Value::Null).unwrap(), None);
        of("long", Value::Bytes(b"7")).unwrap_err();
        of("string", Value::Bytes(b"\xff")).unwrap_err();
        of("decimal(9,2)", Value::Bytes(&[0; 17])).unwrap_err();
        of("decimal(9,2)", Value::Bytes(&[])).unwrap_err();
        of("date", Value::Long(i64::MAX)).unwrap();
    }
}
