// SPDX-License-Identifier: Apache-2.0
//! Objects in stores as outputs: written in parts, several at once, and visible when all are there.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use arrowsmith_core::sink::{Cleanup, CommitLock, Folder, Output, Upload};
use arrowsmith_core::{Error, Result};
use bytes::Bytes;
use futures_util::TryStreamExt;
use object_store::path::Path;
use object_store::{MultipartUpload, ObjectStore, ObjectStoreExt, PutPayload};
use tokio::task::JoinSet;

use super::failure::io_error;
use super::object::runtime;
use super::options::StoreOptions;
use super::url::open;

/// Bytes of a part; all but the last have as many, as some stores demand. Stores take up to 10,000
/// parts, which is 156 GiB.
const PART_BYTES: usize = 16 << 20;

/// Parts of an object that are sent at the same time.
const SENDING_MAX: usize = 4;

/// An object as an output: `s3://bucket/table.parquet`. It becomes visible when the output is
/// committed. Must not be called inside an async runtime.
///
/// # Errors
/// [`Error::Io`] for a URL that no store supports, or that names a prefix.
pub fn create(url: &str, options: &StoreOptions) -> Result<Output> {
    let (store, path) = open(url, options)?;
    if url.ends_with('/') || path.as_ref().is_empty() {
        return Err(Error::io(url, io::Error::from(io::ErrorKind::IsADirectory)));
    }
    Ok(output(store, path, url))
}

/// [`create`] in any store; `name` is its name in errors.
pub fn output(store: Arc<dyn ObjectStore>, path: Path, name: &str) -> Output {
    Output::upload(name, Box::new(Object::new(store, path, None)))
}

/// The objects below a prefix, which become visible one after another, when all of them have been
/// sent.
pub struct StoreFolder {
    store: Arc<dyn ObjectStore>,
    prefix: Path,
    name: String,
    append: bool,
    lock: CommitLock,
    sent: Arc<Sent>,
}

/// Objects whose parts have all been sent.
type Sent = Mutex<Vec<(Path, Box<dyn MultipartUpload>)>>;

impl StoreFolder {
    /// The prefix of a URL, with a `/` at its end or without. Lists it; without `append` it must be
    /// empty. Must not be called inside an async runtime.
    ///
    /// # Errors
    /// [`Error::Io`] for a URL that no store supports, if the store cannot be reached, and for a
    /// prefix with objects.
    pub fn new(url: &str, options: &StoreOptions, append: bool) -> Result<Self> {
        let (store, prefix) = open(url, options)?;
        Self::within(store, prefix, url, append)
    }

    /// [`StoreFolder::new`] in any store; `name` is the name of the prefix in errors.
    ///
    /// # Errors
    /// As [`StoreFolder::new`].
    pub fn within(
        store: Arc<dyn ObjectStore>,
        prefix: Path,
        name: &str,
        append: bool,
    ) -> Result<Self> {
        let failed = |error| Error::io(name, error);
        let short = name.trim_end_matches('/').to_owned();
        let lock = CommitLock::default();
        let folder = Self { store, prefix, name: short, append, lock, sent: Arc::default() };
        let has_files = runtime().and_then(|runtime| runtime.block_on(folder.has_files()));
        if has_files.map_err(failed)? && !append {
            let message = "there are objects; with append, others are added to them";
            return Err(failed(io::Error::new(io::ErrorKind::AlreadyExists, message)));
        }
        Ok(folder)
    }

    async fn has_files(&self) -> io::Result<bool> {
        let first = self.store.list(Some(&self.prefix)).try_next().await;
        Ok(first.map_err(io_error)?.is_some())
    }

    /// Makes the objects visible; if one fails, deletes those that are.
    async fn complete(&self, mut sent: Vec<(Path, Box<dyn MultipartUpload>)>) -> io::Result<()> {
        for at in 0..sent.len() {
            let done = match self.lock.is_stopped() {
                true => Err(io::ErrorKind::Interrupted.into()),
                false => sent[at].1.complete().await.map(drop).map_err(io_error),
            };
            let Err(error) = done else { continue };
            for (path, _) in &sent[..at] {
                // The first failure is reported.
                let _ = self.store.delete(path).await;
            }
            for (_, upload) in &mut sent[at..] {
                let _ = upload.abort().await;
            }
            return Err(error);
        }
        Ok(())
    }

    fn take(&self) -> Vec<(Path, Box<dyn MultipartUpload>)> {
        std::mem::take(&mut *self.sent.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Folder for StoreFolder {
    /// Always: a store replaces an object of the same name without an error.
    fn is_shared(&self) -> bool {
        true
    }

    fn create(&mut self, name: &str) -> Result<Output> {
        let whole = format!("{}/{name}", self.name);
        // As it is: what is escaped in it is the business of who reads the names of folders.
        let path = Path::parse(format!("{}/{name}", self.prefix));
        let path = path.map_err(|error| Error::io(&whole, io::Error::other(error)))?;
        let object = Object::new(Arc::clone(&self.store), path, Some(Arc::clone(&self.sent)));
        Ok(Output::upload(whole, Box::new(object)))
    }

    fn commit(&mut self) -> Result<()> {
        let lock = self.lock.clone();
        let _held = lock.hold();
        let done = runtime().and_then(|runtime| {
            if !self.append && runtime.block_on(self.has_files())? {
                let message = "another process has written objects meanwhile";
                return Err(io::Error::new(io::ErrorKind::AlreadyExists, message));
            }
            runtime.block_on(self.complete(self.take()))
        });
        done.map_err(|error| match lock.is_stopped() {
            true => Error::Cancelled,
            false => Error::io(&self.name, error),
        })
    }

    fn cleanup(&self) -> Cleanup {
        let lock = self.lock.clone();
        Box::new(move || lock.stop())
    }
}

impl Drop for StoreFolder {
    fn drop(&mut self) {
        let Ok(runtime) = runtime() else { return };
        for (_, mut upload) in self.take() {
            // A failure cannot be reported here; stores delete forgotten parts by their own rules.
            let _ = runtime.block_on(upload.abort());
        }
    }
}

/// An object that is being written.
struct Object {
    store: Arc<dyn ObjectStore>,
    path: Path,
    buffer: Vec<u8>,
    parts: Option<Parts>,
    /// Where it goes when all parts have been sent, if others have to be complete with it.
    sent: Option<Arc<Sent>>,
}

struct Parts {
    upload: Box<dyn MultipartUpload>,
    sending: JoinSet<object_store::Result<()>>,
}

impl Object {
    fn new(store: Arc<dyn ObjectStore>, path: Path, sent: Option<Arc<Sent>>) -> Self {
        Self { store, path, buffer: Vec::new(), parts: None, sent }
    }

    /// Sends the buffer as a part.
    fn send(&mut self) -> io::Result<()> {
        let runtime = runtime()?;
        if self.parts.is_none() {
            let upload =
                runtime.block_on(self.store.put_multipart(&self.path)).map_err(io_error)?;
            self.parts = Some(Parts { upload, sending: JoinSet::new() });
        }
        let Some(parts) = &mut self.parts else { return Ok(()) };
        runtime.block_on(parts.wait(SENDING_MAX - 1))?;
        let payload = PutPayload::from(Bytes::from(std::mem::take(&mut self.buffer)));
        parts.sending.spawn_on(parts.upload.put_part(payload), runtime.handle());
        Ok(())
    }
}

impl Parts {
    /// Waits until at most `max` parts are being sent.
    async fn wait(&mut self, max: usize) -> io::Result<()> {
        while self.sending.len() > max {
            match self.sending.join_next().await {
                Some(Ok(done)) => done.map_err(io_error)?,
                Some(Err(error)) => return Err(io::Error::other(error)),
                None => break,
            }
        }
        Ok(())
    }
}

impl Write for Object {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = PART_BYTES - self.buffer.len();
        let taken = bytes.get(..room).unwrap_or(bytes);
        self.buffer.extend_from_slice(taken);
        if self.buffer.len() == PART_BYTES {
            self.send()?;
        }
        Ok(taken.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Upload for Object {
    fn commit(mut self: Box<Self>) -> io::Result<()> {
        let runtime = runtime()?;
        if self.parts.is_none() && self.sent.is_none() {
            let payload = PutPayload::from(Bytes::from(std::mem::take(&mut self.buffer)));
            runtime.block_on(self.store.put(&self.path, payload)).map_err(io_error)?;
            return Ok(());
        }
        if self.parts.is_none() || !self.buffer.is_empty() {
            self.send()?;
        }
        let Some(parts) = &mut self.parts else { return Ok(()) };
        runtime.block_on(parts.wait(0))?;
        match self.sent.take() {
            None => drop(runtime.block_on(parts.upload.complete()).map_err(io_error)?),
            Some(sent) => {
                let path = self.path.clone();
                let Some(parts) = self.parts.take() else { return Ok(()) };
                let mut sent = sent.lock().unwrap_or_else(PoisonError::into_inner);
                sent.push((path, parts.upload));
            }
        }
        self.parts = None;
        Ok(())
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        if let (Some(mut parts), Ok(runtime)) = (self.parts.take(), runtime()) {
            // As in `StoreFolder`.
            let _ = runtime.block_on(async {
                parts.sending.shutdown().await;
                parts.upload.abort().await
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use object_store::memory::InMemory;

    fn store() -> Arc<dyn ObjectStore> {
        Arc::new(InMemory::new())
    }

    fn names(store: &Arc<dyn ObjectStore>) -> Vec<String> {
        let list = store.list(None).try_collect::<Vec<_>>();
        let list = runtime().unwrap().block_on(list).unwrap();
        let mut names: Vec<_> = list.into_iter().map(|meta| meta.location.to_string()).collect();
        names.sort();
        names
    }

    fn read(store: &Arc<dyn ObjectStore>, path: &str) -> Bytes {
        let path = Path::parse(path).unwrap();
        let runtime = runtime().unwrap();
        let bytes = async { store.get(&path).await.unwrap().bytes().await.unwrap() };
        runtime.block_on(bytes)
    }

    /// More than two parts, written in pieces of all sizes.
    #[test]
    fn an_object_is_visible_when_it_is_complete() {
        let store = store();
        let text: Vec<u8> = (0..40_000_000_u32).map(|n| n.to_le_bytes()[1]).collect();
        let mut out = output(Arc::clone(&store), Path::from("a/b"), "memory:a/b");
        let mut rest = text.as_slice();
        for size in (1..).map(|n: usize| n * n) {
            let (piece, after) = rest.split_at(size.min(rest.len()));
            out.write_all(piece).unwrap();
            rest = after;
            if rest.is_empty() {
                break;
            }
        }
        assert!(names(&store).is_empty());
        assert_eq!(out.commit().unwrap(), text.len() as u64);
        assert_eq!(read(&store, "a/b"), text);
        output(Arc::clone(&store), Path::from("a/c"), "memory:a/c").commit().unwrap();
        assert!(read(&store, "a/c").is_empty());
    }

    #[test]
    fn a_dropped_object_leaves_nothing() {
        let store = store();
        let mut out = output(Arc::clone(&store), Path::from("a"), "memory:a");
        out.write_all(&vec![7; PART_BYTES + 1]).unwrap();
        drop(out);
        assert!(names(&store).is_empty());
    }

    #[test]
    fn a_folder_is_visible_when_all_of_it_is_complete() {
        let store = store();
        let prefix = Path::from("table");
        let open = |append| {
            StoreFolder::within(Arc::clone(&store), prefix.clone(), "memory:table/", append)
        };
        let mut folder = open(false).unwrap();
        for name in ["k=a%2Fb/part-0", "ä b=1/part-1"] {
            let mut out = folder.create(name).unwrap();
            assert_eq!(out.path().display().to_string(), format!("memory:table/{name}"));
            out.write_all(name.as_bytes()).unwrap();
            out.commit().unwrap();
            assert!(names(&store).is_empty());
        }
        folder.commit().unwrap();
        assert_eq!(names(&store), ["table/k=a%2Fb/part-0", "table/ä b=1/part-1"]);
        let error = open(false).err().unwrap().to_string();
        assert!(error.contains("memory:table/: there are objects"), "{error}");
        let mut more = open(true).unwrap();
        assert!(more.is_shared());
        more.create("part-2").unwrap().commit().unwrap();
        drop(more);
        assert_eq!(names(&store).len(), 2, "not committed");
    }
}
