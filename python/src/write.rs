// SPDX-License-Identifier: Apache-2.0
//! Writing: Arrow data of any library, or JSON as it is read, to files and folders.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};

use arrow_schema::ArrowError;
use arrowsmith::Error;
use arrowsmith::json::{GrowingReader, Step};
use arrowsmith_core::redact::redacted;
use arrowsmith_core::sink::SinkSummary;
use arrowsmith_sink::folder::FolderOptions;
use arrowsmith_sink::parquet::{Choice, Codec, ParquetOptions};
use arrowsmith_sink::sort::SortOptions;
use arrowsmith_sink::target::{Format, TableFormat, Target, TextCompression};
use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::batches::Opening;
use crate::errors::{config, raised};
use crate::import::Batches;
use crate::names::Names;
use crate::progress::{Current, Watch, bytes_of};
use crate::source::{self, Places};
use crate::wait::{Place, attended, signals};

/// Rows and bytes that were written.
type Written = (u64, u64);

/// Writes Arrow data as Parquet, batch by batch; `bytes_total` is its Arrow size, for progress.
#[pyfunction]
#[pyo3(signature = (data, target, options, progress=None, bytes_total=None))]
pub(crate) fn write_parquet(
    data: &Bound<'_, PyAny>,
    target: &Bound<'_, PyAny>,
    options: &Bound<'_, PyDict>,
    progress: Option<&Bound<'_, PyAny>>,
    bytes_total: Option<u64>,
) -> PyResult<Written> {
    let py = data.py();
    let (mut watch, mut bytes) = (Watch::new(progress), 0);
    let target = given_target(target, options, Some(Format::Parquet(ParquetOptions::default())))?;
    let mut batches = Batches::of(data)?;
    let schema = batches.schema();
    let mut sink = py.detach(|| target.open(&schema, |_| {})).map_err(|error| raised(py, error))?;
    // The stream of another library may need the GIL, as its file objects do.
    while let Some(batch) = py.detach(|| batches.next()) {
        let batch = batch.map_err(|error| stream_error(py, error))?;
        py.detach(|| sink.write(&batch)).map_err(|error| raised(py, error))?;
        if watch.is_on() {
            bytes += bytes_of(&batch);
        }
        watch.turn_at(py, || (bytes, bytes_total))?;
    }
    watch.call(py, (bytes, bytes_total))?;
    let summary = py.detach(|| sink.finish()).map_err(|error| raised(py, error))?;
    Ok((summary.rows, summary.bytes))
}

/// Converts JSON to files, in bounded memory. An inferred schema grows, so that nothing is lost.
#[pyfunction]
#[pyo3(signature = (source, target, schema, rejects, options, write, progress=None))]
pub(crate) fn convert_json(
    source: &Bound<'_, PyAny>,
    target: &Bound<'_, PyAny>,
    schema: &Bound<'_, PyAny>,
    rejects: &Bound<'_, PyAny>,
    options: &Bound<'_, PyDict>,
    write: &Bound<'_, PyDict>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Written> {
    let py = source.py();
    let mut watch = Watch::new(progress);
    let target = given_target(target, write, None)?;
    let opening = Opening::new(schema, rejects, false, options, Arc::default())?;
    let inputs = source::inputs(source)?;
    let Opening { builder, raised: slot, cancel, .. } = opening;
    let place = Places::of(&inputs, false).whole;
    let reader = attended(py, place, &cancel, signals, move || builder.growing(inputs))?;
    let mut reader = reader.map_err(|error| raised(py, error))?;
    let current = Current::new(reader.progress());
    let progress = current.clone();
    let place = if place == Place::Here { place } else { Place::ToTheEnd };
    let summary = attended(
        py,
        place,
        &cancel,
        |py| watch.turn(py, &current.get()),
        move || {
            loop {
                if let Some(summary) = pass(&mut reader, &target, &progress)? {
                    return Ok(summary);
                }
                reader.restart()?;
            }
        },
    )?;
    // An exception of a callback is the cause of what is reported.
    if let Some(error) = slot.lock().unwrap_or_else(PoisonError::into_inner).take() {
        return Err(error);
    }
    let summary = summary.map_err(|error| raised(py, error))?;
    watch.end(py, &current.get())?;
    Ok((summary.rows, summary.bytes))
}

/// Writes everything, unless the schema grows meanwhile.
fn pass(
    reader: &mut GrowingReader,
    target: &Target,
    progress: &Current,
) -> arrowsmith::Result<Option<SinkSummary>> {
    let mut sink = target.open(&reader.schema(), |_| {})?;
    loop {
        let step = reader.step()?;
        progress.set(reader.progress());
        match step {
            Step::Batch(batch) => sink.write(&batch)?,
            Step::Grown if reader.widen(|schema| sink.widen(schema))? => {}
            Step::Grown => return Ok(None),
            Step::End => return sink.finish().map(Some),
        }
    }
}

/// An error of an Arrow stream.
fn stream_error(py: Python<'_>, error: ArrowError) -> PyErr {
    raised(py, Error::Arrow(error))
}

/// The target and the options of writing; of which format, by `format` or the name.
fn given_target(
    target: &Bound<'_, PyAny>,
    options: &Bound<'_, PyDict>,
    format: Option<Format>,
) -> PyResult<Target> {
    let py = target.py();
    let (target, store) = source::unwrapped(target);
    let Ok(path) = target.extract::<PathBuf>() else {
        let found = target.get_type().name()?;
        return Err(PyTypeError::new_err(format!("target: expected a path or URL, found {found}")));
    };
    let mut given = Given { folder: FolderOptions::default(), ..Given::default() };
    for (name, value) in options.iter() {
        let name: String = name.extract()?;
        if !value.is_none() {
            given.set(&name, &value)?;
        }
    }
    if given.has_partitions_max && given.folder.partition_by.is_empty() {
        return Err(config(py, "partitions_max needs partition_by".to_owned()));
    }
    if given.fsync && path.to_str().is_some_and(arrowsmith::store::is_url) {
        return Err(config(py, "fsync is for files and folders only".to_owned()));
    }
    if given.has_sort_memory && given.sort.keys.is_empty() {
        return Err(config(py, "sort_memory needs sort_by".to_owned()));
    }
    let is_folder = given.is_folder || given.table.is_some() || Target::is_folder(&path);
    let format = match format.or_else(|| Format::by_extension(&path)) {
        Some(format) => format,
        None if is_folder => Format::Parquet(ParquetOptions::default()),
        None => return Err(config(py, unknown(&path))),
    };
    let format = match format {
        Format::Parquet(_) => Format::Parquet(given.parquet.clone()),
        _ if given.is_parquet || given.table.is_some() => {
            let message = "encodings, bloom_filters, variant, row_group_rows, row_group_bytes and \
                           table are for Parquet";
            return Err(config(py, message.to_owned()));
        }
        format if !given.has_codec => format,
        format => match compressed(&format, given.parquet.codec) {
            Some(format) => format,
            None => {
                let message = format!(
                    "codec {}: JSON and CSV have none, gzip and zstd, Arrow files have no codec",
                    given.parquet.codec
                );
                return Err(config(py, message));
            }
        },
    };
    let target = match given.table {
        Some(table) => Target::table(path, table, given.parquet, given.folder, given.append),
        None if is_folder => Target::folder(path, format, given.folder, given.append),
        None => Target::file(path, format),
    };
    let target = match given.sort.keys.is_empty() {
        true => target,
        false => target.with_sort(given.sort),
    };
    Ok(target.with_threads(given.threads).with_fsync(given.fsync).with_store(store))
}

/// A format of text with a codec of its own instead of that of the file's name.
fn compressed(format: &Format, codec: Codec) -> Option<Format> {
    let compression = match codec {
        Codec::None => TextCompression::None,
        Codec::Gzip(level) => TextCompression::Gzip(level),
        Codec::Zstd(level) => TextCompression::Zstd(level),
        _ => return None,
    };
    format.with_compression(compression)
}

fn unknown(path: &Path) -> String {
    format!(
        "target: cannot tell the format from the name {:?}: end it in one of {}",
        redacted(&path.display().to_string()),
        Format::extensions()
    )
}

/// The options of writing, see `WriteOptions` in `python/arrowsmith/_types.py`.
#[derive(Default)]
struct Given {
    parquet: ParquetOptions,
    is_parquet: bool,
    has_codec: bool,
    sort: SortOptions,
    has_sort_memory: bool,
    table: Option<TableFormat>,
    folder: FolderOptions,
    has_partitions_max: bool,
    is_folder: bool,
    append: bool,
    threads: usize,
    fsync: bool,
}

impl Given {
    fn set(&mut self, name: &str, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = value.py();
        self.is_parquet |=
            matches!(name, "encodings" | "bloom_filters" | "row_group_rows" | "row_group_bytes")
                || (name == "variant" && value.is_truthy()?);
        self.has_codec |= name == "codec";
        self.has_sort_memory |= name == "sort_memory";
        self.has_partitions_max |= name == "partitions_max";
        self.is_folder |= matches!(name, "partition_by" | "rows_per_file" | "bytes_per_file")
            || (name == "append" && value.is_truthy()?);
        match name {
            "codec" => {
                self.parquet.codec = text(name, value)?.parse().map_err(|e| raised(py, e))?;
            }
            "encodings" => {
                self.parquet.encodings = match text(name, value)?.as_str() {
                    "smallest" => Choice::Smallest,
                    "compatible" => Choice::Compatible,
                    "plain" => Choice::Plain,
                    other => {
                        let there = "there are smallest, compatible, plain";
                        return Err(config(py, format!("encodings {other:?}: {there}")));
                    }
                }
            }
            "bloom_filters" => self.parquet.bloom_filters = texts(name, value)?,
            "variant" => self.parquet.variant = value.is_truthy()?,
            "row_group_rows" => self.parquet.row_group_rows = number(name, value)?,
            "row_group_bytes" => self.parquet.row_group_bytes = number(name, value)?,
            "partition_by" => {
                let parsed: Result<_, Error> =
                    texts(name, value)?.iter().map(|text| text.parse()).collect();
                self.folder.partition_by = parsed.map_err(|error| raised(py, error))?;
            }
            "sort_by" => {
                let parsed: Result<_, Error> =
                    texts(name, value)?.iter().map(|text| text.parse()).collect();
                self.sort.keys = parsed.map_err(|error| raised(py, error))?;
            }
            "sort_memory" => self.sort.bytes_max = number(name, value)?,
            "table" => match text(name, value)?.as_str() {
                "delta" => self.table = Some(TableFormat::Delta),
                "iceberg" => self.table = Some(TableFormat::Iceberg),
                other => {
                    let there = "there are delta, iceberg";
                    return Err(config(py, format!("table {other:?}: {there}")));
                }
            },
            "rows_per_file" => self.folder.rows_per_file = Some(number(name, value)? as u64),
            "bytes_per_file" => self.folder.bytes_per_file = Some(number(name, value)? as u64),
            "partitions_max" => self.folder.partitions_max = number(name, value)?,
            "append" => self.append = value.is_truthy()?,
            "fsync" => self.fsync = value.is_truthy()?,
            "threads" => self.threads = number(name, value)?,
            _ => return Err(PyTypeError::new_err(format!("{name}: there is no such option"))),
        }
        Ok(())
    }
}

fn text(name: &str, value: &Bound<'_, PyAny>) -> PyResult<String> {
    let wrong = |_| PyTypeError::new_err(format!("{name}: expected str"));
    value.extract().map_err(wrong)
}

/// A text, or several.
fn texts(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    if value.is_instance_of::<PyString>() {
        return Ok(vec![text(name, value)?]);
    }
    let wrong = |_| PyTypeError::new_err(format!("{name}: expected a list of str"));
    Ok(value.extract::<Names>().map_err(wrong)?.0)
}

fn number(name: &str, value: &Bound<'_, PyAny>) -> PyResult<usize> {
    value.extract().map_err(|error: PyErr| {
        if error.is_instance_of::<PyOverflowError>(value.py()) {
            return config(value.py(), format!("{name}: must not be negative"));
        }
        PyTypeError::new_err(format!("{name}: expected int"))
    })
}
