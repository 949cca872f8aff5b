// SPDX-License-Identifier: Apache-2.0
//! DoPut: batches, or NDJSON text, appended to a dataset's folder as one new file that appears
//! whole or not at all.
//!
//! The descriptor is the dataset's name, or `{"dataset": NAME, "put": "json"}`; then the text comes
//! as the metadata of the messages, in pieces of any size. The file's name is the server's choice.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use arrow_array::RecordBatch;
use arrow_flight::error::FlightError;
use arrow_flight::flight_descriptor::DescriptorType;
use arrow_flight::{FlightData, FlightDescriptor, PutResult};
use arrow_schema::{Schema, SchemaRef};
use arrowsmith::json::ReaderBuilder;
use arrowsmith::{Compression, Error, Input, JsonReadOptions, Result};
use arrowsmith_core::Sink;
use arrowsmith_core::sink::Output;
use arrowsmith_sink::ipc::{IpcOptions, IpcSink};
use arrowsmith_sink::parquet::{ParquetOptions, ParquetSink};
use bytes::Bytes;
use futures_util::stream::{self, BoxStream, StreamExt, TryStreamExt};
use ring::rand::{SecureRandom, SystemRandom};
use serde::Deserialize;
use serde_json::json;
use tokio::sync::mpsc;
use tonic::{Status, Streaming};
use tracing::info;

use super::Shared;
use super::exchange::Text;
use crate::catalog::{Dataset, Origin};
use crate::dataset::Format;
use crate::error::{shortened, status_of, unwound};
use crate::ipc::Bounds;
use crate::query::COMMAND_BYTES_MAX;

/// Maximum number of batches in the queue to the writer.
const QUEUE_BATCHES: usize = 2;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Command {
    dataset: String,
    #[serde(default)]
    put: Form,
}

/// The format of incoming rows.
#[derive(Deserialize, Default, PartialEq, Eq, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum Form {
    #[default]
    Arrow,
    Json,
}

impl Command {
    fn of(descriptor: &FlightDescriptor) -> Result<Self, Status> {
        match (DescriptorType::try_from(descriptor.r#type), descriptor.path.as_slice()) {
            (Ok(DescriptorType::Path), [name]) => {
                Ok(Self { dataset: name.clone(), put: Form::Arrow })
            }
            (Ok(DescriptorType::Cmd), _) if descriptor.cmd.len() <= COMMAND_BYTES_MAX => {
                serde_json::from_slice(&descriptor.cmd)
                    .map_err(|error| Status::invalid_argument(format!("command: {error}")))
            }
            _ => Err(Status::invalid_argument(
                "a put says where: the path of one part, or {\"dataset\": …, \"put\": \"json\"}",
            )),
        }
    }
}

/// Takes a put; responds with what was written.
pub(crate) async fn put(
    shared: Arc<Shared>,
    descriptor: &FlightDescriptor,
    first: FlightData,
    rest: Streaming<FlightData>,
) -> Result<PutResult, Status> {
    let command = Command::of(descriptor)?;
    let name = command.dataset;
    let dataset = Arc::clone(shared.dataset(&name)?);
    let target = Target::of(&dataset)?;
    // Memory of a writer: a growing row group, and queued batches.
    let admission = shared.governor.admit(64 << 20).await?;
    let bytes_max = shared.options.put_bytes_max;
    let mut bytes = 0_u64;
    let all = stream::iter([Ok(first)]).chain(rest).map(move |message| {
        let message = message?;
        let its = message.data_body.len() + message.data_header.len() + message.app_metadata.len();
        bytes = bytes.saturating_add(its as u64);
        if bytes > bytes_max {
            let reason = format!("a put has {bytes_max} bytes at most (put_bytes_max)");
            return Err(Status::resource_exhausted(reason));
        }
        Ok(message)
    });
    let written = match command.put {
        Form::Arrow => {
            let messages = all.map_err(FlightError::from).boxed();
            let bounds = Bounds {
                decoded_bytes_max: 4 * shared.options.request_bytes_max as u64,
                ..Bounds::default()
            };
            arrow(target, crate::ipc::batches(messages, bounds)).await
        }
        Form::Json => {
            let stall = shared.options.stall_timeout;
            let (sender, text) = Text::new(stall);
            let mut all = Box::pin(all);
            // Its end drops the sender, for which the reader would wait.
            let feed = async move {
                while let Some(message) = all.next().await {
                    let message = message?;
                    if !message.app_metadata.is_empty()
                        && sender.send(Ok(message.app_metadata)).await.is_err()
                    {
                        // The reader reports its own error.
                        break;
                    }
                }
                // The reader may have ended.
                let _ = sender.send(Ok(Bytes::new())).await;
                Ok::<(), Status>(())
            };
            let limits = shared.options.message_bytes;
            let parse = tokio::task::spawn_blocking(move || json_rows(target, text, limits));
            let (fed, parsed) = tokio::join!(feed, parse);
            match (fed, parsed) {
                (Err(error), _) => Err(error),
                (_, Ok(Ok(written))) => Ok(written),
                (_, Ok(Err(error))) => Err(bad_rows(&name, error)),
                (_, Err(error)) => Err(unwound(error, "the writer")),
            }
        }
    }?;
    drop(admission);
    let Written { rows, pending } = written;
    // No file has its name yet: a client that has died meanwhile has put nothing.
    let lock = Arc::clone(&dataset);
    let _appending = lock.appending.lock().await;
    let (bytes, changed) = tokio::task::spawn_blocking(move || {
        let bytes = match pending {
            Some(sink) => sink.finish()?.bytes,
            None => 0,
        };
        Ok::<_, Error>((bytes, dataset.refresh()?))
    })
    .await
    .map_err(|error| unwound(error, "the writer"))?
    .map_err(|error| status_of(&name, &error))?;
    shared.metrics.rows_put.inc_by(rows);
    info!(dataset = name, rows, bytes, changed, "rows were put");
    let text = json!({ "dataset": name, "rows": rows, "bytes": bytes }).to_string();
    Ok(PutResult { app_metadata: text.into() })
}

/// Rows that do not match are the client's error, which is reported in full.
fn bad_rows(name: &str, error: Error) -> Status {
    match &error {
        Error::Data(data) => {
            let mut data = data.clone();
            data.position.source = None;
            shortened(Status::invalid_argument(format!("{name}: {data}")))
        }
        Error::Arrow(error) => shortened(Status::invalid_argument(format!("{name}: {error}"))),
        _ => status_of(name, &error),
    }
}

/// Where rows go.
#[derive(Clone)]
struct Target {
    folder: PathBuf,
    format: Format,
    /// The columns that they have to have; any, when the folder is empty.
    schema: Option<SchemaRef>,
    /// How text is read: with these columns, and as that of the files.
    json: Box<JsonReadOptions>,
}

struct Written {
    rows: u64,
    /// The file, which has no name yet.
    pending: Option<Box<dyn Sink>>,
}

impl Target {
    fn of(dataset: &Dataset) -> Result<Self, Status> {
        let spec = dataset.spec();
        let closed = || Status::permission_denied("this dataset is not open for writing");
        let folder = spec.folder().ok_or_else(closed)?.to_owned();
        let Origin::Files { format, .. } = &spec.origin else { return Err(closed()) };
        if has_partitions(&folder) {
            return Err(Status::failed_precondition(
                "a partitioned dataset is written by what knows its partitions",
            ));
        }
        let snapshot = dataset.current();
        let empty = snapshot.schema.fields().is_empty();
        let schema = (!empty).then(|| Arc::clone(&snapshot.schema));
        let json = match format {
            Format::Json => {
                let schema = spec.json.schema.clone().or_else(|| schema.clone());
                JsonReadOptions { schema, compression: Compression::Auto, ..spec.json.clone() }
            }
            _ => JsonReadOptions { schema: schema.clone(), ..JsonReadOptions::default() },
        };
        Ok(Self { folder, format: *format, schema, json: Box::new(json) })
    }

    /// The columns of the input, if they are those of the dataset.
    fn check(&self, schema: &SchemaRef) -> Result<SchemaRef, Status> {
        let Some(expected) = &self.schema else { return Ok(Arc::clone(schema)) };
        let shape = |schema: &Schema| {
            let fields = schema.fields().iter();
            fields.map(|f| (f.name().clone(), f.data_type().clone())).collect::<Vec<_>>()
        };
        if shape(schema) != shape(expected) {
            return Err(Status::invalid_argument(
                "the columns are not those of the dataset: get its schema first",
            ));
        }
        Ok(Arc::clone(expected))
    }

    fn sink(&self, schema: &SchemaRef) -> Result<Box<dyn Sink>> {
        let output = Output::create(self.folder.join(self.name()?))?.with_fsync(true);
        Ok(match self.format {
            Format::Parquet => {
                Box::new(ParquetSink::new(output, schema, &ParquetOptions::default())?)
            }
            Format::Ipc => Box::new(IpcSink::new(output, schema, &IpcOptions::default())?),
            Format::Json => Box::new(arrowsmith_sink::json::JsonSink::new(
                output,
                schema,
                &arrowsmith_sink::json::JsonOptions::default(),
            )?),
        })
    }

    /// A unique name that sorts after older ones.
    fn name(&self) -> Result<String> {
        let mut random = [0; 8];
        SystemRandom::new()
            .fill(&mut random)
            .map_err(|_| Error::Config("the system gives no random bytes".to_owned()))?;
        let random = u64::from_be_bytes(random);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
        let end = self.format.extension();
        Ok(format!("put-{now:013}-{random:016x}.{end}"))
    }
}

/// Whether a folder has folders `name=value` in it.
fn has_partitions(folder: &Path) -> bool {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.file_name().to_string_lossy().contains('='))
        .any(|entry| entry.path().is_dir())
}

/// Writes batches as they come.
async fn arrow(
    target: Target,
    mut batches: BoxStream<'static, Result<RecordBatch, FlightError>>,
) -> Result<Written, Status> {
    let (sender, mut receiver) = mpsc::channel::<RecordBatch>(QUEUE_BATCHES);
    let mut sender = Some(sender);
    let schema_of = |error: FlightError| match error {
        FlightError::Tonic(status) => *status,
        other => Status::invalid_argument(other.to_string()),
    };
    let Some(first) = batches.try_next().await.map_err(schema_of)? else {
        return Ok(Written { rows: 0, pending: None });
    };
    let schema = target.check(&first.schema())?;
    let writer = {
        let (target, schema) = (target.clone(), Arc::clone(&schema));
        tokio::task::spawn_blocking(move || {
            let mut sink = target.sink(&schema)?;
            let mut rows = 0;
            while let Some(batch) = receiver.blocking_recv() {
                let columns = batch.columns().to_vec();
                let batch = RecordBatch::try_new(Arc::clone(&schema), columns)?;
                sink.write(&batch)?;
                rows += batch.num_rows() as u64;
            }
            Ok::<_, Error>(Written { rows, pending: Some(sink) })
        })
    };
    let mut next = Some(first);
    let mut fault = None;
    while let Some(batch) = next.take() {
        let Some(sender) = &sender else { break };
        if sender.send(batch).await.is_err() {
            break;
        }
        match batches.try_next().await {
            Ok(batch) => next = batch,
            Err(error) => fault = Some(schema_of(error)),
        }
    }
    sender.take();
    let written = writer.await.map_err(|error| unwound(error, "the writer"))?;
    // The client's error first: then the file is dropped, and was never there.
    match fault {
        Some(status) => Err(status),
        None => written.map_err(|error| bad_rows("put", error)),
    }
}

/// Writes the rows of a text.
fn json_rows(target: Target, text: Text, batch_bytes: usize) -> Result<Written> {
    let options = JsonReadOptions {
        threads: Some(1),
        batch_bytes: Some(batch_bytes),
        ..JsonReadOptions::clone(&target.json)
    };
    let mut reader = ReaderBuilder::new().options(options).open([Input::reader(text)])?;
    let mut written = Written { rows: 0, pending: None };
    while let Some(batch) = reader.next_batch()? {
        if written.pending.is_none() {
            written.pending = Some(target.sink(&batch.schema())?);
        }
        if let Some(sink) = &mut written.pending {
            sink.write(&batch)?;
        }
        written.rows += batch.num_rows() as u64;
    }
    Ok(written)
}

/// The parts of a text reader.
pub(crate) type Piece = std::io::Result<Bytes>;
