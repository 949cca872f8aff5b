// SPDX-License-Identifier: Apache-2.0
//! What the host and the kernels agree on, defined once: here for the host, in `kernels/abi.cuh`,
//! which is generated from these definitions, for the kernels. It is names, types and layout only;
//! what fills the structures is in `json` and `parquet`.

mod kernels;
mod numbers;
mod structures;

use std::fmt::{self, Debug, Formatter};
use std::marker::PhantomData;

use arrowsmith_core::Result;

use crate::device::{Ptr, Stream};

pub use kernels::*;
pub use numbers::*;
pub use structures::*;

/// A structure in device memory: its fields in order, little-endian, without padding.
pub trait Shared: Copy {
    /// Bytes of one structure.
    const BYTES: usize;

    /// Appends the bytes of one structure.
    fn write(&self, out: &mut Vec<u8>);
}

/// The bytes of an array of structures.
pub fn bytes_of<T: Shared>(items: &[T]) -> Vec<u8> {
    let mut out = Vec::with_capacity(items.len() * T::BYTES);
    items.iter().for_each(|item| item.write(&mut out));
    out
}

/// A field of a kernel's arguments: eight bytes.
pub trait Word: Copy {
    /// The eight bytes as a number.
    fn word(self) -> u64;
}

impl Word for u64 {
    fn word(self) -> u64 {
        self
    }
}

impl Word for i64 {
    fn word(self) -> u64 {
        self.cast_unsigned()
    }
}

impl Word for bool {
    fn word(self) -> u64 {
        u64::from(self)
    }
}

impl Word for Ptr {
    fn word(self) -> u64 {
        self.0
    }
}

/// The arguments of a kernel.
pub trait Arguments {
    /// The fields in their order.
    fn words(&self) -> Vec<u64>;
}

/// A kernel, which takes these arguments.
pub struct Kernel<A> {
    name: &'static str,
    arguments: PhantomData<fn(&A)>,
}

impl<A> Clone for Kernel<A> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<A> Copy for Kernel<A> {}

impl<A> Debug for Kernel<A> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl<A: Arguments> Kernel<A> {
    const fn new(name: &'static str) -> Self {
        Self { name, arguments: PhantomData }
    }

    /// Runs it over `grid` blocks.
    ///
    /// # Errors
    /// As [`Stream::launch`].
    pub fn launch(self, stream: &mut dyn Stream, grid: u64, args: &A) -> Result<()> {
        stream.launch(self.name, grid, &args.words())
    }
}

#[cfg(test)]
mod tests;
