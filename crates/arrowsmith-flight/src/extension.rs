// SPDX-License-Identifier: Apache-2.0
//! Room for a protocol on top of Flight: commands that are messages of their own, as Flight SQL's
//! are.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use arrow_flight::{ActionType, FlightData, FlightDescriptor, FlightInfo, PutResult};
use arrow_schema::SchemaRef;
use bytes::Bytes;
use futures_util::stream::BoxStream;
pub use prost_types::Any;
use tonic::Status;

use crate::dataset::Batches;
use crate::service::Shared;

/// The result of a ticket.
pub struct Answer {
    /// The schema of the batches.
    pub schema: SchemaRef,
    /// The batches.
    pub batches: Batches,
    /// Whether they are there already, so that no thread is needed to wait for them.
    pub ready: bool,
    /// Set once they have no reader any more.
    pub cancel: Arc<AtomicBool>,
}

/// Answers commands that the service itself does not know. `None` means that the extension does not
/// know it either.
#[tonic::async_trait]
pub trait Extension: Send + Sync + 'static {
    /// Schema and tickets of a command.
    async fn info(
        &self,
        shared: &Shared,
        command: &Any,
        descriptor: &FlightDescriptor,
    ) -> Result<Option<FlightInfo>, Status>;

    /// The batches of a ticket.
    async fn get(&self, shared: &Shared, command: &Any) -> Result<Option<Answer>, Status>;

    /// Takes the data that comes with a command.
    async fn put(
        &self,
        shared: &Shared,
        command: &Any,
        messages: BoxStream<'static, Result<FlightData, Status>>,
    ) -> Result<PutResult, Status>;

    /// Runs an action.
    async fn action(
        &self,
        shared: &Shared,
        name: &str,
        body: &Bytes,
    ) -> Result<Option<Vec<Bytes>>, Status>;

    /// The actions that there are.
    fn actions(&self) -> Vec<ActionType>;
}
