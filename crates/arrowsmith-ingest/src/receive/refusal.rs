// SPDX-License-Identifier: Apache-2.0
//! Why a request is refused, and the response that says so.

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};

/// Why a request is not taken.
#[derive(Debug)]
pub(crate) enum Refusal {
    UnknownStream,
    Token,
    /// Where its body ends is not said.
    Length,
    Encoding(String),
    Broken(String),
    TooLarge(usize),
    /// The bytes of Arrow data that its records may need, and the maximum.
    TooWide(u64, u64),
    /// The maximum number of connections is reached.
    Crowded,
    /// The client sends faster than it may, or than the sinks store.
    Pressure,
    Slow,
    Stopping,
    /// It was taken, and is not settled in time: it may still be published.
    Unsettled,
}

impl Refusal {
    fn status(&self) -> StatusCode {
        match self {
            Self::UnknownStream => StatusCode::NOT_FOUND,
            Self::Token => StatusCode::UNAUTHORIZED,
            Self::Length => StatusCode::LENGTH_REQUIRED,
            Self::Encoding(_) => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::Broken(_) => StatusCode::BAD_REQUEST,
            Self::TooLarge(_) | Self::TooWide(..) => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Crowded => StatusCode::SERVICE_UNAVAILABLE,
            Self::Pressure => StatusCode::TOO_MANY_REQUESTS,
            Self::Slow => StatusCode::REQUEST_TIMEOUT,
            Self::Stopping => StatusCode::SERVICE_UNAVAILABLE,
            Self::Unsettled => StatusCode::GATEWAY_TIMEOUT,
        }
    }

    fn message(&self) -> String {
        match self {
            Self::UnknownStream => "there is no stream of this name".to_owned(),
            Self::Token => "the request bears no token of this stream".to_owned(),
            Self::Length => "a request of HTTP/1.0 needs a Content-Length".to_owned(),
            Self::Encoding(name) => {
                format!("content-encoding {name:?}: gzip, zstd and identity are known")
            }
            Self::Broken(why) => why.clone(),
            Self::TooLarge(most) => {
                format!("the body is larger than {most} bytes (limits.body_bytes)")
            }
            Self::TooWide(bytes, most) => format!(
                "the records may become {bytes} bytes of Arrow data beyond their text, which is more \
                 than {most} (by service.memory); send fewer at a time"
            ),
            Self::Crowded => "there are too many connections; come again later".to_owned(),
            Self::Pressure => "the service is busy; send it again later".to_owned(),
            Self::Slow => "the body took too long to come".to_owned(),
            Self::Stopping => "the service ends".to_owned(),
            Self::Unsettled => {
                "the records were taken, and whether they are stored is not known yet".to_owned()
            }
        }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let body = serde_json::json!({ "error": self.message() }).to_string();
        let json = (header::CONTENT_TYPE, "application/json".to_owned());
        match self {
            Self::Pressure | Self::Stopping | Self::Crowded => {
                let again = (header::RETRY_AFTER, "1".to_owned());
                (self.status(), [json, again], body).into_response()
            }
            Self::Token => {
                let how = (header::WWW_AUTHENTICATE, "Bearer".to_owned());
                (self.status(), [json, how], body).into_response()
            }
            _ => (self.status(), [json], body).into_response(),
        }
    }
}
