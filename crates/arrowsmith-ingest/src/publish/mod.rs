// SPDX-License-Identifier: Apache-2.0
//! Publish, the last stage: messages in their order, to every sink of a stream.
//!
//! [`order`] brings the results of the parsers back into the order of their jobs, [`worker`] is the
//! thread of a sink, with its spool, and [`sinks`] are the sinks that a stream can have.

pub(crate) mod order;
pub mod sinks;
pub(crate) mod worker;
