// SPDX-License-Identifier: Apache-2.0
//! The CPU engine: a plan run with SIMD, on one core.
//!
//! There is no pass that finds structure first. A cursor walks over the text and the plan at once,
//! and the stages of a value are the modules of `json`: *route* (which key is this), *convert* (its
//! text to a value), *build* (the value to its column). What makes it fast is prediction: the text
//! between two values, from the end of one to the start of the next, is nearly always what it was
//! in the record before, and then one compare of up to 64 bytes does the work of white space,
//! comma, key and colon. The first difference is looked up by a hash of the key, and teaches the
//! predictor.
//!
//! Threads are not made here: one decoder is one core's work, and callers run several.

#![forbid(unsafe_code)]

mod json;
pub mod parquet;

use std::sync::Arc;

use arrowsmith_core::{DecodeOptions, Decoder};
use arrowsmith_engine::{Answer, Chain, ColumnDecoder, ColumnRequest, Engine};
use arrowsmith_parquet::{Column, File, ReadOptions};
use arrowsmith_plan::Plan;
use arrowsmith_simd::Level;

use crate::parquet::FieldDecoder;

/// The engine named `cpu`.
#[derive(Debug, Clone, Copy)]
pub struct CpuEngine {
    level: Level,
}

impl Default for CpuEngine {
    /// With the best instruction set of this CPU, or the one that `ARROWSMITH_CPU` names.
    fn default() -> Self {
        Self { level: Level::get() }
    }
}

impl CpuEngine {
    /// With this instruction set.
    pub fn with_level(level: Level) -> Self {
        Self { level }
    }

    /// Every instruction set that this CPU has, best first.
    pub fn levels() -> Vec<Level> {
        Level::available()
    }

    /// The name of the instruction set in use.
    pub fn level_name(&self) -> &'static str {
        self.level.name()
    }
}

impl Engine for CpuEngine {
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
        Ok(Box::new(json::JsonDecoder::new(plan, options.clone(), self.level)?))
    }

    fn check_parquet(&self, _file: &File, column: &Column, _options: &ReadOptions) -> Answer<()> {
        Ok(parquet::check(column)?)
    }

    fn parquet(
        &self,
        request: &ColumnRequest<'_>,
        _rest: &Chain,
    ) -> Answer<Box<dyn ColumnDecoder>> {
        Ok(Box::new(FieldDecoder::of(request, self.level)?))
    }
}
