// SPDX-License-Identifier: Apache-2.0
//! The conformance suite, which every engine passes for each format that it reads: JSON, Parquet,
//! or both.
//!
//! An engine's own tests call the methods of a [`Suite`], and test what only that engine has. JSON
//! is checked against the cases of `testdata/json` and the oracle, which implement
//! `docs/design/0002-json-semantics.md`; Parquet is checked against the `parquet` crate.

mod json;
pub(crate) mod parquet;

use std::fmt;

use arrowsmith_engine::Engine;

use crate::scale::{Sample, full};

/// In what an engine does not conform. It is shown as it is, so that a test may `unwrap` it.
pub struct Differs(String);

impl fmt::Debug for Differs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Whether an engine passes a part of the suite.
pub type Held = Result<(), Differs>;

/// The suite over an engine.
pub struct Suite<'e> {
    engine: &'e dyn Engine,
    name: String,
    one_of: u64,
}

impl<'e> Suite<'e> {
    /// All of it.
    pub fn new(engine: &'e dyn Engine) -> Self {
        Self { engine, name: engine.name().to_owned(), one_of: 1 }
    }

    /// What messages call the engine.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// One of every N cases and documents, for an engine that takes its time; all at full scale.
    #[must_use]
    pub fn sampled(mut self, one_of: u64) -> Self {
        self.one_of = one_of;
        self
    }

    fn sample(&self, what: &'static str) -> Sample {
        Sample::of(what, self.one_of)
    }

    /// Of two numbers that for everything, or that for a sample.
    fn least(&self, all: usize, sample: usize) -> usize {
        if self.one_of == 1 || full() { all } else { sample }
    }

    fn differs(&self, what: impl fmt::Display) -> Differs {
        Differs(format!("engine {}: {what}", self.name))
    }

    /// None of these failed, and there were more than a minimum of them.
    fn all_passed(&self, failures: &[String], passed: usize, least: usize) -> Held {
        if let Some(shown) = failures.get(..failures.len().min(20)).filter(|some| !some.is_empty())
        {
            let text = format!("{} failures:\n{}", failures.len(), shown.join("\n"));
            return Err(self.differs(text));
        }
        if passed <= least {
            return Err(self.differs(format!("only {passed} were tried")));
        }
        Ok(())
    }
}
