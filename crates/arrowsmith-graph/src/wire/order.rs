// SPDX-License-Identifier: Apache-2.0
//! The order of the elements of maps and sets, by their keys on the wire.

use std::cmp::Ordering;

use super::walk::{extend, load};
use crate::layout::{Element, Keys, Kind, Member};

/// Whether the element at `at` may follow the one at `before`. Both have been read, so they are
/// within the message.
pub(super) fn follows(
    message: &[u8],
    element: &Element,
    keys: &Keys,
    before: usize,
    at: usize,
) -> bool {
    if keys.members.is_empty() {
        return true;
    }
    for &index in &keys.members {
        let index = index as usize;
        let Some(member) = element.members.get(index) else { return false };
        let ahead = &element.members[..index];
        let (a, b) = (skip(message, ahead, before), skip(message, ahead, at));
        match compare(message, member, a, b) {
            Some(Ordering::Equal) => {}
            Some(Ordering::Less) => return !keys.descending,
            Some(Ordering::Greater) => return keys.descending,
            // A number that is none has no place in an order.
            None => return false,
        }
    }
    !keys.unique
}

/// The position after these members.
fn skip(message: &[u8], members: &[Member], mut at: usize) -> usize {
    for member in members {
        at += member.wire_bytes() as usize;
        if matches!(member.kind, Kind::String | Kind::View) {
            at += text(message, at - 4).len();
        }
    }
    at
}

/// The text whose length is at a position.
fn text(message: &[u8], at: usize) -> &[u8] {
    let Some((length, rest)) = message.get(at..).and_then(<[u8]>::split_first_chunk) else {
        return &[];
    };
    let length = usize::try_from(u32::from_le_bytes(*length)).unwrap_or(usize::MAX);
    rest.get(..length).unwrap_or_default()
}

fn compare(message: &[u8], member: &Member, a: usize, b: usize) -> Option<Ordering> {
    let width = member.kind.wire_bytes() as usize;
    let number = |at: usize| load(message, at, width);
    for index in 0..member.count as usize {
        let (a, b) = (a + index * width, b + index * width);
        let order = match &member.kind {
            Kind::Integer(of) => {
                let [a, b] = [a, b].map(|at| extend(number(at), of.wire_bytes * 8, of.signed));
                match of.signed {
                    true => a.cast_signed().cmp(&b.cast_signed()),
                    false => a.cmp(&b),
                }
            }
            Kind::Float { bytes: 4 } => {
                let real = |at: usize| f32::from_bits(u32::try_from(number(at)).unwrap_or(0));
                real(a).partial_cmp(&real(b))?
            }
            Kind::Float { .. } => {
                f64::from_bits(number(a)).partial_cmp(&f64::from_bits(number(b)))?
            }
            _ => text(message, a).cmp(text(message, b)),
        };
        if order != Ordering::Equal {
            return Some(order);
        }
    }
    Some(Ordering::Equal)
}
