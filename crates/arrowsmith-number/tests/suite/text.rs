// SPDX-License-Identifier: Apache-2.0
//! Dates, times, durations, hexadecimal and base64: tables, and against chrono and base64.

use arrowsmith_number::{
    ParsedTimestamp, TextError, TimeUnit, decode_base64, decode_hex, looks_like_date,
    looks_like_timestamp, parse_date32, parse_date64, parse_duration, parse_time, parse_timestamp,
};
use base64::Engine;
use chrono::{DateTime, Datelike, FixedOffset, NaiveDate, NaiveTime, TimeDelta, Timelike};
use proptest::prelude::*;

const UNITS: [TimeUnit; 4] =
    [TimeUnit::Second, TimeUnit::Millisecond, TimeUnit::Microsecond, TimeUnit::Nanosecond];

#[test]
fn dates() {
    assert_eq!(parse_date32(b"1970-01-01"), Ok(0));
    assert_eq!(parse_date32(b"0001-01-01"), Ok(-719_162));
    assert_eq!(parse_date32(b"9999-12-31"), Ok(2_932_896));
    assert_eq!(parse_date32(b"2024-02-29"), Ok(19_782));
    assert_eq!(parse_date32(b"0000-01-01"), Err(TextError::Range));
    for text in [
        "",
        "2024",
        "2024-1-1",
        "2024-01-1",
        "2024-01-011",
        "2023-02-29",
        "1900-02-29",
        "2024-00-01",
        "2024-13-01",
        "2024-01-00",
        "2024-01-32",
        "2024-04-31",
        "2024/01/01",
        "2024-01/01",
        "20240-1-01",
        "+2024-01-01",
        "-2024-01-01",
        "12024-01-01",
        " 2024-01-01",
        "2024-01-01 ",
        "2O24-01-01",
        "20a4-01-01",
        "2024-01-0a",
        "2024-01-01T00:00:00",
        "٢٠٢٤-01-01",
        "2024-01:01",
        "2024-99-99",
    ] {
        assert_eq!(parse_date32(text.as_bytes()), Err(TextError::Syntax), "{text}");
        assert!(!looks_like_date(text.as_bytes()), "{text}");
    }
}

/// Every valid day, and every two-digit month and day of some years.
#[test]
fn every_date() {
    let mut day = NaiveDate::from_ymd_opt(1, 1, 1).unwrap();
    let mut count = 0;
    while day.year() < 10_000 {
        let text = format!("{:04}-{:02}-{:02}", day.year(), day.month(), day.day());
        assert_eq!(parse_date32(text.as_bytes()), Ok(day.to_epoch_days()), "{text}");
        day = day.succ_opt().unwrap();
        count += 1;
    }
    assert_eq!(count, 3_652_059);
    for year in [1, 1900, 2000, 2023, 2024, 9999] {
        for month in 0..100 {
            for day in 0..100 {
                let text = format!("{year:04}-{month:02}-{day:02}");
                let expected = NaiveDate::from_ymd_opt(year, month, day).map(|d| d.to_epoch_days());
                assert_eq!(parse_date32(text.as_bytes()).ok(), expected, "{text}");
            }
        }
    }
}

/// Replaces each byte of a valid text by every other one: only digits may differ.
#[test]
fn every_byte_counts() {
    let good = b"2021-11-11T11:11:11.111111Z";
    for at in 0..good.len() {
        for byte in 0..=255 {
            let mut text = *good;
            text[at] = byte;
            let expected = match good[at] {
                b'0'..=b'9' => byte.is_ascii_digit(),
                b'T' => b"Tt ".contains(&byte),
                b'Z' => b"Zz0123456789".contains(&byte),
                other => byte == other,
            };
            match parse_timestamp(&text, TimeUnit::Microsecond) {
                Err(TextError::Syntax) if expected => {
                    // A digit that makes the date invalid, such as month 91.
                    assert!(byte.is_ascii_digit(), "{at} {byte}");
                }
                Err(TextError::Syntax) => {}
                // A digit in the place of Z is a digit finer than the unit.
                Err(TextError::Inexact) => assert!(at == 26 && byte != b'0'),
                other => assert!(other.is_ok() && expected, "{at} {byte} {other:?}"),
            }
        }
    }
}

#[test]
fn timestamps() {
    let parse = |text: &str, unit| parse_timestamp(text.as_bytes(), unit);
    let ok = |value, had_offset| Ok(ParsedTimestamp { value, had_offset });
    let (s, ms, us, ns) = (UNITS[0], UNITS[1], UNITS[2], UNITS[3]);
    assert_eq!(parse("1970-01-01", s), ok(0, false));
    assert_eq!(parse("1970-01-02", ms), ok(86_400_000, false));
    assert_eq!(parse("1970-01-01T00:01", s), ok(60, false));
    assert_eq!(parse("1970-01-01T00:01Z", s), ok(60, true));
    assert_eq!(parse("1970-01-01 00:01+01", s), ok(-3540, true));
    assert_eq!(parse("1970-01-01t00:00:01.5z", ms), ok(1500, true));
    assert_eq!(parse("1970-01-01T00:00:01.500000000000", ms), ok(1500, false));
    assert_eq!(parse("1970-01-01T00:00:00.0", s), ok(0, false));
    assert_eq!(parse("1970-01-01T00:00:00.000001Z", us), ok(1, true));
    assert_eq!(parse("1969-12-31T23:59:59.999999999Z", ns), ok(-1, true));
    assert_eq!(parse("1970-01-01T05:30:00+05:30", s), ok(0, true));
    assert_eq!(parse("1970-01-01T05:30:00+0530", s), ok(0, true));
    assert_eq!(parse("1969-12-31T12:00:00-12:00", s), ok(0, true));
    assert_eq!(parse("1969-12-31T00:01:00-23:59", s), ok(0, true));
    assert_eq!(parse("1677-09-21T00:12:43.145224192Z", ns), ok(i64::MIN, true));
    assert_eq!(parse("1677-09-21T00:12:43.145224191Z", ns), Err(TextError::Range));
    assert_eq!(parse("2262-04-11T23:47:16.854775807Z", ns), ok(i64::MAX, true));
    assert_eq!(parse("2262-04-11T23:47:16.854775808Z", ns), Err(TextError::Range));
    assert_eq!(parse("9999-12-31T23:59:59.999999", us), ok(253_402_300_799_999_999, false));
    assert_eq!(parse("0000-12-31T23:59:59", us), Err(TextError::Range));
    // A leap second is the first second of the next minute.
    assert_eq!(parse("2016-12-31T23:59:60Z", s), parse("2017-01-01T00:00:00Z", s));
    assert_eq!(parse("2016-12-31T23:59:60.25Z", ms), parse("2017-01-01T00:00:00.25Z", ms));
    assert_eq!(parse("1970-01-01T00:00:00.1", s), Err(TextError::Inexact));
    assert_eq!(parse("1970-01-01T00:00:00.0001", ms), Err(TextError::Inexact));
    assert_eq!(parse("1970-01-01T00:00:00.0000001Z", us), Err(TextError::Inexact));
    assert_eq!(parse("1970-01-01T00:00:00.0000000001Z", ns), Err(TextError::Inexact));
    assert_eq!(
        parse("1970-01-01T00:00:00.12345678900000000000000000000Z", ns),
        ok(123_456_789, true)
    );
    assert_eq!(parse_date64(b"1970-01-02T00:00:00.001"), Ok(86_400_001));
    assert_eq!(parse_date64(b"1970-01-02"), Ok(86_400_000));
    assert_eq!(parse_date64(b"1970-01-02T00:00:00+24:00"), Err(TextError::Syntax));
}

#[test]
fn not_timestamps() {
    for text in [
        "",
        "1970-01-01T",
        "1970-01-01T0",
        "1970-01-01T00",
        "1970-01-01T00:",
        "1970-01-01T00:0",
        "1970-01-01T00:00:",
        "1970-01-01T00:00:0",
        "1970-01-01T00:00:00.",
        "1970-01-01T00:00.5",
        "1970-01-01T00:00:00.Z",
        "1970-01-01T00:00:00,5",
        "1970-01-01T24:00:00",
        "1970-01-01T00:60:00",
        "1970-01-01T00:00:61",
        "1970-01-01T00:00:00ZZ",
        "1970-01-01T00:00:00 Z",
        "1970-01-01T00:00:00+",
        "1970-01-01T00:00:00+1",
        "1970-01-01T00:00:00+1:00",
        "1970-01-01T00:00:00+01:0",
        "1970-01-01T00:00:00+01:60",
        "1970-01-01T00:00:00+24",
        "1970-01-01T00:00:00+010",
        "1970-01-01x00:00:00",
        "1970-01-01T00:00:00 UTC",
        "1970-01-01T000000",
        "1970-01-01T00:00:00+01:00:00",
        "1970-1-01T00:00:00",
        "1970-01-01T00:00:00*01:00",
        "1970-01-01  00:00:00",
        "1970-01-01T-1:00:00",
        "1970-01-01T00:00:00.1.2",
    ] {
        for unit in UNITS {
            assert_eq!(parse_timestamp(text.as_bytes(), unit), Err(TextError::Syntax), "{text}");
        }
        assert_eq!(looks_like_timestamp(text.as_bytes()), None, "{text}");
    }
    assert_eq!(looks_like_timestamp(b"1970-01-01"), None);
    assert_eq!(looks_like_timestamp(b"1970-01-01T00:00"), Some(false));
    assert_eq!(looks_like_timestamp(b"1970-01-01T00:00:00.1234567891234-03"), Some(true));
    assert!(looks_like_date(b"1970-01-01"));
}

#[test]
fn times() {
    let parse = |text: &str, unit| parse_time(text.as_bytes(), unit);
    assert_eq!(parse("00:00", TimeUnit::Second), Ok(0));
    assert_eq!(parse("23:59:59", TimeUnit::Second), Ok(86_399));
    assert_eq!(parse("12:34:56.789", TimeUnit::Millisecond), Ok(45_296_789));
    assert_eq!(parse("12:34:56.789", TimeUnit::Nanosecond), Ok(45_296_789_000_000));
    assert_eq!(parse("12:34:56.789", TimeUnit::Second), Err(TextError::Inexact));
    assert_eq!(parse("12:34:60", TimeUnit::Second), Ok(45_300));
    assert_eq!(parse("23:59:60", TimeUnit::Second), Err(TextError::Range));
    for text in [
        "",
        "1:00",
        "12",
        "12:",
        "12:3",
        "12:34:",
        "12:34:5",
        "12:34:56.",
        "24:00",
        "12:60",
        "12:34:61",
        "12:34Z",
        "12:34:56Z",
        "12:34:56 ",
        "123456",
        "12:34.5",
        "12-34-56",
        "aa:bb:cc",
    ] {
        assert_eq!(parse(text, TimeUnit::Nanosecond), Err(TextError::Syntax), "{text}");
    }
}

#[test]
fn durations() {
    let parse = |text: &str, unit| parse_duration(text.as_bytes(), unit);
    assert_eq!(parse("P1D", TimeUnit::Second), Ok(86_400));
    assert_eq!(parse("PT0S", TimeUnit::Second), Ok(0));
    assert_eq!(parse("P1DT2H3M4.5S", TimeUnit::Millisecond), Ok(93_784_500));
    assert_eq!(parse("-PT1.5S", TimeUnit::Millisecond), Ok(-1500));
    assert_eq!(parse("+PT90M", TimeUnit::Second), Ok(5400));
    assert_eq!(parse("PT1H30S", TimeUnit::Second), Ok(3630));
    assert_eq!(parse("PT1.5S", TimeUnit::Second), Err(TextError::Inexact));
    assert_eq!(parse("PT9223372036.854775807S", TimeUnit::Nanosecond), Ok(i64::MAX));
    assert_eq!(parse("-PT9223372036.854775808S", TimeUnit::Nanosecond), Ok(i64::MIN));
    assert_eq!(parse("PT9223372036.854775808S", TimeUnit::Nanosecond), Err(TextError::Range));
    assert_eq!(parse("P99999999999999999999D", TimeUnit::Second), Err(TextError::Range));
    assert_eq!(parse("P106751991167301D", TimeUnit::Second), Err(TextError::Range));
    for text in [
        "",
        "P",
        "PT",
        "-P",
        "P1",
        "1D",
        "P1DT",
        "P1H",
        "PT1D",
        "PT1S1M",
        "PT1M1M",
        "P1D1D",
        "P1.5D",
        "PT1.5M",
        "PT.5S",
        "PT1.S",
        "P1Y",
        "P1M",
        "P1W",
        "p1d",
        "P-1D",
        "PT1S ",
        "PTT1S",
        "P1DT1HT1M",
        "--P1D",
        "PT1,5S",
    ] {
        assert_eq!(parse(text, TimeUnit::Nanosecond), Err(TextError::Syntax), "{text}");
    }
}

#[test]
fn binary() {
    let hex = |text: &str| {
        let mut out = vec![9];
        let result = decode_hex(text.as_bytes(), &mut out).map(|()| out[1..].to_vec());
        assert!(result.is_ok() || out == [9], "{text} left {out:?}");
        result
    };
    assert_eq!(hex(""), Ok(vec![]));
    assert_eq!(hex("00fFAb9"), Err(TextError::Syntax));
    assert_eq!(hex("00fFAb90"), Ok(vec![0, 0xFF, 0xAB, 0x90]));
    for text in ["0g", "g0", "0x", " 0", "0:", "0/", "0@", "\u{e9}"] {
        assert_eq!(hex(text), Err(TextError::Syntax), "{text}");
    }
    let base64 = |text: &str| {
        let mut out = vec![9];
        let result = decode_base64(text.as_bytes(), &mut out).map(|()| out[1..].to_vec());
        assert!(result.is_ok() || out == [9], "{text} left {out:?}");
        result
    };
    assert_eq!(base64(""), Ok(vec![]));
    for text in ["Zg", "Zg=="] {
        assert_eq!(base64(text), Ok(b"f".to_vec()), "{text}");
    }
    for text in ["+/+/", "-_-_"] {
        assert_eq!(base64(text), Ok(vec![0xFB, 0xFF, 0xBF]), "{text}");
    }
    for text in [
        "Z",
        "Zg=",
        "Zh==",
        "Zg===",
        "=",
        "====",
        "+-+-",
        "Zm9v YmFy",
        "Zm9v\n",
        "Zm9*",
        "Zg==Zg==",
    ] {
        assert_eq!(base64(text), Err(TextError::Syntax), "{text}");
    }
}

/// Nanoseconds as `.123`, without trailing zeros; empty for 0.
fn fraction(nanoseconds: u32) -> String {
    if nanoseconds == 0 {
        return String::new();
    }
    format!(".{nanoseconds:09}").trim_end_matches('0').to_owned()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn timestamps_as_chrono(
        seconds in -62_135_596_800i64 + 86_400..253_402_300_800 - 86_400,
        nanoseconds in prop_oneof![
            Just(0), 0u32..1_000_000_000,
            (0u32..1000).prop_map(|n| n * 1_000_000), (0u32..1_000_000).prop_map(|n| n * 1000)],
        offset_minutes in -1439i32..1440,
        separator in "[Tt ]",
    ) {
        let zone = FixedOffset::east_opt(offset_minutes * 60).unwrap();
        let utc = DateTime::from_timestamp(seconds, nanoseconds).unwrap();
        let local = utc.with_timezone(&zone).naive_local();
        let date = format!("{:04}-{:02}-{:02}", local.year(), local.month(), local.day());
        let time = format!("{:02}:{:02}:{:02}{}", local.hour(), local.minute(), local.second(), fraction(nanoseconds));
        let sign = if offset_minutes < 0 { '-' } else { '+' };
        let (hours, minutes) = (offset_minutes.abs() / 60, offset_minutes.abs() % 60);
        let text = format!("{date}{separator}{time}{sign}{hours:02}:{minutes:02}");
        prop_assert_eq!(looks_like_timestamp(text.as_bytes()), Some(true));
        let without = format!("{date}{separator}{time}");
        prop_assert_eq!(looks_like_timestamp(without.as_bytes()), Some(false));
        for unit in UNITS {
            let per_second = i128::from(unit.per_second());
            let step = u32::try_from(1_000_000_000 / per_second).unwrap();
            let expected = |seconds: i64, had_offset| {
                if !nanoseconds.is_multiple_of(step) {
                    return Err(TextError::Inexact);
                }
                let value = i128::from(seconds) * per_second + i128::from(nanoseconds / step);
                let value = i64::try_from(value).map_err(|_| TextError::Range)?;
                Ok(ParsedTimestamp { value, had_offset })
            };
            prop_assert_eq!(parse_timestamp(text.as_bytes(), unit), expected(seconds, true));
            let local_seconds = local.and_utc().timestamp();
            prop_assert_eq!(parse_timestamp(without.as_bytes(), unit), expected(local_seconds, false));
            let of_day = i64::from(local.num_seconds_from_midnight());
            prop_assert_eq!(parse_time(time.as_bytes(), unit), expected(of_day, false).map(|t| t.value));
        }
    }

    /// Random text of valid characters: accepted only if chrono parses the same value.
    #[test]
    fn nearly_times(text in "[0-2][0-9]:[0-6][0-9](:[0-6][0-9](\\.[0-9]{0,10})?)?[0-9:]?") {
        if let Ok(value) = parse_time(text.as_bytes(), TimeUnit::Nanosecond) {
            let format = if text.len() == 5 { "%H:%M" } else { "%H:%M:%S%.f" };
            let time = NaiveTime::parse_from_str(&text, format).unwrap();
            let since = time.signed_duration_since(NaiveTime::MIN) + TimeDelta::zero();
            prop_assert_eq!(Some(value), since.num_nanoseconds());
        }
    }

    #[test]
    fn any_text(bytes in proptest::collection::vec(any::<u8>(), 0..60), ascii in "[0-9TZ:.+PDHMS-]{0,40}") {
        for text in [&bytes[..], ascii.as_bytes()] {
            for unit in UNITS {
                let found = parse_timestamp(text, unit);
                prop_assert!(found.is_err() || text[..10].iter().all(|b| b"0123456789-".contains(b)));
                prop_assert!(parse_time(text, unit).is_err() || text.contains(&b':'));
                prop_assert!(parse_duration(text, unit).is_err() || text.contains(&b'P'));
            }
        }
    }

    #[test]
    fn durations_by_part(days in 0i64..100_000, hours in 0i64..100, minutes in 0i64..1000, seconds in 0i64..100_000,
        nanoseconds in 0u32..1_000_000_000, negative: bool) {
        let text = format!("P{days}DT{hours}H{minutes}M{seconds}{}S", fraction(nanoseconds));
        let total = ((days * 24 + hours) * 60 + minutes) * 60 + seconds;
        let total = i128::from(total) * 1_000_000_000 + i128::from(nanoseconds);
        let (sign, total) = if negative { ("-", -total) } else { ("", total) };
        let got = parse_duration(format!("{sign}{text}").as_bytes(), TimeUnit::Nanosecond);
        prop_assert_eq!(got.ok(), i64::try_from(total).ok());
    }

    #[test]
    fn binary_round_trip(bytes: Vec<u8>, upper: bool) {
        let mut out = Vec::new();
        let hex: String = bytes.iter().map(|b| if upper { format!("{b:02X}") } else { format!("{b:02x}") }).collect();
        prop_assert_eq!(decode_hex(hex.as_bytes(), &mut out), Ok(()));
        prop_assert_eq!(&out, &bytes);
        use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
        for engine in [STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD] {
            out.clear();
            prop_assert_eq!(decode_base64(engine.encode(&bytes).as_bytes(), &mut out), Ok(()));
            prop_assert_eq!(&out, &bytes);
        }
    }
}
