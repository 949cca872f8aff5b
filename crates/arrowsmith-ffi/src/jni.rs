// SPDX-License-Identifier: Apache-2.0
//! The same functions under the names by which a JVM before version 22 finds native methods.
//!
//! Everything that passes is a number: addresses of memory outside the heap. Nothing of the JVM is
//! called, so that what holds for C holds here, and one implementation serves both ways in.

use std::ffi::c_void;

use crate::bytes::{arrowsmith_buffer_free, arrowsmith_buffer_new};
use crate::error::arrowsmith_error_free;
use crate::kinds::arrowsmith_json_kinds;
use crate::memory::{arrowsmith_memory_free, arrowsmith_memory_new};
use crate::reader;
use crate::rows::arrowsmith_spark_rows;
use crate::stream;
use crate::utf8::arrowsmith_utf8_prefix;

/// `JNIEnv *`, `jclass`: given by the JVM, not used.
type Unused = *mut c_void;

/// An address as the JVM holds it.
fn at<T>(address: i64) -> *mut T {
    std::ptr::with_exposed_provenance_mut(usize::try_from(address).unwrap_or(0))
}

fn address<T>(pointer: *const T) -> i64 {
    i64::try_from(pointer.expose_provenance()).unwrap_or(0)
}

fn count(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

fn long(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

macro_rules! natives {
    ($($(#[$doc:meta])* $name:ident($($argument:ident),*) $(-> $out:ty)? $body:block)+) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// As the function that it calls; addresses are passed as numbers.
        #[unsafe(no_mangle)]
        #[allow(unused_unsafe, reason = "some of the functions are safe")]
        pub unsafe extern "system" fn $name(_: Unused, _: Unused, $($argument: i64),*) $(-> $out)? {
            // SAFETY: the arguments follow the contract of the function that is called, by
            // contract.
            unsafe { $body }
        }
    )+};
}

natives! {
    /// [`reader::arrowsmith_version`].
    Java_io_arrowsmith_internal_Jni_version() -> i64 {
        address(reader::arrowsmith_version())
    }
    /// [`reader::arrowsmith_open`].
    Java_io_arrowsmith_internal_Jni_open(format, sources, sources_count, schema, options, options_bytes, error) -> i64 {
        address(reader::arrowsmith_open(
            format, at(sources), count(sources_count), at(schema), at(options), count(options_bytes), at(error),
        ))
    }
    /// [`reader::arrowsmith_infer_schema`].
    Java_io_arrowsmith_internal_Jni_inferSchema(sources, sources_count, options, options_bytes, out, error) -> i64 {
        reader::arrowsmith_infer_schema(
            at(sources), count(sources_count), at(options), count(options_bytes), at(out), at(error),
        )
    }
    /// [`reader::arrowsmith_parquet_metadata`].
    Java_io_arrowsmith_internal_Jni_parquetMetadata(source, pages, bytes, error) -> i64 {
        address(reader::arrowsmith_parquet_metadata(at(source), pages, at(bytes), at(error)))
    }
    /// [`arrowsmith_json_kinds`].
    Java_io_arrowsmith_internal_Jni_jsonKinds(lines, lines_bytes, bytes, error) -> i64 {
        address(arrowsmith_json_kinds(at(lines), count(lines_bytes), at(bytes), at(error)))
    }
    /// [`arrowsmith_utf8_prefix`].
    Java_io_arrowsmith_internal_Jni_utf8Prefix(text, text_bytes) -> i64 {
        long(arrowsmith_utf8_prefix(at(text), count(text_bytes)))
    }
    /// [`arrowsmith_spark_rows`].
    Java_io_arrowsmith_internal_Jni_sparkRows(columns, column_count, first, rows, out, bytes, ends, error) -> i64 {
        arrowsmith_spark_rows(
            at(columns), count(column_count), count(first), count(rows), at(out), count(bytes), at(ends), at(error),
        )
    }
    /// [`reader::arrowsmith_reader_schema`].
    Java_io_arrowsmith_internal_Jni_schema(reader, out, error) -> i64 {
        reader::arrowsmith_reader_schema(at(reader), at(out), at(error))
    }
    /// [`reader::arrowsmith_reader_next`].
    Java_io_arrowsmith_internal_Jni_next(reader, out, error) -> i64 {
        reader::arrowsmith_reader_next(at(reader), at(out), at(error))
    }
    /// [`reader::arrowsmith_reader_reject`].
    Java_io_arrowsmith_internal_Jni_reject(reader) -> i64 {
        address(reader::arrowsmith_reader_reject(at(reader)))
    }
    /// [`reader::arrowsmith_reader_rows`].
    Java_io_arrowsmith_internal_Jni_rows(reader) -> i64 {
        long(reader::arrowsmith_reader_rows(at(reader)))
    }
    /// [`reader::arrowsmith_reader_rejects`].
    Java_io_arrowsmith_internal_Jni_rejects(reader) -> i64 {
        long(reader::arrowsmith_reader_rejects(at(reader)))
    }
    /// [`reader::arrowsmith_reader_cancel`].
    Java_io_arrowsmith_internal_Jni_cancel(reader) {
        reader::arrowsmith_reader_cancel(at(reader));
    }
    /// [`reader::arrowsmith_reader_close`].
    Java_io_arrowsmith_internal_Jni_close(reader) {
        reader::arrowsmith_reader_close(at(reader));
    }
    /// [`arrowsmith_error_free`].
    Java_io_arrowsmith_internal_Jni_freeError(error) {
        arrowsmith_error_free(at(error));
    }
    /// [`arrowsmith_buffer_new`].
    Java_io_arrowsmith_internal_Jni_newBuffer(bytes) -> i64 {
        address(arrowsmith_buffer_new(count(bytes)))
    }
    /// [`arrowsmith_buffer_free`].
    Java_io_arrowsmith_internal_Jni_freeBuffer(buffer) {
        arrowsmith_buffer_free(at(buffer));
    }
    /// [`arrowsmith_memory_new`].
    Java_io_arrowsmith_internal_Jni_newMemory(bytes, address_out) -> i64 {
        address(arrowsmith_memory_new(count(bytes), at(address_out)))
    }
    /// [`arrowsmith_memory_free`].
    Java_io_arrowsmith_internal_Jni_freeMemory(memory) {
        arrowsmith_memory_free(at(memory));
    }
    /// [`stream::arrowsmith_stream_new`].
    Java_io_arrowsmith_internal_Jni_newStream() -> i64 {
        address(stream::arrowsmith_stream_new())
    }
    /// [`stream::arrowsmith_stream_write`].
    Java_io_arrowsmith_internal_Jni_writeStream(stream, bytes, bytes_count) -> i64 {
        stream::arrowsmith_stream_write(at(stream), at(bytes), count(bytes_count))
    }
    /// [`stream::arrowsmith_stream_end`].
    Java_io_arrowsmith_internal_Jni_endStream(stream, error, error_bytes) {
        stream::arrowsmith_stream_end(at(stream), at(error), count(error_bytes));
    }
    /// [`stream::arrowsmith_stream_free`].
    Java_io_arrowsmith_internal_Jni_freeStream(stream) {
        stream::arrowsmith_stream_free(at(stream));
    }
    /// [`reader::arrowsmith_array_release`].
    Java_io_arrowsmith_internal_Jni_releaseArray(array) {
        reader::arrowsmith_array_release(at(array));
    }
    /// [`reader::arrowsmith_live_readers`].
    Java_io_arrowsmith_internal_Jni_liveReaders() -> i64 {
        long(reader::arrowsmith_live_readers())
    }
    /// [`reader::arrowsmith_live_bytes`].
    Java_io_arrowsmith_internal_Jni_liveBytes() -> i64 {
        long(reader::arrowsmith_live_bytes())
    }
    /// [`reader::arrowsmith_release_memory`].
    Java_io_arrowsmith_internal_Jni_releaseMemory() {
        reader::arrowsmith_release_memory();
    }
}
