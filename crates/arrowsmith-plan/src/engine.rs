// SPDX-License-Identifier: Apache-2.0
//! The engine trait: a plan in, a decoder out. It stands here, not in core, because it names the plan.

use std::sync::Arc;

use arrowsmith_core::{DecodeOptions, Decoder, Result};

use crate::Plan;

/// Something that can run a plan: `cpu`, `reference`, `gpu` or `rtl`.
pub trait Engine: Send + Sync {
    /// The name that `--engine` takes.
    fn name(&self) -> &'static str;

    /// Sets the plan up for one thread of decoding.
    ///
    /// # Errors
    /// [`Error::Schema`](arrowsmith_core::Error::Schema) names the field that this engine cannot decode;
    /// [`Error::Config`](arrowsmith_core::Error::Config) the option that it does not have.
    fn decoder(&self, plan: &Arc<Plan>, options: &DecodeOptions) -> Result<Box<dyn Decoder>>;

    /// Text of one chunk with which it does best, in bytes; none: what suits the caches of a core.
    fn chunk_bytes(&self) -> Option<usize> {
        None
    }
}
