// SPDX-License-Identifier: Apache-2.0
//! The builder of a pipeline, and its start.

use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, OnceLock};
use std::thread;

use arrowsmith_core::{DecodeOptions, Error, Framing, Reject, Result};
use arrowsmith_engine::{Chain, Engine};
use arrowsmith_json::frame::Documents;
use arrowsmith_plan::Plan;
use arrowsmith_source::OpenOptions;

use crate::batches::{Inline, Runner};
use crate::cut::{Buffers, CutOptions, Cutter};
use crate::earlier::Earlier;
use crate::faults::{Faults, InferredKeys, refusing_unknown_keys};
use crate::grow::{Grower, Growth};
use crate::in_flight::{Budget, Load};
use crate::order::{Assembler, OnReject};
use crate::pool::Pool;
use crate::rebatch::{BatchSize, Rebatch};
use crate::select::{Selector, Window};
use crate::work::{Strict, Worker};
use crate::{BatchIter, CHUNK_BYTES, Origin, Progress, Select};

/// The builder of a JSON pipeline: inputs, a plan, an engine.
pub struct JsonPipeline {
    plan: Arc<Plan>,
    engine: Chain,
    origins: Vec<Origin>,
    options: DecodeOptions,
    open: OpenOptions,
    framing: Option<Framing>,
    documents: Option<Documents>,
    counts_before: bool,
    strict: Strict,
    threads: usize,
    size: BatchSize,
    chunk_bytes: Option<usize>,
    on_reject: Option<OnReject>,
    hint: Option<String>,
    inferred_keys: Option<InferredKeys>,
    growth: Option<Growth>,
    select: Option<Arc<Select>>,
    skip: u64,
    limit: Option<u64>,
    cancel: Arc<AtomicBool>,
}

impl JsonPipeline {
    /// A pipeline without inputs, with every option at its default. The first engine of a chain
    /// that does not decline the plan decodes.
    pub fn builder(plan: Arc<Plan>, engine: impl Into<Chain>) -> Self {
        Self {
            plan,
            engine: engine.into(),
            origins: Vec::new(),
            options: DecodeOptions::default(),
            open: OpenOptions::default(),
            framing: None,
            documents: None,
            counts_before: true,
            strict: Strict::default(),
            threads: 0,
            size: BatchSize::default(),
            chunk_bytes: None,
            on_reject: None,
            hint: None,
            inferred_keys: None,
            growth: None,
            select: None,
            skip: 0,
            limit: None,
            cancel: Arc::default(),
        }
    }

    /// Adds inputs; they are read in the order in which they were added.
    pub fn inputs<I>(mut self, inputs: I) -> Self
    where
        I: IntoIterator,
        I::Item: Into<Origin>,
    {
        self.origins.extend(inputs.into_iter().map(Into::into));
        self
    }

    /// How inputs are opened. What they read is counted in its `bytes_read`.
    pub fn open_options(mut self, open: OpenOptions) -> Self {
        self.open = open;
        self
    }

    /// How records are separated; `None`, the default, detects it from the first bytes of each
    /// input.
    pub fn framing(mut self, framing: Option<Framing>) -> Self {
        self.framing = framing;
        self
    }

    /// Where the records of each document of the inputs are, and which fields of the document they
    /// have, too; `None`, the default, if documents are records. The framing is that of the
    /// documents then: lines and concatenated documents are read alike. A record waits for fields
    /// that come after it, at most as many bytes as a record may have. An error in such a field is
    /// at the start of the record; texts of rejects contain the fields.
    pub fn documents(mut self, documents: Option<Documents>) -> Self {
        self.documents = documents;
        self
    }

    /// Whether, where only a byte range is opened, record and line of an error are those of the
    /// whole input (the default). What comes before the range is then read once, if there is an
    /// error. Otherwise they are counted from the first line of the range; offsets never are.
    pub fn count_before(mut self, count: bool) -> Self {
        self.counts_before = count;
        self
    }

    /// Makes a carriage return that no line feed follows an error, which ends the reading, wherever
    /// in a line it is. JSON takes it for white space, others for the end of a line.
    pub fn refuse_lone_cr(mut self, refuse: bool) -> Self {
        self.strict.refuse_lone_cr = refuse;
        self
    }

    /// Makes the text of a reject its whole line, with the white space around the record.
    pub fn reject_lines(mut self, whole: bool) -> Self {
        self.strict.reject_lines = whole;
        self
    }

    /// Options of the decoders.
    pub fn options(mut self, options: DecodeOptions) -> Self {
        self.options = options;
        self
    }

    /// Decoder threads; 0, the default, is one for each core, and 1 for inputs of no more than one
    /// chunk. With 1 the caller's own thread decodes.
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// Exact rows of every batch but the last one. By default a batch is the result of one chunk.
    pub fn batch_rows(mut self, rows: Option<usize>) -> Self {
        self.size.rows = rows;
        self
    }

    /// Approximate Arrow bytes of a batch. Together with `batch_rows` the smaller limit applies.
    pub fn batch_bytes(mut self, bytes: Option<usize>) -> Self {
        self.size.bytes = bytes;
        self
    }

    /// Called with the records that were skipped or changed, in the order of the input, on the
    /// thread that reads the batches. Without it they are only counted.
    pub fn on_reject(mut self, take: impl FnMut(Reject) + Send + 'static) -> Self {
        self.on_reject = Some(Box::new(take));
        self
    }

    /// A hint for errors about values that do not match the schema.
    pub fn schema_hint(mut self, hint: Option<String>) -> Self {
        self.hint = hint;
        self
    }

    /// Makes keys that the schema lacks, which was inferred, an error, so that nothing is lost.
    pub fn inferred_keys(mut self, keys: Option<InferredKeys>) -> Self {
        self.inferred_keys = keys;
        self
    }

    /// Widens the schema where records do not match it. The plan is that of `growth`. Batches then
    /// have the schema with which they were decoded, and no given size; see [`Growth`].
    pub fn growing(mut self, growth: Growth) -> Self {
        self.plan = growth.plan();
        self.growth = Some(growth);
        self
    }

    /// Which rows and columns leave; the plan decodes what it needs, see
    /// [`Select::decoded_columns`]. Its files are the inputs.
    pub fn select(mut self, select: Option<Arc<Select>>) -> Self {
        self.select = select;
        self
    }

    /// Skips this many rows of those that would leave.
    pub fn skip(mut self, rows: u64) -> Self {
        self.skip = rows;
        self
    }

    /// Ends after this many rows. What follows the last of them is not looked at.
    pub fn limit(mut self, rows: Option<u64>) -> Self {
        self.limit = rows;
        self
    }

    pub(crate) fn selection(&self) -> Option<&Arc<Select>> {
        self.select.as_ref()
    }

    /// The inputs, the taker of rejects and the sizes of batches, which are removed.
    pub(crate) fn take_parts(&mut self) -> (Vec<Origin>, Option<OnReject>, BatchSize) {
        let size = self.size;
        (std::mem::take(&mut self.origins), self.on_reject.take(), size)
    }

    /// Another pipeline with the same options, for these inputs and without a taker of rejects.
    pub(crate) fn again(&self, origins: Vec<Origin>) -> Self {
        Self {
            plan: Arc::clone(&self.plan),
            engine: self.engine.clone(),
            origins,
            options: self.options.clone(),
            open: self.open.clone(),
            on_reject: None,
            hint: self.hint.clone(),
            documents: self.documents.clone(),
            growth: self.growth.clone(),
            select: self.select.clone(),
            cancel: Arc::clone(&self.cancel),
            ..*self
        }
    }

    /// Counts what is read.
    pub(crate) fn bytes_read(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.open.bytes_read)
    }

    pub(crate) fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// Stops everything with [`Error::Cancelled`] once it is true.
    pub fn cancel(mut self, cancel: Arc<AtomicBool>) -> Self {
        self.cancel = cancel;
        self
    }

    /// Bytes of text in one chunk: for tests and tuning; the default is that of the engine, or
    /// [`CHUNK_BYTES`].
    #[doc(hidden)]
    pub fn chunk_bytes(mut self, bytes: usize) -> Self {
        self.chunk_bytes = Some(bytes);
        self
    }

    /// About how many bytes will be read.
    fn bytes_total(&self) -> Option<u64> {
        let total = self.origins.iter().map(Origin::stored_bytes).sum::<Option<u64>>()?;
        let Some(range) = self.open.range else { return Some(total) };
        Some(total.min(range.end).saturating_sub(range.start))
    }

    /// What comes before the range that is read.
    fn earlier(&self) -> Option<Earlier> {
        let range = self.open.range.filter(|_| self.counts_before)?;
        Earlier::new(self.origins.first()?.input()?, &self.open, range)
    }

    /// Starts decoding.
    ///
    /// # Errors
    /// Errors of the engine about the plan and the options; [`Error::Config`] for sizes of 0.
    /// Inputs are opened later, so their errors are returned with the batches.
    pub fn start(self) -> Result<BatchIter> {
        for (name, size) in [
            ("batch_rows", self.size.rows),
            ("batch_bytes", self.size.bytes),
            ("chunk_bytes", self.chunk_bytes),
        ] {
            if size == Some(0) {
                return Err(Error::Config(format!("{name} must be at least 1")));
            }
        }
        let piece_bytes = self.chunk_bytes.or(self.engine.chunk_bytes()).unwrap_or(CHUNK_BYTES);
        let one_piece = self.bytes_total().is_some_and(|bytes| bytes <= piece_bytes as u64);
        let threads = match self.threads {
            // To start threads takes longer than they would save.
            0 if one_piece => 1,
            0 => thread::available_parallelism().map_or(1, usize::from),
            given => given,
        };
        let progress = Arc::new(Progress {
            bytes: Arc::clone(&self.open.bytes_read),
            bytes_total: self.bytes_total(),
            rows: AtomicU64::new(0),
            rejects: AtomicU64::new(0),
            filtered: AtomicU64::new(0),
            left_out: AtomicU64::new(0),
            left_out_key: OnceLock::new(),
        });
        let earlier = self.earlier();
        let buffers = Buffers::default();
        let cut_options = CutOptions {
            open: self.open,
            framing: self.framing,
            documents: self.documents,
            allow_nan: self.options.allow_nan,
            limits: self.options.limits.clone(),
            cancel: Arc::clone(&self.cancel),
        };
        let cutter = Cutter::new(self.origins, cut_options, buffers.clone());
        let budget =
            Budget { piece_bytes, memory_bytes: self.options.limits.memory_bytes_max, threads };
        let (batch_bytes, row_bytes) = (budget.batch_bytes(), self.plan.row_bytes());
        let decoded = Arc::clone(self.plan.schema());
        let grows = self.growth.is_some();
        let schema = match &self.select {
            None => Arc::clone(&decoded),
            // A condition on columns that are not known yet may suit the schema later.
            Some(select) if grows => select.schema(&decoded)?,
            Some(select) => Arc::clone(select.bind(&decoded)?.schema()),
        };
        let select = match (&self.select, self.limit) {
            (None, Some(_)) => Some(Arc::default()),
            (select, _) => select.clone(),
        };
        let counts_records = select.as_ref().is_some_and(|select| select.counts_records());
        let selector = || {
            let select = select.as_ref().map(Arc::clone);
            select.map(|select| Selector::new(select, self.limit.is_some(), grows))
        };
        let mut workers = Vec::new();
        for _ in 0..threads {
            workers.push(match &self.growth {
                None => {
                    let (engine, given) = (self.engine.clone(), self.options.clone());
                    let options = match self.inferred_keys {
                        None => given.clone(),
                        Some(_) => refusing_unknown_keys(&given),
                    };
                    let decoder = engine.decoder(&self.plan, &options)?;
                    let of = |keys| Faults { engine, options: given, keys };
                    let faults = self.inferred_keys.map(of);
                    Worker::new(decoder, batch_bytes, row_bytes)
                        .explaining(faults, &self.plan)
                        .selecting(selector())
                }
                Some(growth) => {
                    let grower = Grower::new(growth.clone(), &self.engine, &self.options);
                    let (decoder, row_bytes) = grower.decoder()?;
                    let worker = Worker::new(decoder, batch_bytes, row_bytes);
                    worker.growing(grower).selecting(selector())
                }
            });
        }
        let strict = self.strict;
        let mut workers: Vec<_> = workers.into_iter().map(|worker| worker.being(strict)).collect();
        let size = if grows { BatchSize::default() } else { self.size };
        let rebatch = Rebatch::new(Arc::clone(&schema), size);
        // The sample is not the cause of a mismatch if the schema grows.
        let hint = if grows { None } else { self.hint };
        let assembler = Assembler::new(rebatch, self.on_reject, hint, Arc::clone(&progress))
            .with_late_keys_fail(self.inferred_keys == Some(InferredKeys::Sample))
            .after(earlier)
            .within(Window { skip: self.skip, left: self.limit, counts_records });
        let runner = if threads == 1 {
            let worker = workers.remove(0);
            let load = Load::default();
            Runner::Inline(Box::new(Inline { cutter, worker, buffers, budget, load, part: None }))
        } else {
            let workers = workers.into_iter().map(Worker::without_oversize).collect();
            Runner::Pool(Pool::start(workers, cutter, budget, buffers, self.cancel)?)
        };
        Ok(BatchIter::new(schema, decoded, runner, assembler, progress))
    }
}
