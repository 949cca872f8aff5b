// SPDX-License-Identifier: Apache-2.0
//! The push decoder: bytes in any portions, batches when the caller requests them.
//!
//! For services that own their loop: there are no threads and no I/O here. It holds the batch under
//! construction, which the caller limits by checking [`PushDecoder::rows`], and an incomplete
//! record.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use arrowsmith_core::{
    Chunk, DecodeOptions, Decoder, Error, Framing, Limits, PADDING_BYTES, Position, Report, Result,
    memory,
};
use arrowsmith_engine::Engine;
use arrowsmith_json::frame::{Framer, Step};
use arrowsmith_plan::Plan;

use crate::CHUNK_BYTES;

/// Decodes JSON that is fed to it.
///
/// ```
/// use std::sync::Arc;
///
/// use arrow_schema::{DataType, Field, Schema};
/// use arrowsmith_core::DecodeOptions;
/// use arrowsmith_engine::Engine;
/// use arrowsmith_pipeline::PushDecoder;
/// use arrowsmith_plan::Plan;
///
/// fn feed(engine: &dyn Engine) -> arrowsmith_core::Result<()> {
///     let schema = Schema::new(vec![Field::new("a", DataType::Int64, true)]);
///     let plan = Arc::new(Plan::new(Arc::new(schema))?);
///     let mut decoder = PushDecoder::new(&plan, engine, &DecodeOptions::default())?;
///     decoder.feed(b"{\"a\":1}\n{\"a")?;
///     assert_eq!(decoder.rows(), 1);
///     decoder.feed(b"\":2}")?;
///     decoder.finish()?;
///     assert_eq!(decoder.flush()?.map(|batch| batch.num_rows()), Some(2));
///     Ok(())
/// }
/// # feed(arrowsmith_testkit::engines::cpu().as_ref())?;
/// # Ok::<(), arrowsmith_core::Error>(())
/// ```
pub struct PushDecoder {
    decoder: Box<dyn Decoder>,
    framing: Option<Framing>,
    limits: Limits,
    framer: Framer,
    /// The first `filled` bytes are text that was not decoded yet; padding follows.
    buffer: Vec<u8>,
    filled: usize,
    /// Of the first byte in the buffer.
    position: Position,
    failed: bool,
}

impl PushDecoder {
    /// Sets `plan` up on `engine`.
    ///
    /// # Errors
    /// Errors of the engine about the plan and the options.
    pub fn new(plan: &Arc<Plan>, engine: &dyn Engine, options: &DecodeOptions) -> Result<Self> {
        Ok(Self {
            decoder: engine.decoder(plan, options)?,
            framing: None,
            limits: options.limits.clone(),
            framer: Framer::new(None, &options.limits, None),
            buffer: Vec::new(),
            filled: 0,
            position: start_of(None),
            failed: false,
        })
    }

    /// How records are separated, instead of detecting it from the first bytes.
    pub fn with_framing(mut self, framing: Framing) -> Self {
        self.framing = Some(framing);
        self.begin();
        self
    }

    /// The name of the source in errors.
    pub fn with_source(mut self, name: impl AsRef<str>) -> Self {
        self.position.source = Some(Arc::from(name.as_ref()));
        self.begin();
        self
    }

    /// Takes the next bytes and decodes the records that are complete; the rest is kept.
    ///
    /// # Errors
    /// As [`Decoder::decode`]. The rows before the invalid record stay in the batch, which
    /// [`PushDecoder::flush`] returns; no more bytes can be fed.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<Report> {
        self.guarded(|this| {
            let mut report = Report::default();
            // Portions bound the buffer, however much is fed at once.
            for portion in bytes.chunks(CHUNK_BYTES) {
                this.append(portion)?;
                this.decode(false, &mut report)?;
            }
            Ok(report)
        })
    }

    /// Decodes the rest: the source ends here. The next bytes are the start of another one.
    ///
    /// # Errors
    /// As [`PushDecoder::feed`]; a record that is incomplete now is `truncated`.
    pub fn finish(&mut self) -> Result<Report> {
        self.guarded(|this| {
            let mut report = Report::default();
            this.append(&[])?;
            this.decode(true, &mut report)?;
            this.begin();
            Ok(report)
        })
    }

    /// Ends the batch and returns it; `None` if it has no rows. Incomplete records stay.
    ///
    /// # Errors
    /// As [`Decoder::flush`].
    pub fn flush(&mut self) -> Result<Option<RecordBatch>> {
        self.decoder.flush()
    }

    /// Rows in the current batch.
    pub fn rows(&self) -> usize {
        self.decoder.rows()
    }

    /// Buffered bytes of an incomplete record.
    pub fn pending_bytes(&self) -> usize {
        self.filled
    }

    /// The schema of the batches.
    pub fn schema(&self) -> SchemaRef {
        self.decoder.schema()
    }

    /// Starts a source.
    fn begin(&mut self) {
        let source = self.position.source.take();
        self.framer = Framer::new(self.framing, &self.limits, source.clone());
        self.position = start_of(source);
        self.filled = 0;
    }

    /// Runs `work` unless something failed before, in which case the position would be wrong.
    fn guarded(&mut self, work: impl FnOnce(&mut Self) -> Result<Report>) -> Result<Report> {
        if self.failed {
            let message = "the input had an error; decoding goes on with a new decoder only";
            return Err(Error::Config(message.to_owned()));
        }
        let result = work(self);
        self.failed = result.is_err();
        result
    }

    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        let end = self.filled + bytes.len();
        if self.buffer.len() < end + PADDING_BYTES {
            let len = (end + PADDING_BYTES).max(self.buffer.len().saturating_mul(2));
            memory::resize(&mut self.buffer, len)?;
        }
        self.buffer[self.filled..end].copy_from_slice(bytes);
        self.filled = end;
        Ok(())
    }

    /// Decodes the records that are complete.
    fn decode(&mut self, eof: bool, report: &mut Report) -> Result<()> {
        let mut at = 0;
        loop {
            let available = &self.buffer[at..self.filled];
            let target = available.len().max(1);
            let step = self.framer.next(available, eof, target);
            let Step::Cut(cut) = step.map_err(|error| self.placed(error))? else { break };
            let position = Position {
                line: self.position.line + cut.lines_before,
                offset: self.position.offset + cut.start as u64,
                ..self.position.clone()
            };
            let bytes = &self.buffer[at + cut.start..];
            let chunk = Chunk { bytes, len: cut.len, framing: cut.framing, position };
            let done = self.decoder.decode(&chunk)?;
            let lines = cut.lines_before + done.lines + cut.lines_after;
            self.position.record += done.records;
            self.position.line += lines;
            self.position.offset += cut.consumed as u64;
            at += cut.consumed;
            report.records += done.records;
            report.lines += lines;
            report.rejects.extend(done.rejects);
            report.left_out += done.left_out;
            report.left_out_key = report.left_out_key.take().or(done.left_out_key);
        }
        self.buffer.copy_within(at..self.filled, 0);
        self.filled -= at;
        Ok(())
    }

    /// An error of the framer, which counts from the last cut, with its position in the source.
    fn placed(&self, mut error: Error) -> Error {
        if let Error::Data(data) = &mut error {
            data.position.record += self.position.record;
            data.position.line += self.position.line - 1;
        }
        error
    }
}

/// The position of a source's first byte.
fn start_of(source: Option<Arc<str>>) -> Position {
    Position { source, record: 0, line: 1, offset: 0 }
}
