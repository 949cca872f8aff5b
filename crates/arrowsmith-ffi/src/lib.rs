// SPDX-License-Identifier: Apache-2.0
//! The readers behind a C ABI: JSON and Parquet in, Arrow's C Data Interface out.
//!
//! It gives programs in other languages batches without a copy: the JVM (`java/`) and C
//! (`include/arrowsmith.h`, which is the documentation for users). The same functions have a second
//! set of names for the Java Native Interface, which use nothing of the JVM. It interprets no data,
//! starts nothing when it is loaded, and no panic escapes from it.
//!
//! Rules of every function:
//! - Memory behind an argument is only read during the call, except for the bytes of a source,
//!   which are borrowed until their `release` is called.
//! - A result is freed only by the function that its documentation names.
//! - The return value signals failure; the reason is an [`error::ErrorInfo`], owned by the caller.

mod bytes;
mod error;
mod export;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
mod jni;
mod kinds;
mod memory;
mod options;
mod reader;
mod rows;
mod stream;
mod utf8;

pub use bytes::{
    SOURCE_BUFFER, SOURCE_BYTES, SOURCE_PATH, SOURCE_PATTERN, SOURCE_STREAM, Source,
    arrowsmith_buffer_free, arrowsmith_buffer_new,
};
pub use error::{
    ERROR_CANCELLED, ERROR_CONFIG, ERROR_DATA, ERROR_FILE, ERROR_INTERNAL, ERROR_IO, ERROR_OTHER,
    ERROR_SCHEMA, ErrorInfo, arrowsmith_error_free,
};
pub use jni::*;
pub use kinds::arrowsmith_json_kinds;
pub use memory::{Memory, arrowsmith_memory_free, arrowsmith_memory_new};
pub use reader::{
    FORMAT_JSON, FORMAT_PARQUET, Reader, arrowsmith_array_release, arrowsmith_infer_schema,
    arrowsmith_live_bytes, arrowsmith_live_readers, arrowsmith_open, arrowsmith_parquet_metadata,
    arrowsmith_reader_cancel, arrowsmith_reader_close, arrowsmith_reader_next,
    arrowsmith_reader_reject, arrowsmith_reader_rejects, arrowsmith_reader_rows,
    arrowsmith_reader_schema, arrowsmith_reader_stream, arrowsmith_release_memory,
    arrowsmith_version,
};
pub use rows::{
    COLUMN_1, COLUMN_2, COLUMN_4, COLUMN_8, COLUMN_BOOLEAN, COLUMN_BYTES, COLUMN_DECIMAL,
    COLUMN_LIST, COLUMN_MAP, COLUMN_SHORT_DECIMAL, COLUMN_STRUCT, RowColumn, arrowsmith_spark_rows,
};
pub use stream::{
    Stream, arrowsmith_stream_end, arrowsmith_stream_free, arrowsmith_stream_new,
    arrowsmith_stream_write,
};
pub use utf8::arrowsmith_utf8_prefix;
