// SPDX-License-Identifier: Apache-2.0
//! The statistics of a report.

/// Minimum, median and maximum of numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Spread {
    pub(crate) min: f64,
    pub(crate) median: f64,
    pub(crate) max: f64,
}

impl Spread {
    /// `None` if there are no numbers. The median of an even count is the mean of the middle two.
    pub(crate) fn of(values: &[f64]) -> Option<Self> {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (&min, &max) = (sorted.first()?, sorted.last()?);
        let upper = *sorted.get(sorted.len() / 2)?;
        let lower = *sorted.get((sorted.len() - 1) / 2)?;
        Some(Self { min, median: f64::midpoint(lower, upper), max })
    }

    /// The speed-up of `ours` over `theirs`, round by round. Rounds are compared with each other
    /// because a slow phase of the machine slowed both.
    pub(crate) fn of_ratios(theirs: &[f64], ours: &[f64]) -> Option<Self> {
        let ratios: Vec<f64> =
            theirs.iter().zip(ours).filter(|(_, o)| **o > 0.0).map(|(t, o)| t / o).collect();
        Self::of(&ratios)
    }
}

/// A count or a size as a number to calculate with.
#[expect(clippy::cast_precision_loss, reason = "figures have a few digits")]
pub(crate) fn float(count: u64) -> f64 {
    count as f64
}

/// The quantile of the numbers, interpolated between neighbours; 0 if there are none.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "there are a few numbers"
)]
pub(crate) fn percentile(values: &[f64], part: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let Some(last) = sorted.len().checked_sub(1) else { return 0.0 };
    let place = part * last as f64;
    let below = (place.floor() as usize).min(last);
    let above = (below + 1).min(last);
    sorted[below] + (sorted[above] - sorted[below]) * (place - below as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spread_of_odd_even_and_no_numbers() {
        assert_eq!(Spread::of(&[]), None);
        assert_eq!(Spread::of(&[3.0]), Some(Spread { min: 3.0, median: 3.0, max: 3.0 }));
        assert_eq!(Spread::of(&[3.0, 1.0, 2.0]), Some(Spread { min: 1.0, median: 2.0, max: 3.0 }));
        let even = Spread { min: 1.0, median: 3.0, max: 9.0 };
        assert_eq!(Spread::of(&[9.0, 2.0, 1.0, 4.0]), Some(even));
    }

    #[test]
    fn percentiles_are_between_neighbours() {
        assert!((percentile(&[3.0, 1.0, 2.0], 0.5) - 2.0).abs() < 1e-9);
        assert!((percentile(&[1.0, 2.0], 0.25) - 1.25).abs() < 1e-9);
        assert!((percentile(&[7.0], 0.95) - 7.0).abs() < 1e-9);
        assert!(percentile(&[], 0.5).abs() < 1e-9);
    }

    #[test]
    fn ratios_are_taken_round_by_round() {
        let ratios = Spread::of_ratios(&[2.0, 8.0, 3.0], &[1.0, 4.0, 1.0]).unwrap();
        assert_eq!(ratios, Spread { min: 2.0, median: 2.0, max: 3.0 });
        assert_eq!(Spread::of_ratios(&[1.0], &[0.0]), None);
    }
}
