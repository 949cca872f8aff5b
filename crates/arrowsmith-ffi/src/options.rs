// SPDX-License-Identifier: Apache-2.0
//! Options, from JSON text: names and defaults are those of the Python package. What is not known
//! is refused.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use arrow_schema::{SchemaRef, TimeUnit};
use arrowsmith::json::{self, SampleOptions};
use arrowsmith::parquet::{self, Columns, Predicate, StringForm};
use arrowsmith::plan::load::load_schema;
use arrowsmith::{
    Compression, DecodeOptions, DuplicateKeys, Error, Framing, Limits, OnError, Result, UnknownKeys,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

/// Most threads that may be asked for, as on the command line.
const THREADS_MAX: usize = u16::MAX as usize;

/// The options that a text says; no text is none.
pub(crate) fn parse<T: DeserializeOwned>(text: &[u8]) -> Result<T> {
    let text = if text.is_empty() { b"{}" } else { text };
    let refuse = |error: &dyn std::fmt::Display| Error::Config(format!("options: {error}"));
    let options: Map<String, Value> =
        serde_json::from_slice(text).map_err(|error| refuse(&error))?;
    // One by one, so that an error names its option and not a column of a text that nobody wrote.
    for (name, value) in &options {
        let one = Map::from_iter([(name.clone(), value.clone())]);
        if let Err(error) = T::deserialize(Value::Object(one)) {
            let error = error.to_string();
            let named = error.contains(name.as_str());
            let text = if named { error } else { format!("{name}: {error}, found {value}") };
            return Err(refuse(&text));
        }
    }
    T::deserialize(Value::Object(options)).map_err(|error| refuse(&error))
}

/// A word, and what it stands for.
macro_rules! words {
    ($name:ident, $of:ty, $($variant:ident => $value:expr),+ $(,)?) => {
        #[derive(Clone, Copy, Deserialize)]
        #[serde(rename_all = "snake_case")]
        enum $name { $($variant),+ }
        impl From<$name> for $of {
            fn from(word: $name) -> $of {
                match word { $($name::$variant => $value),+ }
            }
        }
    };
}

words!(FormatWord, Option<Framing>, Auto => None, Ndjson => Some(Framing::Lines),
    Concatenated => Some(Framing::Concatenated), Array => Some(Framing::Array));
words!(CompressionWord, Compression, Auto => Compression::Auto, None => Compression::None,
    Gzip => Compression::Gzip, Zstd => Compression::Zstd, Lz4 => Compression::Lz4);
words!(OnErrorWord, OnError, Fail => OnError::Fail, Null => OnError::Null, Skip => OnError::Skip);
words!(DuplicateWord, DuplicateKeys, Last => DuplicateKeys::Last, Error => DuplicateKeys::Error);
words!(UnknownWord, UnknownKeys, Skip => UnknownKeys::Skip, Error => UnknownKeys::Error);
words!(StringsWord, StringForm, Auto => StringForm::AsFile, Small => StringForm::Small,
    Large => StringForm::Large, View => StringForm::View);
words!(UnitWord, TimeUnit, S => TimeUnit::Second, Ms => TimeUnit::Millisecond,
    Us => TimeUnit::Microsecond, Ns => TimeUnit::Nanosecond);

/// A number of records, or "all".
#[derive(Clone, Copy)]
struct Records(Option<u64>);

impl<'de> Deserialize<'de> for Records {
    fn deserialize<D: Deserializer<'de>>(from: D) -> std::result::Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Said {
            Number(u64),
            Word(String),
        }
        match Said::deserialize(from)? {
            Said::Number(records @ 1..) => Ok(Self(Some(records))),
            Said::Word(word) if word == "all" => Ok(Self(None)),
            Said::Number(_) | Said::Word(_) => {
                Err(serde::de::Error::custom("infer_records: expected 1 or more, or \"all\""))
            }
        }
    }
}

/// All string columns, none, or these.
#[derive(Deserialize)]
#[serde(untagged)]
enum Dictionary {
    All(bool),
    Paths(Vec<String>),
}

/// What the JSON reader, and inference, are told.
#[derive(Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct JsonOptions {
    schema: Option<String>,
    columns: Option<Vec<String>>,
    engine: String,
    threads: Option<usize>,
    format: FormatWord,
    compression: CompressionWord,
    on_error: OnErrorWord,
    /// Whether rejects are kept until they are asked for.
    pub(crate) rejects: bool,
    duplicate_keys: DuplicateWord,
    unknown_keys: UnknownWord,
    allow_nan: bool,
    trust: bool,
    batch_rows: Option<usize>,
    batch_bytes: Option<usize>,
    depth_max: Option<usize>,
    record_bytes_max: Option<usize>,
    fields_max: Option<usize>,
    row_bytes_max: Option<usize>,
    batch_bytes_max: Option<usize>,
    memory_bytes_max: Option<usize>,
    infer_records: Option<Records>,
    infer_timestamps: bool,
}

impl Default for JsonOptions {
    fn default() -> Self {
        Self {
            schema: None,
            columns: None,
            engine: arrowsmith::ENGINES[0].name.to_owned(),
            threads: None,
            format: FormatWord::Auto,
            compression: CompressionWord::Auto,
            on_error: OnErrorWord::Fail,
            rejects: false,
            duplicate_keys: DuplicateWord::Last,
            unknown_keys: UnknownWord::Skip,
            allow_nan: false,
            trust: false,
            batch_rows: None,
            batch_bytes: None,
            depth_max: None,
            record_bytes_max: None,
            fields_max: None,
            row_bytes_max: None,
            batch_bytes_max: None,
            memory_bytes_max: None,
            infer_records: None,
            infer_timestamps: false,
        }
    }
}

impl JsonOptions {
    fn limits(&self) -> Limits {
        let mut limits = limits(self.memory_bytes_max);
        if let Some(depth) = self.depth_max {
            limits = limits.with_depth_max(depth);
        }
        if let Some(bytes) = self.record_bytes_max {
            limits = limits.with_record_bytes_max(bytes);
        }
        if let Some(fields) = self.fields_max {
            limits = limits.with_fields_max(fields);
        }
        if let Some(bytes) = self.row_bytes_max {
            limits = limits.with_row_bytes_max(bytes);
        }
        if let Some(bytes) = self.batch_bytes_max {
            limits = limits.with_batch_bytes_max(bytes);
        }
        limits
    }

    /// For inference.
    pub(crate) fn sampling(&self) -> SampleOptions {
        let mut sampling = SampleOptions {
            framing: self.format.into(),
            limits: self.limits(),
            ..SampleOptions::default()
        };
        if let Some(Records(records_max)) = self.infer_records {
            sampling.records_max = records_max;
        }
        sampling.open.compression = self.compression.into();
        sampling.infer.timestamps = self.infer_timestamps;
        sampling.infer.allow_nan = self.allow_nan;
        sampling
    }

    /// A builder with all of it. `schema` comes before the one that the options spell.
    pub(crate) fn builder(
        self,
        schema: Option<SchemaRef>,
        cancel: &Arc<AtomicBool>,
    ) -> Result<json::ReaderBuilder> {
        let mut decode = DecodeOptions::default();
        decode.on_error = self.on_error.into();
        decode.duplicate_keys = self.duplicate_keys.into();
        decode.unknown_keys = self.unknown_keys.into();
        decode.allow_nan = self.allow_nan;
        decode.trust = self.trust;
        decode.limits = self.limits();
        let mut builder = json::ReaderBuilder::new()
            .infer(self.sampling())
            .engine(arrowsmith::engine(&self.engine)?)
            .options(decode)
            .framing(self.format.into())
            .compression(self.compression.into())
            .threads(threads(self.threads)?)
            .batch_rows(self.batch_rows)
            .batch_bytes(self.batch_bytes)
            .cancel(Arc::clone(cancel));
        if let Some(columns) = self.columns {
            builder = builder.columns(columns);
        }
        let spelled = self.schema.map(|text| load_schema(&text).map(Arc::new)).transpose()?;
        if let Some(schema) = schema.or(spelled) {
            builder = builder.schema(schema);
        }
        Ok(builder)
    }
}

/// What the Parquet reader is told.
#[derive(Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ParquetOptions {
    columns: Option<Vec<String>>,
    filter: Option<String>,
    row_groups: Option<Vec<usize>>,
    limit: Option<u64>,
    engine: String,
    threads: Option<usize>,
    batch_rows: Option<usize>,
    dictionary: Dictionary,
    strings: StringsWord,
    timestamp_unit: Option<UnitWord>,
    arrow_schema: bool,
    partitions: Option<String>,
    verify_checksums: bool,
    memory_bytes_max: Option<usize>,
}

impl Default for ParquetOptions {
    fn default() -> Self {
        Self {
            columns: None,
            filter: None,
            row_groups: None,
            limit: None,
            engine: arrowsmith::ENGINES[0].name.to_owned(),
            threads: None,
            batch_rows: None,
            dictionary: Dictionary::All(false),
            strings: StringsWord::Auto,
            timestamp_unit: None,
            arrow_schema: true,
            partitions: None,
            verify_checksums: false,
            memory_bytes_max: None,
        }
    }
}

impl ParquetOptions {
    /// A builder with all of it. `partitions` comes before the types that the options spell.
    pub(crate) fn builder(
        self,
        partitions: Option<SchemaRef>,
        cancel: &Arc<AtomicBool>,
    ) -> Result<parquet::ReaderBuilder> {
        let mut read = parquet::ReadOptions::default()
            .with_arrow_schema(self.arrow_schema)
            .with_verify_checksums(self.verify_checksums)
            .with_strings(self.strings.into())
            .with_dictionary(match self.dictionary {
                Dictionary::All(true) => Columns::All,
                Dictionary::All(false) => Columns::None,
                Dictionary::Paths(paths) => Columns::Paths(paths),
            });
        if let Some(columns) = self.columns {
            read = read.with_columns(columns);
        }
        if let Some(unit) = self.timestamp_unit {
            read = read.with_timestamp_unit(unit.into());
        }
        let spelled = self.partitions.map(|text| load_schema(&text).map(Arc::new)).transpose()?;
        let types = partitions.or(spelled).map(|schema| schema.fields().iter().cloned().collect());
        Ok(parquet::ReaderBuilder::new()
            .options(read)
            .filter(self.filter.map(|text| Predicate::parse(&text)).transpose()?)
            .row_groups(self.row_groups)
            .partition_types(types.unwrap_or_default())
            .limit(self.limit)
            .engine(arrowsmith::engine(&self.engine)?)
            .threads(threads(self.threads)?)
            .batch_rows(self.batch_rows)
            .limits(limits(self.memory_bytes_max))
            .cancel(Arc::clone(cancel)))
    }
}

fn limits(memory_bytes_max: Option<usize>) -> Limits {
    match memory_bytes_max {
        Some(bytes) => Limits::default().with_memory_bytes_max(bytes),
        None => Limits::default(),
    }
}

/// Decoder threads; 0 is one for each core.
fn threads(asked: Option<usize>) -> Result<usize> {
    match asked {
        None => Ok(0),
        Some(threads @ 1..=THREADS_MAX) => Ok(threads),
        Some(other) => {
            Err(Error::Config(format!("threads: expected 1 to {THREADS_MAX}, found {other}")))
        }
    }
}
