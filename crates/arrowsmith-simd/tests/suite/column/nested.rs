// SPDX-License-Identifier: Apache-2.0
//! Levels: validity, list starts and rows, against one entry at a time.

use arrowsmith_simd::column::levels::*;
use arrowsmith_simd::{BitBuffer, Buf, Level};
use proptest::prelude::*;

proptest! {
    #[test]
    fn entries(
        pairs in prop::collection::vec((0..5_u8, 0..3_u8), 0..700),
        lists in (0..3_u8, 0..4_u8),
        items in (0..4_u8, 0..5_u8),
        valid in 0..6_u8,
        before in 0..1000_usize,
        row in 0..300_usize,
    ) {
        let definition: Vec<u8> = pairs.iter().map(|pair| pair.0).collect();
        let repetition: Vec<u8> = pairs.iter().map(|pair| pair.1).collect();
        let levels = Levels { definition: &definition, repetition: &repetition };
        let slots = Slots { repetition: lists.0, definition: lists.1 };
        let elements = Slots { repetition: items.0, definition: items.1 };
        let is = |slots: Slots, (d, r): (u8, u8)| r <= slots.repetition && d >= slots.definition;
        let (mut bits, mut starts, mut inside) = (Vec::new(), Vec::new(), before);
        for &pair in &pairs {
            if is(slots, pair) {
                bits.push(pair.0 >= valid);
                starts.push(i32::try_from(inside).unwrap());
            }
            inside += usize::from(is(elements, pair));
        }
        let ones = bits.iter().filter(|bit| **bit).count();
        let rows: Vec<usize> = (0..pairs.len()).filter(|i| repetition[*i] == 0).collect();
        for level in Level::available() {
            let mut out = BitBuffer::default();
            let counts = validity(level, levels, pairs.len(), slots, valid, &mut out).unwrap();
            prop_assert_eq!(counts, (bits.len(), ones));
            prop_assert_eq!(count(level, levels, pairs.len(), slots, valid).unwrap(), counts);
            prop_assert_eq!(out.take(), bits.clone().into());
            let (mut out, mut total) = (Buf::default(), before);
            let shape = ListShape { slots, elements };
            list_starts(level, levels, pairs.len(), shape, &mut total, &mut out).unwrap();
            prop_assert_eq!(out.as_slice(), starts.as_slice());
            prop_assert_eq!(total, inside);
            prop_assert_eq!(find_row(level, &repetition, row), rows.get(row).copied());
        }
    }
}

#[test]
fn contradictions_are_errors() {
    let levels = Levels { definition: &[1, 1], repetition: &[] };
    let slots = Slots { repetition: 0, definition: 0 };
    for level in Level::available() {
        let mut bits = BitBuffer::default();
        assert!(validity(level, levels, 3, slots, 1, &mut bits).is_err());
        assert_eq!(validity(level, levels, 2, slots, 1, &mut bits), Ok((2, 2)));
        let mut elements = i32::MAX as usize - 1;
        let shape = ListShape { slots, elements: slots };
        let mut starts = Buf::default();
        assert!(list_starts(level, levels, 2, shape, &mut elements, &mut starts).is_err());
    }
}
