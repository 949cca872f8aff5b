// SPDX-License-Identifier: Apache-2.0
//! Parser threads: text to batches, split to size, serialized.
//!
//! One thread does parse, resize and serialize of a buffer one after another, while its data is in
//! the core's cache; the times are kept apart. It never blocks on what comes after it. What an
//! engine cannot decode, even by a panic, goes to the rejects: only the lines at which it fails.

mod grow;
mod outcomes;
mod reject;
mod rescue;
mod skipping;

use std::collections::HashMap;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use arrow_array::RecordBatch;
use arrowsmith::Engine;
use arrowsmith_core::{Chunk, Decoder, Framing, OnError, Position, Reject};
use arrowsmith_publish::StageTimes;

use self::outcomes::Outcomes;
use self::reject::locate;
use self::rescue::rescue;
use self::skipping::Skipping;
use crate::compiled::Compiled;
use crate::job::{Answer, Fate, Job, Parsed, Pending, Received, Ticket};
use crate::observe::metrics::observe;
use crate::panics;
use crate::publish::sinks::Needs;
use crate::resize::resize;
use crate::resize::runs::Runs;
use crate::stream::{Entry, Queue, Stream};
use crate::width::LINES_MAX;

/// Maximum number of rejects in the answer to a request.
pub(crate) const ANSWER_REJECTS_MAX: usize = 20;

/// Decoders that a thread keeps.
const DECODERS_MAX: usize = 64;

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
            // A dropped reply means that the results are with those of the job before.
            first.get_or_insert((stream, reply));
            jobs.push(job);
        }
        if let Some((stream, reply)) = first {
            // The receiver waits until the end of the stream.
            let parsed = catch_unwind(AssertUnwindSafe(|| parse(&mut decoders, &stream, jobs)));
            let parsed = parsed.unwrap_or_else(|panic| {
                // A bug outside the engine: the jobs are lost, and none of them is acknowledged.
                let why = panics::why(panic);
                tracing::error!(
                    stream = &*stream.name,
                    why,
                    "a parser failed; its buffers are lost"
                );
                Parsed::default()
            });
            drop(reply.send(parsed));
        }
    }
}

pub(crate) fn parse(decoders: &mut Decoders, stream: &Stream, mut jobs: Vec<Job>) -> Parsed {
    let Some(mut compiled) = grow::version(stream, &jobs) else { return Parsed::default() };
    let started = Instant::now();
    loop {
        if !jobs.iter_mut().all(|job| grow::fits(stream, &compiled, job)) {
            return match &jobs[..] {
                [_] => unfit(stream, &compiled, jobs, started),
                _ => one_by_one(decoders, stream, jobs),
            };
        }
        let decoded = guarded(decoders, &compiled, |decoders| decode(decoders, &compiled, &jobs));
        let wider = match &decoded {
            Ok(decoded) => grow::wider(stream, &compiled, &jobs, decoded),
            Err(_) => grow::wider_for_all(stream, &compiled, &jobs),
        };
        if let Some(wider) = wider {
            compiled = wider;
            continue;
        }
        let parse = started.elapsed();
        return match decoded {
            Ok(decoded) => finish(stream, &compiled, jobs, decoded, started, parse),
            Err(_) => match &jobs[..] {
                [job] => {
                    let decoded = rescue(decoders, stream, &compiled, job);
                    finish(stream, &compiled, jobs, decoded, started, started.elapsed())
                }
                // To find the one that fails.
                _ => one_by_one(decoders, stream, jobs),
            },
        };
    }
}

/// Parses each job by itself.
fn one_by_one(decoders: &mut Decoders, stream: &Stream, jobs: Vec<Job>) -> Parsed {
    let mut all = Parsed::default();
    for job in jobs {
        let one = parse(decoders, stream, vec![job]);
        all.drafts.extend(one.drafts);
        all.rejects.extend(one.rejects);
        all.pending.extend(one.pending);
        all.received = all.received.or(one.received);
    }
    all
}

/// The result of a job that needs more memory than is free, since the schema has grown. Who waits
/// for it sends it again, and is granted more then; else its lines are rejects.
fn unfit(stream: &Stream, compiled: &Compiled, jobs: Vec<Job>, started: Instant) -> Parsed {
    tracing::warn!(stream = &*stream.name, "a buffer is not decoded: {UNFIT}");
    match &jobs[..] {
        [job] if matches!(job.ticket, Ticket::None) => {
            let outcomes = rescue::undecoded(job, job.buffer.text(), &begin(job), UNFIT);
            let decoded = Decoded { batches: Vec::new(), reports: vec![outcomes] };
            finish(stream, compiled, jobs, decoded, started, started.elapsed())
        }
        _ => Parsed::default(),
    }
}

/// Why text is not decoded.
const UNFIT: &str = "the schema has grown beyond the memory that is free";

/// The rows of several jobs, and the report of each.
#[derive(Default)]
pub(crate) struct Decoded {
    pub(crate) batches: Vec<RecordBatch>,
    pub(crate) reports: Vec<Outcomes>,
}

/// Calls an engine; after an error or a panic its decoder is dropped.
fn guarded<T>(
    decoders: &mut Decoders,
    compiled: &Compiled,
    call: impl FnOnce(&mut Decoders) -> Result<T, String>,
) -> Result<T, String> {
    let result = catch_unwind(AssertUnwindSafe(|| call(decoders)));
    let result = result.unwrap_or_else(|panic| Err(panics::why(panic)));
    if result.is_err() {
        decoders.remove(&compiled.number);
    }
    result
}

/// Where a job begins.
fn begin(job: &Job) -> Position {
    Position {
        source: Some(Arc::clone(&job.sender.name)),
        record: job.line - 1,
        line: job.line,
        offset: job.offset,
    }
}

/// The decoder of a thread for what was compiled, a new one after a failure.
fn decoder<'a>(
    decoders: &'a mut Decoders,
    compiled: &Compiled,
) -> Result<&'a mut Box<dyn Decoder>, String> {
    if decoders.len() >= DECODERS_MAX && !decoders.contains_key(&compiled.number) {
        decoders.clear();
    }
    Ok(match decoders.entry(compiled.number) {
        std::collections::hash_map::Entry::Occupied(known) => known.into_mut(),
        std::collections::hash_map::Entry::Vacant(new) => {
            let decoder = compiled.engine.decoder(&compiled.plan, &compiled.options);
            let decoder = decoder.map_err(|error| error.to_string())?;
            new.insert(match compiled.options.on_error {
                OnError::Fail => Box::new(Skipping(decoder)),
                _ => decoder,
            })
        }
    })
}

fn decode(decoders: &mut Decoders, compiled: &Compiled, jobs: &[Job]) -> Result<Decoded, String> {
    let decoder = decoder(decoders, compiled)?;
    let mut reports = Vec::with_capacity(jobs.len());
    let mut kept = 0_u64;
    for job in jobs {
        let outcomes = decode_job(decoder.as_mut(), job, 0..job.buffer.len, begin(job))?;
        kept += outcomes.report.records - outcomes.left_out;
        reports.push(outcomes);
    }
    let batch = flush(decoder.as_mut(), kept)?;
    Ok(Decoded { batches: batch.into_iter().collect(), reports })
}

/// The batch of this many records.
fn flush(decoder: &mut dyn Decoder, kept: u64) -> Result<Option<RecordBatch>, String> {
    let batch = decoder.flush().map_err(|error| error.to_string())?;
    let rows = batch.as_ref().map_or(0, RecordBatch::num_rows) as u64;
    if rows != kept {
        return Err(format!("the engine made {rows} rows of {kept} records"));
    }
    Ok(batch)
}

/// Decodes the text of a job, some lines at a time, so that the rejects of very many are not all
/// there at once.
fn decode_job(
    decoder: &mut dyn Decoder,
    job: &Job,
    lines: Range<usize>,
    mut position: Position,
) -> Result<Outcomes, String> {
    let mut outcomes = Outcomes::default();
    let bytes = job.buffer.padded();
    let text = job.buffer.text().get(..lines.end).unwrap_or_default();
    let mut at = lines.start;
    loop {
        let end = match job.lines > LINES_MAX {
            false => text.len(),
            true => end_of_lines(text, at),
        };
        let chunk = Chunk {
            bytes: bytes.get(at..).unwrap_or_default(),
            len: end - at,
            framing: Framing::Lines,
            position: position.clone(),
        };
        let report = decoder.decode(&chunk).map_err(|error| error.to_string())?;
        position.record += report.records;
        position.line += report.lines;
        position.offset += (end - at) as u64;
        outcomes.add(report, job.whole);
        at = end;
        if at >= text.len() {
            return Ok(outcomes);
        }
    }
}

/// Where some lines from `at` on end.
fn end_of_lines(text: &[u8], at: usize) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    let lines = usize::try_from(LINES_MAX).unwrap_or(usize::MAX);
    memchr::memchr_iter(b'\n', rest).nth(lines - 1).map_or(text.len(), |end| at + end + 1)
}

/// Times of some jobs: of the one that came first.
fn received(stream: &Stream, jobs: &[Job], started: Instant, parse: Duration) -> Option<Received> {
    observe(&stream.metrics.stages[2], parse);
    for job in jobs {
        observe(&stream.metrics.stages[0], job.receive);
        observe(&stream.metrics.stages[1], started.saturating_duration_since(job.queued));
    }
    let job = jobs.iter().min_by_key(|job| job.start)?;
    let times = StageTimes {
        receive: job.receive,
        parse_queue: started.saturating_duration_since(job.queued),
        parse,
        ..StageTimes::begin(job.start)
    };
    Some(Received { at: job.received_at, times })
}

fn finish(
    stream: &Stream,
    compiled: &Compiled,
    jobs: Vec<Job>,
    decoded: Decoded,
    started: Instant,
    parse: Duration,
) -> Parsed {
    let mut received = received(stream, &jobs, started, parse);
    let needs: Needs = *stream.needs.read().unwrap_or_else(PoisonError::into_inner);
    let mut parsed = Parsed::default();
    let mut batches = decoded.batches;
    let mut runs = Runs::default();
    for (job, outcomes) in jobs.iter().zip(&decoded.reports) {
        if job.whole && outcomes.left_out > 0 {
            // Such a job is always alone.
            batches.clear();
        } else {
            runs.add(job.sender.number, job.line - 1, &outcomes.report);
        }
    }
    // Of each job, the rows that are too large for any message.
    let mut too_large: Vec<Vec<Reject>> = jobs.iter().map(|_| Vec::new()).collect();
    let (mut resizing, mut serializing) = (Duration::ZERO, Duration::ZERO);
    for batch in batches {
        stream.metrics.arrow_bytes.inc_by(batch.get_array_memory_size() as u64);
        let its_runs = runs.take(batch.num_rows());
        let outcome = resize(stream, compiled, &batch, &its_runs, needs);
        (resizing, serializing) = (resizing + outcome.resize, serializing + outcome.serialize);
        for large in outcome.too_large {
            let (index, reject) = locate(&jobs, &large);
            too_large[index].push(reject);
        }
        parsed.drafts.extend(outcome.drafts);
    }
    observe(&stream.metrics.stages[3], resizing);
    if needs.payload {
        observe(&stream.metrics.stages[4], serializing);
    }
    if let Some(Received { times, .. }) = &mut received {
        (times.resize, times.serialize) = (resizing, serializing);
    }
    for ((job, outcomes), too_large) in jobs.into_iter().zip(decoded.reports).zip(too_large) {
        parsed.add(stream, job, outcomes, too_large);
    }
    parsed.received = received;
    // What is acknowledged as stored has to be among the messages.
    let rows: u64 = parsed.drafts.iter().map(|draft| draft.batch.num_rows() as u64).sum();
    let accepted: u64 = parsed.pending.iter().map(|job| job.answer.accepted()).sum();
    debug_assert_eq!(rows, accepted, "records that are accepted are in messages");
    if rows != accepted {
        tracing::error!(stream = &*stream.name, rows, accepted, "a buffer is lost");
        return Parsed::default();
    }
    parsed
}

impl Parsed {
    /// Adds the results of a job. Here, with all its errors known, it is decided whether it is
    /// refused.
    fn add(&mut self, stream: &Stream, job: Job, outcomes: Outcomes, too_large: Vec<Reject>) {
        let untold = outcomes.nulled_untold();
        let mut rejects: Vec<Reject> = job.overlong.into_iter().map(|reject| *reject).collect();
        let records = outcomes.report.records + rejects.len() as u64;
        let rejected = outcomes.left_out + (rejects.len() + too_large.len()) as u64;
        rejects.extend(outcomes.report.rejects);
        rejects.extend(too_large);
        let mut answer = Answer::new(records, rejected, job.whole, outcomes.nulled);
        let refused = matches!(answer.fate(), Fate::Refused(_));
        if matches!(job.ticket, Ticket::Request(_)) {
            // Of a refused request, only those that are the reason.
            let shown = rejects.iter().filter(|reject| !(refused && reject.kept_as_null));
            answer.rejects = shown.take(ANSWER_REJECTS_MAX).cloned().collect();
        }
        stream.metrics.records.inc_by(records);
        if refused {
            // Nothing of it is kept: no row, and no reject about a nulled value.
            self.drafts.clear();
            stream.metrics.refused.inc_by(records);
        } else {
            stream.metrics.nulled.inc_by(untold);
            self.rejects.extend(rejects);
        }
        let bytes = job.buffer.len as u64 + job.passed_bytes;
        let grants = (job.buffer.into_grant(), [job.arrow, job.late]);
        self.pending.push(Pending { ticket: job.ticket, records, bytes, answer, grants });
    }
}
