// SPDX-License-Identifier: Apache-2.0
//! What a plan has no column for is all that is missing when values are compared with another
//! parser's.

use std::sync::Arc;

use arrowsmith_core::Framing;
use arrowsmith_json::rescue::Rescuer;
use arrowsmith_plan::Plan;
use arrowsmith_plan::text::parse_schema;
use arrowsmith_testkit::random::Rng;
use serde_json::{Map, Value, json};

const SCHEMA: &str = "a: int64, s: struct<b: utf8, t: struct<c: int8>>, l: list<struct<a: int8>>, \
                      m: map<utf8, struct<a: bool>>, n: list<int64>, j: json, k: map<utf8, int8>";

fn rescuer() -> Rescuer {
    Rescuer::new(&Plan::new(Arc::new(parse_schema(SCHEMA).unwrap())).unwrap())
}

/// What is found in each record of a text.
fn found(text: &str, framing: Framing, numbers: &[u64]) -> Vec<Option<String>> {
    rescuer().records(text.as_bytes(), framing, numbers.iter().copied(), &[1]).collect()
}

#[test]
fn unknown_keys_keep_their_text_and_place() {
    for (record, expected) in [
        (r#"{"a":1,"s":{"b":"x","t":{"c":1}},"j":{"z":1},"n":[1],"k":{"z":1}}"#, None),
        (r#"{}"#, None),
        (r#"[{"z":1}]"#, None),
        (r#"{ "z" : [ 1, {"a" :2} ] , "a":1}"#, Some(r#"{"z":[ 1, {"a" :2} ]}"#)),
        (
            r#"{"s":{"b":1,"z":1.50,"t":{"\u0063":1,"y":null}},"a":2}"#,
            Some(r#"{"s":{"z":1.50,"t":{"y":null}}}"#),
        ),
        (
            r#"{"l":[{"a":1},{"z":"}"},null],"x":"\""}"#,
            Some(r#"{"l":[null,{"z":"}"},null],"x":"\""}"#),
        ),
        (r#"{"m":{"p":{"a":true},"q":{"b":false}}}"#, Some(r#"{"m":{"q":{"b":false}}}"#)),
        // A repeated key is there as often; one that is not Unicode is not known.
        (r#"{"z":1,"z":2,"\ud800":3}"#, Some(r#"{"z":1,"z":2,"\ud800":3}"#)),
        // A value of another type has no column for its keys, but its key is known.
        (r#"{"s":[{"z":1}],"l":{"z":1}}"#, None),
    ] {
        let expected = vec![expected.map(str::to_owned)];
        for framing in [Framing::Lines, Framing::Concatenated, Framing::Array] {
            assert_eq!(found(&format!(" {record}\n"), framing, &[0]), expected, "{record}");
        }
    }
}

#[test]
fn records_are_found_by_their_numbers() {
    let one = |number: u64| format!("{{\"z\":{number}}}");
    let all = |numbers: &[u64]| -> Vec<_> { numbers.iter().map(|n| Some(one(*n))).collect() };
    let lines = format!("\n{}\n \n{{\"z\":\n\r\n{}", one(0), one(2));
    assert_eq!(found(&lines, Framing::Lines, &[0, 2]), all(&[0, 2]));
    // The malformed ones have numbers, too: a word, what is unbalanced, a missing comma, none.
    let text = format!("{}tru{{]{}", one(0), one(3));
    assert_eq!(found(&text, Framing::Concatenated, &[0, 3]), all(&[0, 3]));
    let array = format!("{} , tru, {{], , {} {}", one(0), one(4), one(5));
    assert_eq!(found(&array, Framing::Array, &[0, 4, 5]), all(&[0, 4, 5]));
    assert_eq!(found("", Framing::Array, &[0]), [None]);
    // The second one may be no JSON, and is none.
    let lines = "{\"z\":0}\n{\"z\":1,\"a\":tru}";
    assert_eq!(found(lines, Framing::Lines, &[0, 1]), [Some(one(0)), None]);
}

/// What `SCHEMA` has no column for, found slowly.
fn expected(value: &Value, schema: &Value) -> Option<Value> {
    match (value, schema) {
        (Value::Object(fields), Value::Object(known)) => {
            let mut rest = Map::new();
            for (key, value) in fields {
                match known.get(key).or_else(|| known.get("*")) {
                    Some(schema) => {
                        rest.extend(expected(value, schema).map(|value| (key.clone(), value)));
                    }
                    None => drop(rest.insert(key.clone(), value.clone())),
                }
            }
            (!rest.is_empty()).then_some(Value::Object(rest))
        }
        (Value::Array(items), Value::Array(known)) => {
            let rest: Vec<_> = items.iter().map(|item| expected(item, &known[0])).collect();
            rest.iter().any(Option::is_some).then(|| json!(rest))
        }
        _ => None,
    }
}

fn random(rng: &mut Rng, depth: usize) -> Value {
    match if depth == 0 { 0 } else { rng.below(4) } {
        0 => [json!(null), json!(1), json!("]\"\\"), json!({}), json!([])][rng.below(5)].clone(),
        1 => (0..rng.below(4)).map(|_| random(rng, depth - 1)).collect(),
        _ => {
            let keys = ["a", "s", "b", "t", "c", "l", "m", "n", "j", "k", "z"];
            let mut field = |_| (keys[rng.below(keys.len())].to_owned(), random(rng, depth - 1));
            Value::Object((0..5).map(&mut field).collect())
        }
    }
}

#[test]
fn random_records() {
    let schema = json!({
        "a": 0, "s": {"b": 0, "t": {"c": 0}}, "l": [{"a": 0}], "m": {"*": {"a": 0}}, "n": 0,
        "j": 0, "k": 0,
    });
    let mut some = 0;
    for seed in 0..3_000 {
        let rng = &mut Rng::new(seed);
        let records: Vec<Value> = (0..rng.below(5)).map(|_| random(rng, 5)).collect();
        let (numbers, framing) = (0..records.len() as u64, Framing::Concatenated);
        let pretty = |value: &Value| serde_json::to_string_pretty(value).unwrap() + "\n";
        let text: String = records.iter().map(pretty).collect();
        let rescuer = rescuer();
        for (record, found) in
            records.iter().zip(rescuer.records(text.as_bytes(), framing, numbers, &[0, 2]))
        {
            let found: Option<Value> = found.map(|text| serde_json::from_str(&text).unwrap());
            assert_eq!(found, expected(record, &schema), "seed {seed}: {record}");
            some += usize::from(found.is_some());
        }
    }
    assert!(some > 1_000, "{some}");
}
