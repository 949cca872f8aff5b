// SPDX-License-Identifier: Apache-2.0
//! The library's reader for Python: opened with the GIL, run without it.
//!
//! Sources and callbacks in Python take the GIL on the thread they run on. So a thread that waits
//! for a batch, or for the reader's end, must not hold it.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use arrowsmith::gpu::ResidentEngine;
use arrowsmith::json::{JsonReader, ReaderBuilder};
use arrowsmith::parquet::ParquetReader;
use arrowsmith::{DataFile, Progress, Reject};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::{Failure, config, raised};
use crate::gpu::RowGroups;
use crate::options;
use crate::parquet::{self, Opened};
use crate::progress::{Current, Watch};
use crate::rejects::{self, Kept};
use crate::schema::schema_of;
use crate::source::{self, Places};
use crate::table::{Rows, Table};
use crate::wait::{Place, attended, signals};

/// From here on a thread for the next batch costs little beside it.
const LONG: Duration = Duration::from_millis(20);

/// An exception of a callback, until it is raised where the batches are read.
pub(crate) type Raised = Arc<Mutex<Option<PyErr>>>;

/// A reader of one of the formats.
enum Reading {
    Json(Box<JsonReader>),
    Parquet(Box<ParquetReader>),
    /// JSON whose batches stay on the device.
    ResidentJson(Box<JsonReader>, ResidentEngine),
    ResidentParquet(Box<RowGroups>),
}

impl Reading {
    fn next_batch(&mut self) -> arrowsmith::Result<Option<Rows>> {
        let batch = match self {
            Self::Json(reader) => reader.next_batch()?,
            Self::Parquet(reader) => reader.next_batch()?,
            Self::ResidentJson(reader, engine) => {
                let stand_in = reader.next_batch()?;
                let batch = stand_in.map(|batch| engine.claim(&batch)).transpose()?;
                return Ok(batch.map(Rows::Device));
            }
            Self::ResidentParquet(groups) => return Ok(groups.next_batch()?.map(Rows::Device)),
        };
        Ok(batch.map(Rows::Host))
    }

    fn schema(&self) -> SchemaRef {
        match self {
            Self::Json(reader) | Self::ResidentJson(reader, _) => reader.schema(),
            Self::Parquet(reader) => reader.schema(),
            Self::ResidentParquet(groups) => groups.schema(),
        }
    }

    fn progress(&self) -> &Arc<Progress> {
        match self {
            Self::Json(reader) | Self::ResidentJson(reader, _) => reader.progress(),
            Self::Parquet(reader) => reader.progress(),
            Self::ResidentParquet(groups) => groups.progress(),
        }
    }
}

/// What a JSON reader is opened with.
pub(crate) struct Opening {
    pub(crate) builder: ReaderBuilder,
    resident: Option<ResidentEngine>,
    pub(crate) raised: Raised,
    kept: Kept,
    pub(crate) cancel: Arc<AtomicBool>,
    /// Whether there may be many records between two batches.
    filters: bool,
}

impl Opening {
    pub(crate) fn new(
        schema: &Bound<'_, PyAny>,
        rejects: &Bound<'_, PyAny>,
        on_device: bool,
        given: &Bound<'_, PyDict>,
        cancel: Arc<AtomicBool>,
    ) -> PyResult<Self> {
        let raised = Raised::default();
        let mut options = options::json(given)?;
        if !schema.is_none() {
            options.schema = Some(schema_of(schema)?);
        }
        let filters = options.filter.is_some();
        let (engine, resident) = options::json_engine(given.py(), &options, on_device)?;
        let builder = ReaderBuilder::new().options(options).engine(engine);
        let builder = builder.cancel(Arc::clone(&cancel));
        let take = (!rejects.is_none()).then(|| taker(rejects)).transpose()?;
        let (kept, slot, stop) = (Kept::default(), Arc::clone(&raised), Arc::clone(&cancel));
        let keep = kept.clone();
        let builder = builder.on_reject(move |reject| {
            if let Some(take) = &take {
                hand_over(take, &reject, &slot, &stop);
            }
            keep.add(reject);
        });
        Ok(Self { builder, resident, raised, kept, cancel, filters })
    }
}

/// Reads all of a JSON source. An inferred schema grows, so that nothing is lost.
pub(crate) fn collect(
    source: &Bound<'_, PyAny>,
    schema: &Bound<'_, PyAny>,
    rejects: &Bound<'_, PyAny>,
    on_device: bool,
    given: &Bound<'_, PyDict>,
    cancel: Arc<AtomicBool>,
    mut watch: Watch,
) -> PyResult<Table> {
    let py = source.py();
    let opening = Opening::new(schema, rejects, on_device, given, cancel)?;
    let inputs = source::inputs(source)?;
    if opening.resident.is_some() {
        return crate::read_all(py, Batches::open(py, opening, inputs)?, watch);
    }
    let Opening { builder, raised: slot, kept, cancel, .. } = opening;
    let place = Places::of(&inputs, false).whole;
    let collector = attended(py, place, &cancel, signals, move || builder.collect(inputs))?;
    let mut collector = collector.map_err(|error| raised(py, error))?;
    let current = Current::new(collector.progress());
    let progress = current.clone();
    let turn = |py: Python<'_>| watch.turn(py, &current.get());
    let collected = attended(py, place, &cancel, turn, move || {
        while collector.advance()? {
            progress.set(collector.progress());
        }
        progress.set(collector.progress());
        Ok(collector.finish())
    })?;
    let progress = current.get();
    // An exception of a callback is the cause of what is reported.
    if let Some(error) = slot.lock().unwrap_or_else(PoisonError::into_inner).take() {
        return Err(error);
    }
    let (schema, batches) = collected.map_err(|error| raised(py, error))?;
    watch.end(py, &progress)?;
    let batches = batches.into_iter().map(Rows::Host).collect();
    Ok(Table::new(schema, batches, &progress, kept))
}

/// What a reader of JSON would do: its plan, and its engine.
pub(crate) fn explain(
    source: &Bound<'_, PyAny>,
    schema: &Bound<'_, PyAny>,
    given: &Bound<'_, PyDict>,
) -> PyResult<String> {
    let py = source.py();
    let none = py.None().into_bound(py);
    let Opening { builder, cancel, .. } =
        Opening::new(schema, &none, false, given, Arc::default())?;
    let inputs = source::inputs(source)?;
    let place = Places::of(&inputs, false).whole;
    let explained = attended(py, place, &cancel, signals, move || builder.explain(inputs))?;
    Ok(explained.map_err(|error| raised(py, error))?.to_string())
}

/// The batches of a source, in order.
pub(crate) struct Batches {
    /// `None` only while it is dropped.
    reader: Option<Reading>,
    raised: Raised,
    kept: Kept,
    cancel: Arc<AtomicBool>,
    places: Places,
    /// Whether the last batch took long, or there was none.
    took_long: bool,
}

impl Batches {
    /// Opens JSON. Infers the schema, if there is none.
    pub(crate) fn json(
        source: &Bound<'_, PyAny>,
        schema: &Bound<'_, PyAny>,
        rejects: &Bound<'_, PyAny>,
        on_device: bool,
        given: &Bound<'_, PyDict>,
    ) -> PyResult<Self> {
        let py = source.py();
        let cancel = Arc::<AtomicBool>::default();
        let opening = Opening::new(schema, rejects, on_device, given, cancel)?;
        let inputs = source::inputs(source)?;
        Self::open(py, opening, inputs)
    }

    fn open(py: Python<'_>, opening: Opening, inputs: Vec<DataFile>) -> PyResult<Self> {
        if opening.resident.is_some() && inputs.iter().any(|file| !file.partitions.is_empty()) {
            return Err(config(py, "source: partitions do not stay on the device".to_owned()));
        }
        let Opening { builder, resident, raised: raised_slot, kept, cancel, filters } = opening;
        // The calls of a device stay on their thread.
        let places = if resident.is_some() { Places::HERE } else { Places::of(&inputs, filters) };
        let reader = attended(py, places.whole, &cancel, signals, move || builder.open(inputs))?;
        let reader = reader.map_err(|error| raised(py, error))?;
        let reader = Some(match resident {
            Some(engine) => Reading::ResidentJson(Box::new(reader), engine),
            None => Reading::Json(Box::new(reader)),
        });
        Ok(Self { reader, raised: raised_slot, kept, cancel, places, took_long: true })
    }

    /// Opens Parquet.
    pub(crate) fn parquet(
        source: &Bound<'_, PyAny>,
        on_device: bool,
        given: &Bound<'_, PyDict>,
        cancel: Arc<AtomicBool>,
    ) -> PyResult<Self> {
        let (reader, places) = match parquet::open(source, on_device, given, &cancel)? {
            (Opened::Host(reader), places) => (Reading::Parquet(reader), places),
            (Opened::Device(groups), places) => (Reading::ResidentParquet(groups), places),
        };
        let (reader, raised, kept) = (Some(reader), Raised::default(), Kept::default());
        Ok(Self { reader, raised, kept, cancel, places, took_long: true })
    }

    /// The next batch; `None` at the end. Call it without the GIL.
    pub(crate) fn next(&mut self) -> Result<Option<Rows>, Failure> {
        let start = Instant::now();
        let batch = self.reader.as_mut().map_or(Ok(None), Reading::next_batch);
        self.took_long = start.elapsed() > LONG;
        let raised = self.raised.lock().unwrap_or_else(PoisonError::into_inner).take();
        match raised {
            Some(raised) => Err(Failure::Python(raised)),
            None => Ok(batch?),
        }
    }

    pub(crate) fn schema(&self) -> SchemaRef {
        self.reader
            .as_ref()
            .map_or_else(|| Arc::new(arrow_schema::Schema::empty()), |reader| reader.schema())
    }

    /// Whether batches stay on the device.
    pub(crate) fn on_device(&self) -> bool {
        use Reading as R;
        matches!(self.reader, Some(R::ResidentJson(..) | R::ResidentParquet(_)))
    }

    pub(crate) fn progress(&self) -> Arc<Progress> {
        self.reader.as_ref().map(|reader| Arc::clone(reader.progress())).unwrap_or_default()
    }

    /// The first rejects, to which others are added.
    pub(crate) fn kept(&self) -> Kept {
        self.kept.clone()
    }

    /// Where to wait for all of them.
    pub(crate) fn place(&self) -> Place {
        self.places.whole
    }

    /// Where to wait for the next one. A thread for each takes as long as a small batch: with a
    /// condition there is one for the first, and after one that took long.
    pub(crate) fn place_of_next(&self) -> Place {
        if self.places.filters && self.took_long { Place::Apart } else { self.places.next }
    }

    /// The flag that cancels the work once it is true.
    pub(crate) fn cancel(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.cancel)
    }
}

impl Drop for Batches {
    fn drop(&mut self) {
        let mut reader = self.reader.take();
        let dropped = attached(|py| py.detach(|| drop(reader.take())));
        if dropped.is_none() {
            // Its threads may wait for a GIL that they do not get any more.
            self.cancel.store(true, Ordering::SeqCst);
            std::mem::forget(reader);
        }
    }
}

/// Whether Python exits: a thread of another library that requests the GIL from then on would never
/// get it, and the library, as the process ends, would wait for its thread.
static EXITS: AtomicBool = AtomicBool::new(false);

/// Threads that have the GIL, or wait for it, by [`attached`].
static ATTACHED: AtomicUsize = AtomicUsize::new(0);

/// How long Python waits for those threads before it exits.
const PATIENCE: Duration = Duration::from_secs(2);

/// Runs `work` with the GIL, unless Python exits.
fn attached<T>(work: impl FnOnce(Python<'_>) -> T) -> Option<T> {
    struct Within;
    impl Drop for Within {
        fn drop(&mut self) {
            ATTACHED.fetch_sub(1, Ordering::SeqCst);
        }
    }
    ATTACHED.fetch_add(1, Ordering::SeqCst);
    let _within = Within;
    if EXITS.load(Ordering::SeqCst) {
        return None;
    }
    Python::try_attach(work)
}

/// Called by Python when it exits, while other threads still get the GIL.
#[pyfunction]
pub(crate) fn exits(py: Python<'_>) {
    EXITS.store(true, Ordering::SeqCst);
    py.detach(|| {
        let start = Instant::now();
        while ATTACHED.load(Ordering::SeqCst) > 0 && start.elapsed() < PATIENCE {
            thread::sleep(Duration::from_millis(1));
        }
    });
}

/// The callable for rejects: the given one, or the `append` of a list.
fn taker(rejects: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
    if rejects.is_callable() {
        Ok(rejects.clone().unbind())
    } else if rejects.hasattr("append")? {
        Ok(rejects.getattr("append")?.unbind())
    } else {
        Err(PyTypeError::new_err(format!(
            "rejects: expected a callable or a list, found {}",
            rejects.get_type().name()?
        )))
    }
}

fn hand_over(take: &Py<PyAny>, reject: &Reject, slot: &Raised, stop: &AtomicBool) {
    let handed = Python::try_attach(|py| take.call1(py, (rejects::dict(py, reject)?,)).map(drop));
    if let Some(Err(error)) = handed {
        slot.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        stop.store(true, Ordering::SeqCst);
    }
}

/// Batches as an Arrow stream, whose consumer may or may not hold the GIL when it requests a batch.
pub(crate) struct Stream {
    schema: SchemaRef,
    batches: Batches,
}

impl Stream {
    pub(crate) fn new(batches: Batches) -> Self {
        Self { schema: batches.schema(), batches }
    }
}

impl Iterator for Stream {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let batches = &mut self.batches;
        let next = attached(|py| {
            let next = py.detach(|| batches.next()).map_err(Failure::into_arrow)?;
            let on_host = |rows: Rows| rows.on_host().cloned();
            let next = next.map(on_host).transpose();
            next.map_err(|error| Failure::Python(error).into_arrow())
        });
        match next {
            Some(next) => next.transpose(),
            None => Some(Err(ArrowError::ExternalError("Python is shutting down".into()))),
        }
    }
}

impl RecordBatchReader for Stream {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}
