// SPDX-License-Identifier: Apache-2.0
//! Progress for a callback in Python, called by the thread that waits for the work.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use arrow_array::cast::AsArray;
use arrow_array::{Array, OffsetSizeTrait, RecordBatch};
use arrow_schema::DataType;
use arrowsmith::Progress;
use pyo3::prelude::*;

/// Time between two calls: a callback that draws costs little then.
const PERIOD: Duration = Duration::from_millis(100);

/// Whoever is told how far the work is: a callable that takes the bytes done, and the bytes in all
/// or `None`.
pub(crate) struct Watch {
    call: Option<Py<PyAny>>,
    next: Instant,
}

impl Watch {
    pub(crate) fn new(call: Option<&Bound<'_, PyAny>>) -> Self {
        Self { call: call.map(|call| call.clone().unbind()), next: Instant::now() }
    }

    /// Now and then: Ctrl-C, and the callback if it is time.
    pub(crate) fn turn(&mut self, py: Python<'_>, progress: &Progress) -> PyResult<()> {
        self.turn_at(py, || (progress.bytes(), progress.bytes_total()))
    }

    /// [`Watch::turn`] with numbers of the caller's own.
    pub(crate) fn turn_at(
        &mut self,
        py: Python<'_>,
        bytes: impl FnOnce() -> (u64, Option<u64>),
    ) -> PyResult<()> {
        py.check_signals()?;
        let now = Instant::now();
        if self.call.is_none() || now < self.next {
            return Ok(());
        }
        self.next = now + PERIOD;
        self.call(py, bytes())
    }

    /// After the last batch.
    pub(crate) fn end(&self, py: Python<'_>, progress: &Progress) -> PyResult<()> {
        self.call(py, (progress.bytes(), progress.bytes_total()))
    }

    pub(crate) fn call(&self, py: Python<'_>, bytes: (u64, Option<u64>)) -> PyResult<()> {
        self.call.as_ref().map_or(Ok(()), |call| call.call1(py, bytes).map(drop))
    }

    pub(crate) fn is_on(&self) -> bool {
        self.call.is_some()
    }
}

/// The progress of the current pass over the data, of which each has its own.
#[derive(Clone)]
pub(crate) struct Current(Arc<Mutex<Arc<Progress>>>);

impl Current {
    pub(crate) fn new(progress: &Arc<Progress>) -> Self {
        Self(Arc::new(Mutex::new(Arc::clone(progress))))
    }

    pub(crate) fn set(&self, progress: &Arc<Progress>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Arc::clone(progress);
    }

    pub(crate) fn get(&self) -> Arc<Progress> {
        Arc::clone(&self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The Arrow size of the rows of a batch, which may be a slice of larger buffers.
pub(crate) fn bytes_of(batch: &RecordBatch) -> u64 {
    batch.columns().iter().map(|column| array_bytes(column.as_ref())).sum::<usize>() as u64
}

/// Unlike `ArrayData::get_slice_memory_size`, only the elements that the lists of a slice have.
fn array_bytes(array: &dyn Array) -> usize {
    let validity = array.nulls().map_or(0, |_| array.len().div_ceil(8));
    if let Some(rows) = array.as_struct_opt() {
        let children = rows.columns().iter().map(|child| array_bytes(child.as_ref()));
        return validity + children.sum::<usize>();
    }
    let elements = match array.data_type() {
        DataType::List(_) => {
            let list = array.as_list::<i32>();
            Some((list.values(), range(list.value_offsets()), size_of::<i32>()))
        }
        DataType::LargeList(_) => {
            let list = array.as_list::<i64>();
            Some((list.values(), range(list.value_offsets()), size_of::<i64>()))
        }
        _ => None,
    };
    if let Some((values, (start, end), offset)) = elements {
        return validity
            + (array.len() + 1) * offset
            + array_bytes(&values.slice(start, end - start));
    }
    // A type that cannot tell counts with all of its memory.
    array.to_data().get_slice_memory_size().unwrap_or_else(|_| array.get_array_memory_size())
}

/// The elements of all lists.
fn range<O: OffsetSizeTrait>(offsets: &[O]) -> (usize, usize) {
    let at = |offset: Option<&O>| offset.map_or(0, |offset| offset.as_usize());
    (at(offsets.first()), at(offsets.last()))
}
