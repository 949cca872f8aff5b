// SPDX-License-Identifier: Apache-2.0
//! Errors of stores in words that a user can act on: what the server said without the XML around
//! it, and which variable is missing where there are no credentials.

use std::io;

use arrowsmith_core::redact::redacted;

/// The start of the messages below.
const NONE: &str = "no credentials: ";

const AWS: &str = "no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY \
                   (AWS_SKIP_SIGNATURE=true for a public bucket)";
const AZURE: &str = "no credentials: set AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY \
                     or AZURE_STORAGE_SAS_KEY (AZURE_SKIP_SIGNATURE=true for a public container)";
const GOOGLE: &str = "no credentials: set GOOGLE_SERVICE_ACCOUNT to the path of a key, or log in \
                      with gcloud (GOOGLE_SKIP_SIGNATURE=true for a public bucket)";

/// Parts of errors where credentials are missing, and what to set: mostly addresses from
/// which machines in clouds request them. All clouds have one IP address.
const CREDENTIALS: [(&str, &str); 5] = [
    ("MicrosoftAzure error: Account must be specified", AZURE),
    ("169.254.169.254/metadata", AZURE),
    ("169.254.169.254/computeMetadata", GOOGLE),
    ("metadata.google.internal", GOOGLE),
    ("169.254.169.254", AWS),
];

/// The error of a request, with its kind.
pub(super) fn io_error(error: object_store::Error) -> io::Error {
    let text = redacted(&error.to_string()).into_owned();
    let kind = match &error {
        object_store::Error::NotSupported { .. } => io::ErrorKind::Unsupported,
        object_store::Error::PermissionDenied { .. }
        | object_store::Error::Unauthenticated { .. } => io::ErrorKind::PermissionDenied,
        _ => io::Error::from(error).kind(),
    };
    let message = message(&text);
    // Without any, no request was sent to the store.
    let kind = if message.starts_with(NONE) { io::ErrorKind::PermissionDenied } else { kind };
    io::Error::new(kind, message)
}

fn message(text: &str) -> String {
    if let Some((_, remedy)) = CREDENTIALS.iter().find(|(address, _)| text.contains(address)) {
        return (*remedy).to_owned();
    }
    let status = text.split_once("status code: ").map(|(_, status)| status);
    let Some(status) = status else { return text.to_owned() };
    // "404 Not Found: <?xml …": the line of the status, and the two elements that say why.
    let line = status.split(": ").next().unwrap_or(status).trim();
    let reasons = ["Code", "Message"].into_iter().filter_map(|name| element(status, name));
    let reason: Vec<&str> = reasons.collect();
    match reason.is_empty() {
        true => {
            let plain = status.split_once('<').map_or(status, |(before, _)| before);
            plain.trim().trim_end_matches(':').to_owned()
        }
        false => format!("{line}: {}", reason.join(": ")),
    }
}

/// The text of an XML element without elements inside.
fn element<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(&format!("<{name}>"))?;
    rest.split_once(&format!("</{name}>")).map(|(inside, _)| inside.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_server_said_is_left() {
        let start = "Object at location x not found: Error performing PUT http://h/b/x in 2ms - \
                     Server returned non-2xx status code: ";
        let xml = "<?xml version=\"1.0\"?>\n<Error><Code>NoSuchBucket</Code><Message>There is no \
                   such bucket</Message></Error>";
        for (text, expected) in [
            (
                format!("404 Not Found: {xml}"),
                "404 Not Found: NoSuchBucket: There is no such bucket",
            ),
            ("403 Forbidden: ".to_owned(), "403 Forbidden"),
            ("403 Forbidden: denied: by proxy".to_owned(), "403 Forbidden: denied: by proxy"),
            ("500 Oops: <html>…".to_owned(), "500 Oops"),
        ] {
            assert_eq!(message(&format!("{start}{text}")), expected);
        }
        assert_eq!(message("error sending request"), "error sending request");
        for (missing, variable) in [
            ("performing PUT http://169.254.169.254/latest/api/token in 8s", "AWS_ACCESS_KEY_ID"),
            (
                "performing GET http://169.254.169.254/computeMetadata/v1/instance/x in 8s",
                "GOOGLE_SERVICE_ACCOUNT",
            ),
            (
                "performing GET http://169.254.169.254/metadata/identity/oauth2/token in 8s",
                "AZURE_STORAGE_ACCOUNT_KEY",
            ),
            ("Generic MicrosoftAzure error: Account must be specified", "ACCOUNT_NAME"),
        ] {
            assert!(message(missing).contains(variable), "{missing}");
        }
    }
}
