// SPDX-License-Identifier: Apache-2.0
//! The oracle: a simple, slow engine that follows `docs/design/0002-json-semantics.md` literally,
//! byte by byte. Other engines are tested against it.
//!
//! It shares no decoding code with them: a recursive descent over the bytes (`reader`) to cells
//! ([`Cell`]), numbers by `std` and decimal arithmetic ([`number`]), dates by chrono (`time`,
//! `spark`), and arrays from cells at the end (`array`). Clarity always has priority over speed.

pub mod array;
mod binary;
mod cell;
mod coerce;
mod convert;
mod decoder;
pub mod number;
mod reader;
mod skip;
mod spark;
mod string;
mod time;

use std::sync::Arc;

use arrowsmith_core::{DecodeOptions, Decoder};
use arrowsmith_engine::{Answer, Chain, Engine};
use arrowsmith_plan::Plan;

pub use cell::Cell;
pub use decoder::batch;

/// The oracle as an [`Engine`].
#[derive(Debug, Clone, Copy, Default)]
pub struct OracleEngine;

impl Engine for OracleEngine {
    fn name(&self) -> &'static str {
        "oracle"
    }

    fn check_json(&self, _plan: &Plan, _options: &DecodeOptions) -> Answer<()> {
        Ok(())
    }

    fn json(
        &self,
        plan: &Arc<Plan>,
        options: &DecodeOptions,
        _rest: &Chain,
    ) -> Answer<Box<dyn Decoder>> {
        Ok(Box::new(decoder::OracleDecoder::new(Arc::clone(plan), options.clone())))
    }
}
