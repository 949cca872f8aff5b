// SPDX-License-Identifier: Apache-2.0
//! Conditions: text, or the form of pyarrow and pandas: `[("x", ">", 1), ("y", "in", {2, 3})]` is a
//! conjunction, a list of such lists is a disjunction of them. Their logic is that of the text
//! form.

use arrowsmith::parquet::{Comparison, Literal, Predicate};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyFloat, PyInt, PyList, PyString, PyTuple};

use crate::errors::{config, raised};

/// Converts a value to a condition.
pub(crate) fn predicate(value: &Bound<'_, PyAny>) -> PyResult<Predicate> {
    if let Ok(text) = value.cast::<PyString>() {
        return Predicate::parse(text.to_str()?).map_err(|error| raised(value.py(), error));
    }
    if is_test(value) {
        return test(value);
    }
    let parts = items(value)?;
    if parts.iter().all(|part| !is_test(part)) && !parts.is_empty() {
        let any = parts.iter().map(all).collect::<PyResult<_>>()?;
        return Ok(Predicate::Or(any));
    }
    all(value)
}

/// The text of a condition.
#[pyfunction]
#[pyo3(name = "condition")]
pub(crate) fn text(value: &Bound<'_, PyAny>) -> PyResult<String> {
    predicate(value).map(|predicate| predicate.to_string())
}

/// Whether this is `(column, operator, value)`.
fn is_test(value: &Bound<'_, PyAny>) -> bool {
    value.cast::<PyTuple>().is_ok_and(|tuple| {
        tuple.len() == 3 && tuple.get_item(0).is_ok_and(|name| name.is_instance_of::<PyString>())
    })
}

fn items<'py>(value: &Bound<'py, PyAny>) -> PyResult<Vec<Bound<'py, PyAny>>> {
    if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        return value.try_iter()?.collect();
    }
    Err(PyTypeError::new_err(format!(
        "filter: expected text, a (column, operator, value) tuple or lists of them, found {}",
        value.get_type().name()?
    )))
}

fn all(value: &Bound<'_, PyAny>) -> PyResult<Predicate> {
    Ok(Predicate::And(items(value)?.iter().map(test).collect::<PyResult<_>>()?))
}

fn test(value: &Bound<'_, PyAny>) -> PyResult<Predicate> {
    if !is_test(value) {
        let message =
            format!("filter: expected (column, operator, value), found {}", value.repr()?);
        return Err(PyTypeError::new_err(message));
    }
    let (column, operator, value): (String, String, Bound<'_, PyAny>) = value.extract()?;
    let comparison = match operator.to_lowercase().as_str() {
        "=" | "==" => Comparison::Equal,
        "!=" | "<>" => Comparison::NotEqual,
        "<" => Comparison::Less,
        "<=" => Comparison::LessOrEqual,
        ">" => Comparison::Greater,
        ">=" => Comparison::GreaterOrEqual,
        "in" => return one_of(column, &value),
        "not in" => return Ok(Predicate::Not(Box::new(one_of(column, &value)?))),
        "is" if value.is_none() => return Ok(Predicate::IsNull(column)),
        "is not" if value.is_none() => {
            return Ok(Predicate::Not(Box::new(Predicate::IsNull(column))));
        }
        other => {
            let message = format!("filter: {column}: there is no operator {other:?}");
            return Err(config(value.py(), message));
        }
    };
    if value.is_none() {
        return match comparison {
            Comparison::Equal => Ok(Predicate::IsNull(column)),
            Comparison::NotEqual => Ok(Predicate::Not(Box::new(Predicate::IsNull(column)))),
            other => {
                let symbol = other.symbol();
                let message = format!("filter: {column}: nothing is {symbol} None");
                Err(config(value.py(), message))
            }
        };
    }
    let literal = literal(&column, &value)?;
    Ok(Predicate::compare(column, comparison, literal))
}

fn one_of(column: String, values: &Bound<'_, PyAny>) -> PyResult<Predicate> {
    if values.is_instance_of::<PyString>() || values.is_instance_of::<PyBytes>() {
        let message = format!("filter: {column}: `in` requires a collection of values");
        return Err(PyTypeError::new_err(message));
    }
    let mut literals = Vec::new();
    let mut null = false;
    for value in values.try_iter()? {
        let value = value?;
        if value.is_none() {
            null = true;
        } else {
            literals.push(literal(&column, &value)?);
        }
    }
    let found = Predicate::In { column: column.clone(), values: literals };
    Ok(if null { Predicate::Or(vec![found, Predicate::IsNull(column)]) } else { found })
}

fn literal(column: &str, value: &Bound<'_, PyAny>) -> PyResult<Literal> {
    let text = |value: &Bound<'_, PyAny>| -> PyResult<String> { value.str()?.extract() };
    if let Ok(value) = value.cast::<PyBool>() {
        return Ok(Literal::Boolean(value.is_true()));
    }
    if value.is_instance_of::<PyInt>() {
        return Ok(Literal::Number(text(value)?));
    }
    if let Ok(number) = value.cast::<PyFloat>() {
        if !number.value().is_finite() {
            let message = format!("filter: {column}: {} cannot be compared with", number.value());
            return Err(config(value.py(), message));
        }
        return Ok(Literal::Number(text(&value.call_method0("__float__")?)?));
    }
    if value.is_instance_of::<PyString>() {
        return Ok(Literal::Text(text(value)?));
    }
    if let Ok(bytes) = value.cast::<PyBytes>() {
        return Ok(Literal::Bytes(bytes.as_bytes().to_vec()));
    }
    let class: String = value.get_type().name()?.extract()?;
    match class.as_str() {
        "Decimal" => Ok(Literal::Number(text(value)?)),
        "UUID" | "datetime64" => Ok(Literal::Text(text(value)?)),
        // Dates, times and timestamps of any library.
        _ if value.hasattr("isoformat")? => {
            Ok(Literal::Text(value.call_method0("isoformat")?.extract()?))
        }
        // Scalars of numpy.
        _ if value.hasattr("item")? => {
            let item = value.call_method0("item")?;
            if item.get_type().is(value.get_type()) {
                return Err(unknown(column, &class));
            }
            literal(column, &item)
        }
        _ => Err(unknown(column, &class)),
    }
}

fn unknown(column: &str, class: &str) -> PyErr {
    PyTypeError::new_err(format!("filter: {column}: a {class} cannot be compared with"))
}
