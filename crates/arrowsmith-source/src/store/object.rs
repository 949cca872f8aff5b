// SPDX-License-Identifier: Apache-2.0
//! One object, or all below a prefix, in any store.

use std::io::{self, Read};
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use arrowsmith_core::{Error, Result};
use bytes::Bytes;
use futures_util::stream::BoxStream;
use futures_util::{StreamExt, TryStreamExt};
use object_store::path::Path;
use object_store::{
    GetOptions, OBJECT_STORE_COALESCE_DEFAULT, ObjectMeta, ObjectStore, ObjectStoreExt,
    coalesce_ranges,
};
use tokio::runtime::{Builder, Runtime};

use super::failure::io_error;
use crate::dataset::{ends_in, nothing_in};
use crate::{DataFile, Input, Ranged, partitions_of};

/// Threads of the runtime that waits for responses; decoding has its own threads.
const THREADS: usize = 2;

/// The runtime of all requests of the process.
pub(super) fn runtime() -> io::Result<&'static Runtime> {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    if let Some(runtime) = RUNTIME.get() {
        return Ok(runtime);
    }
    let made = Builder::new_multi_thread().worker_threads(THREADS).enable_all().build()?;
    Ok(RUNTIME.get_or_init(|| made))
}

/// An object whose ranges are fetched when they are read.
struct Object {
    store: Arc<dyn ObjectStore>,
    path: Path,
    bytes: u64,
}

impl Ranged for Object {
    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn read(&self, ranges: &[Range<u64>]) -> io::Result<Vec<Bytes>> {
        let fetch = |range| fetch(&*self.store, &self.path, range);
        runtime()?.block_on(coalesce_ranges(ranges, fetch, OBJECT_STORE_COALESCE_DEFAULT))
    }

    fn whole(&self) -> io::Result<Box<dyn Read + Send>> {
        let found = runtime()?.block_on(self.store.get(&self.path)).map_err(io_error)?;
        Ok(Box::new(Body::new(found.into_stream().map_err(io_error).boxed(), Some(self.bytes))))
    }
}

/// The bytes of a range: exactly as many as were requested, whatever the server sends.
async fn fetch(store: &dyn ObjectStore, path: &Path, range: Range<u64>) -> io::Result<Bytes> {
    let wrong = |what| io::Error::other(format!("the store returned {what} than requested"));
    let mut left = range.end.saturating_sub(range.start);
    let options = GetOptions::new().with_range(Some(range));
    let mut stream = store.get_opts(path, options).await.map_err(io_error)?.into_stream();
    let mut parts = Vec::new();
    while let Some(part) = stream.try_next().await.map_err(io_error)? {
        left = left.checked_sub(part.len() as u64).ok_or_else(|| wrong("more bytes"))?;
        parts.push(part);
    }
    match (left, parts.len()) {
        (0, 1) => Ok(parts.remove(0)),
        (0, _) => Ok(parts.concat().into()),
        _ => Err(wrong("fewer bytes")),
    }
}

/// The body of a response, read where no async runtime runs.
pub(super) struct Body {
    body: BoxStream<'static, io::Result<Bytes>>,
    piece: Bytes,
    /// Bytes that are to come; `None`: until the body ends.
    left: Option<u64>,
}

impl Body {
    pub(super) fn new(body: BoxStream<'static, io::Result<Bytes>>, left: Option<u64>) -> Self {
        Self { body, piece: Bytes::new(), left }
    }
}

impl Read for Body {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.piece.is_empty() {
            match runtime()?.block_on(self.body.next()) {
                Some(piece) => self.piece = piece?,
                None if self.left.is_none_or(|left| left == 0) => return Ok(0),
                None => return Err(io::ErrorKind::UnexpectedEof.into()),
            }
        }
        let count = self.piece.len().min(buffer.len());
        buffer[..count].copy_from_slice(&self.piece.split_to(count));
        if let Some(left) = &mut self.left {
            *left = left.checked_sub(count as u64).ok_or_else(|| {
                io::Error::other("the store returned more bytes than it announced")
            })?;
        }
        Ok(count)
    }
}

/// An object as an input; `name` is its name in errors. Requests its length. Must not be called
/// inside an async runtime, whose thread it would block.
///
/// # Errors
/// [`Error::Io`] if the store does not have it or cannot be reached.
pub fn object(store: Arc<dyn ObjectStore>, path: &Path, name: &str) -> Result<Input> {
    let asked = runtime().and_then(|runtime| runtime.block_on(store.head(path)).map_err(io_error));
    let meta = asked.map_err(|error| Error::io(name, error))?;
    Ok(input(&store, meta, name))
}

/// All objects below a prefix, at any depth, whose names end in one of `extensions`, sorted by
/// name. Names that start with `.` or `_` are skipped; folders `name=value` below the prefix give
/// partition values, as in [`crate::expand_dataset`]. `name` is the name of the prefix
/// in errors.
///
/// # Errors
/// [`Error::Io`] if the store cannot be reached, or has no such object.
pub fn objects(
    store: &Arc<dyn ObjectStore>,
    prefix: &Path,
    extensions: &[&str],
    name: &str,
) -> Result<Vec<DataFile>> {
    let listed = runtime().and_then(|runtime| {
        let list = store.list(Some(prefix)).try_collect::<Vec<ObjectMeta>>();
        runtime.block_on(list).map_err(io_error)
    });
    let mut listed = listed.map_err(|error| Error::io(name, error))?;
    listed.sort_by(|one, other| one.location.cmp(&other.location));
    let mut files = Vec::new();
    for meta in listed {
        let Some(below) = meta.location.prefix_match(prefix) else { continue };
        let parts: Vec<String> = below.map(|part| part.as_ref().to_owned()).collect();
        let hidden = parts.iter().any(|part| part.starts_with(['.', '_']));
        let known = parts.last().is_some_and(|name| ends_in(name, extensions));
        if hidden || !known {
            continue;
        }
        let folders = parts.iter().take(parts.len().saturating_sub(1));
        let partitions = partitions_of(folders.map(String::as_str));
        let name = format!("{}/{}", name.trim_end_matches('/'), parts.join("/"));
        files.push(DataFile { input: input(store, meta, &name), partitions, deleted: None });
    }
    if files.is_empty() {
        return Err(Error::io(name, nothing_in("object below this", extensions)));
    }
    Ok(files)
}

fn input(store: &Arc<dyn ObjectStore>, meta: ObjectMeta, name: &str) -> Input {
    let object = Object { store: Arc::clone(store), path: meta.location, bytes: meta.size };
    Input::Ranged { name: Some(name.into()), ranged: Arc::new(object) }
}
