// SPDX-License-Identifier: Apache-2.0
//! Decompresses pages alone, as a column chunk would: for tests of the decompressors.

use std::sync::Arc;

use arrowsmith_core::Result;
use parquet::basic::Compression;

use super::chunk::{Halt, Run, unpacked};
use super::pages::{Codec, Host};
use crate::GpuOptions;
use crate::device::lanes::Lanes;
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
    let lanes = Arc::new(Lanes::new(Arc::clone(device), options.memory_bytes_max));
    let mut leased = lanes.lease()?;
    let lane = leased.lane()?;
    let mut run = Run::new(lane, options);
    let tasks = pages.iter().try_for_each(|(packed, len)| {
        host.task(&mut run, packed, *len, codec, (0, None)).map_err(Halt::from)
    });
    let outcome = tasks.and_then(|()| unpacked(&mut run, &host));
    lane.arena.reset(lane.stream.as_mut())?;
    let (bytes, split) = outcome.map_err(|halt| match halt {
        Halt::Failed(error) => error,
        Halt::TooLarge | Halt::Unsure => failure("gpu: the pages are too large"),
    })?;
    let page = |task: &super::pages::Task| bytes.as_ref()?.get(task.to.clone()).map(<[u8]>::to_vec);
    Ok(Unpacked { pages: host.tasks.iter().map(page).collect(), split })
}
