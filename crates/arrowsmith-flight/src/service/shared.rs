// SPDX-License-Identifier: Apache-2.0
//! What calls share, and their reads: the description of a query's flight, and the
//! messages of a ticket. It knows no call.

use std::sync::Arc;
use std::time::SystemTime;

use arrow_flight::{FlightDescriptor, FlightEndpoint, FlightInfo, Ticket};
use arrow_schema::{Schema, SchemaRef};
use futures_util::stream::StreamExt;
use tonic::Status;
use tonic_prost::prost::Message as _;

use super::Replies;
use crate::auth::Guard;
use crate::catalog::{Catalog, Dataset};
use crate::dataset::{Batches, Content, Read, Snapshot};
use crate::encode::{Encoder, Message};
use crate::error::{mistake, status_of, unwound};
use crate::extension::{Answer, Any, Extension};
use crate::metrics::Metrics;
use crate::options::Options;
use crate::produce::{Governor, Origin, Production, Source, messages};
use crate::query::Query;
use crate::ticket::{ReadTicket, Signer};

/// Everything that calls share.
pub struct Shared {
    /// What is served.
    pub catalog: Arc<Catalog>,
    /// Seals tickets.
    pub signer: Signer,
    pub(crate) options: Options,
    pub(crate) guard: Guard,
    pub(crate) governor: Arc<Governor>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) extension: Option<Arc<dyn Extension>>,
    pub(crate) started: SystemTime,
}

impl Shared {
    /// The dataset of this name.
    ///
    /// # Errors
    /// `not_found`.
    pub fn dataset(&self, name: &str) -> Result<&Arc<Dataset>, Status> {
        self.catalog
            .get(name)
            .ok_or_else(|| Status::not_found(format!("there is no dataset {name:?}")))
    }

    fn endpoint(&self, ticket: Ticket) -> FlightEndpoint {
        let endpoint = FlightEndpoint::new()
            .with_ticket(ticket)
            .with_expiration_time(self.signer.expires().into());
        // Without a location a client uses the same connection.
        match &self.options.location {
            Some(location) => endpoint.with_location(location),
            None => endpoint,
        }
    }

    /// The answer about one endpoint of a ticket of an extension.
    ///
    /// # Errors
    /// A schema that IPC does not support.
    pub fn info_of(
        &self,
        schema: &Schema,
        descriptor: FlightDescriptor,
        ticket: Ticket,
    ) -> Result<FlightInfo, Status> {
        let info = FlightInfo::new()
            .try_with_schema(schema)
            .map_err(|error| Status::internal(error.to_string()))?;
        Ok(info
            .with_descriptor(descriptor)
            .with_endpoint(self.endpoint(ticket))
            .with_total_records(-1)
            .with_total_bytes(-1)
            .with_ordered(true))
    }

    pub(super) async fn schema(
        &self,
        snapshot: &Snapshot,
        query: &Query,
    ) -> Result<SchemaRef, Status> {
        match &snapshot.content {
            Content::Live(upstream) if query.is_all() => Ok(Arc::new(upstream.schema().await?)),
            Content::Live(_) => {
                Err(Status::invalid_argument("a live stream is read as it comes, and whole"))
            }
            _ => {
                let filter = query.predicate()?;
                snapshot
                    .check(query.columns.as_deref(), filter.as_ref())
                    .and_then(|()| snapshot.schema_of(query.columns.as_deref()))
                    .map_err(|error| mistake(&error))
            }
        }
    }

    pub(super) async fn info(
        &self,
        query: Query,
        descriptor: FlightDescriptor,
    ) -> Result<FlightInfo, Status> {
        let snapshot = self.dataset(&query.dataset)?.current();
        let schema = self.schema(&snapshot, &query).await?;
        // Parts that are read in parallel cannot share one limit.
        let parts = match query.limit {
            Some(_) => 1,
            None => snapshot.parts(self.options.endpoints()),
        };
        let all = query.filter.is_none() && query.limit.is_none();
        let rows = snapshot.rows.filter(|_| all).and_then(|rows| i64::try_from(rows).ok());
        let bytes = snapshot.bytes.filter(|_| all && query.columns.is_none());
        let mut info = FlightInfo::new()
            .try_with_schema(&schema)
            .map_err(|error| Status::internal(error.to_string()))?
            .with_descriptor(descriptor)
            .with_total_records(rows.unwrap_or(-1))
            .with_total_bytes(bytes.and_then(|bytes| i64::try_from(bytes).ok()).unwrap_or(-1))
            .with_ordered(true);
        for part in 0..parts {
            let ticket =
                ReadTicket { query: query.clone(), snapshot: snapshot.version, part, parts };
            info = info.with_endpoint(self.endpoint(Ticket::new(self.signer.read(&ticket))));
        }
        Ok(info)
    }

    /// The messages that a ticket is for.
    pub(crate) async fn get(&self, ticket: Ticket) -> Result<Replies<Message>, Status> {
        if let Some(extension) = &self.extension
            && let Some(command) = command_of(&ticket.ticket)
            && let Some(answer) = extension.get(self, &command).await?
        {
            let Answer { schema, batches, ready, cancel } = answer;
            let origin = if ready { Origin::Memory } else { Origin::Query };
            let admission = self.governor.admit(4 * self.options.message_bytes as u64).await?;
            return self.produce("query", &schema, (batches, origin), admission, cancel);
        }
        let ticket = self.signer.open_read(&ticket.ticket)?;
        self.read(ticket).await
    }

    async fn read(&self, ticket: ReadTicket) -> Result<Replies<Message>, Status> {
        let ReadTicket { query, snapshot: version, part, parts } = ticket;
        let dataset = self.dataset(&query.dataset)?;
        let snapshot = dataset.snapshot(version).ok_or_else(|| {
            Status::failed_precondition("the dataset has changed: request its flight again")
        })?;
        if let Content::Live(upstream) = &snapshot.content {
            let admission = self.governor.admit(0).await?;
            let messages = upstream.messages().await?;
            return Ok(messages
                .map(move |message| {
                    // Held as long as the stream is.
                    let _ = &admission;
                    message
                })
                .boxed());
        }
        let filter = query.predicate()?;
        let mut read = Read {
            columns: query.columns,
            filter,
            limit: query.limit,
            part,
            parts,
            batch_bytes: self.options.message_bytes,
            ..Read::default()
        };
        let name = query.dataset;
        snapshot
            .check(read.columns.as_deref(), read.filter.as_ref())
            .map_err(|error| mistake(&error))?;
        let schema =
            snapshot.schema_of(read.columns.as_deref()).map_err(|error| mistake(&error))?;
        let stored = snapshot.stored_messages(&read, self.options.message_bytes);
        if let Some(stored) = stored.filter(|_| self.is_plain()) {
            let admission = self.governor.admit(self.memory(&snapshot, &read)).await?;
            let production = Production {
                dataset: name,
                source: Source::Messages(stored),
                encoder: self.encoder(&schema)?,
                cancel: Arc::clone(&read.cancel),
            };
            let messages = messages(&self.governor, admission, production);
            return Ok(refreshing(messages, Arc::clone(dataset)));
        }
        let ready = matches!(snapshot.content, Content::Memory(_)) && read.filter.is_none();
        let admission = self.governor.admit(self.memory(&snapshot, &read)).await?;
        read.threads = self.governor.threads();
        let cancel = Arc::clone(&read.cancel);
        // Opening files waits for the disk.
        let batches = tokio::task::spawn_blocking(move || snapshot.read(&read))
            .await
            .map_err(|error| unwound(error, "the reader of this dataset"))?
            .map_err(|error| status_of(&name, &error));
        let batches = batches.inspect_err(|status| refresh(dataset, status))?;
        let origin = if ready { Origin::Memory } else { Origin::Decoder };
        let messages = self.produce(&name, &schema, (batches, origin), admission, cancel)?;
        Ok(refreshing(messages, Arc::clone(dataset)))
    }

    /// Memory of a read: pages of the decoder, and batches on their way.
    fn memory(&self, snapshot: &Snapshot, read: &Read) -> u64 {
        if matches!(snapshot.content, Content::Memory(_) | Content::Empty) {
            return 0;
        }
        if matches!(snapshot.content, Content::Ipc(_)) {
            // The block that is read, and those that wait.
            return snapshot
                .block_bytes()
                .saturating_mul(self.options.queue_messages_max as u64 + 1);
        }
        let message = self.options.message_bytes as u64;
        let message = snapshot.bytes.map_or(message, |bytes| message.min(16 * bytes));
        let queued = self.options.queue_messages_max as u64 + 2;
        snapshot.read_bytes(read.columns.as_deref()) + queued * message
    }

    fn is_plain(&self) -> bool {
        self.options.compression == crate::Compression::None
    }

    pub(crate) fn encoder(&self, schema: &SchemaRef) -> Result<Encoder, Status> {
        Encoder::new(schema, self.options.compression, self.options.message_bytes)
            .map_err(|error| Status::internal(error.to_string()))
    }

    fn produce(
        &self,
        dataset: &str,
        schema: &SchemaRef,
        (batches, origin): (Batches, Origin),
        admission: crate::produce::Admission,
        cancel: Arc<std::sync::atomic::AtomicBool>,
    ) -> Result<Replies<Message>, Status> {
        let production = Production {
            dataset: dataset.to_owned(),
            source: Source::Batches(batches, origin),
            encoder: self.encoder(schema)?,
            cancel,
        };
        Ok(messages(&self.governor, admission, production))
    }
}

/// Checks the files of a dataset again after a reader found that they have changed, so that the
/// next request for its flight gets a readable one.
fn refresh(dataset: &Arc<Dataset>, status: &Status) {
    if status.code() != tonic::Code::FailedPrecondition {
        return;
    }
    let dataset = Arc::clone(dataset);
    tokio::task::spawn_blocking(move || {
        if let Err(error) = dataset.refresh() {
            tracing::warn!(dataset = dataset.spec().name, %error, "the files cannot be read again");
        }
    });
}

fn refreshing(messages: Replies<Message>, dataset: Arc<Dataset>) -> Replies<Message> {
    messages
        .inspect(move |message| {
            if let Err(status) = message {
                refresh(&dataset, status);
            }
        })
        .boxed()
}

/// A protobuf command in a ticket or descriptor, with its type name.
pub(super) fn command_of(bytes: &[u8]) -> Option<Any> {
    let any = Any::decode(bytes).ok()?;
    any.type_url.starts_with("type.googleapis.com/").then_some(any)
}

/// The error for a command of Flight SQL, which this server does not have.
pub(super) fn without_sql(command: &Any) -> Option<Status> {
    let is_sql = command.type_url.contains("arrow.flight.protocol.sql");
    is_sql.then(|| Status::unimplemented("this server has no Flight SQL"))
}
