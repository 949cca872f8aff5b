// SPDX-License-Identifier: Apache-2.0
//! Pins the output of the generators: first records, checksums, and a check of every record against
//! its schema with serde_json.

use std::collections::BTreeSet;

use arrow_schema::{DataType, Fields};
use serde_json::Value;

use super::*;

fn generate(workload: Workload, layout: Layout, bytes: usize) -> Vec<u8> {
    let mut text = Vec::new();
    let mut generator = Generator::new(workload, 42, 64).with_layout(layout);
    let records = generator.fill(bytes, &mut text);
    assert!(records > 0 && text.len() >= bytes && text.ends_with(b"\n"));
    text
}

/// FNV-1a, 64 bits.
fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash: u64, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Whether `data_type` can represent a value without loss.
fn fits(value: Option<&Value>, data_type: &DataType, nullable: bool) -> bool {
    let value = match value {
        None | Some(Value::Null) => return nullable,
        Some(value) => value,
    };
    match (data_type, value) {
        (DataType::UInt64, Value::Number(n)) => n.is_u64(),
        (DataType::Int64, Value::Number(n)) => n.is_i64(),
        (DataType::Int32, Value::Number(n)) => n.as_i64().is_some_and(|n| i32::try_from(n).is_ok()),
        (DataType::Float64, Value::Number(n)) => n.is_f64(),
        (DataType::Boolean, Value::Bool(_)) | (DataType::Utf8, Value::String(_)) => true,
        (DataType::Date32, Value::String(s)) => shape(s) == "0000-00-00",
        (DataType::Timestamp(_, None), Value::String(s)) => shape(s) == "0000-00-00T00:00:00",
        (DataType::Timestamp(_, Some(_)), Value::String(s)) => {
            shape(s) == "0000-00-00T00:00:00.000000Z"
        }
        (DataType::List(item), Value::Array(items)) => {
            items.iter().all(|v| fits(Some(v), item.data_type(), item.is_nullable()))
        }
        (DataType::FixedSizeList(item, size), Value::Array(items)) => {
            usize::try_from(*size) == Ok(items.len())
                && items.iter().all(|v| fits(Some(v), item.data_type(), item.is_nullable()))
        }
        (DataType::Struct(fields), Value::Object(_)) => object_fits(value, fields),
        _ => false,
    }
}

fn object_fits(object: &Value, fields: &Fields) -> bool {
    fields.iter().all(|f| fits(object.get(f.name()), f.data_type(), f.is_nullable()))
}

fn shape(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect()
}

#[test]
fn every_record_parses_and_fits_its_schema() {
    for workload in Workload::ALL {
        let schema = workload.schema();
        for layout in [Layout::Compact, Layout::Spaced] {
            let text = String::from_utf8(generate(workload, layout, 300_000)).unwrap();
            for line in text.lines() {
                let record: Value = serde_json::from_str(line).unwrap();
                assert!(object_fits(&record, schema.fields()), "{workload}: {line}");
            }
        }
    }
}

#[test]
fn layouts_hold_the_same_values() {
    for workload in Workload::ALL {
        let records = |layout| {
            let mut text = Vec::new();
            let mut generator = Generator::new(workload, 7, 5).with_layout(layout);
            (0..200).for_each(|_| generator.next_record(&mut text));
            let values = serde_json::Deserializer::from_slice(&text).into_iter::<Value>();
            values.collect::<Result<Vec<_>, _>>().unwrap()
        };
        assert_eq!(records(Layout::Compact).len(), 200);
        assert_eq!(records(Layout::Compact), records(Layout::Spaced));
        assert_eq!(records(Layout::Compact), records(Layout::Pretty));
    }
}

#[test]
fn layouts_differ_in_white_space_as_documented() {
    let record = |layout| {
        let mut text = Vec::new();
        Generator::new(Workload::Battery, 0, 2).with_layout(layout).next_record(&mut text);
        String::from_utf8(text).unwrap()
    };
    assert_eq!(record(Layout::Compact), "{\"voltage\":[883,54]}\n");
    assert_eq!(record(Layout::Spaced), "{\"voltage\": [883, 54]}\n");
    assert_eq!(record(Layout::Pretty), "{\n  \"voltage\": [\n    883,\n    54\n  ]\n}\n");
}

#[test]
fn first_records_never_change() {
    let records = Workload::ALL.map(|workload| {
        let mut text = Vec::new();
        Generator::new(workload, 42, 8).next_record(&mut text);
        String::from_utf8(text).unwrap()
    });
    assert_eq!(records.concat(), FIRST_RECORDS);
}

#[test]
fn a_mebibyte_never_changes() {
    let sums = Workload::ALL.map(|workload| {
        let text = generate(workload, Layout::Compact, 1 << 20);
        format!("{workload} {} {:016x}", text.len(), checksum(&text))
    });
    assert_eq!(sums, MEBIBYTES);
}

#[test]
fn random_numbers_are_those_of_the_published_algorithm() {
    let mut rng = SplitMix64::new(0);
    assert_eq!(rng.next_u64(), 0xE220_A839_7B1D_CDAF);
    assert_eq!(rng.next_u64(), 0x6E78_9E6A_A1B9_65F4);
    assert_eq!(rng.between(9, 3), 9);
}

#[test]
fn other_seeds_give_other_bytes() {
    for workload in Workload::ALL {
        let text = |seed| {
            let mut text = Vec::new();
            Generator::new(workload, seed, 64).fill(10_000, &mut text);
            text
        };
        assert_eq!(text(1), text(1));
        assert_ne!(text(1), text(2));
    }
}

#[test]
fn battery_keeps_its_ranges_and_reaches_their_ends() {
    for (values_max, expected) in [(0, 1), (1, 1), (8, 8)] {
        let mut text = Vec::new();
        Generator::new(Workload::Battery, 1, values_max).fill(500_000, &mut text);
        let mut lengths = BTreeSet::new();
        let mut values = BTreeSet::new();
        for line in String::from_utf8(text).unwrap().lines() {
            let record: Value = serde_json::from_str(line).unwrap();
            let items = record["voltage"].as_array().unwrap();
            lengths.insert(items.len());
            values.extend(items.iter().map(|v| v.as_u64().unwrap()));
        }
        assert_eq!(lengths, (1..=expected).collect());
        assert_eq!((values.first(), values.last()), (Some(&0), Some(&2046)));
    }
}

#[test]
fn whole_range_workloads_use_the_top_bit() {
    for workload in [Workload::BatteryU64, Workload::TripU64] {
        let text = String::from_utf8(generate(workload, Layout::Compact, 10_000)).unwrap();
        let numbers = text.split(|c: char| !c.is_ascii_digit()).filter_map(|n| n.parse().ok());
        assert!(numbers.into_iter().any(|n: u64| n > u64::MAX / 2));
    }
}

#[test]
fn logs_have_what_they_promise() {
    let text = String::from_utf8(generate(Workload::Logs, Layout::Compact, 1 << 20)).unwrap();
    for wanted in [
        "\\n",
        "\\\"",
        "\\\\",
        "\\u00e9",
        "\\uD83D\\uDE80",
        "\\/",
        "\u{1f600}",
        "\u{6771}",
        "\"err\":null",
        "\"user\":null",
        "\"bytes\":null",
        "\"debug\":{",
        "\"tags\":[]",
        "\"seq\":-",
    ] {
        assert!(text.contains(wanted), "{wanted}");
    }
    assert!(text.lines().any(|line| !line.contains("\"trace_id\"")));
}

#[test]
fn mixed_records_differ_as_documented() {
    fn records(workload: Workload) -> Vec<Vec<String>> {
        let text = String::from_utf8(generate(workload, Layout::Compact, 1 << 20)).unwrap();
        let is_key = |text: &&str| mixed::KEYS.iter().any(|key| key == text);
        let keys = |line: &str| -> Vec<String> {
            let strings = line.split('"').skip(1).step_by(2);
            strings.filter(is_key).map(str::to_owned).collect()
        };
        text.lines().map(keys).collect()
    }
    let shapes = |records: &[Vec<String>]| records.iter().collect::<BTreeSet<_>>().len();
    let sorted = |record: &Vec<String>| {
        let place = |key: &String| mixed::KEYS.iter().position(|k| k == key);
        record.is_sorted_by_key(place)
    };
    let uniform = records(Workload::MixedUniform);
    assert!(shapes(&uniform) == 1 && uniform[0].len() == 40);
    let subsets = records(Workload::MixedSubsets);
    assert!(subsets.iter().all(sorted) && shapes(&subsets) > subsets.len() * 9 / 10);
    let orders = records(Workload::MixedOrders);
    assert!(shapes(&orders) == orders.len() && orders.iter().all(|keys| keys.len() == 40));
    let kinds = records(Workload::MixedKinds);
    assert!(shapes(&kinds) == 8 && kinds.iter().all(|keys| keys.len() == 15));
    let changes = |records: &[Vec<String>]| records.windows(2).filter(|w| w[0] != w[1]).count();
    assert!(changes(&kinds) > kinds.len() / 2);
    let bursts = records(Workload::MixedBursts);
    assert!(shapes(&bursts) == 3 && changes(&bursts) < bursts.len() / 40);
    let many = records(Workload::MixedKeys200);
    assert!(many.iter().all(|keys| keys.len() == 30));
    assert_eq!(many.iter().flatten().collect::<BTreeSet<_>>().len(), 200);
    let unknown: Vec<String> = records(Workload::MixedUnknown).concat();
    let schema = Workload::MixedUnknown.schema();
    let known = unknown.iter().filter(|key| schema.field_with_name(key).is_ok()).count();
    assert!((unknown.len() * 2 / 5..unknown.len() * 3 / 5).contains(&known));
}

#[test]
fn names_round_trip_and_unknown_ones_are_explained() {
    for workload in Workload::ALL {
        assert_eq!(workload.to_string().parse(), Ok(workload));
    }
    let error = "nope".parse::<Workload>().unwrap_err().to_string();
    assert!(error.starts_with("unknown workload \"nope\"; there are battery, battery-u64,"));
}

/// One record of each workload, seed 42, at most 8 values.
const FIRST_RECORDS: &str = include_str!("tests/first_records.jsonl");

/// Name, length and FNV-1a of the first mebibyte, seed 42, at most 64 values.
const MEBIBYTES: [&str; 16] = [
    "battery 1048751 879e3ef35461f30c",
    "battery-u64 1049127 044cb9b6a1d81018",
    "trip 1048996 18fbc11de817d0a0",
    "trip-u64 1049056 171ad61cad981ae8",
    "trip-full 1048664 785f10d433870b0b",
    "logs 1048770 85e8e9b2a53d91d4",
    "lineitem 1048910 d1f8f0fefa35cae2",
    "taxi 1048972 13cf5febecc5fee1",
    "mixed-uniform 1048758 f166a93f4790b0f7",
    "mixed-subsets 1048814 fde89ea37d8d64d5",
    "mixed-orders 1049251 a6cfe277387bd2b2",
    "mixed-kinds 1048941 5c26726a9bd740de",
    "mixed-bursts 1048806 377032f63b48e051",
    "mixed-unknown 1048767 db1a6f87a25594c7",
    "mixed-keys-200 1049125 6e7a600638149bf3",
    "mixed-nested 1048590 391eda31ae1a2a7c",
];
