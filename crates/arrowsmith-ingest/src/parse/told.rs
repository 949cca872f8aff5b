// SPDX-License-Identifier: Apache-2.0
//! What became of a job's records, in memory that very many bad ones do not fill.

use arrowsmith_core::Report;

use super::ANSWER_REJECTS_MAX;

/// Rejects of one request that say which values became nulls, at most; the others are counted.
const NULLED_MAX: usize = 64 << 10;

/// What became of a job's records: a report, of which not every reject is kept where there are very many.
#[derive(Default)]
pub(super) struct Told {
    pub(super) report: Report,
    pub(super) left_out: u64,
    pub(super) nulled: u64,
}

impl Told {
    /// Adds what became of more lines. Of a job that is refused whole the first rejects are enough, and
    /// of values that became nulls there is a bound.
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

    /// Adds what became of the lines that follow.
    pub(super) fn join(&mut self, part: Self, whole: bool) {
        let (left_out, nulled) = (self.left_out + part.left_out, self.nulled + part.nulled);
        self.add(part.report, whole);
        // Not every reject may be there any more.
        (self.left_out, self.nulled) = (left_out, nulled);
    }

    /// Records with values that became nulls of which no reject tells.
    pub(super) fn nulled_untold(&self) -> u64 {
        let told = self.report.rejects.iter().filter(|reject| reject.kept_as_null).count() as u64;
        self.nulled.saturating_sub(told)
    }
}
