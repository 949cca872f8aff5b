// SPDX-License-Identifier: Apache-2.0
//! The wire format: messages → objects in memory, trees of values, or any [`Sink`]; trees of values
//! → messages.
//!
//! docs/design/0004-object-graphs.md is the contract; this module contains no layout.

mod error;
mod graph;
mod link;
mod order;
mod region;
mod walk;

pub use error::{Code, WireError};
pub(crate) use graph::NullSink;
pub use graph::{Graph, Object, Value};
pub use region::{Made, Reader};
pub use walk::{Options, Sink, Tables};

/// A reference to no object.
pub const NULL_ID: u32 = u32::MAX;

/// The first bytes of a message with a header.
pub const MAGIC: [u8; 4] = *b"ASOG";

/// The header version that is written and read.
pub const VERSION: u16 = 1;

/// Length of the header of version 1.
pub const HEADER_BYTES: usize = 20;
