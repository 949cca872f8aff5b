// SPDX-License-Identifier: Apache-2.0
//! Groups of records are read as the oracle reads them, whatever they look like.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema};
use arrowsmith_core::{Chunk, DecodeOptions, Decoder, ErrorKind, Framing, OnError, PADDING_BYTES};
use arrowsmith_engine::{Answer, Chain, ColumnDecoder, ColumnRequest, Declined, Engine};
use arrowsmith_parquet::{Column, File, ReadOptions};
use arrowsmith_plan::Plan;
use arrowsmith_simd::Level;
use arrowsmith_testkit::conformance::{Held, Suite};
use arrowsmith_testkit::random::Profile;
use arrowsmith_testkit::scale;
use arrowsmith_workload::{Generator, Workload};

use super::super::JsonDecoder;
use super::RECORDS_MAX;

/// An engine that learns no order of members, so that it reads all lines in groups.
#[derive(Debug)]
struct Unordered(Level);

impl Engine for Unordered {
    fn name(&self) -> &'static str {
        "cpu"
    }

    fn check_json(&self, plan: &Plan, options: &DecodeOptions) -> Answer<()> {
        Ok(plan.check(&options.limits)?)
    }

    fn json(
        &self,
        plan: &Arc<Plan>,
        options: &DecodeOptions,
        _rest: &Chain,
    ) -> Answer<Box<dyn Decoder>> {
        let mut decoder = JsonDecoder::new(plan, options.clone(), self.0)?;
        decoder.state.predictors.iter_mut().for_each(|predictor| predictor.rest());
        Ok(Box::new(decoder))
    }

    fn check_parquet(&self, _: &File, _: &Column, _: &ReadOptions) -> Answer<()> {
        Err(Declined::new("", "it reads JSON").into())
    }

    fn parquet(&self, _: &ColumnRequest<'_>, _: &Chain) -> Answer<Box<dyn ColumnDecoder>> {
        Err(Declined::new("", "it reads JSON").into())
    }
}

fn each_level(check: impl Fn(&Suite<'_>) -> Held) {
    for level in Level::available() {
        let engine = Unordered(level);
        check(&Suite::new(&engine).named(format!("unordered, {}", level.name()))).unwrap();
    }
}

#[test]
fn cases_are_read_in_groups() {
    each_level(|suite| suite.cases());
}

#[test]
fn workloads_are_read_in_groups() {
    each_level(|suite| suite.workloads(1 << 17));
}

#[test]
fn random_records_are_read_in_groups() {
    for seed in 0..scale::number("ARROWSMITH_SEEDS", 300, 10_000) {
        for profile in [Profile::Full, Profile::Alike, Profile::Mixed] {
            each_level(|suite| suite.random_text(profile, seed));
            each_level(|suite| suite.random_fault(profile, seed));
        }
    }
}

#[test]
fn mixed_records_are_not_left_to_the_walker() {
    let all = Workload::ALL.into_iter().filter(|workload| workload.name().starts_with("mixed-"));
    for (workload, level) in all.flat_map(|w| Level::available().into_iter().map(move |l| (w, l))) {
        let mut text = Vec::new();
        Generator::new(workload, 1, 0).fill(1 << 17, &mut text);
        let len = text.len();
        text.resize(len + PADDING_BYTES, 0);
        let plan = Plan::new(Arc::new(workload.schema())).unwrap();
        let mut decoder = JsonDecoder::new(&plan, DecodeOptions::default(), level).unwrap();
        decoder.state.predictors.iter_mut().for_each(|predictor| predictor.rest());
        // The walker notes the first key that no field has.
        decoder.state.left_out.key = Some("unknown".to_owned());
        let mut chunk = Chunk::new(&text, Framing::Lines);
        chunk.len = len;
        decoder.decode(&chunk).unwrap();
        let spread = &decoder.state.spread;
        assert_eq!((spread.limit, spread.penalty), (RECORDS_MAX, 0), "{workload}");
        assert!(!spread.keys.is_empty(), "{workload}");
    }
}

/// A list that no column needs is a level of nesting, however it is skipped.
#[test]
fn skipped_lists_are_levels() {
    let mut text = Vec::new();
    for n in 0..2_000 {
        let value = if n % 50 == 49 { "[1,2]" } else { "\"[1,2]\"" };
        text.extend_from_slice(format!("{{\"a\":{n},\"x\":{value},\"b\":true}}\n").as_bytes());
    }
    let len = text.len();
    text.resize(len + PADDING_BYTES, 0);
    let field = |name, data_type| Field::new(name, data_type, true);
    let fields = vec![field("a", DataType::Int64), field("b", DataType::Boolean)];
    let plan = Plan::new(Arc::new(Schema::new(fields))).unwrap();
    let mut options = DecodeOptions::default();
    options.on_error = OnError::Skip;
    options.limits = options.limits.with_depth_max(1);
    for (level, in_order) in
        Level::available().into_iter().flat_map(|level| [(level, true), (level, false)])
    {
        let mut decoder = JsonDecoder::new(&plan, options.clone(), level).unwrap();
        if !in_order {
            decoder.state.predictors.iter_mut().for_each(|predictor| predictor.rest());
        }
        let mut chunk = Chunk::new(&text, Framing::Lines);
        chunk.len = len;
        let report = decoder.decode(&chunk).unwrap();
        let kinds = report.rejects.iter().map(|reject| reject.error.kind);
        assert_eq!(kinds.collect::<Vec<_>>(), [ErrorKind::DepthExceeded; 40], "{}", level.name());
        assert_eq!(decoder.flush().unwrap().unwrap().num_rows(), 1_960);
    }
}
