// SPDX-License-Identifier: Apache-2.0
//! Results of a job's records, in bounded memory however many are bad.

use arrowsmith_core::Report;

use super::ANSWER_REJECTS_MAX;

/// Maximum number of rejects about nulled values of one request; the others are counted.
const NULLED_MAX: usize = 64 << 10;

/// Results of a job's records: a report, in which not every reject is kept if there are very many.
#[derive(Default)]
pub(crate) struct Outcomes {
    pub(crate) report: Report,
    pub(super) left_out: u64,
    pub(super) nulled: u64,
}

impl Outcomes {
    /// Adds the results of more lines. Of a job that is refused as a whole only the first rejects
    /// are kept, and rejects about nulled values are limited.
    pub(super) fn add(&mut self, part: Report, whole: bool) {
        self.report.records += part.records;
        self.report.lines += part.lines;
        let nulled = part.rejects.iter().filter(|reject| reject.kept_as_null).count() as u64;
        self.nulled += nulled;
        self.left_out += part.rejects.len() as u64 - nulled;
        self.report.rejects.extend(part.rejects);
        if whole && self.left_out > 0 {
            self.report.rejects.retain(|reject| !reject.kept_as_null);
            self.report.rejects.truncate(ANSWER_REJECTS_MAX);
        } else if whole {
            self.report.rejects.truncate(NULLED_MAX);
        }
    }

    /// Adds the results of the lines that follow.
    pub(super) fn join(&mut self, part: Self, whole: bool) {
        let (left_out, nulled) = (self.left_out + part.left_out, self.nulled + part.nulled);
        self.add(part.report, whole);
        // Not every reject may be there any more.
        (self.left_out, self.nulled) = (left_out, nulled);
    }

    /// Records with nulled values without a reject.
    pub(super) fn nulled_untold(&self) -> u64 {
        let listed = self.report.rejects.iter().filter(|reject| reject.kept_as_null).count() as u64;
        self.nulled.saturating_sub(listed)
    }
}
