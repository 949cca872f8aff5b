// SPDX-License-Identifier: Apache-2.0
//! `arrowsmith health`: a server that answers 200, one that answers an error, one that does not
//! answer, and none.

use std::io::{Read, Write};
use std::net::TcpListener;

use arrowsmith_testkit::tools::free_address;

use crate::cli::run::{Folder, Ran};

/// Runs `health` against a server that gives this answer to one request; returns the request too.
fn ask(answer: &'static str) -> (Ran, String) {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/readyz", server.local_addr().unwrap());
    let thread = std::thread::spawn(move || {
        let (mut stream, _) = server.accept().unwrap();
        let mut request = Vec::new();
        while !request.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            request.push(byte[0]);
        }
        if answer.is_empty() {
            // Waits until the client closes.
            drop(stream.read(&mut [0]));
        }
        stream.write_all(answer.as_bytes()).unwrap_or_default();
        String::from_utf8(request).unwrap()
    });
    let ran = Folder::new().run(&["health", &url, "--timeout", "1"]);
    (ran, thread.join().unwrap())
}

#[test]
fn the_answer_is_the_status() {
    let (ran, request) = ask("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    ran.assert_status(0);
    assert!(request.starts_with("GET /readyz HTTP/1.1\r\nHost: 127.0.0.1:"), "{request}");

    let (ran, _) = ask("HTTP/1.1 503 Service Unavailable\r\n\r\n");
    ran.assert_status(1);
    assert!(ran.stderr.contains("expected status 200, found \"HTTP/1.1 503"), "{}", ran.stderr);

    ask("SSH-2.0-200\r\n").0.assert_status(1);
    ask("").0.assert_status(1);
}

#[test]
fn a_server_that_is_not_there_is_not_well() {
    let folder = Folder::new();
    let address = free_address();
    folder.run(&["health", &format!("http://{address}/healthz")]).assert_status(1);
    for url in ["https://127.0.0.1/", "127.0.0.1:8080", "http:///healthz", "http://a/ HTTP/1.1"] {
        folder.run(&["health", url]).assert_status(2);
    }
}
