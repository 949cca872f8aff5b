// SPDX-License-Identifier: Apache-2.0
//! TLS: certificates and keys from PEM files, for listeners and for dialled sources.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use arrowsmith_core::whole::{self, WRITTEN_BYTES_MAX};
use arrowsmith_core::{Error, Result};
use arrowsmith_publish::Slot;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::{ClientConfig, RootCertStore, ServerConfig, crypto};
use tokio_rustls::{TlsAcceptor, TlsConnector, server};

use super::{Common, stopped};
use crate::config::TlsConfig;

/// Maximum duration of a handshake.
pub(crate) const HANDSHAKE_MAX: Duration = Duration::from_secs(10);

fn wrong(path: &Path, error: impl std::fmt::Display) -> Error {
    Error::Config(format!("tls: {}: {error}", path.display()))
}

fn pem(path: &Path) -> Result<Vec<u8>> {
    whole::read(path, WRITTEN_BYTES_MAX).map_err(|error| wrong(path, error))
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>> {
    let text = pem(path)?;
    let all: std::result::Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    let all = all.map_err(|error| wrong(path, error))?;
    if all.is_empty() { Err(wrong(path, "has no certificate")) } else { Ok(all) }
}

fn authorities(path: &Path) -> Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(path)? {
        roots.add(certificate).map_err(|error| wrong(path, error))?;
    }
    Ok(roots)
}

/// The acceptor of TLS connections with one of `protocols`.
///
/// # Errors
/// [`Error::Config`] names the file that does not hold what it should.
pub(crate) fn acceptor(config: &TlsConfig, protocols: &[&[u8]]) -> Result<TlsAcceptor> {
    let provider = Arc::new(crypto::ring::default_provider());
    let key = PrivateKeyDer::from_pem_slice(&pem(&config.key)?);
    let key = key.map_err(|error| wrong(&config.key, error))?;
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| wrong(&config.certificates, error))?;
    let builder = match &config.client_authorities {
        None => builder.with_no_client_auth(),
        Some(path) => {
            let roots = Arc::new(authorities(path)?);
            let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider).build();
            builder.with_client_cert_verifier(verifier.map_err(|error| wrong(path, error))?)
        }
    };
    let mut server = builder
        .with_single_cert(certificates(&config.certificates)?, key)
        .map_err(|error| wrong(&config.certificates, error))?;
    server.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
    Ok(TlsAcceptor::from(Arc::new(server)))
}

/// The connector to sources with certificates of the authorities in `name`: a PEM file, or
/// `webpki`.
pub(crate) fn connector(name: &str) -> Result<TlsConnector> {
    let roots = match name {
        "webpki" => webpki_roots::TLS_SERVER_ROOTS.iter().cloned().collect(),
        path => authorities(Path::new(path))?,
    };
    let provider = Arc::new(crypto::ring::default_provider());
    let client = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::Config(format!("tls: {error}")))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(client)))
}

/// Completes the TLS handshake of an incoming connection, within the time limit and unless its slot
/// is needed; `None` if that failed, which is counted.
pub(crate) async fn accept(
    common: &Common,
    acceptor: &TlsAcceptor,
    socket: TcpStream,
    slot: &Slot,
) -> Option<server::TlsStream<TcpStream>> {
    let accepted = tokio::select! {
        accepted = timeout(common.greeting().min(HANDSHAKE_MAX), acceptor.accept(socket)) => accepted,
        () = slot.evicted() => {
            common.metrics.closed.with_label_values(&["limit"]).inc();
            return None;
        }
        () = stopped(common.stop.clone()) => return None,
    };
    match accepted {
        Ok(Ok(socket)) => Some(socket),
        _ => {
            common.metrics.closed.with_label_values(&["tls"]).inc();
            None
        }
    }
}

/// Completes the TLS handshake of a connection to `address`.
pub(crate) async fn connect(
    name: &str,
    address: &str,
    socket: TcpStream,
) -> io::Result<TlsStream<TcpStream>> {
    let connector = connector(name).map_err(io::Error::other)?;
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
    let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
    let host = ServerName::try_from(host).map_err(io::Error::other)?;
    timeout(HANDSHAKE_MAX, connector.connect(host, socket)).await?
}
