// SPDX-License-Identifier: Apache-2.0
//! The decompressors of the device against the libraries of the host: texts of every kind at every
//! level, and malformed streams, which the device must reject or decode as the host does.

#![cfg(feature = "shim")]

use std::sync::Arc;

use arrowsmith_engine_gpu::abi::{
    CUT_PAGES, UNPACK_SNAPPY, UNPACK_ZSTD, UnpackArgs, UnpackTask, bytes_of,
};
use arrowsmith_engine_gpu::device::memory::Arena;
use arrowsmith_engine_gpu::device::{Device, Ptr, Stream};
use arrowsmith_parquet::codec::decompressor;
use arrowsmith_workload::{Generator, SplitMix64, Workload};
use parquet::basic::{Compression, ZstdLevel};

use crate::common;

/// One of these.
fn of<T: Copy>(chance: &mut SplitMix64, items: &[T]) -> T {
    items[chance.index(items.len())]
}

fn byte(chance: &mut SplitMix64) -> u8 {
    chance.next_u64().to_le_bytes()[0]
}

/// Up to `most` bytes: literals from alphabets of all sizes, runs, copies from near and far, and
/// pieces of JSON.
fn text(chance: &mut SplitMix64, most: usize) -> Vec<u8> {
    let mut json = Vec::new();
    Generator::new(of(chance, &Workload::ALL), chance.next_u64(), 64).fill(4096, &mut json);
    let len = chance.index(most) + 1;
    let mut out = Vec::with_capacity(len);
    while out.len() < len {
        let most = of(chance, &[4, 20, 300, 5000]);
        let some = chance.index(most) + 1;
        match chance.index(5) {
            0 => {
                let mask = of(chance, &[0, 1, 7, 31, 255]);
                out.extend((0..some).map(|_| byte(chance) & mask));
            }
            1 => {
                let byte = byte(chance);
                out.resize(out.len() + some, byte);
            }
            2 if !out.is_empty() => {
                let back = of(chance, &[1, 2, 7, 64, 4000, out.len()]).min(out.len());
                let back = chance.index(back) + 1;
                for _ in 0..some {
                    out.push(out[out.len() - back]);
                }
            }
            _ => {
                let from = chance.index(json.len());
                out.extend_from_slice(&json[from..(from + some).min(json.len())]);
            }
        }
    }
    out.truncate(len);
    out
}

const SNAPPY: Compression = Compression::SNAPPY;

fn zstd() -> Compression {
    Compression::ZSTD(ZstdLevel::default())
}

/// Decompresses pages on the device in one launch; `None` if it finds one malformed.
fn unpack(codec: Compression, pages: &[(&[u8], usize)], seed: u64) -> Option<Vec<Vec<u8>>> {
    const ASIDE: usize = 128 << 10;
    let device: Arc<dyn Device> = common::device(seed);
    let mut stream = Arc::clone(&device).stream().unwrap();
    let mut arena = Arena::new(device, 1 << 30);
    let mut take = |stream: &mut dyn Stream, bytes: usize| -> Ptr {
        let at = arena.take(bytes as u64).unwrap();
        arena.fence(stream, at, bytes as u64).unwrap();
        stream.fill(at, 0, bytes as u64).unwrap();
        at
    };
    let mut tasks = Vec::new();
    let mut wanted = Vec::new();
    for (packed, len) in pages {
        let from = take(stream.as_mut(), packed.len());
        stream.copy_in(from, packed).unwrap();
        let to = take(stream.as_mut(), *len);
        let aside = take(stream.as_mut(), ASIDE.min(*len));
        tasks.push(UnpackTask {
            from: from.0,
            from_len: packed.len() as u64,
            to: to.0,
            to_len: *len as u64,
            aside: aside.0,
            ..UnpackTask::default()
        });
        wanted.push((to, *len as u64));
    }
    let bytes = bytes_of(&tasks);
    let tasks = take(stream.as_mut(), bytes.len());
    stream.copy_in(tasks, &bytes).unwrap();
    let bad = take(stream.as_mut(), 4);
    let kernel = if codec == SNAPPY { UNPACK_SNAPPY } else { UNPACK_ZSTD };
    let args = UnpackArgs { tasks, task_count: pages.len() as u64, bad };
    let blocks = stream.blocks(args.task_count);
    kernel.launch(stream.as_mut(), args.task_count, &args).unwrap();
    CUT_PAGES.launch(stream.as_mut(), blocks, &args).unwrap();
    wanted.push((bad, 4));
    let mut fetched = stream.fetch(&wanted).unwrap();
    arena.reset(stream.as_mut()).unwrap();
    let sound = fetched.pop().unwrap().iter().all(|byte| *byte == 0);
    sound.then(|| fetched.iter().map(|bytes| bytes.to_vec()).collect())
}

fn pack(codec: Compression, text: &[u8], chance: &mut SplitMix64) -> Vec<u8> {
    if codec == SNAPPY {
        return snap::raw::Encoder::new().compress_vec(text).unwrap();
    }
    let level = of(chance, &[1, 3, 6, 12, 19, -7]);
    if chance.index(3) > 0 {
        return zstd::bulk::compress(text, level).unwrap();
    }
    // Without the total length, as in streams; flushed now and then, for more blocks.
    let mut encoder = zstd::Encoder::new(Vec::new(), level).unwrap();
    for part in text.chunks(chance.index(text.len()) + 1) {
        std::io::Write::write_all(&mut encoder, part).unwrap();
        std::io::Write::flush(&mut encoder).unwrap();
    }
    encoder.finish().unwrap()
}

#[test]
fn pages_become_what_they_were() {
    for codec in [SNAPPY, zstd()] {
        for seed in 0..common::seeds(40) {
            let mut chance = SplitMix64::new(seed);
            let most = of(&mut chance, &[60, 3000, 40_000, 300_000]);
            let texts: Vec<_> = (0..=chance.index(3)).map(|_| text(&mut chance, most)).collect();
            let packed: Vec<_> = texts.iter().map(|text| pack(codec, text, &mut chance)).collect();
            let pages: Vec<_> =
                packed.iter().zip(&texts).map(|(packed, text)| (&packed[..], text.len())).collect();
            let found = unpack(codec, &pages, seed);
            assert!(found == Some(texts), "{codec:?}, seed {seed}");
        }
    }
}

#[test]
fn broken_pages_become_nothing_that_the_host_would_not_make_of_them() {
    let mut sound = 0;
    for codec in [SNAPPY, zstd()] {
        let mut host = decompressor(codec).unwrap();
        for seed in 0..common::seeds(400) {
            let mut chance = SplitMix64::new(seed ^ 0xB0B);
            let most = of(&mut chance, &[12, 60, 3000]);
            let text = text(&mut chance, most);
            let mut packed = pack(codec, &text, &mut chance);
            let mut len = text.len();
            for _ in 0..=chance.index(3) {
                let at = chance.index(packed.len());
                match chance.index(6) {
                    0 => packed.truncate(at),
                    1 => drop(packed.remove(at.min(packed.len().saturating_sub(1)))),
                    2 => len = (len + chance.index(5)).saturating_sub(2),
                    3 => packed.push(byte(&mut chance)),
                    _ => packed[at] ^= 1 << chance.index(8),
                }
                if packed.is_empty() {
                    break;
                }
            }
            let mut expected = vec![0; len];
            let host = host.decompress(&packed, &mut expected);
            if let Some(found) = unpack(codec, &[(&packed, len)], seed)
                && len > 0
            {
                sound += 1;
                assert!(host.is_ok(), "{codec:?}, seed {seed}: the host says {host:?}");
                assert!(found == [expected], "{codec:?}, seed {seed}");
            }
        }
    }
    // A byte of a literal may become any other.
    assert!(sound > 20, "{sound}");
}
