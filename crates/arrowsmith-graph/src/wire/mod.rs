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
mod translate;
mod walk;

pub use error::{Code, WireError};
pub(crate) use graph::NullSink;
pub use graph::{Graph, Object, Value};
pub use region::{Made, Reader};
pub(crate) use translate::Moves;
pub use translate::Translation;
pub use walk::{Options, Sink, Tables};

/// A reference to no object.
pub const NULL_ID: u32 = u32::MAX;

/// The first bytes of a message with a header.
pub const MAGIC: [u8; 4] = *b"ASOG";

/// The header version that is written and read.
pub const VERSION: u16 = 1;

/// Length of the header of version 1.
pub const HEADER_BYTES: usize = 20;

/// The header of a message of a layout whose rest is so long; none if that is too long.
fn header(layout: &crate::layout::Layout, body: usize) -> Option<Vec<u8>> {
    let body = u32::try_from(body).ok()?;
    let mut header = MAGIC.to_vec();
    header.extend(VERSION.to_le_bytes());
    header.extend(u16::try_from(HEADER_BYTES).unwrap_or(0).to_le_bytes());
    header.extend(layout.wire_hash().to_le_bytes());
    header.extend(body.to_le_bytes());
    Some(header)
}
