// SPDX-License-Identifier: Apache-2.0
//! The builder of a [`JsonReader`]: schema or inference, then plan, then pipeline.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use arrow_schema::SchemaRef;
use arrowsmith_core::{
    DecodeOptions, Error, Framing, Limits, OnError, Reject, Result, UnknownKeys,
};
use arrowsmith_engine::{Chain, Decision};
use arrowsmith_pipeline::{
    Documents, Grow, Growth, InferredKeys, JsonPipeline, Origin, ParentField, PlanSoFar, Sample,
    SampleOptions, Select, SelectOptions, sample,
};
use arrowsmith_plan::{Coercion, Plan, with_coercion, with_types};
use arrowsmith_source::{ByteRange, DataFile, Input, OpenOptions};

use crate::engines;
use crate::json::JsonReader;
use crate::options::{Format, InferRecords, JsonReadOptions, LateKeys};

/// Infers the schema of `inputs` from their first records. The options are those of a reader; their
/// schema is ignored.
///
/// # Errors
/// Errors of reading the inputs, malformed JSON in the sample, and invalid types of columns.
///
/// ```
/// use arrowsmith::{Input, JsonReadOptions, json};
///
/// let input = Input::bytes(b"{\"a\":1}\n{\"a\":2.5}\n".to_vec());
/// let found = json::infer_schema([input], &JsonReadOptions::default())?;
/// assert_eq!(found.schema.field(0).data_type(), &arrowsmith::arrow_schema::DataType::Float64);
/// assert!(found.complete);
/// # Ok::<(), arrowsmith::Error>(())
/// ```
pub fn infer_schema(
    inputs: impl IntoIterator<Item: Into<DataFile>>,
    options: &JsonReadOptions,
) -> Result<Sample> {
    ReaderBuilder::new().options(options.clone()).infer_schema(inputs)
}

/// The builder of a reader. Every option has a default: the schema is inferred, the engine is
/// `cpu`, every core decodes, and the first record that does not match is an error.
#[derive(Default)]
pub struct ReaderBuilder {
    options: JsonReadOptions,
    engine: Option<Chain>,
    open: OpenOptions,
    chunk_bytes: Option<usize>,
    range_relative: bool,
    refuse_lone_cr: bool,
    reject_lines: bool,
    on_reject: Option<Box<dyn FnMut(Reject) + Send>>,
    cancel: Arc<AtomicBool>,
}

impl ReaderBuilder {
    /// Every option at its default.
    pub fn new() -> Self {
        Self::default()
    }

    /// The options, all of them; [`ReaderBuilder::schema`] comes after it.
    pub fn options(mut self, options: JsonReadOptions) -> Self {
        self.options = options;
        self
    }

    /// The option `schema`.
    pub fn schema(mut self, schema: SchemaRef) -> Self {
        self.options.schema = Some(schema);
        self
    }

    /// An engine that is already open, instead of the one that the options name.
    pub fn engine(mut self, engine: impl Into<Chain>) -> Self {
        self.engine = Some(engine.into());
        self
    }

    /// Whether plain files are mapped (the default) or read as streams, which is safer for files
    /// that are truncated while they are read.
    pub fn map_files(mut self, map_files: bool) -> Self {
        self.open.map_files = map_files;
        self
    }

    /// Reads only lines that begin after byte `start`, or with 0 from the first one, and not after
    /// byte `end`: the options `range_start` and `range_end`.
    pub fn byte_range(mut self, start: u64, end: u64) -> Self {
        self.options.range_start = start;
        self.options.range_end = Some(end);
        self
    }

    /// Whether record and line of an error in a byte range are those of the whole file (the
    /// default): the lines before the range are then counted once, if there is an error. Otherwise
    /// they are counted from the first line of the range; offsets are always those of the file.
    pub fn count_before(mut self, count: bool) -> Self {
        self.range_relative = !count;
        self
    }

    /// Makes a carriage return without a line feed an error, which ends the reading. JSON takes it
    /// for white space, programs that share the file may take it for the end of a line.
    pub fn refuse_lone_cr(mut self, refuse: bool) -> Self {
        self.refuse_lone_cr = refuse;
        self
    }

    /// Makes the text of a reject its whole line, with the white space around the record.
    pub fn reject_lines(mut self, whole: bool) -> Self {
        self.reject_lines = whole;
        self
    }

    /// Called with the records that were skipped or changed, in the order of the input, on the
    /// thread that reads the batches. Without it they are only counted, in
    /// [`JsonReader::progress`].
    pub fn on_reject(mut self, take: impl FnMut(Reject) + Send + 'static) -> Self {
        self.on_reject = Some(Box::new(take));
        self
    }

    /// Stops everything with [`Error::Cancelled`](crate::Error::Cancelled) once it is true.
    pub fn cancel(mut self, cancel: Arc<AtomicBool>) -> Self {
        self.cancel = cancel;
        self
    }

    /// Text in one chunk, in bytes: for tests and tuning.
    #[doc(hidden)]
    pub fn chunk_bytes(mut self, bytes: usize) -> Self {
        self.chunk_bytes = Some(bytes);
        self
    }

    /// Opens `inputs`, which are read in order: [`Input`]s, or [`DataFile`]s of folders with
    /// partitions, whose values become columns. Inference, if needed, happens here.
    ///
    /// # Errors
    /// Schema, column and option errors, and errors of inference. Without inference inputs are
    /// opened in turn, so their errors are returned with the batches.
    pub fn open(mut self, inputs: impl IntoIterator<Item: Into<DataFile>>) -> Result<JsonReader> {
        let planned = self.plan(inputs, false)?;
        self.start(planned)
    }

    /// What [`ReaderBuilder::open`] would do, without decoding anything or setting it up.
    ///
    /// # Errors
    /// As [`ReaderBuilder::open`].
    pub fn explain(
        mut self,
        inputs: impl IntoIterator<Item: Into<DataFile>>,
    ) -> Result<Explanation> {
        let Planned { plan, engine, .. } = self.plan(inputs, false)?;
        let decision = engine.decide_json(&plan, &self.options.decode())?;
        Ok(Explanation { plan, decision })
    }

    /// Infers the schema from the first records, and decodes nothing.
    ///
    /// # Errors
    /// As [`infer_schema`].
    pub fn infer_schema(self, inputs: impl IntoIterator<Item: Into<DataFile>>) -> Result<Sample> {
        let inputs: Vec<Input> = inputs.into_iter().map(|file| file.into().input).collect();
        self.options.check_input(inputs.len())?;
        let again = inputs.iter().map(Input::again).collect::<Option<Vec<_>>>();
        if self.options.infer_records == InferRecords::All
            && let Some(again) = again
            && let Some(mut found) = self.learn(again)?
        {
            found.schema = self.options.typed(found.schema)?;
            return Ok(found);
        }
        let mut found = self.sample(inputs, false)?;
        if let Some(fault) = found.fault.take() {
            return Err(fault);
        }
        found.schema = self.options.typed(found.schema)?;
        Ok(found)
    }

    /// The schema of all records, by decoding them with what is known: several times as fast as
    /// looking at each value. `None` where the inputs are short, or are to be looked at for what is
    /// wrong with them.
    fn learn(&self, inputs: Vec<Input>) -> Result<Option<Sample>> {
        let options = JsonReadOptions {
            infer_records: InferRecords::First(10_000),
            format: self.options.format,
            records: self.options.records.clone(),
            parent_fields: self.options.parent_fields.clone(),
            range_start: self.options.range_start,
            range_end: self.options.range_end,
            compression: self.options.compression,
            coerce: self.options.coerce.clone(),
            record_bytes_max: self.options.record_bytes_max,
            fields_max: self.options.fields_max,
            row_bytes_max: self.options.row_bytes_max,
            batch_bytes_max: self.options.batch_bytes_max,
            depth_max: self.options.depth_max,
            memory_bytes_max: self.options.memory_bytes_max,
            allow_nan: self.options.allow_nan,
            object_keys_max: self.options.object_keys_max,
            infer_timestamps: self.options.infer_timestamps,
            on_error: self.options.on_error,
            threads: self.options.threads,
            ..JsonReadOptions::default()
        };
        let open = OpenOptions { bytes_read: Arc::default(), ..self.open.clone() };
        let cancel = Arc::clone(&self.cancel);
        let mut reader = Self { options, open, cancel, ..Self::default() };
        reader.chunk_bytes = self.chunk_bytes;
        let learned = reader.plan(inputs, true).and_then(|mut planned| {
            let Some(growth) = planned.growth.take() else { return Ok(None) };
            let (_, pipeline) = reader.pipeline(planned);
            Grow::new(pipeline, growth)?.learn().map(Some)
        });
        match learned {
            Err(Error::Cancelled) => Err(Error::Cancelled),
            other => Ok(other.unwrap_or_default()),
        }
    }

    fn sample(&self, inputs: Vec<Input>, grows: bool) -> Result<Sample> {
        let grows = grows && self.options.late_keys == LateKeys::Add;
        let mut sampling = SampleOptions {
            open: self.open_options(),
            cancel: Arc::clone(&self.cancel),
            spool_bytes_max: if grows { self.options.spool_bytes_max } else { 0 },
            documents: self.options.documents()?,
            ..self.options.sampling()
        };
        let JsonReadOptions { filter, skip, limit, .. } = &self.options;
        if let (None, Some(limit), Some(records)) = (filter, limit, sampling.records_max) {
            // The records that are to be read, so that nothing among them is new.
            sampling.records_max = Some(records.max(skip.saturating_add(*limit)));
        }
        sample(inputs, &sampling)
    }

    /// Schema or inference, then the plan. `grows` is whether a schema that was inferred from a
    /// part of the inputs may grow.
    pub(super) fn plan(
        &mut self,
        inputs: impl IntoIterator<Item: Into<DataFile>>,
        grows: bool,
    ) -> Result<Planned> {
        let mut files: Vec<DataFile> = inputs.into_iter().map(Into::into).collect();
        self.options.check_input(files.len())?;
        let mut select = Select::new(&mut files, self.options.select())?;
        let inputs: Vec<Input> = files.into_iter().map(|file| file.input).collect();
        let documents = self.options.documents()?;
        let rescues = self.options.rescued_column.is_some();
        // What follows the last row does not change the schema.
        let grows = grows && self.options.limit.is_none() && !rescues;
        let engine = match self.engine.take() {
            Some(engine) => engine,
            None => self.options.open_engine()?,
        };
        let (mut hint, mut growth, mut inferred_keys) = (None, None, None);
        let skips = self.options.unknown_keys == UnknownKeys::Skip;
        let (schema, origins) = match self.options.schema.take() {
            Some(schema) => {
                let schema = self.options.given(schema)?;
                (schema, inputs.into_iter().map(Origin::from).collect())
            }
            None => {
                let found = self.sample(inputs, grows && skips)?;
                // A malformed record is left to the decoder, which reports the details.
                if !found.complete && found.fault.is_none() {
                    hint = Some(inferred_hint(found.records));
                }
                let partial = (!found.complete || found.fault.is_some()) && skips;
                let late_keys = self.options.late_keys;
                let projected = self.options.columns.is_some();
                if partial && grows && late_keys == LateKeys::Add {
                    if select.lacks(&*self.options.typed(Arc::clone(&found.schema))?) {
                        select = select.growing();
                    }
                    let (options, select) = (self.options.clone(), select.clone());
                    let planner = move |schema| {
                        let lacks = select.lacks(&*options.typed(Arc::clone(&schema))?);
                        let plan = options.plan_for(schema, &select)?;
                        Ok(PlanSoFar { plan, projected, lacks })
                    };
                    growth = Some(Growth::new(&found, Box::new(planner))?);
                } else if partial && late_keys.fail(rescues, projected) {
                    inferred_keys = Some(InferredKeys::Sample);
                } else if skips && !rescues && !projected && late_keys != LateKeys::Ignore {
                    inferred_keys = Some(InferredKeys::All);
                }
                (found.schema, found.origins)
            }
        };
        if rescues {
            select = select.known(&Plan::new(self.options.typed(Arc::clone(&schema))?)?);
        }
        let plan =
            self.options.plan_for(schema, &select).map_err(|error| match (error, &hint) {
                (Error::Schema { path, message }, Some(hint)) => {
                    Error::schema(path, format!("{message}: {hint}"))
                }
                (other, _) => other,
            })?;
        let plan = Arc::new(plan);
        let select = Some(Arc::new(select)).filter(|select| !select.is_everything());
        Ok(Planned { plan, engine, origins, documents, select, hint, growth, inferred_keys })
    }

    pub(super) fn start(self, planned: Planned) -> Result<JsonReader> {
        let (plan, pipeline) = self.pipeline(planned);
        Ok(JsonReader::new(plan, pipeline.start()?))
    }

    pub(super) fn pipeline(self, planned: Planned) -> (Arc<Plan>, JsonPipeline) {
        let Planned { plan, engine, origins, documents, select, hint, inferred_keys, .. } = planned;
        let options = &self.options;
        let mut pipeline = JsonPipeline::builder(Arc::clone(&plan), engine)
            .inputs(origins)
            .options(options.decode())
            .open_options(self.open_options())
            .framing(options.framing())
            .documents(documents)
            .count_before(!self.range_relative)
            .refuse_lone_cr(self.refuse_lone_cr)
            .reject_lines(self.reject_lines)
            .threads(options.threads.unwrap_or(0))
            .batch_rows(options.batch_rows)
            .batch_bytes(options.batch_bytes)
            .select(select)
            .skip(options.skip)
            .limit(options.limit)
            .schema_hint(hint)
            .inferred_keys(inferred_keys)
            .cancel(self.cancel);
        if let Some(on_reject) = self.on_reject {
            pipeline = pipeline.on_reject(on_reject);
        }
        if let Some(bytes) = self.chunk_bytes {
            pipeline = pipeline.chunk_bytes(bytes);
        }
        (plan, pipeline)
    }

    /// One counter of bytes for all, so that the bytes that inference reads of a stream are
    /// counted.
    fn open_options(&self) -> OpenOptions {
        let range = self.options.range();
        let (compression, threads) = (self.options.compression, self.options.threads.unwrap_or(0));
        OpenOptions { compression, threads, range, ..self.open.clone() }
    }
}

/// Where the options apply: their part in each step of reading.
impl JsonReadOptions {
    /// The options of the decoder.
    #[must_use]
    pub fn decode(&self) -> DecodeOptions {
        let mut decode = DecodeOptions::default();
        decode.on_error = self.on_error;
        decode.duplicate_keys = self.duplicate_keys;
        decode.unknown_keys = self.unknown_keys;
        decode.allow_nan = self.allow_nan;
        decode.dialect = self.dialect;
        decode.trust = self.trust;
        decode.limits = Limits::default()
            .with_depth_max(self.depth_max)
            .with_record_bytes_max(self.record_bytes_max)
            .with_memory_bytes_max(self.memory_bytes_max)
            .with_fields_max(self.fields_max)
            .with_row_bytes_max(self.row_bytes_max)
            .with_batch_bytes_max(self.batch_bytes_max);
        decode
    }

    /// The byte range that is read, unless it is everything.
    fn range(&self) -> Option<ByteRange> {
        let (start, end) = (self.range_start, self.range_end.unwrap_or(u64::MAX));
        (start > 0 || self.range_end.is_some()).then_some(ByteRange { start, end })
    }

    /// How records are separated, if it is known: in a byte range by line ends.
    fn framing(&self) -> Option<Framing> {
        self.format.framing().or(self.range().map(|_| Framing::Lines))
    }

    /// What is wanted of documents, unless they are records.
    fn documents(&self) -> Result<Option<Documents>> {
        let fields = self.parent_fields.iter().flatten().map(|field| field.parse());
        let fields = fields.collect::<Result<Vec<ParentField>>>()?;
        match &self.records {
            Some(path) => Documents::new(path.clone(), &fields).map(Some),
            None if fields.is_empty() => Ok(None),
            None => Err(Error::Config(
                "fields of a document (parent_fields) are those of records inside of it: their \
                 path is needed, too (records)"
                    .to_owned(),
            )),
        }
    }

    /// Refuses options that exclude each other, and a byte range of what has none.
    fn check_input(&self, inputs: usize) -> Result<()> {
        if self.rescued_column.is_some() && self.unknown_keys == UnknownKeys::Error {
            let why = "keys that the schema lacks cannot be kept (rescued_column) and be errors \
                       (unknown_keys)";
            return Err(Error::Config(why.to_owned()));
        }
        if self.records.is_some() && self.format == Format::Array {
            let why = "documents in an array (format) have no records below a path (records)";
            return Err(Error::Config(why.to_owned()));
        }
        let Some(range) = self.range() else { return Ok(()) };
        let why = if range.start > range.end {
            format!("it ends at {}, before its start, {}", range.end, range.start)
        } else if !matches!(self.format, Format::Auto | Format::Ndjson) {
            "it needs one record per line".to_owned()
        } else if self.records.is_some() {
            "records are below a path".to_owned()
        } else if inputs != 1 {
            format!("it is that of one input, and there are {inputs}")
        } else if self.record_column.is_some() {
            "the numbers of records (record_column) are not known in it".to_owned()
        } else {
            return Ok(());
        };
        Err(Error::Config(format!("the byte range cannot be read: {why}")))
    }

    /// The plan for a schema, given or inferred: with its `types`, for its `columns`.
    ///
    /// # Errors
    /// An invalid type or column, and a schema that JSON cannot be decoded into.
    pub fn plan(&self, schema: SchemaRef) -> Result<Plan> {
        let schema = self.typed(schema)?;
        match &self.columns {
            Some(columns) => Plan::with_columns(&schema, columns),
            None => Plan::new(schema),
        }
    }

    /// The same, for columns that `select` keeps or needs.
    fn plan_for(&self, schema: SchemaRef, select: &Select) -> Result<Plan> {
        let schema = self.typed(schema)?;
        match select.decoded_columns(&schema) {
            Some(columns) => Plan::with_columns(&schema, &columns),
            None => Plan::new(schema),
        }
    }

    /// Which rows and columns leave.
    fn select(&self) -> SelectOptions {
        let partitions = self.partitions.iter();
        SelectOptions {
            filter: self.filter.clone(),
            columns: self.columns.clone(),
            rescued_column: self.rescued_column.clone(),
            partition_types: partitions.flat_map(|all| all.fields().iter().cloned()).collect(),
            file_column: self.file_column.clone(),
            offset_column: self.offset_column.clone(),
            record_column: self.record_column.clone(),
            flatten: self.flatten,
        }
    }

    /// Opens the engine.
    ///
    /// # Errors
    /// As [`engines::open`].
    pub fn open_engine(&self) -> Result<Chain> {
        engines::named(&self.engine, self.gpu_memory_bytes_max)
    }

    /// A schema whose types are given, not inferred, with the option `coerce` for all columns.
    ///
    /// # Errors
    /// As [`JsonReadOptions::plan`].
    pub fn given(&self, schema: SchemaRef) -> Result<SchemaRef> {
        match &self.coerce {
            Some(all) => Ok(Arc::new(with_coercion(&schema, all)?)),
            None => Ok(schema),
        }
    }

    /// A schema, given or inferred, with the types of the option `types`.
    fn typed(&self, mut schema: SchemaRef) -> Result<SchemaRef> {
        if let Some(types) = &self.types {
            schema = Arc::new(with_types(&schema, &*self.given(Arc::clone(types))?)?);
        }
        // Inferred columns take what was inferred; only null words do not change their types.
        let nulls = self.coerce.as_ref().map(Coercion::only_nulls);
        match nulls.filter(|nulls| !nulls.is_empty()) {
            Some(nulls) => Ok(Arc::new(with_coercion(&schema, &nulls)?)),
            None => Ok(schema),
        }
    }

    /// The options of inference, but for those of documents, which may be invalid. It does not fail
    /// on what decoding accepts or skips.
    #[must_use]
    pub fn sampling(&self) -> SampleOptions {
        let mut sampling = SampleOptions {
            records_max: match self.infer_records {
                InferRecords::First(records) => Some(records),
                InferRecords::All => None,
            },
            framing: self.framing(),
            limits: self.decode().limits,
            ..SampleOptions::default()
        };
        sampling.open.compression = self.compression;
        sampling.open.range = self.range();
        sampling.infer.timestamps = self.infer_timestamps;
        sampling.infer.allow_nan = self.allow_nan;
        sampling.infer.object_keys_max = self.object_keys_max;
        sampling.infer.nulls = self.coerce.iter().flat_map(|all| all.nulls.clone()).collect();
        let types = self.types.iter().flat_map(|types| types.fields());
        sampling.infer.typed = types.map(|field| field.name().clone()).collect();
        sampling.infer.dialect = self.dialect;
        sampling.infer.skip_malformed = self.on_error != OnError::Fail;
        sampling
    }
}

/// What a reader needs beyond its options.
pub(super) struct Planned {
    plan: Arc<Plan>,
    engine: Chain,
    origins: Vec<Origin>,
    documents: Option<Documents>,
    select: Option<Arc<Select>>,
    hint: Option<String>,
    pub(super) growth: Option<Growth>,
    inferred_keys: Option<InferredKeys>,
}

/// An explanation of a reader.
#[derive(Debug, Clone)]
pub struct Explanation {
    /// The plan.
    pub plan: Arc<Plan>,
    /// Which engine decodes it, and which ones declined.
    pub decision: Decision,
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.plan)?;
        writeln!(f, "{}", self.decision)
    }
}

fn inferred_hint(records: u64) -> String {
    format!(
        "the schema was inferred from the first {records} records; --infer-records all looks at all \
         of them, --types sets types, --late-keys ignore or --rescued-column takes new keys"
    )
}
