// SPDX-License-Identifier: Apache-2.0
//! URLs to objects: the store, and the path in it.

use std::io;
use std::sync::Arc;

use arrowsmith_core::{Error, Result};
use object_store::http::HttpBuilder;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreScheme, parse_url_opts};
use url::{Position, Url};

use super::failure::io_error;
use super::http;
use super::object::{object, objects};
use super::options::StoreOptions;
use crate::{DataFile, Input};

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
/// Files of HTTP servers may have a query in their URLs, such as a signature; the names of such
/// inputs do not show it.
///
/// # Errors
/// [`Error::Io`] for a URL that no store supports, for one with a password or a query that the
/// store would not get, and if the store cannot be reached or does not have it.
pub fn expand_url(url: &str, extensions: &[&str]) -> Result<Vec<DataFile>> {
    expand_url_with(url, extensions, &StoreOptions::default())
}

/// [`expand_url`] with settings of the store.
///
/// # Errors
/// As [`expand_url`], and [`Error::Config`] for a setting that the store does not have.
pub fn expand_url_with(
    url: &str,
    extensions: &[&str],
    options: &StoreOptions,
) -> Result<Vec<DataFile>> {
    if let Some(file) = file(url, options)? {
        return Ok(vec![file.into()]);
    }
    let (store, path) = open(url, options)?;
    if url.ends_with('/') {
        return objects(&store, &path, extensions, url);
    }
    let object = object(store, &path, url).map_err(|error| match error {
        Error::Io { path, source }
            if source.kind() == io::ErrorKind::NotFound && url.contains(['*', '[']) =>
        {
            let message =
                format!("{source}; URLs are not patterns: name a prefix, with / at its end");
            Error::Io { path, source: io::Error::new(source.kind(), message) }
        }
        error => error,
    });
    Ok(vec![object?.into()])
}

/// The file at an `http://` or `https://` URL that is not a prefix.
fn file(url: &str, options: &StoreOptions) -> Result<Option<Input>> {
    let mut parsed = parsed(url)?;
    let query = parsed.query().map(str::to_owned);
    if !matches!(parsed.scheme(), "http" | "https") || (query.is_none() && url.ends_with('/')) {
        return Ok(None);
    }
    // Some hosts are known as those of stores.
    let (scheme, _) = ObjectStoreScheme::parse(&parsed)
        .map_err(|error| Error::io(url, io_error(error.into())))?;
    if scheme != ObjectStoreScheme::Http && query.is_none() {
        return Ok(None);
    }
    parsed.set_query(None);
    refuse_ignored(url, &parsed)?;
    parsed.set_query(query.as_deref());
    let settings = options.over(plain(&parsed).into_iter(), &ObjectStoreScheme::Http)?;
    super::install_tls();
    Ok(Some(http::file(parsed, &options.client(&settings)?, url)?))
}

fn parsed(url: &str) -> Result<Url> {
    Url::parse(url).map_err(|error| Error::io(url, io::Error::other(error)))
}

/// A URL with `http://` allows plain HTTP; for others `ALLOW_HTTP` or `AWS_ALLOW_HTTP` does.
fn plain(url: &Url) -> Option<(String, String)> {
    (url.scheme() == "http").then(|| ("allow_http".to_owned(), "true".to_owned()))
}

fn refuse_ignored(url: &str, parsed: &Url) -> Result<()> {
    match ignored(parsed) {
        Some(message) => Err(Error::io(url, io::Error::new(io::ErrorKind::InvalidInput, message))),
        None => Ok(()),
    }
}

/// The store of a URL, and the path in it.
pub(super) fn open(url: &str, options: &StoreOptions) -> Result<(Arc<dyn ObjectStore>, Path)> {
    let refused = |error: object_store::Error| Error::io(url, io_error(error));
    let parsed = parsed(url)?;
    refuse_ignored(url, &parsed)?;
    let (scheme, path) =
        ObjectStoreScheme::parse(&parsed).map_err(|error| refused(error.into()))?;
    let settings = options.over(environment().chain(plain(&parsed)), &scheme)?;
    super::install_tls();
    if scheme == ObjectStoreScheme::Http {
        // `parse_url_opts` has no headers.
        let builder = HttpBuilder::new().with_url(&parsed[..Position::BeforePath]);
        let builder = builder.with_client_options(options.client(&settings)?);
        return Ok((Arc::new(builder.build().map_err(refused)?), path));
    }
    let (store, path) = parse_url_opts(&parsed, settings).map_err(refused)?;
    Ok((Arc::from(store), path))
}

/// The reason to refuse a URL of which a store would ignore a part.
fn ignored(url: &Url) -> Option<&'static str> {
    // Of `abfss://container@account`, it is the container.
    let is_container = url.scheme().starts_with("abfs") && url.password().is_none();
    if (!url.username().is_empty() || url.password().is_some()) && !is_container {
        return Some("credentials in URLs are not used: set the variables of the store (AWS_…, …)");
    }
    if url.query().is_some() {
        return Some(
            "URLs with a query (patterns, signatures) are not supported: `?` in a name is `%3F`, \
             and credentials are set by the variables of the store (AWS_…, AZURE_STORAGE_SAS_KEY)",
        );
    }
    url.fragment().map(|_| "`#` in a name is written `%23`")
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

    /// Nothing of a URL is ignored, and no secret of it is shown.
    #[test]
    fn secrets_are_neither_used_nor_shown() {
        for (url, expected) in [
            ("http://user:SECRET@host/x", "http://***@host/x: credentials in URLs"),
            ("s3://SECRET@bucket/x", "s3://***@bucket/x: credentials in URLs"),
            ("s3://id:SEC/RET@bucket/x", "s3://***@bucket/x: invalid port"),
            ("s3://host/x?sig=SECRET", "s3://host/x?***: URLs with a query"),
            ("https://host/x#1", "https://host/x#1: `#` in a name"),
        ] {
            for error in [
                expand_url(url, &[]).map(drop),
                super::super::create(url, &StoreOptions::default()).map(drop),
            ] {
                let error = error.unwrap_err().to_string();
                assert!(error.starts_with(expected), "{error}");
            }
        }
        let container = Url::parse("abfss://box@account.dfs.core.windows.net/x").unwrap();
        assert_eq!(ignored(&container), None);
    }
}
