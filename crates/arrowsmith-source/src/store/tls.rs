// SPDX-License-Identifier: Apache-2.0
//! The cryptography of HTTPS: ring, as in all crates here, so that no second provider is compiled.

use reqwest as _;
use tokio_rustls::rustls::crypto::{CryptoProvider, ring};

/// Makes ring the TLS provider of the process, if it has none. [`super::expand_url`] calls it
/// itself; call it before you create a store with `object_store`.
pub fn install_tls() {
    if CryptoProvider::get_default().is_none() {
        // An error means that another thread has installed one.
        let _ = ring::default_provider().install_default();
    }
}
