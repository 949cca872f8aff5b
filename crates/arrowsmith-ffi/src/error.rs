// SPDX-License-Identifier: Apache-2.0
//! Errors as a plain struct that any language can read, and the guard against panics.

use std::any::Any;
use std::ffi::{CString, c_char};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use arrowsmith::{DataError, Error, FileError, Refused, Reject};

/// The input does not match the schema, or is malformed JSON.
pub const ERROR_DATA: i64 = 1;
/// A file is malformed, or not supported.
pub const ERROR_FILE: i64 = 2;
/// The schema is invalid.
pub const ERROR_SCHEMA: i64 = 3;
/// Reading failed.
pub const ERROR_IO: i64 = 4;
/// An option is invalid.
pub const ERROR_CONFIG: i64 = 5;
/// The work was stopped on request.
pub const ERROR_CANCELLED: i64 = 6;
/// Another library's error.
pub const ERROR_OTHER: i64 = 7;
/// A bug of this library: a panic that was caught.
pub const ERROR_INTERNAL: i64 = 8;

/// Why a call failed, or why a record was rejected. Texts are UTF-8 and end with a NUL; those that
/// do not apply are null. Numbers that do not apply are -1. Every field is eight bytes, so that no
/// compiler pads it.
#[repr(C)]
#[derive(Debug)]
pub struct ErrorInfo {
    /// One of the `ERROR_…` constants.
    pub class: i64,
    /// The system's number of an I/O error, such as `ENOENT`.
    pub os_error: i64,
    /// Number of the record in its source, from 0.
    pub record: i64,
    /// Number of the line in its source, from 1.
    pub line: i64,
    /// Offset of the byte in its source, from 0.
    pub offset: i64,
    /// Number of the row group in its file, from 0.
    pub row_group: i64,
    /// Number of the page in its column chunk, from 0.
    pub page: i64,
    /// Of a reject: 1 if the row was kept, with a null in place of the invalid value.
    pub kept_as_null: i64,
    /// The whole message.
    pub message: *mut c_char,
    /// The kind, for programs: `wrong-type`, `corrupt`, …
    pub kind: *mut c_char,
    /// Name of the source; null for bytes in memory.
    pub source: *mut c_char,
    /// Path of the field or column.
    pub path: *mut c_char,
    /// What was expected there.
    pub expected: *mut c_char,
    /// What was found.
    pub found: *mut c_char,
    /// The option or change that helps.
    pub hint: *mut c_char,
    /// Of a reject: the bytes of the record.
    pub text: *mut u8,
    /// Their number.
    pub text_bytes: u64,
}

impl Drop for ErrorInfo {
    fn drop(&mut self) {
        let texts =
            [self.message, self.kind, self.source, self.path, self.expected, self.found, self.hint];
        for text in texts.into_iter().filter(|text| !text.is_null()) {
            // SAFETY: every text comes from `text` below, that is `CString::into_raw`, and is
            // dropped once, here.
            drop(unsafe { CString::from_raw(text) });
        }
        if !self.text.is_null() {
            let bytes = ptr::slice_from_raw_parts_mut(self.text, size_of_bytes(self.text_bytes));
            // SAFETY: it comes from `Box::into_raw` of a slice of this length in `reject`, and is
            // dropped once, here.
            drop(unsafe { Box::from_raw(bytes) });
        }
    }
}

fn size_of_bytes(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(0)
}

/// A text for C: a NUL, as in a message that quotes the input, becomes `\0`.
fn text(from: &str) -> *mut c_char {
    let plain = from.replace('\0', "\\0");
    CString::new(plain).map_or(ptr::null_mut(), CString::into_raw)
}

fn optional(from: Option<&str>) -> *mut c_char {
    from.map_or(ptr::null_mut(), text)
}

fn number<N: TryInto<i64>>(from: N) -> i64 {
    from.try_into().unwrap_or(i64::MAX)
}

impl ErrorInfo {
    pub(crate) fn new(class: i64, message: &str) -> Self {
        let none = ptr::null_mut();
        Self {
            class,
            os_error: -1,
            record: -1,
            line: -1,
            offset: -1,
            row_group: -1,
            page: -1,
            kept_as_null: -1,
            message: text(message),
            kind: none,
            source: none,
            path: none,
            expected: none,
            found: none,
            hint: none,
            text: ptr::null_mut(),
            text_bytes: 0,
        }
    }

    /// The rejected record, and why.
    pub(crate) fn reject(reject: Reject) -> Self {
        let mut info = Self::from(&reject.error);
        info.kept_as_null = i64::from(reject.kept_as_null);
        let record: Box<[u8]> = reject.record.to_vec().into_boxed_slice();
        info.text_bytes = record.len() as u64;
        info.text = Box::into_raw(record).cast();
        info
    }
}

impl From<&DataError> for ErrorInfo {
    fn from(error: &DataError) -> Self {
        let mut info = Self::new(ERROR_DATA, &error.to_string());
        info.kind = text(error.kind.name());
        info.source = optional(error.position.source.as_deref());
        info.record = number(error.position.record);
        info.line = number(error.position.line);
        info.offset = number(error.position.offset);
        info.path = text(&error.path);
        info.expected = text(&error.expected);
        info.found = text(&error.found);
        info.hint = optional(error.hint.as_deref());
        info
    }
}

impl From<&FileError> for ErrorInfo {
    fn from(error: &FileError) -> Self {
        let mut info = Self::new(ERROR_FILE, &error.to_string());
        info.kind = text(error.kind.name());
        info.source = optional(error.place.source.as_deref());
        info.path = optional(error.place.column.as_deref());
        info.row_group = error.place.row_group.map_or(-1, number);
        info.page = error.place.page.map_or(-1, number);
        info.offset = error.place.offset.map_or(-1, number);
        info
    }
}

/// The `errno` of an error, or -1: the numbers of Windows have another meaning.
fn errno(error: &io::Error) -> i64 {
    if !cfg!(windows) {
        return error.raw_os_error().map_or(-1, i64::from);
    }
    match error.kind() {
        io::ErrorKind::NotFound => 2,
        io::ErrorKind::PermissionDenied => 13,
        io::ErrorKind::AlreadyExists => 17,
        io::ErrorKind::IsADirectory => 21,
        io::ErrorKind::StorageFull => 28,
        _ => -1,
    }
}

impl From<Error> for ErrorInfo {
    fn from(error: Error) -> Self {
        let message = error.to_string();
        match error {
            Error::Data(error) => Self::from(&*error),
            Error::File(error) => Self::from(&*error),
            Error::Schema { path, .. } => {
                let mut info = Self::new(ERROR_SCHEMA, &message);
                info.path = text(&path);
                info
            }
            Error::Io { path, source } => {
                let mut info = Self::new(ERROR_IO, &message);
                info.os_error = errno(&source);
                info.kind = text(&source.kind().to_string());
                info.source = path.map_or(ptr::null_mut(), |path| text(&path.to_string_lossy()));
                info
            }
            Error::Config(_) => Self::new(ERROR_CONFIG, &message),
            Error::Cancelled => Self::new(ERROR_CANCELLED, &message),
            _ => Self::new(ERROR_OTHER, &message),
        }
    }
}

/// The error for an unwound panic: refused memory is not a bug, and names its limit.
pub(crate) fn unwound(panic: Box<dyn Any + Send>) -> Result<Error, String> {
    match Refused::caught(panic) {
        Ok(refused) => Ok(refused.into()),
        Err(panic) => Err(panic_message(panic.as_ref())),
    }
}

/// The message of a panic.
fn panic_message(panic: &(dyn Any + Send)) -> String {
    let said = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("no message");
    format!("a bug in Arrowsmith, please report it: {said}")
}

/// Runs `work`; its error, or a panic, goes to `*error` if that is not null, and `failed` is
/// returned.
///
/// # Safety
/// `error` is null or valid for writing a pointer.
pub(crate) unsafe fn guarded<T>(
    error: *mut *mut ErrorInfo,
    failed: T,
    work: impl FnOnce() -> arrowsmith::Result<T>,
) -> T {
    let info = match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(done)) => return done,
        Ok(Err(error)) => ErrorInfo::from(error),
        Err(panic) => match unwound(panic) {
            Ok(error) => ErrorInfo::from(error),
            Err(fault) => ErrorInfo::new(ERROR_INTERNAL, &fault),
        },
    };
    if !error.is_null() {
        // SAFETY: `error` is not null, and then valid for writing, by contract.
        unsafe { error.write(Box::into_raw(Box::new(info))) };
    }
    failed
}

/// Frees an error or a reject. Null is ignored.
///
/// # Safety
/// `error` is null or was returned by this library and not freed yet.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn arrowsmith_error_free(error: *mut ErrorInfo) {
    if !error.is_null() {
        // SAFETY: it came from `Box::into_raw` in this crate and was not freed yet, by contract.
        drop(unsafe { Box::from_raw(error) });
    }
}
