// SPDX-License-Identifier: Apache-2.0
//! The device as the steps of a chunk use it: memory, copies, launches, prefix sums. It knows no
//! page.

use arrow_buffer::Buffer;
use arrowsmith_core::Result;

use super::super::split::EACH;
use crate::GpuOptions;
use crate::abi::{Arguments, Kernel, SLOTS_JOIN, SLOTS_SPREAD, SLOTS_SUM, SlotArgs};
use crate::device::lanes::Lane;
use crate::device::memory::{Arena, Refused, Sent};
use crate::device::{Ptr, Stream};

/// Why a leaf was not decoded.
#[derive(Debug)]
pub(in crate::parquet) enum Halt {
    /// It needs more memory, or larger offsets, than allowed: fewer rows may fit.
    TooLarge,
    /// The device is in doubt: another engine decodes it.
    Unsure,
    /// The device failed.
    Failed(arrowsmith_core::Error),
}

impl From<Refused> for Halt {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Bound => Self::TooLarge,
            Refused::Device(error) => Self::Failed(error),
        }
    }
}

/// One chunk in progress.
pub(in crate::parquet) struct Run<'r> {
    pub(super) stream: &'r mut dyn Stream,
    arena: &'r mut Arena,
    pub options: &'r GpuOptions,
}

impl<'r> Run<'r> {
    /// A chunk in this lane.
    pub fn new(lane: &'r mut Lane, options: &'r GpuOptions) -> Self {
        let Lane { stream, arena } = lane;
        Self { stream: stream.as_mut(), arena, options }
    }

    /// Positions of a segment of a page that is split.
    pub fn segment(&self) -> u64 {
        self.stream.block_threads() * EACH
    }

    /// Threads of a block.
    pub(super) fn block_threads(&self) -> u64 {
        self.stream.block_threads()
    }

    /// The number of blocks that cover this many threads.
    pub fn blocks(&self, threads: u64) -> u64 {
        self.stream.blocks(threads)
    }

    /// Memory with undefined content.
    pub fn take(&mut self, bytes: usize) -> Result<Ptr, Refused> {
        let at = self.arena.take(bytes as u64)?;
        self.arena.fence(self.stream, at, bytes as u64).map_err(Refused::Device)?;
        Ok(at)
    }

    /// Copies bytes to memory that was taken.
    pub fn copy_in(&mut self, at: Ptr, bytes: &[u8]) -> Result<(), Refused> {
        self.stream.copy_in(at, bytes).map_err(Refused::Device)
    }

    /// Copies bytes to the device.
    pub fn put(&mut self, bytes: &[u8]) -> Result<Ptr, Refused> {
        let at = self.take(bytes.len())?;
        self.copy_in(at, bytes)?;
        Ok(at)
    }

    /// Sends bytes of a page to the device, by [`Run::sent`] at the latest.
    pub fn send(&mut self, bytes: &[u8]) -> Result<Sent, Refused> {
        self.arena.send(self.stream, bytes)
    }

    /// All that was to be sent is on its way.
    pub fn sent(&mut self) -> Result<(), Refused> {
        self.arena.sent(self.stream).map_err(Refused::Device)
    }

    /// Sets memory to a byte.
    pub fn fill(&mut self, at: Ptr, byte: u8, bytes: usize) -> Result<(), Refused> {
        self.stream.fill(at, byte, bytes as u64).map_err(Refused::Device)
    }

    pub(super) fn zeros(&mut self, bytes: usize) -> Result<Ptr, Refused> {
        let at = self.take(bytes)?;
        self.fill(at, 0, bytes)?;
        Ok(at)
    }

    /// Runs a kernel.
    pub fn launch<A: Arguments>(
        &mut self,
        kernel: Kernel<A>,
        grid: u64,
        args: &A,
    ) -> Result<(), Refused> {
        kernel.launch(self.stream, grid, args).map_err(Refused::Device)
    }

    pub(super) fn fetch(&mut self, parts: &[(Ptr, usize)]) -> Result<Vec<Buffer>, Refused> {
        let parts: Vec<_> = parts.iter().map(|(at, bytes)| (*at, *bytes as u64)).collect();
        self.stream.fetch(&parts).map_err(Refused::Device)
    }

    /// Replaces an array of numbers by its exclusive prefix sums, followed by the total.
    pub(super) fn scan(&mut self, values: Ptr, count: usize) -> Result<(), Refused> {
        let count = count as u64;
        let blocks = self.stream.blocks(count);
        let sums = self.take((usize::try_from(blocks).unwrap_or(usize::MAX) + 1) * 8)?;
        let args = SlotArgs { values, count, blocks, sums, totals: values.offset(count * 8) };
        self.launch(SLOTS_SUM, blocks, &args)?;
        self.launch(SLOTS_JOIN, 1, &args)?;
        self.launch(SLOTS_SPREAD, blocks, &args)
    }
}

/// A number that a kernel has written.
pub(super) fn number(bytes: &[u8], index: usize) -> u64 {
    let word = bytes.get(index * 8..index * 8 + 8).and_then(|bytes| bytes.try_into().ok());
    u64::from_le_bytes(word.unwrap_or_default())
}
