// SPDX-License-Identifier: Apache-2.0
//! Files of HTTP servers, by GET alone: signed URLs allow no other method, and many servers answer
//! no HEAD, or send no length.
//!
//! What is served by ranges is read by ranges; everything else once, from front to back. No
//! listings: those are of the `object_store` crate, whose client this uses.

use std::error::Error as _;
use std::io::{self, Read};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use arrowsmith_core::redact::redacted;
use arrowsmith_core::{Error, Result};
use bytes::Bytes;
use futures_util::TryStreamExt;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpRequestBody,
    HttpResponse, ReqwestConnector,
};
use object_store::{ClientOptions, OBJECT_STORE_COALESCE_DEFAULT, coalesce_ranges};
use reqwest::StatusCode;
use reqwest::header::{CONTENT_RANGE, ETAG, HeaderMap, HeaderValue, RANGE};
use url::Url;

use super::failure::io_error;
use super::object::{Body, runtime};
use crate::{Input, Ranged};

/// Attempts of a request that fails on the way, or by an error of the server.
const ATTEMPTS: u32 = 4;

/// The wait before the second attempt; it doubles.
const WAIT: Duration = Duration::from_millis(100);

/// What an attempt got; the inner error is one that may pass.
type Attempt<T> = io::Result<io::Result<T>>;

/// Tries again, after a while, what fails by an error that may pass.
async fn attempts<T, F>(once: impl Fn() -> F) -> io::Result<T>
where
    F: Future<Output = Attempt<T>>,
{
    let mut wait = WAIT;
    for _ in 1..ATTEMPTS {
        match once().await? {
            Ok(got) => return Ok(got),
            Err(_) => tokio::time::sleep(wait).await,
        }
        wait *= 2;
    }
    once().await?
}

/// The file at a URL as an input; `name` is its name in errors. Must not be called inside an async
/// runtime, whose thread it would block.
///
/// # Errors
/// [`Error::Io`] if the server does not have it or cannot be reached.
pub(super) fn file(url: Url, client: &ClientOptions, name: &str) -> Result<Input> {
    let opened = ReqwestConnector::default().connect(client).map_err(io_error).and_then(|client| {
        let file = File { client, url, bytes: 0, version: None };
        let first = runtime()?.block_on(file.get(Some(0..1)))?;
        file.input(first, name)
    });
    // A signature is a secret, and names come with rows (`--file-column`).
    opened.map_err(|error| Error::io(name, error))
}

/// A file whose ranges are fetched when they are read.
struct File {
    client: HttpClient,
    url: Url,
    bytes: u64,
    /// The file's tag, if the server gives one: another file has another.
    version: Option<HeaderValue>,
}

impl File {
    /// An input, by what a request of its first byte got.
    fn input(mut self, first: HttpResponse, name: &str) -> io::Result<Input> {
        let name = Some(Arc::from(redacted(name)));
        if first.status() == StatusCode::PARTIAL_CONTENT
            && let Some(bytes) = length(first.headers())
        {
            self.bytes = bytes;
            self.version = first.headers().get(ETAG).cloned();
            return Ok(Input::Ranged { name, ranged: Arc::new(self) });
        }
        let whole = match first.status() {
            StatusCode::OK => first,
            // Of a file without a byte, or of unknown length.
            _ => runtime()?.block_on(self.get(None))?,
        };
        Ok(Input::Reader { name, reader: body(whole) })
    }

    /// The response to a request of a range, or of everything.
    async fn get(&self, range: Option<Range<u64>>) -> io::Result<HttpResponse> {
        attempts(|| self.get_once(range.as_ref())).await
    }

    async fn get_once(&self, range: Option<&Range<u64>>) -> Attempt<HttpResponse> {
        let mut request = HttpRequest::new(HttpRequestBody::empty());
        *request.uri_mut() = self.url.as_str().parse().map_err(io::Error::other)?;
        if let Some(Range { start, end }) = range {
            let range = format!("bytes={start}-{}", end.saturating_sub(1));
            let range = HeaderValue::try_from(range).map_err(io::Error::other)?;
            request.headers_mut().insert(RANGE, range);
        }
        let response = match self.client.execute(request).await {
            Ok(response) => response,
            Err(error) => {
                let passes = error.kind() != HttpErrorKind::Unknown;
                let error = failed(&error);
                return if passes { Ok(Err(error)) } else { Err(error) };
            }
        };
        let status = response.status();
        let error = |kind| io::Error::new(kind, status.to_string());
        match status {
            status if status.is_success() => Ok(Ok(response)),
            StatusCode::RANGE_NOT_SATISFIABLE if range.is_some() => Ok(Ok(response)),
            StatusCode::NOT_FOUND | StatusCode::GONE => Err(error(io::ErrorKind::NotFound)),
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                Err(error(io::ErrorKind::PermissionDenied))
            }
            StatusCode::TOO_MANY_REQUESTS | StatusCode::REQUEST_TIMEOUT => {
                Ok(Err(error(io::ErrorKind::Other)))
            }
            status if status.is_server_error() => Ok(Err(error(io::ErrorKind::Other))),
            _ => Err(error(io::ErrorKind::Other)),
        }
    }

    /// The bytes of a range: exactly as many as were requested, whatever the server sends.
    async fn fetch(&self, range: Range<u64>) -> io::Result<Bytes> {
        attempts(|| self.fetch_once(&range)).await
    }

    async fn fetch_once(&self, range: &Range<u64>) -> Attempt<Bytes> {
        let response = match self.get_once(Some(range)).await? {
            Ok(response) => response,
            Err(error) => return Ok(Err(error)),
        };
        let wrong = |what| io::Error::other(format!("the server returned {what} than requested"));
        if response.status() != StatusCode::PARTIAL_CONTENT {
            return Err(io::Error::other("the server no longer returns ranges"));
        }
        let headers = response.headers();
        if length(headers).is_some_and(|bytes| bytes != self.bytes)
            || (self.version.is_some() && headers.get(ETAG) != self.version.as_ref())
        {
            return Err(io::Error::other("the file has changed since it was opened"));
        }
        let mut left = range.end.saturating_sub(range.start);
        let mut parts = Vec::new();
        let mut stream = response.into_body().bytes_stream();
        loop {
            let part = match stream.try_next().await {
                Ok(Some(part)) => part,
                Ok(None) => break,
                Err(error) => return Ok(Err(failed(&error))),
            };
            left = left.checked_sub(part.len() as u64).ok_or_else(|| wrong("more bytes"))?;
            parts.push(part);
        }
        Ok(match (left, parts.len()) {
            (0, 1) => Ok(parts.remove(0)),
            (0, _) => Ok(parts.concat().into()),
            _ => Err(wrong("fewer bytes")),
        })
    }
}

impl Ranged for File {
    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn read(&self, ranges: &[Range<u64>]) -> io::Result<Vec<Bytes>> {
        let fetch = |range| self.fetch(range);
        runtime()?.block_on(coalesce_ranges(ranges, fetch, OBJECT_STORE_COALESCE_DEFAULT))
    }
}

/// The body of a response, from front to back.
fn body(response: HttpResponse) -> Box<dyn Read + Send> {
    let pieces = response.into_body().bytes_stream().map_err(|error| failed(&error));
    Box::new(Body::new(Box::pin(pieces), None))
}

/// The length of the file of which a part was sent: `bytes 0-0/1234`.
fn length(headers: &HeaderMap) -> Option<u64> {
    let text = headers.get(CONTENT_RANGE)?.to_str().ok()?;
    text.strip_prefix("bytes ")?.split_once('/')?.1.trim().parse().ok()
}

/// The error of a request, and its causes, without the URL.
fn failed(error: &HttpError) -> io::Error {
    let kind = match error.kind() {
        HttpErrorKind::Connect => io::ErrorKind::ConnectionRefused,
        HttpErrorKind::Timeout => io::ErrorKind::TimedOut,
        HttpErrorKind::Interrupted => io::ErrorKind::ConnectionAborted,
        _ => io::ErrorKind::Other,
    };
    let mut texts: Vec<String> = Vec::new();
    let mut cause = error.source();
    while let Some(next) = cause {
        let text = next.to_string();
        if !texts.iter().any(|known| known.contains(&text)) {
            texts.push(text);
        }
        cause = next.source();
    }
    io::Error::new(kind, redacted(&texts.join(": ")).into_owned())
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::{TcpListener, TcpStream};
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::store::expand_url;
    use crate::{Content, OpenOptions};

    fn text() -> Vec<u8> {
        (0..300_000).flat_map(|n| format!("{{\"a\":{n}}}\n").into_bytes()).collect()
    }

    /// Answers each request, until the process ends; returns the address.
    fn serve(answer: impl Fn(&Request) -> Vec<u8> + Send + 'static) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        std::thread::spawn(move || {
            for mut client in listener.incoming().flatten() {
                let Ok(request) = Request::read(&mut client) else { continue };
                // A client that reads no more closes its side.
                let _ = client.write_all(&answer(&request));
            }
        });
        address
    }

    /// What is sent of a file.
    type Answer = fn(&Request, &[u8]) -> Vec<u8>;

    /// The same, by the number of the request.
    type Answers = fn(usize, &Request, &[u8]) -> Vec<u8>;

    struct Request {
        path: String,
        range: Option<(usize, usize)>,
    }

    impl Request {
        fn read(client: &mut TcpStream) -> io::Result<Self> {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                client.read_exact(&mut byte)?;
                head.push(byte[0]);
            }
            let head = String::from_utf8(head).map_err(io::Error::other)?;
            let path = head.strip_prefix("GET ").and_then(|rest| rest.split_once(' '));
            let range = head.split_once("range: bytes=").and_then(|(_, rest)| {
                let (start, end) = rest.lines().next()?.split_once('-')?;
                Some((start.parse().ok()?, end.parse().ok()?))
            });
            // Another method has no path here, and gets an error.
            Ok(Self { path: path.map_or_else(String::new, |(path, _)| path.to_owned()), range })
        }
    }

    fn response(status: &str, headers: &str, body: &[u8]) -> Vec<u8> {
        let head = format!("HTTP/1.1 {status}\r\nConnection: close\r\n{headers}\r\n");
        [head.as_bytes(), body].concat()
    }

    fn with_length(status: &str, headers: &str, body: &[u8]) -> Vec<u8> {
        response(status, &format!("Content-Length: {}\r\n{headers}", body.len()), body)
    }

    /// The bytes of the requested range.
    fn ranged(request: &Request, text: &[u8]) -> Vec<u8> {
        let Some((start, end)) = request.range else { return with_length("200 OK", "", text) };
        let (end, all) = ((end + 1).min(text.len()), text.len());
        match text.get(start..end) {
            Some(part) if !part.is_empty() => {
                let range = format!("Content-Range: bytes {start}-{}/{all}\r\n", end - 1);
                with_length("206 Partial Content", &range, part)
            }
            _ => with_length("416 Range Not Satisfiable", "", b""),
        }
    }

    fn opened(url: &str) -> Result<Input> {
        Ok(expand_url(url, &["jsonl"])?.remove(0).input)
    }

    fn read(url: &str) -> io::Result<Vec<u8>> {
        let source = opened(url).and_then(|input| input.open(&OpenOptions::default()));
        let Content::Stream(mut stream) = source.map_err(io::Error::other)?.content else {
            return Err(io::Error::other("not a stream"));
        };
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    #[test]
    fn files_are_read_from_any_server() {
        let answers: [Answer; 4] = [
            ranged,
            // No ranges.
            |_, text| with_length("200 OK", "", text),
            // No length: the connection ends.
            |_, text| response("200 OK", "", text),
            |_, text| {
                let mut body = Vec::new();
                for piece in text.chunks(100_000) {
                    body.extend(format!("{:x}\r\n", piece.len()).into_bytes());
                    body.extend([piece, b"\r\n"].concat());
                }
                body.extend(b"0\r\n\r\n");
                response("200 OK", "Transfer-Encoding: chunked\r\n", &body)
            },
        ];
        for (number, answer) in answers.into_iter().enumerate() {
            for text in [text(), Vec::new()] {
                let body = text.clone();
                let address = serve(move |request| match request.path.as_str() {
                    "/x.jsonl" => answer(request, &body),
                    "/moved" => with_length("302 Found", "Location: /x.jsonl\r\n", b""),
                    _ => with_length("405 Method Not Allowed", "", b""),
                });
                for path in ["x.jsonl", "moved"] {
                    let found = read(&format!("{address}/{path}")).unwrap();
                    assert!(found == text, "{number} {path}: {} bytes", found.len());
                }
            }
        }
    }

    /// The server gets the query, and whoever sees the name of the input does not.
    #[test]
    fn a_url_may_be_signed() {
        let address = serve(|request| match request.path.as_str() {
            "/x.jsonl?sig=SECRET&x=%20" => ranged(request, b"{}\n"),
            _ => with_length("403 Forbidden", "", b""),
        });
        let url = format!("{address}/x.jsonl?sig=SECRET&x=%20");
        assert_eq!(read(&url).unwrap(), b"{}\n");
        let name = opened(&url).unwrap().name().unwrap();
        assert_eq!(&*name, format!("{address}/x.jsonl?***"));
        let error = opened(&format!("{address}/x.jsonl?sig=WRONG")).unwrap_err().to_string();
        assert_eq!(error, format!("{address}/x.jsonl?***: 403 Forbidden"));
    }

    #[test]
    fn errors_are_those_of_the_server() {
        for (status, attempts) in
            [("404 Not Found", 1), ("418 I'm a teapot", 1), ("503 Service Unavailable", 4)]
        {
            let counted = Arc::new(AtomicUsize::new(0));
            let requests = Arc::clone(&counted);
            let address = serve(move |_| {
                requests.fetch_add(1, Ordering::Relaxed);
                with_length(status, "", b"<html>")
            });
            let url = format!("{address}/x.jsonl");
            assert_eq!(opened(&url).unwrap_err().to_string(), format!("{url}: {status}"));
            assert_eq!(counted.load(Ordering::Relaxed), attempts, "{status}");
        }
        let circle = serve(|_| with_length("302 Found", "Location: /x.jsonl\r\n", b""));
        let error = opened(&format!("{circle}/x.jsonl")).unwrap_err().to_string();
        assert!(error.ends_with("error following redirect: too many redirects"), "{error}");
    }

    /// A failure that passes is not seen; bytes that are missing or of another file are.
    #[test]
    fn what_is_read_is_the_file() {
        let text = text();
        // Numbers of requests: the first one opens the file.
        let answers: [(Answers, Option<&str>); 6] = [
            (
                |count, request, text| match count {
                    0 => with_length("500 Internal Server Error", "", b""),
                    2 => cut(request, text),
                    _ => ranged(request, text),
                },
                None,
            ),
            (|_, request, text| cut(request, text), Some("body")),
            (|_, request, text| ranged(request, &text[..text.len() - 1]), Some("has changed")),
            (|_, request, text| tagged(request, text, "2"), Some("has changed")),
            (|_, _, text| with_length("200 OK", "", text), Some("no longer returns ranges")),
            (
                |_, request, text| {
                    let part = "Content-Range: bytes 0-9/*\r\nETag: \"1\"\r\n";
                    let start = request.range.map_or(0, |(start, _)| start);
                    with_length("206 Partial Content", part, &text[start..start + 10])
                },
                Some("fewer bytes"),
            ),
        ];
        for (number, (answer, expected)) in answers.into_iter().enumerate() {
            let (body, count) = (text.clone(), AtomicUsize::new(0));
            let address = serve(move |request| {
                let count = count.fetch_add(1, Ordering::Relaxed);
                match (count, number) {
                    (0, 1..) => tagged(request, &body, "1"),
                    _ => answer(count, request, &body),
                }
            });
            match (read(&format!("{address}/x.jsonl")), expected) {
                (Ok(found), None) => assert!(found == text),
                (Err(error), Some(expected)) => {
                    assert!(error.to_string().contains(expected), "{error}");
                }
                (found, _) => panic!("{number}: {:?}", found.map(|bytes| bytes.len())),
            }
        }
    }

    fn tagged(request: &Request, text: &[u8], tag: &str) -> Vec<u8> {
        let answer = String::from_utf8(ranged(request, text)).unwrap();
        answer.replacen("\r\n", &format!("\r\nETag: \"{tag}\"\r\n"), 1).into_bytes()
    }

    /// A response that ends too early.
    fn cut(request: &Request, text: &[u8]) -> Vec<u8> {
        let mut answer = tagged(request, text, "1");
        answer.truncate(1000);
        answer
    }
}
