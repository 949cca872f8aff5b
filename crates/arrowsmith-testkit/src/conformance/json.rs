// SPDX-License-Identifier: Apache-2.0
//! JSON: the cases, the corpora, and random schemas, texts, errors and workloads, compared with the
//! oracle.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrowsmith_core::{Chunk, DecodeOptions, Dialect, Framing, PADDING_BYTES, Result, UnknownKeys};
use arrowsmith_engine::Engine;
use arrowsmith_plan::Plan;
use arrowsmith_workload::{Generator, Layout, Workload};

use super::{Held, Suite};
use crate::oracle::OracleEngine;
use crate::random::{self, Profile, RandomCase, Rng};
use crate::run::{Input, PADDINGS, difference, observe};
use crate::{case, corpus, tools};

impl Suite<'_> {
    /// The cases in `testdata`.
    ///
    /// # Errors
    /// Those that the engine decides otherwise.
    pub fn cases(&self) -> Held {
        let summary = case::run_some(self.engine, &mut self.sample("cases"));
        let summary = summary.map_err(|error| self.differs(error))?;
        self.all_passed(&summary.failures, summary.cases, 100)
    }

    /// Documents, numbers and encodings of the corpora, where they are.
    ///
    /// # Errors
    /// Those that the engine decides otherwise.
    pub fn corpora(&self) -> Held {
        let Some(folder) = tools::corpora() else { return Ok(()) };
        let summary = corpus::run_some(self.engine, &folder, &mut self.sample("documents"));
        let summary = summary.map_err(|error| self.differs(error))?;
        self.all_passed(&summary.failures, summary.documents, self.least(1000, 300))?;
        let numbers = corpus::vectors::run_numbers(self.engine, &folder);
        self.all_passed(&[], numbers.map_err(|error| self.differs(error))?, 10_000)?;
        let texts = corpus::vectors::run_utf8(self.engine, &folder);
        self.all_passed(&[], texts.map_err(|error| self.differs(error))?, 0)
    }

    /// A random schema, options, and a text for it.
    ///
    /// # Errors
    /// In what the engine differs from the oracle.
    pub fn random_text(&self, profile: Profile, seed: u64) -> Held {
        let options = options(seed);
        self.beside_the_oracle(&random::case(seed, profile), &options, seed)
    }

    /// As [`Suite::random_text`], with errors in the text.
    ///
    /// # Errors
    /// In what the engine differs from the oracle.
    pub fn random_fault(&self, profile: Profile, seed: u64) -> Held {
        let options = options(seed);
        self.beside_the_oracle(&random::broken_case(seed, profile), &options, seed)
    }

    /// Random columns with coercions, options, and a text for them.
    ///
    /// # Errors
    /// In what the engine differs from the oracle.
    pub fn random_coercion(&self, seed: u64) -> Held {
        let options = random::options(&mut Rng::new(seed));
        self.beside_the_oracle(&random::coerced_case(seed), &options, seed)
    }

    /// Some columns of a random schema, whose other keys are not errors, while unknown ones are.
    ///
    /// # Errors
    /// In what the engine differs from the oracle.
    pub fn random_columns(&self, profile: Profile, seed: u64) -> Held {
        let made = if seed.is_multiple_of(2) { random::case } else { random::broken_case };
        let mut case = made(seed, profile);
        let Some(plan) = random::some_columns(&mut Rng::new(seed ^ 0xC01), &case.plan) else {
            return Ok(());
        };
        case.plan = Arc::new(plan);
        let mut options = options(seed);
        options.unknown_keys = UnknownKeys::Error;
        self.beside_the_oracle(&case, &options, seed)
    }

    /// A case in one piece and in pieces, over a padding.
    fn beside_the_oracle(&self, case: &RandomCase, options: &DecodeOptions, seed: u64) -> Held {
        let padding = *Rng::new(seed ^ 0xCA5E).pick(PADDINGS);
        let mut inputs = vec![vec![&case.text[..]]];
        if !case.cuts.is_empty() {
            let mut pieces = Vec::new();
            let mut from = 0;
            for &cut in &case.cuts {
                pieces.push(&case.text[from..cut]);
                from = cut;
            }
            pieces.push(&case.text[from..]);
            inputs.push(pieces);
        }
        for pieces in inputs {
            let input = Input::split(&pieces, case.framing, padding);
            let outcome = |engine: &dyn Engine| {
                let outcome = observe(engine, &case.plan, options, &input);
                outcome.map_err(|error| self.differs(format!("seed {seed}: {error}")))
            };
            let (expected, found) = (outcome(&OracleEngine)?, outcome(self.engine)?);
            if let Some(difference) = difference(&expected, &found) {
                return Err(self.differs(format!(
                    "seed {seed}, {padding:?}, {:?}, {options:?}\n{}\nschema {:?}\noracle, then engine: {difference}",
                    case.framing,
                    String::from_utf8_lossy(&case.text),
                    case.plan.to_string(),
                )));
            }
        }
        Ok(())
    }

    /// Every workload, in every layout, with about this many bytes of text.
    ///
    /// # Errors
    /// The first that is not what the oracle makes of it.
    pub fn workloads(&self, bytes: usize) -> Held {
        for workload in Workload::ALL {
            for max_values in [1, 8, 64, 512] {
                for layout in [Layout::Compact, Layout::Spaced, Layout::Pretty] {
                    let about = format!("{workload:?} {max_values} {layout:?}");
                    let mut text = Vec::new();
                    let generator = Generator::new(workload, 7, max_values);
                    generator.with_layout(layout).fill(bytes, &mut text);
                    let framing = match layout {
                        Layout::Pretty => Framing::Concatenated,
                        _ => Framing::Lines,
                    };
                    let rows = |engine: &dyn Engine| {
                        let rows = Plan::new(Arc::new(workload.schema()))
                            .and_then(|plan| rows(engine, &Arc::new(plan), &text, framing));
                        rows.map_err(|error| self.differs(format!("{about}: {error}")))
                    };
                    if rows(self.engine)? != rows(&OracleEngine)? {
                        return Err(self.differs(format!("{about}: not the oracle's rows")));
                    }
                }
            }
        }
        Ok(())
    }
}

/// Random options, for every fourth seed of Spark's dialect.
fn options(seed: u64) -> DecodeOptions {
    let mut options = random::options(&mut Rng::new(seed));
    if seed % 4 == 3 {
        options.dialect = Dialect::Spark;
    }
    options
}

/// What an engine makes of a text in one piece.
fn rows(
    engine: &dyn Engine,
    plan: &Arc<Plan>,
    text: &[u8],
    framing: Framing,
) -> Result<Option<RecordBatch>> {
    let mut decoder = engine.decoder(plan, &DecodeOptions::default())?;
    let mut padded = text.to_vec();
    padded.resize(text.len() + PADDING_BYTES, b'7');
    let mut chunk = Chunk::new(&padded, framing);
    chunk.len = text.len();
    decoder.decode(&chunk)?;
    decoder.flush()
}
