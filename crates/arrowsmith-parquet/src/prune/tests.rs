// SPDX-License-Identifier: Apache-2.0
//! Selections of rows. What pruning leaves is tested in `filter/tests.rs`.

use proptest::prelude::*;

use super::*;

fn bits(selection: &RowSelection, rows: usize) -> Vec<bool> {
    (0..rows).map(|row| selection.ranges().iter().any(|range| range.contains(&row))).collect()
}

fn is_sound(selection: &RowSelection) -> bool {
    selection.ranges().iter().all(|range| !range.is_empty())
        && selection.ranges().windows(2).all(|pair| pair[0].end < pair[1].start)
}

proptest! {
    #[test]
    fn selections_are_sets(a in prop::collection::vec(any::<bool>(), 40), b in prop::collection::vec(any::<bool>(), 40)) {
        let (left, right) = (
            RowSelection::from_mask(&BooleanBuffer::from(a.as_slice()), 0),
            RowSelection::from_mask(&BooleanBuffer::from(b.as_slice()), 0),
        );
        prop_assert_eq!(bits(&left, 40), a.clone());
        prop_assert_eq!(left.rows(), a.iter().filter(|bit| **bit).count());
        let both = left.intersection(&right);
        let either = left.union(&right);
        prop_assert!(is_sound(&both) && is_sound(&either) && is_sound(&left));
        let zip = |join: fn(bool, bool) -> bool| -> Vec<bool> {
            a.iter().zip(&b).map(|(a, b)| join(*a, *b)).collect()
        };
        prop_assert_eq!(bits(&both, 40), zip(|a, b| a && b));
        prop_assert_eq!(bits(&either, 40), zip(|a, b| a || b));
    }
}

#[test]
fn ranges_are_put_in_order() {
    let selection = RowSelection::from_ranges([5..7, 0..2, 7..9, 3..3, 1..4]);
    assert_eq!(selection.ranges(), [0..4, 5..9]);
    assert!(RowSelection::all(0).is_empty());
    let mask = BooleanBuffer::from(vec![false, true, true]);
    let selection = RowSelection::from_mask(&mask, 10);
    assert_eq!(selection, RowSelection::from_ranges(std::iter::once(11..13)));
}
