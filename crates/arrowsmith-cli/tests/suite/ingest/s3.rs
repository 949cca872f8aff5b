// SPDX-License-Identifier: Apache-2.0
//! As much of S3 as uploads of small files take: objects in memory, behind HTTP. Some requests
//! fail: before the object is stored, after, or in the midst of its bytes.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// The bucket that there is.
pub const BUCKET: &str = "bucket";

/// One of this many requests fails, in turn in each way.
const FAULTS: u64 = 4;

/// A server. It ends with the process.
#[derive(Clone)]
pub struct S3 {
    state: Arc<Mutex<State>>,
    endpoint: String,
}

struct State {
    /// By their names in the bucket.
    objects: BTreeMap<String, Vec<u8>>,
    requests: u64,
}

impl S3 {
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let state = State { objects: BTreeMap::new(), requests: 0 };
        let this = Self { state: Arc::new(Mutex::new(state)), endpoint };
        let server = this.clone();
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let server = server.clone();
                thread::spawn(move || {
                    let client = BufReader::new(client);
                    // A client that is killed closes its connection.
                    let _ = server.serve(client);
                });
            }
        });
        this
    }

    /// What a client has in its environment.
    pub fn environment(&self) -> Vec<(String, String)> {
        let variables = [
            ("AWS_ENDPOINT", self.endpoint.as_str()),
            ("AWS_ALLOW_HTTP", "true"),
            ("AWS_REGION", "us-east-1"),
            ("AWS_ACCESS_KEY_ID", "id"),
            ("AWS_SECRET_ACCESS_KEY", "key"),
        ];
        variables.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec()
    }

    pub fn objects(&self) -> BTreeMap<String, Vec<u8>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).objects.clone()
    }

    /// How many requests failed.
    pub fn failures(&self) -> u64 {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).requests / FAULTS
    }

    fn serve(&self, mut client: BufReader<TcpStream>) -> std::io::Result<()> {
        loop {
            let (mut request, mut length) = (String::new(), 0);
            if client.read_line(&mut request)? == 0 {
                return Ok(());
            }
            loop {
                let mut line = String::new();
                client.read_line(&mut line)?;
                if line == "\r\n" {
                    break;
                }
                let (name, value) = line.split_once(':').unwrap();
                if name.eq_ignore_ascii_case("content-length") {
                    length = value.trim().parse().unwrap();
                }
            }
            let mut words = request.split(' ');
            assert_eq!(words.next(), Some("PUT"), "{request}");
            let name = words.next().unwrap().strip_prefix(&format!("/{BUCKET}/")).unwrap();
            let mut bytes = vec![0; length];
            let number = {
                let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
                state.requests += 1;
                state.requests
            };
            let fault = number.is_multiple_of(FAULTS).then_some(number / FAULTS % 3);
            if fault == Some(0) {
                client.read_exact(&mut bytes[..length / 2])?;
                return Ok(());
            }
            client.read_exact(&mut bytes)?;
            if fault == Some(1) {
                // Of these the client itself retries none.
                let body = "<Error><Code>AccessDenied</Code></Error>";
                let head = format!("HTTP/1.1 403 Forbidden\r\nContent-Length: {}", body.len());
                write!(client.get_mut(), "{head}\r\n\r\n{body}")?;
                continue;
            }
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            let before = state.objects.insert(decoded(name), bytes.clone());
            assert!(before.is_none_or(|before| before == bytes), "{name} has another content");
            drop(state);
            if fault.is_some() {
                return Ok(());
            }
            let head = "HTTP/1.1 200 OK\r\nETag: \"1\"\r\nContent-Length: 0";
            write!(client.get_mut(), "{head}\r\n\r\n")?;
        }
    }
}

/// A name without the escapes of URLs.
fn decoded(name: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = name.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        rest = after;
        if first == b'%' {
            let (digits, after) = rest.split_at(2);
            bytes.push(u8::from_str_radix(str::from_utf8(digits).unwrap(), 16).unwrap());
            rest = after;
        } else {
            bytes.push(first);
        }
    }
    String::from_utf8(bytes).unwrap()
}
