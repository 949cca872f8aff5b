// SPDX-License-Identifier: Apache-2.0
//! Removes secrets from URLs before they are shown: users, passwords, and queries, in which
//! signatures and tokens are.

use std::borrow::Cow;

/// What is shown in place of a secret.
const HIDDEN: &str = "***";

/// The text with the secrets of all URLs in it hidden: `https://***@host/x?***`.
///
/// ```
/// use arrowsmith_core::redact::redacted;
/// assert_eq!(redacted("s3://id:secret@bucket/x: not found"), "s3://***@bucket/x: not found");
/// ```
pub fn redacted(text: &str) -> Cow<'_, str> {
    let Some((scheme, rest)) = text.split_once("://") else { return Cow::Borrowed(text) };
    let is_end = |character: char| character.is_whitespace() || "\"'<>`".contains(character);
    let (url, after) = rest.split_at(rest.find(is_end).unwrap_or(rest.len()));
    let (place, query) = match url.split_once('?') {
        Some((place, _)) => (place, "?***"),
        None => (url, ""),
    };
    let (authority, path) = place.split_at(place.find(['/', '#']).unwrap_or(place.len()));
    // Of Azure's abfs, what is before the `@` is a container.
    let is_container = scheme.ends_with("abfs") || scheme.ends_with("abfss");
    let port = authority.rsplit_once(':').map_or("", |(_, port)| port);
    let shown = match authority.rsplit_once('@') {
        Some((container, _)) if is_container && !container.contains(':') => place.to_owned(),
        Some((_, host)) => format!("{HIDDEN}@{host}{path}"),
        // A password with a slash in it.
        None if !port.bytes().all(|byte| byte.is_ascii_digit()) && !port.ends_with(']') => {
            let host = place.rsplit_once('@').map(|(_, host)| format!("{HIDDEN}@{host}"));
            host.unwrap_or_else(|| place.to_owned())
        }
        None => place.to_owned(),
    };
    Cow::Owned(format!("{scheme}://{shown}{query}{}", redacted(after)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_hidden_and_all_else_is_shown() {
        for (text, expected) in [
            ("https://user:pw@host:80/a/b", "https://***@host:80/a/b"),
            ("https://token@host/a", "https://***@host/a"),
            ("s3://ID:sec/r+et@bucket/x", "s3://***@bucket/x"),
            ("https://h/x?X-Amz-Signature=s&b=1", "https://h/x?***"),
            (
                "GET http://a:p@h/x?sig=1 in 2s: to http://b:p@h",
                "GET http://***@h/x?*** in 2s: to http://***@h",
            ),
            ("(\"http://a:p@h/x?sig=1\")", "(\"http://***@h/x?***\")"),
            ("abfss://box@account.net/x", "abfss://box@account.net/x"),
            ("abfss://box:key@account.net/x?sv=1", "abfss://***@account.net/x?***"),
        ] {
            assert_eq!(redacted(text), expected);
        }
        for text in [
            "http://127.0.0.1:18777/x.parquet: 403 Forbidden",
            "s3://bucket/day=2024-01-01/a@b:c.parquet",
            "http://[::1]:80/x",
            "http://[::1]/x",
            "a/b.parquet: no such file",
            "tcp://HOST:PORT, tls://HOST:PORT or http[s]://HOST[:PORT]/PATH",
            "://",
        ] {
            assert_eq!(redacted(text), text);
        }
    }
}
