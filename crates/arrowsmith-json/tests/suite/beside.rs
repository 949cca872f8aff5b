// SPDX-License-Identifier: Apache-2.0
//! Fields beside records: each record has them, as another parser finds them, however the text
//! arrives; what cannot be had is an error with its place, never a value that is missing.

use arrowsmith_core::ErrorKind;
use arrowsmith_json::frame::{Documents, Envelope, EnvelopeError, ParentField};
use arrowsmith_testkit::random::Rng;
use serde_json::{Map, Value};

use crate::envelope::document;

const DEPTH_MAX: usize = 16;

fn documents(records: &str, fields: &[&str]) -> Result<Documents, arrowsmith_core::Error> {
    let fields: Vec<ParentField> =
        fields.iter().map(|field| field.parse()).collect::<Result<_, _>>()?;
    Documents::new(records.parse()?, &fields)
}

/// What leaves of a source: its records with their fields, and why no more does.
fn left(
    text: &str,
    fields: &[&str],
    wait_max: usize,
    mut portion: impl FnMut() -> usize,
) -> (String, Option<EnvelopeError>) {
    let documents = documents("data.items", fields).unwrap();
    let mut envelope = Envelope::new(documents, DEPTH_MAX, true, wait_max);
    let mut masked = text.as_bytes().to_vec();
    let (mut at, mut error) = (0, None);
    while at < masked.len() && error.is_none() {
        let end = masked.len().min(at + portion());
        if let Err(found) = envelope.mask(&mut masked[at..end]) {
            masked.truncate(at + found.masked);
            error = Some(EnvelopeError { masked: 0, ..found });
        }
        at = end;
    }
    let error = error.or_else(|| envelope.finish().err());
    let whole = envelope.first_waiting().map_or(masked.len(), index);
    let masked = &masked[..whole];
    let mut out = vec![0; masked.len() + envelope.inserts(masked.len() as u64)];
    let inserted = envelope.insert(masked, 0, &mut out);
    out.truncate(inserted.len);
    for (at, byte) in out.iter().enumerate() {
        let origin = index(inserted.places.origin(at as u64));
        assert!(masked[origin] == *byte || masked[origin] == b'{', "{at} in {text}");
    }
    let out = String::from_utf8(out).unwrap();
    let words: Vec<&str> = out.split_ascii_whitespace().collect();
    (words.join(" "), inserted.error.or(error))
}

fn index(offset: u64) -> usize {
    usize::try_from(offset).unwrap()
}

/// The same however it arrives.
fn check(text: &str, fields: &[&str], wait_max: usize) -> (String, Option<EnvelopeError>) {
    let whole = left(text, fields, wait_max, || usize::MAX / 2);
    assert_eq!(left(text, fields, wait_max, || 1), whole, "{text}");
    let rng = &mut Rng::new(text.len() as u64);
    for _ in 0..4 {
        assert_eq!(left(text, fields, wait_max, || 1 + rng.below(9)), whole, "{text}");
    }
    whole
}

#[test]
fn records_have_the_fields_beside_them() {
    for (text, fields, expected) in [
        (r#"{"id":7,"data":{"items":[{"a":1},{}]}}"#, "id", r#"{"id":7,"a":1} {"id":7}"#),
        (
            r#"{"data":{"items":[{"a":1},{ }]},"id":"x y"}"#,
            "id",
            r#"{"id":"x y","a":1} {"id":"x y" }"#,
        ),
        (r#"{"data":{"n":-1.5e3,"items":[{"a":1}]}}"#, "data.n", r#"{"data.n":-1.5e3,"a":1}"#),
        (r#"{"data":{"n":-Infinity,"items":[{"a":1}]}}"#, "n=data.n", r#"{"n":-Infinity,"a":1}"#),
        (r#"{"data":{"items":[{"a":1}],"n":NaN}}"#, "n=/data/n", r#"{"n":NaN,"a":1}"#),
        (
            r#"{"m":{"x":[1, {"y" : true}]},"data":{"items":[{}]}}"#,
            "m.x",
            r#"{"m.x":[1,{"y":true}]}"#,
        ),
        (r#"{"m": "\" \\","data":{"items":[{}]}}"#, "m", r#"{"m":"\" \\"}"#),
        ("{\"m\":{\n \"x\": 1\r\n},\"data\":{\"items\":[{}]}}", "m", r#"{"m":{"x":1}}"#),
        // What is not there is no key, and null is null.
        (r#"{"data":{"items":[{"a":1}]}}"#, "id", r#"{"a":1}"#),
        (r#"{"data":{"items":[{"a":1}]},"id":null}"#, "id", r#"{"id":null,"a":1}"#),
        (r#"{"m":null,"data":{"items":[{"a":1}]}}"#, "m.x", r#"{"a":1}"#),
        (r#"{"m":{"y":{"x":2}},"data":{"items":[{"a":1}]},"x":3}"#, "m.x", r#"{"a":1}"#),
        // Of each document its own.
        (
            r#"{"id":1,"data":{"items":[{}]}}{"data":{"items":[{}]}} null {"data":{"items":[{},{}]},"id":2}"#,
            "id",
            r#"{"id":1} {} {"id":2} {"id":2}"#,
        ),
        (r#"{"id":1,"data":{"items":[]}}{"id":2,"data":null}"#, "id", ""),
        (
            r#"[{"id":1,"data":{"items":[{}]}},{"data":{"items":[{}]}},{"data":{"items":[{}]},"id":2}]"#,
            "id",
            r#"{"id":1} {} {"id":2}"#,
        ),
    ] {
        assert_eq!(check(text, &[fields], usize::MAX), (expected.to_owned(), None), "{text}");
    }
    let text = r#"{"b":1,"data":{"a":{"x":2},"items":[{"k":0}],"c":3},"d":4}"#;
    let fields = ["d", "a\"\nb=data.a.x", "data.c", "e", "b"];
    let expected = r#"{"d":4,"a\"\u000ab":2,"data.c":3,"b":1,"k":0}"#;
    assert_eq!(check(text, &fields, usize::MAX), (expected.to_owned(), None));
}

#[test]
fn what_cannot_be_had_is_an_error_with_its_place() {
    use ErrorKind::*;
    for (text, kind, offset, path, before) in [
        // Twice, or on the way to something else.
        (r#"{"m":{"x":1,"x":2},"data":{"items":[{}]}}"#, DuplicateKey, 12, "m", ""),
        (r#"{"m":{"x":1},"m":{},"data":{"items":[{}]}}"#, DuplicateKey, 13, "", ""),
        (r#"{"m":[],"data":{"items":[{}]}}"#, WrongType, 5, "m", ""),
        (
            r#"{"m":{"x":1},"data":{"items":[{},{}]},"m":0}"#,
            DuplicateKey,
            38,
            "",
            "{\"m.x\":1} {\"m.x\":1}",
        ),
        // Records that are not objects.
        (r#"{"m":{"x":1},"data":{"items":[{},[]]}}"#, WrongType, 33, "data.items", "{\"m.x\":1}"),
        (r#"{"m":{"x":1},"data":{"items":[null]}}"#, WrongType, 30, "data.items", ""),
        // Records that already have such a key, however it is written.
        (
            r#"{"m":{"x":1},"data":{"items":[{},{"a":{},"m.x":2}]}}"#,
            DuplicateKey,
            41,
            "data.items.m.x",
            "{\"m.x\":1}",
        ),
        (
            r#"{"data":{"items":[{"a":{"m.x":2}},{"\u006d.x":2}]}}"#,
            DuplicateKey,
            35,
            "data.items.m.x",
            "{\"a\":{\"m.x\":2}}",
        ),
        // The end of the text comes before that of the document.
        (r#"{"data":{"items":[{},{}]},"m":{"x":1"#, Truncated, 36, "m", ""),
        (r#"{"m":{"x":1},"data":{"items":[{},{}]}"#, Truncated, 37, "", "{\"m.x\":1} {\"m.x\":1}"),
        (r#"{"m":{"x":1x},"data":{"items":[{}]}}"#, Syntax, 11, "m", ""),
    ] {
        let (found, error) = check(text, &["m.x"], usize::MAX);
        let error = error.expect(text);
        let found = (error.kind, error.offset, &*error.path, &*found);
        assert_eq!(found, (kind, offset, path, before), "{text}");
    }
    // All fields of a document together are limited, with white space in them.
    let spaces = format!("{{\"m\":[{}],\"data\":{{\"items\":[{{}}]}}}}", " ".repeat(64 << 10));
    assert_eq!(check(&spaces, &["m"], usize::MAX).1.map(|error| error.kind), Some(Limit));
    let long =
        |len: usize| format!("{{\"m\":\"{}\",\"data\":{{\"items\":[{{}}]}}}}", "x".repeat(len));
    assert_eq!(check(&long((64 << 10) - 2), &["m"], usize::MAX).1, None);
    let (found, error) = check(&long((64 << 10) - 1), &["m"], usize::MAX);
    assert_eq!(error.map(|error| error.kind), Some(Limit));
    assert_eq!(found, "");
}

#[test]
fn records_do_not_wait_for_ever() {
    let text = r#"{"data":{"items":[{"a":0},{"a":1},{"a":2}]},"m":0,"n":1}"#;
    let all =
        |extra: &str| (0..3).map(|a| format!("{{{extra}\"a\":{a}}}")).collect::<Vec<_>>().join(" ");
    let (first, m, n) = (18, 48, 54);
    assert_eq!(check(text, &["m", "n"], n - first), (all("\"m\":0,\"n\":1,"), None));
    for (wait, before) in [(n - first - 1, "\"m\":0,"), (m - first, "\"m\":0,"), (0, "")] {
        let (found, error) = check(text, &["m", "n"], wait);
        let late = if wait < m - first { (m, "m") } else { (n, "n") };
        let error = error.map(|error| (error.kind, index(error.offset), error.path));
        assert_eq!(error, Some((ErrorKind::Limit, late.0, late.1.to_owned())), "{wait}");
        assert_eq!(found, all(before), "{wait}");
    }
    // What comes late and is nothing, or never comes, is not missed.
    let text = text.replace("\"m\":0", "\"m\":null");
    assert_eq!(check(&text, &["m", "k"], 0), (all(""), None));
    // An object that has closed has no more fields: nothing waits for them.
    let text = r#"{"m":{"y":1},"data":{"items":[{},{}]},"n":0}"#;
    assert_eq!(check(text, &["m.x", "m.y"], 0), (r#"{"m.y":1} {"m.y":1}"#.to_owned(), None));
}

#[test]
fn fields_that_contradict_each_other_are_refused() {
    for fields in [
        &["a", "a"][..],
        &["x=a", "x=b"],
        &["a.b", "a"],
        &["a", "a.b"],
        &["data"],
        &["data.items"],
        &["data.items.x"],
        &["=a"],
        &["a="],
        &[""],
        &["/~"],
    ] {
        documents("data.items", fields).expect_err(&fields.join(","));
    }
    documents("data.items", &["a", "b=/a1", "data.n", "\"a.b\"=c"]).unwrap();
}

#[test]
fn fields_are_those_that_another_parser_finds() {
    let paths = ["x", "d", "data.x", "data.itemss", "z"];
    let (mut with, mut refused) = (0, 0);
    for seed in 0..6_000 {
        let rng = &mut Rng::new(seed);
        let mut fields: Vec<&str> = paths.into_iter().filter(|_| rng.below(2) == 0).collect();
        if fields.is_empty() {
            fields.push("x");
        }
        let (mut text, mut expected) = (String::new(), Vec::new());
        for _ in 0..1 + rng.below(3) {
            // Mostly records that are objects.
            let (one, parsed) = loop {
                let one = document(rng);
                let parsed: Value = serde_json::from_str(&one).expect(&one);
                let items = parsed["data"]["items"].as_array().expect(&one);
                if items.iter().all(Value::is_object) || rng.below(20) == 0 {
                    break (one, parsed);
                }
            };
            for item in parsed["data"]["items"].as_array().expect(&one) {
                let mut record = Map::new();
                for path in &fields {
                    let value = path.split('.').try_fold(&parsed, |value, key| value.get(key));
                    record.extend(value.map(|value| ((*path).to_owned(), value.clone())));
                }
                record.extend(item.as_object().cloned().unwrap_or_default());
                expected.push((item.is_object(), Value::Object(record)));
            }
            text.push_str(&one);
        }
        let (found, error) = check(&text, &fields, usize::MAX);
        let stream = serde_json::Deserializer::from_str(&found).into_iter::<Value>();
        let found: Vec<Value> = stream.map(Result::unwrap).collect();
        match error {
            None => {
                let expected: Vec<Value> = expected.into_iter().map(|(_, record)| record).collect();
                assert_eq!(found, expected, "seed {seed}: {fields:?} {text}");
                with += usize::from(!found.is_empty());
            }
            // A key twice, a record that is not an object, or that has a key of this name.
            Some(error) => {
                refused += 1;
                let objects = expected.iter().all(|(object, _)| *object);
                assert!(
                    error.kind == ErrorKind::DuplicateKey
                        || error.kind == ErrorKind::WrongType && !objects,
                    "seed {seed}: {error:?} {text}"
                );
            }
        }
    }
    assert!(with > 500 && refused > 500, "{with} {refused}");
}
