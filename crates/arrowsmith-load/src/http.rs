// SPDX-License-Identifier: Apache-2.0
//! One HTTP/1.1 connection: a request for each chunk, one after another.

use std::io::{Error, Result};
use std::time::Duration;

use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST, RETRY_AFTER};
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::time::sleep_until;

use crate::feed::{Feed, Item};
use crate::report::Count;
use crate::run::{Shared, Tries, within};
use crate::tls::connect;

/// Sends the feed over one connection. On failure, unacknowledged chunks are returned to the feed.
pub(crate) async fn session(
    shared: &Shared,
    path: &str,
    feed: &mut Feed,
    count: &mut Count,
    tries: &mut Tries,
) -> Result<()> {
    let options = &shared.options;
    count.report.acknowledged_records.get_or_insert(0);
    let stream = within(options.timeout, connect(&options.target, shared.tls.as_ref())).await?;
    let (mut sender, connection) =
        http1::handshake(TokioIo::new(stream)).await.map_err(Error::other)?;
    count.report.connections += 1;
    // It ends when `sender` is dropped; its errors are also those of the requests.
    tokio::spawn(connection);
    while let Some(item) = feed.next() {
        sleep_until(item.due.into()).await;
        let request = request(shared, path, item.chunk.text.clone())?;
        count.sent(&item);
        let exchange = async {
            sender.ready().await.map_err(Error::other)?;
            let response = sender.send_request(request).await.map_err(Error::other)?;
            let (status, wait) = (response.status(), retry_after(&response));
            response.into_body().collect().await.map_err(Error::other)?;
            Ok((status, wait))
        };
        match within(options.timeout, exchange).await {
            Ok((status, wait)) => {
                count.status(status.as_u16());
                settle(status, wait, item, feed, count, tries).await;
            }
            Err(error) => {
                feed.give_back([item].into_iter());
                return Err(error);
            }
        }
    }
    Ok(())
}

/// Handles a response: its records are acknowledged, refused or to be sent again.
async fn settle(
    status: StatusCode,
    wait: Option<Duration>,
    item: Item,
    feed: &mut Feed,
    count: &mut Count,
    tries: &mut Tries,
) {
    let later = matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE);
    if status.is_success() {
        tries.succeeded();
        count.acknowledged(&item);
    } else if later && tries.again(wait).await {
        feed.give_back([item].into_iter());
    } else {
        count.report.refused_records += item.chunk.records;
    }
}

fn request(shared: &Shared, path: &str, text: Bytes) -> Result<Request<Full<Bytes>>> {
    let mut request = Request::post(path)
        .header(HOST, &shared.options.target.authority)
        .header(CONTENT_TYPE, "application/x-ndjson");
    if let Some(token) = &shared.options.token {
        request = request.header(AUTHORIZATION, format!("Bearer {token}"));
    }
    request.body(Full::new(text)).map_err(Error::other)
}

fn retry_after<B>(response: &Response<B>) -> Option<Duration> {
    let seconds = response.headers().get(RETRY_AFTER)?.to_str().ok()?.parse().ok()?;
    Some(Duration::from_secs(seconds))
}
