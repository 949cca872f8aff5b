// SPDX-License-Identifier: Apache-2.0
//! A stream that the caller writes and a reader reads, in bounded memory: for sources that this
//! library cannot read itself.
//!
//! There are no callbacks, so no foreign code runs on a decoder's thread. A writer waits while the
//! buffer is full; a reader that is closed or cancelled wakes both sides.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::ptr;
use std::slice;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use arrowsmith::{Error, Result};

use crate::error::guarded;

/// Maximum bytes that are written ahead of the reader.
pub(crate) const STREAM_BYTES_MAX: usize = 1 << 20;

/// The writer's end of a stream, from [`arrowsmith_stream_new`].
pub struct Stream(Arc<Pipe>);

#[derive(Default)]
struct State {
    bytes: VecDeque<u8>,
    /// How it ended: completely, or with an error.
    end: Option<std::result::Result<(), String>>,
    /// Whether it is a source of a reader.
    taken: bool,
    /// The reader is gone.
    closed: bool,
}

#[derive(Default)]
struct Pipe {
    state: Mutex<State>,
    changed: Condvar,
}

impl Pipe {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes bytes; returns whether they will be read.
    fn write(&self, mut bytes: &[u8]) -> bool {
        let mut state = self.lock();
        while !state.closed && state.end.is_none() {
            if bytes.is_empty() {
                return true;
            }
            let room = STREAM_BYTES_MAX.saturating_sub(state.bytes.len());
            if room == 0 {
                state = self.wait(state);
                continue;
            }
            let (now, later) = bytes.split_at(room.min(bytes.len()));
            state.bytes.extend(now);
            self.changed.notify_all();
            bytes = later;
        }
        false
    }

    fn end(&self, how: std::result::Result<(), String>) {
        self.lock().end.get_or_insert(how);
        self.changed.notify_all();
    }

    fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        state.bytes = VecDeque::new();
        drop(state);
        self.changed.notify_all();
    }
}

/// The reader's end. Dropping it closes the stream for the writer.
pub(crate) struct Outlet(Arc<Pipe>);

impl Outlet {
    /// A handle that closes the stream while a thread may be waiting in the outlet.
    pub(crate) fn valve(&self) -> Valve {
        Valve(Arc::clone(&self.0))
    }
}

impl Read for Outlet {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        let mut state = self.0.lock();
        loop {
            if !state.bytes.is_empty() {
                let read = state.bytes.read(buffer);
                drop(state);
                self.0.changed.notify_all();
                return read;
            }
            if state.closed {
                return Err(io::Error::other("the reader is closed"));
            }
            match &state.end {
                Some(Ok(())) => return Ok(0),
                Some(Err(why)) => return Err(io::Error::other(why.clone())),
                None => state = self.0.wait(state),
            }
        }
    }
}

impl Drop for Outlet {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// Closes a stream from any thread.
#[derive(Clone)]
pub(crate) struct Valve(Arc<Pipe>);

impl Valve {
    pub(crate) fn close(&self) {
        self.0.close();
    }
}

/// Closes streams when it is dropped: before a reader whose threads may wait for them.
pub(crate) struct Valves(pub(crate) Vec<Valve>);

impl Drop for Valves {
    fn drop(&mut self) {
        self.0.iter().for_each(Valve::close);
    }
}

/// The reader's end of a stream, which can be taken once.
///
/// # Safety
/// `stream` is null or a stream that was not freed.
pub(crate) unsafe fn outlet(stream: *const Stream) -> Result<Outlet> {
    // SAFETY: null or a stream that was not freed, by contract.
    let Some(stream) = (unsafe { stream.as_ref() }) else {
        return Err(Error::Config("a source of kind stream has no stream".to_owned()));
    };
    if std::mem::replace(&mut stream.0.lock().taken, true) {
        return Err(Error::Config("a stream can be read only once".to_owned()));
    }
    Ok(Outlet(Arc::clone(&stream.0)))
}

/// Creates a stream, to be the source of one reader, of kind
/// [`SOURCE_STREAM`](crate::SOURCE_STREAM), and to be written by another thread than the one that
/// opens the reader. Freed by [`arrowsmith_stream_free`].
#[unsafe(no_mangle)]
pub extern "C" fn arrowsmith_stream_new() -> *mut Stream {
    Box::into_raw(Box::new(Stream(Arc::default())))
}

/// Copies bytes to the stream, and waits while it is full: 1 if it took all of them, 0 if it has
/// ended or the reader is gone.
///
/// # Safety
/// `stream` was not freed, and is not while this waits; `bytes` points to `count` readable bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn arrowsmith_stream_write(
    stream: *const Stream,
    bytes: *const u8,
    count: u64,
) -> i64 {
    let work = || {
        let count = usize::try_from(count).ok().filter(|_| !bytes.is_null()).unwrap_or(0);
        // SAFETY: `stream` is not freed during the call, and `bytes` points to `count` readable
        // bytes, by contract.
        let (stream, bytes) = unsafe {
            (&*stream, if count == 0 { &[] } else { slice::from_raw_parts(bytes, count) })
        };
        Ok(i64::from(stream.0.write(bytes)))
    };
    // SAFETY: the error pointer is null.
    unsafe { guarded(ptr::null_mut(), 0, work) }
}

/// Ends the stream; with an `error` of `error_bytes` bytes of UTF-8, the reader fails with it,
/// after the rows before it. The first call counts.
///
/// # Safety
/// `stream` was not freed; `error` is null or points to that many readable bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn arrowsmith_stream_end(
    stream: *const Stream,
    error: *const u8,
    error_bytes: u64,
) {
    let work = || {
        // SAFETY: `stream` was not freed, by contract.
        let stream = unsafe { &*stream };
        let how = match usize::try_from(error_bytes) {
            _ if error.is_null() => Ok(()),
            Ok(count) => {
                // SAFETY: not null, and `error_bytes` readable bytes, by contract.
                let text = unsafe { slice::from_raw_parts(error, count) };
                Err(String::from_utf8_lossy(text).into_owned())
            }
            Err(_) => Err("the stream failed".to_owned()),
        };
        stream.0.end(how);
        Ok(())
    };
    // SAFETY: the error pointer is null.
    unsafe { guarded(ptr::null_mut(), (), work) }
}

/// Frees a stream; a reader that still waits for data fails. Null is ignored.
///
/// # Safety
/// `stream` is null, or came from [`arrowsmith_stream_new`], was not freed, and is in no other
/// call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn arrowsmith_stream_free(stream: *mut Stream) {
    if stream.is_null() {
        return;
    }
    // SAFETY: it came from `Box::into_raw` in `arrowsmith_stream_new`, and is in no other call, by
    // contract.
    let stream = unsafe { Box::from_raw(stream) };
    stream.0.end(Err("the stream was freed before its end".to_owned()));
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::{Duration, Instant};

    use super::*;

    fn pair() -> (Arc<Pipe>, Outlet) {
        let pipe = Arc::<Pipe>::default();
        (Arc::clone(&pipe), Outlet(pipe))
    }

    #[test]
    fn what_is_written_is_read_and_no_more_is_held_than_said() {
        let (pipe, mut outlet) = pair();
        let text: Vec<u8> = (0..251_u8).cycle().take(5 * STREAM_BYTES_MAX + 7).collect();
        let expected = text.clone();
        let writer = Arc::clone(&pipe);
        let thread = thread::spawn(move || {
            let all = text.chunks(100_003).all(|piece| writer.write(piece));
            writer.end(Ok(()));
            all
        });
        let mut found = Vec::new();
        let mut piece = vec![0; 70_001];
        loop {
            assert!(pipe.lock().bytes.len() <= STREAM_BYTES_MAX);
            match outlet.read(&mut piece).unwrap() {
                0 => break,
                read => found.extend_from_slice(&piece[..read]),
            }
        }
        assert!(thread.join().unwrap());
        assert!(found == expected);
        assert_eq!(outlet.read(&mut piece).unwrap(), 0, "the end stays the end");
        assert!(!pipe.write(b"x"), "nothing comes after the end");
    }

    #[test]
    fn a_full_stream_keeps_its_writer_waiting_until_somebody_reads_or_closes() {
        for close in [false, true] {
            let (pipe, mut outlet) = pair();
            assert!(pipe.write(&vec![1; STREAM_BYTES_MAX]));
            let writer = Arc::clone(&pipe);
            let thread = thread::spawn(move || writer.write(b"more"));
            thread::sleep(Duration::from_millis(50));
            assert!(!thread.is_finished());
            if close {
                drop(outlet);
            } else {
                let mut all = vec![0; STREAM_BYTES_MAX];
                outlet.read_exact(&mut all).unwrap();
            }
            assert_eq!(thread.join().unwrap(), !close);
        }
    }

    #[test]
    fn a_failure_comes_after_the_bytes_before_it() {
        let (pipe, mut outlet) = pair();
        pipe.write(b"abc");
        pipe.end(Err("line cut".to_owned()));
        pipe.end(Ok(()));
        let mut all = Vec::new();
        let error = outlet.read_to_end(&mut all).unwrap_err();
        assert_eq!((all.as_slice(), error.to_string().as_str()), (&b"abc"[..], "line cut"));
    }

    #[test]
    fn a_valve_wakes_a_reader_that_waits() {
        let (_pipe, mut outlet) = pair();
        let valves = Valves(vec![outlet.valve()]);
        let started = Instant::now();
        let thread = thread::spawn(move || outlet.read(&mut [0; 8]).unwrap_err().to_string());
        thread::sleep(Duration::from_millis(20));
        drop(valves);
        assert_eq!(thread.join().unwrap(), "the reader is closed");
        assert!(started.elapsed() < Duration::from_secs(120));
    }

    #[test]
    fn a_stream_that_is_freed_does_not_look_ended() {
        let stream = arrowsmith_stream_new();
        // SAFETY: it is used as its functions say.
        unsafe {
            let mut outlet = outlet(stream).unwrap();
            assert!(super::outlet(stream).is_err() && super::outlet(ptr::null()).is_err());
            assert_eq!(arrowsmith_stream_write(stream, b"x".as_ptr(), 1), 1);
            assert_eq!(arrowsmith_stream_write(stream, ptr::null(), 0), 1);
            arrowsmith_stream_free(stream);
            let error = outlet.read_to_end(&mut Vec::new()).unwrap_err();
            assert!(error.to_string().contains("freed before its end"));
        }
        // SAFETY: null is ignored.
        unsafe { arrowsmith_stream_free(ptr::null_mut()) };
    }
}
