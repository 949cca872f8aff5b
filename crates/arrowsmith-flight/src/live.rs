// SPDX-License-Identifier: Apache-2.0
//! A stream that another Flight endpoint publishes, such as `arrowsmith ingest`, served under a
//! name here: its messages are forwarded as they come, without decoding.

use std::time::Duration;

use arrow_flight::flight_service_client::FlightServiceClient;
use arrow_flight::{FlightDescriptor, Ticket};
use arrow_schema::Schema;
use futures_util::stream::{BoxStream, StreamExt};
use tonic::Status;
use tonic::transport::{Channel, Endpoint};

use crate::encode::Message;

/// How long connecting may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Maximum size of a message: that much is allocated before it comes.
const MESSAGE_BYTES_MAX: usize = 512 << 20;

/// Where a live stream comes from: `grpc://host:port/stream`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upstream {
    endpoint: String,
    stream: String,
}

impl Upstream {
    /// Parses `grpc://host:port/stream`; `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        let rest = text.strip_prefix("grpc://").or_else(|| text.strip_prefix("grpc+tcp://"))?;
        let (authority, stream) = rest.split_once('/')?;
        let named = !authority.is_empty() && !stream.is_empty() && !stream.contains('@');
        named.then(|| Self { endpoint: format!("http://{authority}"), stream: stream.to_owned() })
    }

    /// The stream's name.
    pub fn stream(&self) -> &str {
        &self.stream
    }

    async fn client(&self) -> Result<FlightServiceClient<Channel>, Status> {
        let endpoint = Endpoint::from_shared(self.endpoint.clone())
            .map_err(|error| Status::internal(error.to_string()))?;
        let channel = endpoint.connect_timeout(CONNECT_TIMEOUT).connect().await;
        let channel = channel
            .map_err(|_| Status::unavailable("the endpoint of this stream does not answer"))?;
        Ok(FlightServiceClient::new(channel).max_decoding_message_size(MESSAGE_BYTES_MAX))
    }

    /// The schema of its messages now.
    pub(crate) async fn schema(&self) -> Result<Schema, Status> {
        let descriptor = FlightDescriptor::new_path(vec![self.stream.clone()]);
        let answer = self.client().await?.get_schema(descriptor).await?.into_inner();
        crate::ipc::schema(&answer.schema).map_err(|error| Status::internal(error.to_string()))
    }

    /// Its messages from now on.
    pub(crate) async fn messages(
        &self,
    ) -> Result<BoxStream<'static, Result<Message, Status>>, Status> {
        let ticket = Ticket::new(format!("{}@now", self.stream));
        let answer = self.client().await?.do_get(ticket).await?.into_inner();
        Ok(answer.map(|data| data.map(Message::relayed)).boxed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_name_a_stream() {
        let upstream = Upstream::parse("grpc://localhost:8815/cars").unwrap();
        assert_eq!(upstream.stream(), "cars");
        for bad in ["cars", "grpc://localhost:8815", "grpc:///cars", "http://a/b", "grpc://a/b@7"] {
            assert_eq!(Upstream::parse(bad), None, "{bad}");
        }
    }
}
