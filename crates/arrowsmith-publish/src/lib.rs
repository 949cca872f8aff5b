// SPDX-License-Identifier: Apache-2.0
//! Messages of the ingest service, and the trait of the publishers that store them.
//!
//! A [`Message`] is a record batch on its way out of receive → parse → resize → serialize →
//! publish; a [`Publish`] stores it somewhere. The service and its publishers depend on this crate,
//! and not on each other. It does no I/O.

#![forbid(unsafe_code)]

mod encode;
mod message;
mod publish;
mod slots;

pub use encode::{Compression, Layout, decode, encode};
pub use message::{Message, Origin, StageTimes};
pub use publish::{BoxFuture, Publish, PublishError, Receipt, done};
pub use slots::{Slot, Slots};
