// SPDX-License-Identifier: Apache-2.0
//! Rejects that the parsers make themselves: rows that no message holds, lines that no engine
//! decodes.

use std::sync::Arc;

use arrowsmith_core::{DataError, ErrorKind, Position, Reject};

use crate::job::Job;

/// The job of a row that no message holds, and the reject that it becomes.
pub(super) fn locate(jobs: &[Job], large: &crate::resize::TooLarge) -> (usize, Reject) {
    let number = large.origin.connection;
    let found = jobs.iter().enumerate().filter(|(_, job)| job.sender.number == number);
    let found = found.take_while(|(_, job)| job.line - 1 <= large.origin.first).last();
    let mut position = Position { record: large.origin.first, ..Position::default() };
    let mut record = Vec::new();
    let mut index = 0;
    if let Some((at, job)) = found {
        index = at;
        position.source = Some(Arc::clone(&job.sender.name));
        let text = job.buffer.text();
        let mut skip = large.origin.first - (job.line - 1);
        let mut start = 0;
        for (line, end) in (job.line..).zip(memchr::memchr_iter(b'\n', text).chain([text.len()])) {
            let one = &text[start..end];
            if !one.trim_ascii().is_empty() {
                if skip == 0 {
                    position.line = line;
                    position.offset = job.offset + start as u64;
                    record = one.to_vec();
                    break;
                }
                skip -= 1;
            }
            start = (end + 1).min(text.len());
        }
    }
    let error = DataError {
        kind: ErrorKind::RecordTooLong,
        position,
        path: String::new(),
        expected: format!("a message of at most {} bytes", large.bytes_max),
        found: format!("{} bytes of Arrow data in one row", large.bytes),
        hint: None,
    };
    (index, Reject { error, record, kept_as_null: false })
}

/// A line at which the engine fails.
pub(super) fn undecoded(position: Position, why: &str, record: &[u8]) -> Reject {
    let error = DataError {
        kind: ErrorKind::InvalidValue,
        position,
        path: String::new(),
        expected: "text that the engine decodes".to_owned(),
        found: why.to_owned(),
        hint: None,
    };
    Reject { error, record: record.to_vec(), kept_as_null: false }
}
