// SPDX-License-Identifier: Apache-2.0
//! The `reference` engine: arrow-json, the ecosystem's own decoder, behind the engine trait; for
//! Parquet the `parquet` crate, see [`parquet`].
//!
//! It is what users have without Arrowsmith: the baseline of benchmarks, and a differential oracle
//! in tests. It does not follow the contract of `docs/design/0002-json-semantics.md` to the byte,
//! since arrow-json does not. The differences:
//!
//! - Only `on_error = fail`. Errors are at the first byte of the record, without a path:
//!   arrow-json says neither byte nor field.
//! - *Lines* are not enforced: arrow-json takes records that share a line or span several.
//! - Strings are parsed as numbers for numeric columns, `1.0` and `1.5` are integers, decimals
//!   round, missing or repeated commas inside containers are accepted, and numbers are checked for
//!   their grammar only where they are decoded.
//! - The last value of a repeated key wins, but a map column keeps all.
//! - Binary is hex; there is no base64, no dictionary and no `arrow.json`.
//!
//! The decoder reads every byte twice: before arrow-json, which has no depth limit of its own, a
//! scan checks the depth and, in arrays, finds the commas between records.

#![forbid(unsafe_code)]

mod decoder;
pub mod parquet;
mod pieces;
mod scan;
mod supported;

use std::sync::Arc;

use arrowsmith_core::{DecodeOptions, Decoder, DuplicateKeys, OnError, UnknownKeys};
use arrowsmith_engine::{
    Answer, Chain, ColumnDecoder, ColumnRequest, Declined, Engine, EngineError,
};
use arrowsmith_parquet::{Column, File, ReadOptions};
use arrowsmith_plan::Plan;

use crate::decoder::ReferenceDecoder;
use crate::parquet::Readers;

/// arrow-json and the `parquet` crate as an [`Engine`].
#[derive(Debug, Clone, Default)]
pub struct ReferenceEngine {
    readers: Arc<Readers>,
}

impl Engine for ReferenceEngine {
    fn name(&self) -> &'static str {
        "reference"
    }

    fn check_json(&self, plan: &Plan, options: &DecodeOptions) -> Answer<()> {
        check_options(options)?;
        Declined::unselected_keys(plan, options)?;
        if plan.has_coercions() {
            return Err(Declined::new("", "arrow-json has no coercions").into());
        }
        supported::check_schema(plan.schema()).map_err(EngineError::of_schema)
    }

    fn json(
        &self,
        plan: &Arc<Plan>,
        options: &DecodeOptions,
        _rest: &Chain,
    ) -> Answer<Box<dyn Decoder>> {
        plan.check(&options.limits)?;
        let strict = options.unknown_keys == UnknownKeys::Error;
        let decoder = ReferenceDecoder::new(Arc::clone(plan), strict, options.limits.clone())?;
        Ok(Box::new(decoder))
    }

    /// # Errors
    /// A file whose metadata the `parquet` crate does not take.
    fn check_parquet(&self, file: &File, _column: &Column, options: &ReadOptions) -> Answer<()> {
        Ok(self.readers.of(file, options).map(|_| ())?)
    }

    fn parquet(
        &self,
        request: &ColumnRequest<'_>,
        _rest: &Chain,
    ) -> Answer<Box<dyn ColumnDecoder>> {
        let reader = self.readers.of(request.file, request.options)?;
        let decoder = reader.field(request)?;
        Ok(Box::new(decoder))
    }
}

fn check_options(options: &DecodeOptions) -> Result<(), Declined> {
    Declined::other_dialects(options)?;
    let refuse = |what: &str| Err(Declined::new("", format!("the reference engine has no {what}")));
    if options.on_error != OnError::Fail {
        return refuse("on_error other than fail");
    }
    if options.duplicate_keys != DuplicateKeys::Last {
        return refuse("duplicate_keys = error");
    }
    if options.allow_nan {
        return refuse("allow_nan");
    }
    Ok(())
}

#[cfg(test)]
mod tests;
