// SPDX-License-Identifier: Apache-2.0
//! What the ingest service hands to its sinks, and what a sink has to do with it.
//!
//! A [`Message`] is a record batch on its way out of receive → parse → resize → serialize → publish; a
//! [`Publish`] brings it somewhere. This crate lies below the service and the sinks, so that neither
//! needs the other. It does no I/O.

#![forbid(unsafe_code)]

mod doors;
mod encode;
mod message;
mod publish;

pub use doors::{Doors, Visitor};
pub use encode::{Compression, Layout, decode, encode};
pub use message::{Message, Origin, StageTimes};
pub use publish::{BoxFuture, Publish, PublishError, Receipt, done};
