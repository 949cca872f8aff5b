// SPDX-License-Identifier: Apache-2.0
//! The Flight service: what each call means for the datasets of a catalog. Flight SQL and other
//! protocols with commands of their own are [`Extension`]s.

pub(crate) mod actions;
pub(crate) mod exchange;
pub(crate) mod put;
mod shared;

use std::sync::Arc;

use arrow_flight::flight_descriptor::DescriptorType;
use arrow_flight::flight_service_server::FlightService;
use arrow_flight::{
    Action, ActionType, Criteria, Empty, FlightData, FlightDescriptor, FlightInfo,
    HandshakeRequest, HandshakeResponse, PollInfo, PutResult, SchemaAsIpc, SchemaResult, Ticket,
};
use arrow_ipc::writer::IpcWriteOptions;
use futures_util::stream::{self, BoxStream, StreamExt};
use tonic::{Request, Response, Status, Streaming};

pub use self::shared::Shared;
use self::shared::{command_of, without_sql};
use crate::encode::Message;
use crate::extension::{Any, Extension};
use crate::query::Query;

pub(crate) type Reply<T> = Result<Response<T>, Status>;
pub(crate) type Replies<T> = BoxStream<'static, Result<T, Status>>;

/// As tonic sends messages. Calls over the network do not come here: [`crate::connection`] sends
/// the segments themselves.
fn in_one_piece(messages: Replies<Message>) -> Response<Replies<FlightData>> {
    Response::new(messages.map(|message| message.map(Message::into_flight_data)).boxed())
}

/// The calls, as tonic has them.
#[derive(Clone)]
pub(crate) struct Service(pub(crate) Arc<Shared>);

/// A command, and who answers it.
type Command = (Arc<dyn Extension>, Any);

impl Service {
    /// The command of a protocol on top of Flight, if it is one.
    ///
    /// # Errors
    /// `Unimplemented` for one that this server does not have: it is not a name of a dataset.
    fn command(&self, descriptor: &FlightDescriptor) -> Result<Option<Command>, Status> {
        if descriptor.r#type != DescriptorType::Cmd as i32 {
            return Ok(None);
        }
        let Some(command) = command_of(&descriptor.cmd) else { return Ok(None) };
        match &self.0.extension {
            Some(extension) => Ok(Some((Arc::clone(extension), command))),
            None => without_sql(&command).map_or(Ok(None), Err),
        }
    }
}

#[tonic::async_trait]
impl FlightService for Service {
    type HandshakeStream = Replies<HandshakeResponse>;
    type ListFlightsStream = Replies<FlightInfo>;
    type DoGetStream = Replies<FlightData>;
    type DoPutStream = Replies<PutResult>;
    type DoActionStream = Replies<arrow_flight::Result>;
    type ListActionsStream = Replies<ActionType>;
    type DoExchangeStream = Replies<FlightData>;

    async fn handshake(
        &self,
        request: Request<Streaming<HandshakeRequest>>,
    ) -> Reply<Self::HandshakeStream> {
        let headers = request.metadata().clone().into_headers();
        let mut messages = request.into_inner();
        // A client with a header need not send anything else.
        let payload = match headers.contains_key(http::header::AUTHORIZATION) {
            true => None,
            false => messages.message().await?.map(|message| message.payload),
        };
        let token = self.0.guard.handshake(&headers, payload)?;
        let answer =
            HandshakeResponse { protocol_version: 0, payload: token.clone().into_bytes().into() };
        let mut response = Response::new(stream::iter([Ok(answer)]).boxed());
        if let Ok(value) = format!("Bearer {token}").parse() {
            response.metadata_mut().insert("authorization", value);
        }
        Ok(response)
    }

    async fn list_flights(&self, request: Request<Criteria>) -> Reply<Self::ListFlightsStream> {
        // An expression is the beginning of the names.
        let criteria = request.into_inner().expression;
        let mut infos = Vec::new();
        for (name, _) in self.0.catalog.iter() {
            if !name.as_bytes().starts_with(&criteria) {
                continue;
            }
            let descriptor = FlightDescriptor::new_path(vec![name.to_owned()]);
            match self.0.info(Query::all(name), descriptor).await {
                // The endpoint of a live stream may be away; the others are there all the same.
                Err(error) if error.code() == tonic::Code::Unavailable => {}
                info => infos.push(info),
            }
        }
        Ok(Response::new(stream::iter(infos).boxed()))
    }

    async fn get_flight_info(&self, request: Request<FlightDescriptor>) -> Reply<FlightInfo> {
        let descriptor = request.into_inner();
        if let Some((extension, command)) = self.command(&descriptor)?
            && let Some(info) = extension.info(&self.0, &command, &descriptor).await?
        {
            return Ok(Response::new(info));
        }
        let query = Query::of(&descriptor)?;
        Ok(Response::new(self.0.info(query, descriptor).await?))
    }

    async fn poll_flight_info(&self, request: Request<FlightDescriptor>) -> Reply<PollInfo> {
        // Everything is there at once.
        let info = self.get_flight_info(request).await?.into_inner();
        Ok(Response::new(PollInfo::new().with_info(info)))
    }

    async fn get_schema(&self, request: Request<FlightDescriptor>) -> Reply<SchemaResult> {
        let descriptor = request.into_inner();
        if let Some((extension, command)) = self.command(&descriptor)?
            && let Some(info) = extension.info(&self.0, &command, &descriptor).await?
        {
            return Ok(Response::new(SchemaResult { schema: info.schema }));
        }
        let query = Query::of(&descriptor)?;
        let snapshot = self.0.dataset(&query.dataset)?.current();
        let schema = self.0.schema(&snapshot, &query).await?;
        SchemaAsIpc::new(&schema, &IpcWriteOptions::default())
            .try_into()
            .map(Response::new)
            .map_err(|error: arrow_schema::ArrowError| Status::internal(error.to_string()))
    }

    async fn do_get(&self, request: Request<Ticket>) -> Reply<Self::DoGetStream> {
        Ok(in_one_piece(self.0.get(request.into_inner()).await?))
    }

    async fn do_put(&self, request: Request<Streaming<FlightData>>) -> Reply<Self::DoPutStream> {
        let mut messages = request.into_inner();
        let Some(first) = messages.message().await? else {
            return Err(Status::invalid_argument("there is no message"));
        };
        let descriptor = first.flight_descriptor.clone().unwrap_or_default();
        if let Some((extension, command)) = self.command(&descriptor)? {
            let all = stream::iter([Ok(first)]).chain(messages).boxed();
            let answer = extension.put(&self.0, &command, all).await?;
            return Ok(Response::new(stream::iter([Ok(answer)]).boxed()));
        }
        let answer = put::put(Arc::clone(&self.0), &descriptor, first, messages).await?;
        Ok(Response::new(stream::iter([Ok(answer)]).boxed()))
    }

    async fn do_exchange(
        &self,
        request: Request<Streaming<FlightData>>,
    ) -> Reply<Self::DoExchangeStream> {
        Ok(in_one_piece(exchange::exchange(Arc::clone(&self.0), request.into_inner()).await?))
    }

    async fn do_action(&self, request: Request<Action>) -> Reply<Self::DoActionStream> {
        let action = request.into_inner();
        let results = actions::run(&self.0, action).await?;
        let results = results.into_iter().map(|body| Ok(arrow_flight::Result { body }));
        Ok(Response::new(stream::iter(results.collect::<Vec<_>>()).boxed()))
    }

    async fn list_actions(&self, _: Request<Empty>) -> Reply<Self::ListActionsStream> {
        let actions = actions::list(&self.0);
        Ok(Response::new(stream::iter(actions.into_iter().map(Ok)).boxed()))
    }
}
