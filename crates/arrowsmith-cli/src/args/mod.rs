// SPDX-License-Identifier: Apache-2.0
//! The options of `convert`, `infer`, `inspect` and `generate`, and the groups that commands share;
//! every other command keeps its options beside its code. The options of reading come from the
//! library's table ([`read`]). This module knows no command.

mod read;
mod values;

use std::path::PathBuf;
use std::time::Duration;

use arrowsmith::options::Group;
use arrowsmith_core::duration;
use arrowsmith_load::Target;
use arrowsmith_sink::folder::Partition;
use arrowsmith_sink::parquet::Codec;
use arrowsmith_sink::sort::SortKey;
use arrowsmith_workload::{VALUES_MAX_DEFAULT, Workload};
use clap::Args;

pub use self::read::{Format, Inferring, ReadArgs, Serving, Uses, open_engine};
pub use self::values::{BufferCompression, Encodings, To, Writer};
use crate::progress::When;
use crate::size;

/// Convert JSON, Parquet, Arrow or CSV to any of these
///
/// The input format is detected from the name or the first bytes. For JSON without --schema, the
/// schema is inferred from the first records. The output file appears under its name only when it
/// is complete.
#[derive(Debug, Args)]
pub struct ConvertArgs {
    /// The file to write, or `-` for standard output (an Arrow stream, unless --to says otherwise)
    #[arg(short, long, value_name = "OUT", required_unless_present = "explain")]
    pub output: Option<PathBuf>,

    #[command(flatten)]
    pub read: ReadArgs,

    #[command(flatten)]
    pub input: InputArgs,

    /// Write every skipped or changed record to this file, in full, with the reason
    #[arg(long, value_name = "FILE", help_heading = Group::BadInput.title())]
    pub rejects: Option<PathBuf>,

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
    pub out: OutputArgs,
}

/// What is read.
#[derive(Debug, Args)]
pub struct InputArgs {
    /// Files, glob patterns, folders, URLs of objects (s3://, gs://, az://, https://), or `-` for
    /// standard input; all of one format
    #[arg(required = true, value_name = "INPUT")]
    pub inputs: Vec<String>,

    /// What is between the values of CSV, one character: `;`, `|`, `\t` [default: `,`, of TSV `\t`]
    #[arg(long, value_name = "CHAR", value_parser = delimiter, allow_hyphen_values = true,
        help_heading = Group::Input.title())]
    pub delimiter: Option<u8>,
}

/// What is written.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub struct OutputArgs {
    /// The format to write [default: by OUT's extension]
    #[arg(long, value_name = "FORMAT", value_parser = To::parser())]
    pub to: Option<To>,

    /// Buffer compression of an Arrow file or stream [default: none]
    #[arg(long, value_enum, value_name = "COMPRESSION")]
    pub buffer_compression: Option<BufferCompression>,

    /// Parquet: compression codec: none, snappy, lz4, zstd, gzip or brotli, the last three with a
    /// level (zstd:9), or auto: none, lz4 or zstd for each column chunk [default: zstd]. JSON and
    /// CSV: compression of the file: none, gzip or zstd [default: by OUT's extension, as .jsonl.gz]
    #[arg(long, value_name = "CODEC", value_parser = codec)]
    pub codec: Option<Codec>,

    /// Parquet: maximum rows per row group [default: 1048576]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub row_group_rows: Option<u32>,

    /// Parquet: Arrow data after which a row group ends [default: 256MiB]
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    pub row_group_bytes: Option<u64>,

    /// Parquet: which encodings are chosen from the data [default: smallest]
    #[arg(long, value_enum, value_name = "CHOICE")]
    pub encodings: Option<Encodings>,

    /// Parquet: columns with a bloom filter, as paths: `id,user.name`
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    pub bloom_filter: Vec<String>,

    /// Parquet: write columns of JSON text (type `json`) as VARIANT
    #[arg(long)]
    pub variant: bool,

    /// Parquet: do not use dictionary encoding: `--encodings plain`
    #[arg(long, conflicts_with = "encodings")]
    pub no_dictionary: bool,

    /// Sort the rows of each file by these columns: `level,ts desc`
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    pub sort_by: Vec<SortKey>,

    /// Rows of a file that are sorted in memory, as Arrow data; more go to temporary files
    /// [default: 256MiB]
    #[arg(long, value_name = "SIZE", requires = "sort_by", value_parser = size::parse_memory)]
    pub sort_memory: Option<usize>,

    /// Parquet: who encodes [default: arrowsmith]
    #[arg(long, value_enum, value_name = "WRITER")]
    pub writer: Option<Writer>,

    /// Sync the file to disk before returning
    #[arg(long)]
    pub fsync: bool,

    #[command(flatten)]
    pub folder: FolderArgs,
}

/// Options of an output of several files: OUT is then a folder, as it is if it ends in `/`.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Folders of files")]
pub struct FolderArgs {
    /// Write a folder NAME=VALUE for each value of these columns, or of the year, month, day or
    /// hour of one: `country,day(ts)`. OUT is a folder
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    pub partition_by: Vec<Partition>,

    /// Start another file after N rows. OUT is a folder
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub rows_per_file: Option<u64>,

    /// Start another file after this many bytes, at the end of a batch or of Parquet's row group.
    /// OUT is a folder
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    pub bytes_per_file: Option<u64>,

    /// Add files to a folder that has some already, or rows to a table
    #[arg(long)]
    pub append: bool,

    /// Maximum number of folders NAME=VALUE [default: 10000]
    #[arg(long, value_name = "N", requires = "partition_by",
        value_parser = clap::value_parser!(u32).range(1..))]
    pub partitions_max: Option<u32>,
}

impl FolderArgs {
    /// Whether one of these options makes the output a folder.
    pub fn are_given(&self) -> bool {
        !self.partition_by.is_empty()
            || self.rows_per_file.is_some()
            || self.bytes_per_file.is_some()
            || self.append
    }
}

/// Print the schema of the input
///
/// The output is in the text form that `convert --schema` accepts.
#[derive(Debug, Args)]
pub struct InferArgs {
    #[command(flatten)]
    pub read: ReadArgs<Inferring>,

    #[command(flatten)]
    pub input: InputArgs,
}

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

fn delimiter(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        b"\\t" => Ok(b'\t'),
        b"\"" | b"\r" | b"\n" => Err("quotes and line ends have a meaning of their own".to_owned()),
        [byte] if byte.is_ascii() && !byte.is_ascii_alphanumeric() && *byte != 0 => Ok(*byte),
        _ => Err("it is one character of ASCII, neither a letter nor a digit".to_owned()),
    }
}

fn codec(name: &str) -> Result<Codec, String> {
    name.parse().map_err(|error: arrowsmith_core::Error| error.to_string())
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
