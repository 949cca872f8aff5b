// SPDX-License-Identifier: Apache-2.0
//! Kinds of values: those of random records, written in any valid way, are what the records were
//! made of; lines that are left have no effect, and are those that another parser or a limit
//! refuses.

use std::collections::BTreeMap;
use std::fmt::Write;

use arrowsmith_json::kinds::Kinds;
use arrowsmith_testkit::random::Rng;
use serde_json::{Value, json};

/// A place as the test sees it: names of kinds in alphabetical order, and what is below.
#[derive(Default, Debug, Clone, PartialEq)]
struct Place {
    seen: BTreeMap<String, ()>,
    digits: u64,
    items: Option<Box<Place>>,
    fields: Option<BTreeMap<String, Place>>,
}

impl Place {
    fn see(&mut self, kind: &str) {
        self.seen.insert(kind.to_owned(), ());
    }

    /// From the text form.
    fn parse(value: &Value) -> Self {
        let names = value["seen"].as_array().unwrap().iter();
        Self {
            seen: names.map(|name| (name.as_str().unwrap().to_owned(), ())).collect(),
            digits: value.get("digits").map_or(0, |digits| digits.as_u64().unwrap()),
            items: value.get("items").map(|items| Box::new(Self::parse(items))),
            fields: value.get("fields").map(|fields| {
                let fields = fields.as_object().unwrap().iter();
                fields.map(|(name, place)| (name.clone(), Self::parse(place))).collect()
            }),
        }
    }
}

fn parsed(kinds: &Kinds) -> Place {
    Place::parse(&serde_json::from_str(&kinds.to_string()).unwrap())
}

fn observed(text: &[u8]) -> (Place, Vec<usize>) {
    let mut kinds = Kinds::default();
    assert_eq!(kinds.observe(text).unwrap(), text.len());
    (parsed(&kinds), kinds.left().to_vec())
}

/// The kinds of one line, or `None` if it is left.
fn line(text: &str) -> Option<Value> {
    let mut kinds = Kinds::default();
    kinds.observe(text.as_bytes()).unwrap();
    kinds.left().is_empty().then(|| serde_json::from_str(&kinds.to_string()).unwrap())
}

fn of_value(text: &str) -> Option<Value> {
    line(&format!("{{\"a\":{text}}}\n")).map(|kinds| kinds["fields"]["a"].clone())
}

#[test]
fn values_have_their_kinds() {
    for (text, kind) in [
        ("null", "null"),
        ("true", "boolean"),
        ("false", "boolean"),
        ("0", "integer"),
        ("-0", "integer"),
        ("12345678901234567890123456789012345678901", "float"),
        ("9223372036854775807", "integer"),
        ("-9223372036854775808", "integer"),
        ("999999999999999999", "integer"),
        ("1.5", "float"),
        ("-0.0", "float"),
        ("1e5", "float"),
        ("1E-400", "float"),
        ("1.25e+07", "float"),
        ("\"\"", "empty"),
        ("\"x\"", "string"),
        ("\"\\ud800\"", "string"),
        ("\"\u{e9}\\\"\"", "string"),
        ("[]", "list"),
        ("[ ]", "list"),
        ("{}", "object"),
        ("{ }", "object"),
    ] {
        let found = of_value(text).unwrap_or_else(|| panic!("{text} is left"));
        assert_eq!(found["seen"], json!([kind]), "{text}");
    }
    for (text, digits) in [
        ("9223372036854775808", 19),
        ("-9223372036854775809", 19),
        ("10000000000000000000", 20),
        ("99999999999999999999999999999999999999", 38),
    ] {
        assert_eq!(of_value(text).unwrap(), json!({"seen": ["large"], "digits": digits}), "{text}");
    }
}

#[test]
fn malformed_values_are_left() {
    for text in [
        "",
        "nul",
        "nulll",
        "True",
        "NaN",
        "Infinity",
        "'x'",
        "\"x",
        "\"\\x\"",
        "\"\\u12g4\"",
        "\"a\tb\"",
        "01",
        "-",
        "+1",
        ".5",
        "1.",
        "1e",
        "1.5.2",
        "1-2",
        "0x1",
        "[1",
        "[1,]",
        "[,1]",
        "[1 2]",
        "[}",
        "{\"b\"}",
        "{\"b\":}",
        "{b:1}",
        "{\"b\":1,}",
        "{\"b\":1 \"c\":2}",
        "{]",
        "1}",
        "1,",
        "1,\"a\":2",
        "{\"b\":1,\"b\":2}",
        "/**/1",
        "1\r",
        "\u{a0}1",
    ] {
        assert_eq!(of_value(text), None, "{text}");
    }
    let many = |open: &str, close: &str, depth| open.repeat(depth) + &close.repeat(depth);
    assert!(of_value(&many("[", "]", 60)).is_some());
    assert_eq!(of_value(&many("[", "]", 100)), None);
    assert_eq!(of_value(&"1".repeat(301)), None);
    assert_eq!(of_value(&format!("0.{}", "1".repeat(299))), None);
}

#[test]
fn lines_that_are_no_object_are_left() {
    for text in [
        "1",
        "null",
        "[]",
        "[{}]",
        "\"x\"",
        "{} 1",
        "{}{}",
        "{}\u{b}",
        "{\u{c}}",
        "\u{feff}{}",
        "}",
    ] {
        assert_eq!(line(text), None, "{text}");
    }
    for text in ["{}", " {} ", "\t{ }\r", "{}\r\n", "\r\n{}\r\r\n", "{}\r \n"] {
        assert_eq!(line(text).unwrap(), json!({"seen": ["object"], "fields": {}}), "{text}");
    }
    for text in ["", "\n", "  \n\t\r\n\n", "\r"] {
        assert_eq!(line(text).unwrap(), json!({"seen": []}), "{text}");
    }
    assert_eq!(observed(b"{}\n1\n{\"a\":1}\n\n  x").1, [3, 14]);
}

#[test]
fn keys_are_compared_unescaped() {
    let text =
        "{\"\\u0061b\":1}\n{\"ab\":\"x\"}\n{\"a\\/\":1}\n{\"a/\":2}\n{\"\":1}\n{\"q\\\"\":1}\n";
    let (found, left) = observed(text.as_bytes());
    assert!(left.is_empty());
    let fields = found.fields.unwrap();
    assert_eq!(fields.keys().collect::<Vec<_>>(), ["", "a/", "ab", "q\""]);
    assert_eq!(fields["ab"].seen.len(), 2);
    for text in ["{\"\\u0061\":1,\"a\":2}", "{\"a\":{\"b\":1},\"c\":1,\"a\":2}", "{\"\\ud800\":1}"]
    {
        assert_eq!(line(text), None, "{text}");
    }
    // Of the same place in other objects they are not repeated.
    assert!(line("{\"a\":[{\"b\":1},{\"b\":2}],\"c\":{\"b\":3}}").is_some());
    for len in [1, 59, 60, 61, 62, 63, 64, 65, 127, 1000] {
        let name = "k".repeat(len);
        let text = format!("{{\"{name}\":1}}\n{{\"x\":1, \"{name}\" : 2}}\n").repeat(2);
        let (found, left) = observed(text.as_bytes());
        assert!(left.is_empty());
        assert_eq!(found.fields.unwrap().len(), 2);
    }
    assert_eq!(line(&format!("{{\"{}\":1}}", "k".repeat(20_000))), None);
}

#[test]
fn utf8_is_checked_in_every_line() {
    let good = "{\"a\":\"日本語\"}\n".as_bytes();
    for bad in [&b"{\"a\":\"\xff\"}\n"[..], b"{\"\xc3\":1}\n", b"{\"a\":\"\xed\xa0\x80\"}\n"] {
        let text = [good, bad, good].concat();
        assert_eq!(observed(&text).1, [good.len()]);
        assert_eq!(observed(&text).0, observed(good).0);
        // A character is not completed by the next line.
        let text = [good, b"{\"a\":\"\xe6\x97\"}\n", good].concat();
        assert_eq!(observed(&text).1, [good.len()]);
    }
}

#[test]
fn many_lines_are_left_in_several_calls() {
    let text = b"no\n{\"a\":1}\n".repeat(30_000);
    let (mut kinds, mut at, mut left) = (Kinds::default(), 0, Vec::new());
    while at < text.len() {
        let read = kinds.observe(&text[at..]).unwrap();
        assert!(read > 0);
        left.extend(kinds.left().iter().map(|line| at + line));
        at += read;
    }
    assert!(left.iter().copied().eq((0..30_000).map(|line| line * 11)));
    assert_eq!(parsed(&kinds), observed(b"{\"a\":1}").0);
}

#[test]
fn places_are_limited() {
    let mut text = String::new();
    for key in 0..80_000 {
        writeln!(text, "{{\"k{key}\":{{\"x\":1}}}}").unwrap();
    }
    let mut kinds = Kinds::default();
    assert!(kinds.observe(text.as_bytes()).unwrap() < text.len());
    let fields = parsed(&kinds).fields.unwrap();
    assert!(fields.len() > 30_000 && fields.len() < 40_000);
    // A line that is left for this does not add half of its places.
    assert!(fields.values().all(|place| place.fields.as_ref().unwrap().len() == 1));
}

/// Writes a random value, and notes what it is.
fn value(random: &mut Rng, depth: usize, place: &mut Place, text: &mut String) {
    let kinds = if depth > 0 { 10 } else { 8 };
    match random.below(kinds) {
        0 => {
            place.see("null");
            text.push_str("null");
        }
        1 => {
            place.see("boolean");
            text.push_str(if random.below(2) == 0 { "true" } else { "false" });
        }
        2 | 3 => {
            place.see("integer");
            let number = random.bits() >> random.below(64);
            let sign = if random.below(2) == 0 { "" } else { "-" };
            write!(text, "{sign}{}", number >> 1).unwrap();
        }
        4 => {
            place.see("large");
            let digits = 20 + random.below(19);
            place.digits = place.digits.max(digits as u64);
            text.push('7');
            (1..digits).for_each(|_| write!(text, "{}", random.below(10)).unwrap());
        }
        5 => {
            place.see("float");
            write!(text, "-{}.{}", random.below(1000), random.below(1_000_000)).unwrap();
            if random.below(4) == 0 {
                write!(text, "E-{}", random.below(400)).unwrap();
            }
        }
        6 if random.below(2) == 0 => {
            place.see("empty");
            text.push_str("\"\"");
        }
        6 | 7 => {
            place.see("string");
            text.push('"');
            for _ in 0..=random.below(90) {
                let parts = ["a", "é", "\\n", "\\\\", "\\u00e9", "{", "]", "\\\"", "日", ","];
                text.push_str(parts[random.below(parts.len())]);
            }
            text.push('"');
        }
        8 => {
            place.see("list");
            let items = place.items.get_or_insert_default();
            text.push('[');
            for number in 0..random.below(4) {
                text.push_str(if number > 0 { "," } else { "" });
                space(random, text);
                value(random, depth - 1, items, text);
                space(random, text);
            }
            text.push(']');
        }
        _ => object(random, depth - 1, place, text),
    }
}

fn space(random: &mut Rng, text: &mut String) {
    if random.below(8) == 0 {
        text.push_str(["", " ", "\t", "  "][random.below(4)]);
    }
}

fn object(random: &mut Rng, depth: usize, place: &mut Place, text: &mut String) {
    const KEYS: [(&str, &str); 7] = [
        ("\"a\"", "a"),
        ("\"b b\"", "b b"),
        ("\"\\u00e9\"", "é"),
        ("\"é\"", "é"),
        ("\"c\\\\\"", "c\\"),
        (
            "\"a key that has more than sixty-four bytes in the text of its record\"",
            "a key that has more than sixty-four bytes in the text of its record",
        ),
        ("\"\"", ""),
    ];
    place.see("object");
    let fields = place.fields.get_or_insert_default();
    let shuffled = random.below(4) == 0;
    let mut used: Vec<&str> = Vec::new();
    text.push('{');
    space(random, text);
    for number in 0..random.below(KEYS.len() + 1) {
        let (key, name) = KEYS[if shuffled { random.below(KEYS.len()) } else { number }];
        if used.contains(&name) {
            continue;
        }
        text.push_str(if used.is_empty() { "" } else { "," });
        used.push(name);
        space(random, text);
        text.push_str(key);
        space(random, text);
        text.push(':');
        space(random, text);
        value(random, depth, fields.entry(name.to_owned()).or_default(), text);
        space(random, text);
    }
    text.push('}');
}

#[test]
fn random_records_have_the_kinds_of_their_values() {
    for seed in 0..300 {
        let mut random = Rng::new(seed);
        let (mut expected, mut text, mut bad) = (Place::default(), String::new(), Vec::new());
        for _ in 0..random.below(60) {
            let mut record = String::new();
            if random.below(6) == 0 {
                // A record without its end, or that is repeated, is left with all that is in it.
                object(&mut random, 4, &mut Place::default(), &mut record);
                bad.push(text.len());
                let end = record.len() - 1;
                record = match random.below(3) {
                    0 => record[..end].to_owned(),
                    1 => format!("{record}{record}"),
                    _ => format!("{},\"new\":[1,x]}}", &record[..end]),
                };
            } else {
                object(&mut random, 4, &mut expected, &mut record);
            }
            text.push_str(&record);
            text.push_str(["\n", "\r\n", " \n", "\n\n"][random.below(4)]);
        }
        let (found, left) = observed(text.as_bytes());
        assert_eq!(left, bad, "seed {seed}: {text}");
        assert_eq!(found, expected, "seed {seed}: {text}");
        // In pieces, and without the last line feed.
        let mut kinds = Kinds::default();
        for line in text.trim_end().split_inclusive('\n') {
            kinds.observe(line.as_bytes()).unwrap();
        }
        assert_eq!(parsed(&kinds), expected, "seed {seed}");
    }
}

/// Whether an object in a valid text has a key twice is not visible in a `Value`.
fn repeats_keys(text: &str) -> bool {
    struct Unique(bool);
    impl<'de> serde::Deserialize<'de> for Unique {
        fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
            from.deserialize_any(Visitor)
        }
    }
    struct Visitor;
    impl<'de> serde::de::Visitor<'de> for Visitor {
        type Value = Unique;
        fn expecting(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            to.write_str("JSON")
        }
        fn visit_bool<E>(self, _: bool) -> Result<Unique, E> {
            Ok(Unique(true))
        }
        fn visit_i64<E>(self, _: i64) -> Result<Unique, E> {
            Ok(Unique(true))
        }
        fn visit_u64<E>(self, _: u64) -> Result<Unique, E> {
            Ok(Unique(true))
        }
        fn visit_f64<E>(self, _: f64) -> Result<Unique, E> {
            Ok(Unique(true))
        }
        fn visit_str<E>(self, _: &str) -> Result<Unique, E> {
            Ok(Unique(true))
        }
        fn visit_unit<E>(self) -> Result<Unique, E> {
            Ok(Unique(true))
        }
        fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut of: A) -> Result<Unique, A::Error> {
            let mut unique = true;
            while let Some(item) = of.next_element::<Unique>()? {
                unique &= item.0;
            }
            Ok(Unique(unique))
        }
        fn visit_map<A: serde::de::MapAccess<'de>>(self, mut of: A) -> Result<Unique, A::Error> {
            let (mut unique, mut keys) = (true, std::collections::HashSet::new());
            while let Some((key, value)) = of.next_entry::<String, Unique>()? {
                unique &= value.0 & keys.insert(key);
            }
            Ok(Unique(unique))
        }
    }
    !serde_json::from_str::<Unique>(text).unwrap().0
}

#[test]
fn damaged_records_are_left_where_another_parser_refuses_them() {
    const BYTES: &[u8] = b"{}[]\",:\\ 019.-eEtrufalsn\tx\r/";
    let mut taken = 0;
    for seed in 0..4000 {
        let mut random = Rng::new(seed);
        let mut record = String::new();
        object(&mut random, 2, &mut Place::default(), &mut record);
        let mut bytes = record.into_bytes();
        for _ in 0..=random.below(2) {
            let (at, byte) = (random.below(bytes.len()), BYTES[random.below(BYTES.len())]);
            match random.below(3) {
                0 => bytes[at] = byte,
                1 => bytes.insert(at, byte),
                _ => drop(bytes.remove(at)),
            }
            if bytes.is_empty() {
                break;
            }
        }
        let Ok(text) = String::from_utf8(bytes) else { continue };
        let is_left = line(&text).is_none();
        let valid = serde_json::from_str::<Value>(&text);
        match valid {
            // Half a surrogate pair in a value is not an error here, and a number that is too large
            // for a double is one there.
            Err(error) if !is_left => {
                let error = error.to_string();
                let known = error.contains("surrogate") || error.contains("out of range");
                assert!(known || text.trim().is_empty(), "{error}: {text}");
            }
            Ok(value) if is_left => {
                let inside = text.trim().contains('\r');
                assert!(!value.is_object() || inside || repeats_keys(&text), "{text}");
            }
            _ => taken += usize::from(!is_left),
        }
    }
    assert!(taken > 300, "only {taken}");
}
