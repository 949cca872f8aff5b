// SPDX-License-Identifier: Apache-2.0
//! DoExchange: JSON text or the bytes of a Parquet file in, Arrow out. Conversion as a service;
//! nothing is kept.
//!
//! The descriptor's command describes the input: `{"from": "json", "schema": "a: int64", "columns":
//! […], "filter": "a > 1", "limit": 10}`. The bytes come as the metadata of the messages, in pieces
//! of any size.

use std::io::{self, Read as _};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use arrow_flight::FlightData;
use arrowsmith::parquet::Predicate;
use arrowsmith::{Input, JsonReadOptions, ParquetReadOptions, Result, json, parquet};
use bytes::{Buf, Bytes, BytesMut};
use futures_util::stream::StreamExt;
use serde::Deserialize;
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tonic::{Status, Streaming};

use super::put::Piece;
use super::{Replies, Shared};
use crate::dataset::Batches;
use crate::encode::Message;
use crate::error::{mistake, status_of, unwound};
use crate::produce::{Origin, Production, Source, messages};
use crate::query::COMMAND_BYTES_MAX;
use crate::select::{Limited, Selected};

/// Memory of a conversion beside its input and output, in bytes, which it waits for.
const MEMORY_BYTES: usize = 64 << 20;

/// Maximum number of pieces of text in the queue to the reader.
const QUEUE_PIECES: usize = 4;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Command {
    from: From,
    /// In the form that `--schema` takes; inferred without it.
    schema: Option<String>,
    columns: Option<Vec<String>>,
    filter: Option<String>,
    limit: Option<u64>,
}

#[derive(Deserialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum From {
    Json,
    Parquet,
}

/// Text that a client sends, for a reader that blocks.
pub(crate) struct Text {
    pieces: mpsc::Receiver<Piece>,
    open: Bytes,
    is_whole: bool,
    stall: Duration,
    runtime: Handle,
}

impl Text {
    /// An empty piece ends the text; without one, and from a client that sends nothing for so long,
    /// it is an error of the reader's. It has to be made inside of a runtime.
    pub(crate) fn new(stall: Duration) -> (mpsc::Sender<Piece>, Self) {
        let (sender, pieces) = mpsc::channel(QUEUE_PIECES);
        let (open, runtime) = (Bytes::new(), Handle::current());
        (sender, Self { pieces, open, is_whole: false, stall, runtime })
    }
}

impl io::Read for Text {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.open.is_empty() && !self.is_whole {
            let next = tokio::time::timeout(self.stall, self.pieces.recv());
            match self.runtime.block_on(next) {
                Ok(Some(piece)) => self.open = piece?,
                // The task that receives is gone.
                Ok(None) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Err(_) => return Err(io::ErrorKind::TimedOut.into()),
            }
            self.is_whole = self.open.is_empty();
        }
        let count = into.len().min(self.open.len());
        if let (Some(into), Some(from)) = (into.get_mut(..count), self.open.get(..count)) {
            into.copy_from_slice(from);
        }
        self.open.advance(count);
        Ok(count)
    }
}

/// Converts the input.
pub(crate) async fn exchange(
    shared: Arc<Shared>,
    mut input: Streaming<FlightData>,
) -> Result<Replies<Message>, Status> {
    let Some(first) = input.message().await? else {
        return Err(Status::invalid_argument("there is no message"));
    };
    let command = first.flight_descriptor.as_ref().map(|descriptor| &descriptor.cmd);
    let command = command.filter(|command| command.len() <= COMMAND_BYTES_MAX);
    let command = command.ok_or_else(|| {
        Status::invalid_argument("the first message says what comes: {\"from\": \"json\", …}")
    })?;
    let command: Command = serde_json::from_slice(command)
        .map_err(|error| Status::invalid_argument(format!("command: {error}")))?;
    let filter = command.filter.as_deref().map(Predicate::parse).transpose();
    let filter = filter.map_err(|error| Status::invalid_argument(error.to_string()))?;
    let admission = shared.governor.admit(MEMORY_BYTES as u64).await?;
    let cancel = Arc::<AtomicBool>::default();
    let (sender, text) = Text::new(shared.options.stall_timeout);
    tokio::spawn(async move {
        let mut next = Some(Ok(first));
        while let Some(message) = next {
            let piece = message.map(|message| message.app_metadata).map_err(io::Error::other);
            let failed = piece.is_err();
            let empty = matches!(&piece, Ok(piece) if piece.is_empty());
            if (!empty && sender.send(piece).await.is_err()) || failed {
                return;
            }
            next = input.next().await;
        }
        // The receiver may be closed.
        let _ = sender.send(Ok(Bytes::new())).await;
    });
    let bytes_max = shared.options.exchange_bytes_max;
    let batch_bytes = shared.options.message_bytes;
    let stop = Arc::clone(&cancel);
    let opened = tokio::task::spawn_blocking(move || match command.from {
        From::Json => of_json(command, filter, text, batch_bytes, stop),
        From::Parquet => of_parquet(command, filter, text, bytes_max, stop),
    });
    let (schema, batches) = opened
        .await
        .map_err(|error| unwound(error, "the reader"))?
        .map_err(|error| invalid(&error))?;
    let production = Production {
        dataset: "exchange".to_owned(),
        source: Source::Batches(batches, Origin::Client),
        encoder: shared.encoder(&schema)?,
        cancel,
    };
    Ok(messages(&shared.governor, admission, production))
}

/// The error in the client's data.
pub(crate) fn invalid(error: &arrowsmith::Error) -> Status {
    match error {
        arrowsmith::Error::Io { source, .. } => match source.kind() {
            io::ErrorKind::TimedOut => Status::deadline_exceeded("nothing came for too long"),
            io::ErrorKind::FileTooLarge => Status::resource_exhausted(source.to_string()),
            _ => Status::aborted("the bytes were cut off"),
        },
        arrowsmith::Error::Data(_) | arrowsmith::Error::File(_) => {
            Status::invalid_argument(status_of("exchange", error).message())
        }
        // No file of the server's has a part in it.
        other => mistake(other),
    }
}

type Opened = (arrow_schema::SchemaRef, Batches);

fn of_json(
    command: Command,
    filter: Option<Predicate>,
    text: Text,
    batch_bytes: usize,
    cancel: Arc<AtomicBool>,
) -> Result<Opened> {
    // Only the text form: a name of a file would be one of the server's.
    let schema = command.schema.as_deref().map(arrowsmith::plan::text::parse_schema).transpose()?;
    let options = JsonReadOptions {
        schema: schema.map(Arc::new),
        threads: Some(1),
        batch_bytes: Some(batch_bytes),
        ..JsonReadOptions::default()
    };
    let builder = json::ReaderBuilder::new().options(options).cancel(cancel);
    let mut reader = builder.open([Input::reader(text)])?;
    let from = Arc::clone(reader.plan().schema());
    let to = project(&from, command.columns.as_deref())?;
    let batches = std::iter::from_fn(move || reader.next_batch().transpose());
    let selected = Selected::new(batches, &from, Arc::clone(&to), filter)?;
    Ok((to, Box::new(Limited::new(selected, command.limit))))
}

fn project(
    schema: &arrow_schema::SchemaRef,
    columns: Option<&[String]>,
) -> Result<arrow_schema::SchemaRef> {
    let Some(columns) = columns else { return Ok(Arc::clone(schema)) };
    let places = columns.iter().map(|column| schema.index_of(column));
    let places = places.collect::<Result<Vec<_>, _>>();
    let places = places.map_err(|error| arrowsmith::Error::Config(error.to_string()))?;
    Ok(Arc::new(schema.project(&places)?))
}

fn of_parquet(
    command: Command,
    filter: Option<Predicate>,
    mut text: Text,
    bytes_max: usize,
    cancel: Arc<AtomicBool>,
) -> Result<Opened> {
    // The footer is at the end: all of it has to be here.
    let mut file = BytesMut::new();
    let mut piece = vec![0; 64 << 10];
    loop {
        let count = text.read(&mut piece)?;
        if count == 0 {
            break;
        }
        if file.len() + count > bytes_max {
            let reason = format!("a file has {bytes_max} bytes at most (exchange_bytes_max)");
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, reason).into());
        }
        file.extend_from_slice(piece.get(..count).unwrap_or_default());
    }
    let options = ParquetReadOptions {
        columns: command.columns.clone(),
        filter,
        limit: command.limit,
        memory_bytes_max: MEMORY_BYTES,
        threads: Some(1),
        ..ParquetReadOptions::default()
    };
    let mut reader = parquet::ReaderBuilder::new()
        .options(options)
        .cancel(cancel)
        .open([Input::bytes(file.freeze())])?;
    let from = arrow_array::RecordBatchReader::schema(&reader);
    let to = project(&from, command.columns.as_deref())?;
    let schema = Arc::clone(&to);
    let batches = std::iter::from_fn(move || reader.next_batch().transpose());
    Ok((to, Box::new(batches.map(move |batch| crate::select::conform(batch?, &schema)))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_text_without_an_end_is_an_error() {
        for (is_whole, expected) in [(true, Ok(3)), (false, Err(io::ErrorKind::UnexpectedEof))] {
            let (sender, mut text) = Text::new(Duration::from_secs(60));
            sender.send(Ok(Bytes::from_static(b"abc"))).await.unwrap();
            if is_whole {
                sender.send(Ok(Bytes::new())).await.unwrap();
            }
            drop(sender);
            let read = tokio::task::spawn_blocking(move || text.read_to_end(&mut Vec::new()));
            assert_eq!(read.await.unwrap().map_err(|error| error.kind()), expected);
        }
    }
}
