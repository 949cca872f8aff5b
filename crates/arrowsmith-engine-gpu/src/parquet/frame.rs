// SPDX-License-Identifier: Apache-2.0
//! The blocks of a Zstandard frame (RFC 8878): where they are, how many literals and sequences each
//! has, and which earlier block describes what it uses.
//!
//! It reads headers only, a few bytes per block of up to 128 KiB. What is unexpected is not a frame
//! here; the kernel that decodes a page by one block of threads decides what it is.

/// Bytes of a block's output, at most.
const BLOCK_BYTES_MAX: usize = 128 << 10;

/// Kinds of tables: literal lengths, offsets, match lengths.
const TABLES: usize = 3;

/// A frame.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Frame {
    /// Bytes of a block's output, at most.
    pub block_bytes_max: usize,
    pub blocks: Vec<Block>,
}

/// A block.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Block {
    /// Its content in the frame.
    pub from: usize,
    /// Bytes of the content, or of the output of a repeated byte.
    pub size: usize,
    /// 0 raw, 1 a repeated byte, 2 compressed.
    pub kind: u64,
    pub literal_count: usize,
    /// Bytes of the content that describe literals.
    pub literal_bytes: usize,
    pub sequence_count: usize,
    /// The earlier block that describes the Huffman tree, if it is not this one.
    pub tree_from: Option<usize>,
    /// The same for each table.
    pub tables_from: [Option<usize>; TABLES],
}

/// The latest blocks that described a tree and tables.
#[derive(Default)]
struct Latest {
    tree: Option<usize>,
    tables: [Option<usize>; TABLES],
}

fn little(bytes: &[u8]) -> usize {
    bytes.iter().rev().fold(0, |word, byte| word << 8 | usize::from(*byte))
}

impl Frame {
    /// The blocks of a frame that makes `len` bytes.
    pub fn parse(bytes: &[u8], len: usize) -> Option<Self> {
        if bytes.get(..4)? != [0x28, 0xB5, 0x2F, 0xFD] {
            return None;
        }
        let head = *bytes.get(4)?;
        // A reserved bit, a checksum, a dictionary.
        if head & 0x0F != 0 {
            return None;
        }
        let single = head & 0x20 != 0;
        let mut at = 5;
        let mut window = len;
        if !single {
            let byte = usize::from(*bytes.get(5)?);
            let log = 10 + (byte >> 3);
            if log > 31 {
                return None;
            }
            window = (1 << log) + ((1 << log) >> 3) * (byte & 7);
            at = 6;
        }
        let width = match head >> 6 {
            0 => usize::from(single),
            log => 1 << log,
        };
        let content = little(bytes.get(at..at + width)?) + if width == 2 { 256 } else { 0 };
        if width > 0 && content != len {
            return None;
        }
        at += width;
        let mut frame = Self { block_bytes_max: window.min(BLOCK_BYTES_MAX), blocks: Vec::new() };
        let mut latest = Latest::default();
        loop {
            let head = little(bytes.get(at..at + 3)?);
            let (last, kind, size) = (head & 1 != 0, head >> 1 & 3, head >> 3);
            at += 3;
            if kind > 2 || size > frame.block_bytes_max {
                return None;
            }
            let stored = if kind == 1 { 1 } else { size };
            let content = bytes.get(at..at + stored)?;
            let mut block = Block { from: at, size, kind: kind as u64, ..Block::default() };
            if kind == 2 {
                block.parse(content, frame.blocks.len(), &mut latest)?;
            }
            // Bounded: a block has three bytes at least.
            frame.blocks.push(block);
            at += stored;
            if last {
                return (at == bytes.len()).then_some(frame);
            }
        }
    }
}

impl Block {
    fn parse(&mut self, content: &[u8], number: usize, latest: &mut Latest) -> Option<()> {
        let first = usize::from(*content.first()?);
        let (kind, format) = (first & 3, first >> 2 & 3);
        let head = match (kind < 2, format) {
            (true, 1) => 2,
            (true, 3) => 3,
            (true, _) => 1,
            (false, 0 | 1) => 3,
            (false, format) => format + 2,
        };
        let word = little(content.get(..head)?) >> 4;
        let stored;
        if kind < 2 {
            self.literal_count = if format & 1 == 1 { word } else { first >> 3 };
            stored = if kind == 0 { self.literal_count } else { 1 };
        } else {
            let bits = [10, 10, 14, 18][format];
            self.literal_count = word & ((1 << bits) - 1);
            stored = word >> bits;
        }
        if self.literal_count > BLOCK_BYTES_MAX {
            return None;
        }
        match kind {
            2 => latest.tree = Some(number),
            3 => self.tree_from = Some(latest.tree?),
            _ => {}
        }
        self.literal_bytes = head + stored;
        let rest = content.get(self.literal_bytes..)?;
        let first = usize::from(*rest.first()?);
        let (count, modes_at) = match first {
            0..128 => (first, 1),
            128..255 => ((first - 128) << 8 | usize::from(*rest.get(1)?), 2),
            _ => (little(rest.get(1..3)?) + 0x7F00, 3),
        };
        self.sequence_count = count;
        if count == 0 {
            return Some(());
        }
        let modes = *rest.get(modes_at)?;
        for (kind, latest) in latest.tables.iter_mut().enumerate() {
            if modes >> (6 - 2 * kind) & 3 == 3 {
                self.tables_from[kind] = Some((*latest)?);
            } else {
                *latest = Some(number);
            }
        }
        Some(())
    }

    /// Bytes of scratch memory for its literals, and for its sequences and their end.
    pub fn scratch_bytes(&self) -> (usize, usize) {
        (self.literal_count, (self.sequence_count + 1) * 12)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pieces of text with a new character set each, so that blocks differ.
    fn text(len: usize) -> Vec<u8> {
        let mut state = 1_u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            state >> 33
        };
        let letter = |number: u64| b'a' + number.to_le_bytes()[0];
        (0..len as u64).map(|at| letter(next() % (7 + at / 50_000))).collect()
    }

    #[test]
    fn blocks_of_a_frame_are_found() {
        let text = text(1 << 20);
        let packed = zstd::bulk::compress(&text, 3).unwrap();
        let frame = Frame::parse(&packed, text.len()).unwrap();
        assert!(frame.blocks.len() >= 8, "{}", frame.blocks.len());
        assert_eq!(frame.block_bytes_max, BLOCK_BYTES_MAX);
        assert!(frame.blocks.iter().all(|block| block.kind == 2 && block.literal_count > 0));
        assert!(Frame::parse(&packed, text.len() + 1).is_none());
        assert!(Frame::parse(&packed[..packed.len() - 1], text.len()).is_none());
        assert!(Frame::parse(&[&packed[..], &[0]].concat(), text.len()).is_none());
    }

    #[test]
    fn damaged_headers_do_no_harm() {
        let text = text(300_000);
        let packed = zstd::bulk::compress(&text, 1).unwrap();
        for at in 0..packed.len().min(2000) {
            for bit in 0..8 {
                let mut broken = packed.clone();
                broken[at] ^= 1 << bit;
                let _ = Frame::parse(&broken, text.len());
            }
        }
    }
}
