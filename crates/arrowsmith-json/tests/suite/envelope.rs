// SPDX-License-Identifier: Apache-2.0
//! Records below a path: what is left of documents is their records, where they were, however the
//! text arrives; what is not JSON is refused, as by another parser.

use arrowsmith_core::ErrorKind;
use arrowsmith_json::frame::{Documents, Envelope, EnvelopeError, RecordsPath};
use arrowsmith_testkit::random::Rng;
use serde::de::IgnoredAny;

const DEPTH_MAX: usize = 16;

/// Masks a source that arrives in these portions.
fn mask(
    text: &[u8],
    path: &str,
    mut portion: impl FnMut() -> usize,
) -> (Vec<u8>, Result<(), EnvelopeError>) {
    let documents = Documents::from(path.parse::<RecordsPath>().unwrap());
    let mut envelope = Envelope::new(documents, DEPTH_MAX, false, usize::MAX);
    let mut masked = text.to_vec();
    let mut at = 0;
    while at < masked.len() {
        let end = masked.len().min(at + portion());
        if let Err(error) = envelope.mask(&mut masked[at..end]) {
            masked.truncate(at + error.masked);
            // How much was masked depends on the portions, its end does not.
            return (masked, Err(EnvelopeError { masked: 0, ..error }));
        }
        at = end;
    }
    (masked, envelope.finish())
}

/// The same however it arrives.
fn check(text: &[u8], path: &str) -> (Vec<u8>, Result<(), EnvelopeError>) {
    let whole = mask(text, path, || usize::MAX / 2);
    assert_eq!(mask(text, path, || 1), whole, "{}", text.escape_ascii());
    let rng = &mut Rng::new(text.len() as u64);
    for _ in 0..4 {
        let portions = mask(text, path, || 1 + rng.below(9));
        assert_eq!(portions, whole, "{}", text.escape_ascii());
    }
    whole
}

/// Masks a source without errors.
fn left(text: &str, path: &str) -> String {
    let (masked, result) = check(text.as_bytes(), path);
    assert_eq!(result, Ok(()), "{text}");
    String::from_utf8(masked).unwrap()
}

/// A text in which these parts and white space are kept.
fn only(text: &str, parts: &[&str]) -> String {
    let (mut kept, mut rest) = (String::new(), text);
    let blank = |text: &str| -> String {
        let space = |byte: u8| if byte.is_ascii_whitespace() { char::from(byte) } else { ' ' };
        text.bytes().map(space).collect()
    };
    for part in parts {
        let (before, after) = rest.split_once(part).unwrap();
        kept += &(blank(before) + part);
        rest = after;
    }
    kept + &blank(rest)
}

/// Kind, offset and path of the error in a source, and what is left before it.
fn wrong(text: &str, path: &str) -> (ErrorKind, u64, String, String) {
    let (masked, result) = check(text.as_bytes(), path);
    let error = result.expect_err(text);
    let before = String::from_utf8(masked).unwrap().trim().to_owned();
    (error.kind, error.offset, error.path, before)
}

#[test]
fn records_stay_where_they_are() {
    let text =
        "{\"meta\":[1,{}], \"data\" : {\"items\" : [{\"a\":\"]\\\"\"},\n 2,\"x\"] , \"n\":1}}\n";
    let kept = only(text, &["{\"a\":\"]\\\"\"}", "2", "\"x\""]);
    assert_eq!(left(text, "data.items"), kept);
    assert_eq!(left(text, "/data/items"), kept);
    // Several documents, with a byte order mark, with and without white space between them.
    let text = "\u{FEFF}{\"a\":[1]}{\"a\":[2]}\n{\"a\":[]}";
    assert_eq!(left(text, "a"), only(text, &["1", "2"]));
    assert_eq!(left("", "a"), "");
    // The same in arrays of documents, among others.
    let text = " [ {\"a\":[1]},\n{\"a\":[2]}, null ] {\"a\":[3,4]}[][{\"a\":null}]";
    assert_eq!(left(text, "a"), only(text, &["1", "2", "3", "4"]));
    // A null, anywhere on the way, has no records.
    for text in ["{\"a\":{\"b\":null}}", "{\"a\":null}", "null", " null null "] {
        assert_eq!(left(text, "a.b").trim(), "", "{text}");
    }
}

#[test]
fn keys_are_compared_unescaped() {
    for (text, path) in [
        (r#"{"\u0061\/\ud83d\ude00":[7]}"#, "a/😀"),
        (r#"{"a.b":[7]}"#, "\"a.b\""),
        (r#"{"a.b":[7]}"#, "/a.b"),
        (r#"{"~/":[7]}"#, "/~0~1"),
        (r#"{"":{"":[7]}}"#, "//"),
        (r#"{"ab":[1],"a\\":[2],"a":[7],"\ud800a":[3],"aaaaaaaaaaaaaaaa":[4]}"#, "a"),
        (r#"{"b":{"a":[1]},"a":{"a":[1],"b":[7]}}"#, "a.b"),
    ] {
        assert_eq!(left(text, path).trim(), "7", "{text}");
    }
}

#[test]
fn what_is_wrong_has_a_kind_a_place_and_a_path() {
    use ErrorKind::*;
    for (text, kind, offset, path, before) in [
        ("{\"a\":{}}", MissingField, 6, "a.b", ""),
        ("{\"a\":{\"b\":[1]}}\n{}", MissingField, 17, "a", "1"),
        ("{\"b\":[1]}", MissingField, 8, "a", ""),
        ("{\"a\":[]}", WrongType, 5, "a", ""),
        ("{\"a\":{\"b\":{}}}", WrongType, 10, "a.b", ""),
        ("{\"a\":{\"b\":\"x\"}}", WrongType, 10, "a.b", ""),
        ("[[]]", WrongType, 1, "", ""),
        ("[7]", WrongType, 1, "", ""),
        ("[{\"a\":{\"b\":[1]}} {}]", Syntax, 17, "", "1"),
        ("[{\"a\":{\"b\":[1]}},]", Syntax, 17, "", "1"),
        ("[{\"a\":{\"b\":[1]}}}", Syntax, 16, "", "1"),
        ("[,{\"a\":{\"b\":[1]}}]", Syntax, 1, "", ""),
        ("[{\"a\":{\"b\":[1]}}", Truncated, 16, "", "1"),
        ("[{\"a\":{\"b\":[1]}},{}]", MissingField, 18, "a", "1"),
        ("[null", Truncated, 5, "", ""),
        ("[", Truncated, 1, "", ""),
        (" 7", WrongType, 1, "", ""),
        ("{\"a\":{\"b\":[1],\"b\":[2]}}", DuplicateKey, 14, "a", "1"),
        ("{\"a\":{\"b\":[1]},\"\\u0061\":{}}", DuplicateKey, 15, "", "1"),
        ("{\"a\":{\"b\":[1 2]}}", Syntax, 13, "a.b", "1"),
        ("{\"a\":{\"b\":[1,]}}", Syntax, 13, "a.b", "1"),
        ("{\"a\":{\"b\":[,1]}}", Syntax, 11, "a.b", ""),
        ("{\"a\":{\"b\":[1}}}", Syntax, 12, "a.b", "1"),
        ("{\"a\":{\"b\":[1]]}}", Syntax, 13, "a", "1"),
        ("{\"a\":{\"b\":[1],}}", Syntax, 14, "a", "1"),
        ("{\"a\":{\"b\":[1]}]", Syntax, 14, "", "1"),
        ("{\"a\":{\"b\":[1]}}x", Syntax, 15, "", "1"),
        ("{\"x\":[{\"y\":[}]}", Syntax, 12, "", ""),
        ("{\"x\":01}", Syntax, 5, "", ""),
        ("{\"x\":-}", Syntax, 5, "", ""),
        ("{\"x\":1.\n}", Syntax, 5, "", ""),
        ("{\"x\":NaN}", Syntax, 5, "", ""),
        ("{\"x\":trux}", Syntax, 5, "", ""),
        ("{\"x\":truex}", Syntax, 9, "", ""),
        ("{\"a\":nul}", Syntax, 5, "a", ""),
        ("{\"x\":\"\\u12x4\"}", InvalidEscape, 6, "", ""),
        ("{\"x\\q\":1}", InvalidEscape, 3, "", ""),
        ("{\"x\":\"\n\"}", ControlCharacter, 6, "", ""),
        ("{\"x\":[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]}", DepthExceeded, 20, "", ""),
        ("{\"a\":{\"b\":[1,{\"c\":", Truncated, 18, "a.b", "1 {\"c\":"),
        ("{\"a\":{\"b\":[1]", Truncated, 13, "a", "1"),
        ("{\"a\":{\"b", Truncated, 8, "a", ""),
        ("\u{FEFF}\u{FEFF}", Syntax, 3, "", ""),
        (" \u{FEFF}", Syntax, 1, "", ""),
    ] {
        let found = wrong(text, "a.b");
        assert_eq!(found, (kind, offset, path.to_owned(), before.to_owned()), "{text}");
    }
}

#[test]
fn paths_that_name_nothing_are_refused() {
    for path in ["", "/a~2b", "/~"] {
        path.parse::<RecordsPath>().expect_err(path);
    }
    let deep = |keys: usize| vec!["a"; keys].join(".").parse::<RecordsPath>();
    assert!(deep(1024).is_ok());
    let error = deep(1025).unwrap_err().to_string();
    assert!(error.contains("is deeper than 1024 levels"), "{error}");
}

/// Writes a random value; what is in `records` is the text of the array at its end.
fn value(rng: &mut Rng, out: &mut String, depth: usize) {
    let scalars = [
        "null",
        "true",
        "-0.5e+7",
        "12",
        "\"\"",
        "\"]}\\\"\"",
        "\"\\u00e9\\n\"",
        "\"é, [\"",
        "[]",
        "{}",
    ];
    match if depth == 0 { 0 } else { rng.below(3) } {
        0 => out.push_str(scalars[rng.below(scalars.len())]),
        1 => {
            out.push('[');
            for number in 0..rng.below(4) {
                comma(rng, out, number);
                value(rng, out, depth - 1);
            }
            out.push(']');
        }
        _ => object(rng, out, depth, &mut Vec::new()),
    }
}

fn comma(rng: &mut Rng, out: &mut String, number: usize) {
    if number > 0 {
        out.push(',');
    }
    out.push_str(["", "", " ", "\r\n\t"][rng.below(4)]);
}

/// Writes an object; if there are keys on the way left, with the first of them.
fn object(rng: &mut Rng, out: &mut String, depth: usize, way: &mut Vec<&str>) {
    let due = way.pop();
    let fields = rng.below(3);
    let at = rng.below(fields + 1);
    out.push('{');
    let mut number = 0;
    for field in 0..=fields {
        if let Some(key) = due.filter(|_| field == at) {
            comma(rng, out, number);
            number += 1;
            out.push_str(&format!("\"{key}\" : "));
            if way.is_empty() {
                out.push('[');
                for number in 0..rng.below(4) {
                    comma(rng, out, number);
                    value(rng, out, 3);
                }
                out.push(']');
            } else {
                object(rng, out, depth, way);
            }
        }
        if field < fields {
            comma(rng, out, number);
            number += 1;
            let key = ["x", "items", "data", "d", "itemss", "\\u0064", "da\\nta"][rng.below(7)];
            // A key on the way is there once.
            let key = if due == Some(key) { "y" } else { key };
            out.push_str(&format!("\"{key}\":"));
            value(rng, out, depth.saturating_sub(1));
        }
    }
    out.push('}');
}

/// One random document with records below `data.items`.
pub fn document(rng: &mut Rng) -> String {
    let mut out = String::new();
    object(rng, &mut out, 4, &mut vec!["items", "data"]);
    out
}

#[test]
fn records_are_those_that_another_parser_finds() {
    for seed in 0..4_000 {
        let rng = &mut Rng::new(seed);
        let (mut text, mut expected) = (String::new(), Vec::new());
        let is_list = rng.below(3) == 0;
        text.push_str(if is_list { "[" } else { "" });
        for number in 0..rng.below(4) {
            let one = document(rng);
            let parsed: serde_json::Value = serde_json::from_str(&one).expect(&one);
            expected.extend(parsed["data"]["items"].as_array().expect(&one).clone());
            text.push_str(if is_list && number > 0 { "," } else { "" });
            text.push_str(&one);
            text.push_str(["", "\n", " \n\n"][rng.below(3)]);
        }
        text.push_str(if is_list { "]" } else { "" });
        let masked = left(&text, "data.items");
        let found: Vec<serde_json::Value> =
            serde_json::Deserializer::from_str(&masked).into_iter().map(Result::unwrap).collect();
        assert_eq!(found, expected, "seed {seed}: {text}");
        // Nothing has moved, and no line end is missing.
        assert_eq!(masked.len(), text.len());
        for (before, after) in text.bytes().zip(masked.bytes()) {
            assert!(before == after || after == b' ' && !before.is_ascii_whitespace(), "{text}");
        }
    }
}

#[test]
fn documents_that_are_not_json_are_refused() {
    let (mut refused, mut accepted) = (0, 0);
    for seed in 0..20_000 {
        let rng = &mut Rng::new(seed);
        let mut text = document(rng);
        if rng.below(4) == 0 {
            text = format!("[{text},{}]", document(rng));
        }
        let mut text = text.into_bytes();
        let at = rng.below(text.len());
        let byte = b"{}[]\",:\\ \n0-.eatfn\x01"[rng.below(19)];
        match rng.below(3) {
            0 => text[at] = byte,
            1 => text.insert(at, byte),
            _ => drop(text.remove(at)),
        }
        // What is not UTF-8, and half of a surrogate pair, is the business of records.
        if std::str::from_utf8(&text).is_err() {
            continue;
        }
        let (masked, result) = check(&text, "data.items");
        // Records are not looked into.
        let records = serde_json::Deserializer::from_slice(&masked).into_iter::<IgnoredAny>();
        let valid = result.is_ok() && records.fold(true, |valid, record| valid & record.is_ok());
        let mut parser = serde_json::Deserializer::from_slice(&text);
        let json = serde::Deserialize::deserialize(&mut parser)
            .is_ok_and(|_: IgnoredAny| parser.end().is_ok());
        if valid {
            assert!(json, "seed {seed}: {}", text.escape_ascii());
            accepted += 1;
        } else if json {
            // Valid, but the path leads elsewhere.
            let kind = result.expect_err("an error").kind;
            let elsewhere =
                [ErrorKind::MissingField, ErrorKind::WrongType, ErrorKind::DuplicateKey];
            assert!(elsewhere.contains(&kind), "seed {seed}: {kind} {}", text.escape_ascii());
        } else {
            refused += 1;
        }
    }
    assert!(refused > 5_000 && accepted > 1_000, "{refused} {accepted}");
}
