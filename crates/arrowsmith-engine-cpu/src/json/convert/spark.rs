// SPDX-License-Identifier: Apache-2.0
//! Values of Spark's dialect that differ from those of ISO 8601 (docs/design/0002, *Dialects*):
//! dates and timestamps, and values that are not strings in columns of strings.

use arrowsmith_core::{Dialect, ErrorKind};
use arrowsmith_number as number;
use arrowsmith_number::{TextError, TimeUnit};
use arrowsmith_simd::isa::Isa;

use super::push_bits;
use crate::json::program::{Id, Zone};
use crate::json::walk::{Subject, Walker};

/// Microseconds in a second.
const MICROS: i64 = 1_000_000;

impl<I: Isa> Walker<'_, I> {
    /// The value of a column of strings that is not a string: its text, in Spark's dialect.
    #[inline(never)]
    pub(super) fn no_string(&mut self, id: Id, pos: usize) -> usize {
        match self.program.dialect {
            Dialect::Spark if self.input.at(pos) != b'n' => self.json(id, pos),
            _ => self.other_type(id, pos),
        }
    }

    /// A date, which has to be a string.
    #[cold]
    #[inline(never)]
    pub(super) fn spark_date(&mut self, id: Id, pos: usize) -> usize {
        if self.input.at(pos) != b'"' {
            return self.other_type(id, pos);
        }
        self.text_by(id, pos, |text| number::parse_spark_date(text).map(i64::from))
    }

    /// A timestamp: a string, or, unless it is a local time, an integer, of seconds.
    #[inline(always)]
    pub(super) fn spark_timestamp(
        &mut self,
        id: Id,
        unit: TimeUnit,
        zone: Zone,
        pos: usize,
    ) -> usize {
        match self.input.at(pos) {
            b'"' => self.text_by(id, pos, |text| in_zone(text, unit, zone)),
            b'-' | b'0'..=b'9' if zone != Zone::Local => self.spark_seconds(id, unit, pos),
            _ => self.other_type(id, pos),
        }
    }

    #[cold]
    #[inline(never)]
    fn spark_seconds(&mut self, id: Id, unit: TimeUnit, pos: usize) -> usize {
        let (seconds, len) = match number::parse_i64(self.input.from(pos)) {
            Ok(read) => read,
            Err(error) => {
                let kind = self.number_fault(pos, error);
                return self.fail(kind, pos, Subject::Value(id));
            }
        };
        let micros = seconds.checked_mul(MICROS).ok_or(TextError::Range);
        match micros.and_then(|micros| to_unit(micros, unit)) {
            Ok(value) => {
                push_bits(self.values(id), value.cast_unsigned());
                pos + len
            }
            Err(_) => self.fail(ErrorKind::Overflow, pos, Subject::Value(id)),
        }
    }
}

/// The value of a timestamp's text in a column.
#[inline(always)]
fn in_zone(text: &[u8], unit: TimeUnit, zone: Zone) -> Result<i64, TextError> {
    let parsed = number::parse_spark_timestamp(text)?;
    let micros = match (zone, parsed.had_offset) {
        (Zone::Local, false) | (Zone::Fixed(_) | Zone::Named, true) => parsed.value,
        (Zone::Fixed(ahead), false) => parsed.value.checked_sub(ahead).ok_or(TextError::Range)?,
        (Zone::Local, true) | (Zone::Named, false) => return Err(TextError::Syntax),
    };
    to_unit(micros, unit)
}

#[inline(always)]
fn to_unit(micros: i64, unit: TimeUnit) -> Result<i64, TextError> {
    let exact = |per_unit: i64| {
        if micros % per_unit == 0 { Ok(micros / per_unit) } else { Err(TextError::Inexact) }
    };
    match unit {
        TimeUnit::Second => exact(MICROS),
        TimeUnit::Millisecond => exact(1_000),
        TimeUnit::Microsecond => Ok(micros),
        TimeUnit::Nanosecond => micros.checked_mul(1_000).ok_or(TextError::Range),
    }
}
