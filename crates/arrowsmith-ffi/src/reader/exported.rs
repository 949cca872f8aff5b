// SPDX-License-Identifier: Apache-2.0
//! The batches of a reader as a stream of the C Stream Interface: no panic leaves it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use arrowsmith::Result;

use crate::error::unwound;
use crate::export;

/// The batches of a reader for a C stream. Its consumer calls and drops it through C functions,
/// from which no panic may escape: so panics are caught here.
pub(super) struct Stream<B> {
    schema: SchemaRef,
    /// `None` after a panic: its state may be inconsistent.
    batches: Option<B>,
}

impl<B> Stream<B> {
    pub(super) fn new(schema: SchemaRef, batches: B) -> Self {
        Self { schema, batches: Some(batches) }
    }

    /// Drops the reader.
    fn end(&mut self) {
        if let Some(batches) = self.batches.take() {
            // Its error was reported already, and this one cannot be.
            let _ = catch_unwind(AssertUnwindSafe(|| drop(batches)));
        }
    }
}

impl<B> Drop for Stream<B> {
    fn drop(&mut self) {
        self.end();
    }
}

impl<B: Iterator<Item = Result<RecordBatch>>> Iterator for Stream<B> {
    type Item = std::result::Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let batches = self.batches.as_mut()?;
        match catch_unwind(AssertUnwindSafe(|| batches.next())) {
            Ok(batch) => batch.map(|batch| batch.map_err(export::stream_error)),
            Err(panic) => {
                self.end();
                Some(Err(match unwound(panic) {
                    Ok(error) => export::stream_error(error),
                    Err(fault) => ArrowError::ExternalError(fault.into()),
                }))
            }
        }
    }
}

impl<B: Iterator<Item = Result<RecordBatch>>> RecordBatchReader for Stream<B> {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::ffi_stream::{ArrowArrayStreamReader, FFI_ArrowArrayStream};
    use arrow_schema::Schema;

    use super::*;

    /// Panics when it is read, and again when it is dropped.
    struct Broken;

    impl Iterator for Broken {
        type Item = Result<RecordBatch>;

        fn next(&mut self) -> Option<Self::Item> {
            panic!("on purpose");
        }
    }

    impl Drop for Broken {
        fn drop(&mut self) {
            panic!("and again");
        }
    }

    /// Requests more memory than allowed, outside of the guard.
    struct Refusing;

    impl Iterator for Refusing {
        type Item = Result<RecordBatch>;

        fn next(&mut self) -> Option<Self::Item> {
            arrowsmith::Refused::by_system(1 << 60).unwind()
        }
    }

    #[test]
    fn memory_that_is_refused_is_no_fault() {
        let mut stream = Stream::new(Arc::new(Schema::empty()), Refusing);
        let error = stream.next().unwrap().unwrap_err().to_string();
        assert!(error.contains("the system has no 1152921504606846976 bytes"), "{error}");
        assert!(!error.contains("please report"), "{error}");
        assert!(stream.next().is_none());
    }

    #[test]
    fn no_panic_leaves_a_stream() {
        let schema = Arc::new(Schema::empty());
        let stream = FFI_ArrowArrayStream::new(Box::new(Stream::new(Arc::clone(&schema), Broken)));
        let mut reader = ArrowArrayStreamReader::try_new(stream).unwrap();
        let error = reader.next().unwrap().unwrap_err().to_string();
        assert!(error.contains("on purpose"), "{error}");
        drop(reader);
        drop(FFI_ArrowArrayStream::new(Box::new(Stream::new(schema, Broken))));
    }
}
