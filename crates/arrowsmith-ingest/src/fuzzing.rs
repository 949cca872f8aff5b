// SPDX-License-Identifier: Apache-2.0
//! What the fuzz targets drive: a connection without a network, the HTTP of a service,
//! configurations, the places of followed files, and a spool that an earlier process left. Not a
//! part of the public API.

use std::io::{self, Cursor, Read, Write};
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use arrowsmith_core::Result;
use arrowsmith_publish::{Message, Slots};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::watch;

use crate::config::{Config, LimitsConfig, Size, StreamConfig};
use crate::memory::Memory;
use crate::observe::metrics::Metrics;
use crate::receive::Common;
use crate::receive::connection::Receiver;
use crate::receive::follow::place::{Known, Places};
use crate::sequence::Sequence;
use crate::service::Service;
use crate::stream::{Queue, Stream};

/// Maximum number of portions of a connection: what is handed over waits, and no parser takes it.
pub const PORTIONS_MAX: usize = 250;

/// Memory for text, in bytes; more than any input that a fuzzer makes.
const MEMORY_BYTES: usize = 1 << 30;

/// What was handed over at once.
#[derive(Debug, PartialEq, Eq)]
pub struct Handed {
    /// A line before the text that was skipped: its number, offset, and the length in its reject.
    pub overlong: Option<(u64, u64, String)>,
    /// Line of the first byte, from 1.
    pub line: u64,
    /// Offset of the first byte.
    pub offset: u64,
    /// Lines; the last one of a connection may have no end.
    pub text: Vec<u8>,
}

/// What a connection hands over on which these portions come, one after another; none is empty.
///
/// # Errors
/// When the parts of a service cannot be made.
pub fn receive(portions: &[Vec<u8>], record_bytes_max: usize) -> Result<Vec<Handed>> {
    received(portions, record_bytes_max, false)
}

/// The same of a connection that fails at the end, as TLS does that was not ended in order, and
/// tells so once.
fn received(portions: &[Vec<u8>], record_bytes_max: usize, fails: bool) -> Result<Vec<Handed>> {
    let limits = LimitsConfig { record_bytes: Size(record_bytes_max), ..LimitsConfig::default() };
    let config = Config { limits: limits.clone(), ..Config::default() };
    let metrics = Arc::new(Metrics::new()?);
    let queue = Arc::new(Queue::new(1));
    let stream = StreamConfig { schema: "id: int64".to_owned(), ..StreamConfig::default() };
    let counts = metrics.stream("s");
    // No thread awaits the results; their channel has to stay open.
    let (stream, _results) = Stream::new("s", &config, stream, counts, Arc::clone(&queue))?;
    let (_go_on, stop) = watch::channel(false);
    let common = Common {
        limits,
        memory: Memory::new(MEMORY_BYTES, metrics.memory_bytes.clone()),
        arrow: Memory::new(MEMORY_BYTES, metrics.arrow_memory_bytes.clone()),
        growing: Memory::new(MEMORY_BYTES, metrics.memory_bytes.clone()),
        metrics,
        numbers: Sequence::begin(),
        lines_slots: Slots::new(1),
        http_slots: Slots::new(1),
        stop,
    };
    let receiver = Receiver::new(Arc::new(common), Arc::clone(&stream), "fuzzer", None);
    let transport = Portions { portions, at: 0, taken: 0, wait: false, fails };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    // A borrowed transport: the future ends before it does.
    runtime.block_on(receiver.run(transport));
    queue.close();
    let jobs = std::iter::from_fn(|| {
        let group = queue.take(0)?;
        queue.passed(&stream);
        Some(group)
    })
    .flatten();
    let handed = jobs.map(|entry| Handed {
        overlong: entry.job.overlong.map(|reject| {
            let position = &reject.error.position;
            (position.line, position.offset, reject.error.found.clone())
        }),
        line: entry.job.line,
        offset: entry.job.offset,
        text: entry.job.buffer.text().to_vec(),
    });
    Ok(handed.collect())
}

/// The result of opening a spool with any bytes as its segment.
#[derive(Debug, PartialEq, Eq)]
pub struct Recovered {
    /// Rows that wait, by the scan at the start.
    pub rows: u64,
    /// Rows of the messages that were read.
    pub read: u64,
    /// Numbers of the messages.
    pub sequences: Vec<u64>,
    /// Bytes of damage.
    pub damaged: u64,
}

/// Opens a spool with such a segment and reads it to its end.
///
/// # Errors
/// Those of the disk.
pub fn recover(folder: &std::path::Path, segment: &[u8], place: &str) -> io::Result<Recovered> {
    std::fs::write(folder.join("000000000001.spool"), segment)?;
    std::fs::write(folder.join("place"), place)?;
    let mut spool = crate::spool::Spool::open(crate::disk::system(), folder, u64::MAX)?;
    let rows = spool.rows();
    let (mut read, mut sequences) = (0, Vec::new());
    while let Some((message, place)) = spool.next()? {
        read += message.rows() as u64;
        sequences.push(message.sequence);
        spool.finish(place, message.rows() as u64)?;
    }
    let damaged = spool.damaged_bytes();
    spool.finish_all()?;
    drop(spool);
    for entry in std::fs::read_dir(folder)? {
        std::fs::remove_file(entry?.path())?;
    }
    Ok(Recovered { rows, read, sequences, damaged })
}

/// The bytes of a segment with this many messages.
///
/// # Errors
/// Those of the disk.
pub fn segment(folder: &std::path::Path, messages: u64) -> io::Result<Vec<u8>> {
    use arrow_array::{ArrayRef, Int64Array, RecordBatch};
    let mut spool = crate::spool::Spool::open(crate::disk::system(), folder, u64::MAX)?;
    for sequence in 1..=messages {
        let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..10));
        let batch = RecordBatch::try_from_iter([("n", numbers)]).map_err(io::Error::other)?;
        // The same bytes in each run.
        let received_at = std::time::SystemTime::UNIX_EPOCH;
        spool.append(&Message { received_at, ..Message::new("s", sequence, batch) })?;
    }
    spool.commit(false)?;
    // Bounded: by what was written above.
    std::fs::read(folder.join("000000000001.spool"))
}

/// A service on this machine, one for all inputs, whose stream `s` has the fields `n: int8` and
/// `l: list<struct<a: int64>>`.
fn service() -> Option<&'static Service> {
    static SERVICE: OnceLock<Option<Service>> = OnceLock::new();
    let start = || {
        let folder = std::env::temp_dir().join(format!("arrowsmith-fuzz-{}", std::process::id()));
        let path = |name: &str| folder.join(name).display().to_string();
        let settings = [
            "service.http=\"127.0.0.1:0\"".to_owned(),
            "service.threads=1".to_owned(),
            "service.memory=4MiB".to_owned(),
            "limits.body_bytes=64KiB".to_owned(),
            "limits.record_bytes=4KiB".to_owned(),
            // Clients here close what they send: nothing has to be waited for.
            "limits.greeting_seconds=60".to_owned(),
            "limits.idle_seconds=60".to_owned(),
            "limits.record_seconds=60".to_owned(),
            "stream.s.schema=\"n: int8, l: list<struct<a: int64>>\"".to_owned(),
            "stream.s.on_error=null".to_owned(),
            format!("stream.s.rejects={:?}", path("rejects")),
            "stream.s.sink.0.type=directory".to_owned(),
            format!("stream.s.sink.0.path={:?}", path("out")),
        ];
        Service::start(Config::load(None, &settings).ok()?).ok()
    };
    SERVICE.get_or_init(start).as_ref()
}

/// What the service answers to these bytes of a client that ends then; it still has to answer other
/// clients.
///
/// # Errors
/// When the service cannot be reached any more.
pub fn http(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let away = || io::Error::other("there is no service");
    let address = service().and_then(|one| one.addresses().get("http")).ok_or_else(away)?;
    let ask = |bytes: &[u8], ends: bool| -> io::Result<Vec<u8>> {
        let mut socket = std::net::TcpStream::connect(address)?;
        socket.set_read_timeout(Some(std::time::Duration::from_secs(120)))?;
        // It may have answered and gone before all of it was written.
        drop(socket.write_all(bytes));
        // A request that has not been answered yet ends with its client.
        if ends {
            drop(socket.shutdown(std::net::Shutdown::Write));
        }
        let mut answer = Vec::new();
        match socket.read_to_end(&mut answer) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Err(error),
            _ => Ok(answer),
        }
    };
    let answer = ask(bytes, true)?;
    let alive = b"GET /healthz HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";
    let alive = ask(alive, false)?;
    if alive.starts_with(b"HTTP/1.1 200") {
        return Ok(answer);
    }
    Err(io::Error::other(format!("it is not well: {}", alive.escape_ascii())))
}

/// Whether a text is a valid configuration. It opens no file but what the text names as schema.
#[must_use]
pub fn configuration(text: &str) -> bool {
    let config = text.parse::<toml::Table>().ok();
    let config = config.and_then(|table| Config::of(table).ok());
    config.is_some_and(|config| config.completed().check().is_ok())
}

/// Checks the places of a state against a text: a place that is recognized stays so when the text
/// grows, also after it is stored. Returns how many are recognized.
///
/// # Errors
/// When a text in memory cannot be read.
pub fn places(state: &[u8], text: &[u8]) -> io::Result<usize> {
    let Ok(places) = Places::parse(state) else { return Ok(0) };
    let again = serde_json::to_vec(&places).and_then(|text| Places::parse(&text));
    assert_eq!(again.ok().as_ref(), Some(&places));
    let meta = std::fs::metadata(std::env::temp_dir())?;
    let longer = [text, b"more"].concat();
    let mut found = 0;
    for place in places.0.values() {
        assert!(place.next_line() >= 1 && place.next_line() <= place.offset.saturating_add(1));
        let Some(mut known) = Known::by(place, &mut Cursor::new(text))? else { continue };
        found += 1;
        assert!(place.offset <= text.len() as u64);
        assert!(known.is_in(&mut Cursor::new(&longer))?);
        let at = usize::try_from(place.offset).unwrap_or(usize::MAX);
        known.add(longer.get(at..).unwrap_or_default());
        assert!(known.is_in(&mut Cursor::new(&longer))?);
        let noted = known.place(place.next_line(), std::path::Path::new("x"), &meta);
        assert_eq!(Known::by(&noted, &mut Cursor::new(&longer))?, Some(known));
    }
    Ok(found)
}

/// Yields portions, with a wait after each; discards what is written.
struct Portions<'a> {
    portions: &'a [Vec<u8>],
    at: usize,
    taken: usize,
    wait: bool,
    fails: bool,
}

impl AsyncRead for Portions<'_> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if std::mem::take(&mut self.wait) {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let Some(portion) = self.portions.get(self.at) else {
            let failed = std::mem::take(&mut self.fails);
            let error = || io::Error::from(io::ErrorKind::UnexpectedEof);
            return Poll::Ready(if failed { Err(error()) } else { Ok(()) });
        };
        let rest = portion.get(self.taken..).unwrap_or_default();
        let most = rest.len().min(buffer.remaining());
        buffer.put_slice(&rest[..most]);
        self.taken += most;
        if most == rest.len() {
            self.at += 1;
            self.taken = 0;
            self.wait = true;
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Portions<'_> {
    fn poll_write(
        self: Pin<&mut Self>,
        _context: &mut Context<'_>,
        text: &[u8],
    ) -> Poll<io::Result<usize>> {
        Poll::Ready(Ok(text.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn handed(portions: &[&str], record_bytes_max: usize) -> Vec<Handed> {
        let portions: Vec<Vec<u8>> = portions.iter().map(|text| text.as_bytes().to_vec()).collect();
        receive(&portions, record_bytes_max).unwrap()
    }

    #[test]
    fn portions_come_out_as_lines() {
        let found = handed(&["a\nb", "c\nd"], 10);
        let texts: Vec<&[u8]> = found.iter().map(|one| &one.text[..]).collect();
        assert_eq!(texts, [&b"a\n"[..], b"bc\n", b"d"]);
        let places: Vec<(u64, u64)> = found.iter().map(|one| (one.line, one.offset)).collect();
        assert_eq!(places, [(1, 0), (2, 2), (3, 5)]);
        assert!(found.iter().all(|one| one.overlong.is_none()));
    }

    #[test]
    fn what_stands_before_a_failure_is_no_line() {
        let long = "x".repeat(20_000);
        for (waits, last) in [(false, "12"), (true, "12"), (true, &long), (true, "")] {
            let text = format!("1\n2\n{last}");
            let mut portions = vec![text.into_bytes()];
            if waits {
                // The failure is reported by a read of its own, not after the available bytes.
                portions.push(b"3".to_vec());
            }
            let found = received(&portions, 10_000, true).unwrap();
            let text: Vec<u8> = found.iter().flat_map(|one| one.text.clone()).collect();
            assert_eq!(text, b"1\n2\n", "{waits} {}", last.len());
            assert!(found.iter().all(|one| one.overlong.is_none()));
        }
    }

    #[test]
    fn two_overlong_lines_one_after_the_other_are_two_rejects() {
        let long = "x".repeat(30);
        let tail = format!("{long}\n{long}");
        for last in ["\nok\n", "\n", ""] {
            let found = handed(&[&long, &tail, last], 10);
            let rejects: Vec<_> = found.iter().filter_map(|one| one.overlong.clone()).collect();
            let expected = [(1, 0, "60 bytes".to_owned()), (2, 61, "30 bytes".to_owned())];
            assert_eq!(rejects, expected, "{found:?}");
        }
    }
}
