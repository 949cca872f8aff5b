// SPDX-License-Identifier: Apache-2.0
//! `arrowsmith health`: queries a running service over HTTP, and reports its health as exit status.
//! A container image without a shell has no other tool for this.

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

use arrowsmith_core::{Error, duration};
use clap::Args;

use crate::failure::{Failure, Outcome};

/// Maximum bytes read of a response: enough for its status line.
const ANSWER_BYTES_MAX: u64 = 4096;

/// Check the health of a running service
///
/// The exit status is 0 if it answers with status 200. `arrowsmith ingest` answers at /healthz (the
/// process is alive) and /readyz (it accepts records).
#[derive(Debug, Args)]
pub struct HealthArgs {
    /// URL of the health check; http only
    #[arg(value_name = "URL", default_value = "http://127.0.0.1:8080/healthz")]
    url: String,

    /// Timeout
    #[arg(long, value_name = "TIME", value_parser = duration::parse, default_value = "5s")]
    timeout: Duration,
}

pub fn run(args: &HealthArgs) -> Outcome {
    let (host, path) = split(&args.url)
        .ok_or_else(|| Failure::Usage(format!("{}: expected http://HOST:PORT/PATH", args.url)))?;
    // A timeout of 0 is an error of the socket.
    let timeout = args.timeout.max(Duration::from_secs(1));
    let answer = request(&host, path, timeout)
        .map_err(|error| Failure::Work(Error::io(args.url.as_str(), error)))?;
    let line = answer.lines().next().unwrap_or_default();
    if line.starts_with("HTTP/1.") && line.split(' ').nth(1) == Some("200") {
        return Ok(());
    }
    let error = io::Error::other(format!("expected status 200, found {line:?}"));
    Err(Failure::Work(Error::io(args.url.as_str(), error)))
}

/// Host and port, and the path after them.
fn split(url: &str) -> Option<(String, &str)> {
    let rest = url.strip_prefix("http://")?;
    let (host, path) = rest.find('/').map_or((rest, "/"), |at| rest.split_at(at));
    // The text is copied into the request without escaping.
    if host.is_empty() || url.contains(|c: char| c.is_control() || c == ' ') {
        return None;
    }
    let has_port = host.rsplit(':').next().is_some_and(|port| port.parse::<u16>().is_ok())
        && host.contains(':');
    Some((if has_port { host.to_owned() } else { format!("{host}:80") }, path))
}

fn request(host: &str, path: &str, timeout: Duration) -> io::Result<String> {
    let mut failure = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for address in host.to_socket_addrs()? {
        let mut stream = match TcpStream::connect_timeout(&address, timeout) {
            Ok(stream) => stream,
            Err(error) => {
                failure = error;
                continue;
            }
        };
        stream.set_read_timeout(Some(timeout))?;
        stream.set_write_timeout(Some(timeout))?;
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n")?;
        let mut answer = Vec::new();
        stream.take(ANSWER_BYTES_MAX).read_to_end(&mut answer)?;
        return Ok(String::from_utf8_lossy(&answer).into_owned());
    }
    Err(failure)
}
