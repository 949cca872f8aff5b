// SPDX-License-Identifier: Apache-2.0
//! Engines for tests of what drives them, so that a crate below the library can be tested with one
//! and name none.

use std::sync::Arc;

use arrowsmith_core::{DecodeOptions, Decoder};
use arrowsmith_engine::{Answer, Chain, ColumnDecoder, ColumnRequest, Engine};
use arrowsmith_engine_cpu::CpuEngine;
use arrowsmith_engine_reference::ReferenceEngine;
use arrowsmith_parquet::{Column, File, ReadOptions};
use arrowsmith_plan::Plan;

/// Engine `cpu`, with the best instruction set of this CPU.
pub fn cpu() -> Arc<dyn Engine> {
    Arc::new(CpuEngine::default())
}

/// Engine `reference`.
pub fn reference() -> Arc<dyn Engine> {
    Arc::new(ReferenceEngine::default())
}

/// An engine, and after it `cpu`, for what it declines and what it hands over.
pub fn before_cpu(engine: impl Engine + 'static) -> Chain {
    Chain::of(engine).then(&Chain::from(cpu()))
}

/// An engine with `cpu` for what it hands over; what it declines is declined.
#[derive(Debug, Clone)]
pub struct Helped<E>(pub E);

impl<E: Engine> Engine for Helped<E> {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn check_json(&self, plan: &Plan, options: &DecodeOptions) -> Answer<()> {
        self.0.check_json(plan, options)
    }

    fn json(
        &self,
        plan: &Arc<Plan>,
        options: &DecodeOptions,
        _rest: &Chain,
    ) -> Answer<Box<dyn Decoder>> {
        self.0.json(plan, options, &Chain::from(cpu()))
    }

    fn check_parquet(&self, file: &File, column: &Column, options: &ReadOptions) -> Answer<()> {
        self.0.check_parquet(file, column, options)
    }

    fn parquet(
        &self,
        request: &ColumnRequest<'_>,
        _rest: &Chain,
    ) -> Answer<Box<dyn ColumnDecoder>> {
        self.0.parquet(request, &Chain::from(cpu()))
    }
}
