// SPDX-License-Identifier: Apache-2.0
//! Engines in the order in which they are tried: the first that does not decline decodes.

use std::fmt;
use std::sync::Arc;

use arrowsmith_core::{DecodeOptions, Decoder, Error, Result};
use arrowsmith_parquet::{Column, File, ReadOptions};
use arrowsmith_plan::Plan;

use crate::{Answer, ColumnDecoder, ColumnRequest, Declined, Engine, EngineError};

/// Engines in the order in which they are tried. It is an [`Engine`] itself, by the name of the
/// first, and cheap to clone. Without engines it declines everything.
#[derive(Clone, Default)]
pub struct Chain {
    engines: Arc<[Arc<dyn Engine>]>,
    /// Index of the first engine of this chain: those before it belong to the chain of which this
    /// is the rest.
    start: usize,
}

/// Which engine decodes a plan or a column, and which ones tried before declined it and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// The name of the engine.
    pub engine: &'static str,
    /// The engines tried before it, in order, with their reasons.
    pub declined: Vec<(&'static str, Declined)>,
}

impl fmt::Display for Decision {
    /// `engine cpu`, or `engine cpu; gpu declined: a.b: …`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "engine {}", self.engine)?;
        let mut declined = self.declined.iter();
        declined.try_for_each(|(name, declined)| write!(f, "; {name} declined: {declined}"))
    }
}

impl Chain {
    /// Engines in the order in which they are tried.
    pub fn new(engines: impl IntoIterator<Item = Arc<dyn Engine>>) -> Self {
        Self { engines: engines.into_iter().collect(), start: 0 }
    }

    /// A chain of one engine.
    pub fn of(engine: impl Engine + 'static) -> Self {
        Self::from(Arc::new(engine))
    }

    /// Its engines.
    pub fn engines(&self) -> &[Arc<dyn Engine>] {
        self.engines.get(self.start..).unwrap_or_default()
    }

    /// Appends the engines of another chain.
    #[must_use]
    pub fn then(&self, after: &Self) -> Self {
        match (self.engines(), after.engines()) {
            (_, []) => self.clone(),
            ([], _) => after.clone(),
            (one, other) => Self::new(one.iter().chain(other).cloned()),
        }
    }

    /// Which engine decodes a JSON plan.
    ///
    /// # Errors
    /// As [`Engine::decoder`], if no engine does.
    pub fn decide_json(&self, plan: &Plan, options: &DecodeOptions) -> Result<Decision> {
        self.decide(|engine| engine.check_json(plan, options), Declined::json_error)
    }

    /// Which engine decodes a column of a Parquet file, as far as its metadata tells.
    ///
    /// # Errors
    /// As [`Engine::column`], if no engine does.
    pub fn decide_parquet(
        &self,
        file: &File,
        column: &Column,
        options: &ReadOptions,
    ) -> Result<Decision> {
        let check = |engine: &dyn Engine| engine.check_parquet(file, column, options);
        self.decide(check, |declined| declined.of_column(column).parquet_error())
    }

    /// What the engine of a decision adds to it, if anything: [`Engine::describe_parquet`].
    pub fn describe(&self, decision: &Decision, file: &File, column: &Column) -> Option<String> {
        let mut engines = self.engines().iter();
        let engine = engines.find(|engine| engine.name() == decision.engine)?;
        engine.describe_parquet(file, column)
    }

    fn decide(
        &self,
        check: impl Fn(&dyn Engine) -> Answer<()>,
        error: impl FnOnce(Declined) -> Error,
    ) -> Result<Decision> {
        let mut declined = Vec::new();
        for engine in self.engines() {
            match check(engine.as_ref()) {
                Ok(()) => return Ok(Decision { engine: engine.name(), declined }),
                Err(EngineError::Declined(why)) => declined.push((engine.name(), why)),
                Err(EngineError::Failed(error)) => return Err(error),
            }
        }
        Err(error(all(declined)))
    }

    /// The result of the first engine that does not decline; each receives the rest of the chain.
    fn try_each<T>(
        &self,
        after: &Self,
        ask: impl Fn(&dyn Engine, &Self) -> Answer<T>,
    ) -> Answer<T> {
        let mut declined = Vec::new();
        for (at, engine) in self.engines().iter().enumerate() {
            let rest = Self { engines: Arc::clone(&self.engines), start: self.start + at + 1 };
            match ask(engine.as_ref(), &rest.then(after)) {
                Err(EngineError::Declined(why)) => declined.push((engine.name(), why)),
                answer => return answer,
            }
        }
        Err(all(declined).into())
    }
}

/// The reasons of all engines as one.
fn all(mut declined: Vec<(&'static str, Declined)>) -> Declined {
    match declined.len() {
        0 => Declined::new("", "there is no engine for it"),
        1 => declined.remove(0).1,
        _ => {
            let reason = |(name, why): &(&str, Declined)| format!("engine {name}: {}", why.reason);
            let reasons: Vec<String> = declined.iter().map(reason).collect();
            let path = declined.pop().map(|(_, last)| last.path).unwrap_or_default();
            Declined::new(path, reasons.join("; "))
        }
    }
}

impl Engine for Chain {
    fn name(&self) -> &'static str {
        self.engines().first().map_or("none", |engine| engine.name())
    }

    fn check_json(&self, plan: &Plan, options: &DecodeOptions) -> Answer<()> {
        self.try_each(&Self::default(), |engine, _| engine.check_json(plan, options))
    }

    fn json(
        &self,
        plan: &Arc<Plan>,
        options: &DecodeOptions,
        rest: &Chain,
    ) -> Answer<Box<dyn Decoder>> {
        self.try_each(rest, |engine, rest| {
            engine.check_json(plan, options)?;
            engine.json(plan, options, rest)
        })
    }

    fn check_parquet(&self, file: &File, column: &Column, options: &ReadOptions) -> Answer<()> {
        let check = |engine: &dyn Engine, _: &Self| engine.check_parquet(file, column, options);
        self.try_each(&Self::default(), check).map_err(|error| error.of_column(column))
    }

    fn parquet(&self, request: &ColumnRequest<'_>, rest: &Chain) -> Answer<Box<dyn ColumnDecoder>> {
        let ColumnRequest { file, column, options, .. } = *request;
        let decoder = self.try_each(rest, |engine, rest| {
            engine.check_parquet(file, column, options)?;
            engine.parquet(request, rest)
        });
        decoder.map_err(|error| error.of_column(column))
    }

    fn chunk_bytes(&self) -> Option<usize> {
        self.engines().first().and_then(|engine| engine.chunk_bytes())
    }

    fn summary(&self) -> Option<String> {
        self.engines().iter().find_map(|engine| engine.summary())
    }
}

impl<E: Engine + 'static> From<Arc<E>> for Chain {
    fn from(engine: Arc<E>) -> Self {
        Self::new([engine as Arc<dyn Engine>])
    }
}

impl From<Arc<dyn Engine>> for Chain {
    fn from(engine: Arc<dyn Engine>) -> Self {
        Self::new([engine])
    }
}
