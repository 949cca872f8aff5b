// SPDX-License-Identifier: Apache-2.0
//! [`Output`]: a file that appears under its name only when it is complete, standard output, or an
//! [`Upload`].
//!
//! The bytes go to a temporary name in the same folder, which `commit` renames; a drop before that
//! removes it. A reader therefore sees the previous file or the new one, never a partial one. A
//! pipe or device cannot be replaced by a rename and is written directly.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, IntoInnerError, Write};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::{Error, Result};

/// Size of the write buffer. Larger writes (the buffers of a column) bypass it.
const BUFFER_BYTES: usize = 1 << 20;

/// Maximum number of temporary names to try.
const NAME_TRIES_MAX: u32 = 1000;

/// A destination for bytes: a file that is replaced atomically, or standard output.
///
/// ```
/// use std::io::Write;
/// use arrowsmith_core::sink::Output;
///
/// let folder = std::env::temp_dir();
/// let path = folder.join(format!("output-doctest-{}", std::process::id()));
/// let mut output = Output::create(&path)?;
/// output.write_all(b"all of it")?;
/// assert!(!path.exists());
/// assert_eq!(output.commit()?, 9);
/// assert_eq!(std::fs::read(&path)?, b"all of it");
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Output {
    writer: Writer,
    /// The requested path, for errors.
    path: PathBuf,
    /// The temporary file, until it has its name.
    temporary: Option<Temporary>,
    bytes: u64,
    fsync: bool,
}

enum Writer {
    File(BufWriter<File>),
    Upload(Box<dyn Upload>),
}

/// A destination outside of the file system, such as an object in a store. Its bytes become visible
/// all at once, by [`Upload::commit`]; dropped before that, they are discarded.
pub trait Upload: Write + Send {
    /// Makes the bytes visible under their name.
    ///
    /// # Errors
    /// Those of the destination; then nothing is visible.
    fn commit(self: Box<Self>) -> io::Result<()>;
}

impl fmt::Debug for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Output").field("path", &self.path).field("bytes", &self.bytes).finish()
    }
}

/// A file under a temporary name; dropping it removes the file.
#[derive(Debug)]
struct Temporary {
    path: PathBuf,
    /// The final name: the requested path, with symbolic links followed.
    destination: PathBuf,
    renamed: bool,
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.renamed {
            // A failure cannot be reported here; the name shows that the file is temporary.
            let _ = fs::remove_file(&self.path);
        }
    }
}

impl Temporary {
    /// Gives the file its name.
    fn commit(&mut self, mut file: BufWriter<File>, fsync: bool) -> io::Result<()> {
        file.flush()?;
        if fsync {
            file.get_ref().sync_all()?;
        }
        fs::rename(&self.path, &self.destination)?;
        self.renamed = true;
        if fsync { sync_folder(folder_of(&self.destination)) } else { Ok(()) }
    }
}

impl Output {
    /// Opens `path` for writing; `-` is standard output. An existing file is unchanged until
    /// [`Output::commit`], which gives its permissions to the new one.
    ///
    /// # Errors
    /// [`Error::Io`] if the folder does not exist or is not writable, or `path` is a folder.
    pub fn create(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        if path == Path::new("-") {
            let file = stdout_file().map_err(|error| Error::io(path, error))?;
            return Ok(Self::new(file, path, None));
        }
        let existing = fs::metadata(path).ok();
        match existing {
            Some(meta) if meta.is_dir() => {
                Err(Error::io(path, io::Error::from(io::ErrorKind::IsADirectory)))
            }
            Some(meta) if !meta.is_file() => {
                let file = OpenOptions::new().write(true).open(path);
                Ok(Self::new(file.map_err(|error| Error::io(path, error))?, path, None))
            }
            existing => {
                let permissions = existing.map(|meta| meta.permissions());
                Self::replace(path, permissions).map_err(|error| Error::io(path, error))
            }
        }
    }

    fn new(file: File, path: &Path, temporary: Option<Temporary>) -> Self {
        let writer = Writer::File(BufWriter::with_capacity(BUFFER_BYTES, file));
        Self { writer, path: path.to_owned(), temporary, bytes: 0, fsync: false }
    }

    /// A destination outside of the file system; `name` is its name in errors.
    pub fn upload(name: impl Into<PathBuf>, upload: Box<dyn Upload>) -> Self {
        let writer = Writer::Upload(upload);
        Self { writer, path: name.into(), temporary: None, bytes: 0, fsync: false }
    }

    fn replace(path: &Path, permissions: Option<fs::Permissions>) -> io::Result<Self> {
        let destination = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        if destination.file_name().is_none() {
            return Err(io::Error::from(io::ErrorKind::InvalidFilename));
        }
        let (file, temporary) = create_temporary(folder_of(&destination))?;
        let temporary = Temporary { path: temporary, destination, renamed: false };
        if let Some(permissions) = permissions {
            file.set_permissions(permissions)?;
        }
        Ok(Self::new(file, path, Some(temporary)))
    }

    /// With `true`, [`Output::commit`] syncs the bytes and the name to disk before it returns, so
    /// that they survive a power failure. Off by default, because it waits for the disk.
    #[must_use]
    pub fn with_fsync(mut self, fsync: bool) -> Self {
        self.fsync = fsync;
        self
    }

    /// The requested path, or `-`.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The number of bytes written so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The temporary path that is used until [`Output::commit`], if any: a signal handler that ends
    /// the process has to remove it.
    pub fn temporary_path(&self) -> Option<&Path> {
        self.temporary.as_ref().map(|temporary| temporary.path.as_path())
    }

    /// Starts a file again, under the same temporary name, and returns what has been written of it,
    /// to be read; `None` if there is no temporary name, and then nothing has changed.
    ///
    /// # Errors
    /// I/O errors of the system.
    pub fn start_again(&mut self) -> io::Result<Option<File>> {
        let (Writer::File(writer), Some(temporary)) = (&mut self.writer, &self.temporary) else {
            return Ok(None);
        };
        writer.flush()?;
        let written = File::open(&temporary.path)?;
        fs::remove_file(&temporary.path)?;
        let file = OpenOptions::new().write(true).create_new(true).open(&temporary.path)?;
        file.set_permissions(written.metadata()?.permissions())?;
        *writer = BufWriter::with_capacity(BUFFER_BYTES, file);
        self.bytes = 0;
        Ok(Some(written))
    }

    /// Flushes the buffer and gives the file its name. Returns its length in bytes.
    ///
    /// # Errors
    /// [`Error::Io`]; the new file is then removed, and an existing one is unchanged.
    pub fn commit(mut self) -> Result<u64> {
        let committed = match self.writer {
            Writer::Upload(upload) => upload.commit(),
            Writer::File(file) => match &mut self.temporary {
                Some(temporary) => temporary.commit(file, self.fsync),
                None => file.into_inner().map(drop).map_err(IntoInnerError::into_error),
            },
        };
        committed.map_err(|error| Error::io(&self.path, error))?;
        Ok(self.bytes)
    }

    /// An error that names this file.
    pub fn error(&self, source: io::Error) -> Error {
        Error::io(&self.path, source)
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = match &mut self.writer {
            Writer::File(file) => file.write(bytes)?,
            Writer::Upload(upload) => upload.write(bytes)?,
        };
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.writer {
            Writer::File(file) => file.flush(),
            Writer::Upload(upload) => upload.flush(),
        }
    }
}

/// Creates a file in `folder` under an unused name.
fn create_temporary(folder: &Path) -> io::Result<(File, PathBuf)> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    for _ in 0..NAME_TRIES_MAX {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = folder.join(format!(".arrowsmith-{}-{number}.tmp", process::id()));
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
            Ok(file) => return Ok((file, path)),
        }
    }
    Err(io::Error::from(io::ErrorKind::AlreadyExists))
}

/// Standard output as a file: Rust's `Stdout` searches all bytes for line ends.
#[cfg(unix)]
fn stdout_file() -> io::Result<File> {
    use std::os::fd::AsFd;
    Ok(File::from(io::stdout().as_fd().try_clone_to_owned()?))
}

#[cfg(windows)]
fn stdout_file() -> io::Result<File> {
    use std::os::windows::io::AsHandle;
    Ok(File::from(io::stdout().as_handle().try_clone_to_owned()?))
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Syncs a folder to disk, so that files created or renamed in it survive a power failure. Does
/// nothing on Windows, which has no call for it and whose file system journals names.
///
/// # Errors
/// I/O errors of the system.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A temporary folder, removed with its contents.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path =
                std::env::temp_dir().join(format!("arrowsmith-output-{name}-{}", process::id()));
            fs::create_dir_all(&path).unwrap();
            Self(path)
        }

        fn names(&self) -> Vec<String> {
            let entries = fs::read_dir(&self.0).unwrap();
            let mut names: Vec<String> =
                entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
            names.sort();
            names
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            fs::remove_dir_all(&self.0).unwrap();
        }
    }

    #[test]
    fn the_name_appears_with_the_whole_content() {
        let folder = Folder::new("commit");
        let path = folder.0.join("out");
        fs::write(&path, "before").unwrap();
        for fsync in [false, true] {
            let mut output = Output::create(&path).unwrap().with_fsync(fsync);
            output.write_all(&[7; 3 << 20]).unwrap();
            output.write_all(b"end").unwrap();
            assert_eq!(folder.names().len(), 2);
            if !fsync {
                assert_eq!(fs::read(&path).unwrap(), b"before");
            }
            assert_eq!(output.commit().unwrap(), (3 << 20) + 3);
            assert_eq!(folder.names(), ["out"]);
            assert!(fs::read(&path).unwrap().ends_with(b"\x07end"));
        }
    }

    #[test]
    fn a_drop_leaves_what_was_there() {
        let folder = Folder::new("drop");
        let path = folder.0.join("out");
        let mut output = Output::create(&path).unwrap();
        output.write_all(b"half").unwrap();
        assert!(output.temporary_path().unwrap().exists());
        drop(output);
        assert!(folder.names().is_empty());
        fs::write(&path, "before").unwrap();
        drop(Output::create(&path).unwrap());
        assert_eq!(fs::read(&path).unwrap(), b"before");
        assert_eq!(folder.names(), ["out"]);
    }

    #[test]
    fn what_was_written_can_be_read_and_written_again() {
        let folder = Folder::new("again");
        let path = folder.0.join("out");
        let mut output = Output::create(&path).unwrap();
        output.write_all(&[7; 3 << 20]).unwrap();
        output.write_all(b"first").unwrap();
        let temporary = output.temporary_path().unwrap().to_owned();
        let mut written = output.start_again().unwrap().unwrap();
        assert_eq!((output.temporary_path(), output.bytes()), (Some(&*temporary), 0));
        output.write_all(b"second").unwrap();
        let mut first = Vec::new();
        io::Read::read_to_end(&mut written, &mut first).unwrap();
        assert!(first.len() == (3 << 20) + 5 && first.ends_with(b"\x07first"));
        assert_eq!(output.commit().unwrap(), 6);
        assert_eq!(fs::read(&path).unwrap(), b"second");
        assert_eq!(folder.names(), ["out"]);
    }

    #[test]
    fn what_cannot_be_written_is_named() {
        let folder = Folder::new("error");
        let missing = folder.0.join("no/such/folder");
        let message = Output::create(&missing).unwrap_err().to_string();
        assert!(message.starts_with(missing.to_str().unwrap()), "{message}");
        assert!(Output::create(&folder.0).is_err(), "a folder is not a file");
    }

    #[cfg(unix)]
    #[test]
    fn links_devices_and_permissions_are_kept() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = Folder::new("unix");
        let (target, link) = (folder.0.join("target"), folder.0.join("link"));
        fs::write(&target, "before").unwrap();
        fs::set_permissions(&target, fs::Permissions::from_mode(0o640)).unwrap();
        symlink("target", &link).unwrap();
        let mut output = Output::create(&link).unwrap();
        output.write_all(b"after").unwrap();
        output.commit().unwrap();
        assert!(link.is_symlink());
        assert_eq!(fs::read(&target).unwrap(), b"after");
        assert_eq!(fs::metadata(&target).unwrap().permissions().mode() & 0o777, 0o640);

        let mut null = Output::create("/dev/null").unwrap();
        assert_eq!(null.temporary_path(), None);
        assert!(null.start_again().unwrap().is_none());
        null.write_all(b"gone").unwrap();
        assert_eq!(null.commit().unwrap(), 4);
    }
}
