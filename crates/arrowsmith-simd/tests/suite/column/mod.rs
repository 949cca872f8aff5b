// SPDX-License-Identifier: Apache-2.0
//! Every column decoder returns the encoded values, on every instruction set, in one piece or in
//! many, with and without nulls; and all instruction sets return the same errors for invalid data.

#![allow(clippy::cast_possible_truncation, reason = "helpers of tests")]

mod encode;
mod hostile;
mod nested;

use arrow_array::Array;
use arrowsmith_simd::column::*;
use arrowsmith_simd::{BitBuffer, Buf, Level};
use proptest::prelude::*;

/// Reads `rows` rows in pieces of `step`.
fn read_all<T: arrow_buffer::ArrowNativeType, D: Decode<T>>(
    level: Level,
    mut decoder: D,
    nulls: Option<&[bool]>,
    rows: usize,
    step: usize,
) -> Result<Vec<T>> {
    let mut out = Buf::default();
    let bits = bits(nulls.unwrap_or_default());
    for from in (0..rows).step_by(step) {
        let to = (from + step).min(rows);
        let rows = match nulls {
            None => Rows::All(to - from),
            Some(_) => Rows::Valid { bits: &bits, from, to },
        };
        read(level, &mut decoder, rows, &mut out)?;
    }
    Ok(out.as_slice().to_vec())
}

fn bits(values: &[bool]) -> BitBuffer {
    let mut bits = BitBuffer::default();
    values.iter().for_each(|bit| bits.push(*bit));
    bits
}

/// Removes the null values; returns them and the expected output.
fn sparse<T: Copy + Default>(values: &[T], valid: &[bool]) -> (Vec<T>, Vec<T>) {
    let dense = values.iter().zip(valid).filter(|(_, valid)| **valid).map(|(value, _)| *value);
    let full = values.iter().zip(valid).map(|(v, valid)| if *valid { *v } else { T::default() });
    (dense.collect(), full.collect())
}

/// Numbers of about this many bits, sometimes in runs.
fn numbers(count: std::ops::Range<usize>) -> impl Strategy<Value = Vec<i64>> {
    (0..64_u32, any::<i64>(), prop::collection::vec((any::<i64>(), 1..20_usize), count)).prop_map(
        |(shift, base, runs)| {
            let value = |value: i64| base.wrapping_add(value >> shift);
            runs.into_iter()
                .flat_map(|(number, run)| {
                    let run = if run > 15 { run } else { 1 };
                    std::iter::repeat_n(value(number), run)
                })
                .collect()
        },
    )
}

fn validity(len: usize) -> impl Strategy<Value = Vec<bool>> {
    (0..4_u32).prop_flat_map(move |rarity| {
        prop::collection::vec(
            any::<u8>().prop_map(move |byte| byte >= 64 * rarity.to_le_bytes()[0]),
            len,
        )
    })
}

fn strings() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let letter = prop::sample::select(vec!["a", "b", "ä", "\u{10348}", " "]);
    let string = prop_oneof![
        8 => prop::collection::vec(letter.clone(), 0..8),
        2 => prop::collection::vec(letter.clone(), 0..30),
        1 => prop::collection::vec(letter, 60..90),
    ];
    prop::collection::vec(string.prop_map(|letters| letters.concat().into_bytes()), 0..300)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn hybrid_indices(
        width in 0..33_u32,
        raw in prop::collection::vec((any::<u32>(), 1..40_usize), 0..200),
        runs in prop::collection::vec(any::<(bool, u8)>(), 1..6),
        step in 1..3000_usize,
    ) {
        let mask = if width == 0 { 0 } else { u32::MAX >> (32 - width) };
        let values: Vec<u32> = raw.iter()
            .flat_map(|(value, run)| std::iter::repeat_n(value & mask, (*run).saturating_sub(30).max(1)))
            .collect();
        let data = encode::hybrid(&values, width, &runs);
        let max = values.iter().copied().max().unwrap_or(0) as usize;
        for level in Level::available() {
            let hybrid = Hybrid::new(&data, width).unwrap();
            let got = read_all::<u32, _>(level, Indices::new(hybrid.clone(), max + 1), None, values.len(), step);
            prop_assert_eq!(got.as_ref(), Ok(&values), "{:?}", level);
            let less = read_all::<u32, _>(level, Indices::new(hybrid, max), None, values.len(), step);
            prop_assert_eq!(less, if values.is_empty() { Ok(vec![]) } else { Err(ColumnError::Index) });
        }
    }

    #[test]
    fn hybrid_levels_and_bits(
        width in 0..9_u32,
        raw in prop::collection::vec((any::<u8>(), 1..90_usize), 0..200),
        runs in prop::collection::vec(any::<(bool, u8)>(), 1..6),
        step in 1..3000_usize,
    ) {
        let mask = u8::try_from((1_u32 << width) - 1).unwrap();
        let values: Vec<u8> = raw.iter()
            .flat_map(|(value, run)| std::iter::repeat_n(value & mask, *run))
            .collect();
        let wide: Vec<u32> = values.iter().map(|value| u32::from(*value)).collect();
        let data = encode::hybrid(&wide, width, &runs);
        let max = values.iter().copied().max().unwrap_or(0);
        for level in Level::available() {
            let mut hybrid = Hybrid::new(&data, width).unwrap();
            let mut out = Buf::default();
            for from in (0..values.len()).step_by(step) {
                hybrid.levels(level, step.min(values.len() - from), max, &mut out).unwrap();
            }
            prop_assert_eq!(out.as_slice(), values.as_slice());
            if max > 0 {
                let mut hybrid = Hybrid::new(&data, width).unwrap();
                let less = hybrid.levels(level, values.len(), max - 1, &mut out);
                prop_assert_eq!(less, Err(ColumnError::Level));
            }
            if width == 1 {
                let mut hybrid = Hybrid::new(&data, 1).unwrap();
                let (mut out, mut ones) = (bits(&[true; 3]), 0);
                for from in (0..values.len()).step_by(step) {
                    ones += hybrid.bits(level, step.min(values.len() - from), &mut out).unwrap();
                }
                let expected: Vec<bool> = values.iter().map(|value| *value == 1).collect();
                prop_assert_eq!(ones, expected.iter().filter(|bit| **bit).count());
                let mut skipping = Hybrid::new(&data, 1).unwrap();
                for part in expected.chunks(step) {
                    let ones = skipping.ones(part.len());
                    prop_assert_eq!(ones, Ok(part.iter().filter(|bit| **bit).count()));
                }
                prop_assert_eq!(out.take().slice(3, expected.len()), expected.into());
            }
        }
    }

    #[test]
    fn delta(
        values in numbers(0..700),
        miniblock in prop::sample::select(vec![8_usize, 16, 32, 64, 128, 40]),
        miniblocks in 1..6_usize,
        step in 1..3000_usize,
    ) {
        let narrow: Vec<i32> = values.iter().map(|v| i32::try_from(v >> 32).unwrap()).collect();
        let narrow64: Vec<i64> = narrow.iter().map(|value| i64::from(*value)).collect();
        let mut data = encode::delta(&values, miniblocks, miniblock, 64);
        let data32 = encode::delta(&narrow64, miniblocks, miniblock, 32);
        data.extend([7; 3]);
        for level in Level::available() {
            let delta = Delta::new(&data).unwrap();
            prop_assert_eq!(delta.left(), values.len());
            let got = read_all::<i64, _>(level, delta, None, values.len(), step);
            prop_assert_eq!(got.as_ref(), Ok(&values));
            let got = read_all::<i32, _>(level, Delta::new(&data32).unwrap(), None, values.len(), step);
            prop_assert_eq!(got.as_ref(), Ok(&narrow));
            let mut delta = Delta::new(&data).unwrap();
            let mut out = Buf::<i64>::default();
            skip::<i64, _>(level, &mut delta, values.len() / 3).unwrap();
            read(level, &mut delta, Rows::All(values.len() - values.len() / 3), &mut out).unwrap();
            prop_assert_eq!(out.as_slice(), &values[values.len() / 3..]);
            prop_assert_eq!(delta.rest(), Ok(&[7_u8, 7, 7][..]));
        }
    }

    #[test]
    fn fixed_widths_with_nulls((values, valid) in numbers(0..700).prop_flat_map(|v| {
        let len = v.len();
        (Just(v), validity(len))
    }), step in 1..3000_usize) {
        let (dense, full) = sparse(&values, &valid);
        let bytes: Vec<u8> = dense.iter().flat_map(|v| v.to_le_bytes()).collect();
        let delta = encode::delta(&dense, 4, 32, 64);
        let split = encode::split(&bytes, 8);
        for level in Level::available() {
            let valid = Some(valid.as_slice());
            let got = read_all(level, Plain::new(&bytes), valid, full.len(), step);
            prop_assert_eq!(got.as_ref(), Ok(&full));
            let got = read_all(level, Split::new(&split), valid, full.len(), step);
            prop_assert_eq!(got.as_ref(), Ok(&full));
            let got = read_all(level, Delta::new(&delta).unwrap(), valid, full.len(), step);
            prop_assert_eq!(got.as_ref(), Ok(&full));
        }
        macro_rules! narrow { ($($t:ty),+) => {$({
            let values: Vec<$t> = values.iter().map(|v| *v as $t).collect();
            let (dense, full) = sparse(&values, &valid);
            let bytes: Vec<u8> = dense.iter().flat_map(|v| v.to_le_bytes()).collect();
            let split = encode::split(&bytes, size_of::<$t>());
            for level in Level::available() {
                let got = read_all(level, Plain::new(&bytes), Some(&valid), full.len(), step);
                prop_assert_eq!(got.as_ref(), Ok(&full));
                let got = read_all(level, Split::new(&split), Some(&valid), full.len(), step);
                prop_assert_eq!(got.as_ref(), Ok(&full));
            }
        })+}; }
        narrow!(i8, i16, i32, i128);
    }

    #[test]
    fn dictionaries((values, valid) in numbers(1..700).prop_flat_map(|v| {
        let len = v.len();
        (Just(v), validity(len))
    }), size in 1..700_u32, step in 1..3000_usize) {
        let indices: Vec<u32> = values.iter().map(|v| v.rem_euclid(size.into()) as u32).collect();
        let width = 32 - (size - 1).leading_zeros();
        let dense: Vec<u32> = indices.iter().zip(&valid).filter(|p| *p.1).map(|p| *p.0).collect();
        let data = encode::hybrid(&dense, width, &[(true, 7), (false, 3)]);
        macro_rules! each { ($($t:ty),+) => {$({
            let dictionary: Vec<$t> = (0..size).map(|i| u64::from(i).wrapping_mul(0x9E37_79B9_7F4A_7C15) as $t).collect();
            let full: Vec<$t> = indices.iter().zip(&valid)
                .map(|(i, valid)| if *valid { dictionary[*i as usize] } else { 0 }).collect();
            for level in Level::available() {
                let hybrid = Hybrid::new(&data, width).unwrap();
                let got = read_all(level, Gather::new(hybrid, &dictionary), Some(&valid), full.len(), step);
                prop_assert_eq!(got.as_ref(), Ok(&full));
            }
        })+}; }
        each!(i8, i16, i32, i64, i128);
    }

    #[test]
    fn texts(strings in strings(), nulls in any::<u64>(), step in 1..3000_usize, some in any::<bool>()) {
        let rare: u32 = if some { 4 } else { 0 };
        let valid: Vec<bool> = (0..strings.len())
            .map(|i| (nulls.rotate_left((i * 7 % 64) as u32) ^ i as u64) % 5 >= u64::from(rare) / 2)
            .collect();
        let dense: Vec<Vec<u8>> = strings.iter().zip(&valid).filter(|p| *p.1).map(|p| p.0.clone()).collect();
        let (plain, lengths, prefixes) =
            (encode::plain_strings(&dense), encode::delta_length(&dense, 32), encode::delta_strings(&dense, 32));
        let mut decoder = PlainStrings::new(&plain);
        decoder.skip(dense.len().min(step)).unwrap();
        let rest = encode::plain_strings(dense.get(step..).unwrap_or_default());
        prop_assert_eq!(decoder.rest(), rest.as_slice());
        prop_assert!(decoder.skip(dense.len() + 1).is_err());
        let mut entries = dense.clone();
        entries.sort();
        entries.dedup();
        let indices: Vec<u32> = dense.iter()
            .map(|s| u32::try_from(entries.binary_search(s).unwrap()).unwrap()).collect();
        let indices = encode::hybrid(&indices, 9, &[(true, 7), (false, 3)]);
        let dictionary = encode::plain_strings(&entries);
        for level in Level::available() {
            let mut built = Strings::<i32>::new(true, 0, 0, usize::MAX);
            built.read(level, &mut PlainStrings::new(&dictionary), Rows::All(entries.len())).unwrap();
            let built = StringDictionary::new(&built).unwrap();
            let got = [
                text_of::<i32, _>(level, PlainStrings::new(&plain), &valid, step),
                text_of::<i64, _>(level, PlainStrings::new(&plain), &valid, step),
                text_of::<i32, _>(level, DeltaLengthStrings::new(&lengths).unwrap(), &valid, step),
                text_of::<i64, _>(level, DeltaLengthStrings::new(&lengths).unwrap(), &valid, step),
                text_of::<i32, _>(level, DeltaStrings::new(&prefixes).unwrap(), &valid, step),
                text_of::<i64, _>(level, DeltaStrings::new(&prefixes).unwrap(), &valid, step),
                text_of::<i32, _>(level, DictionaryStrings::new(Hybrid::new(&indices, 9).unwrap(), &built), &valid, step),
                text_of::<i64, _>(level, DictionaryStrings::new(Hybrid::new(&indices, 9).unwrap(), &built), &valid, step),
            ];
            for (i, got) in got.iter().enumerate() {
                let got = got.as_ref().unwrap();
                for (row, string) in strings.iter().enumerate() {
                    let expected = if valid[row] { string.as_slice() } else { &[] };
                    prop_assert_eq!(got[row].as_slice(), expected, "{:?} decoder {} row {}", level, i, row);
                }
            }
        }
    }

    #[test]
    fn big_endian(width in 1..40_usize, count in 0..70_usize, seed in any::<u64>(), small in any::<bool>()) {
        let mut data: Vec<u8> = (0..width * count)
            .map(|i| (seed.wrapping_mul(i as u64 | 1) >> 23) as u8).collect();
        if small {
            for value in data.chunks_exact_mut(width) {
                let sign = if value[width - 1] >= 0x80 { 0xFF } else { 0 };
                value[..width - 1].fill(sign);
            }
        }
        let naive: Vec<arrow_buffer::i256> = data.chunks_exact(width).map(|bytes| {
            let sign = if bytes[0] >= 0x80 { 0xFF } else { 0 };
            let mut wide = [sign; 40];
            wide[40 - width..].copy_from_slice(bytes);
            arrow_buffer::i256::from_be_bytes(wide[8..].try_into().unwrap())
        }).collect();
        for level in Level::available() {
            let decoder = || BigEndian::new(PlainBytes::new(&data, width));
            let wide = read_all::<arrow_buffer::i256, _>(level, decoder(), None, count, 33);
            if width <= 32 || small {
                prop_assert_eq!(wide, Ok(naive.clone()));
            }
            let fits: Option<Vec<i128>> = naive.iter().map(|value| value.to_i128()).collect();
            if width <= 32 || small {
                let got = read_all::<i128, _>(level, decoder(), None, count, 33);
                prop_assert_eq!(got.ok(), fits.clone());
                let fits: Option<Vec<i32>> =
                    fits.and_then(|f| f.iter().map(|value| i32::try_from(*value).ok()).collect());
                prop_assert_eq!(read_all::<i32, _>(level, decoder(), None, count, 33).ok(), fits);
            }
        }
    }

    #[test]
    fn views(strings in strings(), step in 1..3000_usize, nulls in any::<u64>()) {
        let valid: Vec<bool> =
            (0..strings.len()).map(|i| nulls.rotate_left((i * 7 % 64) as u32) % 3 > 0).collect();
        let dense: Vec<Vec<u8>> =
            strings.iter().zip(&valid).filter(|p| *p.1).map(|p| p.0.clone()).collect();
        let plain = encode::plain_strings(&dense);
        let lengths = encode::delta_length(&dense, 32);
        let mut entries = dense.clone();
        entries.sort();
        entries.dedup();
        let indices: Vec<u32> = dense.iter()
            .map(|s| u32::try_from(entries.binary_search(s).unwrap()).unwrap()).collect();
        let indices = encode::hybrid(&indices, 9, &[(true, 7), (false, 3)]);
        let mask = bits(&valid);
        for level in Level::available() {
            let mut words = Strings::<i32>::new(true, 0, 0, usize::MAX);
            let entries_plain = encode::plain_strings(&entries);
            words.read(level, &mut PlainStrings::new(&entries_plain), Rows::All(entries.len())).unwrap();
            let mut dictionary = ViewDictionary::new(&mut words).unwrap();
            let mut views = Views::new(true, 0);
            let mut first = ViewPage::plain(plain.clone().into());
            let mut second = ViewPage::delta_length(lengths.clone().into()).unwrap();
            let mut hybrid = Hybrid::new(&indices, 9).unwrap();
            let steps = || (0..strings.len()).step_by(step).map(|from| {
                Rows::Valid { bits: &mask, from, to: (from + step).min(strings.len()) }
            });
            steps().for_each(|rows| views.read(level, &mut first, rows).unwrap());
            steps().for_each(|rows| views.read(level, &mut second, rows).unwrap());
            for rows in steps() {
                views.read_dictionary(level, &mut hybrid, &mut dictionary, rows).unwrap();
            }
            for rows in steps() {
                let mut other = Strings::<i32>::new(true, 0, 0, usize::MAX);
                other.read(level, &mut PlainStrings::new(&plain), Rows::All(0)).unwrap();
                other.push_nulls(rows.len());
                views.append(&mut other).unwrap();
            }
            let array = views.take_strings(None).unwrap();
            array.to_data().validate_full().unwrap();
            for row in 0..strings.len() * 4 {
                let i = row % strings.len();
                let there = valid[i] && row < 3 * strings.len();
                let expected = if there { strings[i].as_slice() } else { &[] };
                prop_assert_eq!(array.value(row).as_bytes(), expected);
            }
            prop_assert_eq!(array.len(), 4 * strings.len());
        }
    }

    #[test]
    fn booleans((values, valid) in prop::collection::vec(any::<bool>(), 0..900).prop_flat_map(|v| {
        let len = v.len();
        (Just(v), validity(len))
    })) {
        let (dense, full) = sparse(&values, &valid);
        let mut packed = Vec::new();
        encode::pack(&dense.iter().map(|bit| u64::from(*bit)).collect::<Vec<_>>(), 1, &mut packed);
        let mask = bits(&valid);
        for level in Level::available() {
            let mut out = bits(&[true; 5]);
            let rows = Rows::Valid { bits: &mask, from: 0, to: valid.len() };
            plain_bits(level, &packed, 0, rows, &mut out).unwrap();
            spread_bits(level, &bits(&dense), 0, rows, &mut out);
            let out = out.take();
            prop_assert_eq!(out.slice(5, full.len()), full.clone().into());
            prop_assert_eq!(out.slice(5 + full.len(), full.len()), full.clone().into());
        }
    }
}

/// The strings that a decoder yields in pieces of `step` rows.
fn text_of<O: Offset, D: DecodeStrings>(
    level: Level,
    mut decoder: D,
    valid: &[bool],
    step: usize,
) -> Result<Vec<Vec<u8>>> {
    let mut strings = Strings::<O>::new(true, 0, 0, usize::MAX);
    let mask = bits(valid);
    for from in (0..valid.len()).step_by(step) {
        let to = (from + step).min(valid.len());
        strings.read(level, &mut decoder, Rows::Valid { bits: &mask, from, to })?;
    }
    let array = strings.take_strings(None)?;
    Ok((0..array.len()).map(|row| array.value(row).as_bytes().to_vec()).collect())
}

#[test]
fn large_buffers_are_the_same() {
    let values: Vec<i64> = (0..3_000_001_i64).map(|i| i.wrapping_mul(i) % 10_007).collect();
    let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
    let (delta, split) = (encode::delta(&values, 4, 32, 64), encode::split(&bytes, 8));
    let words: Vec<Vec<u8>> = values.iter().map(|v| v.to_string().into_bytes()).collect();
    let lengths = encode::delta_length(&words, 32);
    for level in Level::available() {
        let expect = |got: Buf<i64>| assert!(got.as_slice() == values);
        let rows = Rows::All(values.len());
        let mut out = Buf::with_capacity(values.len());
        read(level, &mut Plain::new(&bytes), rows, &mut out).unwrap();
        expect(out);
        let mut out = Buf::with_capacity(values.len());
        read(level, &mut Split::new(&split), rows, &mut out).unwrap();
        expect(out);
        let mut out = Buf::with_capacity(values.len());
        read(level, &mut Delta::new(&delta).unwrap(), rows, &mut out).unwrap();
        expect(out);
        let mut out = Strings::<i32>::new(true, words.len(), 32 << 20, usize::MAX);
        out.read(level, &mut DeltaLengthStrings::new(&lengths).unwrap(), rows).unwrap();
        assert!(out.bytes() == words.concat());
    }
}

#[test]
fn other_forms_of_numbers() {
    for level in Level::available() {
        let data = [0xFF, 0xFE, 0, 5, 0x80, 0];
        let got = read_all::<i128, _>(level, BigEndian::new(PlainBytes::new(&data, 2)), None, 3, 2);
        assert_eq!(got, Ok(vec![-2, 5, -32768]));
        let got = read_all::<i64, _>(level, BigEndian::new(PlainBytes::new(&data, 3)), None, 2, 2);
        assert_eq!(got, Ok(vec![-512, 0x05_80_00]));
        let wide = [[0xFF; 4], [0xFF; 4], [0, 0, 0, 7]].concat();
        let got = read_all::<i32, _>(level, BigEndian::new(PlainBytes::new(&wide, 6)), None, 2, 9);
        assert_eq!(got, Err(ColumnError::Range));
        let numbers: Vec<u8> =
            [-1_i32, 300, i32::MIN].iter().flat_map(|v| v.to_le_bytes()).collect();
        let got = read_all::<i16, _>(level, Cast::<i32, _>::new(Plain::new(&numbers)), None, 3, 2);
        assert_eq!(got, Ok(vec![-1, 300, 0]));
        let got = read_all::<u32, _>(level, Cast::<i32, _>::new(Plain::new(&numbers)), None, 3, 9);
        assert_eq!(got, Ok(vec![u32::MAX, 300, 1 << 31]));
        let mut int96 = 1_500_000_000_i64.to_le_bytes().to_vec();
        int96.extend(2_440_589_i32.to_le_bytes());
        let got = read_all::<i64, _>(level, Int96::new(&int96, TimeUnit::Millisecond), None, 1, 1);
        assert_eq!(got, Ok(vec![86_401_500]));
        let mut out = Buf::<i128>::default();
        decimals(&data, &[0, 1, 1, 4], &mut out).unwrap();
        assert_eq!(out.as_slice(), [-1, 0, 0xFE_0005 - (1 << 24)]);
        let mut out = Buf::default();
        packed_levels(&[0b0110_1100, 0b0100_0000], 2, 5, 3, &mut out).unwrap();
        assert_eq!(out.as_slice(), [1, 2, 3, 0, 1]);
        let mut out = Buf::default();
        let mask = bits(&[true, false, false, true]);
        let rows = Rows::Valid { bits: &mask, from: 0, to: 4 };
        read_bytes(level, &mut PlainBytes::new(&data, 3), rows, &mut out).unwrap();
        assert_eq!(out.as_slice(), [0xFF, 0xFE, 0, 0, 0, 0, 0, 0, 0, 5, 0x80, 0]);
        let mut out = Buf::default();
        let split = encode::split(&data, 3);
        read_bytes(level, &mut SplitBytes::new(&split, 3).unwrap(), Rows::All(2), &mut out)
            .unwrap();
        assert_eq!(out.as_slice(), data);
        let mut out = Buf::default();
        let hybrid = Hybrid::new(&[3, 0b10], 1).unwrap();
        let mut gather = GatherBytes::new(hybrid, &data, 3).unwrap();
        read_bytes(level, &mut gather, Rows::All(3), &mut out).unwrap();
        assert_eq!(out.as_slice(), [0xFF, 0xFE, 0, 5, 0x80, 0, 0xFF, 0xFE, 0]);
    }
}
