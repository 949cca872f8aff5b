// SPDX-License-Identifier: Apache-2.0
//! The destination of records, as a URL: `tcp://`, `tls://`, `http://` or `https://`.

use std::fmt;
use std::str::FromStr;

/// The destination of records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// `host:port`.
    pub authority: String,
    /// Name or address without the port, for which the certificate has to be issued.
    pub host: String,
    /// Whether TLS is used.
    pub tls: bool,
    /// Path of requests; `None` for TCP.
    pub path: Option<String>,
}

/// The error for a text that is not a target. The message lists the accepted forms.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not tcp://HOST:PORT, tls://HOST:PORT or http[s]://HOST[:PORT]/PATH")]
pub struct TargetError {
    /// The given text.
    pub text: String,
}

impl FromStr for Target {
    type Err = TargetError;

    fn from_str(text: &str) -> Result<Self, TargetError> {
        let wrong = || TargetError { text: text.to_owned() };
        let (scheme, rest) = text.split_once("://").ok_or_else(wrong)?;
        let (tls, http) = match scheme {
            "tcp" => (false, false),
            "tls" => (true, false),
            "http" => (false, true),
            "https" => (true, true),
            _ => return Err(wrong()),
        };
        let (authority, path) = match rest.find('/') {
            Some(at) if http => (&rest[..at], Some(&rest[at..])),
            None if http => (rest, Some("/")),
            None => (rest, None),
            Some(_) => return Err(wrong()),
        };
        let visible = |text: &str| text.bytes().all(|byte| byte.is_ascii_graphic());
        if !visible(rest) || authority.contains(['@', '?', '#']) {
            return Err(wrong());
        }
        let (host, port) = match authority.rsplit_once(':') {
            // The last colon of an address in brackets without a port is inside them.
            Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
            _ => (authority, None),
        };
        let port = match (port, http, tls) {
            (Some(port), ..) => port.parse::<u16>().map_err(|_| wrong())?,
            (None, true, false) => 80,
            (None, true, true) => 443,
            (None, false, _) => return Err(wrong()),
        };
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        if bare.is_empty() {
            return Err(wrong());
        }
        Ok(Self {
            authority: format!("{host}:{port}"),
            host: bare.to_owned(),
            tls,
            path: path.map(str::to_owned),
        })
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = match (&self.path, self.tls) {
            (None, false) => "tcp",
            (None, true) => "tls",
            (Some(_), false) => "http",
            (Some(_), true) => "https",
        };
        let path = self.path.as_deref().unwrap_or_default();
        write!(f, "{scheme}://{}{path}", self.authority)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_read_and_written() {
        let cases = [
            ("tcp://127.0.0.1:10197", "tcp://127.0.0.1:10197", "127.0.0.1"),
            ("tls://[::1]:5", "tls://[::1]:5", "::1"),
            ("http://example.org", "http://example.org:80/", "example.org"),
            ("https://a.b/v1/trip?x=1", "https://a.b:443/v1/trip?x=1", "a.b"),
        ];
        for (text, written, host) in cases {
            let target: Target = text.parse().unwrap();
            assert_eq!(target.to_string(), written);
            assert_eq!(target.host, host);
        }
    }

    #[test]
    fn what_is_no_target_is_refused() {
        let wrong = [
            "",
            "127.0.0.1:1",
            "udp://a:1",
            "tcp://a",
            "tcp://:1",
            "tcp://a:1/x",
            "tcp://a:70000",
            "http://",
            "http://u@h/",
            "http://a b/",
            "http://a\r\n/",
            "tcp://[]:1",
        ];
        for text in wrong {
            assert!(text.parse::<Target>().is_err(), "{text:?}");
        }
    }
}
