// SPDX-License-Identifier: Apache-2.0
//! The two workloads of the JSON paper: battery status and trip report.
//!
//! Names, order, lengths and ranges are those of the published generator and its two parameter sets
//! (small values for the software comparison, the whole 64 bits for the tables); the random numbers
//! are ours.

use crate::rng::SplitMix64;
use crate::writer::Writer;

/// The range of the integers of a trip report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Range {
    /// The limits of each field in the schema's own example.
    Small,
    /// Every integer over the whole 64 bits.
    Whole,
}

impl Range {
    const fn high(self, small: u64) -> u64 {
        match self {
            Self::Small => small,
            Self::Whole => u64::MAX,
        }
    }
}

/// The maximum of every trip field without a limit of its own.
const TRIP_VALUE_MAX: u64 = 4191;

pub(crate) fn battery(json: &mut Writer<'_>, rng: &mut SplitMix64, values_max: u32, high: u64) {
    let values = rng.between(1, u64::from(values_max));
    json.object(|json| {
        json.key("voltage");
        numbers(json, rng, values, high);
    });
}

/// The reduced schema, 11 fields.
pub(crate) fn trip(json: &mut Writer<'_>, rng: &mut SplitMix64, range: Range) {
    let value_high = range.high(TRIP_VALUE_MAX);
    json.object(|json| {
        timestamp(json, rng);
        number(json, rng, "timezone", range.high(1023));
        number(json, rng, "odometer", range.high(999));
        flag(json, rng, "hypermiling");
        number(json, rng, "avgspeed", range.high(199));
        list(json, rng, "sec_in_band", 12, value_high);
        list(json, rng, "braking", 6, value_high);
        list(json, rng, "accel", 6, value_high);
        flag(json, rng, "orientation");
        list(json, rng, "small_speed_var", 13, value_high);
        list(json, rng, "large_speed_var", 13, value_high);
    });
}

/// The full schema, 19 fields, small values; only `vin` has the whole 64 bits.
pub(crate) fn trip_full(json: &mut Writer<'_>, rng: &mut SplitMix64) {
    json.object(|json| {
        timestamp(json, rng);
        number(json, rng, "timezone", 1023);
        number(json, rng, "vin", u64::MAX);
        number(json, rng, "odometer", 999);
        flag(json, rng, "hypermiling");
        number(json, rng, "avgspeed", 199);
        list(json, rng, "sec_in_band", 12, TRIP_VALUE_MAX);
        list(json, rng, "miles_in_time_range", 24, TRIP_VALUE_MAX);
        list(json, rng, "const_speed_miles_in_band", 12, TRIP_VALUE_MAX);
        list(json, rng, "vary_speed_miles_in_band", 12, TRIP_VALUE_MAX);
        list(json, rng, "sec_decel", 10, TRIP_VALUE_MAX);
        list(json, rng, "sec_accel", 10, TRIP_VALUE_MAX);
        list(json, rng, "braking", 6, TRIP_VALUE_MAX);
        list(json, rng, "accel", 6, TRIP_VALUE_MAX);
        flag(json, rng, "orientation");
        list(json, rng, "small_speed_var", 13, TRIP_VALUE_MAX);
        list(json, rng, "large_speed_var", 13, TRIP_VALUE_MAX);
        number(json, rng, "accel_decel", TRIP_VALUE_MAX);
        number(json, rng, "speed_changes", TRIP_VALUE_MAX);
    });
}

/// `YYYY-MM-DDThh:mm:ss±hh:00`. The schema keeps it as text, as the paper's does.
fn timestamp(json: &mut Writer<'_>, rng: &mut SplitMix64) {
    json.key("timestamp");
    json.raw("\"");
    json.date(rng.between(2000, 2019), rng.between(1, 11), rng.between(1, 27));
    json.raw("T");
    json.time(rng.between(0, 23), rng.between(0, 59), rng.between(0, 59));
    json.raw(if rng.chance(500) { "+" } else { "-" });
    json.digits(rng.between(0, 11), 2);
    json.raw(":00\"");
}

fn number(json: &mut Writer<'_>, rng: &mut SplitMix64, name: &str, high: u64) {
    json.key(name);
    json.uint(rng.between(0, high));
}

fn flag(json: &mut Writer<'_>, rng: &mut SplitMix64, name: &str) {
    json.key(name);
    json.bool(rng.chance(500));
}

fn list(json: &mut Writer<'_>, rng: &mut SplitMix64, name: &str, items: u64, high: u64) {
    json.key(name);
    numbers(json, rng, items, high);
}

fn numbers(json: &mut Writer<'_>, rng: &mut SplitMix64, items: u64, high: u64) {
    json.array(|json| {
        for _ in 0..items {
            json.item();
            json.uint(rng.between(0, high));
        }
    });
}
