// SPDX-License-Identifier: Apache-2.0
//! Random schemas, random rows for them, random spellings of these as JSON, and mutations of such a
//! text. Everything is determined by a seed, so that a failure can be reproduced from it.

mod broken;
mod coerced;
mod columns;
mod schema;
mod spell;
mod values;
mod write;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use arrowsmith_core::{DecodeOptions, DuplicateKeys, Framing, OnError, UnknownKeys};
use arrowsmith_plan::Plan;
use arrowsmith_workload::SplitMix64;

use crate::oracle::{Cell, batch};

pub use broken::mutate;
pub use coerced::coerced_case;
pub use columns::some_columns;

/// The range of random schemas and texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    /// Everything in the contract.
    Full,
    /// The same, in many similar records: keys in one order, no white space, few irregularities.
    Alike,
    /// Everything in the contract, in many records of many fields that differ: keys in no order or
    /// in that of one of several kinds, missing, repeated, unknown; keys that differ only in their
    /// middle or tail, or are longer than 64 bytes.
    Mixed,
    /// The subset that arrow-json 59 supports and reads as the contract requires: no dictionaries,
    /// no `arrow.json`, no base64, no empty structs; 16-bit floats in their shortest spelling (it
    /// rounds twice); decimals of a scale of 0 or more, without exponents; date64, times and
    /// durations as integers; timestamps without zone or with an offset of 0, with seconds; no
    /// escaped surrogate pairs (it gets some characters wrong: `\uDB61\uDEF2` is U+E86F2, and it
    /// says U+D86F2).
    ArrowJson,
}

impl Profile {
    fn is_full(self) -> bool {
        self != Self::ArrowJson
    }
}

/// A generator of random numbers, the same on every machine.
#[derive(Debug, Clone)]
pub struct Rng(SplitMix64);

impl Rng {
    /// A generator with this seed.
    pub fn new(seed: u64) -> Self {
        Self(SplitMix64::new(seed))
    }

    /// The next number.
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number below `end`, which is not 0.
    pub fn below(&mut self, end: usize) -> usize {
        self.0.index(end)
    }

    /// A number from `first` to `last`, both included.
    pub fn range(&mut self, first: i128, last: i128) -> i128 {
        // 0 stands for all numbers of 128 bits.
        let span = last.wrapping_sub(first).cast_unsigned().wrapping_add(1);
        let wide = u128::from(self.bits()) << 64 | u128::from(self.bits());
        first.wrapping_add(wide.checked_rem(span).unwrap_or(wide).cast_signed())
    }

    /// True once in `times`.
    pub fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// One of these.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }
}

/// A plan, rows, and a text that decodes to these rows.
#[derive(Debug, Clone)]
pub struct RandomCase {
    /// The plan of a random schema.
    pub plan: Arc<Plan>,
    /// How the records are framed.
    pub framing: Framing,
    /// The records: of an array without its brackets.
    pub text: Vec<u8>,
    /// The rows of the records.
    pub rows: Vec<Cell>,
    /// Where chunks may be split: for lines, after each line.
    pub cuts: Vec<usize>,
}

/// The case of a seed.
pub fn case(seed: u64, profile: Profile) -> RandomCase {
    let rng = &mut Rng::new(seed);
    let plan = loop {
        // Field names may collide; then the next schema is tried.
        if let Ok(plan) = Plan::new(schema::schema(rng, profile)) {
            break Arc::new(plan);
        }
    };
    let framings = [Framing::Lines, Framing::Lines, Framing::Concatenated, Framing::Array];
    let (framing, count) = match profile {
        Profile::Alike => (Framing::Lines, 20 + rng.below(40)),
        Profile::Mixed => (*rng.pick(&framings), 20 + rng.below(60)),
        _ => (*rng.pick(&framings), rng.below(7)),
    };
    let mut rows: Vec<Cell> = (0..count).map(|_| values::record(rng, &plan)).collect();
    // A dictionary may run out of keys.
    while batch(&plan, &rows).is_err() {
        rows.pop();
    }
    let mut case = RandomCase { plan, framing, text: Vec::new(), rows, cuts: Vec::new() };
    write::records(rng, profile, &mut case);
    case
}

/// The case of a seed, mutated in one to three places; its `rows` are no longer valid.
pub fn broken_case(seed: u64, profile: Profile) -> RandomCase {
    let mut case = case(seed, profile);
    let rng = &mut Rng::new(seed ^ 0xB0B0);
    for _ in 0..=rng.below(3) {
        mutate(rng, &mut case.text);
    }
    case.cuts.clear();
    if case.framing == Framing::Lines {
        let feeds = case.text.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
        case.cuts = feeds.map(|(at, _)| at + 1).collect();
    }
    case
}

/// Random options. Not `trust`, under which engines may differ about text that is not JSON.
pub fn options(rng: &mut Rng) -> DecodeOptions {
    let mut options = DecodeOptions::default();
    options.on_error = *rng.pick(&[OnError::Fail, OnError::Fail, OnError::Skip, OnError::Null]);
    if rng.one_in(4) {
        options.duplicate_keys = DuplicateKeys::Error;
    }
    if rng.one_in(4) {
        options.unknown_keys = UnknownKeys::Error;
    }
    options.allow_nan = rng.one_in(3);
    if rng.one_in(4) {
        options.limits = options.limits.with_depth_max(1 + rng.below(5));
    }
    if rng.one_in(4) {
        options.limits = options.limits.with_record_bytes_max(rng.below(100));
    }
    options
}
