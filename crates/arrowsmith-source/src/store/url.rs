// SPDX-License-Identifier: Apache-2.0
//! URLs to objects: the store, and the path in it.

use std::io;
use std::sync::Arc;

use arrowsmith_core::{Error, Result};
use object_store::path::Path;
use object_store::{ObjectStore, parse_url_opts};
use url::Url;

use super::failure::told;
use super::object::{object, objects};
use crate::DataFile;

/// Schemes of stores, as users write them.
const SCHEMES: &[&str] =
    &["s3", "s3a", "gs", "az", "adl", "azure", "abfs", "abfss", "http", "https"];

/// Whether a text is the URL of an object or a prefix, not a path.
pub fn is_url(text: &str) -> bool {
    let scheme = text.split_once("://").map(|(scheme, _)| scheme.to_ascii_lowercase());
    scheme.is_some_and(|scheme| SCHEMES.contains(&scheme.as_str()))
}

/// The objects that a URL names: one, or, if it ends in `/`, all below it; see [`objects`].
///
/// # Errors
/// [`Error::Io`] for a URL that no store supports, and if the store cannot be reached or does not
/// have it.
pub fn expand_url(url: &str, extensions: &[&str]) -> Result<Vec<DataFile>> {
    let (store, path) = open(url)?;
    if url.ends_with('/') {
        return objects(&store, &path, extensions, url);
    }
    Ok(vec![object(store, &path, url)?.into()])
}

/// The store of a URL, and the path in it.
pub(super) fn open(url: &str) -> Result<(Arc<dyn ObjectStore>, Path)> {
    let refused = |error: object_store::Error| Error::io(url, told(error));
    let parsed = Url::parse(url).map_err(|error| Error::io(url, io::Error::other(error)))?;
    // A URL with http:// allows plain HTTP; for others ALLOW_HTTP or AWS_ALLOW_HTTP does.
    let plain = (parsed.scheme() == "http").then(|| ("allow_http".to_owned(), "true".to_owned()));
    let options = environment().chain(plain);
    super::install_tls();
    let (store, path) = parse_url_opts(&parsed, options).map_err(refused)?;
    Ok((Arc::from(store), path))
}

/// The environment variables of the stores' own tools. All others are ignored.
fn environment() -> impl Iterator<Item = (String, String)> {
    let known = |name: &str| {
        ["AWS_", "GOOGLE_", "AZURE_"].iter().any(|start| name.starts_with(start))
            || name == "ALLOW_HTTP"
    };
    let pairs = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    pairs
        .filter(move |(name, _)| known(name))
        .map(|(name, value)| (name.to_ascii_lowercase(), value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_no_urls() {
        for text in [
            "s3://bucket/x.parquet",
            "S3://b/",
            "https://example.com/x.parquet",
            "abfss://c@a.dfs.core.windows.net/x",
        ] {
            assert!(is_url(text), "{text}");
        }
        for text in ["x.parquet", "/tmp/s3:/x", "C://x", "-", "s3:/x", "file.http"] {
            assert!(!is_url(text), "{text}");
        }
    }

    #[test]
    fn what_no_store_takes_is_refused() {
        for url in ["s3://", "http://[::1", "azure://"] {
            assert!(expand_url(url, &["parquet"]).is_err(), "{url}");
        }
    }
}
