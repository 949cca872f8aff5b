// SPDX-License-Identifier: Apache-2.0
//! The table itself: names, values, defaults, and what is refused.

use std::collections::BTreeSet;

use arrowsmith_core::{DecodeOptions, Error, Limits};

use super::*;
use crate::parquet::ReadOptions;

#[test]
fn names_are_one_each_and_described() {
    for table in [JSON, PARQUET] {
        let names: BTreeSet<&str> = table.iter().map(|option| option.name).collect();
        let flags: BTreeSet<String> = table.iter().map(OptionInfo::flag).collect();
        assert_eq!((names.len(), flags.len()), (table.len(), table.len()));
        for option in table {
            assert!(option.name.chars().all(|c| c.is_ascii_lowercase() || c == '_'));
            assert!(option.help().len() > 10, "{}", option.name);
            assert!(!option.help().ends_with('.'), "{}", option.name);
        }
    }
    // What both formats have is the same for both.
    for json in JSON {
        for parquet in PARQUET.iter().filter(|parquet| parquet.name == json.name) {
            let parts = |option: &OptionInfo| {
                (option.help(), option.flag(), format!("{:?}", option.kind), option.default())
            };
            assert_eq!(parts(json), parts(parquet));
        }
    }
}

#[test]
fn every_value_arrives_and_the_default_comes_back() {
    let (json, parquet) = (JsonReadOptions::default(), ParquetReadOptions::default());
    for option in JSON {
        for (_, value) in option.kind.examples() {
            let mut options = JsonReadOptions::default();
            options.set(option.name, value.clone()).unwrap();
            assert_eq!(options.get(option.name), Some(value));
            options.set(option.name, Value::Default).unwrap();
            assert_eq!(options, json, "{}", option.name);
        }
        assert_eq!(json.get(option.name), Some(option.default()));
    }
    for option in PARQUET {
        for (_, value) in option.kind.examples() {
            let mut options = ParquetReadOptions::default();
            options.set(option.name, value.clone()).unwrap();
            assert_eq!(options.get(option.name), Some(value));
            options.set(option.name, Value::Default).unwrap();
            assert_eq!(options, parquet, "{}", option.name);
        }
        assert_eq!(parquet.get(option.name), Some(option.default()));
    }
    assert_eq!(json.get("nothing"), None);
}

/// The defaults of the steps that read are those of the table, so that an option which is set here
/// and forgotten there, or the other way round, is found.
#[test]
fn defaults_are_those_of_the_steps() {
    let json = JsonReadOptions::default();
    assert_eq!(json.decode(), DecodeOptions::default());
    let (sampling, default) = (json.sampling(), crate::json::SampleOptions::default());
    assert_eq!(format!("{sampling:?}"), format!("{default:?}"));
    let parquet = ParquetReadOptions::default();
    assert_eq!((parquet.read(), parquet.limits()), (ReadOptions::default(), Limits::default()));
}

#[test]
fn texts_of_the_command_line_are_parsed() {
    let find = |name: &str| JSON.iter().chain(PARQUET).find(|option| option.name == name).unwrap();
    for (name, text) in [
        ("threads", "0"),
        ("threads", "65536"),
        ("threads", "two"),
        ("batch_rows", "-1"),
        ("infer_records", "0"),
        ("infer_records", "some"),
        ("memory_bytes_max", "much"),
        ("on_error", "stop"),
        ("row_groups", "0,x"),
        ("row_groups", "-1"),
    ] {
        assert!(find(name).kind.parse(text).is_err(), "{name} {text}");
    }
    let list = |texts: [&str; 2]| Value::List(texts.map(|text| Value::Text(text.into())).to_vec());
    assert_eq!(find("columns").kind.parse("a,b.c"), Ok(list(["a", "b.c"])));
    assert_eq!(find("format").kind.parse("jsonl"), Ok(Value::Text("ndjson".to_owned())));
    assert_eq!(find("memory_bytes_max").default_text().as_deref(), Some("256MiB"));
    assert_eq!(find("page_bytes_max").default_text().as_deref(), Some("2147483647"));
    assert_eq!(find("threads").default_text(), None);
}

#[test]
fn what_is_refused_changes_nothing() {
    let mut options = JsonReadOptions::default();
    let text = |text: &str| Value::Text(text.to_owned());
    assert!(matches!(options.set("thread", text("1")), Err(Refused::Unknown(_))));
    assert!(matches!(options.set("threads", text("1")), Err(Refused::Type(_))));
    assert!(matches!(options.set("threads", Value::Integer(0)), Err(Refused::Value(_))));
    assert!(matches!(options.set("depth_max", Value::Integer(1 << 100)), Err(Refused::Value(_))));
    assert!(matches!(options.set("depth_max", Value::Integer(-1)), Err(Refused::Value(_))));
    assert!(matches!(options.set("depth_max", Value::Integer(1025)), Err(Refused::Value(_))));
    assert!(matches!(options.set("row_bytes_max", Value::Integer(-1)), Err(Refused::Value(_))));
    assert!(matches!(options.set("columns", text("a")), Err(Refused::Type(_))));
    assert!(matches!(options.set("schema", text("a: int65")), Err(Refused::Failed(_))));
    assert!(matches!(
        options.set("trust", Value::Other("an object".into())),
        Err(Refused::Type(_))
    ));
    assert_eq!(options, JsonReadOptions::default());
    let error = Error::from(options.set("Threads", Value::Flag(true)).unwrap_err());
    let expected =
        "there is no option \"Threads\" (did you mean \"threads\"?); there are: columns,";
    assert!(error.to_string().contains(expected), "{error}");
}

#[test]
fn the_nearest_name_is_meant() {
    let names = ["threads", "on_error", "infer_records"];
    for (name, meant) in [
        ("thread", Some("threads")),
        ("onError", Some("on_error")),
        ("on-errors", Some("on_error")),
        ("inferRecord", Some("infer_records")),
        ("rows", None),
        ("", None),
    ] {
        assert_eq!(nearest(name, &names), meant, "{name}");
    }
    assert_eq!(nearest("a", &[]), None);
    assert_eq!((distance("kitten", "sitting"), distance("", "ab"), distance("ab", "")), (3, 2, 2));
}
