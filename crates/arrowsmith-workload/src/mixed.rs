// SPDX-License-Identifier: Apache-2.0
//! Records that do not look alike: what an event log of several services looks like to a reader
//! with one schema for all of them.
//!
//! Every key, `user_id` or `payment_region`, is a noun and an attribute. The place of a key
//! determines the type of its value: integer, float, string, Boolean or null, list of integers.

use std::sync::LazyLock;

use crate::rng::SplitMix64;
use crate::writer::Writer;

/// Keys of a schema with few keys: the first ones of [`KEYS`].
pub(crate) const FEW: usize = 40;

/// Keys of a schema with many keys: all of [`KEYS`].
pub(crate) const MANY: usize = NOUNS.len() * ATTRIBUTES.len();

/// Nested objects of `mixed-nested`, with [`ATTRIBUTES`] as keys.
pub(crate) const NESTED: usize = 8;

/// Keys of a record of one kind.
const KIND_KEYS: usize = 15;

/// Keys of a record of `mixed-keys-200`.
const PICKED_KEYS: usize = 30;

pub(crate) const NOUNS: [&str; 20] = [
    "user",
    "payment",
    "request",
    "order",
    "session",
    "db",
    "cart",
    "inventory",
    "shipment",
    "queue",
    "cache",
    "worker",
    "subscription",
    "ad",
    "campaign",
    "device",
    "network",
    "gateway",
    "tls",
    "container",
];

pub(crate) const ATTRIBUTES: [&str; 10] = [
    "id",
    "ratio",
    "name",
    "ok",
    "sizes",
    "count",
    "latency_ms",
    "description",
    "retried",
    "steps",
];

/// The keys, in the order of the schema.
pub(crate) static KEYS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let key = |noun: &&str| ATTRIBUTES.map(|attribute| format!("{noun}_{attribute}"));
    NOUNS.iter().flat_map(key).collect()
});

/// The type of the value at a place of the schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Int,
    Float,
    Text,
    Bool,
    Ints,
}

impl Kind {
    pub(crate) fn of(place: usize) -> Self {
        [Self::Int, Self::Float, Self::Text, Self::Bool, Self::Ints][place % 5]
    }
}

/// How the records of a workload differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// All keys in the order of the schema: for comparison.
    Uniform,
    /// About half of the keys, in the order of the schema.
    Subsets,
    /// All keys in random order.
    Orders,
    /// One of eight kinds, at random; each has keys and an order of its own.
    Kinds,
    /// One of three kinds, in runs of 20 to 200 records.
    Bursts,
    /// Half of the keys are not in the schema.
    Unknown,
    /// A few of 200 keys, in random order.
    Many,
    /// Some of eight objects, in random order, with some of ten keys each.
    Nested,
}

/// The kinds of records, and which one is next.
#[derive(Debug, Clone, Default)]
pub(crate) struct Kinds {
    keys: Vec<Vec<usize>>,
    current: usize,
    /// Records left of the current run.
    left: u64,
}

impl Kinds {
    /// The keys of the next record.
    fn next(&mut self, rng: &mut SplitMix64, kinds: usize, run: (u64, u64)) -> Vec<usize> {
        while self.keys.len() < kinds {
            self.keys.push(picked(rng, FEW, KIND_KEYS));
        }
        if self.left == 0 {
            self.current = index(rng, kinds);
            self.left = rng.between(run.0, run.1);
        }
        self.left -= 1;
        self.keys[self.current].clone()
    }
}

pub(crate) fn record(json: &mut Writer<'_>, rng: &mut SplitMix64, shape: Shape, kinds: &mut Kinds) {
    let keys: Vec<usize> = match shape {
        Shape::Uniform => (0..FEW).collect(),
        Shape::Subsets => (0..FEW).filter(|_| rng.chance(450)).collect(),
        Shape::Orders => picked(rng, FEW, FEW),
        Shape::Kinds => kinds.next(rng, 8, (1, 1)),
        Shape::Bursts => kinds.next(rng, 3, (20, 200)),
        Shape::Unknown => unknown(rng),
        Shape::Many => picked(rng, MANY, PICKED_KEYS),
        Shape::Nested => return nested(json, rng),
    };
    json.object(|json| {
        for place in keys {
            json.key(&KEYS[place]);
            value(json, rng, Kind::of(place));
        }
    });
}

/// About half of the keys, and in between as many that are not among the first [`FEW`].
fn unknown(rng: &mut SplitMix64) -> Vec<usize> {
    let mut keys = Vec::new();
    for place in 0..FEW {
        if rng.chance(450) {
            keys.push(place);
        }
        if rng.chance(450) {
            let other = FEW + index(rng, MANY - FEW);
            if !keys.contains(&other) {
                keys.push(other);
            }
        }
    }
    keys
}

fn nested(json: &mut Writer<'_>, rng: &mut SplitMix64) {
    json.object(|json| {
        for noun in picked(rng, NESTED, NESTED) {
            if rng.chance(350) {
                continue;
            }
            json.key(NOUNS[noun]);
            json.object(|json| {
                for attribute in picked(rng, ATTRIBUTES.len(), ATTRIBUTES.len()) {
                    if rng.chance(450) {
                        json.key(ATTRIBUTES[attribute]);
                        value(json, rng, Kind::of(attribute));
                    }
                }
            });
        }
    });
}

fn value(json: &mut Writer<'_>, rng: &mut SplitMix64, kind: Kind) {
    match kind {
        Kind::Int => {
            let digits = rng.between(1, 11);
            let limit = (0..digits).fold(1, |power, _| power * 10);
            json.uint(rng.between(0, limit - 1));
        }
        Kind::Float => {
            json.uint(rng.between(0, 999));
            json.raw(".");
            json.digits(rng.between(0, 9_999_999_999_999), 13);
        }
        Kind::Text => {
            let mut text = String::new();
            for _ in 0..rng.between(0, 39) {
                text.push_str(rng.pick(&["a", "b", "c", "d", "e", "f", "g", "h", " ", "i", "j"]));
            }
            json.string(&text);
        }
        Kind::Bool => json.raw(rng.pick(&["true", "false", "null"])),
        Kind::Ints => json.array(|json| {
            for _ in 0..rng.between(0, 5) {
                json.item();
                json.uint(rng.between(0, 98));
            }
        }),
    }
}

/// `count` different numbers below `all`, in random order.
fn picked(rng: &mut SplitMix64, all: usize, count: usize) -> Vec<usize> {
    let mut places: Vec<usize> = (0..all).collect();
    for at in 0..count.min(all) {
        let other = at + index(rng, all - at);
        places.swap(at, other);
    }
    places.truncate(count);
    places
}

/// A number below `count`.
fn index(rng: &mut SplitMix64, count: usize) -> usize {
    usize::try_from(rng.between(0, count.saturating_sub(1) as u64)).unwrap_or(0)
}
