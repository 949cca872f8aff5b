// SPDX-License-Identifier: Apache-2.0
//! The engine `rtl`: circuits generated for a plan or a column, compiled and simulated. It decodes
//! nothing itself.

use std::sync::Arc;

use arrowsmith_core::{DecodeOptions, Decoder};
use arrowsmith_engine::{
    Answer, Chain, ColumnDecoder, ColumnRequest, Declined, Engine, EngineError,
};
use arrowsmith_parquet::{Column, File, ReadOptions};
use arrowsmith_plan::Plan;
use arrowsmith_rtlgen::json::{Layout, Shape, generate};
use arrowsmith_rtlgen::parquet::Options;
use arrowsmith_rtlgen::shell::Shell;

use crate::MemoryProfile;
use crate::config;
use crate::json::{RtlDecoder, Session, Statistics};
use crate::parquet::{Circuits, Counts, column};

/// Generated circuits as an [`Engine`]; its clones count together.
#[derive(Debug, Clone)]
pub struct RtlEngine {
    shape: Shape,
    shell: Option<Shell>,
    memory: MemoryProfile,
    statistics: Arc<Statistics>,
    circuits: Arc<Circuits>,
}

impl Default for RtlEngine {
    /// Circuits of the default shape on an ideal memory.
    fn default() -> Self {
        let memory = MemoryProfile::IDEAL;
        let circuits = Arc::new(Circuits::new(Options::default(), memory));
        let shape = Shape::default();
        Self { shape, shell: None, memory, statistics: Arc::default(), circuits }
    }
}

impl RtlEngine {
    /// Sets the width and the number of parsers of JSON circuits.
    #[must_use]
    pub fn with_shape(mut self, shape: Shape) -> Self {
        self.shape = shape;
        self
    }

    /// Puts JSON circuits into the wrapper of a board's shell, and speaks its protocol.
    #[must_use]
    pub fn with_shell(mut self, shell: Shell) -> Self {
        self.shell = Some(shell);
        self
    }

    /// Sets the memory.
    #[must_use]
    pub fn with_memory(mut self, memory: MemoryProfile) -> Self {
        self.memory = memory;
        self.circuits = Arc::new(Circuits::new(Options::default(), memory));
        self
    }

    /// Statistics of its circuits for JSON.
    pub fn statistics(&self) -> &Arc<Statistics> {
        &self.statistics
    }

    /// Its circuits for Parquet.
    pub fn circuits(&self) -> &Arc<Circuits> {
        &self.circuits
    }
}

impl Engine for RtlEngine {
    fn name(&self) -> &'static str {
        "rtl"
    }

    fn check_json(&self, plan: &Plan, options: &DecodeOptions) -> Answer<()> {
        Declined::other_dialects(options)?;
        Declined::unselected_keys(plan, options)?;
        plan.check(&options.limits)?;
        Layout::new(plan).map(|_| ()).map_err(EngineError::of_schema)
    }

    /// # Errors
    /// There is no Verilator, or the limit on depth is less than the schema's own.
    fn json(
        &self,
        plan: &Arc<Plan>,
        options: &DecodeOptions,
        rest: &Chain,
    ) -> Answer<Box<dyn Decoder>> {
        Declined::other_dialects(options)?;
        Declined::unselected_keys(plan, options)?;
        let design = generate(plan, "records", self.shape).map_err(EngineError::of_schema)?;
        if rest.engines().is_empty() {
            let reason = "it needs another engine, for records that its circuit does not take";
            return Err(Declined::new("", reason).into());
        }
        let verilator = self.circuits.verilator().map_err(config)?;
        let program = verilator.json(&design, self.shell).map_err(config)?;
        let session = Session::start(&program, design.hash, &self.memory).map_err(config)?;
        let host = rest.decoder(plan, options)?;
        let statistics = Arc::clone(&self.statistics);
        Ok(Box::new(RtlDecoder::new(plan, design, session, host, options, statistics)?))
    }

    fn check_parquet(&self, file: &File, field: &Column, options: &ReadOptions) -> Answer<()> {
        let path = || field.field().name().as_str();
        if options.verify_checksums {
            return Err(Declined::new(path(), "circuits do not verify checksums").into());
        }
        column(file, field).map_err(|refusal| Declined::new(path(), refusal.reason))?;
        Ok(())
    }

    /// # Errors
    /// There is no Verilator.
    fn parquet(
        &self,
        request: &ColumnRequest<'_>,
        _rest: &Chain,
    ) -> Answer<Box<dyn ColumnDecoder>> {
        let ColumnRequest { file, row_group, column, .. } = *request;
        match self.circuits.decoder(file, row_group, column, request.selection)? {
            Some(decoder) => Ok(decoder),
            None => {
                let reason = "its circuit found the column chunk unsound";
                Err(Declined::new(column.field().name(), reason).into())
            }
        }
    }

    fn summary(&self) -> Option<String> {
        let (json, parquet) = (self.statistics.counts(), self.circuits.counts());
        if parquet != Counts::default() {
            return Some(parquet.to_string());
        }
        Some(json.to_string())
    }
}
