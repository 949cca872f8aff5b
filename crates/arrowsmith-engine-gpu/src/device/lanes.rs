// SPDX-License-Identifier: Apache-2.0
//! Streams with their own memory, kept for the next decoder: to make one takes milliseconds, most
//! of it for pinned memory.

use std::sync::{Arc, Mutex, PoisonError};

use arrowsmith_core::Result;

use super::memory::Arena;
use super::{Device, Stream, failure};

/// A stream with its own memory.
#[derive(Debug)]
pub struct Lane {
    // Declared before the memory, which is freed after all work is done.
    /// Its work.
    pub stream: Box<dyn Stream>,
    /// Its memory.
    pub arena: Arena,
}

/// The lanes of an engine: as many as were used at the same time. The one that was given back last
/// is taken first.
#[derive(Debug)]
pub struct Lanes {
    device: Arc<dyn Device>,
    /// Memory of each, at most.
    bytes_max: u64,
    idle: Mutex<Vec<Lane>>,
}

impl Lanes {
    /// Lanes of a device, each of at most `bytes_max`.
    pub fn new(device: Arc<dyn Device>, bytes_max: u64) -> Self {
        Self { device, bytes_max, idle: Mutex::default() }
    }

    /// The device.
    pub fn device(&self) -> &Arc<dyn Device> {
        &self.device
    }

    /// An idle lane, or a new one. It comes back when the lease is dropped.
    ///
    /// # Errors
    /// Errors of the driver.
    pub fn lease(self: &Arc<Self>) -> Result<Leased> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let lane = match idle {
            Some(lane) => lane,
            None => Lane {
                stream: Arc::clone(&self.device).stream()?,
                arena: Arena::new(Arc::clone(&self.device), self.bytes_max),
            },
        };
        Ok(Leased { lane: Some(lane), lanes: Arc::clone(self) })
    }
}

/// A lane while it is used.
#[derive(Debug)]
pub struct Leased {
    /// Always there, until it is dropped.
    lane: Option<Lane>,
    lanes: Arc<Lanes>,
}

impl Leased {
    /// The lane.
    ///
    /// # Errors
    /// None, in fact: it is there until the lease ends.
    pub fn lane(&mut self) -> Result<&mut Lane> {
        self.lane.as_mut().ok_or_else(|| failure("gpu: the lane was given back"))
    }
}

impl Drop for Leased {
    fn drop(&mut self) {
        if let Some(mut lane) = self.lane.take() {
            // After an error work may be left. One that cannot be reset is not used again.
            if lane.arena.reset(lane.stream.as_mut()).is_ok() {
                self.lanes.idle.lock().unwrap_or_else(PoisonError::into_inner).push(lane);
            }
        }
    }
}
