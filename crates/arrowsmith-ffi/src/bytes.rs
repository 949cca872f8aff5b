// SPDX-License-Identifier: Apache-2.0
//! Sources of bytes: paths, patterns, borrowed memory, buffers that were allocated here.

use std::alloc::{Layout, alloc, dealloc};
use std::ffi::c_void;
use std::path::PathBuf;
use std::ptr;
use std::slice;

use arrowsmith::{Error, Input};

use crate::stream::{Outlet, outlet};

/// A path, in UTF-8, of one file; for Parquet also of a folder.
pub const SOURCE_PATH: i64 = 0;
/// A path or a pattern such as `data/*.json`, in UTF-8.
pub const SOURCE_PATTERN: i64 = 1;
/// Bytes that are borrowed until `release` is called.
pub const SOURCE_BYTES: i64 = 2;
/// A buffer of [`arrowsmith_buffer_new`], whose ownership is passed: `bytes` is the argument of
/// that call.
pub const SOURCE_BUFFER: i64 = 3;
/// Bytes that are written to a stream of [`arrowsmith_stream_new`](crate::arrowsmith_stream_new),
/// to which `data` points; the caller still has to free it. For JSON only.
pub const SOURCE_STREAM: i64 = 4;

/// One of the inputs, which are read in order. All fields are eight bytes.
#[repr(C)]
#[derive(Debug)]
pub struct Source {
    /// One of the `SOURCE_…` constants.
    pub kind: i64,
    /// Its text or its bytes.
    pub data: *const u8,
    /// Their number.
    pub bytes: u64,
    /// Of borrowed bytes: called once with `context`, on any thread, when the bytes are no longer
    /// needed, also if opening fails. Null if they stay valid while the process runs.
    pub release: Option<unsafe extern "C" fn(*mut c_void)>,
    /// The argument of `release`.
    pub context: *mut c_void,
}

/// Bytes that the caller owns, until `release`.
struct Lent {
    data: *const u8,
    bytes: usize,
    release: Option<unsafe extern "C" fn(*mut c_void)>,
    context: *mut c_void,
}

// SAFETY: the contract of `Source` allows reading the bytes, and calling `release`, on any thread;
// nothing writes them.
unsafe impl Send for Lent {}
// SAFETY: as above.
unsafe impl Sync for Lent {}

impl AsRef<[u8]> for Lent {
    fn as_ref(&self) -> &[u8] {
        if self.bytes == 0 {
            return &[];
        }
        // SAFETY: `data` is not null (checked in `one`), and `bytes` bytes are readable and
        // unchanged until `release`, which only `drop` calls.
        unsafe { slice::from_raw_parts(self.data, self.bytes) }
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: called once, here, with its own context.
            unsafe { release(self.context) };
        }
    }
}

/// A source, before it is opened for a format.
pub(crate) enum Given {
    Path(PathBuf),
    Pattern(String),
    Input(Input),
    Stream(Outlet),
}

/// Takes ownership of all `sources`, in order. Borrowed bytes are released on failure too.
///
/// # Safety
/// `sources` is null or points to `count` sources that follow the contract of [`Source`].
pub(crate) unsafe fn take(sources: *const Source, count: usize) -> arrowsmith::Result<Vec<Given>> {
    if count == 0 || sources.is_null() {
        return Err(Error::Config("there is no input".to_owned()));
    }
    // SAFETY: not null, and `count` sources by the contract of this function.
    let sources = unsafe { slice::from_raw_parts(sources, count) };
    // All are taken before the first error returns, so that none is left unreleased.
    // SAFETY: each source follows the contract of `Source`, by the contract of this function.
    let taken: Vec<_> = sources.iter().map(|source| unsafe { one(source) }).collect();
    taken.into_iter().collect()
}

/// # Safety
/// As [`take`].
unsafe fn one(source: &Source) -> arrowsmith::Result<Given> {
    let bytes = usize::try_from(source.bytes).unwrap_or(usize::MAX);
    let lent = match source.kind {
        SOURCE_BYTES => {
            Lent { data: source.data, bytes, release: source.release, context: source.context }
        }
        SOURCE_BUFFER => Lent {
            data: source.data,
            bytes,
            release: Some(free),
            // `free` finds the length before it.
            context: source.data.cast_mut().cast(),
        },
        _ => Lent { data: source.data, bytes, release: None, context: ptr::null_mut() },
    };
    if bytes > 0 && source.data.is_null() {
        return Err(Error::Config("a source has bytes, but no data".to_owned()));
    }
    if bytes > isize::MAX.unsigned_abs() {
        return Err(Error::Config(format!("a source cannot have {bytes} bytes")));
    }
    let text = |lent: &Lent| {
        let text = std::str::from_utf8(lent.as_ref());
        text.map(str::to_owned).map_err(|_| Error::Config("a path is not UTF-8".to_owned()))
    };
    match source.kind {
        SOURCE_PATH => Ok(Given::Path(text(&lent)?.into())),
        SOURCE_PATTERN => Ok(Given::Pattern(text(&lent)?)),
        SOURCE_BYTES | SOURCE_BUFFER => Ok(Given::Input(Input::bytes(lent))),
        // SAFETY: `data` of this kind is null or a stream, by the contract of `Source`.
        SOURCE_STREAM => Ok(Given::Stream(unsafe { outlet(source.data.cast()) }?)),
        other => Err(Error::Config(format!("there is no source of kind {other}"))),
    }
}

/// Bytes of the caller.
///
/// # Safety
/// `data` is null or points to `bytes` readable bytes, for as long as the result is used.
pub(crate) unsafe fn lent<'a>(data: *const u8, bytes: u64) -> &'a [u8] {
    match usize::try_from(bytes) {
        // SAFETY: not null, and `bytes` readable bytes for as long as `'a`, by contract.
        Ok(bytes) if !data.is_null() => unsafe { slice::from_raw_parts(data, bytes) },
        _ => &[],
    }
}

/// Bytes before a buffer's data, which hold its length and keep the data aligned.
const HEAD_BYTES: usize = 64;

fn layout(bytes: usize) -> Option<Layout> {
    Layout::from_size_align(bytes.checked_add(HEAD_BYTES)?, HEAD_BYTES).ok()
}

/// Allocates `bytes` uninitialised bytes, to be filled and passed as a source of kind
/// [`SOURCE_BUFFER`], or freed by [`arrowsmith_buffer_free`]. Null if there is no memory.
#[unsafe(no_mangle)]
pub extern "C" fn arrowsmith_buffer_new(bytes: u64) -> *mut u8 {
    let layout = usize::try_from(bytes).ok().and_then(|bytes| Some((bytes, layout(bytes)?)));
    let Some((bytes, layout)) = layout else { return ptr::null_mut() };
    // SAFETY: the layout has at least `HEAD_BYTES` bytes.
    let start = unsafe { alloc(layout) };
    if start.is_null() {
        return start;
    }
    // SAFETY: the block has `HEAD_BYTES` aligned bytes for the length before the data.
    unsafe {
        start.cast::<usize>().write(bytes);
        start.add(HEAD_BYTES)
    }
}

/// A buffer with a copy of a text, whose length is written to `*bytes`.
///
/// # Safety
/// `bytes` is valid for writing.
pub(crate) unsafe fn buffer_of(text: &[u8], bytes: *mut u64) -> arrowsmith::Result<*mut u8> {
    let buffer = arrowsmith_buffer_new(text.len() as u64);
    if buffer.is_null() {
        return Err(Error::Config("no memory".to_owned()));
    }
    // SAFETY: the buffer has as many bytes as the text, and `bytes` is valid for writing, by
    // contract.
    unsafe {
        buffer.copy_from_nonoverlapping(text.as_ptr(), text.len());
        bytes.write(text.len() as u64);
    }
    Ok(buffer)
}

/// Frees a buffer that was not passed as a source. Null is ignored.
///
/// # Safety
/// `buffer` is null or came from [`arrowsmith_buffer_new`] and was neither freed nor passed as a
/// source.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn arrowsmith_buffer_free(buffer: *mut u8) {
    // SAFETY: the contract is the same.
    unsafe { free(buffer.cast()) };
}

/// # Safety
/// As [`arrowsmith_buffer_free`].
unsafe extern "C" fn free(buffer: *mut c_void) {
    if buffer.is_null() {
        return;
    }
    // SAFETY: `arrowsmith_buffer_new` wrote the length `HEAD_BYTES` before the data.
    let (start, bytes) = unsafe {
        let start = buffer.cast::<u8>().sub(HEAD_BYTES);
        (start, start.cast::<usize>().read())
    };
    if let Some(layout) = layout(bytes) {
        // SAFETY: the block was allocated with this layout.
        unsafe { dealloc(start, layout) };
    }
}
