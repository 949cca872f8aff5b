// SPDX-License-Identifier: Apache-2.0
//! A Flight client in Rust: lists the flights, reads every endpoint in turn, and keeps its batches.

mod harness;

use arrow_array::RecordBatch;
use arrow_flight::flight_service_client::FlightServiceClient;
use arrow_flight::{FlightClient, FlightDescriptor};
use futures::stream::TryStreamExt;
use tonic::transport::Endpoint;

async fn get(uri: &str) -> Result<Vec<RecordBatch>, harness::Failure> {
    let channel = Endpoint::new(uri.replace("grpc://", "http://"))?.connect().await?;
    let service = FlightServiceClient::new(channel).max_decoding_message_size(usize::MAX);
    let mut client = FlightClient::new_from_inner(service);
    let info = client.get_flight_info(FlightDescriptor::new_path(vec!["taxi".into()])).await?;
    let mut batches = Vec::new();
    for endpoint in info.endpoint {
        let ticket = endpoint.ticket.ok_or("an endpoint without a ticket")?;
        batches.extend(client.do_get(ticket).await?.try_collect::<Vec<_>>().await?);
    }
    Ok(batches)
}

fn main() -> Result<(), harness::Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    harness::serve_commands(|uri| runtime.block_on(get(uri)))
}
