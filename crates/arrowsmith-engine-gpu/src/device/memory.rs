// SPDX-License-Identifier: Apache-2.0
//! Device memory of one decoder: a bump allocator over few large slabs, reset after each chunk. It
//! never exceeds its limit.

use std::sync::Arc;

use arrowsmith_core::Result;

use super::upload::Upload;
use super::{Device, Ptr, Stream, failure};

/// Every allocation begins at a multiple of this, as CUDA's own do.
const ALIGN: u64 = 256;

/// Readable bytes after those that are sent.
const SPARE: u64 = 16;

/// The bytes of a fence.
const FENCE: u8 = 0xFD;

/// Why an allocation failed.
#[derive(Debug)]
pub enum Refused {
    /// The limit would be exceeded, or the device is full: the chunk has to be smaller.
    Bound,
    /// The device failed.
    Device(arrowsmith_core::Error),
}

/// A bump allocator.
#[derive(Debug)]
pub struct Arena {
    device: Arc<dyn Device>,
    slabs: Vec<(Ptr, u64)>,
    /// Bytes used of the last slab.
    used: u64,
    held: u64,
    bytes_max: u64,
    fences: Vec<Ptr>,
    upload: Upload,
}

/// Bytes of the host on the device.
#[derive(Debug, Clone, Copy)]
pub struct Sent {
    /// Their address.
    pub at: Ptr,
    /// How many they are; some more after them can be read.
    pub len: usize,
}

impl Arena {
    /// Memory of a device, at most `bytes_max`.
    pub fn new(device: Arc<dyn Device>, bytes_max: u64) -> Self {
        Self {
            device,
            slabs: Vec::new(),
            used: 0,
            held: 0,
            bytes_max,
            fences: Vec::new(),
            upload: Upload::default(),
        }
    }

    /// The device.
    pub fn device(&self) -> &Arc<dyn Device> {
        &self.device
    }

    /// Bytes allocated from the device.
    pub fn held(&self) -> u64 {
        self.held
    }

    /// Allocates memory with undefined content.
    ///
    /// # Errors
    /// [`Refused`].
    pub fn take(&mut self, bytes: u64) -> Result<Ptr, Refused> {
        let fenced = self.device.fences();
        let wanted = bytes.max(1).div_ceil(ALIGN).saturating_mul(ALIGN);
        let wanted = wanted.saturating_add(if fenced { ALIGN } else { 0 });
        let left = self.slabs.last().map_or(0, |slab| slab.1 - self.used);
        if left < wanted {
            let size = wanted.max(self.held).max(1 << 20);
            let size = size.min(self.bytes_max.saturating_sub(self.held)).max(wanted);
            if self.held.saturating_add(size) > self.bytes_max {
                return Err(Refused::Bound);
            }
            let (slab, size) = self.slab(size, wanted)?;
            self.slabs.push((slab, size));
            self.held += size;
            self.used = 0;
        }
        let slab = self.slabs.last().map_or(Ptr(0), |slab| slab.0);
        let at = slab.offset(self.used);
        self.used += wanted;
        if fenced {
            // Directly after the requested bytes.
            self.fences.push(at.offset(bytes));
        }
        Ok(at)
    }

    /// Memory of the device: `bytes`, or, if that much is not free, only the required bytes.
    fn slab(&self, bytes: u64, needed: u64) -> Result<(Ptr, u64), Refused> {
        for size in [bytes, needed] {
            if let Some(at) = self.device.allocate(size).map_err(Refused::Device)? {
                return Ok((at, size));
            }
        }
        Err(Refused::Bound)
    }

    /// Writes the fences of the allocations since the last call of `reset`.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn fence(&self, stream: &mut dyn Stream, at: Ptr, bytes: u64) -> Result<()> {
        if self.device.fences() { stream.fill(at.offset(bytes), FENCE, 64) } else { Ok(()) }
    }

    /// Allocates memory for bytes and sends them, by [`Arena::sent`] at the latest.
    ///
    /// # Errors
    /// [`Refused`].
    pub fn send(&mut self, stream: &mut dyn Stream, bytes: &[u8]) -> Result<Sent, Refused> {
        // Up to where the next memory begins, so that further bytes go with these.
        let room = (bytes.len() as u64).saturating_add(SPARE).div_ceil(ALIGN).saturating_mul(ALIGN);
        let slabs = self.slabs.len();
        let at = self.take(room)?;
        if self.slabs.len() > slabs {
            // It may begin where the last one ends, and no copy goes over that boundary.
            self.upload.send(stream).map_err(Refused::Device)?;
        }
        self.fence(stream, at, room).map_err(Refused::Device)?;
        self.upload.add(stream, at, room, bytes).map_err(Refused::Device)?;
        Ok(Sent { at, len: bytes.len() })
    }

    /// What was to be sent is on its way.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn sent(&mut self, stream: &mut dyn Stream) -> Result<()> {
        self.upload.send(stream)
    }

    /// Frees all allocations. Several slabs are replaced by one.
    ///
    /// # Errors
    /// An overwritten fence, which is a bug of a kernel.
    pub fn reset(&mut self, stream: &mut dyn Stream) -> Result<()> {
        self.upload.clear();
        let fences = std::mem::take(&mut self.fences);
        if !fences.is_empty() {
            let parts: Vec<_> = fences.iter().map(|at| (*at, 64)).collect();
            let intact =
                stream.fetch(&parts)?.iter().all(|part| part.iter().all(|byte| *byte == FENCE));
            if !intact {
                return Err(failure("gpu: a kernel wrote beyond its memory"));
            }
        }
        self.used = 0;
        if self.slabs.len() > 1 {
            let held = self.held;
            self.release();
            // Best effort: if no single slab is free, the next chunk allocates several again.
            if let Ok(Some(slab)) = self.device.allocate(held) {
                self.slabs.push((slab, held));
                self.held = held;
            }
        }
        Ok(())
    }

    fn release(&mut self) {
        for (at, bytes) in self.slabs.drain(..) {
            self.device.free(at, bytes);
        }
        self.held = 0;
        self.used = 0;
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        self.release();
    }
}
