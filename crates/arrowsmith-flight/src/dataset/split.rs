// SPDX-License-Identifier: Apache-2.0
//! Splits a list of units into parts of about the same weight, without changing their order.

use std::ops::Range;

/// The units of part `part` of `parts`. All parts together are all units, each once.
pub(crate) fn split(
    weights: impl Iterator<Item = usize> + Clone,
    part: usize,
    parts: usize,
) -> Range<usize> {
    let total: u128 = weights.clone().map(|weight| weight as u128).sum();
    let parts = parts.max(1) as u128;
    // A unit belongs to the part that contains its middle; without weights, units count alike.
    let count = weights.clone().count() as u128;
    let (mut before, mut first, mut end) = (0_u128, None, 0);
    for (index, weight) in weights.enumerate() {
        let (middle, all) = match total {
            0 => (2 * index as u128 + 1, 2 * count),
            total => (2 * before + weight as u128, 2 * total),
        };
        let of = (middle * parts / all).min(parts - 1);
        before += weight as u128;
        if of == part as u128 {
            first.get_or_insert(index);
            end = index + 1;
        }
    }
    first.map_or(0..0, |first| first..end)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::split;

    #[test]
    fn parts_are_alike() {
        let weights = [10, 10, 10, 10];
        assert_eq!(split(weights.into_iter(), 0, 2), 0..2);
        assert_eq!(split(weights.into_iter(), 1, 2), 2..4);
        assert_eq!(split([0, 0].into_iter(), 1, 2), 1..2);
    }

    proptest! {
        #[test]
        fn every_unit_is_in_one_part(
            weights in prop::collection::vec(0_usize..100, 0..40),
            parts in 1_usize..12,
        ) {
            let mut seen = Vec::new();
            for part in 0..parts {
                seen.extend(split(weights.iter().copied(), part, parts));
            }
            prop_assert_eq!(seen, (0..weights.len()).collect::<Vec<_>>());
        }
    }
}
