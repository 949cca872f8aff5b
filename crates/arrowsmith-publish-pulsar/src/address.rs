// SPDX-License-Identifier: Apache-2.0
//! Where a broker is.

use crate::error::{PulsarError, Result};

/// The address of a broker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Address {
    /// Host, a name or a number; of IPv6 without brackets.
    pub(crate) host: String,
    pub(crate) port: u16,
    /// Through a proxy at that address: the target broker, as host:port.
    pub(crate) behind_proxy: Option<String>,
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "[{}]:{}", self.host, self.port),
            false => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

/// The address in `pulsar://host:port` or `pulsar+ssl://host:port`; the first of several.
pub(crate) fn address(url: &str) -> Result<Address> {
    let fault =
        || PulsarError::Option { option: "url", reason: format!("cannot be read: {url:?}") };
    let (scheme, rest) = url.split_once("://").ok_or_else(fault)?;
    let port = if scheme == "pulsar+ssl" { 6651 } else { 6650 };
    let place = rest.split([',', '/']).next().unwrap_or_default();
    let (host, port) = match place.strip_prefix('[') {
        Some(rest) => {
            let (host, after) = rest.split_once(']').ok_or_else(fault)?;
            (host, after.strip_prefix(':').map_or(Ok(port), str::parse))
        }
        None => match place.split_once(':') {
            Some((host, number)) => (host, number.parse()),
            None => (place, Ok(port)),
        },
    };
    if host.is_empty() {
        return Err(fault());
    }
    Ok(Address { host: host.to_owned(), port: port.map_err(|_| fault())?, behind_proxy: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_name_a_host_and_a_port() {
        for (url, host, port) in [
            ("pulsar://a", "a", 6650),
            ("pulsar+ssl://a", "a", 6651),
            ("pulsar://a:1/", "a", 1),
            ("pulsar://a:1,b:2", "a", 1),
            ("pulsar://[::1]:7", "::1", 7),
            ("pulsar+ssl://[::1]", "::1", 6651),
        ] {
            let found = address(url).unwrap();
            assert_eq!((found.host.as_str(), found.port), (host, port), "{url}");
        }
        for url in [
            "a:1",
            "pulsar://",
            "pulsar://:1",
            "pulsar://a:b",
            "pulsar://[::1:7",
            "pulsar://a:99999",
        ] {
            assert!(address(url).is_err(), "{url}");
        }
        assert_eq!(address("pulsar://[::1]:7").unwrap().to_string(), "[::1]:7");
    }
}
