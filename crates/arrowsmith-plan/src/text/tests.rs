// SPDX-License-Identifier: Apache-2.0
//! The schema text: round trips of every type, accepted spellings, and error messages.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::{DataType as T, Field, Fields, IntervalUnit, Schema, TimeUnit, UnionFields};
use arrow_schema::{UnionMode, extension::Json};

use super::{format_schema, format_type, parse_schema};
use crate::plan::{ENCODING_METADATA_KEY, ROOT_METADATA_KEY};

/// Writes a schema of one column and reads it again; returns the line.
fn line(field: Field) -> String {
    let schema = Schema::new(vec![field]);
    let text = format_schema(&schema);
    assert_eq!(parse_schema(&text).unwrap(), schema, "{text}");
    text.trim_end().to_owned()
}

fn line_of(data_type: T) -> String {
    line(Field::new("c", data_type, true))
}

fn item(data_type: T) -> Arc<Field> {
    Arc::new(Field::new("item", data_type, true))
}

#[test]
fn simple_types_are_their_names() {
    for (name, data_type) in super::types::SIMPLE {
        assert_eq!(line_of(data_type.clone()), format!("c: {name}"));
        assert_eq!(format_type(data_type), *name);
    }
}

#[test]
fn types_with_arguments() {
    let cases = [
        (T::Decimal32(9, 2), "decimal32(9, 2)"),
        (T::Decimal64(18, 0), "decimal64(18, 0)"),
        (T::Decimal128(10, 2), "decimal128(10, 2)"),
        (T::Decimal256(76, -3), "decimal256(76, -3)"),
        (T::FixedSizeBinary(16), "fixed_size_binary(16)"),
        (T::Time32(TimeUnit::Second), "time32(s)"),
        (T::Time32(TimeUnit::Millisecond), "time32(ms)"),
        (T::Time64(TimeUnit::Microsecond), "time64(us)"),
        (T::Time64(TimeUnit::Nanosecond), "time64(ns)"),
        (T::Duration(TimeUnit::Millisecond), "duration(ms)"),
        (T::Interval(IntervalUnit::MonthDayNano), "interval(month_day_nano)"),
        (T::Timestamp(TimeUnit::Second, None), "timestamp(s)"),
        (T::Timestamp(TimeUnit::Nanosecond, Some("UTC".into())), "timestamp(ns, \"UTC\")"),
        (T::Timestamp(TimeUnit::Microsecond, Some("a\"\\".into())), r#"timestamp(us, "a\"\\")"#),
        (T::Dictionary(Box::new(T::Int32), Box::new(T::Utf8)), "dictionary<int32, utf8>"),
    ];
    for (data_type, text) in cases {
        assert_eq!(line_of(data_type), format!("c: {text}"));
    }
}

#[test]
fn nested_types() {
    let entries = |key: &str, value: &str| {
        let key = Field::new(key, T::Utf8, false);
        Field::new_struct("entries", vec![key, Field::new(value, T::Int64, true)], false)
    };
    let cases = [
        (T::List(item(T::Int8)), "list<int8>"),
        (T::LargeList(Arc::new(Field::new("item", T::Int8, false))), "large_list<int8 not null>"),
        (T::List(Arc::new(Field::new("element", T::Int8, true))), "list<element: int8>"),
        (T::ListView(item(T::Utf8)), "list_view<utf8>"),
        (T::LargeListView(item(T::Utf8)), "large_list_view<utf8>"),
        (T::FixedSizeList(item(T::Float16), 3), "fixed_size_list<float16, 3>"),
        (T::List(item(T::List(item(T::Null)))), "list<list<null>>"),
        (T::Struct(Fields::empty()), "struct<>"),
        (
            T::Struct(
                vec![Field::new("a", T::Int8, true), Field::new("b c", T::Utf8, false)].into(),
            ),
            "struct<a: int8, \"b c\": utf8 not null>",
        ),
        (T::Map(Arc::new(entries("key", "value")), false), "map<utf8, int64>"),
        (T::Map(Arc::new(entries("key", "value")), true), "map<utf8, int64, sorted>"),
        (T::Map(Arc::new(entries("keys", "values")), false), "map<keys: utf8, values: int64>"),
        (
            T::Map(Arc::new(entries("key", "value").with_name("key_value")), true),
            "map<utf8, int64, sorted, entries key_value>",
        ),
        (
            T::Map(Arc::new(entries("key", "value").with_nullable(true)), false),
            "map<utf8, int64, entries entries null>",
        ),
        (
            T::RunEndEncoded(Arc::new(Field::new("run_ends", T::Int32, false)), item(T::Utf8)),
            "run_end_encoded<run_ends: int32 not null, item: utf8>",
        ),
        (
            T::Union(
                UnionFields::try_new(
                    vec![5, 7],
                    vec![Field::new("a", T::Int8, true), Field::new("b", T::Utf8, true)],
                )
                .unwrap(),
                UnionMode::Dense,
            ),
            "dense_union<5 a: int8, 7 b: utf8>",
        ),
    ];
    for (data_type, text) in cases {
        assert_eq!(line_of(data_type), format!("c: {text}"));
    }
}

#[test]
fn fields_say_null_encoding_json_and_other_metadata() {
    let with = |field: Field, pairs: &[(&str, &str)]| {
        let metadata: HashMap<_, _> =
            pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        field.with_metadata(metadata)
    };
    assert_eq!(line(Field::new("c", T::Int8, false)), "c: int8 not null");
    assert_eq!(
        line(with(Field::new("c", T::FixedSizeBinary(2), true), &[(ENCODING_METADATA_KEY, "hex")])),
        "c: fixed_size_binary(2) encoding hex"
    );
    assert_eq!(
        line(with(Field::new("c", T::Binary, false), &[(ENCODING_METADATA_KEY, "base64")])),
        "c: binary not null encoding base64"
    );
    assert_eq!(
        line(with(Field::new("c", T::Binary, false), &[(ENCODING_METADATA_KEY, "b64"), ("k", "")])),
        r#"c: binary not null metadata {"arrowsmith:encoding" = "b64", "k" = ""}"#
    );
    let json = [("ARROW:extension:name", "arrow.json")];
    assert_eq!(line(with(Field::new("c", T::Utf8, true), &json)), "c: json");
    assert_eq!(line(with(Field::new("c", T::LargeUtf8, true), &json)), "c: large_json");
    assert_eq!(line(with(Field::new("c", T::Utf8View, true), &json)), "c: json_view");
    let dictionary = T::Dictionary(Box::new(T::Int8), Box::new(T::Utf8));
    assert_eq!(line(with(Field::new("c", dictionary, true), &json)), "c: dictionary<int8, json>");
    assert_eq!(
        line(with(Field::new("c", T::Int8, true), &json)),
        r#"c: int8 metadata {"ARROW:extension:name" = "arrow.json"}"#
    );
    // arrow-rs writes the extension with metadata of its own.
    let text = line(Field::new("c", T::Utf8, true).with_extension_type(Json::default()));
    assert!(text.starts_with("c: json"), "{text}");
    let list = T::List(Arc::new(with(Field::new("item", T::Utf8, false), &json)));
    assert_eq!(line_of(list), "c: list<json not null>");
    // Unusual, but a valid schema.
    let key = Field::new("key", T::Utf8, true);
    let entries =
        Field::new_struct("entries", vec![key, Field::new("value", T::Utf8, true)], false);
    let entries = with(entries, &[("a", "b")]);
    assert_eq!(
        line_of(T::Map(Arc::new(entries), false)),
        r#"c: map<utf8 null, utf8, entries entries metadata {"a" = "b"}>"#
    );
}

#[test]
fn names_of_any_text() {
    let names = [
        "",
        " ",
        "a b",
        "1a",
        "a.b",
        "a:b",
        "ü",
        "日本",
        "\"",
        "\\",
        "\n\r\t\0\u{7f}\u{85}",
        "#",
        "😀",
    ];
    for name in names {
        assert!(line(Field::new(name, T::Int8, true)).starts_with('"'), "{name:?}");
    }
    for name in ["root", "metadata", "not", "null", "encoding", "_", "list", "a1"] {
        assert_eq!(line(Field::new(name, T::Int8, true)), format!("{name}: int8"));
    }
}

#[test]
fn schema_metadata_and_roots() {
    let column = || vec![Field::new("value", T::Int8, true)];
    let root = HashMap::from([(ROOT_METADATA_KEY.to_owned(), "value".to_owned())]);
    let schema = Schema::new_with_metadata(column(), root);
    assert_eq!(format_schema(&schema), "root value\nvalue: int8\n");
    assert_eq!(parse_schema("root value, value: int8").unwrap(), schema);
    let metadata = HashMap::from([
        ("b".to_owned(), "x\ny".to_owned()),
        (ROOT_METADATA_KEY.to_owned(), "other".to_owned()),
    ]);
    let schema = Schema::new_with_metadata(column(), metadata);
    let text =
        "metadata \"arrowsmith:root\" = \"other\"\nmetadata \"b\" = \"x\\ny\"\nvalue: int8\n";
    assert_eq!(format_schema(&schema), text);
    assert_eq!(parse_schema(text).unwrap(), schema);
    let none = Schema::empty();
    assert_eq!(format_schema(&none), "# no columns\n");
    assert_eq!(parse_schema(&format_schema(&none)).unwrap(), none);
}

#[test]
fn people_write_freely() {
    let expected = Schema::new(vec![
        Field::new("a", T::Int64, true),
        Field::new("b.c", T::Utf8, false),
        Field::new("d", T::Struct(vec![Field::new("e", T::Float64, true)].into()), true),
        Field::new("f-1", T::Boolean, true),
    ]);
    let texts = [
        "a: int64, b.c: utf8 not null, d: struct<e: float64>, f-1: bool",
        "a:int,b.c:string not null,d:struct<e:double>,f-1:boolean",
        "\u{feff}# header\r\na: Int64 # note\r\n\r\nb.c: Utf8 not null,\r\nd: struct<\n  e: Float64, # deep\n>,\nf-1: BOOLEAN\r\n",
        r#""a": int64, "b\u002ec": utf8 not null, "d": struct< "e" : float64 , >, "f-1": bool ,"#,
    ];
    for text in texts {
        assert_eq!(parse_schema(text).unwrap(), expected, "{text}");
    }
    assert_eq!(
        parse_schema("\"\\uD83D\\uDE00\\b\\f\\/\": int8").unwrap(),
        Schema::new(vec![Field::new("😀\u{8}\u{c}/", T::Int8, true)])
    );
}

#[test]
fn types_have_the_names_of_other_systems() {
    let texts = [
        (
            "a: tinyint, b: smallint, c: INTEGER, d: bigint, e: long, f: short, g: byte",
            "a: int8, b: int16, c: int64, d: int64, e: int64, f: int16, g: int8",
        ),
        (
            "a: varchar, b: char, c: text, d: str, e: String",
            "a: utf8, b: utf8, c: utf8, d: utf8, e: utf8",
        ),
        (
            "a: blob, b: bytes, c: varbinary, d: double",
            "a: binary, b: binary, c: binary, d: float64",
        ),
        (
            "a: datetime, b: datetime64[us], c: datetime64[ns, UTC], d: datetime64[s, \"+02:00\"]",
            "a: timestamp(us), b: timestamp(us), c: timestamp(ns, \"UTC\"), d: timestamp(s, \"+02:00\")",
        ),
        ("a: timedelta64[ms], b: Int64, c: boolean", "a: duration(ms), b: int64, c: bool"),
    ];
    for (text, ours) in texts {
        assert_eq!(parse_schema(text).unwrap(), parse_schema(ours).unwrap(), "{text}");
    }
    for text in ["a: datetime64", "a: datetime64[d]", "a: datetime64[us", "a: timedelta64[us, UTC]"]
    {
        assert!(parse_schema(text).is_err(), "{text}");
    }
}

#[test]
fn errors_say_where_and_what() {
    let cases = [
        ("a int64", "line 1, column 3: expected ':', found 'int64'"),
        (
            "a: int64\nb: in64",
            "line 2, column 4: expected a type (int64, float64, utf8, bool, timestamp(us), list<…>, struct<…>, json, …), found 'in64'",
        ),
        (
            "a: float",
            "line 1, column 4: expected a type, found 'float', which is float32 to some and float64 to others",
        ),
        (
            "a: decimal(3, 1)",
            "line 1, column 4: expected a type, found 'decimal': decimal128 or decimal256?",
        ),
        ("a:\nint8", "line 1, column 3: expected a type, found end of line"),
        ("a: list<int8", "line 1, column 13: expected '>', found end of text"),
        ("a: list int8", "line 1, column 9: expected '<', found 'int8'"),
        (
            "a: int8 nul",
            "line 1, column 9: expected end of line, ',', 'not null', 'scalars', 'nulls', 'format', \
             'epoch', 'encoding' or 'metadata', found 'nul'",
        ),
        ("a: int8 not nul", "line 1, column 13: expected 'null' after 'not', found 'nul'"),
        (
            "a: int8 b: int8",
            "line 1, column 9: expected end of line, ',', 'not null', 'scalars', 'nulls', 'format', \
             'epoch', 'encoding' or 'metadata', found 'b'",
        ),
        (
            "a: binary encoding b64",
            "line 1, column 20: expected an encoding: base64, hex, found 'b64'",
        ),
        ("a: time32(us)", "line 1, column 11: expected a unit: s, ms, found 'us'"),
        ("a: timestamp", "line 1, column 13: expected '(', found end of text"),
        (
            "a: timestamp(us, UTC)",
            "line 1, column 18: expected a zone in quotes: \"UTC\", \"+02:00\", …, found 'UTC'",
        ),
        ("a: decimal128(39, 0)", "line 1, column 15: expected 1 to 38 digits in all, found 39"),
        (
            "a: decimal128(3, 4)",
            "line 1, column 18: expected at most 3 digits after the point, found 4",
        ),
        ("a: decimal128(x, 4)", "line 1, column 15: expected a precision, in digits, found 'x'"),
        (
            "a: fixed_size_binary(-1)",
            "line 1, column 22: expected a length, found a negative number",
        ),
        ("a: fixed_size_list<int8>", "line 1, column 24: expected ',', found '>'"),
        (
            "a: dictionary<utf8, utf8>",
            "line 1, column 15: expected an integer type for the keys of a dictionary",
        ),
        ("a: map<utf8>", "line 1, column 12: expected ',', found '>'"),
        ("a: map<utf8, utf8, x>", "line 1, column 20: expected 'sorted' or 'entries', found 'x'"),
        ("a: struct<int8>", "line 1, column 15: expected ':', found '>'"),
        (
            "root object",
            "line 1, column 6: expected 'value' after 'root' (or ':' and a type), found 'object'",
        ),
        ("'a': int8", "line 1, column 1: expected a column, 'name: type', found '''"),
        ("\"a: int8", "line 1, column 1: expected a closing '\"' on this line"),
        (
            "x: int8, \"\\q\": int8",
            "line 1, column 11: expected an escape of JSON: \\\" \\\\ \\/ \\b \\f \\n \\r \\t \\uXXXX",
        ),
        (
            "\"\\ud800\": int8",
            "line 1, column 2: expected an escape of JSON: \\\" \\\\ \\/ \\b \\f \\n \\r \\t \\uXXXX",
        ),
        ("a: sparse_union<0 a: int8, 0 b: int8>", "line 1, column 16: "),
    ];
    for (text, expected) in cases {
        let message = parse_schema(text).unwrap_err().to_string();
        assert!(message.starts_with(&format!("schema: {expected}")), "{text:?}: {message}");
    }
    let deep = format!("a: {}int8{}", "list<".repeat(200), ">".repeat(200));
    let message = parse_schema(&deep).unwrap_err().to_string();
    assert!(message.contains("nested deeper than 128"), "{message}");
    let deep = format!("a: {}int8{}", "list<".repeat(100), ">".repeat(100));
    let schema = parse_schema(&deep).unwrap();
    assert_eq!(format_schema(&schema), format!("{deep}\n"));
}
