// SPDX-License-Identifier: Apache-2.0
//! An Arrow Flight endpoint that subscribers read live, the last of receive → parse → resize →
//! serialize → publish.
//!
//! The service embeds it: there is no server to install. Subscribers name a stream and get its
//! batches as they come, all from bytes that are serialized once. The buffer for late and slow
//! subscribers is bounded, and in memory only.
//!
//! ```
//! use std::sync::Arc;
//! use arrowsmith_publish_flight::{FlightOptions, FlightPublish};
//!
//! # #[tokio::main]
//! # async fn main() -> Result<(), arrowsmith_publish::PublishError> {
//! let schema = Arc::new(arrow_schema::Schema::empty());
//! let options = FlightOptions { listen: ([127, 0, 0, 1], 0).into(), ..FlightOptions::default() };
//! let sink = FlightPublish::start(options, "cars", schema).await?;
//! println!("subscribe with the ticket `cars` at grpc://{}", sink.address());
//! # Ok(())
//! # }
//! ```

#![forbid(unsafe_code)]

mod feed;
mod frames;
mod guarded;
mod options;
mod publish;
mod server;

pub use options::{Delivery, FlightOptions, Tls};
pub use publish::FlightPublish;
