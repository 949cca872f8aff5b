// SPDX-License-Identifier: Apache-2.0
//! A reader as an opaque pointer, the functions of the C ABI: opened from sources and options, read
//! batch by batch, closed.

mod exported;
mod open;

use std::ffi::{CStr, c_char};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_schema::{Schema, SchemaRef};
use arrowsmith::json::{self, Turn};
use arrowsmith::parquet::{describe, open_file};
use arrowsmith::{Error, Limits, Result};

use self::exported::Stream;
pub use self::open::Reader;
use self::open::{Batches, lock};
use crate::bytes::{Source, buffer_of, lent, take};
use crate::error::{ErrorInfo, guarded};
use crate::export;
use crate::options;
use crate::stream::Valve;

/// The sources are JSON.
pub const FORMAT_JSON: i64 = 0;
/// The sources are Parquet.
pub const FORMAT_PARQUET: i64 = 1;

/// # Safety
/// `schema` is null or points to a schema of the C Data Interface that was not released.
unsafe fn imported(schema: *const FFI_ArrowSchema) -> Result<Option<SchemaRef>> {
    if schema.is_null() {
        return Ok(None);
    }
    // SAFETY: not null, and a schema that was not released, by contract.
    let schema = unsafe { &*schema };
    Ok(Some(Arc::new(Schema::try_from(schema)?)))
}

/// The version, such as `0.1.0`. It is never freed.
#[unsafe(no_mangle)]
pub extern "C" fn arrowsmith_version() -> *const c_char {
    const VERSION: &CStr =
        match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
            Ok(version) => version,
            Err(_) => c"",
        };
    VERSION.as_ptr()
}

/// Opens sources of a format (`FORMAT_…`). `options` is JSON text of `options_bytes` bytes, with
/// the names of the Python package; it may be null. `schema` may be null; it is the schema to
/// decode JSON into, or the types of partition columns of Parquet; it is not released. Null is
/// failure, with the reason in `*error`.
///
/// # Safety
/// `sources` points to `source_count` valid sources; `schema` is null or a schema that was not
/// released; `options` is null or points to `options_bytes` readable bytes; `error` is null or
/// valid for writing a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn arrowsmith_open(
    format: i64,
    sources: *const Source,
    source_count: u64,
    schema: *const FFI_ArrowSchema,
    options: *const u8,
    options_bytes: u64,
    error: *mut *mut ErrorInfo,
) -> *mut Reader {
    let work = || {
        // SAFETY: sources, schema and options are valid, by contract.
        let (given, schema, options) = unsafe {
            let count = usize::try_from(source_count).unwrap_or(0);
            (take(sources, count)?, imported(schema)?, lent(options, options_bytes))
        };
        let reader = match format {
            FORMAT_JSON => open::json(given, schema, options)?,
            FORMAT_PARQUET => open::parquet(given, schema, options)?,
            other => return Err(Error::Config(format!("there is no format {other}"))),
        };
        Ok(Box::into_raw(Box::new(reader)))
    };
    // SAFETY: `error` is null or valid for writing, by contract.
    unsafe { guarded(error, std::ptr::null_mut(), work) }
}

/// Infers the schema of JSON sources into `*out`. 0 is success, -1 failure.
///
/// # Safety
/// As [`arrowsmith_open`]; `out` is valid for writing a schema, and does not hold one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn arrowsmith_infer_schema(
    sources: *const Source,
    source_count: u64,
    options: *const u8,
    options_bytes: u64,
    out: *mut FFI_ArrowSchema,
    error: *mut *mut ErrorInfo,
) -> i64 {
    let work = || {
        // SAFETY: sources and options are valid, by contract.
        let (given, options) = unsafe {
            let count = usize::try_from(source_count).unwrap_or(0);
            (take(sources, count)?, lent(options, options_bytes))
        };
        let (options, _) = options::json(options)?;
        let found = json::infer_schema(open::inputs(given)?.0, &options)?;
        // SAFETY: `out` is valid for writing, by contract.
        unsafe { out.write(export::schema(&found.schema)?) };
        Ok(0)
    };
    // SAFETY: `error` is null or valid for writing, by contract.
    unsafe { guarded(error, -1, work) }
}

/// The metadata of one Parquet file, as JSON text in a buffer of
/// [`arrowsmith_buffer_new`](crate::arrowsmith_buffer_new), whose length is written to `*bytes`.
/// Null is failure.
///
/// # Safety
/// `source` points to one valid source; `bytes` is valid for writing; `error` is null or valid for
/// writing a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn arrowsmith_parquet_metadata(
    source: *const Source,
    pages: i64,
    bytes: *mut u64,
    error: *mut *mut ErrorInfo,
) -> *mut u8 {
    let work = || {
        // SAFETY: `source` points to one valid source, by contract.
        let mut files = open::files(unsafe { take(source, 1)? })?;
        let (Some(file), true) = (files.pop(), files.is_empty()) else {
            return Err(Error::Config("the metadata is that of one file".to_owned()));
        };
        let report = describe(&open_file(file.input, &Limits::default())?, pages != 0)?;
        let text = serde_json::to_vec(&report).map_err(|error| Error::Config(error.to_string()))?;
        // SAFETY: `bytes` is valid for writing, by contract.
        unsafe { buffer_of(&text, bytes) }
    };
    // SAFETY: `error` is null or valid for writing, by contract.
    unsafe { guarded(error, std::ptr::null_mut(), work) }
}

/// The schema of the batches, into `*out`. 0 is success, -1 failure.
///
/// # Safety
/// `reader` is open; `out` is valid for writing a schema, and does not hold one; `error` is null or
/// valid for writing a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn arrowsmith_reader_schema(
    reader: *const Reader,
    out: *mut FFI_ArrowSchema,
    error: *mut *mut ErrorInfo,
) -> i64 {
    // SAFETY: `reader` is open, and `out` and `error` are valid for writing, by contract.
    unsafe {
        guarded(error, -1, || {
            out.write(export::schema(&(*reader).schema)?);
            Ok(0)
        })
    }
}

/// The next batch, as a struct array, into `*out`: 1 if there is one, 0 at the end, -1 on failure,
/// after which there is no more. The batch may outlive the reader. With the option `rejects` as
/// `"all"` or `"lines"` also 2: there are many rejects and no batch yet; the caller takes them and
/// calls again.
///
/// # Safety
/// `reader` is open; `out` is valid for writing an array, and does not hold one; `error` is null or
/// valid for writing a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn arrowsmith_reader_next(
    reader: *const Reader,
    out: *mut FFI_ArrowArray,
    error: *mut *mut ErrorInfo,
) -> i64 {
    // SAFETY: `reader` is open, and `out` and `error` are valid for writing, by contract.
    unsafe {
        guarded(error, -1, || {
            let Reader { batches, rejects, all_rejects, .. } = &*reader;
            let pause = || *all_rejects && lock(rejects).are_many();
            match lock(batches).turn(&pause)? {
                Turn::Batch(batch) => {
                    out.write(export::batch(batch)?);
                    Ok(1)
                }
                Turn::Paused => Ok(2),
                Turn::End => Ok(0),
            }
        })
    }
}

/// The next record that was skipped or changed, oldest first; null if there is none yet. Only with
/// the option `rejects`; at most 65,536 are kept, unless it is `"all"` or `"lines"`. Freed by
/// [`arrowsmith_error_free`](crate::arrowsmith_error_free).
///
/// # Safety
/// `reader` is open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn arrowsmith_reader_reject(reader: *const Reader) -> *mut ErrorInfo {
    let none = std::ptr::null_mut();
    // SAFETY: `reader` is open, by contract; the error pointer is null.
    unsafe {
        guarded(none, std::ptr::null_mut(), || {
            let reject = lock(&(*reader).rejects).pop();
            Ok(reject.map_or(std::ptr::null_mut(), |reject| {
                Box::into_raw(Box::new(ErrorInfo::reject(reject)))
            }))
        })
    }
}

/// Rows decoded so far.
///
/// # Safety
/// `reader` is open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn arrowsmith_reader_rows(reader: *const Reader) -> u64 {
    // SAFETY: `reader` is open, by contract.
    unsafe { (*reader).progress.rows() }
}

/// Records so far that were skipped, or in which a value became null.
///
/// # Safety
/// `reader` is open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn arrowsmith_reader_rejects(reader: *const Reader) -> u64 {
    // SAFETY: `reader` is open, by contract.
    unsafe { (*reader).progress.rejects() }
}

/// Ends the work: a call that waits for a batch, on another thread, fails with `ERROR_CANCELLED`.
///
/// # Safety
/// `reader` is open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn arrowsmith_reader_cancel(reader: *const Reader) {
    // SAFETY: `reader` is open, by contract.
    let reader = unsafe { &*reader };
    reader.cancel.store(true, Ordering::SeqCst);
    reader.streams.iter().for_each(Valve::close);
}

/// Ends the work and frees the reader; an exported stream continues. Null is ignored.
///
/// # Safety
/// `reader` is null, or open and in no other call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn arrowsmith_reader_close(reader: *mut Reader) {
    if reader.is_null() {
        return;
    }
    // SAFETY: it came from `Box::into_raw` in `arrowsmith_open`, and is in no other call, by
    // contract.
    unsafe {
        guarded(std::ptr::null_mut(), (), || {
            drop(Box::from_raw(reader));
            Ok(())
        });
    }
}

/// The remaining batches, as a stream of the C Stream Interface, once. The reader still has to be
/// closed. 0 is success, -1 failure.
///
/// # Safety
/// `reader` is open; `out` is valid for writing a stream, and does not hold one; `error` is null or
/// valid for writing a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn arrowsmith_reader_stream(
    reader: *const Reader,
    out: *mut FFI_ArrowArrayStream,
    error: *mut *mut ErrorInfo,
) -> i64 {
    // SAFETY: `reader` is open, and `out` and `error` are valid for writing, by contract.
    unsafe {
        guarded(error, -1, || {
            let schema = Arc::clone(&(*reader).schema);
            // A schema that C cannot represent is an error here, where it can be reported.
            drop(export::schema(&schema)?);
            let batches = std::mem::replace(&mut *lock(&(*reader).batches), Batches::Taken);
            if matches!(batches, Batches::Taken) {
                return Err(Error::Config("the reader was exported as a stream before".to_owned()));
            }
            out.write(FFI_ArrowArrayStream::new(Box::new(Stream::new(schema, batches))));
            Ok(0)
        })
    }
}

/// Releases an array of the C Data Interface, for callers that cannot call its `release`. Null and
/// a released array are ignored.
///
/// # Safety
/// `array` is null or points to an array of the C Data Interface.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn arrowsmith_array_release(array: *mut FFI_ArrowArray) {
    if array.is_null() {
        return;
    }
    // SAFETY: not null, and an array that this call takes over, by contract: what stays behind is
    // an empty one, which has no `release`.
    unsafe {
        guarded(std::ptr::null_mut(), (), || {
            drop(array.replace(FFI_ArrowArray::empty()));
            Ok(())
        });
    }
}

/// Number of readers that were opened and not closed.
#[unsafe(no_mangle)]
pub extern "C" fn arrowsmith_live_readers() -> u64 {
    open::live()
}

/// Bytes of Arrow memory in use: by readers, and by batches that were not released.
#[unsafe(no_mangle)]
pub extern "C" fn arrowsmith_live_bytes() -> u64 {
    arrowsmith::live_bytes() as u64
}

/// Returns memory that is kept for later batches to the system.
#[unsafe(no_mangle)]
pub extern "C" fn arrowsmith_release_memory() {
    arrowsmith::release_memory();
}
