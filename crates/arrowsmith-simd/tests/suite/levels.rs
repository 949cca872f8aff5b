// SPDX-License-Identifier: Apache-2.0
//! Every instruction set computes what plain Rust computes, kernel by kernel.

use arrowsmith_simd::ints::IntList;
use arrowsmith_simd::isa::{Isa, Kernel};
use arrowsmith_simd::skip::{self, Rules};
use arrowsmith_simd::stream::ListStream;
use arrowsmith_simd::{BitBuffer, Buf, Input, Level, TextBuf};
use proptest::prelude::*;

fn padded(text: &[u8], padding: u8) -> Vec<u8> {
    let mut bytes = text.to_vec();
    bytes.resize(text.len() + 128, padding);
    bytes
}

/// The results of all kernels of an instruction set for one window.
struct Windows<'a>(&'a [u8; 64], &'a [u8; 64], u64);

impl Kernel for Windows<'_> {
    type Output = (u64, [u64; 4], u64, bool, u64);

    fn run<I: Isa>(self, isa: I) -> Self::Output {
        let brackets = isa.bracket_masks(self.0);
        let masks = [brackets.quote, brackets.backslash, brackets.open, brackets.close];
        let equal = isa.equal(self.0, self.1, self.2);
        (isa.string_stop(self.0), masks, isa.not_space(self.0), equal, isa.prefix_xor(self.2))
    }
}

struct Ints<'a>(Input<'a>, usize, bool);

impl Kernel for Ints<'_> {
    type Output = (IntList, Vec<u64>);

    fn run<I: Isa>(self, isa: I) -> Self::Output {
        let mut out = Buf::default();
        let list = isa.int_list(self.0, self.1, &mut out, self.2);
        (list, out.as_slice().to_vec())
    }
}

struct Skip<'a>(Input<'a>, Rules);

impl Kernel for Skip<'_> {
    type Output = (Option<usize>, Option<usize>);

    fn run<I: Isa>(self, isa: I) -> Self::Output {
        let checked = skip::value(isa, self.0, 0, self.1).ok();
        (checked, skip::balanced(isa, self.0, 0).ok())
    }
}

struct Strings<'a>(Input<'a>);

impl Kernel for Strings<'_> {
    type Output = Option<(usize, Vec<u8>, bool)>;

    fn run<I: Isa>(self, isa: I) -> Self::Output {
        let mut text = TextBuf::default();
        text.push(b"before");
        let end = text.push_json(isa, self.0, 1).ok()?;
        let last = text.last().to_vec();
        Some((end, last, text.validate()))
    }
}

struct Stream<'a>(Input<'a>, &'a ListStream, usize);

impl Kernel for Stream<'_> {
    type Output = (usize, usize, Vec<u64>, Vec<i32>);

    fn run<I: Isa>(self, isa: I) -> Self::Output {
        let (mut values, mut ends) = (Buf::default(), Buf::default());
        ends.push(0);
        let done = isa.list_stream(self.0, self.1, self.2, &mut values, &mut ends);
        (done.records, done.pos, values.as_slice().to_vec(), ends.as_slice().to_vec())
    }
}

/// Bytes of which most are typical of JSON.
fn json_bytes(len: std::ops::Range<usize>) -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![
        4 => prop::sample::select(b"{}[]:,\"\\ \n0123456789-+.eEtruefalsn".to_vec()),
        1 => any::<u8>(),
    ];
    prop::collection::vec(byte, len)
}

proptest! {
    #[test]
    fn windows(text in json_bytes(64..65), other in json_bytes(64..65), len in 0..65_u32) {
        let window: &[u8; 64] = text.first_chunk().unwrap();
        let mut literal = *window;
        // Equal up to a random position.
        let from = (len as usize).min(63);
        literal[from..].copy_from_slice(&other[from..]);
        let mask = if len == 64 { u64::MAX } else { (1 << len) - 1 };
        let levels = Level::available();
        let expected = levels[levels.len() - 1].dispatch(Windows(window, &literal, mask));
        for level in levels {
            prop_assert_eq!(level.dispatch(Windows(window, &literal, mask)), expected);
        }
    }

    #[test]
    fn integers(
        values in prop::collection::vec((any::<u64>(), 0..64_u32, any::<bool>()), 0..80),
        separator in prop::sample::select(vec![",", ", ", ",", " ,", ",\n"]),
        before in 0..40_usize,
        signed in any::<bool>(),
        broken in prop::option::of((any::<prop::sample::Index>(), any::<u8>())),
    ) {
        let texts: Vec<String> = values
            .iter()
            .map(|(bits, shift, negative)| {
                let sign = if *negative && signed { "-" } else { "" };
                format!("{sign}{}", bits >> shift)
            })
            .collect();
        let list = texts.join(separator);
        let mut text = format!("{}[{list}]", "8".repeat(before)).into_bytes();
        if let Some((at, byte)) = broken {
            let at = at.index(text.len());
            text[at] = byte;
        }
        for padding in [0, b'9', b']', b','] {
            let bytes = padded(&text, padding);
            let input = Input::new(&bytes, text.len()).unwrap();
            let levels = Level::available();
            let (list, expected) = levels[levels.len() - 1].dispatch(Ints(input, before + 1, signed));
            for level in levels {
                let (found, values) = level.dispatch(Ints(input, before + 1, signed));
                // A kernel may stop earlier than another, but what it has read is the same.
                prop_assert_eq!(&values[..], &expected[..values.len().min(expected.len())]);
                if found.closed {
                    prop_assert_eq!(found, list);
                    prop_assert_eq!(values.len(), expected.len());
                }
            }
        }
    }

    #[test]
    fn skipping(text in json_bytes(1..300), depth in 1..20_usize, lines in any::<bool>()) {
        let bytes = padded(&text, 0);
        let input = Input::new(&bytes, text.len()).unwrap();
        let rules = Rules { depth, lines, nan: false };
        let levels = Level::available();
        let expected = levels[levels.len() - 1].dispatch(Skip(input, rules));
        for level in levels {
            prop_assert_eq!(level.dispatch(Skip(input, rules)), expected);
        }
        // A valid value is balanced, with the same end.
        if let (Some(end), true) = (expected.0, matches!(text[0], b'{' | b'[')) {
            prop_assert_eq!(expected.1, Some(end));
        }
    }

    #[test]
    fn strings(text in "\\PC{0,200}", broken in prop::option::of(any::<(prop::sample::Index, u8)>())) {
        let mut text = serde_like_quote(&text);
        if let Some((at, byte)) = broken {
            let at = at.index(text.len());
            text[at] = byte;
        }
        let bytes = padded(&text, 0);
        let input = Input::new(&bytes, text.len()).unwrap();
        let levels = Level::available();
        let expected = levels[levels.len() - 1].dispatch(Strings(input));
        for level in levels {
            prop_assert_eq!(level.dispatch(Strings(input)), expected.clone());
        }
    }

    #[test]
    fn streams(
        lists in prop::collection::vec(prop::collection::vec((any::<u64>(), 0..64_u32), 1..40), 300..500),
        wide in any::<bool>(),
        broken in prop::option::of((any::<prop::sample::Index>(), any::<u8>())),
    ) {
        let mut text = Vec::new();
        let mut starts = Vec::new();
        for list in &lists {
            let shift = |(bits, shift): &(u64, u32)| if wide { bits >> shift } else { bits >> 50 };
            let numbers: Vec<String> = list.iter().map(|v| shift(v).to_string()).collect();
            text.extend_from_slice(b"{\"voltage\":[");
            starts.push(text.len());
            text.extend_from_slice(numbers.join(",").as_bytes());
            text.extend_from_slice(b"]}\n");
        }
        let from = starts.iter().position(|start| *start >= 64).unwrap();
        if let Some((at, byte)) = broken {
            let at = at.index(text.len());
            text[at] = byte;
        }
        let bytes = padded(&text, b'1');
        let input = Input::new(&bytes, text.len()).unwrap();
        let stream = ListStream::new(b"]}\n{\"voltage\":[", false).unwrap();
        for level in Level::available() {
            let (records, pos, values, ends) = level.dispatch(Stream(input, &stream, starts[from]));
            prop_assert_eq!(ends.len(), records + 1);
            prop_assert_eq!(*ends.last().unwrap() as usize, values.len());
            prop_assert!(broken.is_some() || pos == starts[from + records]);
            let has_kernel = ["avx512", "avx2"].contains(&level.name());
            prop_assert!(broken.is_some() || !has_kernel || records > 0);
            // Each record has the same values as when read one number after another.
            let mut at = starts[from];
            for record in 0..records {
                let end = at + text[at..].iter().position(|b| *b == b']').unwrap();
                let numbers = std::str::from_utf8(&text[at..end]).unwrap();
                let expected: Vec<u64> = numbers.split(',').map(|n| n.parse().unwrap()).collect();
                let range = ends[record] as usize..ends[record + 1] as usize;
                prop_assert_eq!(&values[range], &expected[..]);
                at = end + b"]}\n{\"voltage\":[".len();
            }
            prop_assert_eq!(at, pos);
        }
    }

    #[test]
    fn bits(bits in prop::collection::vec(any::<bool>(), 0..300), keep in 0..300_usize) {
        let mut buffer = BitBuffer::default();
        for bit in &bits {
            buffer.push(*bit);
        }
        buffer.truncate(keep);
        let mut expected: Vec<bool> = bits.into_iter().take(keep).collect();
        buffer.push(true);
        expected.push(true);
        prop_assert_eq!(buffer.take().iter().collect::<Vec<_>>(), expected);
        prop_assert!(buffer.is_empty());
    }
}

/// A quoted text, escaped as JSON requires.
fn serde_like_quote(text: &str) -> Vec<u8> {
    let mut quoted = String::from("\"");
    for (i, c) in text.chars().enumerate() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c < ' ' => quoted.push_str(&format!("\\u{:04x}", c as u32)),
            c if i % 7 == 0 && (c as u32) < 0x1_0000 => {
                quoted.push_str(&format!("\\u{:04X}", c as u32));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted.into_bytes()
}

#[test]
fn buffers_keep_what_they_hold() {
    let mut buf = Buf::<u64>::default();
    for round in 0..3 {
        for value in 0..200_000 {
            buf.push(value);
        }
        buf.truncate(150_000);
        buf.extend(&[7; 10]);
        let taken = buf.take();
        assert_eq!(taken.len(), 150_010, "round {round}");
        assert!(taken[..150_000].iter().enumerate().all(|(i, v)| *v == i as u64));
        assert!(buf.is_empty());
    }
}

#[test]
fn text_that_is_no_utf8_is_not_handed_out() {
    let mut text = TextBuf::default();
    text.push("é".as_bytes());
    assert!(text.validate());
    // Valid as a whole, but cut inside a character.
    text.push(b"\xC3");
    text.push(b"\xA9");
    assert!(!text.validate());
    assert!(text.take(None).is_none());
    text.truncate(1);
    assert_eq!(text.take(None).unwrap().value(0), "é");
}
