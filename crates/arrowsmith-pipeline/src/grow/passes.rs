// SPDX-License-Identifier: Apache-2.0
//! Passes over the inputs until the schema does not grow any more.
//!
//! One is enough, mostly: the sample knew everything, or what was decoded before can be brought to
//! the final schema. Each other pass begins with all that was learned.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{FieldRef, Schema, SchemaRef};
use arrowsmith_core::{DataError, Error, ErrorKind, Position, Reject, Result};

use super::Growth;
use super::settle::{settle, settle_whole};
use crate::order::OnReject;
use crate::rebatch::{BatchSize, Rebatch};
use crate::{BatchIter, JsonPipeline, Origin, Progress, Sample};

/// Reads inputs with a schema that grows.
pub struct Grow {
    /// The pipeline of each pass, without its inputs.
    pipeline: JsonPipeline,
    growth: Growth,
    /// The inputs once more, if all can be read twice.
    again: Option<Vec<Origin>>,
    /// Takes rejects, each once.
    on_reject: Option<Arc<Mutex<OnReject>>>,
    rejects: Arc<AtomicU64>,
    bytes_read: Arc<AtomicU64>,
    batches: BatchIter,
    /// The schema of the batches, and that of the decoder.
    start: SchemaRef,
    decoded: SchemaRef,
    /// The columns that have had a value in what was returned.
    has_values: Vec<bool>,
    /// The batch at which the schema turned out to have grown.
    late: Option<RecordBatch>,
    size: BatchSize,
    rebatch: Rebatch,
    ended: bool,
    /// Whether it has grown before.
    has_grown: bool,
}

/// What comes next of a pass.
#[derive(Debug)]
pub enum Step {
    /// Rows, with [`Grow::schema`].
    Batch(RecordBatch),
    /// The schema has grown, so that what was returned before is out of date: [`Grow::widen`] or
    /// [`Grow::restart`].
    Grown,
    /// There is no more, and everything has [`Grow::schema`].
    End,
}

impl Grow {
    /// Starts the first pass.
    ///
    /// # Errors
    /// As [`JsonPipeline::start`].
    pub fn new(mut pipeline: JsonPipeline, growth: Growth) -> Result<Self> {
        let (origins, on_reject, size) = pipeline.take_parts();
        let again = origins.iter().map(Origin::again).collect();
        let on_reject = on_reject.map(|take| Arc::new(Mutex::new(take)));
        let rejects = Arc::<AtomicU64>::default();
        let first = pass(&pipeline, &growth, origins, on_reject.as_ref(), &rejects)?;
        let (start, decoded) = (Arc::clone(first.schema()), Arc::clone(first.decoded()));
        let rebatch = Rebatch::new(Arc::clone(&start), size);
        let has_values = vec![false; start.fields().len()];
        let bytes_read = pipeline.bytes_read();
        Ok(Self {
            pipeline,
            growth,
            again,
            on_reject,
            rejects,
            bytes_read,
            batches: first,
            start,
            decoded,
            has_values,
            late: None,
            size,
            rebatch,
            ended: false,
            has_grown: false,
        })
    }

    /// The schema of the batches.
    pub fn schema(&self) -> &SchemaRef {
        &self.start
    }

    /// How far this pass is.
    pub fn progress(&self) -> &Arc<Progress> {
        self.batches.progress()
    }

    /// The next rows of this pass.
    ///
    /// # Errors
    /// As the batches of [`JsonPipeline`].
    pub fn step(&mut self) -> Result<Step> {
        loop {
            if let Some(batch) = self.rebatch.pop(self.ended)? {
                for (had, column) in self.has_values.iter_mut().zip(batch.columns()) {
                    *had = *had || has_value(column);
                }
                return Ok(Step::Batch(batch));
            }
            if self.ended {
                return match self.is_final() {
                    true => self.selected().map(|()| Step::End),
                    false => Ok(Step::Grown),
                };
            }
            match self.batches.next().transpose()? {
                Some(batch) => match self.take_in(batch)? {
                    None => {}
                    Some(batch) => {
                        self.late = Some(batch);
                        return Ok(Step::Grown);
                    }
                },
                None => self.ended = true,
            }
        }
    }

    /// Takes a batch that has the schema, or was decoded before all of its columns were known;
    /// returns any other.
    fn take_in(&mut self, batch: RecordBatch) -> Result<Option<RecordBatch>> {
        if *batch.schema_ref() == self.start {
            self.rebatch.push(batch);
            return Ok(None);
        }
        let has_values = batch.columns().iter().map(has_value);
        if !is_wider(batch.schema_ref(), has_values, &self.start) {
            return Ok(Some(batch));
        }
        match settle(&batch, &self.start)? {
            Some(settled) => self.rebatch.push(settled),
            None => return Ok(Some(batch)),
        }
        Ok(None)
    }

    /// After [`Step::Grown`]: goes on with the wider schema, if in what was returned before the
    /// columns that are new, or have another type, are null, and `adopt` takes it. Returns whether
    /// it does; if not, only [`Grow::restart`] is left.
    ///
    /// # Errors
    /// Those of `adopt`; only if Arrow rejects the arrays.
    pub fn widen<E: From<Error>>(
        &mut self,
        adopt: impl FnOnce(&SchemaRef) -> std::result::Result<bool, E>,
    ) -> std::result::Result<bool, E> {
        // Where batches of a number of bytes end would depend on when the columns were known.
        if self.growth.is_unsure() || self.size.bytes.is_some() {
            return Ok(false);
        }
        let decoded = self.growth.schema();
        let schema = match self.pipeline.selection() {
            // Rows were selected by what the condition meant then.
            Some(select) if !select.is_same_condition(&self.decoded, &decoded) => return Ok(false),
            // A selected column may still be unknown: an error at the end.
            Some(select) => match select.schema(&decoded) {
                Ok(schema) => schema,
                Err(_) => return Ok(false),
            },
            None => Arc::clone(&decoded),
        };
        if !is_wider(&self.start, self.has_values.iter().copied(), &schema) || !adopt(&schema)? {
            return Ok(false);
        }
        let mut has_values = vec![false; schema.fields().len()];
        for (field, had) in self.start.fields().iter().zip(&self.has_values) {
            let place = schema.fields().find(field.name());
            if let Some(now) = place.and_then(|(at, _)| has_values.get_mut(at)) {
                *now = *had;
            }
        }
        (self.start, self.decoded, self.has_values) = (schema, decoded, has_values);
        let pending =
            std::mem::replace(&mut self.rebatch, Rebatch::new(Arc::clone(&self.start), self.size));
        for batch in pending.into_batches().into_iter().chain(self.late.take()) {
            if self.take_in(batch)?.is_some() {
                return Ok(false);
            }
        }
        self.has_grown = true;
        Ok(true)
    }

    /// Reads everything for its schema only: what the decoder accepts, and no watch reports, does
    /// not change it, so that decoding is the fastest inference.
    ///
    /// # Errors
    /// As [`Grow::step`] and [`Grow::restart`].
    pub fn learn(mut self) -> Result<Sample> {
        loop {
            while self.batches.next().transpose()?.is_some() {}
            if !self.growth.is_unsure() {
                self.selected()?;
                break;
            }
            self.ended = true;
            self.restart()?;
        }
        let origins = self.again.take().unwrap_or_default();
        self.growth.learned(origins, self.batches.progress().rows())
    }

    /// That the schema is what the options need of it.
    fn selected(&mut self) -> Result<()> {
        if let Some(select) = self.pipeline.selection() {
            select.check(&self.growth.schema())?;
        }
        self.batches.take_refused().map_or(Ok(()), Err)
    }

    /// Whether this pass began with everything that is known.
    fn is_final(&self) -> bool {
        !self.growth.is_unsure() && self.growth.schema() == self.decoded
    }

    /// Reads the rest of this pass for its schema only, and starts another one.
    ///
    /// # Errors
    /// As [`Grow::step`]; and where an input cannot be read twice, with the first value that does
    /// not match.
    pub fn restart(&mut self) -> Result<()> {
        // Pieces before the late value may have been decoded when it was known. The error for a
        // stream names the value, also if the stream turns out to be longer than what is kept.
        while self.batches.late().is_none() && self.batches.next().transpose()?.is_some() {}
        // The late value is in front of others that a stream would have to be read for.
        if self.again.is_none() {
            return Err(self.read_once());
        }
        // The first late value is often the only one: the rest is read with it at once. After the
        // second, all others are looked for first: passes are few, however many values are late.
        if self.has_grown || self.ended {
            while self.batches.next().transpose()?.is_some() {}
        } else {
            self.batches.stop();
        }
        self.has_grown = true;
        let Some(origins) = &self.again else { return Err(self.read_once()) };
        let copies: Option<Vec<_>> = origins.iter().map(Origin::again).collect();
        let Some(copies) = copies else { return Err(self.read_once()) };
        self.growth.next_pass()?;
        self.bytes_read.store(0, Ordering::Relaxed);
        let on_reject = self.on_reject.as_ref();
        self.batches = pass(&self.pipeline, &self.growth, copies, on_reject, &self.rejects)?;
        self.start = Arc::clone(self.batches.schema());
        self.decoded = Arc::clone(self.batches.decoded());
        self.rebatch = Rebatch::new(Arc::clone(&self.start), self.size);
        self.has_values = vec![false; self.start.fields().len()];
        (self.late, self.ended) = (None, false);
        Ok(())
    }

    /// The error for inputs that cannot be read twice.
    fn read_once(&self) -> Error {
        let late = self.batches.late().cloned();
        let mut late = late.unwrap_or_else(|| DataError {
            kind: ErrorKind::WrongType,
            position: Position { line: 1, ..Position::default() },
            path: String::new(),
            expected: "records that match the schema".to_owned(),
            found: "a value of another type".to_owned(),
            hint: None,
        });
        let hint = self.pipeline.hint().map(|hint| format!("; {hint}")).unwrap_or_default();
        late.hint = Some(format!(
            "this input cannot be read twice, as a wider schema would need (a stream is kept up to \
             spool_bytes_max){hint}"
        ));
        late.into()
    }
}

fn has_value(column: &ArrayRef) -> bool {
    column.null_count() < column.len()
}

/// Whether a schema has all columns of another one, those that have values unchanged, and whatever
/// is new can be null.
fn is_wider(from: &Schema, has_values: impl Iterator<Item = bool>, to: &Schema) -> bool {
    let fits = |(field, has_values): (&FieldRef, bool)| match to.fields().find(field.name()) {
        Some((_, wider)) => wider == field || (wider.is_nullable() && !has_values),
        None => false,
    };
    let is_known = |field: &FieldRef| from.fields().find(field.name()).is_some();
    from.metadata() == to.metadata()
        && from.fields().iter().zip(has_values).all(fits)
        && to.fields().iter().all(|field| field.is_nullable() || is_known(field))
}

/// Starts a pass. Rejects are the same in each of them; `handed` is the number of those that were
/// handed over before.
fn pass(
    pipeline: &JsonPipeline,
    growth: &Growth,
    origins: Vec<Origin>,
    on_reject: Option<&Arc<Mutex<OnReject>>>,
    handed: &Arc<AtomicU64>,
) -> Result<BatchIter> {
    let mut pipeline = pipeline.again(origins).growing(growth.clone());
    if let Some(take) = on_reject {
        let (take, handed, mut seen) = (Arc::clone(take), Arc::clone(handed), 0);
        pipeline = pipeline.on_reject(move |reject: Reject| {
            seen += 1;
            if seen > handed.load(Ordering::Relaxed) {
                handed.store(seen, Ordering::Relaxed);
                take.lock().unwrap_or_else(PoisonError::into_inner)(reject);
            }
        });
    }
    pipeline.start()
}

/// Reads inputs into memory, with a schema that grows.
pub struct Collect {
    grow: Grow,
    held: Vec<RecordBatch>,
    done: bool,
}

impl Collect {
    /// Collects what is read.
    pub fn new(grow: Grow) -> Self {
        Self { grow, held: Vec::new(), done: false }
    }

    /// Reads a little more; returns whether there is still more to read.
    ///
    /// # Errors
    /// As [`Grow::step`] and [`Grow::restart`].
    pub fn advance(&mut self) -> Result<bool> {
        if self.done {
            return Ok(false);
        }
        if let Some(batch) = self.grow.batches.next().transpose()? {
            self.held.push(batch);
            return Ok(true);
        }
        let decoded = self.grow.growth.schema();
        let select = self.grow.pipeline.selection();
        // Rows were selected by what the condition meant then.
        let is_same =
            select.is_none_or(|select| select.is_same_condition(&self.grow.decoded, &decoded));
        let schema = match select {
            Some(select) => select.schema(&decoded)?,
            None => decoded,
        };
        let settled = match self.grow.growth.is_unsure() || !is_same {
            true => None,
            false => {
                self.grow.selected()?;
                self.settled(&schema)?
            }
        };
        match settled {
            Some(batches) => {
                (self.held, self.grow.start) = (batches, schema);
                self.done = true;
            }
            None => {
                self.held.clear();
                self.grow.restart()?;
            }
        }
        Ok(!self.done)
    }

    /// Everything with its final schema, in batches of the given size; `None` if it has to be read
    /// again.
    fn settled(&mut self, schema: &SchemaRef) -> Result<Option<Vec<RecordBatch>>> {
        let mut rebatch = Rebatch::new(Arc::clone(schema), self.grow.size);
        for batch in &mut self.held {
            let Some(settled) = settle_whole(batch, schema)? else { return Ok(None) };
            *batch = settled.clone();
            rebatch.push(settled);
        }
        let mut batches = Vec::with_capacity(self.held.len());
        self.held.clear();
        while let Some(batch) = rebatch.pop(true)? {
            batches.push(batch);
        }
        Ok(Some(batches))
    }

    /// How far this pass is.
    pub fn progress(&self) -> &Arc<Progress> {
        self.grow.progress()
    }

    /// The schema, and the batches: all of them once [`Collect::advance`] has returned `false`.
    pub fn finish(self) -> (SchemaRef, Vec<RecordBatch>) {
        (self.grow.start, self.held)
    }
}
