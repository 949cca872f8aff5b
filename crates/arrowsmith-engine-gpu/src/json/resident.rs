// SPDX-License-Identifier: Apache-2.0
//! The decoder whose batches stay on the device, and text that is already there.
//!
//! A piece of text whose records are all valid becomes a batch without a copy to the host. Rows of
//! the next engine, for records in doubt and for plans that the kernels do not support, are copied
//! to the device.

use std::sync::Arc;

use arrow_schema::SchemaRef;
use arrowsmith_core::{Chunk, Decoder, Framing, Report, Result};

use super::JsonDecoder;
use crate::device::resident::DeviceBatch;
use crate::device::{Device, Ptr, no_room};

/// Decodes JSON into batches that stay on the device.
pub struct DeviceDecoder(Inner);

enum Inner {
    Kernels(Box<JsonDecoder>),
    /// A plan that the kernels do not support.
    Host {
        decoder: Box<dyn Decoder>,
        device: Arc<dyn Device>,
        batches: Vec<DeviceBatch>,
    },
}

impl std::fmt::Debug for DeviceDecoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("DeviceDecoder")
    }
}

impl DeviceDecoder {
    pub(crate) fn kernels(mut decoder: JsonDecoder) -> Self {
        decoder.kept = Some(Vec::new());
        Self(Inner::Kernels(Box::new(decoder)))
    }

    pub(crate) fn host(decoder: Box<dyn Decoder>, device: &Arc<dyn Device>) -> Self {
        let device = Arc::clone(device);
        Self(Inner::Host { decoder, device, batches: Vec::new() })
    }

    /// Decodes every record of a chunk, as [`Decoder::decode`] does.
    ///
    /// # Errors
    /// As [`Decoder::decode`]; the rows before the invalid record are among the batches. Errors of
    /// the device.
    pub fn decode(&mut self, chunk: &Chunk<'_>) -> Result<Report> {
        match &mut self.0 {
            Inner::Kernels(decoder) => decoder.decode(chunk),
            Inner::Host { decoder, device, batches } => {
                let decoded = decoder.decode(chunk);
                let mut stream = Arc::clone(device).stream()?;
                while let Some(batch) = decoder.flush()? {
                    batches.push(DeviceBatch::from_host(device, stream.as_mut(), &batch)?);
                }
                decoded
            }
        }
    }

    /// Decodes a text that is on the device.
    ///
    /// # Errors
    /// As [`DeviceDecoder::decode`].
    pub fn decode_resident(&mut self, text: &DeviceText, framing: Framing) -> Result<Report> {
        let chunk = Chunk::new(&text.host, framing);
        match &mut self.0 {
            Inner::Kernels(decoder) => decoder.chunk(&chunk, Some(text.at)),
            Inner::Host { .. } => self.decode(&chunk),
        }
    }

    /// Takes the batches so far, in order.
    pub fn take(&mut self) -> Vec<DeviceBatch> {
        match &mut self.0 {
            Inner::Kernels(decoder) => {
                decoder.kept.as_mut().map(std::mem::take).unwrap_or_default()
            }
            Inner::Host { batches, .. } => std::mem::take(batches),
        }
    }

    /// The schema of the batches.
    pub fn schema(&self) -> SchemaRef {
        match &self.0 {
            Inner::Kernels(decoder) => decoder.schema(),
            Inner::Host { decoder, .. } => decoder.schema(),
        }
    }
}

/// A text in the memory of a device. The host has it too: for line ends, and for records in doubt.
#[derive(Debug)]
pub struct DeviceText {
    device: Arc<dyn Device>,
    at: Ptr,
    host: Vec<u8>,
}

impl DeviceText {
    /// Copies a text to a device, and waits for the copy.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn upload(device: &Arc<dyn Device>, text: Vec<u8>) -> Result<Self> {
        let bytes = text.len() as u64;
        let at = device.allocate(bytes)?.ok_or_else(|| no_room(bytes))?;
        // From here on, so that `drop` gives the memory back whatever fails.
        let text = Self { device: Arc::clone(device), at, host: text };
        let mut stream = Arc::clone(device).stream()?;
        let mut to = at;
        for part in text.host.chunks(64 << 20) {
            stream.copy_in(to, part)?;
            to = to.offset(part.len() as u64);
        }
        stream.fetch(&[])?;
        Ok(text)
    }

    /// Its length, in bytes.
    pub fn len(&self) -> usize {
        self.host.len()
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.host.is_empty()
    }
}

impl Drop for DeviceText {
    fn drop(&mut self) {
        self.device.free(self.at, self.host.len() as u64);
    }
}
