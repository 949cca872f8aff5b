// SPDX-License-Identifier: Apache-2.0
//! Schemas: conversion from Python values, and the `Schema` object.

use std::path::PathBuf;
use std::sync::Arc;

use arrow_schema::{DataType, Schema as ArrowSchema, SchemaRef};
use arrowsmith::Error;
use arrowsmith::plan::load::{load_schema, load_schema_file};
use arrowsmith::plan::text::{format_schema, parse_schema};
use pyo3::exceptions::{PyKeyError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyMapping, PyString, PyTuple};
use pyo3_arrow::{PyField, PySchema};

use crate::errors::raised;
use crate::export::schema_capsule;
use crate::ipc;
use crate::names::Names;
use crate::table::arrow;

/// Converts a value to a schema: an Arrow schema, a path or a text.
pub(crate) fn schema_of(value: &Bound<'_, PyAny>) -> PyResult<SchemaRef> {
    let py = value.py();
    let loaded = if let Ok(schema) = value.cast::<Schema>() {
        return Ok(Arc::clone(&schema.get().0));
    } else if let Ok(text) = value.cast::<PyString>() {
        load_schema(text.to_str()?)
    } else if value.hasattr("__arrow_c_schema__")? {
        return Ok(value.extract::<PySchema>()?.into_inner());
    } else if value.hasattr("__fspath__")? {
        load_schema_file(value.extract::<PathBuf>()?)
    } else {
        return Err(PyTypeError::new_err(format!(
            "schema: expected text, a path, or an object with __arrow_c_schema__, found {}",
            value.get_type().name()?
        )));
    };
    loaded.and_then(exportable).map_err(|error| raised(py, error))
}

/// Converts types by path to a schema whose names are the paths: a mapping to types, as text or as
/// Arrow types, or what [`schema_of`] takes.
pub(crate) fn types_of(value: &Bound<'_, PyAny>) -> PyResult<SchemaRef> {
    let py = value.py();
    let Ok(types) = value.cast::<PyMapping>() else {
        let expected = |error: PyErr| match error.is_instance_of::<PyTypeError>(py) {
            true => PyTypeError::new_err(
                "types: expected a mapping of paths to types, text, a path or a schema",
            ),
            false => error,
        };
        return schema_of(value).map_err(expected);
    };
    let mut fields = Vec::new();
    for pair in types.items()?.try_iter()? {
        let (path, of): (String, Bound<'_, PyAny>) = pair?.extract()?;
        let field = if of.hasattr("__arrow_c_schema__")? {
            let field = of.extract::<PyField>()?.into_inner();
            field.as_ref().clone().with_name(&path)
        } else if let Ok(text) = of.cast::<PyString>() {
            let parsed = parse_schema(&format!("type: {}", text.to_str()?));
            let parsed = parsed.and_then(|schema| match schema.fields().as_ref() {
                [field] => Ok(field.as_ref().clone().with_name(&path)),
                _ => Err(Error::schema(&path, "expected one type")),
            });
            parsed.map_err(|error| raised(py, error))?
        } else {
            let found = of.get_type().name()?;
            let message = format!("types: {path}: expected a type, found {found}");
            return Err(PyTypeError::new_err(message));
        };
        fields.push(field);
    }
    exportable(ArrowSchema::new(fields)).map_err(|error| raised(py, error))
}

/// Refuses time zones with a NUL: the C interface cannot represent them, and arrow-rs panics at
/// them.
fn exportable(schema: ArrowSchema) -> arrowsmith::Result<SchemaRef> {
    fn zone(data_type: &DataType) -> Option<&str> {
        match data_type {
            DataType::Timestamp(_, zone) => zone.as_deref(),
            DataType::Dictionary(_, values) => zone(values),
            _ => None,
        }
    }
    for field in schema.flattened_fields() {
        if zone(field.data_type()).is_some_and(|zone| zone.contains('\0')) {
            return Err(Error::schema(field.name(), "a time zone must not contain a NUL"));
        }
    }
    Ok(Arc::new(schema))
}

/// Restores a pickled schema.
#[pyfunction]
pub(crate) fn schema_from_ipc(py: Python<'_>, stream: &[u8]) -> PyResult<Schema> {
    let (schema, _) = ipc::read(stream).map_err(|error| arrow(py, error))?;
    Ok(Schema(schema))
}

/// A schema: its text form, and an Arrow schema for consumers of one.
#[pyclass(module = "arrowsmith", frozen)]
pub(crate) struct Schema(SchemaRef);

impl Schema {
    pub(crate) fn new(schema: SchemaRef) -> Self {
        Self(schema)
    }

    pub(crate) fn arrow(&self) -> &SchemaRef {
        &self.0
    }
}

#[pymethods]
impl Schema {
    #[new]
    fn parse(schema: &Bound<'_, PyAny>) -> PyResult<Self> {
        schema_of(schema).map(Self)
    }

    /// The names of the columns, in order.
    #[getter]
    fn names(&self) -> Vec<String> {
        self.0.fields().iter().map(|field| field.name().clone()).collect()
    }

    /// The schema as a `pyarrow.Schema`.
    fn to_pyarrow<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("pyarrow")?.call_method1("schema", (slf,))
    }

    /// The columns of these names, in the order of the schema.
    fn select(&self, names: Names) -> PyResult<Self> {
        let names = names.0;
        if let Some(name) = names.iter().find(|name| self.0.fields().find(name).is_none()) {
            return Err(PyKeyError::new_err(format!("there is no column {name:?}")));
        }
        let fields = self.0.fields().iter().filter(|field| names.contains(field.name()));
        let fields = fields.cloned().collect::<Vec<_>>();
        Ok(Self(Arc::new(ArrowSchema::new_with_metadata(fields, self.0.metadata().clone()))))
    }

    /// Pickles as an Arrow IPC stream without batches.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let py = slf.py();
        let stream = ipc::write(&slf.get().0, &[]).map_err(|error| arrow(py, error))?;
        let restore = py.import("arrowsmith._lib")?.getattr("schema_from_ipc")?;
        (restore, (PyBytes::new(py, &stream),)).into_pyobject(py)
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        schema_capsule(py, &self.0)
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|other| self.0 == other.get().0)
    }

    fn __str__(&self) -> String {
        format_schema(&self.0)
    }

    fn __repr__(&self) -> String {
        format!("<arrowsmith.Schema>\n{}", format_schema(&self.0))
    }
}
