// SPDX-License-Identifier: Apache-2.0
//! A Flight server in Rust over a folder of files: one flight, one endpoint.

mod data;
mod harness;

use std::sync::Arc;

use arrow_flight::encode::FlightDataEncoderBuilder;
use arrow_flight::error::FlightError;
use arrow_flight::flight_service_server::{FlightService, FlightServiceServer};
use arrow_flight::{
    Action, ActionType, Criteria, Empty, FlightData, FlightDescriptor, FlightEndpoint, FlightInfo,
    HandshakeRequest, HandshakeResponse, PollInfo, PutResult, SchemaResult, Ticket,
};
use futures::stream::{BoxStream, StreamExt, TryStreamExt};
use tokio_stream::wrappers::TcpListenerStream;
use tonic::{Request, Response, Status, Streaming};

use crate::data::Data;

struct Server {
    data: Arc<Data>,
}

type Answer<T> = Result<Response<T>, Status>;

#[tonic::async_trait]
impl FlightService for Server {
    type HandshakeStream = BoxStream<'static, Result<HandshakeResponse, Status>>;
    type ListFlightsStream = BoxStream<'static, Result<FlightInfo, Status>>;
    type DoGetStream = BoxStream<'static, Result<FlightData, Status>>;
    type DoPutStream = BoxStream<'static, Result<PutResult, Status>>;
    type DoExchangeStream = BoxStream<'static, Result<FlightData, Status>>;
    type DoActionStream = BoxStream<'static, Result<arrow_flight::Result, Status>>;
    type ListActionsStream = BoxStream<'static, Result<ActionType, Status>>;

    async fn get_flight_info(&self, request: Request<FlightDescriptor>) -> Answer<FlightInfo> {
        let endpoint = FlightEndpoint::new().with_ticket(Ticket::new("taxi"));
        let info = FlightInfo::new()
            .try_with_schema(self.data.schema())
            .map_err(|error| Status::internal(error.to_string()))?
            .with_descriptor(request.into_inner())
            .with_endpoint(endpoint);
        Ok(Response::new(info))
    }

    async fn do_get(&self, _: Request<Ticket>) -> Answer<Self::DoGetStream> {
        let batches = self.data.read();
        let stream = FlightDataEncoderBuilder::new()
            .with_schema(self.data.schema().clone())
            // Batches are sent unchanged, as in the other languages.
            .with_max_flight_data_size(usize::MAX)
            .build(batches.map_err(|error| FlightError::ExternalError(error)))
            .map_err(Status::from);
        Ok(Response::new(stream.boxed()))
    }

    async fn handshake(
        &self,
        _: Request<Streaming<HandshakeRequest>>,
    ) -> Answer<Self::HandshakeStream> {
        Err(Status::unimplemented("handshake"))
    }

    async fn list_flights(&self, _: Request<Criteria>) -> Answer<Self::ListFlightsStream> {
        Err(Status::unimplemented("list_flights"))
    }

    async fn poll_flight_info(&self, _: Request<FlightDescriptor>) -> Answer<PollInfo> {
        Err(Status::unimplemented("poll_flight_info"))
    }

    async fn get_schema(&self, _: Request<FlightDescriptor>) -> Answer<SchemaResult> {
        Err(Status::unimplemented("get_schema"))
    }

    async fn do_put(&self, _: Request<Streaming<FlightData>>) -> Answer<Self::DoPutStream> {
        Err(Status::unimplemented("do_put"))
    }

    async fn do_exchange(
        &self,
        _: Request<Streaming<FlightData>>,
    ) -> Answer<Self::DoExchangeStream> {
        Err(Status::unimplemented("do_exchange"))
    }

    async fn do_action(&self, _: Request<Action>) -> Answer<Self::DoActionStream> {
        Err(Status::unimplemented("do_action"))
    }

    async fn list_actions(&self, _: Request<Empty>) -> Answer<Self::ListActionsStream> {
        Err(Status::unimplemented("list_actions"))
    }
}

#[tokio::main]
async fn main() -> Result<(), harness::Failure> {
    let options = harness::options()?;
    let data = Data::open(&options.data, options.memory, options.batch_rows)?;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    harness::ready(&format!("grpc://{}", listener.local_addr()?));
    let service = FlightServiceServer::new(Server { data: Arc::new(data) });
    let server = tonic::transport::Server::builder()
        .add_service(service)
        .serve_with_incoming(TcpListenerStream::new(listener));
    tokio::select! {
        result = server => result?,
        _ = tokio::task::spawn_blocking(harness::wait_for_end) => {}
    }
    Ok(())
}
