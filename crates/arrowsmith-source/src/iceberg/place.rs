// SPDX-License-Identifier: Apache-2.0
//! [`Place`]: where the metadata of a table is: the file system, or a store.

use std::fs;
use std::io;
use std::path::PathBuf;

use arrowsmith_core::{Error, Result, whole};

use crate::Input;

/// Files by their locations, as tables name them: paths, or URLs.
pub trait Place: Send + Sync {
    /// The names of the files in a folder; none if there is no such folder.
    ///
    /// # Errors
    /// [`Error::Io`] names the folder.
    fn list(&self, folder: &str) -> Result<Vec<String>>;

    /// A file of at most `most` bytes.
    ///
    /// # Errors
    /// [`Error::Io`] names the file; of kind [`io::ErrorKind::NotFound`] if there is none.
    fn read(&self, location: &str, most: u64) -> Result<Vec<u8>>;

    /// A file that is read later.
    ///
    /// # Errors
    /// [`Error::Io`] for a location that this place does not have.
    fn input(&self, location: &str) -> Result<Input>;
}

/// The file system: paths, and URLs of the scheme `file`.
#[derive(Debug, Clone, Copy, Default)]
pub struct LocalPlace;

impl LocalPlace {
    fn path(location: &str) -> Result<PathBuf> {
        if let Some(rest) = location.strip_prefix("file:") {
            // `file:/a`, `file:///a` and `file://localhost/a` are one path.
            let rest = rest
                .strip_prefix("//")
                .map_or(rest, |rest| rest.strip_prefix("localhost").unwrap_or(rest));
            return Ok(PathBuf::from(rest));
        }
        if location.contains("://") {
            let error = io::Error::new(
                io::ErrorKind::Unsupported,
                "a table of the file system with a file elsewhere, which is not supported",
            );
            return Err(Error::io(location, error));
        }
        Ok(PathBuf::from(location))
    }
}

impl Place for LocalPlace {
    fn list(&self, folder: &str) -> Result<Vec<String>> {
        let path = Self::path(folder)?;
        let entries = match fs::read_dir(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(|error| Error::io(&path, error))?,
        };
        let names = entries.map(|entry| Ok(entry?.file_name().into_string().unwrap_or_default()));
        names.collect::<io::Result<_>>().map_err(|error| Error::io(&path, error))
    }

    fn read(&self, location: &str, most: u64) -> Result<Vec<u8>> {
        let path = Self::path(location)?;
        whole::read(&path, most).map_err(|error| Error::io(&path, error))
    }

    fn input(&self, location: &str) -> Result<Input> {
        Ok(Input::Path(Self::path(location)?))
    }
}

/// Stores, by URL.
#[cfg(feature = "store")]
#[derive(Debug, Clone, Default)]
pub struct StorePlace {
    options: crate::store::StoreOptions,
}

#[cfg(feature = "store")]
impl StorePlace {
    /// Stores with these options.
    #[must_use]
    pub fn new(options: crate::store::StoreOptions) -> Self {
        Self { options }
    }

    /// The location that a URL names, in which characters may be escaped.
    #[must_use]
    pub fn location(url: &str) -> String {
        crate::dataset::unescaped(url)
    }
}

#[cfg(feature = "store")]
impl Place for StorePlace {
    fn list(&self, folder: &str) -> Result<Vec<String>> {
        crate::store::Prefix::new(&url(folder), &self.options)?.list("")
    }

    fn read(&self, location: &str, most: u64) -> Result<Vec<u8>> {
        let path = std::path::Path::new(location);
        let Input::Ranged { ranged, .. } = self.input(location)? else {
            let error = io::Error::new(io::ErrorKind::Unsupported, "not read in parts");
            return Err(Error::io(path, error));
        };
        let len = ranged.bytes();
        if len > most {
            let message = format!("a file of a table's metadata with more than {most} bytes");
            return Err(Error::io(path, io::Error::new(io::ErrorKind::InvalidData, message)));
        }
        let whole = 0..len;
        let read = ranged.read(&[whole]).map_err(|error| Error::io(path, error))?;
        Ok(read.concat())
    }

    fn input(&self, location: &str) -> Result<Input> {
        let found = crate::store::expand_url_with(&url(location), &[], &self.options)?.pop();
        let missing = || io::Error::new(io::ErrorKind::NotFound, "there is no such object");
        Ok(found.ok_or_else(|| Error::io(location, missing()))?.input)
    }
}

/// The URL of a location: tables name objects by their keys, in which nothing is escaped.
#[cfg(feature = "store")]
fn url(location: &str) -> String {
    use std::fmt::Write;

    let (scheme, rest) = location.split_once("://").unwrap_or(("file", location));
    let mut url = format!("{scheme}://");
    for byte in rest.bytes() {
        match byte {
            b'A'..=b'Z'
            | b'a'..=b'z'
            | b'0'..=b'9'
            | b'/'
            | b'-'
            | b'_'
            | b'.'
            | b'~'
            | b'='
            | b':'
            | b'@'
            | b'+'
            | b',' => url.push(char::from(byte)),
            // Writing to a string cannot fail.
            byte => drop(write!(url, "%{byte:02X}")),
        }
    }
    url
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn locations_are_paths_or_urls_of_files() {
        for location in ["/a b/c%20d", "file:/a b/c%20d", "file:///a b/c%20d"] {
            assert_eq!(LocalPlace::path(location).unwrap(), Path::new("/a b/c%20d"));
        }
        assert_eq!(LocalPlace::path("file://localhost/a").unwrap(), Path::new("/a"));
        LocalPlace::path("s3://b/a").unwrap_err();
    }

    #[cfg(feature = "store")]
    #[test]
    fn keys_are_escaped_in_urls() {
        assert_eq!(url("s3a://b/a b/x=%20/ü"), "s3a://b/a%20b/x=%2520/%C3%BC");
    }
}
