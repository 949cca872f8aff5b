// SPDX-License-Identifier: Apache-2.0
//! Random cases of coercions: columns that have some, and values that these are about, or nearly.

use std::sync::Arc;

use arrowsmith_core::Framing;
use arrowsmith_plan::Plan;
use arrowsmith_plan::text::parse_schema;

use super::{RandomCase, Rng};

/// Types with coercions.
const TYPES: &[&str] = &[
    "utf8 scalars",
    "utf8_view scalars nulls \"\" \"N/A\"",
    "large_utf8 nulls \"N/A\" not null",
    "dictionary<int8, utf8> scalars nulls \"-\"",
    "bool scalars",
    "bool scalars nulls \"-\" \"\"",
    "dictionary<int8, bool> scalars",
    "int8 scalars",
    "uint8 scalars not null",
    "int64 scalars nulls \"N/A\"",
    "uint64 scalars",
    "int32 nulls \"N/A\"",
    "float64 scalars",
    "float32 scalars nulls \"-\"",
    "float16 scalars",
    "decimal128(9, 2) nulls \"N/A\"",
    "decimal256(40, 3) scalars",
    "json nulls \"N/A\"",
    "json nulls \"N/A\" not null",
    "binary nulls \"-\"",
    "fixed_size_binary(3) encoding hex nulls \"N/A\"",
    "date32(\"%d.%m.%Y\", \"%F\")",
    "date32(\"%d %b %Y\") scalars nulls \"\"",
    "date64 scalars format \"%a %d %b %Y %I:%M:%S %p\" \"%Y%j\"",
    "time32(s) scalars format \"%H.%M\"",
    "time64(us, \"%I:%M %p\", \"%T.%f\")",
    "timestamp(us) epoch s",
    "timestamp(s) epoch ns scalars",
    "timestamp(ns, \"UTC\") epoch ms nulls \"-\"",
    "timestamp(ms, \"%d.%m.%Y %T.%f\", \"%FT%R%z\")",
    "timestamp(us, \"+02:00\", \"%F %T\") scalars",
    "timestamp(us, \"Europe/Berlin\", \"%F %T\", \"%F %T%z\")",
    "duration(ms) scalars",
    "null nulls \"N/A\"",
    "list<int64 scalars nulls \"-\"> nulls \"N/A\"",
    "list<float64 scalars>",
    "list<utf8 scalars>",
    "fixed_size_list<int64 scalars, 2> nulls \"-\"",
    "map<utf8, int64 scalars> nulls \"N/A\"",
    "struct<b: int64 scalars, c: date32(\"%d.%m.%Y\") not null> nulls \"N/A\"",
    "list<struct<b: bool scalars>> nulls \"N/A\"",
    // Without any, beside those that have some.
    "int64",
    "utf8",
];

/// Values, most of which mean something to some of them.
const VALUES: &[&str] = &[
    "null",
    "true",
    "false",
    "0",
    "1",
    "-0",
    "-1",
    "1.0",
    "1.5",
    "1e2",
    "1e-2",
    "12345678901234567890",
    "-9223372036854775808",
    "9223372036854775808",
    "1e400",
    "1700000000",
    "1700000000123",
    "1700000000.123",
    "1700000000.1234567890",
    "1700000000123456789",
    "1.7e9",
    "1e38",
    "1e39",
    "0.10",
    "255",
    "256",
    "-1e0",
    "0.0e5",
    "NaN",
    "-Infinity",
    "tru",
    "01",
    "1x",
    "-",
    "1.",
    "\"\"",
    "\"-\"",
    "\"N/A\"",
    "\"N\\u002fA\"",
    "\"n/a\"",
    "\"N/A \"",
    "\"true\"",
    "\"TRUE\"",
    "\"False\"",
    "\"0\"",
    "\"1\"",
    "\"2\"",
    "\"-0\"",
    "\"1.0\"",
    "\"1.5\"",
    "\" 1\"",
    "\"1 \"",
    "\"+1\"",
    "\"01\"",
    "\"1e2\"",
    "\"256\"",
    "\"1e400\"",
    "\"NaN\"",
    "\"Infinity\"",
    "\"1,5\"",
    "\"12.34\"",
    "\"1700000000\"",
    "\"1700000000.5\"",
    "\"\\u0031\"",
    "\"ab\\ud800\"",
    "\"x\\q\"",
    "\"05.03.2024\"",
    "\"5.3.2024\"",
    "\"31.02.2024\"",
    "\"2024-03-05\"",
    "\"05 Mar 2024\"",
    "\"5 march 2024\"",
    "\"Tue 05 Mar 2024 12:00:01 am\"",
    "\"Wed 05 Mar 2024 12:00:01 am\"",
    "\"2024366\"",
    "\"7.30\"",
    "\"07.60\"",
    "\"12:05 PM\"",
    "\"23:59:59.25\"",
    "\"23:59:59.123456789\"",
    "\"05.03.2024 10:11:12.5\"",
    "\"05.03.2024 10:11:12.5555\"",
    "\"2024-03-05T10:11+01:00\"",
    "\"2024-03-05T10:11Z\"",
    "\"2024-03-05 10:11:12\"",
    "\"2024-03-05 10:11:12-0830\"",
    "\"0000-01-01 00:00:00\"",
    "\"2024-03-05T10:11:12\"",
    "\"PT1M\"",
    "\"AQID\"",
    "\"010203\"",
    "\"ü\"",
    "\"\u{1}\"",
    "[]",
    "[1,\"2\",null]",
    "[\"-\",\"3\"]",
    "[\"1.5\",true]",
    "[1,2]",
    "{}",
    "{\"b\":\"1\",\"c\":\"05.03.2024\"}",
    "{\"b\":1.0}",
    "{\"x\":\"7\",\"y\":8}",
    "{\"b\":\"N/A\",\"c\":\"N/A\"}",
    "[{\"b\":\"1\"},{\"b\":0},\"N/A\"]",
    "[{\"b\":\"x\"}]",
];

/// A random schema and text, for any options.
pub fn coerced_case(seed: u64) -> RandomCase {
    let rng = &mut Rng::new(seed);
    let types: Vec<&str> = (0..1 + rng.below(4)).map(|_| *rng.pick(TYPES)).collect();
    let columns = types.iter().enumerate().map(|(number, one)| format!("k{number}: {one}\n"));
    let schema = columns.collect::<String>();
    #[expect(clippy::expect_used, reason = "the types are written above")]
    let plan = parse_schema(&schema).and_then(|schema| Plan::new(Arc::new(schema))).expect(&schema);
    let framing =
        *rng.pick(&[Framing::Lines, Framing::Lines, Framing::Concatenated, Framing::Array]);
    let (mut text, mut cuts) = (Vec::new(), Vec::new());
    // Often the same few values, so that records look alike.
    let few: Vec<&str> = (0..1 + rng.below(6)).map(|_| *rng.pick(VALUES)).collect();
    for record in 0..rng.below(40) {
        if framing == Framing::Array && record > 0 {
            text.push(b',');
        }
        let mut fields = Vec::new();
        for number in 0..types.len() {
            let value = if rng.one_in(8) { *rng.pick(VALUES) } else { *rng.pick(&few) };
            let space = if rng.one_in(30) { " " } else { "" };
            fields.push(format!("\"k{number}\":{space}{value}"));
        }
        text.extend(format!("{{{}}}", fields.join(",")).bytes());
        match framing {
            Framing::Lines => {
                text.push(b'\n');
                cuts.push(text.len());
            }
            Framing::Concatenated => text.push(b' '),
            Framing::Array => {}
        }
    }
    RandomCase { plan: Arc::new(plan), framing, rows: Vec::new(), text, cuts }
}
