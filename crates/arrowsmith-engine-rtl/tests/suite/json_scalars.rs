// SPDX-License-Identifier: Apache-2.0
//! Scalars of JSON circuits against the engine `cpu`, bit by bit, at their edges and at random; the
//! circuit must take most of them.
//!
//! One schema, hence one compilation. Without a Verilator the tests are skipped.

use arrowsmith_core::{DecodeOptions, OnError};
use arrowsmith_engine_rtl::RtlEngine;
use arrowsmith_engine_rtl::json::Counts;
use arrowsmith_testkit::random::Rng;

use crate::json_support::{check, memory, one, plan};
use crate::support::there;

const SCHEMA: &str = "x: float64, y: float32, xs: list<float64 not null>, \
     a: decimal128(38, 10), b: decimal128(5, 2), c: decimal128(18, 0), cs: fixed_size_list<decimal128(20, 3), 3>, \
     d: date32, e: date64, s: timestamp(s), m: timestamp(ms), u: timestamp(us, \"UTC\"), n: timestamp(ns), \
     z: timestamp(ms, \"+01:00\"), t: time32(s), k: time32(ms), o: time64(us), w: time64(ns), \
     i: int8, v: struct<j: int8>";

/// Compares both engines on texts; invalid values become nulls. Returns the circuits' counters.
fn compare(texts: &[String], stalls: u32, about: &str) -> Counts {
    let rtl = RtlEngine::default().with_memory(memory(stalls, 5));
    let mut options = DecodeOptions::default();
    options.on_error = OnError::Null;
    for text in texts {
        check(&rtl, &plan(SCHEMA), &options, text.as_bytes(), about);
    }
    rtl.statistics().counts()
}

/// Edge cases of floats: signs of zero, subnormals, ties and their neighbours, the largest,
/// overflow.
const FLOATS: &str = "0 -0 0.0 -0.000 0e0 -0e999 0e-999 1 -1 1.0 10 1e0 1E+0 1e-0 1e1 123456789012345678 9007199254740991 9007199254740992 \
     9007199254740993 9007199254740994 9007199254740995 -9007199254740993 9007199254740993.0 900719925474099300e-2 90071992547409935e-1 \
     4503599627370496.5 4503599627370497.5 4503599627370497.25 16777216 16777217 16777218 16777219 8388608.5 8388609.5 1.17549435e-38 \
     1.1754943e-38 1e-45 1.4e-45 7.006492321624085e-46 7.0064923216240854e-46 7e-46 3.4028235e38 3.4028235677973366e38 3.40282357e38 \
     2.2250738585072014e-308 2.2250738585072011e-308 2.225073858507201e-308 5e-324 4.9e-324 2.4703282292062327e-324 \
     2.4703282292062328e-324 2.5e-324 1e-323 1e-342 1e-343 1e-400 9999999999999999999e-343 1.7976931348623157e308 \
     1.7976931348623158e308 1.797693134862315808e308 17976931348623157e292 1e22 1e23 8.5e22 9.5e23 1e-22 1e-23 0.1 0.2 \
     0.30000000000000004 3.141592653589793 -65.613616999999977 7.2057594037927933e16 6.8949e-8 0.000000000000000000001 \
     0.0000000000000000000000000001 1.00000000000000011102 9999999999999999999 0.9999999999999999999 5e-20 67e+14 985e+15 7693e-42 \
     55895e-16 996622e-44 7038531e-32 60419369e-46 702990899e-20 1.448997445238699 1e300 1e-300 123e-7 0.5 0.25 2e00";

/// Errors, and numbers that are left to software.
const FLOAT_FAULTS: &str = "1e309 -1e309 1.7976931348623159e308 1e999 1e1000 3.4028236e38 01 1. .5 - +1 1e 1e+ 1.e1 --1 1- 0x1 NaN Infinity true \
     \"1\" [] {} 1.5.5 1e5e5 1e5.5 1.000000000000000111022302462515654 9007199254740993.00000000000000000001 12345678901234567890 1e00001 \
     0.1000000000000000055511151231257827021181583404541015625";

fn float(rng: &mut Rng) -> String {
    let sign = if rng.one_in(3) { "-" } else { "" };
    let double = f64::from_bits(rng.bits());
    let single = f32::from_bits(u32::try_from(rng.bits() >> 32).unwrap());
    match rng.below(9) {
        // Any double and any single, shortest and with more digits.
        0 if double.is_finite() => format!("{double:e}"),
        1 if double.is_finite() => format!("{double:.17e}"),
        2 if single.is_finite() => format!("{single:e}"),
        3 => one(rng, &FLOATS.split(' ').collect::<Vec<_>>()).to_owned(),
        4 => format!("{sign}{}.{:03}", rng.range(0, 100_000), rng.range(0, 999)),
        // Half-way between two singles of moderate size, and right beside it.
        5 => {
            let low = f32::from_bits(u32::try_from(rng.range(0x4700_0000, 0x4B00_0000)).unwrap());
            let middle =
                f64::midpoint(f64::from(low), f64::from(f32::from_bits(low.to_bits() + 1)));
            let more = if middle.fract() == 0.0 { ".0001" } else { "0001" };
            format!("{sign}{middle}{}", if rng.one_in(3) { "" } else { more })
        }
        6 => format!("{sign}{}e{}", rng.range(0, 10_i128.pow(19) - 1), rng.range(-345, 300)),
        7 => format!("{sign}0.{}{}", "0".repeat(rng.below(8)), rng.range(1, 10_i128.pow(17))),
        _ => format!("{sign}{}", rng.range(0, 1 << 62)),
    }
}

/// Records for a number: as double, single and in a list; the single is omitted if it has no such
/// number.
fn float_records(number: &str) -> String {
    match number.parse::<f32>() {
        Ok(single) if single.is_infinite() => {
            format!(" {{ \"xs\" : [ {number} , 1.5,{number}],\"x\":{number}\t}}\n")
        }
        _ => format!("{{\"x\":{number},\"y\":{number},\"xs\":[{number}]}}\n"),
    }
}

fn floats(rng: &mut Rng) {
    let edges = FLOATS.split(' ').chain(FLOAT_FAULTS.split(' ')).map(float_records);
    compare(&[edges.collect()], 0, "edges of floats");
    let texts: Vec<String> =
        (0..20).map(|_| (0..100).map(|_| float_records(&float(rng))).collect()).collect();
    let counts = compare(&texts, 30, "floats");
    assert_eq!(counts.rows + counts.handed_back, 2000);
    assert!(counts.handed_back < 100, "{counts}");
}

/// Edge cases of dates and times, and invalid texts.
const TIMES: &str = "1970-01-01|1969-12-31|0001-01-01|9999-12-31|0000-01-01|2000-02-29|1900-02-29|2100-02-29|2024-02-29|2023-02-29|2024-02-30|\
     2024-04-31|2024-12-31|2024-13-01|2024-00-01|2024-01-00|2024-01-32|2024-1-01|24-01-01|2024/01/01|2024-01-01T|2024-01-01T00:00|\
     2024-01-01T00:00Z|2024-01-01T12:34:56|2024-01-01t12:34:56z|2024-01-01 12:34:56|2024-01-01_12:34:56|2024-01-01T23:59:60|\
     2024-12-31T23:59:60Z|2024-01-01T23:59:61|2024-01-01T24:00:00|2024-01-01T12:60:00|2024-01-01T12:00:00+14:00|\
     2024-01-01T12:00:00-14:00|0001-01-01T00:00:00+23:59|9999-12-31T23:59:59-23:59|2024-01-01T12:00:00+24:00|\
     2024-01-01T12:00:00+01:60|2024-01-01T12:00:00+01|2024-01-01T12:00:00+0130|2024-01-01T12:00:00+1:00|2024-01-01T12:00:00ZZ|\
     2024-01-01T12:00:00.Z|2024-01-01T12:00:00.|2024-01-01T12:00:00.5|2024-01-01T12:00:00.000Z|2024-01-01T12:00.5|\
     2024-01-01T12:00:00.123456789|2024-01-01T12:00:00.1234567890|2024-01-01T12:00:00.12300|2024-01-01T12:00+05:30|\
     1677-09-21T00:12:43.145224192Z|1677-09-21T00:12:43.145224191|2262-04-11T23:47:16.854775807|2262-04-11T23:47:16.854775808|\
     1677-09-21|2262-04-12|12:34|12:34:56|12:34:56.789|12:34:56.789012345|23:59:59.999999999|23:59:60|24:00|23:59:59|00:00|12:34Z|\
     12:34:5|1:23:45|12:34:|12:3x|| |1970-01-01 | 1970-01-01|x|-|1|1e3|P1D|\
     2024-01-01T12:34:56.123456+01:00 and something that is longer than the window of the circuit";

/// Other types, and broken strings.
const NO_TIMES: &str = "0 -1 19000 86399 86400 86400000 2147483647 2147483648 -2147483648 -2147483649 9223372036854775807 9223372036854775808 \
     -9223372036854775808 1.5 1e3 true null [] {} \"2024-01-01T00\\u003a00\" \"1970-01-01 \"1970-01-01\"1 1\"";

fn time(rng: &mut Rng) -> String {
    let (long, leap) = if rng.one_in(9) { (31, 60) } else { (28, 59) };
    let day = (rng.range(1, 12), rng.range(1, long));
    let date = format!("{:04}-{:02}-{:02}", rng.range(1, 9999), day.0, day.1);
    let near = format!("{:04}-{:02}-{:02}", rng.range(1678, 2261), day.0, day.1);
    let mut clock = format!("{:02}:{:02}", rng.range(0, 23), rng.range(0, 59));
    if !rng.one_in(8) {
        clock += &format!(":{:02}", rng.range(0, leap));
        if !rng.one_in(3) {
            let digits = rng.below(9) + 1;
            clock += &format!(".{:09}", rng.range(0, 999_999_999))[..=digits];
            if rng.one_in(3) {
                clock.replace_range(clock.len() - digits / 2.., &"0".repeat(digits / 2));
            }
        }
    }
    let zone = match rng.below(4) {
        0 => String::new(),
        1 => one(rng, &["Z", "z"]).to_owned(),
        _ => format!("{}{:02}:{:02}", one(rng, &["+", "-"]), rng.range(0, 23), rng.range(0, 59)),
    };
    match rng.below(8) {
        0 => one(rng, &TIMES.split('|').collect::<Vec<_>>()).to_owned(),
        1 => date,
        2 => near,
        3 => clock,
        4 => format!("{date}{}{clock}{zone}", one(rng, &["T", "t", " "])),
        _ => format!("{near}{}{clock}{zone}", one(rng, &["T", " "])),
    }
}

/// The value in each of the columns, in a record of its own.
fn time_records(value: &str) -> String {
    let columns = ["d", "e", "s", "m", "u", "n", "z", "t", "k", "o", "w"];
    columns.map(|column| format!("{{\"{column}\":{value}}}\n")).concat()
}

fn dates_and_times(rng: &mut Rng) {
    let texts = TIMES.split('|').map(|text| time_records(&format!("\"{text}\"")));
    compare(&[texts.chain(NO_TIMES.split(' ').map(time_records)).collect()], 0, "edges of times");
    let mut records = |_| (0..30).map(|_| time_records(&format!("\"{}\"", time(rng)))).collect();
    let texts: Vec<String> = (0..10).map(&mut records).collect();
    compare(&texts, 30, "times");
}

/// Signs, points, exponents, leading and trailing zeros; too many digits; in quotes, and other
/// texts there.
const DECIMALS: &str = "0|-0|0.00|0e99|1|-1|999.99|-999.99|1000|1000.00|0.001|0.010|0.0100000000|12e-1|1.20|1e2|1e3|99999e-2|\
     9999999999999999999999999999|-9999999999999999999999999999|10000000000000000000000000000|1e27|1e28|1e-10|1e-11|10e-11|\
     999999999999999999|1000000000000000000|1e999|1e1000|0e1000|1e-999|0.1234567890|0.12345678901|123456789012345678.123456789|\
     1234567890123456789012345678901|01|1.|.5|+1|-|1e|1e5e5|1.5.5|true|null|[]|\"1\"|\"-1.5\"|\" 1\"|\"1 \"|\"\"|\"x\"|\"1,2\"|\
     \"1e2\"|\"[1\"|\"\\u0031\"|\"1\"2|1\"2|\"9999999999999999999999999999\"|\"00000000000000000000000000000000000000000000001\"";

fn decimal(rng: &mut Rng) -> String {
    let digits = u32::try_from(rng.below(20)).unwrap();
    let whole = rng.range(0, 10_i128.pow(digits));
    let mut text = format!("{}{whole}", if rng.one_in(3) { "-" } else { "" });
    if rng.one_in(2) {
        text += &format!(".{:09}", rng.range(0, 999_999_999))[..2 + rng.below(9)];
        text += &"0".repeat(if rng.one_in(3) { rng.below(4) } else { 0 });
    }
    if rng.one_in(6) {
        let most = if rng.one_in(8) { 1200 } else { 12 };
        text += &format!("{}{}", one(rng, &["e", "E", "e+", "e-"]), rng.below(most));
    }
    if rng.one_in(4) { format!("\"{text}\"") } else { text }
}

fn decimal_records(value: &str) -> String {
    format!(
        "{{\"a\":{value},\"b\":1.5,\"c\":2,\"cs\":[3,4.25,-0.001]}}\n{{\"b\":{value},\"c\":-1}}\n{{\"c\":{value},\"cs\":null}}\n\
         {{\"c\":1,\"cs\":[0.5,{value},null]}}\n"
    )
}

fn decimals(rng: &mut Rng) {
    compare(&[DECIMALS.split('|').map(decimal_records).collect()], 0, "edges of decimals");
    let texts: Vec<String> =
        (0..10).map(|_| (0..40).map(|_| decimal_records(&decimal(rng))).collect()).collect();
    compare(&texts, 30, "decimals");
}

/// A record with all columns in the schema's order, which is parsed by prediction; sometimes with a
/// null right before a nullable object that is not null.
fn whole_record(rng: &mut Rng) -> String {
    let number = format!("{}.{:02}", rng.range(-999, 999), rng.range(0, 99));
    let day = (rng.range(1, 12), rng.range(1, 28));
    let date = format!("{:04}-{:02}-{:02}", rng.range(1700, 2200), day.0, day.1);
    let clock = format!("{:02}:{:02}:{:02}", rng.range(0, 23), rng.range(0, 59), rng.range(0, 59));
    let (ms, ns) = (rng.range(0, 999), rng.range(0, 999_999_999));
    let small = if rng.one_in(3) { "null" } else { "7" };
    format!(
        "{{\"x\":{number},\"y\":-{ms}e-3,\"xs\":[{number},{ns},1e-7,{ms}.5],\"a\":{number},\"b\":{number},\"c\":{ns},\"cs\":[{number},1,\"2.5\"],\
         \"d\":\"{date}\",\"e\":\"{date}\",\"s\":\"{date} {clock}\",\"m\":\"{date}T{clock}.{ms:03}\",\"u\":\"{date}T{clock}Z\",\
         \"n\":\"{date}T{clock}.{ns:09}\",\"z\":\"{date}T{clock}.5+02:00\",\"t\":\"{clock}\",\"k\":\"{clock}.{ms:03}\",\
         \"o\":\"{clock}.{ms:03}001\",\"w\":\"{clock}.{ns:09}\",\"i\":{small},\"v\":{{\"j\":{small}}}}}\n"
    )
}

#[test]
fn scalars() {
    if !there() {
        return;
    }
    let rng = &mut Rng::new(11);
    floats(rng);
    dates_and_times(rng);
    decimals(rng);
    let counts = compare(&[(0..300).map(|_| whole_record(rng)).collect()], 10, "whole records");
    assert_eq!((counts.rows, counts.handed_back), (300, 0));
}
