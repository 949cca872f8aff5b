// SPDX-License-Identifier: Apache-2.0
//! The command line, as clap reads it. Everything that users see of the options is in this file.

mod values;

use std::num::NonZeroU64;
use std::path::PathBuf;
use std::time::Duration;

use arrowsmith_core::Limits;
use arrowsmith_load::Target;
use arrowsmith_sink_parquet::Codec;
use arrowsmith_workload::{VALUES_MAX_DEFAULT, Workload};
use clap::{Args, Parser, Subcommand};

pub use self::values::{
    BufferCompression, CompressionIn, Duplicates, Engine, Format, OnBad, Strings, TimestampUnit,
    To, Unknown,
};
#[cfg(feature = "bench")]
use crate::bench::BenchArgs;
use crate::completions::{CompletionsArgs, ManArgs};
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
/// What the input is, its name or its first bytes say. JSON without --schema has its schema
/// inferred from the first records. The output appears under its name only when it is whole.
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

    /// Print the plan that the schema compiles to, and convert nothing
    #[arg(long)]
    pub explain: bool,

    /// No summary and no progress
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

/// What is read, and how it is cut into records.
#[derive(Debug, Args)]
#[command(next_help_heading = "Input")]
pub struct InputArgs {
    /// Files, glob patterns, folders of Parquet files, URLs of objects (s3://, gs://, az://,
    /// https://), or `-` for standard input; all are of one schema
    #[arg(required = true, value_name = "INPUT", help_heading = None)]
    pub inputs: Vec<String>,

    /// What the input is: Parquet, or JSON whose records follow one another like this
    #[arg(long, value_enum, default_value_t = Format::Auto, value_name = "FORMAT")]
    pub format: Format,

    /// How the input is compressed
    #[arg(long, value_enum, default_value_t = CompressionIn::Auto, value_name = "COMPRESSION")]
    pub compression_in: CompressionIn,

    /// Deepest nesting of one record
    #[arg(long, value_name = "N", default_value_t = Limits::default().depth_max)]
    pub depth_max: usize,

    /// Longest record
    #[arg(long, value_name = "SIZE", default_value = "128MiB", value_parser = size::parse_memory)]
    pub record_bytes_max: usize,

    /// Most fields of a schema, given or inferred, those inside others counted too
    #[arg(long, value_name = "N", default_value_t = Limits::default().fields_max)]
    pub fields_max: usize,

    /// Most that an empty record may become in Arrow: bounds columns of fixed size
    #[arg(long, value_name = "SIZE", default_value = "1MiB", value_parser = size::parse_memory)]
    pub row_bytes_max: usize,

    /// Most that one record may become in Arrow
    #[arg(long, value_name = "SIZE", default_value = "1GiB", value_parser = size::parse_memory)]
    pub batch_bytes_max: usize,

    /// Take NaN, Infinity and -Infinity as numbers
    #[arg(long)]
    pub allow_nan: bool,
}

/// What decodes, and with what.
#[derive(Debug, Args)]
#[command(next_help_heading = "Engine")]
pub struct EngineArgs {
    /// What decodes: `reference` is arrow-json or the parquet crate, slower; arrow-json refuses
    /// some options
    #[arg(long, value_enum, default_value_t = Engine::Cpu)]
    pub engine: Engine,

    /// Threads that decode [default: one for each core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub threads: Option<u16>,

    /// Working memory beyond mapped input and batches
    #[arg(long, value_name = "SIZE", default_value = "256MiB", value_parser = size::parse_memory)]
    pub memory: usize,

    /// Memory of the GPU for each thread that decodes; what needs more is cut, or left to the CPU
    #[arg(long, value_name = "SIZE", default_value = "2GiB", value_parser = size::parse)]
    pub gpu_memory: u64,

    /// Trust that the input is valid JSON: what no column takes is not validated
    #[arg(long)]
    pub trust: bool,
}

/// What becomes of records that do not fit.
#[derive(Debug, Args)]
#[command(next_help_heading = "Bad input")]
pub struct BadInputArgs {
    /// What becomes of a record that does not fit
    #[arg(long, value_enum, default_value_t = OnBad::Fail, value_name = "ACTION")]
    pub on_error: OnBad,

    /// Write records that were left out or changed to this file, whole, with the reasons
    #[arg(long, value_name = "FILE")]
    pub rejects: Option<PathBuf>,

    /// What a key that appears twice means
    #[arg(long, value_enum, default_value_t = Duplicates::Last, value_name = "RULE")]
    pub duplicate_keys: Duplicates,

    /// What becomes of a key that the schema does not have
    #[arg(long, value_enum, default_value_t = Unknown::Skip, value_name = "RULE")]
    pub unknown_keys: Unknown,
}

/// What is read of Parquet files.
#[derive(Debug, Args)]
#[command(next_help_heading = "Parquet input")]
pub struct ParquetArgs {
    /// Only rows for which this holds: `fare > 10 and (zone = 'A' or zone is null)`
    #[arg(long = "where", value_name = "CONDITION")]
    pub condition: Option<String>,

    /// Stop after so many rows
    #[arg(long, value_name = "ROWS")]
    pub limit: Option<u64>,

    /// Only these row groups, in this order, of a single file: `0,3,5`
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',')]
    pub row_groups: Vec<usize>,

    /// Columns to read as dictionaries, as paths: `a,b.c`, or `*`
    #[arg(long, value_name = "PATHS", value_delimiter = ',')]
    pub dictionary_columns: Vec<String>,

    /// The form of strings and binary values
    #[arg(long, value_enum, value_name = "FORM")]
    pub strings: Option<Strings>,

    /// The unit of all timestamps
    #[arg(long, value_enum, value_name = "UNIT")]
    pub timestamp_unit: Option<TimestampUnit>,

    /// Ignore the Arrow schema that the writer has put into the file
    #[arg(long)]
    pub ignore_arrow_schema: bool,

    /// Hold pages to their checksums
    #[arg(long)]
    pub verify_checksums: bool,

    /// Types of columns that come from folders' names: `year: int32, zone: utf8` [default:
    /// inferred]
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

    /// Rows of every batch but the last [default: what a MiB of JSON gives; of Parquet 131072 or
    /// fewer]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub batch_rows: Option<u32>,

    /// Arrow bytes of a batch, about
    #[arg(long, value_name = "SIZE", value_parser = size::parse_memory)]
    pub batch_bytes: Option<usize>,

    /// Compression of the buffers of an Arrow file or stream [default: none]
    #[arg(long, value_enum, value_name = "COMPRESSION")]
    pub buffer_compression: Option<BufferCompression>,

    /// Parquet: none, snappy, lz4, or zstd, gzip, brotli with or without a level (zstd:9) [default:
    /// zstd]
    #[arg(long, value_name = "CODEC", value_parser = codec)]
    pub codec: Option<Codec>,

    /// Parquet: most rows of a row group [default: 1048576]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub row_group_rows: Option<u32>,

    /// Parquet: no dictionary encoding
    #[arg(long)]
    pub no_dictionary: bool,

    /// Return only when the disk has the file
    #[arg(long)]
    pub fsync: bool,
}

/// Print the schema that the input has
///
/// In the text form that `convert --schema` takes.
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
    /// How many records are looked at: a number, or `all`
    #[arg(long, value_name = "N", default_value = "10000", value_parser = records)]
    pub infer_records: Records,

    /// Take strings that are all ISO 8601 dates or timestamps as such
    #[arg(long)]
    pub infer_timestamps: bool,
}

/// How many records are sampled; `None` is all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Records(pub Option<NonZeroU64>);

/// Show what is in an Arrow or Parquet file
///
/// Prints the schema, the batches or row groups, and where the bytes are. Reads metadata only; with
/// --pages of Parquet the headers of pages too.
#[derive(Debug, Args)]
pub struct InspectArgs {
    /// An Arrow IPC file or stream, or a Parquet file or its URL; `-` for an Arrow stream on
    /// standard input
    pub input: PathBuf,

    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,

    /// Parquet: show every page
    #[arg(long)]
    pub pages: bool,
}

/// Write deterministic test data
///
/// The same workload, seed and options give the same bytes everywhere.
#[derive(Debug, Args)]
pub struct GenerateArgs {
    /// battery, battery-u64, trip, trip-u64, trip-full, logs, lineitem or taxi
    #[arg(value_parser = workload)]
    pub workload: Workload,

    /// Write whole records until there are at least this many bytes [default: 1MiB]
    #[arg(long, value_name = "SIZE", value_parser = size::parse, conflicts_with = "rows")]
    pub bytes: Option<u64>,

    /// Write this many records
    #[arg(long, value_name = "N")]
    pub rows: Option<u64>,

    /// Start of the random numbers
    #[arg(long, default_value_t = 0)]
    pub seed: u64,

    /// Most values in an array of battery and battery-u64
    #[arg(long, value_name = "N", default_value_t = VALUES_MAX_DEFAULT,
        value_parser = clap::value_parser!(u32).range(1..))]
    pub max_values: u32,

    /// Spread records over lines, indented
    #[arg(long, conflicts_with = "spaced")]
    pub pretty: bool,

    /// A space after every comma and colon
    #[arg(long)]
    pub spaced: bool,

    /// The file to write, or `-` for standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    pub output: PathBuf,

    /// No summary and no progress bar
    #[arg(short, long)]
    pub quiet: bool,

    /// When to show progress
    #[arg(long, value_enum, default_value_t = When::Auto, value_name = "WHEN")]
    pub progress: When,

    #[command(flatten)]
    pub send: SendArgs,
}

/// Records to a service instead of a file.
#[derive(Debug, Args)]
#[command(next_help_heading = "Sending")]
pub struct SendArgs {
    /// Send to tcp://HOST:PORT, tls://HOST:PORT or http[s]://HOST[:PORT]/PATH
    #[arg(long, value_name = "URL", value_parser = target, conflicts_with_all = ["output", "listen"])]
    pub connect: Option<Target>,

    /// Wait at tcp://HOST:PORT and send to who connects
    #[arg(long, value_name = "URL", value_parser = target, conflicts_with = "output")]
    pub listen: Option<Target>,

    /// Connections at a time; each sends records of its own seed, counted from --seed
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = connections)]
    pub connections: usize,

    /// Bytes a second, all connections together [default: as fast as possible]
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    pub rate: Option<u64>,

    /// Records a second, all connections together
    #[arg(long, value_name = "N", conflicts_with = "rate")]
    pub rate_records: Option<u64>,

    /// Send for so many seconds instead of a number of bytes or rows
    #[arg(long, value_name = "SECONDS", value_parser = seconds, conflicts_with_all = ["bytes", "rows"])]
    pub seconds: Option<Duration>,

    /// Bytes of a request, or between two looks at the clock
    #[arg(long, value_name = "SIZE", default_value = "256KiB", value_parser = size::parse_memory)]
    pub chunk: usize,

    /// Make so many bytes beforehand and send them again and again: the sender is then never the
    /// limit
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    pub repeat: Option<u64>,

    /// TCP: wait for the service's acknowledgements, and say what was acknowledged
    #[arg(long)]
    pub acknowledge: bool,

    /// Try again for so many seconds when a connection fails or the service is busy; what was not
    /// acknowledged is sent again
    #[arg(long, value_name = "SECONDS", default_value = "0", value_parser = seconds)]
    pub retry: Duration,

    /// Longest wait for a connection, an answer or the next acknowledgement, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = seconds)]
    pub timeout: Duration,

    /// File with the token that the service asks for
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,

    /// Certificates (PEM) that may sign the service's [default: the public authorities]
    #[arg(long, value_name = "FILE")]
    pub ca: Option<PathBuf>,

    /// Certificate (PEM) to show to the service
    #[arg(long, value_name = "FILE", requires = "key")]
    pub cert: Option<PathBuf>,

    /// Its key (PEM)
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
    let number: usize = text.parse().map_err(|_| format!("{text:?} is no number"))?;
    if (1..=100_000).contains(&number) { Ok(number) } else { Err("1 to 100000".to_owned()) }
}

pub fn seconds(text: &str) -> Result<Duration, String> {
    let number: f64 = text.parse().map_err(|_| format!("{text:?} is no number"))?;
    // A year: more is a mistake, and would not fit some clocks.
    if number > 31_536_000.0 {
        return Err("31536000 seconds at most".to_owned());
    }
    Duration::try_from_secs_f64(number).map_err(|error| error.to_string())
}

pub fn workload(name: &str) -> Result<Workload, String> {
    name.parse().map_err(|error: arrowsmith_workload::UnknownWorkload| error.to_string())
}
