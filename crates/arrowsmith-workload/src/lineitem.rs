// SPDX-License-Identifier: Apache-2.0
//! TPC-H `lineitem` as JSON: the columns, ranges and formulas of the specification, scale factor
//! 10.
//!
//! The text column draws from a short list of words instead of the specification's grammar; its
//! lengths are the specification's. A workload of `arrowsmith_workload`.

use crate::rng::SplitMix64;
use crate::writer::Writer;

/// The order whose lines are being written: consecutive records share their order key.
#[derive(Debug, Clone, Default)]
pub(crate) struct Order {
    key: u64,
    line: u64,
    lines: u64,
}

/// The words that comments and messages are made of.
#[rustfmt::skip]
pub(crate) const WORDS: [&str; 32] = [
    "above", "accounts", "across", "asymptotes", "beans", "blithely", "bold", "boost",
    "carefully", "deposits", "dugouts", "even", "express", "final", "foxes", "furiously",
    "haggle", "ideas", "instructions", "ironic", "packages", "pending", "pinto", "platelets",
    "quickly", "regular", "requests", "sleep", "slyly", "the", "theodolites", "unusual",
];

pub(crate) fn record(json: &mut Writer<'_>, rng: &mut SplitMix64, order: &mut Order) {
    if order.line >= order.lines {
        order.key += rng.between(1, 4);
        order.lines = rng.between(1, 7);
        order.line = 0;
    }
    order.line += 1;

    let part = rng.between(1, 2_000_000);
    let quantity = rng.between(1, 50);
    let retail_price_cents = 90_000 + (part / 10) % 20_001 + 100 * (part % 1_000);
    json.object(|json| {
        json.key("l_orderkey");
        json.uint(order.key);
        json.key("l_partkey");
        json.uint(part);
        json.key("l_suppkey");
        json.uint(rng.between(1, 100_000));
        json.key("l_linenumber");
        json.uint(order.line);
        json.key("l_quantity");
        json.uint(quantity);
        json.raw(".0");
        json.key("l_extendedprice");
        json.hundredths(retail_price_cents * quantity);
        json.key("l_discount");
        json.hundredths(rng.between(0, 10));
        json.key("l_tax");
        json.hundredths(rng.between(0, 8));
        json.key("l_returnflag");
        json.string(rng.pick(&["R", "A", "N"]));
        json.key("l_linestatus");
        json.string(rng.pick(&["O", "F"]));
        date(json, rng, "l_shipdate");
        date(json, rng, "l_commitdate");
        date(json, rng, "l_receiptdate");
        json.key("l_shipinstruct");
        json.string(rng.pick(&["DELIVER IN PERSON", "COLLECT COD", "NONE", "TAKE BACK RETURN"]));
        json.key("l_shipmode");
        json.string(rng.pick(&["REG AIR", "AIR", "RAIL", "SHIP", "TRUCK", "MAIL", "FOB"]));
        json.key("l_comment");
        comment(json, rng);
    });
}

fn date(json: &mut Writer<'_>, rng: &mut SplitMix64, name: &str) {
    json.key(name);
    json.raw("\"");
    json.date(rng.between(1992, 1998), rng.between(1, 12), rng.between(1, 28));
    json.raw("\"");
}

/// 10 to 43 characters, truncated at the drawn length, as the specification's generator does.
fn comment(json: &mut Writer<'_>, rng: &mut SplitMix64) {
    let mut left = usize::try_from(rng.between(10, 43)).unwrap_or(10);
    json.raw("\"");
    loop {
        let word = rng.pick(&WORDS);
        json.raw(word.get(..left).unwrap_or(word));
        left = left.saturating_sub(word.len());
        if left == 0 {
            break;
        }
        json.raw(" ");
        left -= 1;
        if left == 0 {
            break;
        }
    }
    json.raw("\"");
}
