// SPDX-License-Identifier: Apache-2.0
//! `arrowsmith inspect`: the contents of an Arrow or Parquet file, from its metadata alone.
//!
//! The format is detected from the first bytes. The report goes to standard output, as text or as
//! one JSON object. A truncated or inconsistent file is an error, never a panic.

mod arrow;
mod parquet;
mod table;

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use arrowsmith_core::Error;
use serde::Serialize;

use crate::args::InspectArgs;
use crate::failure::{Failure, Outcome};
use crate::input;

/// The magic numbers at the start of a file.
const ARROW_FILE: &[u8] = b"ARROW1";
const ARROW_STREAM: &[u8] = &[0xff; 4];
const PARQUET: &[u8] = b"PAR1";

/// A report that can be printed as text or as JSON.
trait Report: Serialize {
    fn text(&self) -> String;
}

pub fn run(args: &InspectArgs) -> Outcome {
    let path = args.input.as_path();
    if path == Path::new("-") {
        let report = arrow::stream(&mut io::stdin().lock());
        return print(&report.map_err(|error| named(path, error))?, args.json);
    }
    if let Some(url) = path.to_str().filter(|name| input::is_url(name)) {
        return print(&parquet::object(url, args.pages)?, args.json);
    }
    let file = File::open(path).map_err(|error| named(path, error))?;
    match kind(&file).map_err(|error| named(path, error))? {
        Kind::ArrowFile => {
            print(&arrow::file(&file).map_err(|error| named(path, error))?, args.json)
        }
        Kind::ArrowStream => {
            let mut reader = io::BufReader::new(file);
            print(&arrow::stream(&mut reader).map_err(|error| named(path, error))?, args.json)
        }
        Kind::Parquet => print(&parquet::file(path, args.pages)?, args.json),
    }
}

enum Kind {
    ArrowFile,
    ArrowStream,
    Parquet,
}

fn kind(mut file: &File) -> io::Result<Kind> {
    let mut start = Vec::with_capacity(ARROW_FILE.len());
    file.take(ARROW_FILE.len() as u64).read_to_end(&mut start)?;
    file.seek(SeekFrom::Start(0))?;
    match start.as_slice() {
        ARROW_FILE => Ok(Kind::ArrowFile),
        start if start.starts_with(ARROW_STREAM) => Ok(Kind::ArrowStream),
        start if start.starts_with(PARQUET) => Ok(Kind::Parquet),
        _ => Err(invalid("neither an Arrow IPC file or stream nor a Parquet file")),
    }
}

fn print(report: &impl Report, json: bool) -> Outcome {
    let mut text = if json {
        serde_json::to_string_pretty(report)
            .map_err(|error| Failure::Work(Error::from(io::Error::from(error))))?
    } else {
        report.text()
    };
    if !text.ends_with('\n') {
        text.push('\n');
    }
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).map_err(Failure::stdout)
}

/// The error for a file whose bytes are invalid.
fn invalid(message: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, message.into())
}

fn named(path: &Path, error: io::Error) -> Failure {
    Failure::Work(Error::io(path, error))
}
