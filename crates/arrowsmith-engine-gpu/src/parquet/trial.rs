// SPDX-License-Identifier: Apache-2.0
//! Decompresses pages alone, as a column chunk would: for tests of the decompressors.

use std::sync::Arc;

use arrowsmith_core::Result;
use parquet::basic::Compression;

use super::chunk::{Halt, Run, unpacked};
use super::pages::{Codec, Host};
use crate::GpuOptions;
use crate::device::memory::Arena;
use crate::device::{Device, failure};

/// Pages that a device decompressed.
#[derive(Debug)]
pub struct Unpacked {
    /// The bytes of each; `None` if one is malformed.
    pub pages: Option<Vec<Vec<u8>>>,
    /// Pages that many blocks of threads decompressed.
    pub split: usize,
}

/// Decompresses pages: the compressed bytes of each, and the length of the result.
///
/// # Errors
/// Failures of the device; memory above the limit; a codec that it does not have.
pub fn unpack_pages(
    device: &Arc<dyn Device>,
    options: &GpuOptions,
    compression: Compression,
    pages: &[(&[u8], usize)],
) -> Result<Unpacked> {
    let Some(codec) = Codec::of(compression) else { return Err(failure("gpu: no such codec")) };
    let mut host = Host { codec: Some(codec), ..Host::default() };
    for (packed, len) in pages {
        host.task(packed, *len, codec, 0, None);
    }
    let mut stream = Arc::clone(device).stream()?;
    let mut arena = Arena::new(Arc::clone(device), options.memory_bytes_max);
    let mut run = Run::new(stream.as_mut(), &mut arena, options);
    let outcome = unpacked(&mut run, &host);
    arena.reset(stream.as_mut())?;
    let (bytes, split) = outcome.map_err(|halt| match halt {
        Halt::Failed(error) => error,
        Halt::TooLarge | Halt::Unsure => failure("gpu: the pages are too large"),
    })?;
    let page = |task: &super::pages::Task| bytes.as_ref()?.get(task.to.clone()).map(<[u8]>::to_vec);
    Ok(Unpacked { pages: host.tasks.iter().map(page).collect(), split })
}
