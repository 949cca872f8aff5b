// SPDX-License-Identifier: Apache-2.0
//! The bounds on everything that input controls.

/// Bounds on what input may ask for. Every limit has a default and appears in the error it causes.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Deepest nesting of arrays and objects in one record. Default 128.
    pub depth_max: usize,
    /// Longest record, in bytes of JSON text. Default 128 MiB.
    pub record_bytes_max: usize,
    /// Working memory beyond mapped input and the batches that the consumer holds, in bytes.
    /// Default 256 MiB. It bounds how many chunks are in flight; a single record may take up to
    /// `record_bytes_max` whatever this says.
    pub memory_bytes_max: usize,
    /// Largest footer of a columnar file, in bytes. Default 256 MiB.
    pub metadata_bytes_max: usize,
    /// Largest page of a columnar file after decompression, in bytes. Default 2 GiB - 1, which is
    /// the most that Parquet can say: writers put a whole row group into one page. Memory is taken
    /// as it is filled.
    pub page_bytes_max: usize,
    /// Most fields that a schema of JSON may have, those inside others counted too, whether it was
    /// given or inferred. Default 10,000.
    pub fields_max: usize,
    /// Most bytes that the parts of fixed size of one row, or of one item of a list, may take in
    /// Arrow: what an empty object becomes. Each value counts as one byte at least. Default 1 MiB.
    pub row_bytes_max: usize,
    /// Most memory that the columns of one batch may take while records are decoded into them, in
    /// bytes. A pipeline ends batches long before; so this is what one record may become. Default 1
    /// GiB.
    pub batch_bytes_max: usize,
}

impl Limits {
    /// The defaults, with another depth.
    pub fn with_depth_max(mut self, depth_max: usize) -> Self {
        self.depth_max = depth_max;
        self
    }

    /// The defaults, with another longest record, in bytes.
    pub fn with_record_bytes_max(mut self, record_bytes_max: usize) -> Self {
        self.record_bytes_max = record_bytes_max;
        self
    }

    /// The defaults, with another bound on working memory, in bytes.
    pub fn with_memory_bytes_max(mut self, memory_bytes_max: usize) -> Self {
        self.memory_bytes_max = memory_bytes_max;
        self
    }

    /// The defaults, with another largest footer, in bytes.
    pub fn with_metadata_bytes_max(mut self, metadata_bytes_max: usize) -> Self {
        self.metadata_bytes_max = metadata_bytes_max;
        self
    }

    /// The defaults, with another largest page, in bytes.
    pub fn with_page_bytes_max(mut self, page_bytes_max: usize) -> Self {
        self.page_bytes_max = page_bytes_max;
        self
    }

    /// The defaults, with another greatest number of fields.
    pub fn with_fields_max(mut self, fields_max: usize) -> Self {
        self.fields_max = fields_max;
        self
    }

    /// The defaults, with another widest row, in bytes.
    pub fn with_row_bytes_max(mut self, row_bytes_max: usize) -> Self {
        self.row_bytes_max = row_bytes_max;
        self
    }

    /// The defaults, with another largest batch, in bytes.
    pub fn with_batch_bytes_max(mut self, batch_bytes_max: usize) -> Self {
        self.batch_bytes_max = batch_bytes_max;
        self
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            depth_max: 128,
            record_bytes_max: 128 << 20,
            memory_bytes_max: 256 << 20,
            metadata_bytes_max: 256 << 20,
            page_bytes_max: (2 << 30) - 1,
            fields_max: 10_000,
            row_bytes_max: 1 << 20,
            batch_bytes_max: 1 << 30,
        }
    }
}
