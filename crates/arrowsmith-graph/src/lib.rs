// SPDX-License-Identifier: Apache-2.0
//! C++ object graphs: class layouts, the wire format, generated C++, and Arrow (MSR-TR-2009-126).
//!
//! A [`Layout`] gives the position of every member of every class, as the compiler laid it out.
//! From it come the C++ that writes and reads messages, the reader and writer of this crate, the
//! circuit of `arrowsmith-rtlgen`, and Arrow batches. docs/design/0004-object-graphs.md defines the
//! messages. This crate never runs the code it generates.

#![forbid(unsafe_code)]

pub mod arrow;
pub mod generate;
pub mod layout;
pub mod wire;

pub use layout::Layout;
pub use wire::{Code, WireError};
