// SPDX-License-Identifier: Apache-2.0
//! Parts made files of, also those that a killed process left, so that each message is in one file
//! whatever happens; in one set of files, where rows are distributed over folders.
//!
//! A part that is a complete Arrow file already is renamed to `.NAME.whole`; of any other, a file
//! is made under `.NAME.tmp`, which then becomes `.NAME.whole`. From then on the part counts no
//! more: it is removed, and last the file is given its name. Whatever step is the last one, the
//! next start continues with the step after it. `.STREAM.done` contains the number up to which
//! messages are in files, so that a spool does not publish them again.

use std::io::{self, BufRead, BufReader, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_schema::SchemaRef;
use arrowsmith_sink::ipc::Unifier;
use arrowsmith_sink::parquet::{ParquetOptions, ParquetStream};

use super::batches::{Batches, plain};
use super::note::verified;
use super::part::writer;
use super::set::FILE;
use super::upload::Uploads;
use super::{DirectoryOptions, FileFormat};
use crate::disk::{OpenFile, SharedDisk, read_all, remove_if_there};
use crate::store::SharedStores;
use crate::units::Fsync;

/// Digits of the number in a name: that of the first message.
pub(super) const DIGITS: usize = 20;

/// Which file has everything in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Made {
    /// The part itself.
    Part,
    /// The one that was made of it.
    Temporary,
}

/// The files of one stream in a directory.
#[derive(Debug, Clone)]
pub(super) struct Files {
    pub(super) disk: SharedDisk,
    pub(super) stores: SharedStores,
    pub(super) options: DirectoryOptions,
    pub(super) stream: String,
    pub(super) uploads: Arc<Uploads>,
}

impl Files {
    /// What the files of a part are called whose first message has this number.
    pub(super) fn name(&self, sequence: u64) -> String {
        format!("{}-{sequence:0DIGITS$}", self.stream)
    }

    /// A file under construction.
    pub(super) fn path(&self, name: &str, kind: &str) -> PathBuf {
        self.options.folder().join(format!(".{name}.{kind}"))
    }

    /// Whether a part is not a file that every reader takes.
    pub(super) fn is_made_again(&self, dictionaries: &Unifier) -> bool {
        self.options.format != FileFormat::Arrow || dictionaries.has_any() || self.has_sets()
    }

    pub(super) fn sync_folder(&self) -> io::Result<()> {
        match self.options.fsync {
            Fsync::Never => Ok(()),
            _ => self.disk.sync_folder(self.options.folder()),
        }
    }

    /// Removes a part in which nothing is, or nothing that is not elsewhere. Its note goes when it
    /// cannot come back: a part without one is taken for that of an earlier version.
    pub(super) fn remove_part(&self, name: &str) -> io::Result<()> {
        remove_if_there(&*self.disk, &self.path(name, "part"))?;
        self.sync_folder()?;
        remove_if_there(&*self.disk, &self.path(name, "note"))
    }

    /// Makes a file of a part, or a set of files, of its first bytes if they are known.
    pub(super) fn make(&self, name: &str, bytes: Option<u64>, last: u64) -> io::Result<()> {
        if self.has_sets() {
            return self.make_set(name, bytes, last);
        }
        let temporary = self.path(name, "tmp");
        let rows = self.convert(name, &temporary, bytes)?;
        if rows == 0 {
            remove_if_there(&*self.disk, &temporary)?;
            return self.remove_part(name);
        }
        self.name_made(name, Made::Temporary, last)
    }

    /// Renames a complete file to the name that readers look for.
    pub(super) fn name_made(&self, name: &str, made: Made, last: u64) -> io::Result<()> {
        let whole = self.path(name, "whole");
        let from = if made == Made::Part { "part" } else { "tmp" };
        self.note_done(last)?;
        self.disk.rename(&self.path(name, from), &whole)?;
        self.finish(name)
    }

    /// Renames a complete file.
    fn finish(&self, name: &str) -> io::Result<()> {
        let whole = self.path(name, "whole");
        // The part must not be gone before the whole file is there, nor come back when that has
        // another name.
        self.sync_folder()?;
        self.remove_part(name)?;
        let to = format!("{name}.{}", self.options.format.extension());
        self.give_name(&whole, &self.options.folder().join(to))?;
        self.sync_folder()
    }

    /// Renames a complete file to its name, or to one with a number where another file has it.
    pub(super) fn give_name(&self, from: &Path, name: &Path) -> io::Result<()> {
        let mut to = name.to_owned();
        let mut number = 1;
        while self.disk.exists(&to) {
            if self.is_same(from, &to)? {
                // It has been given its name before; this is what was left over.
                return self.disk.remove(from);
            }
            let stem = name.file_stem().unwrap_or_default().to_string_lossy();
            let extension = self.options.format.extension();
            to = name.with_file_name(format!("{stem}-{number}.{extension}"));
            number += 1;
        }
        tracing::debug!(to = %to.display(), "a file is whole");
        self.disk.rename(from, &to)
    }

    fn is_same(&self, one: &Path, other: &Path) -> io::Result<bool> {
        let (one, other) = (self.disk.read(one)?, self.disk.read(other)?);
        if one.size()? != other.size()? {
            return Ok(false);
        }
        let (mut one, mut other) = (BufReader::new(one), BufReader::new(other));
        loop {
            let a = one.fill_buf()?;
            let b = other.fill_buf()?;
            let len = a.len().min(b.len());
            if len == 0 || a[..len] != b[..len] {
                return Ok(len == 0);
            }
            one.consume(len);
            other.consume(len);
        }
    }

    /// The number up to which messages are in files; `None` if its file is torn.
    fn done(&self) -> io::Result<Option<u64>> {
        let path = self.options.folder().join(format!(".{}.done", self.stream));
        let bytes = match read_all(&*self.disk, &path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            bytes => bytes?,
        };
        let parse = || {
            let (number, sum) = str::from_utf8(&bytes).ok()?.strip_suffix('\n')?.split_once(' ')?;
            let fits = u32::from_str_radix(sum, 16) == Ok(crc32c::crc32c(number.as_bytes()));
            number.parse().ok().filter(|_| fits)
        };
        Ok(parse())
    }

    pub(super) fn note_done(&self, last: u64) -> io::Result<()> {
        if self.done()?.is_some_and(|done| done >= last) {
            // An earlier attempt may have failed after the rename.
            return self.sync_folder();
        }
        let temporary = self.path(&self.stream, "done.tmp");
        remove_if_there(&*self.disk, &temporary)?;
        let mut file = self.disk.create_new(&temporary)?;
        let number = last.to_string();
        let sum = crc32c::crc32c(number.as_bytes());
        file.write_all(format!("{number} {sum:08x}\n").as_bytes())?;
        if self.options.fsync != Fsync::Never {
            file.sync()?;
        }
        self.disk
            .rename(&temporary, &self.options.folder().join(format!(".{}.done", self.stream)))?;
        // Before the part is removed, which contains the same messages.
        self.sync_folder()
    }

    /// Writes the rows of a part to another file; returns their number.
    pub(super) fn convert(&self, name: &str, to: &Path, bytes: Option<u64>) -> io::Result<u64> {
        remove_if_there(&*self.disk, to)?;
        let Some(batches) = self.batches(name, bytes)? else { return Ok(0) };
        let schema = batches.schema();
        let file = self.disk.create_new(to)?;
        let (rows, file) = match self.options.format {
            FileFormat::Arrow => self.write_arrow(name, bytes, batches, file)?,
            FileFormat::Parquet => self.write_parquet(&schema, batches, file)?,
        };
        if self.options.fsync != Fsync::Never {
            file.sync()?;
        }
        Ok(rows)
    }

    fn write_arrow(
        &self,
        name: &str,
        bytes: Option<u64>,
        batches: Batches,
        file: OpenFile,
    ) -> io::Result<(u64, OpenFile)> {
        let schema = batches.schema();
        let has_dictionaries = Unifier::new(&schema).has_any();
        let mut writer = writer(file, &schema, &self.options).map_err(io::Error::other)?;
        let mut rows = 0;
        let mut whole = None;
        if has_dictionaries {
            // Numbers stay what they are while a dictionary grows: the last one is that of all
            // batches.
            for batch in self.batches(name, bytes)?.into_iter().flatten() {
                whole = Some(batch?);
            }
        }
        for batch in batches {
            let batch = batch?;
            rows += batch.num_rows() as u64;
            match &whole {
                Some(whole) => {
                    let batch = arrowsmith_sink::ipc::with_dictionaries_of(&batch, whole);
                    writer.write(&batch.map_err(io::Error::other)?).map_err(plain)?;
                }
                None => writer.write(&batch).map_err(plain)?,
            }
        }
        writer.finish().map_err(plain)?;
        writer.get_mut().flush()?;
        let buffered = writer.into_inner().map_err(plain)?;
        Ok((rows, buffered.into_inner().map_err(io::IntoInnerError::into_error)?.file))
    }

    /// How Parquet files are written.
    pub(super) fn parquet(&self) -> arrowsmith_core::Result<ParquetOptions> {
        Ok(ParquetOptions { codec: self.options.codec.parse()?, ..ParquetOptions::default() })
    }

    fn write_parquet(
        &self,
        schema: &SchemaRef,
        batches: Batches,
        file: OpenFile,
    ) -> io::Result<(u64, OpenFile)> {
        let options = self.parquet().map_err(io::Error::other)?;
        let file = io::BufWriter::with_capacity(1 << 20, file);
        let mut sink = ParquetStream::new(file, schema, &options).map_err(io::Error::other)?;
        let mut rows = 0;
        for batch in batches {
            let batch = batch?;
            rows += batch.num_rows() as u64;
            sink.write(&batch).map_err(io::Error::other)?;
        }
        let file = sink.finish().map_err(io::Error::other)?;
        Ok((rows, file.into_inner().map_err(io::IntoInnerError::into_error)?))
    }
}

/// Completes what a killed process left. Returns the highest number of a message that is stored.
pub(super) fn recover_all(files: &Files) -> io::Result<Option<u64>> {
    let folder = files.options.folder();
    let prefix = format!(".{}-", files.stream);
    let mut names = Vec::new();
    for file in files.disk.list(folder)? {
        let Some((number, kind)) = file.strip_prefix(&prefix).and_then(|n| n.split_once('.'))
        else {
            continue;
        };
        // Another stream may be called as this one and a number.
        if number.len() == DIGITS && number.bytes().all(|c| c.is_ascii_digit()) {
            match kind {
                "part" | "whole" | "note" | "set" => {
                    names.push(format!("{}-{number}", files.stream))
                }
                kind if kind.ends_with(FILE) => names.push(format!("{}-{number}", files.stream)),
                // What it was made from is still there.
                "tmp" | "set.tmp" => files.disk.remove(&folder.join(&file))?,
                _ => {}
            }
        }
    }
    names.sort();
    names.dedup();
    for name in names {
        let rows = recover(files, &name)?;
        tracing::info!(name, rows, "completed a file that was left");
    }
    files.done()
}

/// Makes a file of what is whole in a part. Returns its messages.
pub(super) fn recover(files: &Files, name: &str) -> io::Result<usize> {
    let disk = &files.disk;
    if disk.exists(&files.path(name, "whole")) {
        files.finish(name)?;
        return Ok(0);
    }
    if let Some(set) = files.set(name)? {
        files.finish_set(name, &set)?;
        return Ok(0);
    }
    files.remove_files(name)?;
    let (part, note) = (files.path(name, "part"), files.path(name, "note"));
    if !disk.exists(&part) {
        remove_if_there(&**disk, &note)?;
        return Ok(0);
    }
    if !disk.exists(&note) {
        // Of an earlier version of the service. It is unknown whether it is as it was written, and
        // Arrow's reader panics at some that are not.
        let made = catch_unwind(AssertUnwindSafe(|| files.make(name, None, 0)));
        return match made {
            Ok(made) => made.map(|()| 0),
            Err(_) => {
                tracing::error!(name, "a part cannot be read; kept as .damaged");
                disk.rename(&part, &files.path(name, "damaged")).map(|()| 0)
            }
        };
    }
    let lines = verified(disk.read(&note)?, disk.read(&part)?)?;
    let Some(last) = lines.last() else {
        files.remove_part(name)?;
        return Ok(0);
    };
    files.make(name, Some(last.end), last.sequence)?;
    Ok(lines.len())
}
