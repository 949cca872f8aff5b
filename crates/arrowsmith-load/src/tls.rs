// SPDX-License-Identifier: Apache-2.0
//! Opens a connection: TCP, and TLS over it if the target requires it.

use std::io::{self, Error, ErrorKind};
use std::path::Path;
use std::sync::Arc;

use arrowsmith_core::whole::{self, WRITTEN_BYTES_MAX};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore, crypto};

use crate::{Options, Target};

/// A connection, with or without TLS.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// The TLS connector, or `None` if the target does not use TLS.
pub(crate) fn connector(options: &Options) -> io::Result<Option<TlsConnector>> {
    if !options.target.tls {
        return Ok(None);
    }
    let mut roots = RootCertStore::empty();
    match &options.ca {
        None => roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned()),
        Some(path) => {
            for certificate in certificates(path)? {
                roots.add(certificate).map_err(|error| wrong(path, error))?;
            }
        }
    }
    let provider = Arc::new(crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(Error::other)?
        .with_root_certificates(roots);
    let config = match &options.identity {
        None => builder.with_no_client_auth(),
        Some((chain, key)) => {
            let secret = PrivateKeyDer::from_pem_slice(&pem(key)?);
            let secret = secret.map_err(|error| wrong(key, error))?;
            let built = builder.with_client_auth_cert(certificates(chain)?, secret);
            built.map_err(|error| wrong(chain, error))?
        }
    };
    Ok(Some(TlsConnector::from(Arc::new(config))))
}

fn pem(path: &Path) -> io::Result<Vec<u8>> {
    whole::read(path, WRITTEN_BYTES_MAX).map_err(|error| wrong(path, error))
}

fn certificates(path: &Path) -> io::Result<Vec<CertificateDer<'static>>> {
    let text = pem(path)?;
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    let all = all.map_err(|error| wrong(path, error))?;
    if all.is_empty() {
        return Err(wrong(path, "the file contains no certificate"));
    }
    Ok(all)
}

fn wrong(path: &Path, error: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::InvalidInput, format!("{}: {error}", path.display()))
}

/// Starts TLS over a stream if the target requires it.
pub(crate) async fn secure(
    stream: TcpStream,
    target: &Target,
    tls: Option<&TlsConnector>,
) -> io::Result<Box<dyn Stream>> {
    stream.set_nodelay(true)?;
    let Some(tls) = tls else { return Ok(Box::new(stream)) };
    let name = ServerName::try_from(target.host.clone())
        .map_err(|error| Error::new(ErrorKind::InvalidInput, error))?;
    Ok(Box::new(tls.connect(name, stream).await?))
}

/// Connects.
pub(crate) async fn connect(
    target: &Target,
    tls: Option<&TlsConnector>,
) -> io::Result<Box<dyn Stream>> {
    secure(TcpStream::connect(&target.authority).await?, target, tls).await
}
