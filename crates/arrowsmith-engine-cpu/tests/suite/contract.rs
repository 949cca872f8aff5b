// SPDX-License-Identifier: Apache-2.0
//! The engine, on every instruction set, keeps the contract of docs/design/0002: the conformance
//! suite, the corpora, and random schemas, texts and faults beside the oracle.

use arrowsmith_core::DecodeOptions;
use arrowsmith_engine_cpu::CpuEngine;
use arrowsmith_testkit::oracle::OracleEngine;
use arrowsmith_testkit::random::{self, Profile, RandomCase, Rng};
use arrowsmith_testkit::run::{Input, Outcome, PADDINGS, Rejected, difference, observe};
use arrowsmith_testkit::{case, corpus, scale, tools};

fn engines() -> Vec<CpuEngine> {
    CpuEngine::levels().into_iter().map(CpuEngine::with_level).collect()
}

#[test]
fn conformance_suite() {
    for engine in engines() {
        let summary = case::run_suite(&engine).unwrap();
        assert!(
            summary.failures.is_empty(),
            "{}:\n{}",
            engine.level_name(),
            summary
                .failures
                .iter()
                .map(|f| f.split_whitespace().collect::<Vec<_>>().join(" "))
                .collect::<Vec<_>>()
                .join("\n")
        );
    }
}

#[test]
fn corpora() {
    let Some(folder) = tools::corpora() else { return };
    for engine in engines() {
        let summary = corpus::run_corpus(&engine, &folder).unwrap();
        let failures = &summary.failures;
        assert!(
            failures.is_empty(),
            "{}: {} failures:\n{}",
            engine.level_name(),
            failures.len(),
            failures[..failures.len().min(20)].join("\n")
        );
        assert!(summary.documents > 1000);
        assert!(corpus::vectors::run_numbers(&engine, &folder).unwrap() > 10_000);
        assert!(corpus::vectors::run_utf8(&engine, &folder).unwrap() > 0);
    }
}

/// Compares both engines on a case, in one piece and in pieces, over a padding.
fn check(seed: u64, case: &RandomCase, options: &DecodeOptions, engine: &CpuEngine) {
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
        let found = observe(engine, &case.plan, options, &input).unwrap();
        if let Some(difference) = difference(&expected, &found) {
            panic!(
                "seed {seed}, {}, {padding:?}, {:?}, {options:?}\n{}\nschema {:?}\noracle, then cpu: {}",
                engine.level_name(),
                case.framing,
                String::from_utf8_lossy(&case.text),
                case.plan.schema().fields(),
                if difference.starts_with("reject") {
                    rejects(&expected, &found)
                } else {
                    difference
                },
            );
        }
    }
}

/// The first rejects that differ.
fn rejects(one: &Outcome, other: &Outcome) -> String {
    let text =
        |r: &Rejected| format!("{:?} {} {:?}", r.mark, r.kept, String::from_utf8_lossy(&r.text));
    let (one, other): (Vec<_>, Vec<_>) =
        (one.rejects.iter().map(text).collect(), other.rejects.iter().map(text).collect());
    let at = one.iter().zip(&other).position(|(a, b)| a != b);
    let at = at.unwrap_or(one.len().min(other.len()));
    format!("reject {at}:\n{:?}\n{:?}", one.get(at), other.get(at))
}

/// Seeds to try: `ARROWSMITH_SEEDS` has another number.
fn seeds() -> u64 {
    scale::number("ARROWSMITH_SEEDS", 2_000, 40_000)
}

#[test]
fn random_texts() {
    for seed in 0..seeds() {
        let case = random::case(seed, Profile::Full);
        let options = random::options(&mut Rng::new(seed));
        for engine in engines() {
            check(seed, &case, &options, &engine);
        }
    }
}

#[test]
fn random_faults() {
    for seed in 0..seeds() {
        let case = random::broken_case(seed, Profile::Full);
        let options = random::options(&mut Rng::new(seed));
        for engine in engines() {
            check(seed, &case, &options, &engine);
        }
    }
}

#[test]
fn records_that_look_alike() {
    for seed in 0..seeds() / 4 {
        let options = random::options(&mut Rng::new(seed));
        let case = random::case(seed, Profile::Alike);
        let broken = random::broken_case(seed, Profile::Alike);
        for engine in engines() {
            check(seed, &case, &options, &engine);
            check(seed, &broken, &options, &engine);
        }
    }
}
