// SPDX-License-Identifier: Apache-2.0
//! Our errors as gRPC statuses. No status tells a path of the server's files: the log has the whole text.

use arrowsmith::Error;
use tonic::Status;
use tracing::warn;

/// What a client is told about an error of a reader. `dataset` is the name that the client used.
pub(crate) fn status(dataset: &str, error: &Error) -> Status {
    match error {
        Error::Config(message) => Status::invalid_argument(message.clone()),
        Error::Schema { .. } => Status::invalid_argument(error.to_string()),
        Error::Cancelled => Status::cancelled("cancelled"),
        Error::Data(error) => {
            warn!(dataset, %error, "bad data");
            let mut error = error.clone();
            error.position.source = None;
            Status::data_loss(format!("{dataset}: {error}"))
        }
        Error::File(error) => {
            warn!(dataset, %error, "bad file");
            let mut error = error.clone();
            error.place.source = None;
            Status::data_loss(format!("{dataset}: {error}"))
        }
        Error::Io { source, .. } => {
            warn!(dataset, %error, "a file cannot be read");
            Status::unavailable(format!("{dataset}: a file cannot be read: {}", source.kind()))
        }
        other => {
            warn!(dataset, error = %other, "reading failed");
            Status::internal(format!("{dataset}: reading failed"))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[test]
    fn paths_of_the_server_stay_here() {
        let error = Error::io("/secret/place", io::Error::from(io::ErrorKind::NotFound));
        let status = status("taxi", &error);
        assert!(!status.message().contains("secret"), "{}", status.message());
        assert!(status.message().contains("taxi"));
    }
}
