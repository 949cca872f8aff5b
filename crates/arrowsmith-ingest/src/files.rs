// SPDX-License-Identifier: Apache-2.0
//! File operations that differ by system: the identity of a file, whether it still has its name,
//! and how it is truncated.

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

/// An error if an open file is not the one at its path any more, after something was written to it:
/// it was removed, and what is written to it is lost when it is closed, or it was moved to another
/// folder.
#[cfg(unix)]
pub(crate) fn check_name(file: &File, path: &Path) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt;
    let gone = || io::Error::new(io::ErrorKind::NotFound, "the file was removed or moved");
    let named = std::fs::symlink_metadata(path).map_err(|_| gone())?;
    let open = file.metadata()?;
    let is_same = (named.dev(), named.ino()) == (open.dev(), open.ino());
    // Some network file systems give a file another number. A copy lacks what was just written.
    if is_same || named.len() == open.len() { Ok(()) } else { Err(gone()) }
}

/// An error if an open file is not the one at its path any more: Windows neither removes nor moves
/// files that are open.
#[cfg(windows)]
pub(crate) fn check_name(_file: &File, _path: &Path) -> io::Result<()> {
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
    #[cfg(unix)]
    fn a_file_without_its_name_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let (out, away) = (folder.path().join("out"), folder.path().join("away"));
        let path = out.join("a");
        fs::create_dir(&out).unwrap();
        let mut file = File::create(&path).unwrap();
        file.write_all(b"1").unwrap();
        check_name(&file, &path).unwrap();
        fs::rename(&out, &away).unwrap();
        assert_eq!(check_name(&file, &path).unwrap_err().kind(), io::ErrorKind::NotFound);
        fs::create_dir(&out).unwrap();
        fs::write(&path, "").unwrap();
        assert_eq!(check_name(&file, &path).unwrap_err().kind(), io::ErrorKind::NotFound);
        fs::remove_dir_all(&out).unwrap();
        fs::rename(&away, &out).unwrap();
        check_name(&file, &path).unwrap();
        fs::remove_file(&path).unwrap();
        assert_eq!(check_name(&file, &path).unwrap_err().kind(), io::ErrorKind::NotFound);
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
