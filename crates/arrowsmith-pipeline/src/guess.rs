// SPDX-License-Identifier: Apache-2.0
//! TEMP
use crate::SampleOptions;
use arrow_schema::SchemaRef;
use arrowsmith_core::{Chunk, Error, Result};
/// TEMP
#[derive(Debug, Clone, Default)]
pub struct InferOptions;
pub(crate) struct Guess;
pub(crate) struct Seen {
    pub(crate) records: u64,
    pub(crate) all: bool,
}
impl Guess {
    pub(crate) fn new(_: &SampleOptions) -> Self {
        Self
    }
    pub(crate) fn look(&mut self, _: &Chunk<'_>) -> Result<Seen> {
        Err(Error::Config("inference is not in yet".to_owned()))
    }
    pub(crate) fn records(&self) -> u64 {
        0
    }
    pub(crate) fn finish(self) -> Result<SchemaRef> {
        Err(Error::Config("inference is not in yet".to_owned()))
    }
}
