// SPDX-License-Identifier: Apache-2.0
//! How much of a device the pages of a column keep busy: blocks of threads against what the
//! multiprocessors of an H100 or H200 hold. For `--explain`; no device is needed.

use std::fmt::Write;

use arrowsmith_core::Result;
use arrowsmith_parquet::{Column, Encoding, File, Pages, nest::Nest};

use super::chunk::{DELTA_BLOCK, RUN_EACH};
use super::shape;
use super::split::{EACH, UNIT};
use crate::GpuOptions;
use crate::device::BLOCK;

/// Registers per thread and shared memory of each kernel, as the compiler reports them for compute
/// capability 9.0; `tools/gpu predict` compares and writes them.
const KERNELS: &str = include_str!("../../kernels/sm_90.csv");

/// Multiprocessors of an H100 or H200; and of each the warps, registers and shared memory (CUDA C++
/// Programming Guide, compute capability 9.0). A block of any kernel takes another 1 KiB.
const PROCESSORS: u64 = 132;
const WARPS: u64 = 64;
const REGISTERS: u64 = 65_536;
const SHARED_BYTES: u64 = 228 << 10;
const SHARED_BYTES_OF_BLOCK: u64 = 1 << 10;

/// Threads of a warp.
const WARP: u64 = 32;

/// Bytes of a Zstandard block's output, at most; two warps read it.
const ZSTD_BLOCK_BYTES: u64 = 128 << 10;

/// Blocks of a kernel that a device holds at once: limited by warps, registers, which are allocated
/// to warps in groups of 256, and shared memory.
fn resident(kernel: &str) -> Option<u64> {
    let row = KERNELS.lines().find_map(|line| line.strip_prefix(kernel)?.strip_prefix(','))?;
    let (registers, shared) = row.split_once(',')?;
    let (registers, shared): (u64, u64) = (registers.parse().ok()?, shared.parse().ok()?);
    let warps = BLOCK / WARP;
    let by_registers = REGISTERS / ((registers * WARP).next_multiple_of(256) * warps).max(1);
    let by_shared = SHARED_BYTES / (shared + SHARED_BYTES_OF_BLOCK);
    Some(by_registers.min(by_shared).min(WARPS / warps) * PROCESSORS)
}

/// Work of a column: how many blocks each of its kernels has.
#[derive(Debug, Default, PartialEq, Eq)]
struct Work {
    pages: u64,
    bytes: u64,
    blocks: Vec<(&'static str, u64)>,
}

impl Work {
    fn add(&mut self, kernel: &'static str, blocks: u64) {
        match self.blocks.iter_mut().find(|(name, _)| *name == kernel) {
            Some((_, all)) => *all += blocks,
            None => self.blocks.push((kernel, blocks)),
        }
    }
}

/// A page, by its header: its bytes before and after decompression, its values, and its encoding.
#[derive(Debug, Clone, Copy)]
struct Header {
    packed: u64,
    bytes: u64,
    count: u64,
    encoding: Encoding,
}

/// The work of pages; `codec` is the decompressor, if the device has one.
fn work(pages: &[Header], codec: Option<super::Codec>, text: bool, options: &GpuOptions) -> Work {
    let mut work = Work::default();
    let few = (pages.len() as u64) < options.split_pages_max;
    let is_split = |bytes: u64| few && bytes > options.split_bytes_min;
    for page in pages {
        work.pages += 1;
        work.bytes += page.bytes;
        match codec {
            Some(super::Codec::Snappy) if is_split(page.packed) => {
                work.add("unpack_units", page.bytes.div_ceil(UNIT));
            }
            Some(super::Codec::Snappy) => work.add("unpack_snappy", 1),
            Some(super::Codec::Zstd) if is_split(page.bytes) => {
                let warps = 2 * page.bytes.div_ceil(ZSTD_BLOCK_BYTES);
                work.add("zstd_parts", warps.div_ceil(BLOCK / WARP));
            }
            Some(super::Codec::Zstd) => work.add("unpack_zstd", 1),
            None => {}
        }
        use Encoding as E;
        match page.encoding {
            E::DeltaBinaryPacked | E::DeltaLengthByteArray => {
                work.add("page_index", 1);
                // A warp for each block of deltas.
                work.add("delta_values", page.count.div_ceil(DELTA_BLOCK * (BLOCK / WARP)));
            }
            E::Dictionary | E::Rle => {
                work.add("page_index", 1);
                work.add("run_values", page.count.div_ceil(BLOCK * RUN_EACH));
            }
            E::DeltaByteArray => work.add("page_values", 1),
            E::Plain if text && is_split(page.bytes) => {
                work.add("string_places", page.bytes.div_ceil(BLOCK * EACH));
            }
            // A thread per page.
            E::Plain if text => work.add("page_strings", 1),
            _ => work.add("gather_fixed", page.count.div_ceil(BLOCK)),
        }
    }
    work
}

/// The work as text: `1 page of 412 KiB: delta_values 103 blocks of 660 (15 %)`.
fn text(work: &Work) -> String {
    let (pages, kib) = (work.pages, work.bytes.div_ceil(1024));
    let mut text = match pages {
        1 => format!("1 page of {kib} KiB"),
        _ => format!("{pages} pages of {} KiB", kib / pages.max(1)),
    };
    let mut next = ": ";
    for (kernel, blocks) in &work.blocks {
        let Some(resident) = resident(kernel) else { continue };
        let share = (100 * blocks / resident).min(100);
        // Writing to a string does not fail.
        let _ = write!(text, "{next}{kernel} {blocks} of {resident} blocks ({share} %)");
        next = ", ";
    }
    text
}

/// What the pages of a column in the first row group occupy of an H100 or H200.
///
/// # Errors
/// Those of reading pages' headers.
pub(crate) fn describe(file: &File, column: &Column, options: &GpuOptions) -> Result<String> {
    let nest = Nest::new(column)?;
    let shapes = shape::shapes(&nest).unwrap_or_default();
    let mut texts = Vec::with_capacity(shapes.len());
    for shape in &shapes {
        let mut headers = Vec::new();
        let mut pages = Pages::new(file, 0, shape.leaf)?;
        while let Some(info) = pages.peek()? {
            if !info.dictionary {
                headers.push(Header {
                    packed: info.compressed_bytes as u64,
                    bytes: info.uncompressed_bytes as u64,
                    count: info.count as u64,
                    encoding: info.encoding,
                });
            }
            pages.skip()?;
        }
        let codec = super::Codec::of(file.chunk(0, shape.leaf)?.compression());
        texts.push(text(&work(&headers, codec, shape.form.is_text(), options)));
    }
    Ok(format!("row group 0 on an H100 or H200: {}", texts.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_are_limited_by_what_they_need() {
        // 8 blocks of 8 warps at 32 registers; 4 at 64.
        assert_eq!(resident("gather_fixed"), Some(8 * PROCESSORS));
        assert_eq!(resident("page_values"), Some(4 * PROCESSORS));
        assert_eq!(resident("no_kernel"), None);
        assert!(
            KERNELS.lines().skip(1).all(|line| resident(line.split(',').next().unwrap()) > Some(0))
        );
    }

    #[test]
    fn few_pages_have_many_blocks() {
        let encoding = Encoding::DeltaBinaryPacked;
        let page = Header { packed: 300 << 10, bytes: 1 << 20, count: 1 << 20, encoding };
        let options = GpuOptions::default();
        let few = work(&[page], Some(super::super::Codec::Snappy), false, &options);
        assert_eq!(few.blocks, [("unpack_units", 16), ("page_index", 1), ("delta_values", 1024)]);
        assert!(
            text(&few).starts_with("1 page of 1024 KiB: unpack_units 16 of "),
            "{}",
            text(&few)
        );
        let page = Header { encoding: Encoding::DeltaByteArray, ..page };
        let many = work(&[page; 2000], None, false, &options);
        assert_eq!(many.blocks, [("page_values", 2000)]);
        assert!(text(&many).contains("page_values 2000 of 528 blocks (100 %)"), "{}", text(&many));
    }
}
