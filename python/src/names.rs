// SPDX-License-Identifier: Apache-2.0
//! Lists that callers give: of names, mostly. Any iterable is one, and what it says of its length
//! reserves nothing.

use pyo3::Borrowed;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyString;

/// The items of a longer list are not read, as it may have no end.
const ITEMS_MAX: usize = 1 << 20;

/// The items of an iterable.
///
/// # Errors
/// `TypeError` for an object that is none, `ValueError` for one with more than 1,048,576 items, and
/// what iterating it raises.
pub(crate) fn items<'py>(object: &Bound<'py, PyAny>) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let mut items = Vec::new();
    for item in object.try_iter()? {
        if items.len() == ITEMS_MAX {
            return Err(PyValueError::new_err(format!("a list of more than {ITEMS_MAX} items")));
        }
        items.push(item?);
    }
    Ok(items)
}

/// Names, from an iterable of them that is not text itself.
pub(crate) struct Names(pub(crate) Vec<String>);

impl FromPyObject<'_, '_> for Names {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        if object.is_instance_of::<PyString>() {
            return Err(PyTypeError::new_err("expected a list of names, found one text"));
        }
        items(&object)?.iter().map(|name| name.extract()).collect::<PyResult<_>>().map(Self)
    }
}
