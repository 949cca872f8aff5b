// SPDX-License-Identifier: Apache-2.0
//! Durations as people write them: one grammar for the command line and for configurations.

use std::time::Duration;

/// Maximum duration, in seconds: about 30 years. More is a mistake, and would overflow some clocks.
pub const SECONDS_MAX: f64 = 1e9;

/// Parses `30`, `1.5s`, `500ms`, `5min`, `2h`, `1d`. A number without a unit is in seconds; `m` is
/// minutes; case does not matter.
///
/// # Errors
/// Text that is not a duration, or more than 10^9 seconds, in words.
pub fn parse(text: &str) -> Result<Duration, String> {
    let refuse = || format!("{text:?} is not a duration: a number and ms, s, min, h or d");
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let scale = match unit.trim().to_ascii_lowercase().as_str() {
        "ms" => 1e-3,
        "" | "s" | "sec" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        "d" => 86_400.0,
        _ => return Err(refuse()),
    };
    let number: f64 = number.parse().map_err(|_| refuse())?;
    from_seconds(number * scale)
}

/// The duration of this many seconds.
///
/// # Errors
/// A number below 0 or above 10^9, or none, in words.
pub fn from_seconds(seconds: f64) -> Result<Duration, String> {
    match Duration::try_from_secs_f64(seconds) {
        Ok(duration) if seconds <= SECONDS_MAX => Ok(duration),
        _ => Err(format!("a duration is between 0 and {SECONDS_MAX} seconds")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read() {
        for (text, milliseconds) in [
            ("0", 0),
            ("30", 30_000),
            ("1.5", 1_500),
            ("1.5s", 1_500),
            (" 2 S ", 2_000),
            ("250ms", 250),
            ("5m", 300_000),
            ("5 min", 300_000),
            ("2h", 7_200_000),
            ("0.5d", 43_200_000),
            ("1000000000", 1_000_000_000_000),
        ] {
            assert_eq!(parse(text), Ok(Duration::from_millis(milliseconds)), "{text}");
        }
        for text in ["", "s", "-1", "1x", "1..2", "1e9", "1000000001", "nan", "inf", "40000d"] {
            assert!(parse(text).is_err(), "{text}");
        }
        for seconds in [-1.0, f64::NAN, f64::INFINITY, 2e9] {
            assert!(from_seconds(seconds).is_err(), "{seconds}");
        }
    }
}
