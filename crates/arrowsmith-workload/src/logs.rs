// SPDX-License-Identifier: Apache-2.0
//! Nested log records, as services write them: everything that the two flat workloads of the paper
//! lack.
//!
//! Objects in objects, strings with every kind of escape, non-ASCII text, nulls, missing keys, keys
//! that are not in the schema, lists of strings, floats, negative numbers.

use crate::lineitem::WORDS;
use crate::rng::SplitMix64;
use crate::writer::Writer;

const LEVELS: [&str; 6] = ["INFO", "INFO", "INFO", "WARN", "ERROR", "DEBUG"];
const SERVICES: [&str; 6] =
    ["auth", "cart", "checkout", "inventory", "payment-gateway", "search-api"];
const ZONES: [&str; 4] = ["eu-west-1a", "eu-west-1b", "us-east-2c", "ap-south-1a"];
const METHODS: [&str; 6] = ["GET", "GET", "GET", "POST", "PUT", "DELETE"];
const RESOURCES: [&str; 4] = ["items", "orders", "sessions", "users"];
const QUERIES: [&str; 5] = ["", "?q=caf\u{e9}", "?q=a%20b", "?x=1&y=2", "?q=\u{6771}\u{4eac}"];
const STATUSES: [&str; 8] = ["200", "200", "200", "201", "304", "404", "500", "503"];
const TAGS: [&str; 6] = ["prod", "canary", "k8s", "retry", "cache-miss", "slow"];

/// Already escaped: plain, UTF-8 of two to four bytes, `\"`, `\uXXXX`, a surrogate pair.
const NAMES: [&str; 7] = [
    "Bob",
    "Anna Smith",
    "Zo\u{eb} \\\"Z\\\" M\u{fc}ller",
    "\u{5c71}\u{7530}\u{592a}\u{90ce}",
    "Jos\\u00e9 Garc\\u00EDa",
    "Chlo\u{e9} \u{1f600}",
    "Li \\uD83D\\uDE80 \\/ Wei",
];

/// Already escaped: texts that are mixed into some messages.
const ASIDES: [&str; 5] = [
    "\\n\\tat com.example.Main(Main.java:42)",
    " \\\"quoted\\\"",
    " C:\\\\tmp\\\\x",
    " \\u001b[31mred\\u001b[0m",
    " 100 \u{20ac}\\r\\n",
];

pub(crate) fn record(json: &mut Writer<'_>, rng: &mut SplitMix64) {
    json.object(|json| {
        timestamp(json, rng);
        json.key("level");
        json.string(rng.pick(&LEVELS));
        json.key("service");
        service(json, rng);
        if rng.chance(800) {
            json.key("trace_id");
            json.raw("\"");
            hex(json, rng, 32);
            json.raw("\"");
        }
        if rng.chance(750) {
            json.key("http");
            http(json, rng);
        }
        if rng.chance(600) {
            json.key("user");
            user(json, rng);
        }
        json.key("tags");
        let tags = rng.between(0, 4);
        json.array(|json| {
            for _ in 0..tags {
                json.item();
                json.string(rng.pick(&TAGS));
            }
        });
        if rng.chance(30) {
            json.key("debug");
            unknown(json, rng);
        }
        json.key("msg");
        message(json, rng);
        json.key("err");
        error(json, rng);
        json.key("seq");
        if rng.chance(500) {
            json.raw("-");
        }
        json.uint(rng.between(1, 1 << 40));
    });
}

fn timestamp(json: &mut Writer<'_>, rng: &mut SplitMix64) {
    json.key("ts");
    json.raw("\"");
    json.date(rng.between(2024, 2026), rng.between(1, 12), rng.between(1, 28));
    json.raw("T");
    json.time(rng.between(0, 23), rng.between(0, 59), rng.between(0, 59));
    json.raw(".");
    json.digits(rng.between(0, 999_999), 6);
    json.raw("Z\"");
}

fn service(json: &mut Writer<'_>, rng: &mut SplitMix64) {
    json.object(|json| {
        json.key("name");
        json.string(rng.pick(&SERVICES));
        json.key("version");
        json.raw("\"");
        json.uint(rng.between(1, 4));
        json.raw(".");
        json.uint(rng.between(0, 30));
        json.raw(".");
        json.uint(rng.between(0, 12));
        json.raw("\"");
        json.key("host");
        json.object(|json| {
            json.key("id");
            json.raw("\"i-");
            hex(json, rng, 12);
            json.raw("\"");
            json.key("zone");
            json.string(rng.pick(&ZONES));
            if rng.chance(700) {
                json.key("cpu");
                json.raw("0.");
                json.digits(rng.between(0, 9_999), 4);
            }
        });
    });
}

fn http(json: &mut Writer<'_>, rng: &mut SplitMix64) {
    json.object(|json| {
        json.key("method");
        json.string(rng.pick(&METHODS));
        json.key("path");
        json.raw("\"/api/v");
        json.uint(rng.between(1, 3));
        json.raw("/");
        json.raw(rng.pick(&RESOURCES));
        json.raw("/");
        json.uint(rng.between(1, 9_999_999));
        json.raw(rng.pick(&QUERIES));
        json.raw("\"");
        json.key("status");
        json.raw(rng.pick(&STATUSES));
        json.key("latency_ms");
        json.uint(rng.between(0, 2_500));
        json.raw(".");
        json.digits(rng.between(0, 999), 3);
        json.key("bytes");
        if rng.chance(100) {
            json.raw("null");
        } else {
            json.uint(rng.between(0, 5_000_000));
        }
    });
}

fn user(json: &mut Writer<'_>, rng: &mut SplitMix64) {
    if rng.chance(150) {
        json.raw("null");
        return;
    }
    json.object(|json| {
        json.key("id");
        json.uint(rng.between(1, 900_000_000));
        json.key("name");
        json.string(rng.pick(&NAMES));
        json.key("vip");
        json.bool(rng.chance(100));
    });
}

/// A value under a key that is not in the schema: brackets in strings, arrays in arrays.
fn unknown(json: &mut Writer<'_>, rng: &mut SplitMix64) {
    json.object(|json| {
        json.key("dump");
        json.array(|json| {
            json.item();
            json.array(|json| {
                json.item();
                json.uint(rng.between(0, 9));
                json.item();
                json.raw("-1.5e-3");
            });
            json.item();
            json.string("} ] \\\" {");
            json.item();
            json.object(|_| {});
            json.item();
            json.raw("null");
        });
        json.key("retry");
        json.bool(rng.chance(500));
    });
}

fn message(json: &mut Writer<'_>, rng: &mut SplitMix64) {
    json.raw("\"");
    let words = rng.between(3, 18);
    for word in 0..words {
        if word > 0 {
            json.raw(" ");
        }
        json.raw(rng.pick(&WORDS));
        if rng.chance(50) {
            json.raw(rng.pick(&ASIDES));
        }
    }
    json.raw("\"");
}

fn error(json: &mut Writer<'_>, rng: &mut SplitMix64) {
    if rng.chance(900) {
        json.raw("null");
        return;
    }
    json.object(|json| {
        json.key("code");
        json.uint(rng.between(1_000, 9_999));
        json.key("detail");
        json.string("connection reset by peer\\n");
    });
}

fn hex(json: &mut Writer<'_>, rng: &mut SplitMix64, digits: u32) {
    const NIBBLES: [&str; 16] =
        ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "a", "b", "c", "d", "e", "f"];
    // One random number gives sixteen digits: identifiers are long, and their randomness does not
    // matter.
    let mut bits = 0;
    for digit in 0..digits {
        if digit % 16 == 0 {
            bits = rng.next_u64();
        }
        json.raw(NIBBLES[usize::try_from(bits & 15).unwrap_or(0)]);
        bits >>= 4;
    }
}
