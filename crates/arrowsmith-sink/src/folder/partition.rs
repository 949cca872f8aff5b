// SPDX-License-Identifier: Apache-2.0
//! [`Partition`]: what a level of folders is named after: a column, or a part of its time.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Int64Array, cast::AsArray, types::Int64Type};
use arrow_cast::cast;
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_schema::{DataType, TimeUnit};
use arrowsmith_core::{Error, Result};

/// The name of the folder for null, as Hive has it.
const NULL: &str = "__HIVE_DEFAULT_PARTITION__";

/// Bytes that Hive escapes in the names of folders, besides control characters.
const ESCAPED: &[u8] = b"\"#%'*/:=?\\{[]^";

/// A level of folders: a column (`country`), or year, month, day or hour of one (`day(ts)`), in UTC
/// if it has a time zone.
///
/// The folders of a function have the names that Iceberg gives them: `ts_day=2024-03-05`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Partition {
    column: String,
    part: Option<Part>,
}

/// The part of a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Year,
    Month,
    Day,
    Hour,
}

const PARTS: [(&str, Part); 4] =
    [("year", Part::Year), ("month", Part::Month), ("day", Part::Day), ("hour", Part::Hour)];

/// What Iceberg calls a partition by the values of a column.
#[cfg(feature = "iceberg")]
const IDENTITY: &str = "identity";

impl FromStr for Partition {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let text = text.trim();
        let Some((function, rest)) = text.split_once('(') else {
            return match text {
                "" => Err(Error::Config("a partition needs the name of a column".to_owned())),
                column => Ok(Self { column: column.to_owned(), part: None }),
            };
        };
        let column = rest.strip_suffix(')').map(str::trim).filter(|column| !column.is_empty());
        let part = PARTS.iter().find(|(name, _)| *name == function.trim());
        match (part, column) {
            (Some((_, part)), Some(column)) => {
                Ok(Self { column: column.to_owned(), part: Some(*part) })
            }
            _ => Err(Error::Config(format!(
                "partition {text:?}: a column, or year, month, day or hour of one, as day(ts)"
            ))),
        }
    }
}

impl fmt::Display for Partition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.word() {
            Some(word) => write!(f, "{word}({})", self.column),
            None => f.write_str(&self.column),
        }
    }
}

impl Partition {
    fn word(&self) -> Option<&'static str> {
        let part = self.part?;
        PARTS.iter().find(|(_, other)| *other == part).map(|(name, _)| *name)
    }

    /// The partition by a transform of Iceberg; `None` for one that there is not.
    #[cfg(feature = "iceberg")]
    pub(crate) fn by_transform(transform: &str, column: &str) -> Option<Self> {
        let part = PARTS.iter().find(|(name, _)| *name == transform).map(|(_, part)| *part);
        let is_known = part.is_some() || transform == IDENTITY;
        is_known.then(|| Self { column: column.to_owned(), part })
    }

    /// What Iceberg calls it.
    #[cfg(feature = "iceberg")]
    pub(crate) fn transform(&self) -> &'static str {
        self.word().unwrap_or(IDENTITY)
    }

    /// The column that it is computed from.
    pub(crate) fn column(&self) -> &str {
        &self.column
    }

    /// Whether the folder's name has all that the column has, so that files need no such column.
    pub(crate) fn is_whole(&self) -> bool {
        self.part.is_none()
    }

    /// Whether the folder's name has all that a column of this name has.
    #[must_use]
    pub fn has_all_of(&self, column: &str) -> bool {
        self.is_whole() && self.column == column
    }

    /// What the folders are called before the `=`.
    pub(crate) fn name(&self) -> String {
        match self.word() {
            Some(word) => format!("{}_{word}", self.column),
            None => self.column.clone(),
        }
    }

    /// What the values of its folders are in a Delta table.
    #[cfg(feature = "delta")]
    pub(crate) fn delta_type(&self) -> &'static str {
        match self.part {
            Some(Part::Year) => "integer",
            Some(Part::Day) => "date",
            Some(Part::Month | Part::Hour) | None => "string",
        }
    }

    /// Checks that a column of this type has values for the names of folders.
    pub(super) fn check(&self, data_type: &DataType) -> Result<()> {
        let is_time =
            matches!(data_type, DataType::Date32 | DataType::Date64 | DataType::Timestamp(..));
        let is_text = |data_type: &DataType| {
            matches!(data_type, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
        };
        let is_name = match data_type {
            DataType::Boolean => true,
            DataType::Dictionary(_, values) => is_text(values) || values.is_integer(),
            other => is_text(other) || other.is_integer() || other.is_decimal(),
        };
        match self.part {
            Some(_) if !is_time => {
                let message = format!("{self} needs a date or a timestamp, not {data_type}");
                Err(Error::schema(&self.column, message))
            }
            None if !is_time && !is_name => {
                let message = format!(
                    "folders cannot be named after values of type {data_type}: there are booleans, \
                     integers, decimals, texts, dates and timestamps"
                );
                Err(Error::schema(&self.column, message))
            }
            _ => Ok(()),
        }
    }

    /// One key per row, equal where the folder is.
    pub(super) fn keys(&self, array: &ArrayRef) -> Result<ArrayRef> {
        let Some(part) = self.part else {
            return Ok(match array.data_type() {
                DataType::Dictionary(_, values) => cast(array, values)?,
                _ => Arc::clone(array),
            });
        };
        // In the column's own unit, which holds every value: the next finer one may not.
        let (values, per_hour, hours) = match array.data_type() {
            DataType::Date32 => (cast(&cast(array, &DataType::Int32)?, &DataType::Int64)?, 1, 24),
            DataType::Date64 => (cast(array, &DataType::Int64)?, 3_600_000, 1),
            DataType::Timestamp(unit, _) => {
                let per_hour = match unit {
                    TimeUnit::Second => 3_600,
                    TimeUnit::Millisecond => 3_600_000,
                    TimeUnit::Microsecond => 3_600_000_000,
                    TimeUnit::Nanosecond => 3_600_000_000_000,
                };
                (cast(array, &DataType::Int64)?, per_hour, 1)
            }
            other => return Err(Error::schema(&self.column, format!("{self} of {other}"))),
        };
        let keys: Int64Array = values.as_primitive::<Int64Type>().unary(|value: i64| {
            let hours = value.div_euclid(per_hour) * hours;
            match part {
                Part::Hour => hours,
                Part::Day => hours.div_euclid(24),
                Part::Month => {
                    let (year, month, _) = civil(hours.div_euclid(24));
                    year * 12 + month - 1
                }
                Part::Year => civil(hours.div_euclid(24)).0,
            }
        });
        Ok(Arc::new(keys))
    }

    /// The name of the folder of a key.
    pub(super) fn folder(&self, keys: &dyn Array, row: usize) -> Result<String> {
        let name = escaped(&self.name(), true);
        if keys.is_null(row) {
            return Ok(format!("{name}={NULL}"));
        }
        let value = match self.part {
            // A value without a text (a time beyond the calendar) must not become a message.
            None => {
                let formatter = ArrayFormatter::try_new(keys, &FormatOptions::default())?;
                let text = formatter.value(row).try_to_string();
                text.map_err(|error| Error::schema(&self.column, error.to_string()))?
            }
            Some(part) => part.text(keys.as_primitive::<Int64Type>().value(row)),
        };
        // A text that is the name for null is not null.
        let value = if value == NULL { escaped(&value, true) } else { escaped(&value, false) };
        Ok(format!("{name}={value}"))
    }
}

impl Part {
    fn text(self, key: i64) -> String {
        let date = |day: i64| {
            let (year, month, day) = civil(day);
            format!("{year:04}-{month:02}-{day:02}")
        };
        match self {
            Self::Year => format!("{key:04}"),
            Self::Month => format!("{:04}-{:02}", key.div_euclid(12), key.rem_euclid(12) + 1),
            Self::Day => date(key),
            Self::Hour => format!("{}-{:02}", date(key.div_euclid(24)), key.rem_euclid(24)),
        }
    }
}

/// Year, month and day of a number of days since 1970-01-01 in the Gregorian calendar (H. Hinnant,
/// "chrono-compatible low-level date algorithms": years begin in March).
fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year + era * 400 + i64::from(month <= 2), month, day)
}

/// Escapes what has a meaning in paths. With `first`, also a first character that would hide the
/// folder from readers.
fn escaped(text: &str, first: bool) -> String {
    let mut out = String::with_capacity(text.len());
    for (at, character) in text.char_indices() {
        let is_special = character.is_ascii_control()
            || u8::try_from(character).is_ok_and(|byte| ESCAPED.contains(&byte))
            || (first && at == 0 && matches!(character, '_' | '.'));
        match is_special {
            true => out.push_str(&format!("%{:02X}", u32::from(character))),
            false => out.push(character),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{Date32Array, StringArray, TimestampMillisecondArray};

    fn names(text: &str, array: ArrayRef) -> Vec<String> {
        let partition: Partition = text.parse().unwrap();
        partition.check(array.data_type()).unwrap();
        let keys = partition.keys(&array).unwrap();
        (0..keys.len()).map(|row| partition.folder(&keys, row).unwrap()).collect()
    }

    #[test]
    fn parts_of_times_have_the_names_of_iceberg() {
        let times = [0, -1, 951_782_400_000, 1_709_596_799_999];
        let array = || -> ArrayRef { Arc::new(TimestampMillisecondArray::from(times.to_vec())) };
        let expected = [
            ("hour(ts)", ["1970-01-01-00", "1969-12-31-23", "2000-02-29-00", "2024-03-04-23"]),
            ("day(ts)", ["1970-01-01", "1969-12-31", "2000-02-29", "2024-03-04"]),
            ("month(ts)", ["1970-01", "1969-12", "2000-02", "2024-03"]),
            ("year( ts )", ["1970", "1969", "2000", "2024"]),
        ];
        for (text, values) in expected {
            let word = text.split('(').next().unwrap();
            let values: Vec<String> = values.iter().map(|v| format!("ts_{word}={v}")).collect();
            assert_eq!(names(text, array()), values);
        }
        let days: ArrayRef = Arc::new(Date32Array::from(vec![Some(19_787), None]));
        assert_eq!(names("month(d)", Arc::clone(&days))[0], "d_month=2024-03");
        assert_eq!(names("d", days), ["d=2024-03-05", "d=__HIVE_DEFAULT_PARTITION__"]);
        let beyond: ArrayRef = Arc::new(Date32Array::from(vec![i32::MAX]));
        let partition: Partition = "d".parse().unwrap();
        assert!(partition.folder(&beyond, 0).is_err());
    }

    /// Every value of every unit has a folder: none overflows, none becomes null.
    #[test]
    fn the_first_and_last_times_have_folders() {
        let ends = vec![i64::MIN, i64::MIN + 1, -1, 0, i64::MAX];
        let units =
            [TimeUnit::Second, TimeUnit::Millisecond, TimeUnit::Microsecond, TimeUnit::Nanosecond];
        let array: ArrayRef = Arc::new(Int64Array::from(ends));
        let mut columns: Vec<ArrayRef> = vec![cast(&array, &DataType::Date64).unwrap()];
        for unit in units {
            columns.push(cast(&array, &DataType::Timestamp(unit, None)).unwrap());
        }
        columns.push(Arc::new(Date32Array::from(vec![i32::MIN, i32::MIN + 1, -1, 0, i32::MAX])));
        for column in columns {
            for text in ["year(t)", "month(t)", "day(t)", "hour(t)"] {
                let names = names(text, Arc::clone(&column));
                assert!(names.iter().all(|name| !name.ends_with(NULL)), "{names:?}");
                assert!(names[2].contains("1969"), "{names:?}");
            }
        }
    }

    #[test]
    fn all_days_of_four_centuries_follow_each_other() {
        let mut previous = civil(-200_001);
        for day in -200_000..=200_000 {
            let (year, month, of_month) = civil(day);
            let next = match previous {
                (y, m, d) if (year, month) == (y, m) => of_month == d + 1,
                (y, 12, 31) => (year, month, of_month) == (y + 1, 1, 1),
                (y, m, 28..) => (year, month, of_month) == (y, m + 1, 1),
                _ => false,
            };
            assert!(next, "{previous:?} before {year}-{month}-{of_month}");
            previous = (year, month, of_month);
        }
    }

    #[test]
    fn values_are_escaped_as_hive_does() {
        let values = ["a/b:c", "100%", "", ".", NULL, "ä b"];
        let array: ArrayRef = Arc::new(StringArray::from(values.to_vec()));
        let expected = ["a%2Fb%3Ac", "100%25", "", ".", "%5F_HIVE_DEFAULT_PARTITION__", "ä b"];
        let expected: Vec<String> = expected.iter().map(|v| format!("%5Fx={v}")).collect();
        assert_eq!(names("_x", array), expected);
    }

    #[test]
    fn what_is_no_partition_is_refused() {
        for text in ["", "week(ts)", "day()", "day(ts", "(ts)"] {
            assert!(text.parse::<Partition>().is_err(), "{text}");
        }
        let check = |text: &str, data_type| text.parse::<Partition>().unwrap().check(&data_type);
        assert!(check("day(x)", DataType::Utf8).is_err());
        assert!(check("x", DataType::Float64).is_err());
        assert!(check("x", DataType::Binary).is_err());
        assert!(check("x", DataType::Boolean).is_ok());
        assert!(check("x", DataType::Decimal32(5, 2)).is_ok());
        assert!(check("x", DataType::Decimal256(50, 2)).is_ok());
    }
}
