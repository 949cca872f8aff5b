// SPDX-License-Identifier: Apache-2.0
//! Jobs at which an engine fails: only the lines that it does not decode are lost, as rejects.

use std::ops::Range;

use arrowsmith_core::{Position, Report};

use super::outcomes::Outcomes;
use super::{Decoded, Decoders, begin, decode_job, decoder, flush, guarded, reject};
use crate::compiled::Compiled;
use crate::job::Job;
use crate::stream::Stream;

/// Failures of the engine at one job after which the lines that are left are rejects: a few, and
/// and one more for this many lines, since a job that is too large for one batch fails until its
/// parts are small (the keys of `dictionary<int8, …>` number 128 values).
const FAILURES_MAX: u64 = 256;
const LINES_PER_FAILURE: u64 = 16;

/// Decodes a job at which the engine fails in halves until it does not: so a job that is too large
/// for one batch, such as one with more values than a dictionary has keys, becomes several batches.
/// A line at which it fails by itself is a reject, and so is all that is left when it has failed
/// very often.
pub(super) fn rescue(
    decoders: &mut Decoders,
    stream: &Stream,
    compiled: &Compiled,
    job: &Job,
) -> Decoded {
    let (mut batches, mut outcomes) = (Vec::new(), Outcomes::default());
    let text = job.buffer.text();
    let mut position = begin(job);
    let mut left = Vec::from([Range { start: 0, end: text.len() }]);
    let mut failures = 0;
    let failures_max = FAILURES_MAX + job.lines / LINES_PER_FAILURE;
    while let Some(lines) = left.pop() {
        let here = position.clone();
        let result = guarded(decoders, compiled, |decoders| {
            let decoder = decoder(decoders, compiled)?.as_mut();
            let outcomes = decode_job(decoder, job, lines.clone(), here)?;
            let batch = flush(decoder, outcomes.report.records - outcomes.left_out)?;
            Ok((outcomes, batch))
        });
        let part = match result {
            Ok((part, batch)) => {
                batches.extend(batch);
                part
            }
            Err(why) => {
                failures += 1;
                let half = half(&text[lines.clone()]).filter(|_| failures < failures_max);
                if let Some(half) = half {
                    left.push(lines.start + half..lines.end);
                    left.push(lines.start..lines.start + half);
                    continue;
                }
                tracing::error!(stream = &*stream.name, why, "lines cannot be decoded");
                undecoded(job, &text[lines.clone()], &position, &why)
            }
        };
        position.record += part.report.records;
        position.line += part.report.lines;
        position.offset += lines.len() as u64;
        outcomes.join(part, job.whole);
    }
    Decoded { batches, reports: vec![outcomes] }
}

/// A line end near the middle of the text; `None` for one line.
fn half(text: &[u8]) -> Option<usize> {
    let body = text.strip_suffix(b"\n").unwrap_or(text);
    let middle = body.len() / 2;
    memchr::memrchr(b'\n', &body[..middle])
        .or_else(|| memchr::memchr(b'\n', &body[middle..]).map(|at| middle + at))
        .map(|at| at + 1)
}

/// Lines that are all rejects.
pub(super) fn undecoded(job: &Job, text: &[u8], begin: &Position, why: &str) -> Outcomes {
    let mut outcomes = Outcomes::default();
    let mut position = begin.clone();
    for line in text.split_inclusive(|&byte| byte == b'\n') {
        let mut part = Report { lines: u64::from(line.ends_with(b"\n")), ..Report::default() };
        if !line.trim_ascii().is_empty() {
            part.records = 1;
            part.rejects.push(reject::undecoded(position.clone(), why, line.trim_ascii_end()));
        }
        position.record += part.records;
        position.line += part.lines;
        position.offset += line.len() as u64;
        outcomes.add(part, job.whole);
    }
    outcomes
}
