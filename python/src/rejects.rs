// SPDX-License-Identifier: Apache-2.0
//! Rejects: as dictionaries for a callback, and the first of them as a table of the result.

use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::builder::{BinaryBuilder, BooleanBuilder, StringBuilder, UInt64Builder};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use arrowsmith::Reject;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

/// Rejects that are kept, and bytes of their text: a bound for input that is all wrong.
const KEPT_MAX: usize = 10_000;
const KEPT_BYTES_MAX: usize = 16 << 20;

/// The first rejects of a reader. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct Kept(Arc<Mutex<Inner>>);

#[derive(Default)]
struct Inner {
    rejects: Vec<Reject>,
    bytes: usize,
    is_full: bool,
}

impl Kept {
    pub(crate) fn add(&self, reject: Reject) {
        let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        inner.bytes += reject.record.len();
        // Those after the first that was too many are not kept, so that none is missing between.
        inner.is_full |= inner.rejects.len() == KEPT_MAX || inner.bytes > KEPT_BYTES_MAX;
        if !inner.is_full {
            inner.rejects.push(reject);
        }
    }

    /// One row for each, with the keys of the command's `--rejects`.
    pub(crate) fn batch(&self) -> Result<RecordBatch, ArrowError> {
        let inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        batch(&inner.rejects)
    }
}

/// The columns of a table of rejects.
pub(crate) fn schema() -> SchemaRef {
    let field = |name: &str, of: DataType| Field::new(name, of, name == "source");
    Arc::new(Schema::new(vec![
        field("source", DataType::Utf8),
        field("record", DataType::UInt64),
        field("line", DataType::UInt64),
        field("offset", DataType::UInt64),
        field("path", DataType::Utf8),
        field("kind", DataType::Utf8),
        field("expected", DataType::Utf8),
        field("found", DataType::Utf8),
        field("kept_as_null", DataType::Boolean),
        field("text", DataType::Binary),
    ]))
}

fn batch(rejects: &[Reject]) -> Result<RecordBatch, ArrowError> {
    let [mut source, mut path, mut kind, mut expected, mut found] =
        std::array::from_fn(|_| StringBuilder::new());
    let [mut record, mut line, mut offset] = std::array::from_fn(|_| UInt64Builder::new());
    let (mut kept, mut text) = (BooleanBuilder::new(), BinaryBuilder::new());
    for reject in rejects {
        let error = &reject.error;
        source.append_option(error.position.source.as_deref());
        record.append_value(error.position.record);
        line.append_value(error.position.line);
        offset.append_value(error.position.offset);
        path.append_value(&error.path);
        kind.append_value(error.kind.name());
        expected.append_value(&error.expected);
        found.append_value(&error.found);
        kept.append_value(reject.kept_as_null);
        text.append_value(&reject.record);
    }
    let columns: Vec<ArrayRef> = vec![
        Arc::new(source.finish()),
        Arc::new(record.finish()),
        Arc::new(line.finish()),
        Arc::new(offset.finish()),
        Arc::new(path.finish()),
        Arc::new(kind.finish()),
        Arc::new(expected.finish()),
        Arc::new(found.finish()),
        Arc::new(kept.finish()),
        Arc::new(text.finish()),
    ];
    RecordBatch::try_new(schema(), columns)
}

/// The same keys as a line of the command's `--rejects`.
pub(crate) fn dict<'py>(py: Python<'py>, reject: &Reject) -> PyResult<Bound<'py, PyDict>> {
    let error = &reject.error;
    let dict = PyDict::new(py);
    dict.set_item("source", error.position.source.as_deref())?;
    dict.set_item("record", error.position.record)?;
    dict.set_item("line", error.position.line)?;
    dict.set_item("offset", error.position.offset)?;
    dict.set_item("path", &error.path)?;
    dict.set_item("kind", error.kind.name())?;
    dict.set_item("expected", &error.expected)?;
    dict.set_item("found", &error.found)?;
    dict.set_item("kept_as_null", reject.kept_as_null)?;
    dict.set_item("text", PyBytes::new(py, &reject.record))?;
    Ok(dict)
}
