// SPDX-License-Identifier: Apache-2.0
//! Options, from keyword arguments. Names, values and defaults are those of the library's table.

use arrowsmith::gpu::{GpuEngine, ResidentEngine};
use arrowsmith::options::{self, Kind, OptionInfo, Refused, Value};
use arrowsmith::{Chain, JsonReadOptions, ParquetReadOptions};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyMapping, PyString};

use crate::errors::{config, raised};
use crate::filter::predicate;
use crate::gpu;
use crate::names::items;
use crate::schema::{schema_of, types_of};

/// The options of a JSON reader.
pub(crate) fn json(given: &Bound<'_, PyDict>) -> PyResult<JsonReadOptions> {
    let mut options = JsonReadOptions::default();
    set(given, options::JSON, |name, value| options.set(name, value))?;
    Ok(options)
}

/// The options of inference, which are some of a JSON reader's.
pub(crate) fn inference(given: &Bound<'_, PyDict>) -> PyResult<JsonReadOptions> {
    for name in given.keys() {
        let name: String = name.extract()?;
        let found = options::JSON.iter().find(|option| option.name == name);
        if found.is_some_and(|option| !option.infers) {
            return Err(PyTypeError::new_err(format!("{name}: does not apply to inference")));
        }
    }
    json(given)
}

/// The options of a Parquet reader.
pub(crate) fn parquet(given: &Bound<'_, PyDict>) -> PyResult<ParquetReadOptions> {
    let mut options = ParquetReadOptions::default();
    set(given, options::PARQUET, |name, value| options.set(name, value))?;
    Ok(options)
}

fn set(
    given: &Bound<'_, PyDict>,
    table: &[OptionInfo],
    mut set: impl FnMut(&str, Value) -> Result<(), Refused>,
) -> PyResult<()> {
    let py = given.py();
    for (name, object) in given.iter() {
        let name: String = name.extract()?;
        let kind = table.iter().find(|option| option.name == name).map(|option| option.kind);
        if matches!(kind, Some(Kind::Paths | Kind::PathsOrAll)) && object.cast::<PyString>().is_ok()
        {
            let wanted = format!("expected a list of names, as in {name}=[{}]", object.repr()?);
            return Err(PyTypeError::new_err(format!("{name}: {wanted}")));
        }
        let value = value(&object, kind)?;
        set(&name, value).map_err(|refused| match refused {
            Refused::Unknown(text) => PyTypeError::new_err(match here(&name, table) {
                Some(known) => format!("there is no option {name:?}: here it is {known}"),
                None => text,
            }),
            Refused::Type(text) => PyTypeError::new_err(text),
            Refused::Value(text) => config(py, text),
            Refused::Failed(error) => raised(py, error),
        })?;
    }
    Ok(())
}

/// The name of an option that other libraries call otherwise.
fn here(name: &str, table: &[OptionInfo]) -> Option<&'static str> {
    let known = match name {
        "schema_overrides" | "dtype" | "dtypes" | "column_types" => "types",
        "n_rows" | "nrows" => "limit",
        "skip_rows" | "skiprows" => "skip",
        "infer_schema_length" => "infer_records",
        "ignore_errors" => "on_error",
        "where" | "filters" | "predicate" => "filter",
        "usecols" => "columns",
        "batch_size" | "chunksize" => "batch_rows",
        _ => return None,
    };
    table.iter().any(|option| option.name == known).then_some(known)
}

/// An object as the value of an option of this kind.
fn value(object: &Bound<'_, PyAny>, kind: Option<Kind>) -> PyResult<Value> {
    if object.is_none() {
        return Ok(Value::Default);
    }
    match kind {
        Some(Kind::Types) => return Ok(Value::Schema(types_of(object)?)),
        Some(Kind::Schema) => return Ok(Value::Schema(schema_of(object)?)),
        Some(Kind::Condition) => return Ok(Value::Condition(Box::new(predicate(object)?))),
        _ => {}
    }
    if let Some(single) = single(object)? {
        return Ok(single);
    }
    // The keys of a dictionary are no list that anybody wrote.
    match object.try_iter() {
        Ok(_) if object.cast::<PyMapping>().is_err() => {
            let takes_lists = matches!(kind, Some(Kind::Paths | Kind::PathsOrAll | Kind::Numbers));
            let list = if takes_lists { items(object)? } else { Vec::new() };
            Ok(Value::List(list.iter().map(item_value).collect::<PyResult<_>>()?))
        }
        _ => other(object),
    }
}

/// An item of a list. Lists in lists are not read: they may contain themselves.
fn item_value(object: &Bound<'_, PyAny>) -> PyResult<Value> {
    if object.is_none() {
        return Ok(Value::Default);
    }
    single(object)?.map_or_else(|| other(object), Ok)
}

/// True or false, text, or a whole number; `None` for any other object.
///
/// # Errors
/// `UnicodeEncodeError` for text with a surrogate by itself.
fn single(object: &Bound<'_, PyAny>) -> PyResult<Option<Value>> {
    if let Ok(flag) = object.extract::<bool>() {
        return Ok(Some(Value::Flag(flag)));
    }
    if let Ok(text) = object.cast::<PyString>() {
        return Ok(Some(Value::Text(text.to_str()?.to_owned())));
    }
    match object.extract::<i128>() {
        Ok(number) => Ok(Some(Value::Integer(number))),
        // No option is that large.
        Err(error) if error.is_instance_of::<PyOverflowError>(object.py()) => {
            Ok(Some(Value::Integer(i128::MAX)))
        }
        Err(_) => Ok(None),
    }
}

fn other(object: &Bound<'_, PyAny>) -> PyResult<Value> {
    Ok(Value::Other(format!("an object of type {}", object.get_type().name()?)))
}

/// The engine that the options name, and where batches stay on its device, that engine by itself;
/// the chain then decodes what it declines.
pub(crate) fn engine(
    py: Python<'_>,
    name: &str,
    gpu_memory_bytes_max: u64,
    on_device: bool,
) -> PyResult<(Chain, Option<GpuEngine>)> {
    let opened = py.detach(|| gpu::open(name, gpu_memory_bytes_max, on_device));
    opened.map_err(|error| raised(py, error))
}

/// Refuses engines without a device, and options that are not supported with `on_device`.
pub(crate) fn refuse_host_only(
    py: Python<'_>,
    engine: &str,
    table: &[OptionInfo],
    get: impl Fn(&str) -> Option<Value>,
) -> PyResult<()> {
    let mut host_only = table.iter().filter(|option| option.host_only);
    let refused = gpu::refuse_host(engine).and_then(|()| {
        host_only.try_for_each(|option| {
            gpu::refuse(option.name, get(option.name) != Some(option.default()))
        })
    });
    refused.map_err(|error| raised(py, error))
}

/// The engine of a JSON reader, and the same where batches stay on its device.
pub(crate) fn json_engine(
    py: Python<'_>,
    options: &JsonReadOptions,
    on_device: bool,
) -> PyResult<(Chain, Option<ResidentEngine>)> {
    let JsonReadOptions { engine: name, gpu_memory_bytes_max, .. } = options;
    if on_device {
        refuse_host_only(py, name, options::JSON, |option| options.get(option))?;
    }
    let (engine, gpu) = engine(py, name, *gpu_memory_bytes_max, on_device)?;
    let resident = gpu.map(ResidentEngine::new);
    let engine = match &resident {
        Some(resident) => Chain::of(resident.clone()).then(&engine),
        None => engine,
    };
    Ok((engine, resident))
}

/// An option of the table: name, default, description.
type Described<'py> = (&'static str, Bound<'py, PyAny>, &'static str);

/// The options of JSON and of Parquet, for signatures.
#[pyfunction]
pub(crate) fn read_options(py: Python<'_>) -> PyResult<(Vec<Described<'_>>, Vec<Described<'_>>)> {
    let described =
        |option: &OptionInfo| Ok((option.name, object(py, option.default())?, option.help()));
    let all = |table: &[OptionInfo]| table.iter().map(described).collect::<PyResult<_>>();
    Ok((all(options::JSON)?, all(options::PARQUET)?))
}

fn object(py: Python<'_>, value: Value) -> PyResult<Bound<'_, PyAny>> {
    match value {
        Value::Flag(flag) => flag.into_bound_py_any(py),
        Value::Integer(number) => number.into_bound_py_any(py),
        Value::Text(text) => text.into_bound_py_any(py),
        _ => Ok(py.None().into_bound(py)),
    }
}
