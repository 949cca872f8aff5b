// SPDX-License-Identifier: Apache-2.0
//! [`Prefix`]: the objects below a prefix, one at a time and whole: small ones, such as the logs of
//! tables, and files that are complete elsewhere.

use std::io;
use std::sync::Arc;

use arrowsmith_core::sink::Output;
use arrowsmith_core::{Error, Result};
use bytes::Bytes;
use futures_util::TryStreamExt;
use object_store::path::Path;
use object_store::{ObjectMeta, ObjectStore, ObjectStoreExt, PutMode, PutPayload};

use super::failure::io_error;
use super::object::runtime;
use super::options::StoreOptions;
use super::upload::output;
use super::url::open;

/// The objects below a prefix of a store. Its methods must not be called inside an async runtime.
pub struct Prefix {
    store: Arc<dyn ObjectStore>,
    prefix: Path,
    name: String,
}

impl Prefix {
    /// The prefix of a URL.
    ///
    /// # Errors
    /// [`Error::Io`] for a URL that no store supports.
    pub fn new(url: &str, options: &StoreOptions) -> Result<Self> {
        let (store, prefix) = open(url, options)?;
        Ok(Self::within(store, prefix, url))
    }

    /// [`Prefix::new`] in any store; `name` is the name of the prefix in errors.
    pub fn within(store: Arc<dyn ObjectStore>, prefix: Path, name: &str) -> Self {
        Self { store, prefix, name: name.trim_end_matches('/').to_owned() }
    }

    /// Its URL, in which nothing is escaped: as tables name their files.
    pub fn location(&self) -> String {
        crate::dataset::unescaped(&self.name)
    }

    /// The names of the objects directly below a folder, without those of deeper ones.
    ///
    /// # Errors
    /// [`Error::Io`] if the store cannot be reached.
    pub fn list(&self, folder: &str) -> Result<Vec<String>> {
        let at = self.path(folder)?;
        let listed = runtime().and_then(|runtime| {
            let list = self.store.list(Some(&at)).try_collect::<Vec<ObjectMeta>>();
            runtime.block_on(list).map_err(io_error)
        });
        let listed = listed.map_err(|error| self.failed(folder, error))?;
        let names = listed.iter().filter_map(|meta| {
            let mut below = meta.location.prefix_match(&at)?;
            let name = below.next()?.as_ref().to_owned();
            below.next().is_none().then_some(name)
        });
        Ok(names.collect())
    }

    /// An object of at most `most` bytes.
    ///
    /// # Errors
    /// [`Error::Io`] if there is none, it is larger, or the store cannot be reached.
    pub fn read(&self, name: &str, most: u64) -> Result<Bytes> {
        let path = self.path(name)?;
        let read = runtime().and_then(|runtime| {
            runtime.block_on(async {
                let found = self.store.get(&path).await.map_err(io_error)?;
                if found.meta.size > most {
                    let message = format!("an object with more than {most} bytes");
                    return Err(io::Error::new(io::ErrorKind::InvalidData, message));
                }
                found.bytes().await.map_err(io_error)
            })
        });
        read.map_err(|error| self.failed(name, error))
    }

    /// Creates an object unless there is one of this name; returns whether it did.
    ///
    /// # Errors
    /// [`Error::Io`] if the store cannot be reached, or cannot create without replacing. The object
    /// may exist after an error.
    pub fn create(&self, name: &str, bytes: &[u8]) -> Result<bool> {
        let path = self.path(name)?;
        let payload = PutPayload::from(Bytes::copy_from_slice(bytes));
        let put = runtime().and_then(|runtime| {
            match runtime.block_on(self.store.put_opts(&path, payload, PutMode::Create.into())) {
                Err(object_store::Error::AlreadyExists { .. }) => Ok(false),
                put => put.map(|_| true).map_err(io_error),
            }
        });
        put.map_err(|error| self.failed(name, error))
    }

    /// An object that is written, in parts if it is large, and takes the place of one of this name
    /// when it is committed.
    ///
    /// # Errors
    /// [`Error::Io`] for a name that no object can have.
    pub fn replace(&self, name: &str) -> Result<Output> {
        let path = self.path(name)?;
        Ok(output(Arc::clone(&self.store), path, &format!("{}/{name}", self.name)))
    }

    /// Deletes an object, if that is possible.
    pub fn delete(&self, name: &str) {
        if let (Ok(path), Ok(runtime)) = (self.path(name), runtime()) {
            let _ = runtime.block_on(self.store.delete(&path));
        }
    }

    /// The path of a name below the prefix: as it is, what is escaped in it stays.
    fn path(&self, name: &str) -> Result<Path> {
        let path = Path::parse(format!("{}/{name}", self.prefix));
        path.map_err(|error| self.failed(name, io::Error::other(error)))
    }

    fn failed(&self, name: &str, error: io::Error) -> Error {
        Error::io(format!("{}/{name}", self.name), error)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use object_store::memory::InMemory;

    #[test]
    fn an_object_is_created_once() {
        let store = Arc::new(InMemory::new());
        let prefix = Prefix::within(store, Path::from("t"), "memory:t/");
        assert!(prefix.list("log").unwrap().is_empty());
        assert!(prefix.create("log/0", b"first").unwrap());
        assert!(!prefix.create("log/0", b"second").unwrap());
        assert!(prefix.create("log/below/1", b"other").unwrap());
        assert_eq!(prefix.list("log").unwrap(), ["0"]);
        assert_eq!(prefix.read("log/0", 5).unwrap(), "first");
        let error = prefix.read("log/0", 4).unwrap_err().to_string();
        assert!(error.starts_with("memory:t/log/0: an object with more"), "{error}");
        let mut object = prefix.replace("k=a%2Fb/0").unwrap();
        object.write_all(b"once").unwrap();
        assert!(prefix.list("k=a%2Fb").unwrap().is_empty());
        object.commit().unwrap();
        prefix.replace("k=a%2Fb/0").unwrap().commit().unwrap();
        assert_eq!(prefix.read("k=a%2Fb/0", 5).unwrap(), "");
        assert!(prefix.replace("../0").is_err());
        prefix.delete("log/0");
        let Error::Io { source, .. } = prefix.read("log/0", 5).unwrap_err() else { panic!() };
        assert_eq!(source.kind(), io::ErrorKind::NotFound);
    }
}
