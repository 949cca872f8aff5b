// SPDX-License-Identifier: Apache-2.0
//! New York yellow taxi trips as JSON: the 19 columns that the city publishes, with its spelling.
//!
//! As in the published files, one trip in about twenty came without meter data, and then five
//! columns are null together; refunds make amounts negative.

use crate::rng::SplitMix64;
use crate::writer::Writer;

pub(crate) fn record(json: &mut Writer<'_>, rng: &mut SplitMix64) {
    let metered = !rng.chance(47);
    let refund = rng.chance(11);
    let distance_hundredths = 30 + rng.between(0, 60) * rng.between(0, 60);
    let fare_cents = 300 + distance_hundredths * 250 / 100 / 70 * 70;
    let tip_cents = if rng.chance(250) { 0 } else { fare_cents * rng.between(10, 30) / 100 };
    let extra_cents = 50 * rng.between(0, 5);
    let tolls_cents = if rng.chance(70) { 694 } else { 0 };
    let congestion_cents = if rng.chance(920) { 250 } else { 0 };
    let airport_cents = if rng.chance(85) { 175 } else { 0 };
    let fees_cents = extra_cents + tolls_cents + congestion_cents + airport_cents + 50 + 100;

    json.object(|json| {
        json.key("VendorID");
        json.uint(rng.between(1, 2));
        times(json, rng, 120 + distance_hundredths * 2);
        optional(json, "passenger_count", metered, |json| json.uint(rng.between(0, 6)));
        json.key("trip_distance");
        amount(json, distance_hundredths);
        optional(json, "RatecodeID", metered, |json| json.uint(rng.between(1, 6)));
        optional(json, "store_and_fwd_flag", metered, |json| {
            json.string(if rng.chance(6) { "Y" } else { "N" });
        });
        json.key("PULocationID");
        json.uint(rng.between(1, 265));
        json.key("DOLocationID");
        json.uint(rng.between(1, 265));
        json.key("payment_type");
        json.uint(if metered { rng.between(1, 4) } else { 0 });
        money(json, "fare_amount", refund, fare_cents);
        money(json, "extra", refund, extra_cents);
        money(json, "mta_tax", refund, 50);
        money(json, "tip_amount", false, tip_cents);
        money(json, "tolls_amount", refund, tolls_cents);
        money(json, "improvement_surcharge", refund, 100);
        money(json, "total_amount", refund, fare_cents + tip_cents + fees_cents);
        optional(json, "congestion_surcharge", metered, |json| amount(json, congestion_cents));
        optional(json, "Airport_fee", metered, |json| amount(json, airport_cents));
    });
}

/// Pick-up and drop-off, in local time without a zone, as the city publishes them. A trip that
/// would end after midnight ends one second before it.
fn times(json: &mut Writer<'_>, rng: &mut SplitMix64, seconds: u64) {
    let (month, day) = (rng.between(1, 12), rng.between(1, 28));
    let start = rng.between(0, 86_399);
    for (name, at) in [
        ("tpep_pickup_datetime", start),
        ("tpep_dropoff_datetime", (start + seconds).min(86_399).max(start)),
    ] {
        json.key(name);
        json.raw("\"");
        json.date(2024, month, day);
        json.raw("T");
        json.time(at / 3_600, at / 60 % 60, at % 60);
        json.raw("\"");
    }
}

fn optional(json: &mut Writer<'_>, name: &str, present: bool, value: impl FnOnce(&mut Writer<'_>)) {
    json.key(name);
    if present {
        value(json);
    } else {
        json.raw("null");
    }
}

fn money(json: &mut Writer<'_>, name: &str, negative: bool, cents: u64) {
    json.key(name);
    if negative && cents != 0 {
        json.raw("-");
    }
    amount(json, cents);
}

/// As Python prints it: `7.2`, not `7.20`; `3.0`, not `3`.
fn amount(json: &mut Writer<'_>, cents: u64) {
    if cents.is_multiple_of(10) {
        json.uint(cents / 100);
        json.raw(".");
        json.uint(cents / 10 % 10);
    } else {
        json.hundredths(cents);
    }
}
