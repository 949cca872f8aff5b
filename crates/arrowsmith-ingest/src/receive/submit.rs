// SPDX-License-Identifier: Apache-2.0
//! Whole lines of one sender on their way to the parsers: the one place where a connection and a
//! follower of files make jobs.
//!
//! Before a job goes, memory is granted for its Arrow data beyond the size of its text; lines that
//! need too much together become several jobs, and a line that does by itself becomes a reject. A
//! holder of a grant for Arrow data never waits for one for text, so that there is no deadlock.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Instant, SystemTime};

use arrowsmith_core::{DataError, ErrorKind, Position, Reject};

use super::Common;
use super::lines::{Lines, OVERLONG_KEPT_BYTES};
use crate::compiled::Compiled;
use crate::job::{Awaited, Job, Progress, Sender, Ticket};
use crate::memory::Buffer;
use crate::stream::Stream;
use crate::width::Part;

/// The sender, and how far its lines were handed over.
pub(crate) struct Submitter {
    pub(crate) common: Arc<Common>,
    pub(crate) stream: Arc<Stream>,
    pub(crate) sender: Arc<Sender>,
    pub(crate) progress: Option<Arc<Progress>>,
    pub(crate) lines: Lines,
    /// A line that was skipped, until a job takes its reject along.
    overlong: Option<(Box<Reject>, u64)>,
    /// Bytes of the line that is being skipped.
    passing_bytes: u64,
}

/// The stream takes nothing any more.
pub(crate) struct Ended;

impl Submitter {
    pub(crate) fn new(
        common: Arc<Common>,
        stream: Arc<Stream>,
        sender: Sender,
        progress: Option<Arc<Progress>>,
        lines: Lines,
    ) -> Self {
        let sender = Arc::new(sender);
        Self { common, stream, sender, progress, lines, overlong: None, passing_bytes: 0 }
    }

    /// Whether a reject waits for a job.
    pub(crate) fn has_overlong(&self) -> bool {
        self.overlong.is_some()
    }

    /// Continues in a line that is too long, with `end` to its end. Returns the bytes of `text`
    /// that belong to it.
    pub(crate) fn pass_over(&mut self, text: &[u8], end: bool) -> usize {
        let (used, reject) = self.lines.pass_over(text, end, &self.sender);
        self.passing_bytes += used as u64;
        if let Some(reject) = reject {
            self.overlong = Some((reject, std::mem::take(&mut self.passing_bytes)));
        }
        used
    }

    /// Hands over whole lines; the text may be empty where a reject goes alone.
    pub(crate) async fn over(
        &mut self,
        mut buffer: Buffer,
        since: (Instant, SystemTime),
    ) -> Result<(), Ended> {
        let compiled = self.stream.compiled();
        let lines = memchr::memchr_iter(b'\n', buffer.text()).count() as u64;
        let parts = compiled.width.parts(buffer.text(), lines, self.common.part_bytes_max());
        if let [part] = &parts[..]
            && part.beyond <= self.common.part_bytes_max()
        {
            return self.one(compiled, buffer, part.beyond, since).await;
        }
        for Part { range, beyond, .. } in parts {
            if beyond > self.common.arrow.bytes_max() as u64 {
                if self.overlong.is_some() {
                    let nothing = buffer.part(0..0);
                    self.one(Arc::clone(&compiled), nothing, 0, since).await?;
                }
                self.too_wide(buffer.text().get(range).unwrap_or_default(), beyond);
                continue;
            }
            let part = buffer.part(range);
            self.one(Arc::clone(&compiled), part, beyond, since).await?;
        }
        if self.overlong.is_some() {
            let nothing = buffer.part(0..0);
            self.one(compiled, nothing, 0, since).await?;
        }
        Ok(())
    }

    /// Makes a reject of a line whose Arrow data would exceed the memory.
    fn too_wide(&mut self, text: &[u8], beyond: u64) {
        let most = self.common.arrow.bytes_max();
        let reject = wide(text, &self.sender, (self.lines.line, self.lines.offset), beyond, most);
        self.lines.advance(text);
        self.overlong = Some((reject, text.len() as u64));
    }

    async fn one(
        &mut self,
        compiled: Arc<Compiled>,
        mut buffer: Buffer,
        beyond: u64,
        (start, received_at): (Instant, SystemTime),
    ) -> Result<(), Ended> {
        let arrow = match beyond {
            0 => None,
            _ => Some(self.common.arrow_grant(beyond).await.ok_or(Ended)?),
        };
        buffer.compact();
        let (offset, line) = (self.lines.offset, self.lines.line);
        let lines = self.lines.advance(buffer.text());
        let (overlong, passed_bytes) = self.overlong.take().unzip();
        let passed_bytes = passed_bytes.unwrap_or(0);
        let ticket = match &self.progress {
            None => Ticket::None,
            Some(progress) => {
                let bytes = buffer.len as u64 + passed_bytes;
                progress.sent_bytes.fetch_add(bytes, Ordering::AcqRel);
                Ticket::Progress(Awaited::new(progress))
            }
        };
        let now = Instant::now();
        let job = Job {
            compiled,
            sender: Arc::clone(&self.sender),
            buffer,
            offset,
            line,
            lines,
            received_at,
            start,
            receive: now.saturating_duration_since(start),
            queued: now,
            overlong,
            passed_bytes,
            arrow,
            late: None,
            whole: false,
            ticket,
        };
        if self.stream.submit(job).await { Ok(()) } else { Err(Ended) }
    }
}

/// The reject of a line, at this line number and offset, whose Arrow data would exceed the memory.
pub(crate) fn wide(
    text: &[u8],
    sender: &Sender,
    (line, offset): (u64, u64),
    beyond: u64,
    most: usize,
) -> Box<Reject> {
    let text = text.trim_ascii_end();
    let error = DataError {
        kind: ErrorKind::RecordTooLong,
        position: Position {
            source: Some(Arc::clone(&sender.name)),
            record: line - 1,
            line,
            offset,
        },
        path: String::new(),
        expected: format!("a record of at most {most} bytes of Arrow data"),
        found: format!("up to {beyond} bytes, by the schema's widths"),
        hint: Some("service.memory".to_owned()),
    };
    let record = text.get(..OVERLONG_KEPT_BYTES).unwrap_or(text).to_vec();
    Box::new(Reject { error, record, kept_as_null: false })
}
