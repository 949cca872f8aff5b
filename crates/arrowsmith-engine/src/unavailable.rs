// SPDX-License-Identifier: Apache-2.0
//! A placeholder for an engine that is unavailable, with the reason.

use arrowsmith_core::DecodeOptions;
use arrowsmith_parquet::{Column, File, ReadOptions};
use arrowsmith_plan::Plan;

use crate::{Answer, Declined, Engine, EngineError};

/// Takes the place of an engine that a machine or a build does not have: it declines everything,
/// for that reason.
#[derive(Debug, Clone)]
pub struct Absent {
    name: &'static str,
    reason: String,
}

impl Absent {
    /// The engine's name, and why it is unavailable.
    pub fn new(name: &'static str, reason: impl Into<String>) -> Self {
        Self { name, reason: reason.into() }
    }

    fn decline(&self) -> Answer<()> {
        Err(EngineError::Declined(Declined::new("", self.reason.clone())))
    }
}

impl Engine for Absent {
    fn name(&self) -> &'static str {
        self.name
    }

    fn check_json(&self, _plan: &Plan, _options: &DecodeOptions) -> Answer<()> {
        self.decline()
    }

    fn check_parquet(&self, _file: &File, _column: &Column, _options: &ReadOptions) -> Answer<()> {
        self.decline()
    }
}
