// SPDX-License-Identifier: Apache-2.0
//! The oracle reads back the output of the generators, and so does arrow-json, where it can.

use arrowsmith_core::DecodeOptions;
use arrowsmith_engine_reference::ReferenceEngine;

use super::{Profile, Rng, broken_case, case, options};
use crate::oracle::{OracleEngine, batch};
use crate::render;
use crate::run::{Input, PADDINGS, Padding, compare, difference, observe};

/// Number of cases per test: a few seconds in all.
const CASES: u64 = 20_000;

#[test]
fn the_oracle_reads_back_what_was_written() {
    for seed in 0..CASES {
        let case = case(seed, Profile::Full);
        let expected = match batch(&case.plan, &case.rows) {
            Ok(batch) => render::rows(&batch),
            Err(error) => panic!("seed {seed}: {error}"),
        };
        let input = Input::whole(&case.text, case.framing);
        let found = observe(&OracleEngine, &case.plan, &DecodeOptions::default(), &input).unwrap();
        let text = String::from_utf8_lossy(&case.text);
        assert_eq!(found.error, None, "seed {seed}: {text}");
        assert_eq!(found.broken, None, "seed {seed}: {text}");
        assert_eq!(found.rows, expected, "seed {seed}: {text}");
        assert_eq!(found.records, case.rows.len() as u64, "seed {seed}");
    }
}

#[test]
fn the_oracle_does_not_mind_how_lines_are_cut() {
    for seed in 0..CASES {
        let case = broken_case(seed, Profile::Full);
        let rng = &mut Rng::new(seed);
        let options = options(rng);
        let whole = Input::whole(&case.text, case.framing);
        let whole = observe(&OracleEngine, &case.plan, &options, &whole).unwrap();
        for &cut in &case.cuts {
            let (one, other) = case.text.split_at(cut);
            let padding = *rng.pick(PADDINGS);
            let input = Input::split(&[one, other], case.framing, padding);
            let mut found = observe(&OracleEngine, &case.plan, &options, &input).unwrap();
            if whole.error.is_some() {
                // The counts of records and lines of a failed chunk are not kept.
                (found.records, found.lines) = (whole.records, whole.lines);
                found.rejects.clone_from(&whole.rejects);
            }
            assert_eq!(difference(&whole, &found), None, "seed {seed}, cut {cut}");
        }
    }
}

#[test]
fn arrow_json_agrees_where_it_can() {
    for seed in 0..CASES {
        let case = case(seed, Profile::ArrowJson);
        let padding = Padding::Text("}],9\"");
        let input = Input::split(&[&case.text], case.framing, padding);
        let options = DecodeOptions::default();
        let result =
            compare(&OracleEngine, &ReferenceEngine::default(), &case.plan, &options, &input);
        if let Err(difference) = result {
            let text = String::from_utf8_lossy(&case.text);
            panic!("seed {seed}: {difference}\n{:?}\n{text}", case.plan.schema());
        }
        observe(&ReferenceEngine::default(), &case.plan, &options, &input).unwrap();
    }
}

#[test]
fn broken_texts_are_mostly_refused_and_never_panic() {
    let mut refused = 0;
    for seed in 0..CASES {
        let case = broken_case(seed, Profile::Full);
        let options = options(&mut Rng::new(seed));
        let input = Input::whole(&case.text, case.framing);
        let found = observe(&OracleEngine, &case.plan, &options, &input).unwrap();
        refused += u64::from(found.error.is_some() || !found.rejects.is_empty());
        assert_eq!(found.broken, None, "seed {seed}");
    }
    assert!(refused * 3 > CASES, "{refused} of {CASES}");
}
