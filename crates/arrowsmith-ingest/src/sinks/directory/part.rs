// SPDX-License-Identifier: Apache-2.0
//! A file under construction, and what becomes of one that a killed process left.

use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use arrow_array::RecordBatch;
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions};
use arrow_schema::{ArrowError, Schema, SchemaRef};
use arrowsmith_core::sink::{Output, Sink, sync_folder};
use arrowsmith_sink_parquet::{ParquetOptions, ParquetSink};

use super::{Counted, DirectoryOptions, FileFormat};
use crate::config::Fsync;

/// Bytes gathered before the system is called; the buffers of columns are larger and pass through.
const BUFFER_BYTES: usize = 64 << 10;

/// What an Arrow file begins with; a stream follows.
const MAGIC: &[u8; 6] = b"ARROW1";

/// A file under construction.
pub(super) struct Part {
    pub(super) path: PathBuf,
    pub(super) schema: SchemaRef,
    pub(super) started: Instant,
    writer: FileWriter<BufWriter<Counted>>,
    /// Length up to the end of the last batch that was stored.
    whole_bytes: u64,
    rows: u64,
}

impl Part {
    pub(super) fn create(
        path: PathBuf,
        schema: &SchemaRef,
        options: &DirectoryOptions,
    ) -> Result<Self, ArrowError> {
        let file = File::options().write(true).create_new(true).open(&path)?;
        let begun = writer(file, schema, options).and_then(|mut writer| {
            let flushed = writer.get_mut().flush();
            // What could not be written must not follow when the buffer is dropped.
            writer.get_mut().get_mut().closed = flushed.is_err();
            flushed.map(|()| writer).map_err(ArrowError::from)
        });
        let writer = match begun {
            Ok(writer) => writer,
            Err(error) => {
                // Nothing is in it yet, and the next try begins with the same name.
                fs::remove_file(&path)?;
                return Err(error);
            }
        };
        Ok(Self {
            path,
            schema: schema.clone(),
            started: Instant::now(),
            writer,
            whole_bytes: 0,
            rows: 0,
        })
    }

    /// Adds a batch; the system has it afterwards, and with `fsync` the disk.
    pub(super) fn write(&mut self, batch: &RecordBatch, fsync: bool) -> Result<(), ArrowError> {
        self.writer.write(batch)?;
        let file = self.writer.get_mut();
        file.flush()?;
        if fsync {
            file.get_ref().file.sync_data()?;
        }
        self.whole_bytes = file.get_ref().bytes;
        self.rows += batch.num_rows() as u64;
        Ok(())
    }

    /// Bytes written.
    pub(super) fn bytes(&self) -> u64 {
        self.writer.get_ref().get_ref().bytes
    }

    /// Writes the end and gives the file its name.
    pub(super) fn complete(mut self, options: &DirectoryOptions) -> Result<(), ArrowError> {
        self.writer.finish()?;
        self.writer.get_mut().flush()?;
        match options.format {
            FileFormat::Arrow => {
                if options.fsync != Fsync::Never {
                    self.writer.get_ref().get_ref().file.sync_all()?;
                }
                name(&self.path, &self.path, options)?;
            }
            FileFormat::Parquet => drop(recover(&self.path, options)?),
        }
        Ok(())
    }

    /// Gives up after an error. Takes back what is not whole; `None` when nothing is left.
    pub(super) fn abandon(mut self) -> io::Result<Option<PathBuf>> {
        let file = self.writer.get_mut().get_mut();
        // The buffer holds the rest of a batch that failed: it must not follow when it is dropped.
        file.closed = true;
        if self.rows == 0 {
            fs::remove_file(&self.path)?;
            return Ok(None);
        }
        file.file.set_len(self.whole_bytes)?;
        Ok(Some(self.path))
    }
}

fn writer(
    file: File,
    schema: &Schema,
    options: &DirectoryOptions,
) -> Result<FileWriter<BufWriter<Counted>>, ArrowError> {
    let codec = arrowsmith_message::Compression::from(options.compression).codec();
    let ipc = IpcWriteOptions::default().try_with_compression(codec)?;
    let file = BufWriter::with_capacity(BUFFER_BYTES, Counted { file, bytes: 0, closed: false });
    FileWriter::try_new_with_options(file, schema, ipc)
}

/// Gives `from` the name that `part` is to have.
fn name(part: &Path, from: &Path, options: &DirectoryOptions) -> io::Result<()> {
    let text = part.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let plain = text.trim_start_matches('.').trim_end_matches(".part");
    let extension = options.format.extension();
    let mut to = part.with_file_name(format!("{plain}.{extension}"));
    let mut number = 1;
    // A name that is there already is a file that was completed, of which something was left over.
    while to.exists() {
        to = part.with_file_name(format!("{plain}-{number}.{extension}"));
        number += 1;
    }
    fs::rename(from, &to)?;
    if options.fsync != Fsync::Never {
        sync_folder(&options.path)?;
    }
    Ok(())
}

/// Makes a file of what is whole in a part, and removes the part. Returns the rows.
pub(super) fn recover(path: &Path, options: &DirectoryOptions) -> io::Result<u64> {
    let Some(batches) = batches(path)? else {
        // Not even the schema was written.
        fs::remove_file(path)?;
        return Ok(0);
    };
    let schema = batches.schema();
    let temporary = path.with_extension("tmp");
    let mut rows = 0_u64;
    let batches = batches.map_while(|batch| {
        // The first that is torn was never acknowledged, nor was anything behind it.
        batch.inspect(|batch| rows += batch.num_rows() as u64).ok()
    });
    match options.format {
        FileFormat::Arrow => {
            let mut writer =
                writer(File::create(&temporary)?, &schema, options).map_err(io::Error::other)?;
            for batch in batches {
                writer.write(&batch).map_err(io::Error::other)?;
            }
            writer.finish().map_err(io::Error::other)?;
            writer.get_mut().flush()?;
            if options.fsync != Fsync::Never {
                writer.get_ref().get_ref().file.sync_all()?;
            }
        }
        FileFormat::Parquet => {
            let codec = options.codec.parse().map_err(io::Error::other)?;
            let parquet = ParquetOptions { codec, ..ParquetOptions::default() };
            let output = Output::create(&temporary).map_err(io::Error::other)?;
            let output = output.with_fsync(options.fsync != Fsync::Never);
            let mut sink =
                Box::new(ParquetSink::new(output, &schema, &parquet).map_err(io::Error::other)?);
            for batch in batches {
                sink.write(&batch).map_err(io::Error::other)?;
            }
            sink.finish().map_err(io::Error::other)?;
        }
    }
    if rows > 0 {
        name(path, &temporary, options)?;
    } else {
        fs::remove_file(&temporary)?;
    }
    fs::remove_file(path)?;
    Ok(rows)
}

/// The batches of a part, the last of which may be torn; `None` when there is not even a schema.
fn batches(path: &Path) -> io::Result<Option<StreamReader<BufReader<File>>>> {
    let mut file = BufReader::with_capacity(1 << 20, File::open(path)?);
    let mut magic = [0; 8];
    if file.read_exact(&mut magic).is_err() || !magic.starts_with(MAGIC) {
        return Ok(None);
    }
    // The writer pads the magic number to 64 bytes or to 8, by its version: the stream begins with
    // its mark of a message.
    let mut skipped = [0; 8];
    for _ in 0..8 {
        let next = io::BufRead::fill_buf(&mut file)?;
        if next.starts_with(&[0xff; 4]) {
            return Ok(StreamReader::try_new(file, None).ok());
        }
        if file.read_exact(&mut skipped).is_err() {
            break;
        }
    }
    Ok(None)
}
