// SPDX-License-Identifier: Apache-2.0
//! Parser threads: text to batches, cut to size, serialized.
//!
//! One thread does parse, resize and serialize of a buffer one after another, while its data is in the
//! core's cache; the times are kept apart. It never blocks on what comes after it. What an engine
//! cannot decode, even by a panic, goes to the rejects.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use arrow_array::RecordBatch;
use arrowsmith_core::{
    Chunk, DataError, Decoder, ErrorKind, Framing, OnError, Position, Reject, Report,
};

use crate::dictionaries;
use crate::job::{Answer, Job, Pending, Ticket};
use crate::metrics::observe;
use crate::resize::{Draft, resize};
use crate::runs::Runs;
use crate::sinks::Needs;
use crate::skipping::Skipping;
use crate::stream::{Compiled, Entry, Queue, Stream};

/// Rejects that the answer to a request tells, at most.
pub(crate) const ANSWER_REJECTS_MAX: usize = 20;

/// Decoders that a thread keeps.
const DECODERS_MAX: usize = 64;

/// What became of some jobs.
#[derive(Default)]
pub(crate) struct Parsed {
    pub(crate) drafts: Vec<Draft>,
    pub(crate) rejects: Vec<Reject>,
    pub(crate) pending: Vec<Pending>,
    pub(crate) times: Option<Times>,
}

/// When the first byte came, and what took how long.
#[derive(Clone, Copy)]
pub(crate) struct Times {
    pub(crate) received_at: std::time::SystemTime,
    pub(crate) start: Instant,
    pub(crate) receive: Duration,
    pub(crate) parse_queue: Duration,
    pub(crate) parse: Duration,
    pub(crate) resize: Duration,
    pub(crate) serialize: Duration,
}

/// Decoders, by the number of what was compiled.
pub(crate) type Decoders = HashMap<u64, Box<dyn Decoder>>;

/// A parser thread's work, until the queue ends.
pub(crate) fn work(queue: &Queue, bytes_max: usize) {
    let mut decoders = Decoders::new();
    while let Some(group) = queue.take(bytes_max) {
        let mut jobs = Vec::with_capacity(group.len());
        let mut first = None;
        for Entry { stream, job, reply, .. } in group {
            stream.metrics.parse_queue.dec();
            // A reply that is dropped says that the results are with those of the job before.
            first.get_or_insert((stream, reply));
            jobs.push(job);
        }
        if let Some((stream, reply)) = first {
            // The receiver waits until the end of the stream.
            let parsed = catch_unwind(AssertUnwindSafe(|| parse(&mut decoders, &stream, jobs)));
            let parsed = parsed.unwrap_or_else(|_| {
                // A bug beyond the engine: the jobs are gone, and none of them is acknowledged.
                tracing::error!(stream = &*stream.name, "a parser panicked; its buffers are lost");
                Parsed::default()
            });
            drop(reply.send(parsed));
        }
    }
}

pub(crate) fn parse(decoders: &mut Decoders, stream: &Stream, jobs: Vec<Job>) -> Parsed {
    let Some(compiled) = jobs.first().map(|job| Arc::clone(&job.compiled)) else {
        return Parsed::default();
    };
    let started = Instant::now();
    let decoded = guarded(decoders, &compiled, &jobs);
    let parse = started.elapsed();
    let Ok(decoded) = decoded else {
        // Which of them it was shows when each is decoded by itself.
        if jobs.len() == 1 {
            return broken(stream, jobs, &decoded.err().unwrap_or_default(), started, parse);
        }
        let mut all = Parsed::default();
        for job in jobs {
            let one = parse_one(decoders, stream, job);
            all.drafts.extend(one.drafts);
            all.rejects.extend(one.rejects);
            all.pending.extend(one.pending);
            all.times = all.times.or(one.times);
        }
        return all;
    };
    finish(stream, &compiled, jobs, decoded, started, parse)
}

fn parse_one(decoders: &mut Decoders, stream: &Stream, job: Job) -> Parsed {
    parse(decoders, stream, vec![job])
}

/// A batch of several jobs, or more where dictionaries have no room for all, and the report of each.
struct Decoded {
    batches: Vec<RecordBatch>,
    reports: Vec<Report>,
}

fn guarded(
    decoders: &mut Decoders,
    compiled: &Arc<Compiled>,
    jobs: &[Job],
) -> Result<Decoded, String> {
    let result = catch_unwind(AssertUnwindSafe(|| decode(decoders, compiled, jobs)));
    let result = result.unwrap_or_else(|_| Err("the engine panicked".to_owned()));
    if result.is_err() {
        decoders.remove(&compiled.number);
    }
    result
}

fn decode(
    decoders: &mut Decoders,
    compiled: &Arc<Compiled>,
    jobs: &[Job],
) -> Result<Decoded, String> {
    if decoders.len() >= DECODERS_MAX && !decoders.contains_key(&compiled.number) {
        decoders.clear();
    }
    let decoder = match decoders.entry(compiled.number) {
        std::collections::hash_map::Entry::Occupied(known) => known.into_mut(),
        std::collections::hash_map::Entry::Vacant(new) => new.insert(begin(compiled)?),
    };
    let mut reports = Vec::with_capacity(jobs.len());
    let mut kept = 0_u64;
    for job in jobs {
        let position = Position {
            source: Some(Arc::clone(&job.sender.name)),
            record: job.line - 1,
            line: job.line,
            offset: job.offset,
        };
        let chunk = Chunk {
            bytes: job.buffer.padded(),
            len: job.buffer.len,
            framing: Framing::Lines,
            position,
        };
        let report = decoder.decode(&chunk).map_err(|error| error.to_string())?;
        kept += report.records - left_out(&report);
        reports.push(report);
    }
    let batches: Vec<RecordBatch> = match decoder.flush() {
        Ok(batch) => batch.into_iter().collect(),
        Err(error) if dictionaries::are_in(&compiled.schema) => {
            tracing::debug!(%error, "a buffer has too many distinct values; it is cut");
            decoders.remove(&compiled.number);
            dictionaries::in_pieces(&|| begin(compiled), jobs)?
        }
        Err(error) => return Err(error.to_string()),
    };
    let rows: u64 = batches.iter().map(|batch| batch.num_rows() as u64).sum();
    if rows != kept {
        return Err(format!("the engine made {rows} rows of {kept} records"));
    }
    Ok(Decoded { batches, reports })
}

fn begin(compiled: &Compiled) -> Result<Box<dyn Decoder>, String> {
    let decoder = compiled.engine.decoder(&compiled.plan, &compiled.options);
    let decoder = decoder.map_err(|error| error.to_string())?;
    Ok(match compiled.options.on_error {
        OnError::Fail => Box::new(Skipping(decoder)),
        _ => decoder,
    })
}

fn left_out(report: &Report) -> u64 {
    report.rejects.iter().filter(|reject| !reject.kept_as_null).count() as u64
}

/// Times of some jobs: of the one that came first.
fn times(stream: &Stream, jobs: &[Job], started: Instant, parse: Duration) -> Option<Times> {
    observe(&stream.metrics.stages[2], parse);
    for job in jobs {
        observe(&stream.metrics.stages[0], job.receive);
        observe(&stream.metrics.stages[1], started.saturating_duration_since(job.queued));
    }
    let job = jobs.iter().min_by_key(|job| job.start)?;
    Some(Times {
        received_at: job.received_at,
        start: job.start,
        receive: job.receive,
        parse_queue: started.saturating_duration_since(job.queued),
        parse,
        resize: Duration::ZERO,
        serialize: Duration::ZERO,
    })
}

fn finish(
    stream: &Stream,
    compiled: &Compiled,
    jobs: Vec<Job>,
    decoded: Decoded,
    started: Instant,
    parse: Duration,
) -> Parsed {
    let mut times = times(stream, &jobs, started, parse);
    let needs: Needs = *stream.needs.read().unwrap_or_else(PoisonError::into_inner);
    let mut parsed = Parsed::default();
    let mut batches = decoded.batches;
    let mut runs = Runs::default();
    let mut refused = vec![false; jobs.len()];
    for (index, (job, report)) in jobs.iter().zip(&decoded.reports).enumerate() {
        if job.whole && !report.rejects.is_empty() {
            // Such a job is always alone.
            refused[index] = true;
            batches.clear();
            stream.metrics.refused.inc_by(report.records);
            continue;
        }
        runs.add(job.sender.number, job.line - 1, report);
    }
    let mut too_large = HashMap::<usize, u64>::new();
    let mut first = 0;
    for batch in batches {
        stream.metrics.arrow_bytes.inc_by(batch.get_array_memory_size() as u64);
        let outcome = resize(stream, compiled, &batch, &runs.from(first, batch.num_rows()), needs);
        first += batch.num_rows();
        if let Some(times) = &mut times {
            times.resize += outcome.resize;
            times.serialize += outcome.serialize;
        }
        observe(&stream.metrics.stages[3], outcome.resize);
        if needs.payload {
            observe(&stream.metrics.stages[4], outcome.serialize);
        }
        for large in outcome.too_large {
            let (index, reject) = locate(&jobs, &large);
            *too_large.entry(index).or_default() += 1;
            parsed.rejects.push(reject);
        }
        parsed.drafts.extend(outcome.drafts);
    }
    for (index, (job, mut report)) in jobs.into_iter().zip(decoded.reports).enumerate() {
        let mut answer = Answer { records: report.records, ..Answer::default() };
        answer.rejected = left_out(&report) + too_large.get(&index).copied().unwrap_or(0);
        answer.refused = refused[index];
        if matches!(job.ticket, Ticket::Request(_)) {
            answer.rejects = report.rejects.iter().take(ANSWER_REJECTS_MAX).cloned().collect();
        }
        let mut records = report.records;
        if let Some(overlong) = job.overlong {
            report.rejects.insert(0, *overlong);
            answer.rejected += 1;
            records += 1;
        }
        answer.records = records;
        answer.accepted = if refused[index] { 0 } else { records - answer.rejected.min(records) };
        stream.metrics.records.inc_by(records);
        if !refused[index] {
            parsed.rejects.extend(report.rejects);
        }
        let bytes = job.buffer.len as u64;
        let grant = job.buffer.into_grant();
        parsed.pending.push(Pending { ticket: job.ticket, records, bytes, answer, grant });
    }
    parsed.times = times;
    parsed
}

/// The job of a row that no message holds, and the reject that it becomes.
fn locate(jobs: &[Job], large: &crate::resize::TooLarge) -> (usize, Reject) {
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

/// A buffer that the engine cannot decode: each line goes to the rejects.
fn broken(stream: &Stream, jobs: Vec<Job>, why: &str, started: Instant, parse: Duration) -> Parsed {
    tracing::error!(
        stream = &*stream.name,
        why,
        "a buffer cannot be decoded; it is rejected whole"
    );
    let mut parsed = Parsed { times: times(stream, &jobs, started, parse), ..Parsed::default() };
    for job in jobs {
        let text = job.buffer.text();
        let mut rejects: Vec<Reject> = job.overlong.into_iter().map(|reject| *reject).collect();
        let mut offset = job.offset;
        for (line, record) in (job.line..).zip(text.split_inclusive(|&byte| byte == b'\n')) {
            if !record.trim_ascii().is_empty() {
                let error = DataError {
                    kind: ErrorKind::InvalidValue,
                    position: Position {
                        source: Some(Arc::clone(&job.sender.name)),
                        record: line - 1,
                        line,
                        offset,
                    },
                    path: String::new(),
                    expected: "text that the engine decodes".to_owned(),
                    found: why.to_owned(),
                    hint: None,
                };
                let record = record.trim_ascii_end().to_vec();
                rejects.push(Reject { error, record, kept_as_null: false });
            }
            offset += record.len() as u64;
        }
        let records = rejects.len() as u64;
        stream.metrics.records.inc_by(records);
        let mut answer = Answer { records, rejected: records, ..Answer::default() };
        answer.refused = job.whole;
        answer.rejects = rejects.iter().take(ANSWER_REJECTS_MAX).cloned().collect();
        if job.whole {
            stream.metrics.refused.inc_by(records);
        } else {
            parsed.rejects.extend(rejects);
        }
        let bytes = job.buffer.len as u64;
        let grant = job.buffer.into_grant();
        parsed.pending.push(Pending { ticket: job.ticket, records, bytes, answer, grant });
    }
    parsed
}
