// SPDX-License-Identifier: Apache-2.0
//! The schemas inferred from records.

use arrowsmith_core::{Chunk, ErrorKind, Framing, Limits, Position};
use arrowsmith_plan::text::format_schema;

use super::{InferOptions, Inferrer, Watch};

fn schema(records: &str, options: InferOptions) -> String {
    let mut inferrer = Inferrer::new(options);
    let observed = inferrer.observe(&Chunk::new(records.as_bytes(), Framing::Lines)).unwrap();
    assert!(observed.complete);
    format_schema(&inferrer.finish().unwrap())
}

/// The types of columns, in one line.
fn infer(records: &str) -> String {
    schema(records, InferOptions::default()).trim_end().replace('\n', ", ")
}

/// The type of a column of these values.
fn column(values: &[&str]) -> String {
    typed(values, InferOptions::default())
}

fn typed(values: &[&str], options: InferOptions) -> String {
    let records: String = values.iter().map(|value| format!("{{\"a\":{value}}}\n")).collect();
    let text = schema(&records, options);
    text.trim_end().strip_prefix("a: ").unwrap().to_owned()
}

#[test]
fn scalars() {
    assert_eq!(column(&["true", "false", "null"]), "bool");
    assert_eq!(column(&["1", "-0", "9223372036854775807", "-9223372036854775808"]), "int64");
    assert_eq!(column(&["1", "9223372036854775808"]), "uint64");
    assert_eq!(column(&["18446744073709551615", "0"]), "uint64");
    assert_eq!(column(&["-1", "9223372036854775808"]), "float64");
    assert_eq!(column(&["18446744073709551616"]), "float64");
    assert_eq!(column(&["-9223372036854775809"]), "json", "a float64 would round it");
    assert_eq!(column(&["100000000000000000000"]), "float64");
    assert_eq!(column(&["100000000000000000001"]), "json");
    assert_eq!(column(&["9007199254740993", "-1"]), "int64");
    assert_eq!(column(&["9007199254740993", "0.5"]), "json");
    assert_eq!(column(&["9007199254740992", "0.5"]), "float64");
    assert_eq!(column(&["18446744073709551615", "-1"]), "json");
    assert_eq!(column(&["1", "1.0"]), "float64");
    assert_eq!(column(&["1e3"]), "float64");
    assert_eq!(column(&["1e-999"]), "float64");
    assert_eq!(column(&["1e999"]), "json", "no float64 has it");
    assert_eq!(column(&["1", &"9".repeat(400)]), "json");
    assert_eq!(column(&[r#""x""#, r#""""#, "null"]), "utf8");
    assert_eq!(column(&[r#""\ud83d\ude00 \u0041 \"""#]), "utf8");
    assert_eq!(column(&[r#""\ud83d""#]), "json", "no string has it");
    assert_eq!(column(&[r#""2024-01-01""#]), "utf8", "not by default");
}

#[test]
fn nothing_known_stays_open() {
    assert_eq!(column(&["null"]), "json");
    assert_eq!(column(&["[]"]), "list<json>");
    assert_eq!(column(&["[]", "[null]", "null"]), "list<json>");
    assert_eq!(column(&["{}"]), "json");
    assert_eq!(column(&["null", "[]", "[[]]", "[[1]]"]), "list<list<int64>>");
    assert_eq!(column(&["null", "{}", r#"{"b":null}"#]), "struct<b: json>");
}

#[test]
fn conflicts_are_kept_as_text() {
    let values = ["1", "true", "\"x\"", "[1]", "{\"b\":1}"];
    for one in values {
        for other in values {
            let expected = if one == other { column(&[one]) } else { "json".to_owned() };
            assert_eq!(column(&[one, "null", other]), expected, "{one} {other}");
        }
    }
    assert_eq!(column(&["[1,\"x\"]"]), "list<json>");
    assert_eq!(column(&[r#"{"b":1,"c":2}"#, r#"{"b":"x"}"#]), "struct<b: json, c: int64>");
}

#[test]
fn nested() {
    assert_eq!(
        infer(
            "{\"a\":[{\"x\":1},{\"y\":[2.5]}]}\n{\"b\":{\"c\":{\"d\":null}},\"a\":[null,{\"x\":-3}]}\n"
        ),
        "a: list<struct<x: int64, y: list<float64>>>, b: struct<c: struct<d: json>>"
    );
    assert_eq!(infer("{\"a\":1,\"a\":2.5,\"\\u0061\":3}"), "a: float64");
    assert_eq!(
        infer(r#"{"\"\\\/\b\f\n\r\tü\u00fc\ud83d\ude00":1}"#),
        r#""\"\\/\u0008\u000c\n\r\tüü😀": int64"#
    );
    assert_eq!(infer("{\"a\":{\"\\ud800\":1,\"b\":2}}"), "a: json", "no name has it");
    // Beyond the nesting of a plan, the rest is text.
    let deep = format!("{{\"a\":{}1{}}}", "[".repeat(100), "]".repeat(100));
    let lists = format!("a: {}json{}", "list<".repeat(29), ">".repeat(29));
    assert_eq!(infer(&deep), lists);
    let deep = format!("{{\"a\":{}1{}}}", "{\"1\":".repeat(100), "}".repeat(100));
    let maps = format!("a: {}json{}", "map<utf8, ".repeat(29), ">".repeat(29));
    assert_eq!(infer(&deep), maps);
}

#[test]
fn objects_whose_keys_are_data_are_maps() {
    assert_eq!(column(&[r#"{"138586341":1}"#, r#"{"138586345":2.5}"#]), "map<utf8, float64>");
    assert_eq!(column(&[r#"{"138586341":1,"x":1}"#]), "struct<\"138586341\": int64, x: int64>");
    assert_eq!(
        column(&[r#"{"0b9e4b1a-57a5-4c5e-a1bf-DEADBEEF0123":{"x":1}}"#]),
        "map<utf8, struct<x: int64>>"
    );
    assert_eq!(infer(r#"{"1":1,"2":2}"#), "\"1\": int64, \"2\": int64", "columns stay columns");
    let mut options = InferOptions { object_keys_max: 3, ..InferOptions::default() };
    let few = r#"{"a":1,"b":2,"c":3}"#;
    assert_eq!(typed(&[few, few], options.clone()), "struct<a: int64, b: int64, c: int64>");
    assert_eq!(
        typed(&[few, r#"{"d":-4.5,"a":null}"#, r#"{"e":5}"#], options.clone()),
        "map<utf8, float64>"
    );
    let wide = r#"{"a":1,"b":2,"c":3,"d":"x"}"#;
    assert_eq!(typed(&[wide], options.clone()), "map<utf8, json>");
    assert_eq!(
        typed(&[&format!("{{\"1\":{few},\"2\":{{\"z\":1}}}}")], options.clone()),
        "map<utf8, map<utf8, int64>>"
    );
    options.object_keys_max = 0;
    assert_eq!(typed(&["1"], options), "int64");
    // The record itself stays an object up to a very large number of columns.
    let record = |keys: usize| {
        let pairs: Vec<String> = (0..keys).map(|key| format!("\"k{key}\":1")).collect();
        format!("{{{}}}", pairs.join(","))
    };
    assert_eq!(infer(&record(2000)).matches("int64").count(), 2000);
    assert_eq!(infer(&record(40_000)), "root value, value: map<utf8, int64>");
}

#[test]
fn records_that_are_no_objects() {
    assert_eq!(infer("1\n2.5\n"), "root value, value: float64");
    assert_eq!(infer("[1]\n[]\n"), "root value, value: list<int64>");
    assert_eq!(infer("{\"a\":1}\n[1]\n"), "root value, value: json");
    assert_eq!(infer("{\"a\":1}\nnull\n"), "root value, value: struct<a: int64>");
    assert_eq!(infer("null\n"), "root value, value: json");
    assert_eq!(infer("{}\n"), "# no columns");
    assert_eq!(infer("{}\n\n \r\n{\"a\":1}\r\n"), "a: int64");
}

#[test]
fn timestamps_if_requested() {
    let times = |values: &[&str]| {
        let quoted: Vec<String> = values.iter().map(|value| format!("\"{value}\"")).collect();
        let quoted: Vec<&str> = quoted.iter().map(String::as_str).collect();
        typed(&quoted, InferOptions { timestamps: true, ..InferOptions::default() })
    };
    assert_eq!(times(&["2024-02-29", "0001-01-01"]), "date32");
    assert_eq!(times(&["2023-02-29"]), "utf8");
    assert_eq!(times(&["2024-02-29T10:11:12", "2024-02-29 10:11"]), "timestamp(us)");
    assert_eq!(times(&["2024-02-29T10:11:12.123456"]), "timestamp(us)");
    assert_eq!(times(&["2024-02-29T10:11:12.1234567", "2024-02-29T10:11:12"]), "timestamp(ns)");
    assert_eq!(times(&["2024-02-29T10:11:12.1234567891"]), "utf8");
    assert_eq!(times(&["2024-02-29T10:11:12.1234567", "1500-01-01T00:00:00"]), "utf8");
    assert_eq!(
        times(&["2024-02-29T10:11:12Z", "2024-02-29T10:11:12+05:30"]),
        "timestamp(us, \"UTC\")"
    );
    assert_eq!(times(&["2024-02-29T10:11:12Z", "2024-02-29T10:11:12"]), "utf8");
    assert_eq!(times(&["2024-02-29", "2024-02-29T10:11:12"]), "timestamp(us)");
    assert_eq!(times(&["2024-02-29", "2024-02-29T10:11:12Z"]), "utf8");
    assert_eq!(times(&["2024-02-29", "x"]), "utf8");
    assert_eq!(times(&["", "2024-02-29"]), "utf8");
    assert_eq!(times(&["2024-02-2\\u0039"]), "utf8");
}

#[test]
fn strict_nulls() {
    let strict = || InferOptions { strict_nulls: true, ..InferOptions::default() };
    let records = "{\"a\":1,\"b\":null,\"c\":[1],\"d\":{\"x\":1},\"e\":[1]}\n\
                   {\"a\":2,\"b\":1,\"d\":{\"x\":1,\"y\":2},\"e\":[null],\"e\":[]}\n";
    assert_eq!(
        schema(records, strict()),
        "a: int64 not null\nb: int64\nc: list<int64 not null>\n\
         d: struct<x: int64 not null, y: int64> not null\ne: list<int64> not null\n"
    );
    assert_eq!(schema("{\"a\":1}\n{\"b\":1}\n", strict()), "a: int64\nb: int64\n");
    assert_eq!(schema("1\nnull\n", strict()), "root value\nvalue: int64\n");
    assert_eq!(schema("{\"a\":[]}\n", strict()), "a: list<json> not null\n");
    assert_eq!(
        schema("{\"a\":{\"1\":{\"x\":1},\"2\":{\"x\":1,\"y\":2}}}\n", strict()),
        "a: map<utf8, struct<x: int64 not null, y: int64> not null> not null\n"
    );
}

#[test]
fn samples_end_where_they_should() {
    let options = InferOptions { records_max: Some(2), ..InferOptions::default() };
    for (framing, text) in [
        (Framing::Lines, "{\"a\":1}\n\n{\"a\":2}\n  \n{\"a\":\"x\"}\n"),
        (Framing::Concatenated, "{\"a\":1}{\"a\":2} {\"a\":\"x\"}"),
        (Framing::Array, "{\"a\":1},{\"a\":2} , {\"a\":\"x\"}"),
    ] {
        let mut inferrer = Inferrer::new(options.clone());
        let observed = inferrer.observe(&Chunk::new(text.as_bytes(), framing)).unwrap();
        assert_eq!((observed.records, observed.complete), (2, false));
        assert_eq!(inferrer.records(), 2);
        assert_eq!(format_schema(&inferrer.finish().unwrap()), "a: int64\n");
        let mut inferrer = Inferrer::new(InferOptions::default());
        let observed = inferrer.observe(&Chunk::new(text.as_bytes(), framing)).unwrap();
        assert_eq!((observed.records, observed.complete), (3, true));
        assert_eq!(format_schema(&inferrer.finish().unwrap()), "a: json\n");
    }
    for text in ["", "\n \r\n", "\u{feff}", "\u{feff}\n"] {
        let mut inferrer = Inferrer::new(InferOptions::default());
        inferrer.observe(&Chunk::new(text.as_bytes(), Framing::Lines)).unwrap();
        let message = inferrer.finish().unwrap_err().to_string();
        assert_eq!(message, "schema: there are no records to infer a schema from");
    }
}

/// What parts of a text say together, in any order.
fn merged(parts: &[&str], order: &[usize]) -> Inferrer {
    let options = InferOptions { object_keys_max: 4, ..InferOptions::default() };
    let mut all = Inferrer::new(options.clone());
    for at in order {
        let mut inferrer = Inferrer::new(options.clone());
        let mut chunk = Chunk::new(parts[*at].as_bytes(), Framing::Lines);
        chunk.position.offset = parts[..*at].iter().map(|part| part.len() as u64).sum();
        inferrer.observe(&chunk).unwrap();
        all.merge(inferrer).unwrap();
    }
    all
}

#[test]
fn parts_are_merged_in_any_order() {
    let parts = [
        "{\"a\":1,\"b\":{\"1\":2}}\n",
        "{\"c\":[],\"b\":{\"7\":null},\"a\":2.5}\n",
        "{\"d\":{\"x\":1,\"y\":2,\"z\":3},\"c\":[{\"p\":1}]}\n",
        "{\"e\":null,\"d\":{\"q\":1,\"r\":2}}\n{\"c\":[{\"o\":1}]}\n",
    ];
    let options = InferOptions { object_keys_max: 4, ..InferOptions::default() };
    let expected = schema(&parts.concat(), options);
    assert!(expected.contains("d: map<utf8, int64>"), "{expected}");
    for order in [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1], [1, 3, 0, 2]] {
        let all = merged(&parts, &order);
        assert_eq!(all.records(), 5);
        assert_eq!(all.watch(), merged(&parts, &[0, 1, 2, 3]).watch());
        assert_eq!(format_schema(&all.finish().unwrap()), expected, "{order:?}");
    }
}

#[test]
fn what_a_decoder_takes_beyond_is_watched() {
    let watch = |text: &str| {
        let mut inferrer = Inferrer::new(InferOptions { timestamps: true, ..Default::default() });
        inferrer.observe(&Chunk::new(text.as_bytes(), Framing::Lines)).unwrap();
        inferrer.watch()
    };
    assert_eq!(watch("{\"a\":1,\"b\":\"x\",\"c\":[true],\"d\":{\"e\":1}}\n"), None);
    assert_eq!(watch("{\"a\":1}\n{\"a\":\"x\"}\n"), None, "json takes anything anyway");
    let of_a = |watch| Some(Watch::Struct(vec![("a".into(), watch)]));
    assert_eq!(watch("{\"a\":null}\n"), of_a(Watch::Null));
    assert_eq!(watch("{\"a\":{}}\n"), of_a(Watch::Empty));
    assert_eq!(watch("{\"a\":1.5}\n"), of_a(Watch::Float));
    assert_eq!(watch("{\"a\":\"2024-02-29\"}\n"), of_a(Watch::Time));
    assert_eq!(watch("{\"a\":[[]]}\n"), {
        of_a(Watch::List(Box::new(Watch::List(Box::new(Watch::Null)))))
    });
    let values = Some(Box::new(Watch::Float));
    assert_eq!(watch("{\"a\":{\"1\":0.5}}\n"), of_a(Watch::Map { data_keys: true, values }));
    assert_eq!(watch("[null]\n"), Some(Watch::List(Box::new(Watch::Null))));
    assert_eq!(watch("{}\n"), None);
}

#[test]
fn records_after_those_that_are_not_json_are_seen_in_any_framing() {
    let options = InferOptions { skip_malformed: true, ..InferOptions::default() };
    for (framing, text) in [
        (Framing::Lines, "{\"a\":1}\nx\n{\"b\":]\n{\"c\":1}\n"),
        (Framing::Concatenated, "{\"a\":1} x {\"b\":]} \"\\q\" {\"c\":1}"),
        (Framing::Array, "{\"a\":1},x,,{\"b\":]},{\"c\":1},"),
    ] {
        let mut inferrer = Inferrer::new(options.clone());
        let observed = inferrer.observe(&Chunk::new(text.as_bytes(), framing)).unwrap();
        assert_eq!((observed.records, observed.complete), (2, true), "{text}");
        assert_eq!(format_schema(&inferrer.finish().unwrap()), "a: int64\nc: int64\n");
    }
}

#[test]
fn what_is_no_json_is_an_error_or_skipped() {
    let depth = Limits::default().with_depth_max(3);
    let cases = [
        ("{\"a\":1}\n{\"a\":}\n", ErrorKind::Syntax, 2, 13),
        ("{\"a\":1} x\n", ErrorKind::TrailingData, 1, 8),
        ("{\"a\":1\n}\n", ErrorKind::Truncated, 1, 6),
        ("{\"a\":tru\n", ErrorKind::Truncated, 1, 8),
        ("{\"a\":trux}\n", ErrorKind::Syntax, 1, 5),
        ("{\"a\":01}\n", ErrorKind::Syntax, 1, 5),
        ("{\"a\":1,}\n", ErrorKind::Syntax, 1, 7),
        ("{\"a\" 1}\n", ErrorKind::Syntax, 1, 5),
        ("{\"a\":[1 2]}\n", ErrorKind::Syntax, 1, 8),
        ("{\"a\":\"\\x\"}\n", ErrorKind::InvalidEscape, 1, 6),
        ("{\"a\":\"\\u12g4\"}\n", ErrorKind::InvalidEscape, 1, 6),
        ("{\"a\":\"\t\"}\n", ErrorKind::ControlCharacter, 1, 6),
        ("{\"a\":NaN}\n", ErrorKind::Syntax, 1, 5),
        ("{\"\\ud800\":1}\n", ErrorKind::LoneSurrogate, 1, 1),
        ("[[[[1]]]]\n", ErrorKind::DepthExceeded, 1, 3),
        ("{\"a\":1}\n\u{feff}{}\n", ErrorKind::Syntax, 2, 8),
    ];
    for (text, kind, line, offset) in cases {
        let options = InferOptions { limits: depth.clone(), ..InferOptions::default() };
        let mut chunk = Chunk::new(text.as_bytes(), Framing::Lines);
        chunk.position = Position { line: 11, offset: 100, record: 7, source: None };
        let error = Inferrer::new(options.clone()).observe(&chunk).unwrap_err();
        let data = error.as_data().unwrap();
        assert_eq!(
            (data.kind, data.position.line, data.position.offset),
            (kind, 10 + line, 100 + offset),
            "{text}"
        );
        let options = InferOptions { skip_malformed: true, ..options };
        let mut inferrer = Inferrer::new(options);
        inferrer.observe(&chunk).unwrap();
        let mut good = Chunk::new(b"{\"b\":1}\n", Framing::Lines);
        good.position.offset = 1000;
        inferrer.observe(&good).unwrap();
        let found = format_schema(&inferrer.finish().unwrap());
        assert!(found == "b: int64\n" || found == "a: int64\nb: int64\n", "{text}: {found}");
    }
    let invalid = Chunk::new(b"{\"a\":\"x\xFF\"}\n", Framing::Lines);
    let error = Inferrer::new(InferOptions::default()).observe(&invalid).unwrap_err();
    assert_eq!(error.as_data().unwrap().kind, ErrorKind::InvalidUtf8);
    assert_eq!(error.as_data().unwrap().position.offset, 7);
    let options = InferOptions { allow_nan: true, ..InferOptions::default() };
    assert_eq!(typed(&["NaN", "Infinity", "-Infinity", "1"], options), "float64");
    for text in ["1,", "1,,2", ",1", "1 2", "1]"] {
        let chunk = Chunk::new(text.as_bytes(), Framing::Array);
        assert!(Inferrer::new(InferOptions::default()).observe(&chunk).is_err(), "{text}");
    }
}

#[test]
fn invalid_utf8_is_found_wherever_it_is_in_a_string() {
    for length in 1..40 {
        for at in 0..length {
            let mut text = format!("{{\"a\":\"{}\"}}\n", "x".repeat(length)).into_bytes();
            text[6 + at] = 0xFF;
            let chunk = Chunk::new(&text, Framing::Lines);
            let error = Inferrer::new(InferOptions::default()).observe(&chunk).unwrap_err();
            let error = error.as_data().unwrap();
            assert_eq!(
                (error.kind, error.position.offset),
                (ErrorKind::InvalidUtf8, 6 + at as u64)
            );
            let letters: String = (0..length).map(|i| if i == at { 'é' } else { 'x' }).collect();
            assert_eq!(column(&[&format!("\"{letters}\"")]), "utf8");
        }
    }
}

#[test]
fn keys_that_are_nearly_the_expected_ones_are_other_keys() {
    let name = "a_key_of_more_than_eight_bytes";
    for length in 1..name.len() {
        let key = &name[..length];
        for at in 0..length {
            let mut other = key.to_owned();
            other.replace_range(at..=at, "#");
            let found = infer(&format!("{{\"{key}\":1}}\n{{\"{other}\":true}}\n{{\"{key}\":2}}\n"));
            assert_eq!(found, format!("{key}: int64, \"{other}\": bool"));
        }
        let found = infer(&format!("{{\"{key}\":1}}\n{{\"{key} \":true}}\n{{ \"{key}\" : 1.5}}\n"));
        assert_eq!(found, format!("{key}: float64, \"{key} \": bool"));
    }
    let error = Chunk::new(b"{\"abc\":1}\n{\"abc\"", Framing::Lines);
    assert!(Inferrer::new(InferOptions::default()).observe(&error).is_err());
}

#[test]
fn errors_name_the_record() {
    for (framing, text) in [(Framing::Lines, "{}\n\n{}\n{]\n"), (Framing::Array, "{},{},{]")] {
        let mut chunk = Chunk::new(text.as_bytes(), framing);
        chunk.position.record = 100;
        let mut inferrer = Inferrer::new(InferOptions::default());
        inferrer.observe(&Chunk::new(b"{}", Framing::Lines)).unwrap();
        let error = inferrer.observe(&chunk).unwrap_err();
        assert_eq!(error.as_data().unwrap().position.record, 102);
    }
}
