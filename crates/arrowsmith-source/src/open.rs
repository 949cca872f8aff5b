// SPDX-License-Identifier: Apache-2.0
//! Inputs, and the sources that opening them gives.

use std::fmt;
use std::fs::{File, Metadata};
use std::io::{self, Cursor, Read, Seek};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrowsmith_core::{Error, Result};

use crate::compression::{Compression, MAGIC_BYTES};
use crate::file::FileMap;
use crate::range::{self, ByteRange};
use crate::ranged::{InOrder, Ranged};
use crate::read_ahead::ReadAhead;

/// Bytes in memory, shared by threads: a `Vec<u8>`, a mapped file, a buffer of another language.
pub type SharedBytes = Arc<dyn AsRef<[u8]> + Send + Sync>;

/// A source of bytes that is not opened yet.
pub enum Input {
    /// A file; a pipe or device is read as a stream.
    Path(PathBuf),
    /// Standard input.
    Stdin,
    /// Bytes in memory.
    Bytes {
        /// Its name in error positions.
        name: Option<Arc<str>>,
        /// The bytes.
        bytes: SharedBytes,
    },
    /// Anything that can be read.
    Reader {
        /// Its name in error positions.
        name: Option<Arc<str>>,
        /// The reader; it need not be buffered.
        reader: Box<dyn Read + Send>,
    },
    /// A remote object, which is read by ranges.
    Ranged {
        /// Its name in error positions.
        name: Option<Arc<str>>,
        /// The object.
        ranged: Arc<dyn Ranged>,
    },
}

impl Input {
    /// Bytes in memory, without a name.
    pub fn bytes(bytes: impl AsRef<[u8]> + Send + Sync + 'static) -> Self {
        Self::Bytes { name: None, bytes: Arc::new(bytes) }
    }

    /// A reader, without a name.
    pub fn reader(reader: impl Read + Send + 'static) -> Self {
        Self::Reader { name: None, reader: Box::new(reader) }
    }

    /// The name of this input in error positions: the path, `-`, or the given name.
    pub fn name(&self) -> Option<Arc<str>> {
        match self {
            Self::Path(path) => Some(Arc::from(path.to_string_lossy())),
            Self::Stdin => Some(Arc::from("-")),
            Self::Bytes { name, .. } | Self::Reader { name, .. } | Self::Ranged { name, .. } => {
                name.clone()
            }
        }
    }

    /// Stored size of the input, in bytes; `None` if it is not known beforehand.
    pub fn stored_bytes(&self) -> Option<u64> {
        match self {
            Self::Path(path) => {
                let metadata = path.metadata().ok()?;
                is_plain(&metadata).then_some(metadata.len())
            }
            Self::Bytes { bytes, .. } => Some((**bytes).as_ref().len() as u64),
            Self::Ranged { ranged, .. } => Some(ranged.bytes()),
            Self::Stdin | Self::Reader { .. } => None,
        }
    }

    /// A second handle to the same input, if it can be read twice: a regular file, memory, or a
    /// remote object.
    pub fn again(&self) -> Option<Self> {
        match self {
            Self::Path(path) => self.stored_bytes().map(|_| Self::Path(path.clone())),
            Self::Bytes { name, bytes } => {
                Some(Self::Bytes { name: name.clone(), bytes: Arc::clone(bytes) })
            }
            Self::Ranged { name, ranged } => {
                Some(Self::Ranged { name: name.clone(), ranged: Arc::clone(ranged) })
            }
            Self::Stdin | Self::Reader { .. } => None,
        }
    }

    /// Opens the input, and decompresses it.
    ///
    /// # Errors
    /// [`Error::Io`] names the file or input.
    pub fn open(self, options: &OpenOptions) -> Result<Source> {
        let name = self.name();
        let path = name.as_deref().map(PathBuf::from);
        if let Some(range) = options.range {
            let (content, offset) =
                self.open_range(range, options).map_err(|source| Error::Io { path, source })?;
            return Ok(Source { name, content, offset });
        }
        let content = match self {
            Self::Path(path) => open_path(&path, options),
            Self::Stdin => stream(Box::new(io::stdin()), options),
            Self::Bytes { bytes, .. } => open_bytes(bytes, options),
            Self::Reader { reader, .. } => stream(reader, options),
            Self::Ranged { ranged, .. } => stream(Box::new(InOrder::new(ranged)), options),
        };
        let content = content.map_err(|source| Error::Io { path, source })?;
        Ok(Source { name, content, offset: 0 })
    }

    /// The bytes of the input as a stream, decompressed. It is opened when it is first read, which
    /// may wait, as for the writer of a named pipe.
    pub fn stream(self, options: &OpenOptions) -> Box<dyn Read + Send> {
        Box::new(Unopened::Closed(Some(self), options.clone()))
    }

    /// The lines of a range, and the offset of the first of them.
    fn open_range(self, range: ByteRange, options: &OpenOptions) -> io::Result<(Content, u64)> {
        match self {
            Self::Path(path) => {
                let (mut file, metadata) = open_file(&path)?;
                let empty = metadata.is_file() && metadata.len() == 0;
                if !is_plain(&metadata) && !empty {
                    return Err(no_range("this is not a plain file"));
                }
                let head = read_head(&mut file)?;
                plain(effective(options.compression, &head))?;
                if options.map_files
                    && let Ok(part) = range::of_map(&file, range)
                {
                    return Ok(part);
                }
                let (Content::Stream(reader), offset) = range::of_file(file, range)? else {
                    return Err(no_range("this is not a plain file"));
                };
                let bytes_read = Arc::clone(&options.bytes_read);
                Ok((Content::Stream(Box::new(CountingReader { reader, bytes_read })), offset))
            }
            Self::Bytes { bytes, .. } => {
                plain(effective(options.compression, (*bytes).as_ref()))?;
                Ok(range::of_bytes(bytes, range))
            }
            Self::Stdin | Self::Reader { .. } => Err(no_range("this is a stream")),
            Self::Ranged { .. } => Err(no_range("this is a remote object")),
        }
    }
}

/// The reader of [`Input::stream`].
enum Unopened {
    Closed(Option<Input>, OpenOptions),
    Open(Box<dyn Read + Send>),
}

impl Read for Unopened {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Self::Closed(input, options) = self {
            let Some(input) = input.take() else { return Err(io::ErrorKind::NotFound.into()) };
            let source = input.open(options).map_err(|error| match error {
                Error::Io { source, .. } => source,
                other => io::Error::other(other),
            })?;
            *self = Self::Open(match source.content {
                Content::Whole(bytes) => Box::new(Cursor::new(Lent(bytes))),
                Content::Stream(reader) => reader,
            });
        }
        match self {
            Self::Open(reader) => reader.read(buffer),
            Self::Closed(..) => Ok(0),
        }
    }
}

/// The error for an input that cannot be read from the middle.
fn no_range(why: &str) -> io::Error {
    let message = format!("a byte range needs an uncompressed local file: {why}");
    io::Error::new(io::ErrorKind::InvalidInput, message)
}

/// Refuses compressed content, whose offsets are not those of the text.
fn plain(compression: Compression) -> io::Result<()> {
    match compression {
        Compression::None => Ok(()),
        _ => Err(no_range("this is compressed")),
    }
}

impl fmt::Debug for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(path) => f.debug_tuple("Path").field(path).finish(),
            Self::Stdin => f.write_str("Stdin"),
            Self::Bytes { name, .. } => f.debug_tuple("Bytes").field(name).finish(),
            Self::Reader { name, .. } => f.debug_tuple("Reader").field(name).finish(),
            Self::Ranged { name, .. } => f.debug_tuple("Ranged").field(name).finish(),
        }
    }
}

impl From<PathBuf> for Input {
    fn from(path: PathBuf) -> Self {
        Self::Path(path)
    }
}

impl From<&Path> for Input {
    fn from(path: &Path) -> Self {
        Self::Path(path.to_owned())
    }
}

/// How inputs are opened.
#[derive(Debug, Clone)]
pub struct OpenOptions {
    /// The compression, or [`Compression::Auto`] to detect it.
    pub compression: Compression,
    /// Whether plain files are mapped into memory (the default) or read as streams, for files that
    /// may be truncated meanwhile.
    pub map_files: bool,
    /// Maximum threads that decompress an input whose parts are compressed by themselves (BGZF);
    /// with 0, the default, one for each core, at most 8.
    pub threads: usize,
    /// Counts the stored bytes of streams as they are read. Whole content is not counted, as only
    /// its user knows the progress.
    pub bytes_read: Arc<AtomicU64>,
    /// Opens only the lines of this range: of plain files, and of bytes in memory. Others are an
    /// error.
    pub range: Option<ByteRange>,
}

impl Default for OpenOptions {
    fn default() -> Self {
        let (compression, map_files) = (Compression::Auto, true);
        Self { compression, map_files, threads: 0, bytes_read: Arc::default(), range: None }
    }
}

/// An opened input.
#[derive(Debug)]
pub struct Source {
    /// Its name in error positions.
    pub name: Option<Arc<str>>,
    /// Its bytes, decompressed.
    pub content: Content,
    /// Offset of its first byte in the input, after decompression: 0, unless only a range was
    /// opened.
    pub offset: u64,
}

/// The bytes of a source.
pub enum Content {
    /// All of them, mapped or in memory.
    Whole(SharedBytes),
    /// A stream of bytes.
    Stream(Box<dyn Read + Send>),
}

impl fmt::Debug for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole(bytes) => write!(f, "Whole({} bytes)", (**bytes).as_ref().len()),
            Self::Stream(_) => f.write_str("Stream"),
        }
    }
}

/// Whether the length of a file can be trusted: files in `/proc` report 0 and are not empty.
fn is_plain(metadata: &Metadata) -> bool {
    metadata.is_file() && metadata.len() > 0
}

fn open_file(path: &Path) -> io::Result<(File, Metadata)> {
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    if metadata.is_dir() {
        return Err(io::Error::new(io::ErrorKind::IsADirectory, "is a directory"));
    }
    Ok((file, metadata))
}

fn open_path(path: &Path, options: &OpenOptions) -> io::Result<Content> {
    let (mut file, metadata) = open_file(path)?;
    if is_plain(&metadata) {
        let head = read_head(&mut file)?;
        file.rewind()?;
        let plain = effective(options.compression, &head) == Compression::None;
        if plain && options.map_files {
            // Files on a file system without mapping can still be read.
            if let Ok(map) = FileMap::open(&file) {
                return Ok(Content::Whole(Arc::new(map)));
            }
        }
    }
    stream(Box::new(file), options)
}

fn open_bytes(bytes: SharedBytes, options: &OpenOptions) -> io::Result<Content> {
    let compression = effective(options.compression, (*bytes).as_ref());
    if compression == Compression::None {
        return Ok(Content::Whole(bytes));
    }
    stream(Box::new(Cursor::new(Lent(bytes))), options)
}

/// Shared bytes, as `AsRef` for a `Cursor`.
struct Lent(SharedBytes);

impl AsRef<[u8]> for Lent {
    fn as_ref(&self) -> &[u8] {
        (*self.0).as_ref()
    }
}

fn stream(reader: Box<dyn Read + Send>, options: &OpenOptions) -> io::Result<Content> {
    let mut reader = CountingReader { reader, bytes_read: Arc::clone(&options.bytes_read) };
    let head = match options.compression {
        Compression::Auto => read_head(&mut reader)?,
        _ => Vec::new(),
    };
    let compression = effective(options.compression, &head);
    let reader = Cursor::new(head).chain(reader);
    if compression == Compression::None {
        return Ok(Content::Stream(Box::new(reader)));
    }
    let reader = ReadAhead::new(compression.decoder(reader, options.threads)?)?;
    Ok(Content::Stream(Box::new(reader)))
}

fn effective(asked: Compression, head: &[u8]) -> Compression {
    match asked {
        Compression::Auto => Compression::of_magic(head),
        given => given,
    }
}

/// The first [`MAGIC_BYTES`] bytes; fewer if the input is shorter.
fn read_head(reader: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut head = Vec::with_capacity(MAGIC_BYTES);
    reader.take(MAGIC_BYTES as u64).read_to_end(&mut head)?;
    Ok(head)
}

/// Counts the bytes read, for progress.
struct CountingReader {
    reader: Box<dyn Read + Send>,
    bytes_read: Arc<AtomicU64>,
}

impl Read for CountingReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(buffer)?;
        self.bytes_read.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}
