// SPDX-License-Identifier: Apache-2.0
//! Errors as gRPC statuses. No status contains a path of the server's files; the log has the whole
//! text.

use std::io;

use arrowsmith::Error;
use arrowsmith_core::memory::Refused;
use tokio::task::JoinError;
use tonic::Status;
use tracing::warn;

/// The status for a task that did not return: memory that was refused names its limit.
pub(crate) fn unwound(error: JoinError, what: &str) -> Status {
    match error.try_into_panic().map(Refused::caught) {
        Ok(Ok(refused)) => Status::resource_exhausted(refused.to_string()),
        _ => Status::internal(format!("{what} failed")),
    }
}

/// A status inside an error of a reader; [`status_of`] takes it out again.
pub fn carried(status: Status) -> Error {
    Error::Io { path: None, source: io::Error::other(status) }
}

/// The status of an invalid request: its full text, since that contains only the client's own
/// words.
pub(crate) fn mistake(error: &Error) -> Status {
    match error {
        Error::Config(message) => shortened(Status::invalid_argument(message)),
        Error::Schema { .. } => shortened(Status::invalid_argument(error.to_string())),
        other => status_of("request", other),
    }
}

/// Maximum size of a status's text, in bytes: it is sent in a header, of which clients take a few
/// KiB.
const REASON_BYTES_MAX: usize = 2_000;

/// A status of which the text fits a header: texts of clients, and keys, may be long.
#[must_use]
pub fn shortened(status: Status) -> Status {
    let reason = status.message();
    if reason.len() <= REASON_BYTES_MAX {
        return status;
    }
    let start = reason.get(..reason.floor_char_boundary(REASON_BYTES_MAX)).unwrap_or_default();
    Status::new(status.code(), format!("{start}…"))
}

/// The status of an error of a reader. `dataset` is the name that the client used.
///
/// The request has been checked before (`mistake`); so a reader's errors about options, schemas and
/// files concern the server's, and stay in the log.
pub fn status_of(dataset: &str, error: &Error) -> Status {
    match error {
        Error::Cancelled => Status::cancelled("cancelled"),
        Error::Data(error) => {
            warn!(dataset, %error, "bad data");
            let mut error = error.clone();
            error.position.source = None;
            shortened(Status::data_loss(format!("{dataset}: {error}")))
        }
        Error::File(error) => {
            warn!(dataset, %error, "bad file");
            let mut error = error.clone();
            error.place.source = None;
            shortened(Status::data_loss(format!("{dataset}: {error}")))
        }
        Error::Io { source, .. } => {
            if let Some(status) = source.get_ref().and_then(|inner| inner.downcast_ref::<Status>())
            {
                return status.clone();
            }
            warn!(dataset, %error, "a file cannot be read");
            let kind = source.kind();
            let text = format!("{dataset}: a file cannot be read: {kind}");
            match kind {
                io::ErrorKind::UnexpectedEof => Status::data_loss(text),
                _ => Status::unavailable(text),
            }
        }
        Error::Config(_) | Error::Schema { .. } => {
            warn!(dataset, %error, "a file does not fit");
            Status::failed_precondition(format!(
                "{dataset}: its files cannot be read as they are; the server's log says why"
            ))
        }
        Error::Arrow(error) => {
            warn!(dataset, %error, "bad data");
            Status::data_loss(format!(
                "{dataset}: its data is malformed; the server's log says why"
            ))
        }
        other => {
            warn!(dataset, error = %other, "reading failed");
            Status::internal(format!("{dataset}: reading failed"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_the_server_stay_here() {
        for error in [
            Error::io("/secret/place", io::Error::from(io::ErrorKind::NotFound)),
            Error::Config("/secret/place: has other columns than the first file".to_owned()),
            Error::schema("a", "/secret/place is not a schema"),
        ] {
            let status = status_of("taxi", &error);
            assert!(!status.message().contains("secret"), "{}", status.message());
            assert!(status.message().contains("taxi"));
        }
    }

    #[test]
    fn reasons_fit_a_header() {
        let key = "é".repeat(20_000);
        let schema = arrowsmith::plan::text::parse_schema(&format!("\"{key}\": int8")).unwrap();
        let text = format!("{{\"{key}\":1000}}");
        let reader = arrowsmith::json::ReaderBuilder::new().schema(schema.into());
        let mut reader = reader.open([arrowsmith::Input::bytes(text)]).unwrap();
        let data = reader.next_batch().unwrap_err();
        assert!(matches!(data, Error::Data(_)));
        for status in [
            status_of("taxi", &data),
            mistake(&Error::schema(&key, "no")),
            mistake(&Error::Config(key)),
        ] {
            let bytes = status.message().len();
            assert!((1_990..2_010).contains(&bytes), "{bytes}");
        }
    }

    #[test]
    fn a_status_comes_out_as_it_went_in() {
        let error = carried(Status::deadline_exceeded("late"));
        let status = status_of("taxi", &error);
        assert_eq!((status.code(), status.message()), (tonic::Code::DeadlineExceeded, "late"));
    }

    #[test]
    fn a_task_that_was_refused_memory_names_the_limit() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let refused =
            Refused { limit: "page_bytes_max", limit_bytes: 8, held_bytes: 0, asked_bytes: 9 };
        let failed = |work: fn(Refused)| {
            let task = async { tokio::task::spawn_blocking(move || work(refused)).await };
            unwound(runtime.block_on(task).unwrap_err(), "the reader")
        };
        let status = failed(|refused| refused.unwind());
        assert_eq!(status.code(), tonic::Code::ResourceExhausted);
        assert_eq!(status.message(), "9 bytes beyond 0 are more than page_bytes_max, 8");
        let status = failed(|_| std::panic::resume_unwind(Box::new("a bug")));
        assert_eq!((status.code(), status.message()), (tonic::Code::Internal, "the reader failed"));
    }
}
