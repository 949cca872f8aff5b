// SPDX-License-Identifier: Apache-2.0
//! The commands of Flight SQL, as an extension of the Flight service.

use std::sync::Arc;
use std::time::Duration;

use arrow_array::RecordBatch;
use arrow_flight::sql::{
    ActionClosePreparedStatementRequest, ActionCreatePreparedStatementRequest,
    ActionCreatePreparedStatementResult, Any, Command, DoPutPreparedStatementResult,
    ProstMessageExt, TicketStatementQuery,
};
use arrow_flight::{
    ActionType, FlightData, FlightDescriptor, FlightInfo, IpcMessage, PutResult, SchemaAsIpc,
    Ticket,
};
use arrow_ipc::writer::IpcWriteOptions;
use arrow_schema::Schema;
use arrowsmith_flight::dataset::Batches;
use arrowsmith_flight::ticket::Purpose;
use arrowsmith_flight::{Answer, Catalog, Extension, Shared};
use bytes::Bytes;
use futures_util::stream::BoxStream;
use tonic::Status;
use tonic_prost::prost::Message as _;

use crate::engine::QueryEngine;
use crate::metadata::Metadata;
use crate::prepared::{Prepared, parameters};

const CREATE: &str = "CreatePreparedStatement";
const CLOSE: &str = "ClosePreparedStatement";

/// Bounds of queries.
#[derive(Debug, Clone)]
pub struct SqlOptions {
    /// Threads that run queries. Default: one for each core.
    pub threads: usize,
    /// Memory of all queries together, in bytes. Larger sorts and joins spill to temporary files.
    /// Default 1 GiB.
    pub memory_bytes_max: usize,
    /// Memory of one query, in bytes: of its sorts and joins and of the results of its functions.
    /// Default 512 MiB.
    pub query_bytes_max: usize,
    /// How long a query may work, the time not counted for which it waits for its reader; `None`
    /// for no end. Default five minutes.
    pub query_time: Option<Duration>,
}

impl Default for SqlOptions {
    fn default() -> Self {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            threads,
            memory_bytes_max: 1 << 30,
            query_bytes_max: 512 << 20,
            query_time: Some(Duration::from_secs(300)),
        }
    }
}

/// Flight SQL over a catalog.
pub struct FlightSql {
    engine: QueryEngine,
    metadata: Metadata,
    prepared: Prepared,
}

fn command_of(any: &arrowsmith_flight::Any) -> Result<Command, Status> {
    let any = Any { type_url: any.type_url.clone(), value: any.value.clone().into() };
    Command::try_from(any).map_err(|error| Status::invalid_argument(error.to_string()))
}

fn unsupported(what: &str) -> Status {
    Status::unimplemented(format!("{what}: datasets are read with SQL and appended to with DoPut"))
}

/// A schema as the protocol carries it inside of messages.
fn schema_bytes(schema: &Schema) -> Result<Bytes, Status> {
    let options = IpcWriteOptions::default();
    let message: Result<IpcMessage, _> = SchemaAsIpc::new(schema, &options).try_into();
    Ok(message.map_err(|error| Status::internal(error.to_string()))?.0)
}

fn rows(batch: RecordBatch) -> Answer {
    let schema = batch.schema();
    let batches: Batches = Box::new(std::iter::once(Ok(batch)));
    Answer { schema, batches, ready: true, cancel: Arc::default() }
}

impl FlightSql {
    /// Over the datasets of a catalog.
    ///
    /// # Errors
    /// If the system cannot create threads.
    pub fn new(catalog: Arc<Catalog>, options: &SqlOptions) -> arrowsmith::Result<Self> {
        Ok(Self {
            engine: QueryEngine::new(catalog, options)?,
            metadata: Metadata::new()?,
            prepared: Prepared::default(),
        })
    }

    async fn prepare(&self, body: &Bytes) -> Result<Bytes, Status> {
        let request: ActionCreatePreparedStatementRequest = unpack(body)?;
        let described = self.engine.describe(&request.query).await?;
        let result = ActionCreatePreparedStatementResult {
            dataset_schema: schema_bytes(&described.schema)?,
            parameter_schema: schema_bytes(&described.parameters)?,
            prepared_statement_handle: self.prepared.add(request.query)?.into(),
        };
        Ok(result.as_any().encode_to_vec().into())
    }
}

fn unpack<M: ProstMessageExt>(body: &Bytes) -> Result<M, Status> {
    let bad = || Status::invalid_argument(format!("no {}", M::type_url()));
    let any = Any::decode(body.clone()).map_err(|_| bad())?;
    any.unpack().ok().flatten().ok_or_else(bad)
}

#[tonic::async_trait]
impl Extension for FlightSql {
    async fn info(
        &self,
        shared: &Shared,
        any: &arrowsmith_flight::Any,
        descriptor: &FlightDescriptor,
    ) -> Result<Option<FlightInfo>, Status> {
        let command = command_of(any)?;
        let (schema, ticket) = match &command {
            Command::Unknown(_) => return Ok(None),
            Command::CommandStatementQuery(query) => {
                if query.transaction_id.as_ref().is_some_and(|id| !id.is_empty()) {
                    return Err(unsupported("transactions"));
                }
                let described = self.engine.describe(&query.query).await?;
                let handle = shared.signer.seal(Purpose::Statement, query.query.as_bytes());
                let ticket = TicketStatementQuery { statement_handle: handle };
                (described.schema, ticket.as_any().encode_to_vec())
            }
            Command::CommandPreparedStatementQuery(query) => {
                let statement = self.prepared.get(&query.prepared_statement_handle)?;
                (self.engine.describe(&statement.sql).await?.schema, any.encode_to_vec())
            }
            command => match self.metadata.answer(&shared.catalog, command)? {
                Some(batch) => (batch.schema(), any.encode_to_vec()),
                None => return Err(unsupported(command.type_url())),
            },
        };
        let ticket = Ticket::new(ticket);
        shared.info_of(&schema, descriptor.clone(), ticket).map(Some)
    }

    async fn get(
        &self,
        shared: &Shared,
        any: &arrowsmith_flight::Any,
    ) -> Result<Option<Answer>, Status> {
        let command = command_of(any)?;
        let (sql, parameters) = match &command {
            Command::Unknown(_) => return Ok(None),
            Command::TicketStatementQuery(ticket) => {
                let sql = shared.signer.open(Purpose::Statement, &ticket.statement_handle)?;
                let sql = std::str::from_utf8(sql)
                    .map_err(|error| Status::invalid_argument(error.to_string()))?;
                (sql.to_owned(), Vec::new())
            }
            Command::CommandPreparedStatementQuery(query) => {
                let statement = self.prepared.get(&query.prepared_statement_handle)?;
                (statement.sql, statement.parameters)
            }
            command => {
                let batch = self.metadata.answer(&shared.catalog, command)?;
                let batch = batch.ok_or_else(|| unsupported(command.type_url()))?;
                return Ok(Some(rows(batch)));
            }
        };
        let cancel = Arc::default();
        let (schema, batches) = self.engine.run(sql, parameters, Arc::clone(&cancel)).await?;
        Ok(Some(Answer { schema, batches, ready: false, cancel }))
    }

    async fn put(
        &self,
        _: &Shared,
        any: &arrowsmith_flight::Any,
        messages: BoxStream<'static, Result<FlightData, Status>>,
    ) -> Result<PutResult, Status> {
        match command_of(any)? {
            Command::CommandPreparedStatementQuery(query) => {
                let handle = query.prepared_statement_handle;
                self.prepared.bind(&handle, parameters(messages).await?)?;
                let result =
                    DoPutPreparedStatementResult { prepared_statement_handle: Some(handle) };
                Ok(PutResult { app_metadata: result.encode_to_vec().into() })
            }
            other => Err(unsupported(other.type_url())),
        }
    }

    async fn action(
        &self,
        _: &Shared,
        name: &str,
        body: &Bytes,
    ) -> Result<Option<Vec<Bytes>>, Status> {
        match name {
            CREATE => Ok(Some(vec![self.prepare(body).await?])),
            CLOSE => {
                let request: ActionClosePreparedStatementRequest = unpack(body)?;
                self.prepared.close(&request.prepared_statement_handle);
                Ok(Some(Vec::new()))
            }
            "BeginTransaction"
            | "EndTransaction"
            | "BeginSavepoint"
            | "EndSavepoint"
            | "CancelQuery"
            | "CreatePreparedSubstraitPlan" => Err(unsupported(name)),
            _ => Ok(None),
        }
    }

    fn actions(&self) -> Vec<ActionType> {
        let action = |name: &str, description: &str| ActionType {
            r#type: name.to_owned(),
            description: description.to_owned(),
        };
        vec![
            action(CREATE, "Flight SQL: keeps a statement with parameters"),
            action(CLOSE, "Flight SQL: forgets it"),
        ]
    }
}
