// SPDX-License-Identifier: Apache-2.0
//! The kernels, run on the CPU, keep the contract of docs/design/0002: the conformance suite, the corpora,
//! and random schemas, texts and faults beside the oracle; in one piece and in many, in random order.

#![cfg(feature = "shim")]

use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema};
use arrowsmith_core::{DecodeOptions, Framing, OnError};
use arrowsmith_engine_gpu::{GpuEngine, GpuOptions};
use arrowsmith_plan::Plan;
use arrowsmith_testkit::oracle::OracleEngine;
use arrowsmith_testkit::random::{self, Profile, RandomCase, Rng};
use arrowsmith_testkit::run::{Input, PADDINGS, difference, observe};
use arrowsmith_testkit::scale::{Sample, full};
use arrowsmith_testkit::{case, corpus, tools};

use crate::common;

fn engine(seed: u64, options: GpuOptions) -> GpuEngine {
    GpuEngine::new(common::device(seed), options)
}

#[test]
fn conformance_suite() {
    let engine = engine(1, GpuOptions::default());
    let summary = case::run_some(&engine, &mut Sample::of("cases", 2)).unwrap();
    assert!(summary.failures.is_empty(), "{}", summary.failures.join("\n"));
}

#[test]
fn corpora() {
    let Some(folder) = tools::corpora() else { return };
    let engine = engine(2, GpuOptions::default());
    let mut sample = Sample::of("documents", 4);
    let summary = corpus::run_some(&engine, &folder, &mut sample).unwrap();
    let failures = &summary.failures;
    assert!(
        failures.is_empty(),
        "{} failures:\n{}",
        failures.len(),
        failures[..failures.len().min(20)].join("\n")
    );
    assert!(summary.documents > if full() { 1000 } else { 300 }, "{}", summary.documents);
    assert!(corpus::vectors::run_numbers(&engine, &folder).unwrap() > 10_000);
    assert!(corpus::vectors::run_utf8(&engine, &folder).unwrap() > 0);
}

/// Compares both engines on a case, in one piece and in pieces, over a padding.
fn check(seed: u64, case: &RandomCase, options: &DecodeOptions, gpu: &GpuOptions) {
    let rng = &mut Rng::new(seed ^ 0xCA5E);
    let padding = *rng.pick(PADDINGS);
    let mut inputs = vec![vec![&case.text[..]]];
    if !case.cuts.is_empty() {
        let mut pieces = Vec::new();
        let mut from = 0;
        for &cut in &case.cuts {
            pieces.push(&case.text[from..cut]);
            from = cut;
        }
        pieces.push(&case.text[from..]);
        inputs.push(pieces);
    }
    for pieces in inputs {
        let input = Input::split(&pieces, case.framing, padding);
        let expected = observe(&OracleEngine, &case.plan, options, &input).unwrap();
        let engine = engine(seed, gpu.clone());
        let found = observe(&engine, &case.plan, options, &input).unwrap();
        if let Some(difference) = difference(&expected, &found) {
            panic!(
                "seed {seed}, {padding:?}, {:?}, {options:?}, {gpu:?}\n{}\nschema {:?}\noracle, then gpu: {difference}",
                case.framing,
                String::from_utf8_lossy(&case.text),
                case.plan.schema().fields(),
            );
        }
    }
}

#[test]
fn random_texts() {
    for seed in 0..common::seeds(200) {
        let case = random::case(seed, Profile::Full);
        check(seed, &case, &random::options(&mut Rng::new(seed)), &GpuOptions::default());
    }
}

#[test]
fn random_faults() {
    for seed in 0..common::seeds(200) {
        let case = random::broken_case(seed, Profile::Full);
        check(seed, &case, &random::options(&mut Rng::new(seed)), &GpuOptions::default());
    }
}

#[test]
fn records_that_look_alike() {
    for seed in 0..common::seeds(200) / 4 {
        let options = random::options(&mut Rng::new(seed));
        let case = random::case(seed, Profile::Alike);
        let broken = random::broken_case(seed, Profile::Alike);
        check(seed, &case, &options, &GpuOptions::default());
        check(seed, &broken, &options, &GpuOptions::default());
    }
}

#[test]
fn little_memory_and_small_pieces() {
    for seed in 0..common::seeds(200) / 4 {
        let options = random::options(&mut Rng::new(seed));
        let case = random::case(seed, Profile::Alike);
        let gpu = GpuOptions::default()
            .with_memory_bytes_max(1 << (20 + seed % 3))
            .with_piece_bytes_max(1 << (4 + seed % 8));
        check(seed, &case, &options, &gpu);
    }
}

/// Runs of backslashes and quotes at every place of the 64 bytes that a thread looks at, and of the blocks.
#[test]
fn escapes_across_words_and_blocks() {
    let field = Field::new("a", DataType::Utf8, true);
    let plan = Arc::new(Plan::new(Arc::new(Schema::new(vec![field]))).unwrap());
    let mut sound = Vec::new();
    for run in 0..200 {
        let text = "\\\\".repeat(run) + "\\\"" + &"x".repeat(run % 67);
        sound.extend(format!("{{\"a\":\"{text}\"}}\n").bytes());
    }
    // The same with an odd one at the end of a string, which leaves it open: that line is broken, no other.
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
            let found = observe(&engine, &plan, &options, &input).unwrap();
            assert_eq!(difference(&expected, &found), None, "{framing:?}");
            let careful = engine.counters().careful_bytes();
            assert!(text.len() > sound.len() || careful == 0, "{careful} bytes by the CPU engine");
        }
    }
}
