// SPDX-License-Identifier: Apache-2.0
//! Datasets as Arrow Flight: the server (`arrowsmith serve`), and a client (`arrowsmith fetch`).
//!
//! ```text
//!  files ──▶ catalog ──▶ dataset: snapshot ──▶ produce: decode ahead ──▶ encode ──▶ connection
//!            names       parts, read           bounded, by turns         no copy    HTTP/2, TLS
//! ```
//!
//! - `catalog`, `dataset`: what is served; names never become paths.
//! - `query`, `ticket`: queries, and their sealed form.
//! - `service`: what each call means; `extension`: room for Flight SQL.
//! - `produce`, `queue`: streams in bounded memory; `encode`, `body`, `io`: their bytes to the
//!   socket.
//! - `auth`, `connection`, `metrics`, `reflect`: the rest of a service.
//! - `client`: the other end.

#![forbid(unsafe_code)]

mod auth;
mod body;
pub mod catalog;
pub mod client;
mod connection;
pub mod dataset;
pub mod encode;
mod error;
mod extension;
mod io;
pub mod ipc;
mod live;
mod metrics;
mod options;
mod produce;
pub mod query;
mod queue;
mod reflect;
pub mod select;
mod server;
mod service;
pub mod ticket;
mod unauthenticated;

pub use auth::Access;
pub use catalog::{Catalog, Origin, Spec};
pub use encode::Compression;
pub use error::{carried, shortened, status_of};
pub use extension::{Answer, Any, Extension};
pub use live::Upstream;
pub use metrics::Metrics;
pub use options::{Options, Tls};
pub use server::Server;
pub use service::Shared;
