// SPDX-License-Identifier: Apache-2.0
//! Where a decoder accepts more than was seen, so that values have to be looked at after decoding.
//!
//! A schema that grows relies on this: what a decoder accepts without an error, and what no watch
//! reports, does not change the schema. See `docs/design/0018-growing-schemas.md`.

use super::lattice;

/// What to look for in the values of a column, or below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Watch {
    /// `json`, as there was no value yet: any value.
    Null,
    /// `json`, as there were only objects without keys: any other value.
    Empty,
    /// `float64`: an integer that it rounds.
    Float,
    /// A date or timestamp: integers, and times with and without offset.
    Time,
    /// Strings, in a dialect in which their column takes any value.
    Text,
    /// The items of a list.
    List(Box<Watch>),
    /// Fields of a struct, by name.
    Struct(Vec<(Box<str>, Watch)>),
    /// A map.
    Map {
        /// It is a map because all keys are data ([`is_data`]): any other key.
        data_keys: bool,
        /// Its values.
        values: Option<Box<Watch>>,
    },
}

impl Watch {
    pub(super) fn map(data_keys: bool, values: Option<Self>) -> Option<Self> {
        let values = values.map(Box::new);
        (data_keys || values.is_some()).then_some(Self::Map { data_keys, values })
    }

    /// Whether a date or timestamp is among what is watched.
    pub fn has_times(&self) -> bool {
        match self {
            Self::Null | Self::Empty | Self::Float | Self::Text => false,
            Self::Time => true,
            Self::List(item) => item.has_times(),
            Self::Struct(fields) => fields.iter().any(|(_, field)| field.has_times()),
            Self::Map { values, .. } => values.as_ref().is_some_and(|values| values.has_times()),
        }
    }
}

/// Whether a key is a number or a UUID, and thus data rather than the name of a field.
pub fn is_data(key: &str) -> bool {
    lattice::is_data(key)
}

/// Length of the shortest integers that a `float64` may round, in digits.
const ROUNDED_DIGITS: usize = 16;

/// Whether a text contains an integer of 16 or more digits without fraction and exponent: a
/// `float64` represents all shorter ones. Digits in strings count too.
pub fn has_long_integer(text: &[u8]) -> bool {
    let digit = |at: usize| text.get(at).is_some_and(u8::is_ascii_digit);
    // A run of that length covers one of the places looked at.
    let mut at = ROUNDED_DIGITS - 1;
    while at < text.len() {
        if !digit(at) {
            at += ROUNDED_DIGITS;
            continue;
        }
        let from = (0..at).rev().take_while(|before| digit(*before)).last().unwrap_or(at);
        let to = (at..text.len()).find(|after| !digit(*after)).unwrap_or(text.len());
        let of_float = |byte: Option<&u8>| matches!(byte, Some(b'.' | b'e' | b'E'));
        let fraction = from.checked_sub(1).is_some_and(|before| of_float(text.get(before)));
        if to - from >= ROUNDED_DIGITS && !fraction && !of_float(text.get(to)) {
            return true;
        }
        at = to + ROUNDED_DIGITS;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_integers_are_found_wherever_they_are() {
        let long = "1234567890123456";
        for before in 0..40 {
            let pad = "x".repeat(before);
            let found = |middle: &str| has_long_integer(format!("{pad}{middle}").as_bytes());
            assert!(found(long), "{before}");
            assert!(found(&format!("[-{long},")), "{before}");
            assert!(found(&format!("1.5,{long}789 ")), "{before}");
            assert!(!found(&long[1..]), "{before}");
            assert!(!found(&format!("{long}.5,")), "{before}");
            assert!(!found(&format!("0.{long}")), "{before}");
            assert!(!found(&format!("{long}e2")), "{before}");
            assert!(!found("123456789012345,123456789012345"), "{before}");
        }
    }
}
