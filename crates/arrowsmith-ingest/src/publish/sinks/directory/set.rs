// SPDX-License-Identifier: Apache-2.0
//! Sets: the files that are made of one part, where these are several, or go to a store.
//!
//! They are made complete under hidden names, `.NAME.0.file` and so on; then `.NAME.set` appears,
//! which lists where each belongs. From then on the set is what is stored, and the part counts no
//! more: it is removed, and each file goes to its place, by a rename or an upload. What is no
//! longer under its hidden name is in its place, so whatever step is the last one, the next start
//! continues with the step after it. Last the list is removed. A file has the same name in the
//! store each time that it is uploaded, and the same content.

use std::collections::BTreeSet;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use arrow_schema::SchemaRef;
use arrowsmith_core::sink::{Cleanup, Folder, Output, Sink as _, Upload};
use arrowsmith_core::{Error, Result};
use arrowsmith_sink::folder::{FolderOptions, FolderSink};
use arrowsmith_sink::parquet::ParquetSink;
use serde::{Deserialize, Serialize};

use super::batches::Batches;
use super::complete::Files;
use crate::disk::{OpenFile, read_all, remove_if_there};
use crate::units::Fsync;

/// Arrow data in incomplete row groups of all files of a set, in bytes.
const HELD_BYTES_MAX: u64 = 64 << 20;

/// Bytes of a file that are gathered before the system is called: many files are open.
const BUFFER_BYTES: usize = 64 << 10;

/// The end of the hidden names of files.
pub(super) const FILE: &str = ".file";

/// The files of a part, and where they belong.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Set {
    /// The prefix in a store; none for the directory itself.
    pub(crate) store: Option<String>,
    pub(crate) files: Vec<SetFile>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SetFile {
    /// Below the directory or prefix, with `/` between names.
    pub(crate) path: String,
    pub(crate) bytes: u64,
}

impl Files {
    /// Whether a part becomes a set.
    pub(super) fn has_sets(&self) -> bool {
        !self.options.partition_by.is_empty() || self.options.url().is_some()
    }

    /// The hidden name of a file of a set.
    pub(super) fn file(&self, name: &str, number: usize) -> PathBuf {
        self.path(name, &format!("{number}{FILE}"))
    }

    /// Makes a set of a part, of its first bytes if they are known.
    pub(super) fn make_set(&self, name: &str, bytes: Option<u64>, last: u64) -> io::Result<()> {
        self.remove_files(name)?;
        let files = self.write_files(name, bytes)?;
        if files.is_empty() {
            return self.remove_part(name);
        }
        // Afterwards the names of the files outlive a loss of power, too.
        self.note_done(last)?;
        let set = Set { store: self.options.url().map(str::to_owned), files };
        let temporary = self.path(name, "set.tmp");
        remove_if_there(&*self.disk, &temporary)?;
        let mut list = self.disk.create_new(&temporary)?;
        list.write_all(&serde_json::to_vec(&set)?)?;
        if self.options.fsync != Fsync::Never {
            list.sync()?;
        }
        self.disk.rename(&temporary, &self.path(name, "set"))?;
        if set.store.is_some() {
            self.uploads.added(set.files.iter().map(|file| file.bytes));
        }
        self.finish_set(name, &set)
    }

    /// Removes what is left of an attempt to make a set.
    pub(super) fn remove_files(&self, name: &str) -> io::Result<()> {
        let start = format!(".{name}.");
        for file in self.disk.list(self.options.folder())? {
            if file.starts_with(&start) && file.ends_with(FILE) {
                remove_if_there(&*self.disk, &self.options.folder().join(file))?;
            }
        }
        Ok(())
    }

    /// The list of a set; `None` without one, also if it is torn, which is kept as `.damaged`.
    pub(super) fn set(&self, name: &str) -> io::Result<Option<Set>> {
        let path = self.path(name, "set");
        if !self.disk.exists(&path) {
            return Ok(None);
        }
        let bytes = match read_all(&*self.disk, &path) {
            // Uploaded meanwhile.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            bytes => bytes?,
        };
        let Ok(set) = serde_json::from_slice(&bytes) else {
            // Without syncs, a loss of power may leave anything.
            tracing::error!(name, "the list of a set cannot be read; kept as .damaged");
            self.disk.rename(&path, &self.path(name, "damaged"))?;
            return Ok(None);
        };
        Ok(Some(set))
    }

    /// Puts the files of a set in their places; what goes to a store is left to its upload.
    pub(super) fn finish_set(&self, name: &str, set: &Set) -> io::Result<()> {
        // The part must not be gone before the set is there.
        self.sync_folder()?;
        self.remove_part(name)?;
        if set.store.is_some() {
            self.uploads.wake();
            return Ok(());
        }
        let root = self.options.folder();
        let mut folders = BTreeSet::new();
        for (number, file) in set.files.iter().enumerate() {
            let to = Path::new(&file.path);
            let above = to.ancestors().skip(1).map(|folder| root.join(folder));
            folders.extend(above);
            let hidden = self.file(name, number);
            if !self.disk.exists(&hidden) {
                continue;
            }
            if let Some(folder) = to.parent() {
                self.disk.make_folder(&root.join(folder))?;
            }
            self.give_name(&hidden, &root.join(to))?;
        }
        if self.options.fsync != Fsync::Never {
            folders.iter().try_for_each(|folder| self.disk.sync_folder(folder))?;
        }
        self.remove_set(name)
    }

    /// Removes the list of a set whose files are in their places.
    pub(super) fn remove_set(&self, name: &str) -> io::Result<()> {
        remove_if_there(&*self.disk, &self.path(name, "set"))?;
        self.sync_folder()
    }

    /// Writes the files of a part under their hidden names.
    fn write_files(&self, name: &str, bytes: Option<u64>) -> io::Result<Vec<SetFile>> {
        if !self.options.partition_by.is_empty() {
            let Some(batches) = self.batches(name, bytes)? else { return Ok(Vec::new()) };
            match self.write_partitioned(name, batches) {
                Ok(files) => return Ok(files),
                Err(Error::Io { source, .. })
                    if source.kind() != io::ErrorKind::InvalidFilename =>
                {
                    return Err(source);
                }
                Err(error) => {
                    // Rows that came before these folders were configured, or names that the file
                    // system does not have: what is stored must not be lost for that.
                    tracing::warn!(name, %error, "the rows of a part are not distributed");
                    self.remove_files(name)?;
                }
            }
        }
        let hidden = self.file(name, 0);
        if self.convert(name, &hidden, bytes)? == 0 {
            remove_if_there(&*self.disk, &hidden)?;
            return Ok(Vec::new());
        }
        let path = format!("{name}.{}", self.options.format.extension());
        Ok(vec![SetFile { path, bytes: self.disk.read(&hidden)?.size()? }])
    }

    fn write_partitioned(&self, name: &str, batches: Batches) -> Result<Vec<SetFile>> {
        let options = FolderOptions {
            stem: Some(name.to_owned()),
            extension: self.options.format.extension().to_owned(),
            held_bytes_max: HELD_BYTES_MAX,
            // It was limited when the rows came.
            ..self.options.folders(usize::MAX)
        };
        let parquet = self.parquet()?;
        let workers = parquet.workers()?;
        let make = move |output: Output, schema: &SchemaRef| {
            let sink = ParquetSink::with_workers(output, schema, &parquet, Some(&workers))?;
            Ok(Box::new(sink) as Box<dyn arrowsmith_core::sink::Sink>)
        };
        let made = Arc::<Mutex<Vec<SetFile>>>::default();
        let hidden =
            HiddenFiles { files: self.clone(), name: name.to_owned(), made: Arc::clone(&made) };
        let schema = batches.schema();
        let mut sink =
            Box::new(FolderSink::new(Box::new(hidden), &schema, options, Box::new(make))?);
        for batch in batches {
            sink.write(&batch?)?;
        }
        sink.finish()?;
        let mut files = made.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for (number, file) in files.iter_mut().enumerate() {
            file.bytes = self.disk.read(&self.file(name, number))?.size()?;
        }
        Ok(files)
    }
}

/// The files of a set as a folder of a sink.
struct HiddenFiles {
    files: Files,
    name: String,
    made: Arc<Mutex<Vec<SetFile>>>,
}

impl Folder for HiddenFiles {
    fn is_shared(&self) -> bool {
        true
    }

    fn create(&mut self, path: &str) -> Result<Output> {
        let options = &self.files.options;
        if options.url().is_none()
            && let Some(folder) = Path::new(path).parent()
        {
            // A name that the file system does not have is found now, not when it is too late.
            let folder = options.folder().join(folder);
            let made = self.files.disk.make_folder(&folder);
            made.map_err(|error| Error::io(&folder, error))?;
        }
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let hidden = self.files.file(&self.name, made.len());
        let file = self.files.disk.create_new(&hidden);
        let file = file.map_err(|error| Error::io(&hidden, error))?;
        made.push(SetFile { path: path.to_owned(), bytes: 0 });
        let file = BufWriter::with_capacity(BUFFER_BYTES, file);
        Ok(Output::upload(hidden, Box::new(HiddenFile { file, fsync: options.fsync })))
    }

    fn commit(&mut self) -> Result<()> {
        // The list of the set does that.
        Ok(())
    }

    fn cleanup(&self) -> Cleanup {
        Box::new(|| {})
    }
}

/// A file of a set, which is kept under its hidden name.
struct HiddenFile {
    file: BufWriter<OpenFile>,
    fsync: Fsync,
}

impl Write for HiddenFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Upload for HiddenFile {
    fn commit(mut self: Box<Self>) -> io::Result<()> {
        self.file.flush()?;
        match self.fsync {
            Fsync::Never => Ok(()),
            _ => self.file.get_ref().sync(),
        }
    }
}
