// SPDX-License-Identifier: Apache-2.0
//! What is learned from the order of members, and that learning ends.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::*;
use crate::json::keys::KeyTable;

fn object(fields: usize) -> Object {
    let keys: Vec<Arc<str>> = (0..fields).map(|field| format!("k{field}").into()).collect();
    let (index, table) = (HashMap::new(), KeyTable::default());
    let unselected = HashSet::new();
    Object { first: 1, keys, index, unselected, table, fields: Vec::new() }
}

/// Reads an object of these fields as the walker does, of which those that the object does not have
/// are unknown keys; returns how many texts were not expected.
fn read(predictor: &mut Predictor, fields: &[usize]) -> usize {
    predictor.start();
    let mut slots = std::mem::take(&mut predictor.slots);
    let (mut due, mut missed) = (0, 0);
    for at in 0..=fields.len() {
        let (text, follows, field) = match fields.get(at) {
            Some(field) => {
                let head = if at == 0 { '{' } else { ',' };
                let text = format!("{head}\"k{field}\":");
                match *field < predictor.places.len() {
                    true => (text, Follows::Field(Fast::I64), *field),
                    false => (text, Follows::Unknown, 0),
                }
            }
            None => ("}".to_owned(), Follows::End, 0),
        };
        match slots.get(due) {
            Some(slot) if slot.literal.text() == text.as_bytes() => due = slot.next as usize,
            _ => {
                missed += 1;
                let member = Member { text: text.as_bytes(), follows, field };
                due = predictor.learn(&mut slots, member, due);
            }
        }
    }
    predictor.slots = slots;
    missed
}

/// The fields in the order of their slots.
fn order(predictor: &Predictor) -> Vec<u32> {
    let fields = predictor.slots.iter().skip(1).filter(|slot| slot.follows != Follows::End);
    fields.map(|slot| slot.field).collect()
}

#[test]
fn one_order_is_learned_at_once() {
    let mut predictor = Predictor::new(&object(4));
    assert_eq!(read(&mut predictor, &[3, 0, 2, 1]), 5);
    assert_eq!(read(&mut predictor, &[3, 0, 2, 1]), 0);
    assert_eq!(order(&predictor), [3, 0, 2, 1]);
}

#[test]
fn fields_that_come_later_find_their_place() {
    let mut predictor = Predictor::new(&object(6));
    for fields in [&[1, 4][..], &[0, 2], &[3, 5], &[0, 1, 2, 3, 4, 5]] {
        read(&mut predictor, fields);
    }
    assert_eq!(order(&predictor), [0, 1, 2, 3, 4, 5]);
    // In the order of the records where it is another one than the schema's.
    let mut predictor = Predictor::new(&object(6));
    for _ in 0..10 {
        for fields in [&[5, 1][..], &[4, 1, 0], &[5, 4, 0], &[3, 0]] {
            read(&mut predictor, fields);
        }
    }
    assert_eq!(read(&mut predictor, &[5, 4, 1, 0]), 1);
}

/// A rare field before keys that no column needs, which it follows in the schema.
#[test]
fn keys_without_a_field_find_their_place() {
    let mut predictor = Predictor::new(&object(4));
    let usual = [0, 1, 8, 2, 9];
    for fields in [&usual[..], &usual, &[0, 1, 3, 8, 2, 9], &usual] {
        read(&mut predictor, fields);
    }
    assert_eq!(read(&mut predictor, &[0, 1, 3, 8, 2, 9]), 0);
    // One text is not there, and the next is.
    assert_eq!(read(&mut predictor, &usual), 1);
}

#[test]
fn members_without_an_order_are_given_up() {
    let mut predictor = Predictor::new(&object(20));
    let mut bits = 1_u64;
    let mut learned = 0;
    for _ in 0..100_000 {
        let mut fields: Vec<usize> = (0..20).collect();
        fields.sort_by_key(|field| {
            bits = bits.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(*field as u64 | 1);
            bits >> 33
        });
        learned += usize::from(predictor.learns());
        read(&mut predictor, &fields);
        assert!(predictor.slots.len() <= SPARE_SLOTS + 2 * 20);
    }
    assert!((10..1000).contains(&learned), "{learned}");
    // Records that look alike again are learned after a while.
    let alike: Vec<usize> = (0..20).collect();
    for _ in 0..REST << DOUBLED_MAX {
        read(&mut predictor, &alike);
    }
    assert_eq!(read(&mut predictor, &alike), 0);
}

#[test]
fn slots_that_are_lost_are_learned_again() {
    let mut predictor = Predictor::new(&object(4));
    read(&mut predictor, &[0, 1, 2, 3]);
    // As after memory was refused, which unwinds while the slots are moved out.
    predictor.slots = Vec::new();
    assert_eq!(read(&mut predictor, &[2, 1, 0]), 4);
    assert_eq!(read(&mut predictor, &[2, 1, 0]), 0);
    assert_eq!(order(&predictor), [2, 1, 0]);
    let texts: Vec<_> = predictor.slots.iter().map(|slot| slot.literal.text()).collect();
    assert_eq!(texts, [&b"{\"k2\":"[..], b",\"k2\":", b",\"k1\":", b",\"k0\":", b"}"]);
}

#[test]
fn a_long_opening_text_leaves_the_others() {
    let mut predictor = Predictor::new(&object(2));
    let mut slots = Vec::new();
    let long = format!("{{\"{}\":", "k".repeat(64));
    let members = [(&*long, 0), (",\"k1\":", 1)];
    let mut due = 0;
    for (text, field) in members {
        let member = Member { text: text.as_bytes(), follows: Follows::Field(Fast::I64), field };
        due = predictor.learn(&mut slots, member, due);
    }
    let end = Member { text: b"}", follows: Follows::End, field: 0 };
    predictor.learn(&mut slots, end, due);
    assert_eq!(slots.len(), 3);
    assert_eq!(slots[1].literal.text(), b",\"k1\":");
}
