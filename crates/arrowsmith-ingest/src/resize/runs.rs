// SPDX-License-Identifier: Apache-2.0
//! Which sender each row of a batch comes from, and its sequence number there.

use arrowsmith_core::Report;
use arrowsmith_publish::Origin;

/// Rows in runs of one sender and of numbers one after another.
#[derive(Debug, Default, Clone)]
pub(crate) struct Runs(Vec<Run>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Run {
    connection: u64,
    first: u64,
    rows: usize,
}

impl Runs {
    /// Adds the rows of a report; its records are numbered from `first`.
    pub(crate) fn add(&mut self, connection: u64, first: u64, report: &Report) {
        let mut next = first;
        let end = first + report.records;
        let left_out = report.rejects.iter().filter(|reject| !reject.kept_as_null);
        for record in left_out.map(|reject| reject.error.position.record).chain([end]) {
            let record = record.clamp(next, end);
            let rows = usize::try_from(record - next).unwrap_or(usize::MAX);
            if rows > 0 {
                self.0.push(Run { connection, first: next, rows });
            }
            next = (record + 1).min(end);
        }
    }

    /// Takes the first rows out.
    pub(crate) fn take(&mut self, mut rows: usize) -> Self {
        let mut taken = Vec::new();
        self.0.retain_mut(|run| {
            let gone = run.rows.min(rows);
            if gone > 0 {
                taken.push(Run { rows: gone, ..*run });
            }
            rows -= gone;
            run.rows -= gone;
            run.first += gone as u64;
            run.rows > 0
        });
        Self(taken)
    }

    /// The runs of some rows, in ascending order.
    #[cfg(any(test, feature = "pulsar"))]
    pub(crate) fn pick(&self, rows: impl IntoIterator<Item = usize>) -> Self {
        let mut picked: Vec<Run> = Vec::new();
        let mut runs = self.0.iter();
        let (mut run, mut start) = (runs.next(), 0);
        for row in rows {
            while let Some(before) = run.filter(|run| row - start >= run.rows) {
                start += before.rows;
                run = runs.next();
            }
            let Some(&Run { connection, first, .. }) = run else { break };
            let number = first + (row - start) as u64;
            match picked.last_mut() {
                Some(last)
                    if last.connection == connection && last.first + last.rows as u64 == number =>
                {
                    last.rows += 1;
                }
                _ => picked.push(Run { connection, first: number, rows: 1 }),
            }
        }
        Self(picked)
    }

    /// Calls `each` with connection and number of every row.
    pub(crate) fn for_each(&self, mut each: impl FnMut(u64, u64)) {
        for run in &self.0 {
            for number in (run.first..).take(run.rows) {
                each(run.connection, number);
            }
        }
    }

    /// Origins of the rows from `start` on, one for each sender in turn.
    pub(crate) fn origins(&self, start: usize, rows: usize) -> Vec<Origin> {
        let mut origins: Vec<Origin> = Vec::new();
        let (mut skip, mut left) = (start, rows);
        for run in &self.0 {
            if left == 0 {
                break;
            }
            if skip >= run.rows {
                skip -= run.rows;
                continue;
            }
            let rows = (run.rows - skip).min(left);
            let first = run.first + skip as u64;
            let last = first + rows as u64 - 1;
            match origins.last_mut() {
                Some(origin) if origin.connection == run.connection && origin.last < first => {
                    origin.last = last;
                    origin.rows += rows;
                }
                _ => origins.push(Origin { connection: run.connection, first, last, rows }),
            }
            left -= rows;
            skip = 0;
        }
        origins
    }
}

#[cfg(test)]
mod tests {
    use arrowsmith_core::{DataError, ErrorKind, Position, Reject};

    use super::*;

    fn report(records: u64, left_out: &[u64]) -> Report {
        let reject = |record: &u64| Reject {
            error: DataError {
                kind: ErrorKind::Syntax,
                position: Position { record: *record, ..Position::default() },
                path: String::new(),
                expected: String::new(),
                found: String::new(),
                hint: None,
            },
            record: Vec::new(),
            kept_as_null: false,
        };
        let rejects = left_out.iter().map(reject).collect();
        Report { records, lines: records, rejects, ..Report::default() }
    }

    #[test]
    fn rejects_leave_gaps() {
        let mut runs = Runs::default();
        runs.add(7, 10, &report(5, &[10, 12]));
        runs.add(7, 15, &report(2, &[]));
        runs.add(8, 0, &report(2, &[1]));
        let mut all = Vec::new();
        runs.for_each(|connection, number| all.push((connection, number)));
        assert_eq!(all, [(7, 11), (7, 13), (7, 14), (7, 15), (7, 16), (8, 0)]);
        let origin = |connection, first, last, rows| Origin { connection, first, last, rows };
        assert_eq!(runs.origins(0, 6), [origin(7, 11, 16, 5), origin(8, 0, 0, 1)]);
        assert_eq!(runs.origins(1, 2), [origin(7, 13, 14, 2)]);
        assert_eq!(runs.origins(5, 1), [origin(8, 0, 0, 1)]);
        let taken = runs.take(2);
        assert_eq!(taken.origins(0, 9), [origin(7, 11, 13, 2)]);
        assert_eq!(runs.origins(0, 4), [origin(7, 14, 16, 3), origin(8, 0, 0, 1)]);
    }

    #[test]
    fn picked_rows_keep_their_senders_and_numbers() {
        let of = |runs: &Runs| {
            let mut all = Vec::new();
            runs.for_each(|connection, number| all.push((connection, number)));
            all
        };
        let mut runs = Runs::default();
        runs.add(7, 10, &report(5, &[10, 12]));
        runs.add(8, 0, &report(3, &[]));
        runs.add(7, 15, &report(2, &[]));
        let all = of(&runs);
        for subset in 0..1_u32 << all.len() {
            let rows = || (0..all.len()).filter(|row| subset >> row & 1 == 1);
            let wanted: Vec<_> = rows().map(|row| all[row]).collect();
            assert_eq!(of(&runs.pick(rows())), wanted, "{subset:b}");
        }
        // A key's rows alternate with those of others: the origins are those of the key.
        let picked = runs.pick([0, 2, 6]);
        let origin = |connection, first, last, rows| Origin { connection, first, last, rows };
        assert_eq!(picked.origins(0, 3), [origin(7, 11, 15, 3)]);
        assert_eq!(picked.origins(1, 1), [origin(7, 14, 14, 1)]);
        assert_eq!(of(&runs.pick([7, 8, 9])), [(7, 16)]);
    }
}
