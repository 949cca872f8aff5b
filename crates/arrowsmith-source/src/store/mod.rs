// SPDX-License-Identifier: Apache-2.0
//! Objects in stores as inputs and outputs: `s3://`, `gs://`, `az://`, `http://` and all others
//! that the `object_store` crate supports.
//!
//! An object becomes an [`Input`](crate::Input) of which only the ranges that are read are
//! fetched, or an [`Output`](arrowsmith_core::sink::Output) that is sent in parts and visible when
//! it is complete. Credentials and endpoints come from the environment, under the names that the
//! stores' own tools use (`AWS_ACCESS_KEY_ID`, `AWS_ENDPOINT`, …), and from [`StoreOptions`]. It
//! knows no format, and caches nothing.
//!
//! ```no_run
//! let files = arrowsmith_source::store::expand_url("s3://rides/year=2024/", &["parquet"])?;
//! # Ok::<(), arrowsmith_core::Error>(())
//! ```

mod failure;
mod http;
mod object;
mod options;
mod prefix;
mod tls;
mod upload;
mod url;

pub use self::options::StoreOptions;
pub use self::prefix::Prefix;
pub use self::upload::{StoreFolder, create, output};
pub use self::url::{expand_url, expand_url_with, is_url};
pub use object::{object, objects};
pub use object_store;
pub use tls::install_tls;
