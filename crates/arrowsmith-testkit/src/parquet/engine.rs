// SPDX-License-Identifier: Apache-2.0
//! [`ByEngine`]: an engine as a reader.

use arrowsmith_engine::Engine;
use arrowsmith_parquet::ReadOptions;
use bytes::Bytes;

use super::{Ask, Reader, Rows};
use crate::conformance::parquet::read;

/// An engine, each field of each row group by itself, with the checksums of pages.
pub struct ByEngine<'e>(pub &'e dyn Engine);

impl Reader for ByEngine<'_> {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn read(&self, file: &Bytes, ask: &Ask) -> Result<Rows, String> {
        let options = ReadOptions::default().with_verify_checksums(true);
        read(self.0, file, ask, &options).map_err(|error| error.to_string())
    }
}
