// SPDX-License-Identifier: Apache-2.0
//! `schema = "auto"`: the schema grows with what is received.
//!
//! Parsers decode with the version that is known. Text that does not match, or in which the decoder
//! accepted what the schema has to grow for, is inferred from and decoded again with the next
//! version; what was decoded before stays as it is, so that sinks get a message with another
//! schema. Nothing waits for it, and no value is lost. Memory is granted before the schema has
//! grown; text that needs more then gets it from memory that is kept for that, or is not decoded
//! where too little of it is free. Design: `docs/design/0018`.

use std::sync::{Arc, PoisonError};

use arrowsmith_core::{Chunk, Framing, Reject, Result};
use arrowsmith_json::infer::Inferrer;
use arrowsmith_pipeline::{may_widen, widens};

use super::{Decoded, begin};
use crate::auto::options;
use crate::compiled::Compiled;
use crate::job::Job;
use crate::memory::Grant;
use crate::stream::Stream;

/// The version of the schema to decode some jobs with: the newest, where theirs grows.
pub(super) fn version(stream: &Stream, jobs: &[Job]) -> Option<Arc<Compiled>> {
    let theirs = &jobs.first()?.compiled;
    let current = stream.compiled();
    Some(if theirs.grows && current.grows { current } else { Arc::clone(theirs) })
}

/// Whether a job's grants of memory cover what it becomes with this version. What is missing is
/// granted if it is free: a parser must not wait, because the job that would release memory may be
/// queued after this one.
pub(super) fn fits(stream: &Stream, compiled: &Compiled, job: &mut Job) -> bool {
    if Arc::ptr_eq(&job.compiled.plan, &compiled.plan) {
        return true;
    }
    let granted = |grant: &Option<Grant>| grant.as_ref().map_or(0, Grant::bytes_max) as u64;
    let needed = compiled.width.beyond(job.buffer.text(), job.lines + 1);
    let missing = needed.saturating_sub(granted(&job.arrow));
    if missing > granted(&job.late) {
        job.late = None;
        job.late =
            usize::try_from(missing).ok().and_then(|bytes| stream.auto.late.try_grant(bytes));
    }
    missing <= granted(&job.late)
}

/// A wider version than the one that jobs were decoded with, if they need one.
pub(super) fn wider(
    stream: &Stream,
    compiled: &Arc<Compiled>,
    jobs: &[Job],
    decoded: &Decoded,
) -> Option<Arc<Compiled>> {
    if !compiled.grows {
        return None;
    }
    let is_late = |reject: &Reject| may_widen(reject.error.kind);
    let is_wide = compiled.watch.as_ref().is_some_and(|watch| {
        let texts = || jobs.iter().map(|job| job.buffer.text());
        decoded.batches.iter().any(|batch| widens(watch, batch, texts()))
    });
    let mut late = Vec::new();
    for (job, told) in jobs.iter().zip(&decoded.reports) {
        if is_wide || told.report.rejects.iter().any(is_late) {
            late.push(job);
        }
    }
    widen(stream, compiled, &late)
}

/// As [`wider`], for jobs that the engine does not decode together.
pub(super) fn wider_for_all(
    stream: &Stream,
    compiled: &Arc<Compiled>,
    jobs: &[Job],
) -> Option<Arc<Compiled>> {
    if !compiled.grows {
        return None;
    }
    widen(stream, compiled, &jobs.iter().collect::<Vec<_>>())
}

/// Infers from jobs; returns the next version, or one that other jobs have led to meanwhile.
fn widen(stream: &Stream, compiled: &Arc<Compiled>, jobs: &[&Job]) -> Option<Arc<Compiled>> {
    if jobs.is_empty() {
        return None;
    }
    let mut seen = Inferrer::new(options(&stream.config, &stream.auto.limits));
    // Keys come in the order of the versions that they appeared in.
    seen.set_source(u32::try_from(stream.metrics.schema_versions.get()).unwrap_or(u32::MAX));
    let mut offset = 0;
    for job in jobs {
        let bytes = job.buffer.text();
        let mut position = begin(job);
        position.offset = offset;
        offset += bytes.len() as u64;
        let chunk = Chunk { bytes, len: bytes.len(), framing: Framing::Lines, position };
        if let Err(error) = seen.observe(&chunk) {
            // Too many keys: the decoder says which record it is.
            tracing::debug!(stream = &*stream.name, %error, "the schema does not grow");
            return None;
        }
    }
    let mut known = stream.auto.inferrer.lock().unwrap_or_else(PoisonError::into_inner);
    let current = stream.compiled();
    if !current.grows {
        return None;
    }
    if seen.records() > 0 {
        match next(stream, &current, &known, seen) {
            Ok(Some((inferrer, next))) => {
                let next = Arc::new(next);
                *known = inferrer;
                stream.widen(&current, Arc::clone(&next));
                if next.schema != current.schema {
                    stream.metrics.schema_versions.inc();
                    let version = stream.metrics.schema_versions.get();
                    let columns = next.schema.fields().len();
                    tracing::info!(
                        stream = &*stream.name,
                        version,
                        columns,
                        "the schema has grown"
                    );
                }
                return Some(next);
            }
            Ok(None) => {}
            Err(error) => {
                tracing::warn!(stream = &*stream.name, %error, "the schema cannot grow");
            }
        }
    }
    (current.number != compiled.number).then_some(current)
}

/// What is known with what was seen; `None` if that is nothing new.
fn next(
    stream: &Stream,
    current: &Compiled,
    known: &Inferrer,
    seen: Inferrer,
) -> Result<Option<(Inferrer, Compiled)>> {
    let mut inferrer = known.clone();
    inferrer.merge(seen)?;
    let schema = inferrer.clone().finish()?;
    let watch = inferrer.watch();
    let plan = stream.config.read.plan(Arc::new(schema))?;
    if plan.schema() == current.plan.schema() && watch == current.watch {
        return Ok(None);
    }
    let next = Compiled::of(&stream.config, &stream.auto.limits, plan, watch)?;
    Ok(Some((inferrer, next)))
}
