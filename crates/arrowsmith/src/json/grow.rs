// SPDX-License-Identifier: Apache-2.0
//! Reading all of the inputs with a schema that grows: without a given schema nothing is lost,
//! wherever in the inputs a key or a type first appears.

use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::SchemaRef;
use arrowsmith_core::{Error, Result};
use arrowsmith_pipeline::{Collect, Grow, Progress, Step};
use arrowsmith_source::DataFile;

use super::{JsonReader, ReaderBuilder};

/// Reads JSON that is written somewhere as it comes.
///
/// Batches have the schema that is known at the start. When it grows, a consumer that can widen
/// what it has written goes on by [`GrowingReader::widen`]; else what was written has to
/// be written again, and [`GrowingReader::restart`] begins with everything that was learned.
pub struct GrowingReader(Reading);

enum Reading {
    /// The schema is known: it was given, or inferred from everything.
    Fixed(Box<JsonReader>),
    /// It was inferred from a part.
    Growing(Box<Grow>),
}

/// A reader whose schema stays.
impl From<JsonReader> for GrowingReader {
    fn from(reader: JsonReader) -> Self {
        Self(Reading::Fixed(Box::new(reader)))
    }
}

impl GrowingReader {
    /// The schema of the batches until the next [`Step::Grown`].
    pub fn schema(&self) -> SchemaRef {
        match &self.0 {
            Reading::Fixed(reader) => reader.schema(),
            Reading::Growing(grow) => Arc::clone(grow.schema()),
        }
    }

    /// The next batch, or that the schema has grown.
    ///
    /// # Errors
    /// As [`JsonReader::next_batch`].
    pub fn step(&mut self) -> Result<Step> {
        match &mut self.0 {
            Reading::Fixed(reader) => Ok(reader.next_batch()?.map_or(Step::End, Step::Batch)),
            Reading::Growing(grow) => grow.step(),
        }
    }

    /// After [`Step::Grown`]: goes on with the wider schema, if in the batches so far the columns
    /// that are new, or have another type, are null, and `adopt` takes it. Returns whether it does:
    /// the next batches have that schema then, and else only [`GrowingReader::restart`] is left.
    ///
    /// # Errors
    /// Those of `adopt`; only if Arrow rejects the arrays.
    ///
    /// ```
    /// use arrowsmith::json::{ReaderBuilder, Step};
    /// use arrowsmith::{Error, Input};
    ///
    /// let mut text = "{\"a\":1}\n".repeat(20_000);
    /// text.push_str("{\"b\":\"late\"}\n");
    /// let mut reader = ReaderBuilder::new().growing([Input::bytes(text.into_bytes())])?;
    /// let (mut rows, mut columns) = (0, reader.schema().fields().len());
    /// loop {
    ///     match reader.step()? {
    ///         Step::Batch(batch) => rows += batch.num_rows(),
    ///         Step::Grown => {
    ///             let adopted = reader.widen(|schema| {
    ///                 columns = schema.fields().len();
    ///                 Ok::<_, Error>(true)
    ///             })?;
    ///             assert!(adopted);
    ///         }
    ///         Step::End => break,
    ///     }
    /// }
    /// assert_eq!((rows, columns), (20_001, 2));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn widen<E: From<Error>>(
        &mut self,
        adopt: impl FnOnce(&SchemaRef) -> std::result::Result<bool, E>,
    ) -> std::result::Result<bool, E> {
        match &mut self.0 {
            Reading::Fixed(_) => Ok(false),
            Reading::Growing(grow) => grow.widen(adopt),
        }
    }

    /// After [`Step::Grown`]: looks at the rest of the inputs, and starts again.
    ///
    /// # Errors
    /// As [`GrowingReader::step`], and the first value that does not match where an input cannot be
    /// read twice.
    pub fn restart(&mut self) -> Result<()> {
        match &mut self.0 {
            Reading::Fixed(_) => Ok(()),
            Reading::Growing(grow) => grow.restart(),
        }
    }

    /// How far the reader is since the last start.
    pub fn progress(&self) -> &Arc<Progress> {
        match &self.0 {
            Reading::Fixed(reader) => reader.progress(),
            Reading::Growing(grow) => grow.progress(),
        }
    }
}

/// Reads JSON into memory, a little at a time.
pub struct Collector(Collecting);

enum Collecting {
    Fixed(Box<JsonReader>, Vec<RecordBatch>),
    Growing(Box<Collect>),
}

impl Collector {
    /// Reads a little more; returns whether there is still more to read.
    ///
    /// # Errors
    /// As [`JsonReader::next_batch`], and the first value that does not match where an input would
    /// have to be read twice and cannot be.
    pub fn advance(&mut self) -> Result<bool> {
        match &mut self.0 {
            Collecting::Fixed(reader, batches) => {
                let batch = reader.next_batch()?;
                let more = batch.is_some();
                batches.extend(batch);
                Ok(more)
            }
            Collecting::Growing(collect) => collect.advance(),
        }
    }

    /// How far the reader is.
    pub fn progress(&self) -> &Arc<Progress> {
        match &self.0 {
            Collecting::Fixed(reader, _) => reader.progress(),
            Collecting::Growing(collect) => collect.progress(),
        }
    }

    /// The schema, and all batches once [`Collector::advance`] has returned `false`.
    pub fn finish(self) -> (SchemaRef, Vec<RecordBatch>) {
        match self.0 {
            Collecting::Fixed(reader, batches) => (reader.schema(), batches),
            Collecting::Growing(collect) => collect.finish(),
        }
    }
}

impl ReaderBuilder {
    /// Reads all of `inputs` into memory.
    ///
    /// Without a given schema the result is that of inferring from every record and decoding with
    /// that schema, in one pass where possible.
    ///
    /// # Errors
    /// As [`ReaderBuilder::open`] and [`Collector::advance`].
    ///
    /// ```
    /// use arrowsmith::{Input, json};
    ///
    /// let mut text = "{\"a\":1}\n".repeat(20_000);
    /// text.push_str("{\"a\":2.5,\"b\":\"late\"}\n");
    /// let (schema, batches) =
    ///     json::ReaderBuilder::new().read_all([Input::bytes(text.into_bytes())])?;
    /// assert_eq!(schema.fields().len(), 2);
    /// assert_eq!(batches.iter().map(|batch| batch.num_rows()).sum::<usize>(), 20_001);
    /// # Ok::<(), arrowsmith::Error>(())
    /// ```
    pub fn read_all(
        self,
        inputs: impl IntoIterator<Item: Into<DataFile>>,
    ) -> Result<(SchemaRef, Vec<RecordBatch>)> {
        let mut collector = self.collect(inputs)?;
        while collector.advance()? {}
        Ok(collector.finish())
    }

    /// As [`ReaderBuilder::read_all`], a little at a time.
    ///
    /// # Errors
    /// As [`ReaderBuilder::open`].
    pub fn collect(self, inputs: impl IntoIterator<Item: Into<DataFile>>) -> Result<Collector> {
        Ok(Collector(match self.growing(inputs)?.0 {
            Reading::Fixed(reader) => Collecting::Fixed(reader, Vec::new()),
            Reading::Growing(grow) => Collecting::Growing(Box::new(Collect::new(*grow))),
        }))
    }

    /// Opens `inputs` for a consumer that can begin again when the schema grows.
    ///
    /// # Errors
    /// As [`ReaderBuilder::open`].
    pub fn growing(
        mut self,
        inputs: impl IntoIterator<Item: Into<DataFile>>,
    ) -> Result<GrowingReader> {
        let mut planned = self.plan(inputs, true)?;
        let Some(growth) = planned.growth.take() else {
            return Ok(self.start(planned)?.into());
        };
        let (_, pipeline) = self.pipeline(planned);
        Ok(GrowingReader(Reading::Growing(Box::new(Grow::new(pipeline, growth)?))))
    }
}
