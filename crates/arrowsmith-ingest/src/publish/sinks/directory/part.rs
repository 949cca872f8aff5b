// SPDX-License-Identifier: Apache-2.0
//! A file under construction.

use std::io::{self, BufWriter, Write};
use std::time::Instant;

use arrow_array::RecordBatch;
use arrow_ipc::writer::{DictionaryHandling, FileWriter, IpcWriteOptions};
use arrow_schema::{ArrowError, Schema, SchemaRef};
use arrowsmith_sink::ipc::Unifier;

use super::complete::{Files, Made};
use super::note::Line;
use super::{CountingWriter, DirectoryOptions};
use crate::disk::{OpenFile, remove_if_there};
use crate::units::Fsync;

/// Bytes gathered before the system is called; the buffers of columns are larger and pass through.
const BUFFER_BYTES: usize = 64 << 10;

/// Why a batch is not in a part.
#[derive(Debug)]
pub(super) enum WriteError {
    /// An error of the disk.
    Io(io::Error),
    /// A type that the format does not have; or an error of the disk, reported by Arrow.
    Arrow(ArrowError),
    /// The keys of a dictionary are used up.
    Full,
}

impl From<io::Error> for WriteError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<ArrowError> for WriteError {
    fn from(error: ArrowError) -> Self {
        Self::Arrow(error)
    }
}

/// Writes an Arrow file.
pub(super) type Writer = FileWriter<BufWriter<CountingWriter>>;

/// A file under construction.
pub(super) struct Part {
    files: Files,
    /// Of its files, without an ending.
    pub(super) name: String,
    pub(super) schema: SchemaRef,
    pub(super) started: Instant,
    writer: Writer,
    unifier: Unifier,
    note: OpenFile,
    /// Lengths of both files up to the end of the last message that was stored.
    whole_bytes: u64,
    note_bytes: u64,
    last: u64,
}

impl Part {
    pub(super) fn create(
        files: &Files,
        sequence: u64,
        schema: &SchemaRef,
    ) -> Result<Self, WriteError> {
        let name = files.name(sequence);
        tracing::debug!(name, "a file is begun");
        Self::begin(files, &name, schema).inspect_err(|_| {
            // Nothing is in it yet, and the next try begins with the same name.
            for kind in ["part", "note"] {
                drop(files.disk.remove(&files.path(&name, kind)));
            }
        })
    }

    fn begin(files: &Files, name: &str, schema: &SchemaRef) -> Result<Self, WriteError> {
        for kind in ["part", "note"] {
            // What an earlier try could not remove: no message is in it.
            remove_if_there(&*files.disk, &files.path(name, kind))?;
        }
        let note = files.disk.create_new(&files.path(name, "note"))?;
        let file = files.disk.create_new(&files.path(name, "part"))?;
        let mut writer = writer(file, schema, &files.options)?;
        let flushed = writer.get_mut().flush();
        // What could not be written must not follow when the buffer is dropped.
        writer.get_mut().get_mut().closed = flushed.is_err();
        flushed?;
        if files.options.fsync == Fsync::Always {
            files.disk.sync_folder(files.options.folder())?;
        }
        Ok(Self {
            files: files.clone(),
            name: name.to_owned(),
            schema: schema.clone(),
            started: Instant::now(),
            writer,
            unifier: Unifier::new(schema),
            note,
            whole_bytes: 0,
            note_bytes: 0,
            last: 0,
        })
    }

    /// Adds a batch; the system has it afterwards, and with `fsync = "always"` the disk. An error
    /// if another program has removed a file of the part.
    pub(super) fn write(&mut self, batch: &RecordBatch, sequence: u64) -> Result<(), WriteError> {
        let always = self.files.options.fsync == Fsync::Always;
        match self.unifier.unify(batch) {
            Ok(None) => self.writer.write(batch)?,
            Ok(Some(unified)) => self.writer.write(&unified)?,
            Err(_) if self.unifier.is_full() => return Err(WriteError::Full),
            Err(error) => return Err(ArrowError::ExternalError(Box::new(error)).into()),
        }
        let file = self.writer.get_mut();
        file.flush()?;
        let file = file.get_mut();
        if always {
            file.file.sync()?;
        }
        let line = Line { end: file.bytes, sequence, sum: std::mem::take(&mut file.sum) }.write();
        self.note.write_all(&line)?;
        if always {
            self.note.sync()?;
        }
        file.file.check_name()?;
        self.note.check_name()?;
        self.whole_bytes = file.bytes;
        self.note_bytes += line.len() as u64;
        self.last = sequence;
        Ok(())
    }

    /// Bytes written.
    pub(super) fn bytes(&self) -> u64 {
        self.writer.get_ref().get_ref().bytes
    }

    /// Writes the footer and renames the file.
    pub(super) fn complete(mut self) -> io::Result<()> {
        let files = self.files.clone();
        if files.is_made_again(&self.unifier) {
            return files.make(&self.name, Some(self.whole_bytes), self.last);
        }
        self.writer.finish().map_err(io::Error::other)?;
        self.writer.get_mut().flush()?;
        if files.options.fsync != Fsync::Never {
            self.writer.get_ref().get_ref().file.sync()?;
        }
        files.name_made(&self.name, Made::Part, self.last)
    }

    /// Removes what is not whole, after an error; returns the name of the part if something is left
    /// of it.
    pub(super) fn take_back(&mut self) -> io::Result<Option<String>> {
        let file = self.writer.get_mut().get_mut();
        // The buffer holds the rest of a batch that failed: it must not follow when it is dropped.
        file.closed = true;
        // First the note, by which the rest counts.
        self.note.cut(self.note_bytes)?;
        if self.files.options.fsync == Fsync::Always {
            self.note.sync()?;
        }
        if self.note_bytes == 0 {
            self.files.remove_part(&self.name)?;
            return Ok(None);
        }
        file.file.cut(self.whole_bytes)?;
        Ok(Some(self.name.clone()))
    }
}

/// Begins an Arrow file.
pub(super) fn writer(
    file: OpenFile,
    schema: &Schema,
    options: &DirectoryOptions,
) -> Result<Writer, ArrowError> {
    let codec = arrowsmith_publish::Compression::from(options.compression).codec();
    let ipc = IpcWriteOptions::default()
        .try_with_compression(codec)?
        .with_dictionary_handling(DictionaryHandling::Delta);
    let file = BufWriter::with_capacity(BUFFER_BYTES, CountingWriter::new(file));
    FileWriter::try_new_with_options(file, schema, ipc)
}
