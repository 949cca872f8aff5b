// SPDX-License-Identifier: Apache-2.0
//! The conformance suite of JSON over the engine, on every instruction set.

use arrowsmith_engine_cpu::CpuEngine;
use arrowsmith_testkit::conformance::{Held, Suite};
use arrowsmith_testkit::random::Profile;
use arrowsmith_testkit::scale;

/// The suite on each instruction set.
pub fn each_level(check: impl Fn(Suite<'_>) -> Held) {
    for level in CpuEngine::levels() {
        let engine = CpuEngine::with_level(level);
        check(Suite::new(&engine).named(format!("cpu, {}", level.name()))).unwrap();
    }
}

/// The suite on the instruction set whose turn it is by the seed; at full scale on each.
pub fn by_turns(seed: u64, check: impl Fn(Suite<'_>) -> Held) {
    if scale::full() {
        return each_level(check);
    }
    let levels = CpuEngine::levels();
    let level = levels[usize::try_from(seed).unwrap() % levels.len()];
    let engine = CpuEngine::with_level(level);
    check(Suite::new(&engine).named(format!("cpu, {}", level.name()))).unwrap();
}

/// Seeds to try: `ARROWSMITH_SEEDS` has another number.
fn seeds() -> u64 {
    scale::number("ARROWSMITH_SEEDS", 2_000, 40_000)
}

#[test]
fn cases() {
    each_level(|suite| suite.cases());
}

#[test]
fn corpora() {
    each_level(|suite| suite.corpora());
}

#[test]
fn workloads() {
    each_level(|suite| suite.workloads(1 << 18));
}

#[test]
fn random_texts() {
    for seed in 0..seeds() {
        each_level(|suite| suite.random_text(Profile::Full, seed));
    }
}

#[test]
fn random_faults() {
    for seed in 0..seeds() {
        each_level(|suite| suite.random_fault(Profile::Full, seed));
    }
}

#[test]
fn records_that_look_alike() {
    for seed in 0..seeds() / 4 {
        by_turns(seed, |suite| suite.random_text(Profile::Alike, seed));
        by_turns(seed, |suite| suite.random_fault(Profile::Alike, seed));
    }
}

#[test]
fn records_that_do_not_look_alike() {
    for seed in 0..seeds() / 8 {
        by_turns(seed, |suite| suite.random_text(Profile::Mixed, seed));
        by_turns(seed, |suite| suite.random_fault(Profile::Mixed, seed));
    }
}

#[test]
fn some_columns() {
    for seed in 0..seeds() / 2 {
        each_level(|suite| suite.random_columns(Profile::Full, seed));
    }
    for seed in 0..seeds() / 16 {
        by_turns(seed, |suite| suite.random_columns(Profile::Alike, seed));
        by_turns(seed, |suite| suite.random_columns(Profile::Mixed, seed));
    }
}

#[test]
fn coercions() {
    for seed in 0..4 * seeds() {
        each_level(|suite| suite.random_coercion(seed));
    }
}
