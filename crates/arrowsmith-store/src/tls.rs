// SPDX-License-Identifier: Apache-2.0
//! The cryptography of HTTPS: ring, as everywhere else here, so that no second provider is
//! compiled.

use reqwest as _;
use tokio_rustls::rustls::crypto::{CryptoProvider, ring};

/// Makes ring the TLS provider of the process, if it has none. [`crate::expand_url`] does so
/// itself; who makes a store with `object_store` calls it before.
pub fn install_tls() {
    if CryptoProvider::get_default().is_none() {
        // Another thread was first: then there is one.
        let _ = ring::default_provider().install_default();
    }
}
