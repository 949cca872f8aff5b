// SPDX-License-Identifier: Apache-2.0
//! Token and TLS configuration of a connection, from the files of the options as they are now.

use std::path::Path;
use std::sync::Arc;

use arrowsmith_core::whole::{self, WRITTEN_BYTES_MAX};
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use crate::error::{PulsarError, Result};
use crate::options::{Auth, Tls};

/// The current token. White space around it, such as a file's last line end, is removed.
pub(crate) fn token(auth: &Auth) -> Result<Option<String>> {
    let Some(path) = &auth.token_file else { return Ok(auth.token.clone()) };
    match whole::read_text(path) {
        Ok(text) => Ok(Some(text.trim().to_owned())),
        Err(error) => Err(PulsarError::Option {
            option: "auth.token_file",
            reason: format!("cannot be read: {}: {error}", path.display()),
        }),
    }
}

/// The TLS configuration.
pub(crate) fn tls(options: &Tls) -> Result<Arc<ClientConfig>> {
    fn fault(option: &'static str, path: &Path, error: &dyn std::fmt::Display) -> PulsarError {
        let reason = format!("cannot be used: {}: {error}", path.display());
        PulsarError::Option { option, reason }
    }
    let pem = |option, path: &Path| {
        whole::read(path, WRITTEN_BYTES_MAX).map_err(|error| fault(option, path, &error))
    };
    let certificates = |option, path: &Path| -> Result<Vec<CertificateDer<'static>>> {
        let found = CertificateDer::pem_slice_iter(&pem(option, path)?)
            .collect::<std::result::Result<Vec<_>, _>>()
            .map_err(|error| fault(option, path, &error))?;
        if found.is_empty() {
            return Err(fault(option, path, &"it has no certificates"));
        }
        Ok(found)
    };
    let mut roots = RootCertStore::empty();
    roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    if let Some(path) = &options.ca_file {
        for certificate in certificates("tls.ca_file", path)? {
            roots.add(certificate).map_err(|error| fault("tls.ca_file", path, &error))?;
        }
    }
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| PulsarError::Option { option: "tls", reason: error.to_string() })?
        .with_root_certificates(roots);
    let config = match (&options.certificate_file, &options.key_file) {
        (Some(chain), Some(path)) => {
            let key = PrivateKeyDer::from_pem_slice(&pem("tls.key_file", path)?)
                .map_err(|error| fault("tls.key_file", path, &error))?;
            builder
                .with_client_auth_cert(certificates("tls.certificate_file", chain)?, key)
                .map_err(|error| fault("tls.key_file", path, &error))?
        }
        _ => builder.with_no_client_auth(),
    };
    Ok(Arc::new(config))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_token_file_is_read_without_its_line_end() {
        let path = std::env::temp_dir().join(format!("pulsar-token-{}", std::process::id()));
        fs::write(&path, "abc\n").unwrap();
        let auth = Auth { token: None, token_file: Some(path.clone()) };
        assert_eq!(token(&auth).unwrap().as_deref(), Some("abc"));
        fs::remove_file(path).unwrap();
        assert!(token(&auth).is_err());
    }
}
