// SPDX-License-Identifier: Apache-2.0
//! Options, from the dictionary of keyword arguments that the Python layer passes on.

use arrowsmith::gpu::ResidentEngine;
use arrowsmith::json::{ReaderBuilder, SampleOptions};
use arrowsmith::{
    Chain, Compression, DecodeOptions, DuplicateKeys, Framing, Limits, OnError, UnknownKeys,
};
use pyo3::conversion::FromPyObjectOwned;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::errors::{config, raised};
use crate::gpu;

/// Maximum number of threads, as on the command line.
const THREADS_MAX: usize = u16::MAX as usize;

/// The options of inference and of reading inputs.
pub(crate) struct InferOptions {
    framing: Option<Framing>,
    compression: Compression,
    allow_nan: bool,
    limits: Limits,
    records_max: Option<u64>,
    timestamps: bool,
}

impl InferOptions {
    pub(crate) fn extract(options: &Bound<'_, PyDict>) -> PyResult<Self> {
        let compression = choice(
            options,
            "compression",
            &[
                ("auto", Compression::Auto),
                ("none", Compression::None),
                ("gzip", Compression::Gzip),
                ("zstd", Compression::Zstd),
                ("lz4", Compression::Lz4),
            ],
        )?;
        let framing = choice(
            options,
            "format",
            &[
                ("auto", None),
                ("ndjson", Some(Framing::Lines)),
                ("concatenated", Some(Framing::Concatenated)),
                ("array", Some(Framing::Array)),
            ],
        )?;
        let limits = Limits::default()
            .with_depth_max(get(options, "depth_max")?)
            .with_record_bytes_max(get(options, "record_bytes_max")?)
            .with_fields_max(get(options, "fields_max")?)
            .with_row_bytes_max(get(options, "row_bytes_max")?)
            .with_batch_bytes_max(get(options, "batch_bytes_max")?);
        Ok(Self {
            framing,
            compression,
            allow_nan: get(options, "allow_nan")?,
            limits,
            records_max: infer_records(options)?,
            timestamps: get(options, "infer_timestamps")?,
        })
    }

    /// The options as the library's type.
    pub(crate) fn sampling(&self) -> SampleOptions {
        let mut sampling = SampleOptions {
            records_max: self.records_max,
            framing: self.framing,
            limits: self.limits.clone(),
            ..SampleOptions::default()
        };
        sampling.open.compression = self.compression;
        sampling.infer.timestamps = self.timestamps;
        sampling.infer.allow_nan = self.allow_nan;
        sampling
    }
}

/// The options of a reader.
pub(crate) struct ReadOptions {
    infer: InferOptions,
    columns: Option<Vec<String>>,
    engine: Chain,
    /// The same engine, if batches stay on its device.
    resident: Option<ResidentEngine>,
    threads: usize,
    batch_rows: Option<usize>,
    batch_bytes: Option<usize>,
    decode: DecodeOptions,
}

impl ReadOptions {
    pub(crate) fn extract(options: &Bound<'_, PyDict>) -> PyResult<Self> {
        let py = options.py();
        let infer = InferOptions::extract(options)?;
        let mut decode = DecodeOptions::default();
        decode.on_error = choice(
            options,
            "on_error",
            &[("fail", OnError::Fail), ("null", OnError::Null), ("skip", OnError::Skip)],
        )?;
        decode.duplicate_keys = choice(
            options,
            "duplicate_keys",
            &[("last", DuplicateKeys::Last), ("error", DuplicateKeys::Error)],
        )?;
        decode.unknown_keys = choice(
            options,
            "unknown_keys",
            &[("skip", UnknownKeys::Skip), ("error", UnknownKeys::Error)],
        )?;
        decode.allow_nan = infer.allow_nan;
        decode.trust = get(options, "trust")?;
        decode.limits =
            infer.limits.clone().with_memory_bytes_max(get(options, "memory_bytes_max")?);
        let name: String = get(options, "engine")?;
        let (batch_rows, batch_bytes): (Option<usize>, Option<usize>) =
            (get(options, "batch_rows")?, get(options, "batch_bytes")?);
        let on_device = get(options, "on_device")?;
        if on_device {
            let sizes = [("batch_rows", batch_rows), ("batch_bytes", batch_bytes)];
            gpu::refuse_host(&name)
                .and_then(|()| {
                    sizes.into_iter().try_for_each(|(name, size)| gpu::refuse(name, size.is_some()))
                })
                .map_err(|error| raised(py, error))?;
        }
        let memory = get(options, "gpu_memory_bytes_max")?;
        let opened = py.detach(|| gpu::open(&name, memory, on_device));
        let (engine, gpu) = opened.map_err(|error| raised(py, error))?;
        let resident = gpu.map(ResidentEngine::new);
        let engine = match &resident {
            Some(resident) => Chain::of(resident.clone()).then(&engine),
            None => engine,
        };
        let (columns, threads) = (get(options, "columns")?, threads(options)?);
        Ok(Self { infer, columns, engine, resident, threads, batch_rows, batch_bytes, decode })
    }

    /// The engine, where batches stay on its device.
    pub(crate) fn resident(&self) -> Option<ResidentEngine> {
        self.resident.clone()
    }

    /// A builder with all options, without schema and inputs.
    pub(crate) fn builder(self) -> ReaderBuilder {
        let builder = ReaderBuilder::new()
            .infer(self.infer.sampling())
            .engine(self.engine)
            .options(self.decode)
            .framing(self.infer.framing)
            .compression(self.infer.compression)
            .threads(self.threads)
            .batch_rows(self.batch_rows)
            .batch_bytes(self.batch_bytes);
        match self.columns {
            Some(columns) => builder.columns(columns),
            None => builder,
        }
    }
}

/// Number of decoder threads; 0 is one per core.
pub(crate) fn threads(options: &Bound<'_, PyDict>) -> PyResult<usize> {
    match get(options, "threads")? {
        None => Ok(0),
        Some(threads @ 1..=THREADS_MAX) => Ok(threads),
        Some(other) => {
            let message = format!("threads: expected 1 to {THREADS_MAX}, found {other}");
            Err(config(options.py(), message))
        }
    }
}

/// The value of an option; errors name the option.
pub(crate) fn get<'py, T: FromPyObjectOwned<'py>>(
    options: &Bound<'py, PyDict>,
    name: &str,
) -> PyResult<T> {
    let py = options.py();
    let found = value(options, name)?;
    if name == "columns" && found.is_instance_of::<PyString>() {
        let message =
            format!("columns: expected a list of names, as in columns=[{}]", found.repr()?);
        return Err(PyTypeError::new_err(message));
    }
    let extracted: Result<T, PyErr> = found.extract().map_err(Into::into);
    extracted.map_err(|error| {
        let message = format!("{name}: {}", error.value(py));
        if error.is_instance_of::<PyTypeError>(py) {
            PyTypeError::new_err(message)
        } else {
            config(py, message)
        }
    })
}

/// The value of an option, without conversion.
pub(crate) fn value<'py>(options: &Bound<'py, PyDict>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    let found = options.get_item(name)?;
    found.ok_or_else(|| PyTypeError::new_err(format!("{name}: there is no value")))
}

/// Converts the name in an option to its value.
pub(crate) fn choice<T: Copy>(
    options: &Bound<'_, PyDict>,
    name: &str,
    choices: &[(&str, T)],
) -> PyResult<T> {
    let word: String = get(options, name)?;
    if let Some((_, chosen)) = choices.iter().find(|(known, _)| *known == word) {
        return Ok(*chosen);
    }
    let known: Vec<String> = choices.iter().map(|(known, _)| format!("{known:?}")).collect();
    let message = format!("{name}: expected {}, found {word:?}", known.join(", "));
    Err(config(options.py(), message))
}

/// Number of records to infer from; `None` means all.
fn infer_records(options: &Bound<'_, PyDict>) -> PyResult<Option<u64>> {
    let name = "infer_records";
    if value(options, name)?.extract::<String>().is_ok_and(|word| word == "all") {
        return Ok(None);
    }
    match get(options, name)? {
        0 => Err(config(options.py(), format!("{name}: expected 1 or more, or \"all\", found 0"))),
        records => Ok(Some(records)),
    }
}
