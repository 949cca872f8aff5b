// SPDX-License-Identifier: Apache-2.0
//! The answer to a request about its records.

use std::num::NonZeroU64;

use arrowsmith_core::Reject;

/// How the records of a request were handled. The number of accepted records is derived from its
/// fate and stored nowhere else: an answer that says "stored" cannot include a record that is not.
#[derive(Debug)]
pub(crate) struct Answer {
    records: u64,
    fate: Fate,
    /// Records that are stored with nulls in place of values that do not match the schema.
    nulled: u64,
    /// The first few of those that are not as they were sent.
    pub(crate) rejects: Vec<Reject>,
}

/// How all records of a request together were handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// Every one is stored.
    Stored,
    /// This many are bad and in the rejects, the others are stored.
    Partly(NonZeroU64),
    /// This many are bad, and nothing of the request is kept.
    Refused(NonZeroU64),
    /// A sink refused them: they are in its rejects.
    NotTaken,
}

impl Answer {
    /// The answer about `records` of which `rejected` are bad; `whole` is whether these make all of
    /// them refused.
    pub(crate) fn new(records: u64, rejected: u64, whole: bool, nulled: u64) -> Self {
        let fate = match NonZeroU64::new(rejected.min(records)) {
            None => Fate::Stored,
            Some(rejected) if whole => Fate::Refused(rejected),
            Some(rejected) => Fate::Partly(rejected),
        };
        let nulled = if matches!(fate, Fate::Refused(_)) { 0 } else { nulled };
        Self { records, fate, nulled, rejects: Vec::new() }
    }

    pub(crate) fn records(&self) -> u64 {
        self.records
    }

    pub(crate) fn fate(&self) -> Fate {
        self.fate
    }

    /// Records that are stored.
    pub(crate) fn accepted(&self) -> u64 {
        match self.fate {
            Fate::Stored => self.records,
            Fate::Partly(rejected) => self.records - rejected.get(),
            Fate::Refused(_) | Fate::NotTaken => 0,
        }
    }

    /// Records that are bad; of those that a sink refused, all.
    pub(crate) fn rejected(&self) -> u64 {
        match self.fate {
            Fate::Stored => 0,
            Fate::Partly(rejected) | Fate::Refused(rejected) => rejected.get(),
            Fate::NotTaken => self.records,
        }
    }

    /// Stored records with nulls in place of values that do not match the schema.
    pub(crate) fn nulled(&self) -> u64 {
        self.nulled
    }

    /// The answer about these records and those of another part of the same request.
    pub(crate) fn and(mut self, other: Self, rejects_max: usize) -> Self {
        let rejected = self.rejected() + other.rejected();
        let fate = match (self.fate, other.fate) {
            (Fate::NotTaken, _) | (_, Fate::NotTaken) => Fate::NotTaken,
            // Parts of a request that is refused as a whole do not exist.
            _ => NonZeroU64::new(rejected).map_or(Fate::Stored, Fate::Partly),
        };
        self.rejects.extend(other.rejects);
        self.rejects.truncate(rejects_max);
        let (records, nulled) = (self.records + other.records, self.nulled + other.nulled);
        Self { records, fate, nulled, rejects: self.rejects }
    }

    /// Notes that a sink did not take the good records.
    pub(super) fn not_taken(&mut self) {
        if self.accepted() > 0 {
            (self.fate, self.nulled) = (Fate::NotTaken, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_stored_whole_is_said_to_be_stored() {
        for records in 0..4 {
            for rejected in 0..5 {
                for whole in [false, true] {
                    let answer = Answer::new(records, rejected, whole, 1);
                    assert_eq!(answer.fate() == Fate::Stored, rejected.min(records) == 0);
                    let accepted = match answer.fate() {
                        Fate::Stored => records,
                        Fate::Refused(_) => 0,
                        _ => records - rejected.min(records),
                    };
                    assert_eq!(answer.accepted(), accepted);
                    let both = answer.and(Answer::new(2, 0, false, 0), 20);
                    assert!(both.fate() != Fate::Stored || both.accepted() == both.records());
                }
            }
        }
    }
}
