// SPDX-License-Identifier: Apache-2.0
//! Files that are read whole: settings, tokens, keys, certificates, metadata of tables. The path of
//! one may name a device or a pipe without an end, so each has a maximum. Data is read in pieces by
//! `arrowsmith-source`, not here.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Maximum size of a file that a person wrote, and of keys and certificates, in bytes.
pub const WRITTEN_BYTES_MAX: u64 = 16 << 20;

/// The bytes of a file.
///
/// # Errors
/// Those of the file; [`io::ErrorKind::InvalidData`] for more than `most` bytes.
pub fn read(path: impl AsRef<Path>, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        let message = format!("more than {most} bytes: is this the file that was meant?");
        return Err(io::Error::new(io::ErrorKind::InvalidData, message));
    }
    Ok(bytes)
}

/// The text of a file that a person wrote.
///
/// # Errors
/// Those of [`read`], with [`WRITTEN_BYTES_MAX`]; [`io::ErrorKind::InvalidData`] for text that is
/// not UTF-8.
pub fn read_text(path: impl AsRef<Path>) -> io::Result<String> {
    let bytes = read(path, WRITTEN_BYTES_MAX)?;
    String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_large_is_refused() {
        let path = std::env::temp_dir().join(format!("arrowsmith-whole-{}", std::process::id()));
        std::fs::write(&path, "héllo").unwrap();
        assert_eq!(read(&path, 6).unwrap(), "héllo".as_bytes());
        assert_eq!(read(&path, 5).unwrap_err().kind(), io::ErrorKind::InvalidData);
        assert_eq!(read_text(&path).unwrap(), "héllo");
        std::fs::write(&path, b"\xff").unwrap();
        assert_eq!(read_text(&path).unwrap_err().kind(), io::ErrorKind::InvalidData);
        std::fs::remove_file(&path).unwrap();
        assert_eq!(read_text(&path).unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[cfg(unix)]
    #[test]
    fn a_device_without_an_end_is_refused() {
        let error = read_text("/dev/zero").unwrap_err();
        assert!(error.to_string().starts_with("more than 16777216 bytes"), "{error}");
    }
}
