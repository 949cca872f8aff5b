// SPDX-License-Identifier: Apache-2.0
//! A fuzz target: any bytes through every function of the C ABI. It panics on a bug of the library:
//! a caught panic, bytes that are not released exactly once, an invalid array.

#![allow(clippy::panic, reason = "a fuzz target says what it found by panicking")]

use std::ffi::{CStr, c_void};
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi};
use arrow_array::ffi_stream::{ArrowArrayStreamReader, FFI_ArrowArrayStream};

use crate::stream::STREAM_BYTES_MAX;
use crate::*;

/// Fixed options that are tried; others come from the bytes.
const OPTIONS: [&str; 5] = [
    "",
    r#"{"rejects":true,"on_error":"skip","threads":1}"#,
    r#"{"rejects":true,"on_error":"null","threads":2,"batch_rows":3}"#,
    r#"{"threads":1,"batch_rows":2}"#,
    r#"{"rejects":"all","on_error":"skip","threads":1,"refuse_lone_cr":true}"#,
];

unsafe extern "C" fn released(count: *mut c_void) {
    // SAFETY: `drive` gives the address of its counter, which outlives the reader.
    let count = unsafe { &*count.cast::<AtomicU32>() };
    // Sources are released by several threads at a time.
    count.fetch_add(1, Ordering::Relaxed);
}

/// Checks an error and frees it; returns whether there was one.
///
/// # Safety
/// `error` is null or came from this library.
unsafe fn spent(error: *mut ErrorInfo) -> bool {
    if error.is_null() {
        return false;
    }
    // SAFETY: it is an error, whose message is a C string.
    unsafe {
        let message = CStr::from_ptr((*error).message).to_string_lossy().into_owned();
        assert_ne!((*error).class, ERROR_INTERNAL, "{message}");
        arrowsmith_error_free(error);
    }
    true
}

/// Two bytes choose functions and options; then follow the input's bytes, of which the first may be
/// the options' text.
pub fn drive(data: &[u8]) {
    let [how, which, rest @ ..] = data else { return };
    let (options, content) = match OPTIONS.get(usize::from(*which)) {
        Some(options) => (options.as_bytes(), rest),
        None => rest.split_at(usize::from(*which).min(rest.len())),
    };
    let format = if how & 1 == 0 { FORMAT_JSON } else { FORMAT_PARQUET };
    let count = AtomicU32::new(0);
    // Without another thread a stream takes what it holds.
    let streamed = how & 64 != 0 && content.len() < STREAM_BYTES_MAX;
    let lent = how & 2 == 0 && !streamed;
    let mut streams = Vec::new();
    // SAFETY: what is given stays where it is until the readers are closed, which is in this
    // function.
    unsafe {
        let mut source = || {
            let mut source = Source {
                kind: SOURCE_BYTES,
                data: content.as_ptr(),
                bytes: content.len() as u64,
                release: Some(released),
                context: (&raw const count).cast_mut().cast(),
            };
            if streamed {
                let stream = arrowsmith_stream_new();
                let taken = arrowsmith_stream_write(stream, content.as_ptr(), source.bytes);
                assert_eq!(taken, 1, "a stream without a reader accepts bytes");
                let why = b"cut \xff";
                let text = if how & 128 == 0 { ptr::null() } else { why.as_ptr() };
                arrowsmith_stream_end(stream, text, why.len() as u64);
                streams.push(stream);
                source = Source {
                    kind: SOURCE_STREAM,
                    data: stream.cast_const().cast(),
                    release: None,
                    context: ptr::null_mut(),
                    ..source
                };
            } else if !lent {
                let buffer = arrowsmith_buffer_new(source.bytes);
                ptr::copy_nonoverlapping(content.as_ptr(), buffer, content.len());
                source = Source {
                    kind: SOURCE_BUFFER,
                    data: buffer,
                    release: None,
                    context: ptr::null_mut(),
                    ..source
                };
            }
            source
        };
        let mut error = ptr::null_mut();
        let mut given = 1;
        match how >> 2 & 3 {
            0 => {
                let mut schema = FFI_ArrowSchema::empty();
                let done = arrowsmith_infer_schema(
                    &source(),
                    1,
                    options.as_ptr(),
                    options.len() as u64,
                    &raw mut schema,
                    &raw mut error,
                );
                assert_eq!(spent(error), done < 0);
            }
            1 => {
                let mut bytes = 0;
                let text = arrowsmith_parquet_metadata(
                    &source(),
                    i64::from(how & 1),
                    &raw mut bytes,
                    &raw mut error,
                );
                assert_eq!(spent(error), text.is_null());
                arrowsmith_buffer_free(text);
            }
            _ => {
                let sources = [source(), source()];
                given = 2;
                let reader = arrowsmith_open(
                    format,
                    sources.as_ptr(),
                    2,
                    ptr::null(),
                    options.as_ptr(),
                    options.len() as u64,
                    &raw mut error,
                );
                assert_eq!(spent(error), reader.is_null());
                if !reader.is_null() {
                    read(reader, *how);
                }
            }
        }
        let mut bytes = 0;
        error = ptr::null_mut();
        let length = content.len() as u64;
        let kinds = arrowsmith_json_kinds(content.as_ptr(), length, &raw mut bytes, &raw mut error);
        assert!(!spent(error) && !kinds.is_null() && bytes > 0, "any bytes have kinds");
        arrowsmith_buffer_free(kinds);
        for stream in streams {
            let written = arrowsmith_stream_write(stream, content.as_ptr(), 1);
            assert_eq!(written, 0, "a stream takes nothing after its end");
            arrowsmith_stream_free(stream);
        }
        let released = count.load(Ordering::Relaxed);
        assert_eq!(released, if lent { given } else { 0 }, "bytes are released once");
    }
}

/// Reads all of a reader, and closes it.
///
/// # Safety
/// `reader` is open.
unsafe fn read(reader: *mut Reader, how: u8) {
    // SAFETY: `reader` is open, by contract; every output is a local variable.
    unsafe {
        let mut error = ptr::null_mut();
        let mut schema = FFI_ArrowSchema::empty();
        if arrowsmith_reader_schema(reader, &raw mut schema, &raw mut error) < 0 {
            assert!(spent(error));
            return arrowsmith_reader_close(reader);
        }
        let mut rows = 0;
        if how & 16 == 0 {
            loop {
                let mut array = FFI_ArrowArray::empty();
                error = ptr::null_mut();
                let next = arrowsmith_reader_next(reader, &raw mut array, &raw mut error);
                assert_eq!(spent(error), next < 0);
                if next == 2 {
                    while spent(arrowsmith_reader_reject(reader)) {}
                    continue;
                }
                if next != 1 {
                    break;
                }
                let data = from_ffi(array, &schema).unwrap_or_else(|error| panic!("{error}"));
                data.validate_full().unwrap_or_else(|error| panic!("{error}"));
                rows += data.len() as u64;
                if how & 32 != 0 {
                    arrowsmith_reader_cancel(reader);
                }
            }
            assert!(rows <= arrowsmith_reader_rows(reader));
        } else {
            let mut stream = FFI_ArrowArrayStream::empty();
            let taken = arrowsmith_reader_stream(reader, &raw mut stream, &raw mut error);
            assert_eq!(spent(error), taken < 0);
            // The stream goes on without the reader.
            arrowsmith_reader_close(reader);
            let batches = ArrowArrayStreamReader::try_new(stream);
            let batches = batches.unwrap_or_else(|error| panic!("{error}"));
            return batches.take_while(Result::is_ok).for_each(drop);
        }
        loop {
            let reject = arrowsmith_reader_reject(reader);
            if !spent(reject) {
                break;
            }
        }
        arrowsmith_reader_close(reader);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_and_what_is_left_of_them() {
        let texts: [&[u8]; 4] = [
            b"{\"a\":1,\"b\":[\"x\",null]}\n{\"a\":2}\n{\"a\":\"no\"}\n{\"a\":3}\n",
            b"{\"rejects\":true}{\"a\":{\"b\":1}}\n[1]\n",
            b"PAR1\x15\x00PAR1",
            b"",
        ];
        for text in texts {
            for how in 0..=255 {
                for which in [0, 1, 2, 3, 16] {
                    for end in [0, 1, text.len() / 2, text.len()] {
                        drive(&[&[how, which], &text[..end.min(text.len())]].concat());
                    }
                }
            }
        }
    }
}
