// SPDX-License-Identifier: Apache-2.0
//! What a stream with `schema = "auto"` knows: what was seen so far, and the memory for what is
//! wider than was expected. `parse::grow` infers from jobs, and makes the next version. Design:
//! `docs/design/0018`.

use std::sync::{Arc, Mutex};

use arrowsmith_json::infer::{InferOptions, Inferrer};
use prometheus::IntGauge;

use crate::config::{Config, LimitsConfig, StreamConfig};
use crate::memory::Memory;

/// What was seen of a stream.
pub(crate) struct Auto {
    pub(crate) inferrer: Mutex<Inferrer>,
    pub(crate) limits: LimitsConfig,
    /// Memory for what is wider than was expected when it was received.
    pub(crate) late: Arc<Memory>,
}

impl Auto {
    pub(crate) fn new(stream: &StreamConfig, config: &Config, used: IntGauge) -> Self {
        let inferrer = Mutex::new(Inferrer::new(options(stream, &config.limits)));
        let growing = config.streams.values().filter(|stream| stream.is_auto()).count();
        let late = Memory::new(config.service.memory.0 / 2 / growing.max(1), used);
        Self { inferrer, limits: config.limits.clone(), late }
    }
}

/// The options of inference: lines that are not JSON are the decoder's to report.
pub(crate) fn options(config: &StreamConfig, limits: &LimitsConfig) -> InferOptions {
    let mut options = config.read.sampling().infer;
    options.records_max = None;
    options.skip_malformed = true;
    options.limits = config
        .read
        .decode()
        .limits
        .with_depth_max(limits.depth)
        .with_record_bytes_max(limits.record_bytes.0);
    options
}
