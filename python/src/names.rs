// SPDX-License-Identifier: Apache-2.0
//! Lists that callers give: of names, mostly. What they say of their length reserves nothing.

use pyo3::Borrowed;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyMapping, PyString};

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

/// Names, from a sequence of them that is not text itself: sets have no order.
pub(crate) struct Names(pub(crate) Vec<String>);

impl FromPyObject<'_, '_> for Names {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        let is_other = object.is_instance_of::<PyString>() || object.cast::<PyMapping>().is_ok();
        if is_other || !object.hasattr("__getitem__")? {
            let found = object.get_type().name()?;
            return Err(PyTypeError::new_err(format!("expected a list of names, found {found}")));
        }
        items(&object)?.iter().map(|name| name.extract()).collect::<PyResult<_>>().map(Self)
    }
}
