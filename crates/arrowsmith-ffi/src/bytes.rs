// SPDX-License-Identifier: Apache-2.0
//! Where bytes come from: paths, patterns, memory that is lent, memory that was taken here to be filled.

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
/// Bytes that are lent until `release` is called.
pub const SOURCE_BYTES: i64 = 2;
/// Bytes from [`arrowsmith_buffer_new`], which are given away: `bytes` is what that was called with.
pub const SOURCE_BUFFER: i64 = 3;
/// Bytes that are written to a stream of [`arrowsmith_stream_new`](crate::arrowsmith_stream_new), which `data` points to and which
/// stays the caller's. Of JSON only.
pub const SOURCE_STREAM: i64 = 4;

/// One of the inputs, which are read one after another. All fields are eight bytes.
#[repr(C)]
#[derive(Debug)]
pub struct Source {
    /// One of the `SOURCE_…` constants.
    pub kind: i64,
    /// Its text or its bytes.
    pub data: *const u8,
    /// How many bytes those are.
    pub bytes: u64,
    /// Of lent bytes: called once with `context`, on any thread, when the bytes are no longer needed, also when opening
    /// fails. Null if they stay where they are for as long as the process runs.
    pub release: Option<unsafe extern "C" fn(*mut c_void)>,
    /// What `release` is called with.
    pub context: *mut c_void,
}

/// Bytes of the caller's.
struct Lent {
    data: *const u8,
    bytes: usize,
    release: Option<unsafe extern "C" fn(*mut c_void)>,
    context: *mut c_void,
}

// SAFETY: the caller lends the bytes to all threads and takes `release` from any, as `Source` says; nothing writes them.
unsafe impl Send for Lent {}
// SAFETY: as above.
unsafe impl Sync for Lent {}

impl AsRef<[u8]> for Lent {
    fn as_ref(&self) -> &[u8] {
        if self.bytes == 0 {
            return &[];
        }
        // SAFETY: not null (checked when it was made), readable and unchanged until `release`, which `drop` calls.
        unsafe { slice::from_raw_parts(self.data, self.bytes) }
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: called once, with what came with it.
            unsafe { release(self.context) };
        }
    }
}

/// What a source says, before it is known what it shall be.
pub(crate) enum Given {
    Path(PathBuf),
    Pattern(String),
    Input(Input),
    Stream(Outlet),
}

/// Takes all of `sources` over, in order. Lent bytes are released on failure too.
///
/// # Safety
/// `sources` points to `count` sources, as their documentation says.
pub(crate) unsafe fn take(sources: *const Source, count: usize) -> arrowsmith::Result<Vec<Given>> {
    if count == 0 || sources.is_null() {
        return Err(Error::Config("there is no input".to_owned()));
    }
    // SAFETY: the caller's promise.
    let sources = unsafe { slice::from_raw_parts(sources, count) };
    // All are taken before any is judged, so that none is left unreleased.
    // SAFETY: the caller's promise, for each.
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
            // Its start, which is where the length is kept.
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
        // SAFETY: the caller's promise.
        SOURCE_STREAM => Ok(Given::Stream(unsafe { outlet(source.data.cast()) }?)),
        other => Err(Error::Config(format!("there is no source of kind {other}"))),
    }
}

/// Before a buffer's bytes lies its length, in a block that keeps the bytes aligned.
const HEAD_BYTES: usize = 64;

fn layout(bytes: usize) -> Option<Layout> {
    Layout::from_size_align(bytes.checked_add(HEAD_BYTES)?, HEAD_BYTES).ok()
}

/// Memory for `bytes` bytes, not set to anything, to be filled and given away as a source of kind [`SOURCE_BUFFER`], or
/// freed by [`arrowsmith_buffer_free`]. Null if there is none.
#[unsafe(no_mangle)]
pub extern "C" fn arrowsmith_buffer_new(bytes: u64) -> *mut u8 {
    let layout = usize::try_from(bytes).ok().and_then(|bytes| Some((bytes, layout(bytes)?)));
    let Some((bytes, layout)) = layout else { return ptr::null_mut() };
    // SAFETY: the layout is never of no bytes.
    let start = unsafe { alloc(layout) };
    if start.is_null() {
        return start;
    }
    // SAFETY: the head is large enough and aligned for a usize, and the bytes follow it.
    unsafe {
        start.cast::<usize>().write(bytes);
        start.add(HEAD_BYTES)
    }
}

/// Frees a buffer that was not given away. Null is left alone.
///
/// # Safety
/// `buffer` is null or came from [`arrowsmith_buffer_new`] and was neither freed nor given away.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn arrowsmith_buffer_free(buffer: *mut u8) {
    // SAFETY: the caller's promise.
    unsafe { free(buffer.cast()) };
}

/// # Safety
/// As [`arrowsmith_buffer_free`].
unsafe extern "C" fn free(buffer: *mut c_void) {
    if buffer.is_null() {
        return;
    }
    // SAFETY: the head with the length lies before the bytes.
    let (start, bytes) = unsafe {
        let start = buffer.cast::<u8>().sub(HEAD_BYTES);
        (start, start.cast::<usize>().read())
    };
    if let Some(layout) = layout(bytes) {
        // SAFETY: the block was allocated with this layout.
        unsafe { dealloc(start, layout) };
    }
}
