// SPDX-License-Identifier: Apache-2.0
//! How a [`JsonReader`] is made: schema or inference, then plan, then pipeline.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use arrow_schema::SchemaRef;
use arrowsmith_core::{DecodeOptions, Framing, OnError, Reject, Result};
use arrowsmith_engine::{Chain, Decision};
use arrowsmith_pipeline::{JsonPipeline, Origin, Sample, SampleOptions, sample};
use arrowsmith_plan::Plan;
use arrowsmith_source::{Compression, Input, OpenOptions};

use crate::json::JsonReader;

/// Infers the schema of `inputs` from their first records.
///
/// # Errors
/// What reading the inputs gives, and bad JSON in the sample.
///
/// ```
/// use arrowsmith::{Input, json};
///
/// let input = Input::bytes(b"{\"a\":1}\n{\"a\":2.5}\n".to_vec());
/// let found = json::infer_schema([input], &json::SampleOptions::default())?;
/// assert_eq!(found.schema.field(0).data_type(), &arrowsmith::arrow_schema::DataType::Float64);
/// assert!(found.complete);
/// # Ok::<(), arrowsmith::Error>(())
/// ```
pub fn infer_schema(
    inputs: impl IntoIterator<Item = Input>,
    options: &SampleOptions,
) -> Result<Sample> {
    let mut found = sample(inputs.into_iter().collect(), options)?;
    match found.fault.take() {
        Some(fault) => Err(fault),
        None => Ok(found),
    }
}

/// Options of a reader, all with defaults: the schema is inferred, the engine is `cpu`, every core
/// decodes, and the first record that does not fit is an error.
#[derive(Default)]
pub struct ReaderBuilder {
    schema: Option<SchemaRef>,
    infer: SampleOptions,
    columns: Option<Vec<String>>,
    engine: Option<Chain>,
    options: DecodeOptions,
    open: OpenOptions,
    framing: Option<Framing>,
    threads: usize,
    batch_rows: Option<usize>,
    batch_bytes: Option<usize>,
    chunk_bytes: Option<usize>,
    on_reject: Option<Box<dyn FnMut(Reject) + Send>>,
    cancel: Arc<AtomicBool>,
}

impl ReaderBuilder {
    /// Every option at its default.
    pub fn new() -> Self {
        Self::default()
    }

    /// The schema; without one it is inferred.
    pub fn schema(mut self, schema: SchemaRef) -> Self {
        self.schema = Some(schema);
        self
    }

    /// How the schema is inferred when none is given. Framing, limits, compression and cancellation
    /// are those of the reader; what its options take or leave out does not stop inference.
    pub fn infer(mut self, options: SampleOptions) -> Self {
        self.infer = options;
        self
    }

    /// Only these columns: dotted paths such as `user.name`, in the order of the schema.
    pub fn columns<S: Into<String>>(mut self, columns: impl IntoIterator<Item = S>) -> Self {
        self.columns = Some(columns.into_iter().map(Into::into).collect());
        self
    }

    /// The engine; see [`engine()`](crate::engine()).
    pub fn engine(mut self, engine: impl Into<Chain>) -> Self {
        self.engine = Some(engine.into());
        self
    }

    /// What becomes of records that do not fit, and the limits.
    pub fn options(mut self, options: DecodeOptions) -> Self {
        self.options = options;
        self
    }

    /// How records follow one another; `None`, the default, looks at the first bytes of each input.
    pub fn framing(mut self, framing: Option<Framing>) -> Self {
        self.framing = framing;
        self
    }

    /// The compression, where the first bytes shall not decide.
    pub fn compression(mut self, compression: Compression) -> Self {
        self.open.compression = compression;
        self
    }

    /// Whether plain files are mapped (the default) or read as streams: safer for files that others
    /// truncate meanwhile.
    pub fn map_files(mut self, map_files: bool) -> Self {
        self.open.map_files = map_files;
        self
    }

    /// Decoder threads; 0, the default, is one for each core. With 1 the caller's own thread
    /// decodes.
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// Rows of every batch but the last one, exactly. Without it a batch is what came out of one
    /// chunk.
    pub fn batch_rows(mut self, rows: Option<usize>) -> Self {
        self.batch_rows = rows;
        self
    }

    /// Arrow bytes of a batch, about. Together with `batch_rows` the smaller one counts.
    pub fn batch_bytes(mut self, bytes: Option<usize>) -> Self {
        self.batch_bytes = bytes;
        self
    }

    /// Takes the records that were left out or changed, in the order of the input, on the thread
    /// that reads the batches. Without it they are only counted, in [`JsonReader::progress`].
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

    /// Opens `inputs`, which are read one after another. Inference, where it is needed, happens
    /// here.
    ///
    /// # Errors
    /// Schema, column and option errors, and what inference meets. Without inference inputs are
    /// opened when it is their turn, so that their errors come with the batches.
    pub fn open(mut self, inputs: impl IntoIterator<Item = Input>) -> Result<JsonReader> {
        let Planned { plan, engine, origins, hint } = self.plan(inputs)?;
        self.start(plan, engine, origins, hint)
    }

    /// What [`ReaderBuilder::open`] would do, without decoding anything or setting it up.
    ///
    /// # Errors
    /// As [`ReaderBuilder::open`].
    pub fn explain(mut self, inputs: impl IntoIterator<Item = Input>) -> Result<Explanation> {
        let Planned { plan, engine, .. } = self.plan(inputs)?;
        let decision = engine.decide_json(&plan, &self.options)?;
        Ok(Explanation { plan, decision })
    }

    /// Schema or inference, then the plan.
    fn plan(&mut self, inputs: impl IntoIterator<Item = Input>) -> Result<Planned> {
        let inputs: Vec<Input> = inputs.into_iter().collect();
        let mut hint = None;
        let (schema, origins) = match self.schema.take() {
            Some(schema) => (schema, inputs.into_iter().map(Origin::from).collect()),
            None => {
                let found = sample(inputs, &self.sample_options())?;
                // A record that is no JSON is left to the decoder, which says more about it.
                if !found.complete && found.fault.is_none() {
                    hint = Some(inferred_hint(found.records));
                }
                (found.schema, found.origins)
            }
        };
        let plan = Arc::new(match &self.columns {
            Some(columns) => Plan::with_columns(&schema, columns)?,
            None => Plan::new(schema)?,
        });
        let engine = match self.engine.take() {
            Some(engine) => engine,
            None => crate::engines::default()?,
        };
        Ok(Planned { plan, engine, origins, hint })
    }

    fn start(
        self,
        plan: Arc<Plan>,
        engine: Chain,
        origins: Vec<Origin>,
        hint: Option<String>,
    ) -> Result<JsonReader> {
        let mut pipeline = JsonPipeline::builder(Arc::clone(&plan), engine)
            .inputs(origins)
            .options(self.options)
            .open_options(self.open)
            .framing(self.framing)
            .threads(self.threads)
            .batch_rows(self.batch_rows)
            .batch_bytes(self.batch_bytes)
            .schema_hint(hint)
            .cancel(self.cancel);
        if let Some(on_reject) = self.on_reject {
            pipeline = pipeline.on_reject(on_reject);
        }
        if let Some(bytes) = self.chunk_bytes {
            pipeline = pipeline.chunk_bytes(bytes);
        }
        Ok(JsonReader::new(plan, pipeline.start()?))
    }

    /// The sampling that goes with this reader.
    fn sample_options(&self) -> SampleOptions {
        let mut infer = self.infer.infer.clone();
        // What decoding will take or leave out must not stop inference.
        infer.allow_nan |= self.options.allow_nan;
        infer.skip_malformed |= self.options.on_error != OnError::Fail;
        SampleOptions {
            infer,
            framing: self.framing,
            open: self.open.clone(),
            limits: self.options.limits.clone(),
            cancel: Arc::clone(&self.cancel),
            ..self.infer.clone()
        }
    }
}

/// What a reader needs beyond its options.
struct Planned {
    plan: Arc<Plan>,
    engine: Chain,
    origins: Vec<Origin>,
    hint: Option<String>,
}

/// What a reader would do.
#[derive(Debug, Clone)]
pub struct Explanation {
    /// The plan.
    pub plan: Arc<Plan>,
    /// Who decodes by it, and who declined it before.
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
        "the schema was inferred from the first {records} records; give --schema or --infer-records all"
    )
}
