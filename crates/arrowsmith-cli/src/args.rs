// SPDX-License-Identifier: Apache-2.0
//! The command line, as clap parses it. The options of `convert`, `infer`, `inspect` and `generate`
//! are here, with the groups that commands share; every other command keeps its options beside its
//! code.

mod values;

use std::num::NonZeroU64;
use std::path::PathBuf;
use std::time::Duration;

use arrowsmith::engines::Entry;
use arrowsmith::{Chain, EngineOptions};
use arrowsmith_core::{Limits, duration};
use arrowsmith_load::Target;
use arrowsmith_sink::parquet::Codec;
use arrowsmith_workload::{VALUES_MAX_DEFAULT, Workload};
use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Args, Parser, Subcommand};

pub use self::values::{
    BufferCompression, CompressionIn, Duplicates, Format, OnBad, Strings, TimestampUnit, To,
    Unknown,
};
#[cfg(feature = "bench")]
use crate::bench::BenchArgs;
use crate::completions::{CompletionsArgs, ManArgs};
use crate::failure::Outcome;
use crate::features;
use crate::fetch::FetchArgs;
use crate::health::HealthArgs;
use crate::ingest::IngestArgs;
#[cfg(feature = "jvm")]
use crate::jvm::JvmArgs;
#[cfg(feature = "objects")]
use crate::objects::ObjectsArgs;
use crate::progress::When;
#[cfg(feature = "rtl")]
use crate::rtl::RtlArgs;
use crate::serve::ServeArgs;
use crate::size;

/// Bytes in any shape, Arrow out, at the speed of the hardware.
#[derive(Debug, Parser)]
#[command(
    name = "arrowsmith",
    version,
    long_version = features::long_version(),
    max_term_width = 100
)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    Convert(Box<ConvertArgs>),
    Infer(InferArgs),
    Inspect(InspectArgs),
    Generate(Box<GenerateArgs>),
    Ingest(IngestArgs),
    Serve(Box<ServeArgs>),
    Fetch(Box<FetchArgs>),
    #[cfg(feature = "objects")]
    Objects(ObjectsArgs),
    #[cfg(feature = "jvm")]
    Jvm(JvmArgs),
    #[cfg(feature = "rtl")]
    Rtl(RtlArgs),
    #[cfg(feature = "bench")]
    Bench(BenchArgs),
    Health(HealthArgs),
    Completions(CompletionsArgs),
    #[command(hide = true)]
    Man(ManArgs),
}

/// Convert JSON or Parquet to Arrow, Parquet or JSON
///
/// The input format is detected from the name or the first bytes. For JSON without --schema, the
/// schema is inferred from the first records. The output file appears under its name only when it
/// is complete.
#[derive(Debug, Args)]
pub struct ConvertArgs {
    /// The file to write, or `-` for standard output (an Arrow stream, unless --to says otherwise)
    #[arg(short, long, value_name = "OUT", required_unless_present = "explain")]
    pub output: Option<PathBuf>,

    /// The schema: a file (text, Arrow or Parquet), text as `infer` prints it, or a workload's name
    #[arg(short, long, value_name = "SCHEMA")]
    pub schema: Option<String>,

    /// The columns to keep, as paths: `a,b.c`
    #[arg(long, value_name = "PATHS", value_delimiter = ',')]
    pub columns: Vec<String>,

    /// Print the plan compiled from the schema, and convert nothing
    #[arg(long)]
    pub explain: bool,

    /// Print no summary and no progress
    #[arg(short, long)]
    pub quiet: bool,

    /// When to show progress
    #[arg(long, value_enum, default_value_t = When::Auto, value_name = "WHEN")]
    pub progress: When,

    #[command(flatten)]
    pub input: InputArgs,

    #[command(flatten)]
    pub engine: EngineArgs,

    #[command(flatten)]
    pub bad: BadInputArgs,

    #[command(flatten)]
    pub parquet: ParquetArgs,

    #[command(flatten)]
    pub out: OutputArgs,

    #[command(flatten)]
    pub infer: InferenceArgs,
}

/// What is read, and how it is split into records.
#[derive(Debug, Args)]
#[command(next_help_heading = "Input")]
pub struct InputArgs {
    /// Files, glob patterns, folders of Parquet files, URLs of objects (s3://, gs://, az://,
    /// https://), or `-` for standard input; all must have the same schema
    #[arg(required = true, value_name = "INPUT", help_heading = None)]
    pub inputs: Vec<String>,

    /// The input format: Parquet, or JSON with its records laid out this way
    #[arg(long, value_enum, default_value_t = Format::Auto, value_name = "FORMAT")]
    pub format: Format,

    /// How the input is compressed
    #[arg(long, value_enum, default_value_t = CompressionIn::Auto, value_name = "COMPRESSION")]
    pub compression_in: CompressionIn,

    /// Maximum nesting depth of a record
    #[arg(long, value_name = "N", default_value_t = Limits::default().depth_max)]
    pub depth_max: usize,

    /// Maximum size of a record
    #[arg(long, value_name = "SIZE", default_value = "128MiB", value_parser = size::parse_memory)]
    pub record_bytes_max: usize,

    /// Maximum number of fields of a schema, given or inferred, nested fields included
    #[arg(long, value_name = "N", default_value_t = Limits::default().fields_max)]
    pub fields_max: usize,

    /// Maximum Arrow size of an empty record: bounds columns of fixed size
    #[arg(long, value_name = "SIZE", default_value = "1MiB", value_parser = size::parse_memory)]
    pub row_bytes_max: usize,

    /// Maximum Arrow size of one record
    #[arg(long, value_name = "SIZE", default_value = "1GiB", value_parser = size::parse_memory)]
    pub batch_bytes_max: usize,

    /// Accept NaN, Infinity and -Infinity as numbers
    #[arg(long)]
    pub allow_nan: bool,
}

/// The engine that decodes, and its resources.
#[derive(Debug, Args)]
#[command(next_help_heading = "Engine")]
pub struct EngineArgs {
    /// The engine that decodes; what it declines, the next one decodes (see --explain)
    #[arg(long, value_parser = engines(), default_value = arrowsmith::ENGINES[0].name)]
    pub engine: String,

    /// Number of decoder threads [default: one per core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub threads: Option<u16>,

    /// Working memory, not counting mapped input and output batches
    #[arg(long, value_name = "SIZE", default_value = "256MiB", value_parser = size::parse_memory)]
    pub memory: usize,

    /// GPU memory per decoder thread; larger inputs are split, or decoded on the CPU
    #[arg(long, value_name = "SIZE", default_value = "2GiB", value_parser = size::parse)]
    pub gpu_memory: u64,

    /// Trust the input to be valid JSON: values that no column needs are not validated
    #[arg(long)]
    pub trust: bool,
}

/// The names of the library's engines, including those that this build lacks: their error says
/// which feature brings them.
fn engines() -> PossibleValuesParser {
    let value = |entry: &Entry| PossibleValue::new(entry.name).help(entry.about);
    PossibleValuesParser::new(arrowsmith::ENGINES.iter().map(value))
}

impl EngineArgs {
    /// The requested engine. With `explain` it only has to answer who would decode what.
    pub fn open(&self, explain: bool) -> Outcome<Chain> {
        let options = EngineOptions::default()
            .with_explain(explain)
            .with_gpu_memory_bytes_max(self.gpu_memory);
        Ok(arrowsmith::engines::open(&self.engine, &options)?)
    }
}

/// How records that do not match the schema are handled.
#[derive(Debug, Args)]
#[command(next_help_heading = "Bad input")]
pub struct BadInputArgs {
    /// How to handle records that do not match the schema
    #[arg(long, value_enum, default_value_t = OnBad::Fail, value_name = "ACTION")]
    pub on_error: OnBad,

    /// Write every skipped or changed record to this file, in full, with the reason
    #[arg(long, value_name = "FILE")]
    pub rejects: Option<PathBuf>,

    /// How to handle a key that appears twice in an object
    #[arg(long, value_enum, default_value_t = Duplicates::Last, value_name = "RULE")]
    pub duplicate_keys: Duplicates,

    /// How to handle a key that is not in the schema
    #[arg(long, value_enum, default_value_t = Unknown::Skip, value_name = "RULE")]
    pub unknown_keys: Unknown,
}

/// Which parts of Parquet files are read, and as which types.
#[derive(Debug, Args)]
#[command(next_help_heading = "Parquet input")]
pub struct ParquetArgs {
    /// Keep only rows that match this condition: `fare > 10 and (zone = 'A' or zone is null)`
    #[arg(long = "where", value_name = "CONDITION")]
    pub condition: Option<String>,

    /// Read at most this many rows
    #[arg(long, value_name = "ROWS")]
    pub limit: Option<u64>,

    /// Read only these row groups of a single file, in this order: `0,3,5`
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',')]
    pub row_groups: Vec<usize>,

    /// Columns to read as dictionaries, as paths: `a,b.c`, or `*`
    #[arg(long, value_name = "PATHS", value_delimiter = ',')]
    pub dictionary_columns: Vec<String>,

    /// The Arrow type of strings and binary values
    #[arg(long, value_enum, value_name = "FORM")]
    pub strings: Option<Strings>,

    /// The unit of all timestamps
    #[arg(long, value_enum, value_name = "UNIT")]
    pub timestamp_unit: Option<TimestampUnit>,

    /// Ignore the Arrow schema stored in the file by its writer
    #[arg(long)]
    pub ignore_arrow_schema: bool,

    /// Verify page checksums
    #[arg(long)]
    pub verify_checksums: bool,

    /// Types of partition columns, whose values are in folder names: `year: int32, zone: utf8`
    /// [default: inferred]
    #[arg(long, value_name = "SCHEMA")]
    pub partition_types: Option<String>,
}

/// What is written.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub struct OutputArgs {
    /// The format to write [default: by OUT's extension]
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub to: Option<To>,

    /// Rows per batch, the last one excepted [default: the rows in 1 MiB of JSON; for Parquet at
    /// most 131072]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub batch_rows: Option<u32>,

    /// Approximate Arrow size of a batch
    #[arg(long, value_name = "SIZE", value_parser = size::parse_memory)]
    pub batch_bytes: Option<usize>,

    /// Buffer compression of an Arrow file or stream [default: none]
    #[arg(long, value_enum, value_name = "COMPRESSION")]
    pub buffer_compression: Option<BufferCompression>,

    /// Parquet: compression codec: none, snappy, lz4, zstd, gzip or brotli; the last three take a
    /// level (zstd:9) [default: zstd]
    #[arg(long, value_name = "CODEC", value_parser = codec)]
    pub codec: Option<Codec>,

    /// Parquet: maximum rows per row group [default: 1048576]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub row_group_rows: Option<u32>,

    /// Parquet: do not use dictionary encoding
    #[arg(long)]
    pub no_dictionary: bool,

    /// Sync the file to disk before returning
    #[arg(long)]
    pub fsync: bool,
}

/// Print the schema of the input
///
/// The output is in the text form that `convert --schema` accepts.
#[derive(Debug, Args)]
pub struct InferArgs {
    #[command(flatten)]
    pub input: InputArgs,

    #[command(flatten)]
    pub infer: InferenceArgs,
}

/// How a schema is inferred.
#[derive(Debug, Args)]
#[command(next_help_heading = "Inference")]
pub struct InferenceArgs {
    /// Number of records to infer the schema from, or `all`
    #[arg(long, value_name = "N", default_value = "10000", value_parser = records)]
    pub infer_records: Records,

    /// Infer dates and timestamps for string fields whose values are all in ISO 8601
    #[arg(long)]
    pub infer_timestamps: bool,
}

/// Number of records to infer from; `None` means all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Records(pub Option<NonZeroU64>);

/// Show the contents of an Arrow or Parquet file
///
/// Prints the schema, the batches or row groups, and the bytes that each part takes. Reads metadata
/// only, and with --pages the headers of Parquet pages.
#[derive(Debug, Args)]
pub struct InspectArgs {
    /// An Arrow IPC file or stream, or a Parquet file or its URL; `-` for an Arrow stream on
    /// standard input
    pub input: PathBuf,

    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,

    /// Parquet: list every page
    #[arg(long)]
    pub pages: bool,
}

/// Write deterministic test data
///
/// The same workload, seed and options give the same bytes everywhere.
#[derive(Debug, Args)]
pub struct GenerateArgs {
    /// battery, battery-u64, trip, trip-u64, trip-full, logs, lineitem, taxi, mixed-uniform,
    /// mixed-subsets, mixed-orders, mixed-kinds, mixed-bursts, mixed-unknown, mixed-keys-200 or
    /// mixed-nested
    #[arg(value_parser = workload)]
    pub workload: Workload,

    /// Write complete records until there are at least this many bytes [default: 1MiB]
    #[arg(long, value_name = "SIZE", value_parser = size::parse, conflicts_with = "rows")]
    pub bytes: Option<u64>,

    /// Write this many records
    #[arg(long, value_name = "N")]
    pub rows: Option<u64>,

    /// Seed of the random number generator
    #[arg(long, default_value_t = 0)]
    pub seed: u64,

    /// Maximum number of values per array in battery and battery-u64
    #[arg(long, value_name = "N", default_value_t = VALUES_MAX_DEFAULT,
        value_parser = clap::value_parser!(u32).range(1..))]
    pub max_values: u32,

    /// Write each record over several indented lines
    #[arg(long, conflicts_with = "spaced")]
    pub pretty: bool,

    /// Write a space after every comma and colon
    #[arg(long)]
    pub spaced: bool,

    /// The file to write, or `-` for standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    pub output: PathBuf,

    /// Print no summary and no progress
    #[arg(short, long)]
    pub quiet: bool,

    /// When to show progress
    #[arg(long, value_enum, default_value_t = When::Auto, value_name = "WHEN")]
    pub progress: When,

    #[command(flatten)]
    pub send: SendArgs,
}

/// Sends the records to a service instead of a file.
#[derive(Debug, Args)]
#[command(next_help_heading = "Sending")]
pub struct SendArgs {
    /// Send to tcp://HOST:PORT, tls://HOST:PORT or http[s]://HOST[:PORT]/PATH
    #[arg(long, value_name = "URL", value_parser = target, conflicts_with_all = ["output", "listen"])]
    pub connect: Option<Target>,

    /// Listen on tcp://HOST:PORT and send to every client that connects
    #[arg(long, value_name = "URL", value_parser = target, conflicts_with = "output")]
    pub listen: Option<Target>,

    /// Number of concurrent connections; connection i sends records generated from --seed + i
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = connections)]
    pub connections: usize,

    /// Bytes per second over all connections [default: as fast as possible]
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    pub rate: Option<u64>,

    /// Records per second over all connections
    #[arg(long, value_name = "N", conflicts_with = "rate")]
    pub rate_records: Option<u64>,

    /// Send for this time instead of a number of bytes or rows: `30`, in seconds, or `5min`
    #[arg(long, value_name = "TIME", value_parser = duration::parse, conflicts_with_all = ["bytes", "rows"])]
    pub seconds: Option<Duration>,

    /// Bytes per HTTP request, or per TCP write
    #[arg(long, value_name = "SIZE", default_value = "256KiB", value_parser = size::parse_memory)]
    pub chunk: usize,

    /// Generate this many bytes beforehand and send them repeatedly, so that the sender is not the
    /// bottleneck
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    pub repeat: Option<u64>,

    /// TCP: wait for the service's acknowledgements, and report what was acknowledged
    #[arg(long)]
    pub acknowledge: bool,

    /// Retry for this time when a connection fails or the service is busy; records that were not
    /// acknowledged are sent again
    #[arg(long, value_name = "TIME", default_value = "0", value_parser = duration::parse)]
    pub retry: Duration,

    /// Timeout of a connection attempt, a response or the next acknowledgement
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = duration::parse)]
    pub timeout: Duration,

    /// File with the bearer token for the service
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,

    /// CA certificates (PEM) that the service's certificate is verified against [default: the
    /// public CAs]
    #[arg(long, value_name = "FILE")]
    pub ca: Option<PathBuf>,

    /// Client certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "key")]
    pub cert: Option<PathBuf>,

    /// Private key of the client certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "cert")]
    pub key: Option<PathBuf>,

    /// Print what was sent and acknowledged as a JSON object on standard output
    #[arg(long)]
    pub json: bool,
}

fn codec(name: &str) -> Result<Codec, String> {
    name.parse().map_err(|error: arrowsmith_core::Error| error.to_string())
}

fn records(text: &str) -> Result<Records, String> {
    if text == "all" {
        return Ok(Records(None));
    }
    let number =
        text.parse().map_err(|_| format!("{text:?} is neither a number above 0 nor `all`"))?;
    Ok(Records(Some(number)))
}

fn target(text: &str) -> Result<Target, String> {
    text.parse().map_err(|error: arrowsmith_load::TargetError| error.to_string())
}

fn connections(text: &str) -> Result<usize, String> {
    let number: usize = text.parse().map_err(|_| format!("{text:?} is not a number"))?;
    if (1..=100_000).contains(&number) { Ok(number) } else { Err("1 to 100000".to_owned()) }
}

pub fn workload(name: &str) -> Result<Workload, String> {
    name.parse().map_err(|error: arrowsmith_workload::UnknownWorkload| error.to_string())
}
