// SPDX-License-Identifier: Apache-2.0
//! File operations that differ by system: the identity of a file, whether it still has a name, and
//! how it is truncated.

use std::fs::{File, Metadata};
use std::io;
use std::path::Path;

/// Identity of a file under any name: its device and its inode number.
#[cfg(unix)]
pub(crate) fn identity(_path: &Path, meta: &Metadata) -> io::Result<String> {
    use std::os::unix::fs::MetadataExt;
    Ok(format!("{}:{}", meta.dev(), meta.ino()))
}

/// Identity of a file under any name: its volume and its file index, which NTFS does not reuse.
#[cfg(windows)]
pub(crate) fn identity(path: &Path, _meta: &Metadata) -> io::Result<String> {
    let known = winapi_util::file::information(&File::open(path)?)?;
    Ok(format!("{}:{}", known.volume_serial_number(), known.file_index()))
}

/// An error if an open file has no name any more: what is written to it is lost when it is closed.
#[cfg(unix)]
pub(crate) fn check_name(file: &File) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt;
    match file.metadata()?.nlink() {
        0 => Err(io::Error::new(io::ErrorKind::NotFound, "the file was removed while it was open")),
        _ => Ok(()),
    }
}

/// An error if an open file has no name any more. Windows does not say so.
#[cfg(windows)]
pub(crate) fn check_name(_file: &File) -> io::Result<()> {
    Ok(())
}

/// Truncates a file that is open for appending to its first `bytes`.
#[cfg(unix)]
pub(crate) fn cut(file: &File, _path: &Path, bytes: u64) -> io::Result<()> {
    file.set_len(bytes)
}

/// Truncates a file that is open for appending to its first `bytes`. On Windows that access does
/// not include truncation.
#[cfg(windows)]
pub(crate) fn cut(_file: &File, path: &Path, bytes: u64) -> io::Result<()> {
    File::options().write(true).open(path)?.set_len(bytes)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;

    use super::*;

    #[test]
    fn a_file_is_known_under_another_name_and_two_are_not_one() {
        let folder = tempfile::tempdir().unwrap();
        let (a, b) = (folder.path().join("a"), folder.path().join("b"));
        let known = |path: &Path| identity(path, &fs::metadata(path).unwrap()).unwrap();
        fs::write(&a, "1").unwrap();
        let first = known(&a);
        let mut open = File::options().append(true).open(&a).unwrap();
        fs::rename(&a, &b).unwrap();
        open.write_all(b"2").unwrap();
        fs::write(&a, "1").unwrap();
        assert_eq!(known(&b), first);
        assert_ne!(known(&a), first);
    }

    #[test]
    fn what_was_appended_is_taken_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let mut file = File::options().create_new(true).append(true).open(&path).unwrap();
        file.write_all(b"whole\nha").unwrap();
        cut(&file, &path, 6).unwrap();
        file.write_all(b"next\n").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"whole\nnext\n");
    }
}
