// SPDX-License-Identifier: Apache-2.0
//! Arrow IPC messages to Apache Pulsar, the last of receive → parse → resize → serialize → publish.
//!
//! Several producers publish side by side, to the partitions of a topic, with many messages in
//! flight. After a broken connection it reconnects, and what was not confirmed is sent again under
//! its old number, so that a broker that deduplicates stores each message once, also across a
//! restart of this process. Memory is bounded, and messages that are not confirmed in time are
//! returned; nothing is kept on disk.
//!
//! ```no_run
//! # async fn example(
//! #     schema: arrow_schema::SchemaRef,
//! #     payload: bytes::Bytes,
//! # ) -> arrowsmith_publish_pulsar::Result<()> {
//! use arrowsmith_publish_pulsar::{Outgoing, PulsarOptions, PulsarSink};
//!
//! let options = PulsarOptions { topic: "events".to_owned(), ..PulsarOptions::default() };
//! let sink = PulsarSink::open(options, &schema).await?;
//! let sequence = sink.last_sequence(0).map_or(0, |last| last + 1);
//! let message = Outgoing {
//!     producer: 0,
//!     sequence,
//!     key: None,
//!     properties: vec![],
//!     event_time_ms: None,
//!     payload,
//! };
//! let confirmation = sink.send(message).await?;
//! println!("stored at {:?}", confirmation.await?.place);
//! sink.close().await;
//! # Ok(())
//! # }
//! ```

#![forbid(unsafe_code)]

mod address;
mod connection;
mod credentials;
mod entry;
mod error;
pub mod key;
mod options;
mod producer;
mod publish;
mod schema;
mod sink;
mod wire;

pub use entry::Receipt;
pub use error::{PulsarError, Result};
pub use options::{Auth, Batch, Compression, PulsarOptions, Routing, SchemaMode, Tls};
pub use producer::ProducerState;
pub use publish::{
    PROPERTY_ORIGINS, PROPERTY_ROWS, PROPERTY_SEQUENCE, PROPERTY_STREAM, PulsarPublish,
};
pub use schema::{KIND_BATCH, KIND_SCHEMA, PROPERTY_KIND, PROPERTY_SCHEMA};
pub use sink::{Outgoing, PulsarSink, SendFuture};
