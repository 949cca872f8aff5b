// SPDX-License-Identifier: Apache-2.0
//! Durations of ISO 8601: `[±]P[nD][T[nH][nM][n[.fraction]S]]`.
//!
//! Convert stage. At least one component, in this order; all are integers except for the seconds. A
//! day is 24 hours. Years, months and weeks are not accepted: the first two have no fixed length.
//! Nothing is rounded.

use crate::TextError;
use crate::swar::byte_at;
use crate::time::{Fraction, SECONDS_PER_DAY, TimeUnit, scale_seconds};

/// Parses an ISO 8601 duration to units.
///
/// # Errors
/// [`TextError::Syntax`]; [`TextError::Inexact`] for a fraction finer than the unit;
/// [`TextError::Range`] for values that overflow 64 bits.
#[inline]
pub fn parse_duration(text: &[u8], unit: TimeUnit) -> Result<i64, TextError> {
    let negative = byte_at(text, 0) == b'-';
    let mut at = usize::from(matches!(byte_at(text, 0), b'+' | b'-'));
    if byte_at(text, at) != b'P' {
        return Err(TextError::Syntax);
    }
    at += 1;
    let mut in_time = false;
    // Each designator has to come after the previous one in this order.
    let mut order = 0;
    let mut seconds: i64 = 0;
    let mut fraction = Fraction::ZERO;
    while at < text.len() {
        if byte_at(text, at) == b'T' && !in_time {
            in_time = true;
            order = 1;
            at += 1;
            // `T` must be followed by a component.
            if at == text.len() {
                return Err(TextError::Syntax);
            }
            continue;
        }
        let (count, end) = count_at(text, at)?;
        at = end;
        let designator_at = if byte_at(text, at) == b'.' {
            (fraction, at) = Fraction::at(text, at + 1)?;
            if byte_at(text, at) != b'S' {
                return Err(TextError::Syntax);
            }
            at
        } else {
            at
        };
        let (place, weight) = match (in_time, byte_at(text, designator_at)) {
            (false, b'D') => (1, SECONDS_PER_DAY),
            (true, b'H') => (2, 3600),
            (true, b'M') => (3, 60),
            (true, b'S') => (4, 1),
            _ => return Err(TextError::Syntax),
        };
        if place <= order {
            return Err(TextError::Syntax);
        }
        order = place;
        at += 1;
        let part = count.and_then(|count| count.checked_mul(weight));
        seconds = part.and_then(|part| seconds.checked_add(part)).ok_or(TextError::Range)?;
    }
    if order == 0 {
        return Err(TextError::Syntax);
    }
    let fraction = fraction.to_unit(unit)?;
    if negative {
        scale_seconds(-seconds, -fraction, unit)
    } else {
        scale_seconds(seconds, fraction, unit)
    }
}

/// The integer at `at`, `None` if it overflows, and its end; at least one digit.
#[inline]
fn count_at(text: &[u8], at: usize) -> Result<(Option<i64>, usize), TextError> {
    let mut count = Some(0i64);
    let mut end = at;
    loop {
        let digit = byte_at(text, end).wrapping_sub(b'0');
        if digit > 9 {
            break;
        }
        count = count.and_then(|count| count.checked_mul(10)?.checked_add(i64::from(digit)));
        end += 1;
    }
    if end == at { Err(TextError::Syntax) } else { Ok((count, end)) }
}
