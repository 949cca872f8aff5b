// SPDX-License-Identifier: Apache-2.0
//! What the service shows of itself: metrics, status, history, the times of messages.
//!
//! It changes nothing in the service, and nothing waits for it.

mod cpu_time;
pub(crate) mod history;
pub(crate) mod last_rejects;
pub(crate) mod latency;
pub(crate) mod metrics;
pub(crate) mod otlp;
pub(crate) mod status;
pub(crate) mod web;
