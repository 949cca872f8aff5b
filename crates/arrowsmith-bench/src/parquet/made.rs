// SPDX-License-Identifier: Apache-2.0
//! One input of a suite with several input formats: its bytes, and a temporary file with the same
//! content.

use tempfile::{NamedTempFile, TempDir};

use super::file::File;
use crate::BenchError;
use crate::definition::Definition;

/// The file of an input.
pub(crate) enum Place {
    Text(NamedTempFile),
    /// In a folder of its own, which is removed too.
    Parquet {
        file: File,
        _folder: TempDir,
    },
}

impl Place {
    pub(crate) fn path(&self) -> &std::path::Path {
        match self {
            Self::Text(file) => file.path(),
            Self::Parquet { file, .. } => &file.path,
        }
    }
}

/// An input.
pub(crate) struct Made {
    pub(crate) bytes: Vec<u8>,
    pub(crate) file: Place,
    /// Records, or rows.
    pub(crate) records: u64,
    /// Bytes of the Arrow arrays of a Parquet file, else 0.
    pub(crate) arrow_bytes: u64,
}

impl Made {
    /// A text of this many records.
    pub(crate) fn text(bytes: Vec<u8>, records: u64) -> std::io::Result<Self> {
        let file = NamedTempFile::new()?;
        std::fs::write(file.path(), &bytes)?;
        Ok(Self { bytes, file: Place::Text(file), records, arrow_bytes: 0 })
    }

    /// The file of a workload of `bench parquet`, of approximately this many bytes of Arrow arrays.
    pub(crate) fn parquet(workload: &str, size_bytes: u64) -> Result<Self, BenchError> {
        let definition = Definition::parquet()?;
        let found = definition.workload(workload);
        let found =
            found.ok_or_else(|| BenchError::Definition(format!("no workload {workload}")))?;
        let folder = TempDir::new().map_err(BenchError::io(std::env::temp_dir()))?;
        let file = File::make(found, 0, size_bytes, definition.group_bytes, folder.path())?;
        let bytes = std::fs::read(&file.path).map_err(BenchError::io(&file.path))?;
        let (records, arrow_bytes) = (file.expected.rows, file.arrow_bytes);
        let file = Place::Parquet { file, _folder: folder };
        Ok(Self { bytes, file, records, arrow_bytes })
    }
}
