// SPDX-License-Identifier: Apache-2.0
//! The conformance suite of JSON over the kernels, run on the CPU, in one piece and in many, in
//! random order.

#![cfg(feature = "shim")]

use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema};
use arrowsmith_core::{DecodeOptions, Framing, OnError};
use arrowsmith_engine_gpu::{GpuEngine, GpuOptions};
use arrowsmith_plan::Plan;
use arrowsmith_testkit::conformance::{Held, Suite};
use arrowsmith_testkit::engines::before_cpu;
use arrowsmith_testkit::oracle::OracleEngine;
use arrowsmith_testkit::random::Profile;
use arrowsmith_testkit::run::{Input, difference, observe};

use crate::common;

fn engine(seed: u64, options: GpuOptions) -> GpuEngine {
    GpuEngine::new(common::device(seed), options)
}

/// The suite over the engine, with `cpu` after it.
fn suite(engine: &GpuEngine, check: impl Fn(&Suite<'_>) -> Held) {
    check(&Suite::new(&before_cpu(engine.clone())).sampled(4)).unwrap();
}

/// The suite with these limits, its threads in the order of a seed.
fn with(seed: u64, options: &GpuOptions, check: impl Fn(&Suite<'_>) -> Held) {
    let check = |suite: &Suite<'_>| {
        check(suite).inspect_err(|_| eprintln!("with {options:?}, threads by {seed}"))
    };
    suite(&engine(seed, options.clone()), check);
}

#[test]
fn cases() {
    with(1, &GpuOptions::default(), |suite| suite.cases());
}

#[test]
fn corpora() {
    with(2, &GpuOptions::default(), |suite| suite.corpora());
}

/// None of them is decoded by the next engine.
#[test]
fn workloads() {
    let engine = engine(11, GpuOptions::default());
    suite(&engine, |suite| suite.workloads(1 << 15));
    let (all, careful) = (engine.counters().bytes(), engine.counters().careful_bytes());
    assert!(all > 1 << 20 && careful == 0, "{careful} of {all} bytes by the CPU engine");
}

#[test]
fn random_texts() {
    for seed in 0..common::seeds(200) {
        let check = |suite: &Suite<'_>| suite.random_text(Profile::Full, seed);
        with(seed, &GpuOptions::default(), check);
    }
}

#[test]
fn random_faults() {
    for seed in 0..common::seeds(200) {
        let check = |suite: &Suite<'_>| suite.random_fault(Profile::Full, seed);
        with(seed, &GpuOptions::default(), check);
    }
}

#[test]
fn records_that_look_alike() {
    for seed in 0..common::seeds(200) / 4 {
        with(seed, &GpuOptions::default(), |suite| {
            suite.random_text(Profile::Alike, seed)?;
            suite.random_fault(Profile::Alike, seed)
        });
    }
}

#[test]
fn little_memory_and_small_pieces() {
    for seed in 0..common::seeds(200) / 4 {
        let gpu = GpuOptions::default()
            .with_memory_bytes_max(1 << (20 + seed % 3))
            .with_piece_bytes_max(1 << (4 + seed % 8));
        with(seed, &gpu, |suite| suite.random_text(Profile::Alike, seed));
    }
}

/// Runs of backslashes and quotes at every offset of a thread's 64 bytes, and of a block.
#[test]
fn escapes_across_words_and_blocks() {
    let field = Field::new("a", DataType::Utf8, true);
    let plan = Arc::new(Plan::new(Arc::new(Schema::new(vec![field]))).unwrap());
    let mut sound = Vec::new();
    for run in 0..200 {
        let text = "\\\\".repeat(run) + "\\\"" + &"x".repeat(run % 67);
        sound.extend(format!("{{\"a\":\"{text}\"}}\n").bytes());
    }
    // The same with an odd one at the end of a string, which leaves it open: only that line is
    // malformed.
    let mut broken = sound.clone();
    broken.extend(b"{\"a\":\"\\\"}\n");
    broken.extend(&sound);
    let mut options = DecodeOptions::default();
    options.on_error = OnError::Skip;
    for text in [&sound, &broken] {
        for framing in [Framing::Lines, Framing::Concatenated] {
            let input = Input::whole(text, framing);
            let expected = observe(&OracleEngine, &plan, &options, &input).unwrap();
            let engine = engine(9, GpuOptions::default());
            let chain = before_cpu(engine.clone());
            let found = observe(&chain, &plan, &options, &input).unwrap();
            assert_eq!(difference(&expected, &found), None, "{framing:?}");
            let careful = engine.counters().careful_bytes();
            assert!(text.len() > sound.len() || careful == 0, "{careful} bytes by the CPU engine");
        }
    }
}
