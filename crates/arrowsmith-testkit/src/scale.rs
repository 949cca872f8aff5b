// SPDX-License-Identifier: Apache-2.0
//! How many cases a test runs: a fixed sample, or all of them with `ARROWSMITH_FULL=1`, which
//! `./test full` sets.

use std::collections::BTreeSet;

use crate::tools;

/// Whether tests run at full scale.
#[must_use]
pub fn full() -> bool {
    is_set("ARROWSMITH_FULL")
}

/// Whether an environment variable is set to a true value.
pub(crate) fn is_set(variable: &str) -> bool {
    std::env::var(variable).is_ok_and(|value| !["", "0"].contains(&value.as_str()))
}

/// The number in an environment variable (`ARROWSMITH_SEEDS`), or else `usual`, or `whole` at full
/// scale.
#[must_use]
pub fn number(variable: &str, usual: u64, whole: u64) -> u64 {
    let asked = std::env::var(variable).ok().and_then(|text| text.parse().ok());
    asked.unwrap_or(if full() { whole } else { usual })
}

/// Selects the cases that a test runs: the first of each kind, and a fraction of the others, by a
/// hash of their names; all at full scale. Prints the number of selected cases when dropped.
#[derive(Debug)]
pub struct Sample {
    what: &'static str,
    one_of: u64,
    kinds: BTreeSet<String>,
    seen: usize,
    taken: usize,
}

impl Sample {
    /// A sample of `what`, in the plural.
    #[must_use]
    pub fn of(what: &'static str, one_of: u64) -> Self {
        let one_of = if full() { 1 } else { one_of };
        Self { what, one_of, kinds: BTreeSet::new(), seen: 0, taken: 0 }
    }

    /// Whether a case of these kinds is run.
    pub fn takes(&mut self, kinds: &[&str], name: &str) -> bool {
        let new = kinds.iter().filter(|kind| self.kinds.insert((**kind).to_owned())).count();
        let is_first = new > 0;
        let takes = is_first || hash(name).is_multiple_of(self.one_of);
        self.seen += 1;
        self.taken += usize::from(takes);
        takes
    }

    /// Number of cases selected so far.
    #[must_use]
    pub fn taken(&self) -> usize {
        self.taken
    }
}

impl Drop for Sample {
    fn drop(&mut self) {
        let Self { what, one_of, seen, taken, .. } = self;
        if *one_of > 1 && !std::thread::panicking() {
            tools::say(&format!("{taken} of {seen} {what}; ARROWSMITH_FULL=1 takes all"));
        }
    }
}

/// FNV-1a, which is the same on every platform.
fn hash(name: &str) -> u64 {
    let step = |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3);
    let hash = name.bytes().fold(0xCBF2_9CE4_8422_2325, step);
    // Its low bits depend mostly on the last bytes.
    hash ^ hash >> 32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_has_every_kind_and_about_its_share() {
        let mut sample =
            Sample { what: "names", one_of: 8, kinds: BTreeSet::new(), seen: 0, taken: 0 };
        let kinds = ["a", "b", "c"];
        for at in 0..4_000 {
            sample.takes(&[kinds[at % 3]], &format!("file-{at}.parquet"));
        }
        assert!((400..600).contains(&sample.taken()), "{}", sample.taken());
        let mut first = |kind: &str| sample.takes(&[kind, "a"], "");
        assert!(first("d") && first("e"));
    }

    #[test]
    fn what_is_taken_does_not_depend_on_the_order() {
        let names: Vec<String> = (0..100).map(|at| format!("{at}")).collect();
        let taken = |names: &mut dyn Iterator<Item = &String>| {
            let mut sample =
                Sample { what: "names", one_of: 5, kinds: BTreeSet::new(), seen: 0, taken: 0 };
            sample.takes(&["all"], "the first one");
            names.filter(|name| sample.takes(&["all"], name)).cloned().collect::<BTreeSet<_>>()
        };
        let forward = taken(&mut names.iter());
        assert_eq!(forward, taken(&mut names.iter().rev()));
        assert!((10..35).contains(&forward.len()), "{}", forward.len());
    }
}
