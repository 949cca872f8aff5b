// SPDX-License-Identifier: Apache-2.0
//! The decompression of pages that were sent compressed.

use arrow_buffer::Buffer;

use super::super::pages::{Codec, Host};
use super::super::split;
use super::run::{Halt, Run};
use crate::abi::*;
use crate::device::Ptr;
use crate::device::memory::Refused;

/// A column whose pages are on the device.
#[derive(Clone, Copy)]
pub(super) struct Packed<'h> {
    pub(super) host: &'h Host,
    /// Memory for the pages that the device decompresses.
    pub(super) unpacked: Ptr,
    /// Where its pages are described.
    pub(super) pages: Ptr,
    /// Where it is noted that one is malformed.
    pub(super) bad: Ptr,
}

impl Packed<'_> {
    /// What is to be done for its pages.
    fn tasks(&self, run: &mut Run<'_>) -> Result<Vec<UnpackTask>, Refused> {
        let aside = run.take(self.host.aside_bytes)?;
        let desc = |page: usize| self.pages.offset((page * PageDesc::BYTES) as u64).0;
        let tasks = self.host.tasks.iter().map(|task| UnpackTask {
            from: task.from.at.0,
            from_len: task.from.len as u64,
            to: self.unpacked.offset(task.to.start as u64).0,
            to_len: task.to.len() as u64,
            aside: aside.offset(task.aside as u64).0,
            cuts: task.cuts,
            page: task.page.map_or(0, desc),
            chain: 0,
            bad: self.bad.0,
        });
        Ok(tasks.collect())
    }
}

/// Unpacks the pages of some columns that were sent compressed, all at once, and finds where their
/// levels end.
pub(super) fn unpack(
    run: &mut Run<'_>,
    columns: &[Packed<'_>],
) -> Result<Vec<UnpackTask>, Refused> {
    run.sent()?;
    let mut all = Vec::new();
    for codec in [Codec::Snappy, Codec::Zstd] {
        let (mut tasks, mut frames) = (Vec::new(), Vec::new());
        for column in columns.iter().filter(|column| column.host.codec == Some(codec)) {
            tasks.extend(column.tasks(run)?);
            frames.extend(column.host.tasks.iter().map(|task| task.frame.as_ref()));
        }
        if tasks.is_empty() {
            continue;
        }
        split::unpack(run, codec, &frames, &mut tasks)?;
        let count = tasks.len() as u64;
        let args = UnpackArgs { tasks: run.put(&bytes_of(&tasks))?, task_count: count };
        run.launch(codec.kernel(), count, &args)?;
        run.launch(CUT_PAGES, run.stream.blocks(count), &args)?;
        all.extend(tasks);
    }
    Ok(all)
}

/// Decompressed pages, if none is malformed; and how many of them were split.
pub(in crate::parquet) fn unpacked(
    run: &mut Run<'_>,
    host: &Host,
) -> Result<(Option<Vec<u8>>, usize), Halt> {
    let unpacked = run.zeros(host.unpacked_bytes)?;
    let bad = run.zeros(4)?;
    let tasks = unpack(run, &[Packed { host, unpacked, pages: Ptr(0), bad }])?;
    // The last field of a chain is whether one block decoded the page after all.
    let serial = ChainTask::BYTES as u64 - 8;
    let mut parts = vec![(bad, 4), (unpacked, host.unpacked_bytes)];
    parts.extend(
        tasks.iter().filter(|task| task.chain != 0).map(|task| (Ptr(task.chain + serial), 8)),
    );
    let fetched = run.fetch(&parts)?;
    let zero = |bytes: &Buffer| bytes.iter().all(|byte| *byte == 0);
    let bytes = zero(&fetched[0]).then(|| fetched[1].to_vec());
    Ok((bytes, fetched[2..].iter().filter(|serial| zero(serial)).count()))
}
