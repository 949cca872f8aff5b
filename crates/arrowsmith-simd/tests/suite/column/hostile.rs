// SPDX-License-Identifier: Apache-2.0
//! Invalid data: a clean error or some values, the same on every instruction set.

use arrowsmith_simd::column::*;
use arrowsmith_simd::{BitBuffer, Buf, Level};
use proptest::prelude::*;

use super::encode;

/// The results of all decoders for some bytes.
#[derive(Debug, PartialEq)]
struct Said {
    ints: Result<Vec<i64>>,
    narrow: Result<Vec<i32>>,
    indices: Result<Vec<u32>>,
    levels: Result<Vec<u8>>,
    bits: Result<usize>,
    gathered: Result<Vec<i64>>,
    split: Result<Vec<i64>>,
    strings: Vec<Result<(Vec<i32>, Vec<u8>)>>,
}

fn say(level: Level, data: &[u8], rows: usize, width: u32) -> Said {
    fn take<T: arrow_buffer::ArrowNativeType, D: Decode<T>>(
        level: Level,
        decoder: Result<D>,
        rows: usize,
    ) -> Result<Vec<T>> {
        let mut out = Buf::default();
        read(level, &mut decoder?, Rows::All(rows), &mut out)?;
        Ok(out.as_slice().to_vec())
    }
    fn text<D: DecodeStrings>(
        level: Level,
        decoder: Result<D>,
        rows: usize,
        utf8: bool,
    ) -> Result<(Vec<i32>, Vec<u8>)> {
        let mut out = Strings::<i32>::new(utf8, 0, 0, 1 << 20);
        out.read(level, &mut decoder?, Rows::All(rows))?;
        Ok((out.offsets().to_vec(), out.bytes().to_vec()))
    }
    let hybrid = Hybrid::new(data, width);
    let values: Vec<i64> = (0..9).collect();
    let mut dictionary = Strings::<i32>::new(true, 0, 0, 1 << 20);
    dictionary
        .read(level, &mut PlainStrings::new(&[2, 0, 0, 0, 65, 66, 0, 0, 0, 0]), Rows::All(2))
        .unwrap();
    let dictionary = StringDictionary::new(&dictionary).unwrap();
    let levels = hybrid.clone().and_then(|mut hybrid| {
        let mut out = Buf::default();
        hybrid.levels(level, rows, 5, &mut out)?;
        Ok(out.as_slice().to_vec())
    });
    let bits = hybrid.clone().and_then(|mut h| h.bits(level, rows, &mut BitBuffer::default()));
    assert_eq!(hybrid.clone().and_then(|mut hybrid| hybrid.ones(rows)), bits);
    let of_dictionary = hybrid.clone().map(|hybrid| DictionaryStrings::new(hybrid, &dictionary));
    Said {
        ints: take(level, Delta::new(data), rows),
        narrow: take(level, Delta::new(data), rows),
        indices: take(level, hybrid.clone().map(|hybrid| Indices::new(hybrid, 300)), rows),
        levels,
        bits,
        gathered: take(level, hybrid.map(|hybrid| Gather::new(hybrid, &values)), rows),
        split: take(level, Ok(Split::new(data)), rows),
        strings: vec![
            text(level, Ok(PlainStrings::new(data)), rows, false),
            text(level, DeltaLengthStrings::new(data), rows, true),
            text(level, DeltaStrings::new(data), rows, true),
            text(level, of_dictionary, rows, true),
        ],
    }
}

fn agree(data: &[u8], rows: usize, width: u32) -> Result<(), TestCaseError> {
    let said = say(Level::available()[0], data, rows, width);
    for level in Level::available() {
        prop_assert_eq!(&say(level, data, rows, width), &said, "{:?}", level);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_bytes(
        data in prop::collection::vec(any::<u8>(), 0..400),
        rows in 0..3000_usize,
        width in 0..34_u32,
    ) {
        agree(&data, rows, width)?;
    }

    #[test]
    fn mutated_bytes(
        values in prop::collection::vec(0..40_i64, 1..600),
        kind in 0..5_u8,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        cut in any::<prop::sample::Index>(),
        more in 0..9_usize,
    ) {
        let strings: Vec<Vec<u8>> = values.iter().map(|v| vec![b'x'; *v as usize]).collect();
        let small: Vec<u32> = values.iter().map(|v| *v as u32 % 8).collect();
        let mut data = match kind {
            0 => encode::delta(&values, 4, 32, 64),
            1 => encode::hybrid(&small, 3, &[(true, 5), (false, 2)]),
            2 => encode::plain_strings(&strings),
            3 => encode::delta_length(&strings, 32),
            _ => encode::delta_strings(&strings, 32),
        };
        for (index, byte) in changes {
            let at = index.index(data.len().min(60));
            data[at] = byte;
        }
        if more < 3 {
            data.truncate(cut.index(data.len()));
        }
        agree(&data, (values.len() + more).saturating_sub(4), 3)?;
    }
}

#[test]
fn the_worst_headers() {
    let mut overlong = vec![0xFF; 9];
    overlong.push(2);
    assert_eq!(Delta::new(&overlong).err(), Some(ColumnError::Varint));
    assert_eq!(Delta::new(&[0xFF; 30]).err(), Some(ColumnError::Varint));
    // No miniblocks; empty miniblocks; a block that is not a multiple of them.
    for header in [[0, 0, 4, 0], [4, 8, 4, 0], [0, 4, 4, 0], [100, 3, 4, 0], [12, 1, 4, 0]] {
        assert_eq!(Delta::new(&header).err(), Some(ColumnError::Header));
    }
    // A count beyond memory, and a block of that size.
    let mut huge = Vec::new();
    for value in [1 << 60, 1 << 40, u64::MAX, 0] {
        encode::varint(value, &mut huge);
    }
    for level in Level::available() {
        let mut out = Buf::<i64>::default();
        let mut delta = Delta::new(&huge).unwrap();
        assert_eq!(read(level, &mut delta, Rows::All(9), &mut out), Err(ColumnError::Truncated));
        assert_eq!(DeltaLengthStrings::new(&huge).err(), Some(ColumnError::Truncated));
        // A run of 2^62 groups of width 0; an endless sequence of empty runs.
        let mut endless = Vec::new();
        encode::varint(u64::MAX, &mut endless);
        let mut out = Buf::default();
        Hybrid::new(&endless, 0).unwrap().levels(level, 2000, 0, &mut out).unwrap();
        assert_eq!(out.as_slice(), [0; 2000]);
        let levels = Hybrid::new(&[0; 99], 1).unwrap().levels(level, 1, 1, &mut out);
        assert_eq!(levels, Err(ColumnError::Truncated));
        // Negative lengths, and lengths of more than 32 bits.
        let negative = encode::delta(&[3, -1, 5], 4, 32, 32);
        let mut strings = Strings::<i32>::new(false, 0, 0, usize::MAX);
        let mut decoder = DeltaLengthStrings::new(&negative).unwrap();
        assert_eq!(strings.read(level, &mut decoder, Rows::All(3)), Err(ColumnError::Length));
        assert!(strings.take_binary(None).is_err());
        let vast = encode::delta(&vec![i64::from(i32::MAX); 500], 4, 32, 32);
        let mut strings = Strings::<i32>::new(false, 0, 0, usize::MAX);
        let mut decoder = DeltaLengthStrings::new(&vast).unwrap();
        assert_eq!(strings.read(level, &mut decoder, Rows::All(500)), Err(ColumnError::Offset));
        let mut strings = Strings::<i64>::new(false, 0, 0, usize::MAX);
        let mut decoder = DeltaLengthStrings::new(&vast).unwrap();
        assert_eq!(strings.read(level, &mut decoder, Rows::All(500)), Err(ColumnError::Length));
        // One long string, repeated many times through its prefix.
        let mut bomb = encode::delta(&[vec![0], vec![1000; 900]].concat(), 4, 32, 32);
        let mut first = vec![0; 901];
        first[0] = 1000;
        bomb.extend(encode::delta(&first, 4, 32, 32));
        bomb.extend([b'x'; 1000]);
        let mut strings = Strings::<i64>::new(false, 0, 0, 100_000);
        let mut decoder = DeltaStrings::new(&bomb).unwrap();
        assert_eq!(strings.read(level, &mut decoder, Rows::All(901)), Err(ColumnError::Offset));
        // A character split between two strings.
        let mut strings = Strings::<i32>::new(true, 0, 0, usize::MAX);
        let cut = encode::plain_strings(&[vec![0xC3], vec![0xA4]]);
        let read = strings.read(level, &mut PlainStrings::new(&cut), Rows::All(2));
        assert_eq!(read, Err(ColumnError::Utf8));
        assert!(strings.take_strings(None).is_err());
    }
}
