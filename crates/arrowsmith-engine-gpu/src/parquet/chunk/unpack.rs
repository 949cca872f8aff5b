// SPDX-License-Identifier: Apache-2.0
//! The decompression of pages that were sent compressed.

use arrow_buffer::Buffer;

use super::super::pages::Host;
use super::super::split;
use super::run::{Halt, Run};
use crate::abi::*;
use crate::device::Ptr;
use crate::device::memory::Refused;

/// Unpacks the pages that were sent compressed, and finds where their levels end.
pub(super) fn unpack(
    run: &mut Run<'_>,
    host: &Host,
    unpacked: Ptr,
    pages: Ptr,
    bad: Ptr,
) -> Result<Vec<UnpackTask>, Refused> {
    let Some(codec) = host.codec.filter(|_| !host.tasks.is_empty()) else {
        return Ok(Vec::new());
    };
    let aside = run.take(host.aside_bytes)?;
    let desc = |page: usize| pages.offset((page * PageDesc::BYTES) as u64).0;
    let mut tasks: Vec<UnpackTask> = host
        .tasks
        .iter()
        .map(|task| UnpackTask {
            from: task.from.at.0,
            from_len: task.from.len as u64,
            to: unpacked.offset(task.to.start as u64).0,
            to_len: task.to.len() as u64,
            aside: aside.offset(task.aside as u64).0,
            cuts: task.cuts,
            page: task.page.map_or(0, desc),
            chain: 0,
        })
        .collect();
    split::unpack(run, host, &mut tasks, bad)?;
    let count = tasks.len() as u64;
    let args = UnpackArgs { tasks: run.put(&bytes_of(&tasks))?, task_count: count, bad };
    run.launch(codec.kernel(), count, &args)?;
    run.launch(CUT_PAGES, run.stream.blocks(count), &args)?;
    Ok(tasks)
}

/// Decompressed pages, if none is malformed; and how many of them were split.
pub(in crate::parquet) fn unpacked(
    run: &mut Run<'_>,
    host: &Host,
) -> Result<(Option<Vec<u8>>, usize), Halt> {
    run.sent()?;
    let unpacked = run.zeros(host.unpacked_bytes)?;
    let bad = run.zeros(4)?;
    let tasks = unpack(run, host, unpacked, Ptr(0), bad)?;
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
