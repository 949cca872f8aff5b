// SPDX-License-Identifier: Apache-2.0
//! What is behind the pointer to a reader, and how it is opened: inputs, options, the rejects that
//! wait. No function of the C ABI is here.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::SchemaRef;
use arrowsmith::json::{self, JsonReader, Turn};
use arrowsmith::parquet::{self, EXTENSIONS, ParquetReader};
use arrowsmith::{DataFile, Error, Input, Progress, Reject, Result};

use crate::bytes::Given;
use crate::options::{self, Own};
use crate::stream::{Valve, Valves};

/// Maximum number of rejects that are kept; the oldest are dropped, unless all are wanted.
const REJECTS_MAX: usize = 1 << 16;

/// Number of rejects, and bytes of their texts, that the caller has to take before it goes on.
const PAUSE_REJECTS: usize = 1 << 12;
const PAUSE_BYTES: usize = 4 << 20;

/// Readers that were not closed.
static LIVE: AtomicU64 = AtomicU64::new(0);

/// Counts a reader while it lives.
struct Live;

impl Live {
    fn new() -> Self {
        LIVE.fetch_add(1, Ordering::SeqCst);
        Self
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        LIVE.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Number of readers that were opened and not closed.
pub(super) fn live() -> u64 {
    LIVE.load(Ordering::SeqCst)
}

/// Rejects that wait.
#[derive(Default)]
pub(super) struct Waiting {
    rejects: VecDeque<Reject>,
    bytes: usize,
}

impl Waiting {
    fn push(&mut self, reject: Reject, all: bool) {
        if self.rejects.len() == REJECTS_MAX && !all {
            self.pop();
        }
        self.bytes += reject.record.len();
        self.rejects.push_back(reject);
    }

    pub(super) fn pop(&mut self) -> Option<Reject> {
        let reject = self.rejects.pop_front()?;
        self.bytes -= reject.record.len();
        Some(reject)
    }

    pub(super) fn are_many(&self) -> bool {
        self.rejects.len() >= PAUSE_REJECTS || self.bytes >= PAUSE_BYTES
    }
}

/// What a reader reads.
pub(super) enum Batches {
    Json {
        /// Dropped before the reader, since a thread of it may wait for a stream.
        _streams: Valves,
        reader: Box<JsonReader>,
    },
    Parquet(Box<ParquetReader>),
    /// Exported as a stream.
    Taken,
}

impl Iterator for Batches {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.turn(&|| false) {
            Ok(Turn::Batch(batch)) => Some(Ok(batch)),
            Ok(Turn::Paused | Turn::End) => None,
            Err(error) => Some(Err(error)),
        }
    }
}

impl Batches {
    pub(super) fn turn(&mut self, pause: &dyn Fn() -> bool) -> Result<Turn> {
        match self {
            Self::Json { reader, .. } => reader.turn(pause),
            Self::Parquet(reader) => Ok(reader.next_batch()?.map_or(Turn::End, Turn::Batch)),
            Self::Taken => Err(Error::Config("the reader was exported as a stream".to_owned())),
        }
    }
}

/// Reads sources as batches. Calls may come from any thread; those that return batches wait for one
/// another.
pub struct Reader {
    pub(super) batches: Mutex<Batches>,
    pub(super) schema: SchemaRef,
    pub(super) progress: Arc<Progress>,
    pub(super) cancel: Arc<AtomicBool>,
    pub(super) rejects: Arc<Mutex<Waiting>>,
    /// Whether none of them may be dropped.
    pub(super) all_rejects: bool,
    pub(super) streams: Vec<Valve>,
    _live: Live,
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Opens JSON; `schema` takes the place of the one in the options.
pub(super) fn json(given: Vec<Given>, schema: Option<SchemaRef>, options: &[u8]) -> Result<Reader> {
    let cancel = Arc::<AtomicBool>::default();
    let (mut options, Own { rejects: keep, count_before, refuse_lone_cr }) =
        options::json(options)?;
    if schema.is_some() {
        options.schema = schema;
    }
    let rejects = Arc::<Mutex<Waiting>>::default();
    let lines = keep == options::Rejects::Lines;
    let all_rejects = lines || keep == options::Rejects::All;
    let mut builder = json::ReaderBuilder::new()
        .options(options)
        .count_before(count_before)
        .refuse_lone_cr(refuse_lone_cr)
        .reject_lines(lines)
        .cancel(Arc::clone(&cancel));
    if keep != options::Rejects::None {
        let kept = Arc::clone(&rejects);
        builder = builder.on_reject(move |reject| lock(&kept).push(reject, all_rejects));
    }
    let (inputs, streams) = inputs(given)?;
    let reader = builder.open(inputs)?;
    Ok(Reader {
        schema: reader.schema(),
        progress: Arc::clone(reader.progress()),
        batches: Mutex::new(Batches::Json {
            _streams: Valves(streams.clone()),
            reader: Box::new(reader),
        }),
        cancel,
        rejects,
        all_rejects,
        streams,
        _live: Live::new(),
    })
}

/// Opens Parquet; `partitions` are the types of partition columns.
pub(super) fn parquet(
    given: Vec<Given>,
    partitions: Option<SchemaRef>,
    options: &[u8],
) -> Result<Reader> {
    let cancel = Arc::<AtomicBool>::default();
    let mut options = options::parquet(options)?;
    if partitions.is_some() {
        options.partitions = partitions;
    }
    let builder = parquet::ReaderBuilder::new().options(options).cancel(Arc::clone(&cancel));
    let reader = builder.open(files(given)?)?;
    Ok(Reader {
        schema: reader.schema(),
        progress: Arc::clone(reader.progress()),
        batches: Mutex::new(Batches::Parquet(Box::new(reader))),
        cancel,
        rejects: Arc::default(),
        all_rejects: false,
        streams: Vec::new(),
        _live: Live::new(),
    })
}

/// The files of JSON, and the valves of those that are streams.
pub(super) fn inputs(given: Vec<Given>) -> Result<(Vec<DataFile>, Vec<Valve>)> {
    let mut inputs = Vec::with_capacity(given.len());
    let mut streams = Vec::new();
    for one in given {
        match one {
            Given::Stream(outlet) => {
                streams.push(outlet.valve());
                inputs.push(Input::reader(outlet).into());
            }
            other => expand(other, json::EXTENSIONS, &mut inputs)?,
        }
    }
    Ok((inputs, streams))
}

/// The files of Parquet.
pub(super) fn files(given: Vec<Given>) -> Result<Vec<DataFile>> {
    let mut files = Vec::with_capacity(given.len());
    for one in given {
        expand(one, EXTENSIONS, &mut files)?;
    }
    Ok(files)
}

fn expand(given: Given, extensions: &[&str], files: &mut Vec<DataFile>) -> Result<()> {
    match given {
        // An existing folder is never a pattern.
        Given::Path(path) if path.is_dir() => {
            files.extend(arrowsmith::expand_dataset(path, extensions)?);
        }
        Given::Path(path) => files.push(Input::Path(path).into()),
        Given::Pattern(pattern) => {
            files.extend(arrowsmith::expand_dataset(pattern, extensions)?);
        }
        Given::Input(input) => files.push(input.into()),
        Given::Stream(_) => {
            let message = "a Parquet file is read from its end, which a stream does not have";
            return Err(Error::Config(message.to_owned()));
        }
    }
    Ok(())
}
