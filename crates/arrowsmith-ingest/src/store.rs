// SPDX-License-Identifier: Apache-2.0
//! The stores above a directory: the system's, and in tests one that fails. Nothing here decides
//! what is stored, or how often it is tried.

use std::fmt;
use std::io::{self, Read};
use std::sync::Arc;

/// Stores that several hold.
pub(crate) type SharedStores = Arc<dyn Stores>;

/// Objects below prefixes of stores.
pub(crate) trait Stores: fmt::Debug + Send + Sync {
    /// Stores an object in place of one of this name. After an error it is there or not, but never
    /// in part. Must not be called inside an async runtime.
    fn put(&self, prefix: &str, name: &str, from: &mut dyn Read) -> io::Result<()>;
}

/// Checks the URL of a prefix, without a request.
pub(crate) fn check(url: &str) -> Result<(), String> {
    let scheme = url.split_once("://").map_or("", |(scheme, _)| scheme).to_ascii_lowercase();
    if matches!(scheme.as_str(), "http" | "https") {
        return Err(format!("{url}: a store is s3://, gs:// or az://, not a web server"));
    }
    check_store(url)
}

#[cfg(not(feature = "store"))]
const LACKS_STORE: &str =
    "this build has no `store`: build the command with `--features store` (or `full`)";

#[cfg(not(feature = "store"))]
fn check_store(url: &str) -> Result<(), String> {
    Err(format!("{url}: {LACKS_STORE}"))
}

#[cfg(feature = "store")]
fn check_store(url: &str) -> Result<(), String> {
    system::open(url).map(drop).map_err(|error| error.to_string())
}

/// The stores that there are.
pub(crate) fn system() -> SharedStores {
    Arc::new(System::default())
}

#[cfg(feature = "store")]
use self::system::System;

#[cfg(feature = "store")]
mod system {
    use std::collections::HashMap;
    use std::sync::{Mutex, PoisonError};

    use arrowsmith::store::{Prefix, StoreOptions};
    use arrowsmith_core::{Error, Result};

    use super::{Arc, Read, Stores, fmt, io};

    /// The prefix of a URL, with the settings of the environment.
    pub(super) fn open(url: &str) -> Result<Prefix> {
        Prefix::new(url, &StoreOptions::default())
    }

    /// Stores by URL, each with its connections.
    #[derive(Default)]
    pub(crate) struct System(Mutex<HashMap<String, Arc<Prefix>>>);

    impl fmt::Debug for System {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("System")
        }
    }

    impl System {
        fn prefix(&self, url: &str) -> Result<Arc<Prefix>> {
            let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(prefix) = known.get(url) {
                return Ok(Arc::clone(prefix));
            }
            let prefix = Arc::new(open(url)?);
            known.insert(url.to_owned(), Arc::clone(&prefix));
            Ok(prefix)
        }
    }

    impl Stores for System {
        fn put(&self, prefix: &str, name: &str, from: &mut dyn Read) -> io::Result<()> {
            let mut put = || -> Result<()> {
                let mut object = self.prefix(prefix)?.replace(name)?;
                io::copy(from, &mut object).map_err(|error| object.error(error))?;
                object.commit().map(drop)
            };
            put().map_err(|error| match error {
                // With the name of the object.
                Error::Io { ref source, .. } => io::Error::new(source.kind(), error.to_string()),
                other => io::Error::other(other),
            })
        }
    }
}

/// Stores of a build without them.
#[cfg(not(feature = "store"))]
#[derive(Debug, Default)]
struct System {}

#[cfg(not(feature = "store"))]
impl Stores for System {
    fn put(&self, _prefix: &str, _name: &str, _from: &mut dyn Read) -> io::Result<()> {
        Err(io::Error::new(io::ErrorKind::Unsupported, LACKS_STORE))
    }
}
