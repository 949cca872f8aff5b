// SPDX-License-Identifier: Apache-2.0
//! The seam where inference is joined: records of the sample in, a schema out.
//!
//! NOT DONE: the inferrer is to come from arrowsmith-json, which is not in the tree. Until it is joined here
//! sampling fails with an error that says so; it never guesses.

use arrow_schema::SchemaRef;
use arrowsmith_core::{Chunk, Error, Result};

use crate::SampleOptions;

/// What types are made of values. It has no options before the inferrer is joined.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct InferOptions {}

/// A schema in the making.
pub(crate) struct Guess;

/// What was made of one chunk.
pub(crate) struct Seen {
    pub(crate) records: u64,
    /// Whether every record of the chunk was looked at.
    pub(crate) all: bool,
}

fn missing() -> Error {
    Error::Config("schemas cannot be inferred in this build: give a schema".to_owned())
}

impl Guess {
    pub(crate) fn new(_: &SampleOptions) -> Self {
        Self
    }

    /// Looks at records, no more than the options want.
    pub(crate) fn look(&mut self, _: &Chunk<'_>) -> Result<Seen> {
        Err(missing())
    }

    /// Records that were looked at.
    pub(crate) fn records(&self) -> u64 {
        0
    }

    pub(crate) fn finish(self) -> Result<SchemaRef> {
        Err(missing())
    }
}
