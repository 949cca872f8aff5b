// SPDX-License-Identifier: Apache-2.0
//! The options of reading, each in one place: an option is added here.
//!
//! A row is the description, a name, the type of the field and its default, then what its values
//! are and the heading it belongs to; where they differ from the rule, the command's flag, what
//! applies without a value (`unset`), and where else the option applies: the flags of
//! [`OptionInfo`]. Options are applied in `json::builder` and `parquet::reader`.

use arrow_schema::{SchemaRef, TimeUnit};
use arrowsmith_core::{Dialect, DuplicateKeys, Limits, OnError, UnknownKeys};
use arrowsmith_pipeline::RecordsPath;
use arrowsmith_plan::Coercion;
use arrowsmith_source::Compression;

use super::kind::Kind;
use super::value::{self, Format, InferRecords, LateKeys, OptionValue, Value, assign};
use super::{Group, OptionInfo, Refused};
use crate::parquet::{Columns, LateColumns, ListForm, Predicate, StringForm};

/// Maximum number of threads.
const THREADS_MAX: u64 = u16::MAX as u64;

/// A number of at least 1.
const POSITIVE: Kind = Kind::Count { min: 1, max: u64::MAX };

/// A number.
const NUMBER: Kind = Kind::Count { min: 0, max: u64::MAX };

const fn info(name: &'static str, help: &'static str, default: fn() -> Value) -> OptionInfo {
    let (kind, group) = (Kind::Flag, Group::Columns);
    OptionInfo {
        name,
        help,
        kind,
        group,
        flag: None,
        infers: false,
        receives: false,
        serves: false,
        arrow: false,
        csv: false,
        ignored: false,
        host_only: false,
        unset: None,
        default,
    }
}

macro_rules! options_of {
    ($(#[$meta:meta])* $options:ident, $table:ident;
        $($(#[doc = $help:literal])+ $name:ident: $type:ty = $default:expr =>
            $kind:expr, $group:ident $(, $extra:ident: $value:expr)*;)+) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq)]
        pub struct $options {
            $($(#[doc = $help])+ pub $name: $type,)+
        }

        impl Default for $options {
            fn default() -> Self {
                Self { $($name: $default,)+ }
            }
        }

        impl $options {
            /// Sets an option by name; [`Value::Default`] sets its default.
            ///
            /// # Errors
            /// [`Refused`] for a name that is none of these options, or a value that it does not
            /// accept. Nothing is set then.
            pub fn set(&mut self, name: &str, value: Value) -> Result<(), Refused> {
                match name {
                    $(stringify!($name) => {
                        assign(&mut self.$name, (name, &$kind), value, || $default)
                    })+
                    _ => Err(Refused::unknown(name, $table)),
                }
            }

            /// The value of an option; `None` if there is no such option.
            #[must_use]
            pub fn get(&self, name: &str) -> Option<Value> {
                match name {
                    $(stringify!($name) => Some(self.$name.value()),)+
                    _ => None,
                }
            }
        }

        #[doc = concat!("The options of [`", stringify!($options), "`].")]
        pub static $table: &[OptionInfo] = &[$(OptionInfo {
            kind: $kind,
            group: Group::$group,
            $($extra: $value,)*
            ..info(stringify!($name), concat!($($help),+), || {
                let default: $type = $default;
                default.value()
            })
        },)+];
    };
}

macro_rules! read_options {
    (both { $($both:tt)* }
        $(#[$json_meta:meta])* json { $($json:tt)* }
        $(#[$parquet_meta:meta])* parquet { $($parquet:tt)* }) => {
        options_of! { $(#[$json_meta])* JsonReadOptions, JSON; $($both)* $($json)* }
        options_of! { $(#[$parquet_meta])* ParquetReadOptions, PARQUET; $($both)* $($parquet)* }
    };
}

read_options! {
    both {
        /// The columns to keep, as paths such as `user.name`.
        columns: Option<Vec<String>> = None => Kind::Paths, Columns, unset: Some("all"),
            receives: true, arrow: true, csv: true;

        /// Keep only rows that match this condition: `fare > 10 and (zone = 'A' or zone is null)`.
        filter: Option<Predicate> = None => Kind::Condition, Rows, flag: Some("where"), arrow: true,
            csv: true, host_only: true;

        /// Read at most this many rows, of those that match.
        limit: Option<u64> = None => NUMBER, Rows, unset: Some("all rows"), arrow: true, csv: true,
            host_only: true;

        /// Types of partition columns, whose values are in folder names: `year: int32, zone: utf8`.
        partitions: Option<SchemaRef> = None => Kind::Schema, Rows, flag: Some("partition-types"),
            unset: Some("inferred"), csv: true, host_only: true;

        /// The engine that decodes; what it declines, the next one decodes.
        engine: String = crate::ENGINES[0].name.to_owned() => Kind::Engine, Engine, receives: true;

        /// Number of decoder threads.
        threads: Option<usize> = None => Kind::Count { min: 1, max: THREADS_MAX }, Engine,
            unset: Some("one per core"), arrow: true, csv: true;

        /// Working memory, not counting mapped input and output batches.
        memory_bytes_max: usize = Limits::default().memory_bytes_max => Kind::Bytes, Engine,
            flag: Some("memory"), csv: true;

        /// GPU memory per decoder thread; larger inputs are split, or decoded on the CPU.
        gpu_memory_bytes_max: u64 = 2 << 30 => Kind::Bytes, Engine,
            flag: Some("gpu-memory"), receives: true;

        /// Maximum nesting depth of a record, or of a file's schema.
        depth_max: usize = Limits::default().depth_max =>
            Kind::Count { min: 0, max: Limits::DEPTH_MAX as u64 }, Input, infers: true,
            serves: true;

        /// Rows per batch: of JSON exactly, the last batch excepted; of Parquet the maximum.
        batch_rows: Option<usize> = None => POSITIVE, Batches, host_only: true,
            unset: Some("the rows in 1 MiB of JSON; for Parquet at most 131072");
    }

    /// How JSON is read. Literals end with `..JsonReadOptions::default()`: options are added.
    json {
        /// The schema: its text form, or a file with it (text, Arrow or Parquet).
        schema: Option<SchemaRef> = None => Kind::Schema, Columns, unset: Some("inferred"),
            csv: true;

        /// Types of some columns, by their paths: `id: utf8, user.born: date32`. The other types
        /// are those of the schema, given or inferred.
        types: Option<SchemaRef> = None => Kind::Types, Columns, infers: true, receives: true,
            serves: true, csv: true;

        /// Values that columns take beyond those of their types: `scalars` (numbers in strings and
        /// back, 0 and 1 as booleans), `epoch ms` (numbers in timestamps), `format "%d.%m.%Y"`,
        /// `nulls "N/A" "-"`; null words in all columns, the others where the type is given.
        coerce: Option<Coercion> = None => Kind::Coercion, Columns, infers: true, receives: true,
            serves: true;

        /// Skip this many rows, of those that match.
        skip: u64 = 0 => NUMBER, Rows, arrow: true, csv: true, host_only: true;

        /// Add a column of this name with the keys that the schema lacks and their values, as a
        /// JSON object; null where it has them all. An inferred schema does not grow then.
        rescued_column: Option<String> = None => Kind::Name, Rows;

        /// Make the fields of objects columns of their own, with dotted names: `user.name`.
        flatten: bool = false => Kind::Flag, Columns, host_only: true;

        /// Add a column of this name with the name of the file that a row is from.
        file_column: Option<String> = None => Kind::Name, Rows, host_only: true;

        /// Add a column of this name with the byte of its file, uncompressed, at which the record
        /// starts.
        offset_column: Option<String> = None => Kind::Name, Rows, host_only: true;

        /// Add a column of this name with the number of the record in its file, from 0.
        record_column: Option<String> = None => Kind::Name, Rows, host_only: true;

        /// How records are separated.
        format: Format = Format::Auto => Kind::Choice(&value::FORMAT), Input, infers: true,
            arrow: true, csv: true, ignored: true;

        /// The records of a document are the elements of the array at this path: keys with dots
        /// between them (`data.items`), or a JSON pointer (`/data/items`).
        records: Option<RecordsPath> = None => Kind::RecordsPath, Input, infers: true,
            unset: Some("documents are records"), serves: true;

        /// Fields of a document, beside its records, that these have as columns, too: paths as that
        /// of the records, through objects only, or `NAME=PATH`.
        parent_fields: Option<Vec<String>> = None => Kind::Paths, Input, infers: true, serves: true;

        /// Read only lines that begin after this byte, or with 0 from the first one: with
        /// `range_end` the part of one plain file. Adjacent ranges have every line once.
        range_start: u64 = 0 => NUMBER, Input, infers: true;

        /// Read only lines that begin at this byte or before it; the last one is read to its end.
        range_end: Option<u64> = None => NUMBER, Input, infers: true, unset: Some("the end");

        /// How the input is compressed.
        compression: Compression = Compression::Auto => Kind::Choice(&value::COMPRESSION), Input,
            flag: Some("compression-in"), infers: true, serves: true, csv: true, ignored: true;

        /// Maximum bytes of standard input and other streams, together, that are kept in a
        /// temporary file, so that they can be read again when an inferred schema grows.
        spool_bytes_max: u64 = 1 << 30 => Kind::Bytes, Input;

        /// Maximum size of a record.
        record_bytes_max: usize = Limits::default().record_bytes_max => Kind::Bytes, Input,
            infers: true, serves: true, csv: true, ignored: true;

        /// Maximum number of fields of a schema, given or inferred, nested fields included.
        fields_max: usize = Limits::default().fields_max => NUMBER, Input, infers: true,
            receives: true, serves: true, csv: true, ignored: true;

        /// Maximum Arrow size of an empty record: bounds columns of fixed size.
        row_bytes_max: usize = Limits::default().row_bytes_max => Kind::Bytes, Input, infers: true,
            receives: true, serves: true, ignored: true;

        /// Maximum Arrow size of one record.
        batch_bytes_max: usize = Limits::default().batch_bytes_max => Kind::Bytes, Input,
            infers: true, receives: true, serves: true, ignored: true;

        /// Accept `NaN`, `Infinity` and `-Infinity` in floating-point columns.
        allow_nan: bool = false => Kind::Flag, Input, infers: true, receives: true, serves: true;

        /// Whose rules apply to values: with `spark`, dates, timestamps, base64, and values in
        /// columns of strings are read as by the JSON source of Apache Spark.
        dialect: Dialect = Dialect::Iso => Kind::Choice(&value::DIALECT), Input, serves: true;

        /// Trust the input to be valid JSON: values that no column needs are not validated.
        trust: bool = false => Kind::Flag, Engine, receives: true;

        /// How to handle records that do not match the schema.
        on_error: OnError = OnError::Fail => Kind::Choice(&value::ON_ERROR), BadInput;

        /// How to handle a key that appears twice in an object.
        duplicate_keys: DuplicateKeys = DuplicateKeys::Last => Kind::Choice(&value::DUPLICATE_KEYS),
            BadInput, receives: true, serves: true, ignored: true;

        /// How to handle a key that is not in the schema.
        unknown_keys: UnknownKeys = UnknownKeys::Skip => Kind::Choice(&value::UNKNOWN_KEYS),
            BadInput, receives: true, ignored: true;

        /// How to handle keys that an inferred schema lacks because they first appear after the
        /// records that it was inferred from.
        late_keys: LateKeys = LateKeys::Add => Kind::Choice(&value::LATE_KEYS), BadInput;

        /// Approximate Arrow size of a batch.
        batch_bytes: Option<usize> = None => Kind::Bytes, Batches, host_only: true;

        /// Number of records to infer the schema from, or `all`.
        infer_records: InferRecords = InferRecords::First(10_000) => Kind::CountOrAll, Inference,
            infers: true, serves: true, csv: true, ignored: true;

        /// Infer a map for objects below the record with more distinct keys than this.
        object_keys_max: usize = 1000 => NUMBER, Inference, infers: true, receives: true,
            serves: true;

        /// Infer dates and timestamps for string fields whose values are all in ISO 8601.
        infer_timestamps: bool = false => Kind::Flag, Inference, infers: true, serves: true;
    }

    /// How Parquet is read. Literals end with `..ParquetReadOptions::default()`: options are added.
    parquet {
        /// Read only these row groups of a single file, in this order.
        row_groups: Option<Vec<usize>> = None => Kind::Numbers, Parquet, unset: Some("all");

        /// How to handle columns, and fields of structs, that the first of several files lacks.
        late_columns: LateColumns = LateColumns::Error => Kind::Choice(&value::LATE_COLUMNS),
            Parquet, infers: true, host_only: true;

        /// String and binary columns to read as dictionaries, as paths, or all of them.
        dictionary: Columns = Columns::None => Kind::PathsOrAll, Parquet,
            flag: Some("dictionary-columns");

        /// The Arrow type of strings and binary values.
        strings: StringForm = StringForm::AsFile => Kind::Choice(&value::STRINGS), Parquet;

        /// The Arrow type of lists.
        lists: ListForm = ListForm::AsFile => Kind::Choice(&value::LISTS), Parquet;

        /// The unit of all timestamps; what is finer is truncated.
        timestamp_unit: Option<TimeUnit> = None => Kind::Choice(&value::TIMESTAMP_UNIT), Parquet,
            unset: Some("that of the file");

        /// Use the Arrow schema that is stored in the file by its writer.
        arrow_schema: bool = true => Kind::Flag, Parquet, flag: Some("ignore-arrow-schema");

        /// Verify page checksums.
        verify_checksums: bool = false => Kind::Flag, Parquet;

        /// Maximum size of the footer of a file.
        metadata_bytes_max: usize = Limits::default().metadata_bytes_max => Kind::Bytes, Parquet;

        /// Maximum size of a page, before and after decompression, and of a column in one batch.
        page_bytes_max: usize = Limits::default().page_bytes_max => Kind::Bytes, Parquet;
    }
}
