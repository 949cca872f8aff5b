// SPDX-License-Identifier: Apache-2.0
//! The limits on everything that input controls.

/// Limits on sizes that the input determines. Every limit has a default and is named in its error.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Maximum nesting of arrays and objects in one record, at most [`Limits::DEPTH_MAX`]. Default
    /// 128.
    pub depth_max: usize,
    /// Maximum size of a record, in bytes of JSON text. Default 128 MiB.
    pub record_bytes_max: usize,
    /// Working memory beyond mapped input and the batches that the consumer holds, in bytes, of all
    /// threads together. Default 256 MiB. It bounds the number of chunks in flight; a single record
    /// may take up to `record_bytes_max` and `batch_bytes_max` regardless. For columnar files, the
    /// next portion may take this much beside the batches that wait for the consumer.
    pub memory_bytes_max: usize,
    /// Maximum size of the footer of a columnar file, in bytes. Default 256 MiB.
    pub metadata_bytes_max: usize,
    /// Maximum size of a page of a columnar file, before and after decompression, and of a column
    /// in one batch, in bytes. Default 2 GiB - 1, the maximum of the format, as writers put a whole
    /// row group into one page. Memory is allocated as it is filled.
    pub page_bytes_max: usize,
    /// Maximum number of fields of a schema for JSON, given or inferred, nested fields included.
    /// Default 10,000.
    pub fields_max: usize,
    /// Maximum Arrow size of the fixed-size parts of one row, or of one list item, in bytes: the
    /// size of an empty object. Each value counts as at least one byte. Default 1 MiB.
    pub row_bytes_max: usize,
    /// Maximum memory of the columns of one batch during decoding, in bytes. A pipeline ends
    /// batches long before this, so it effectively limits one record, and such records are decoded
    /// one at a time, whatever the number of threads. Default 1 GiB.
    pub batch_bytes_max: usize,
}

impl Limits {
    /// The highest `depth_max`: readers that recurse need stack for each level, and treat a higher
    /// one as this.
    pub const DEPTH_MAX: usize = 1024;

    /// Sets the maximum depth, at most [`Limits::DEPTH_MAX`].
    pub fn with_depth_max(mut self, depth_max: usize) -> Self {
        self.depth_max = depth_max;
        self
    }

    /// Sets the maximum size of a record, in bytes.
    pub fn with_record_bytes_max(mut self, record_bytes_max: usize) -> Self {
        self.record_bytes_max = record_bytes_max;
        self
    }

    /// Sets the maximum working memory, in bytes.
    pub fn with_memory_bytes_max(mut self, memory_bytes_max: usize) -> Self {
        self.memory_bytes_max = memory_bytes_max;
        self
    }

    /// Sets the maximum size of a footer, in bytes.
    pub fn with_metadata_bytes_max(mut self, metadata_bytes_max: usize) -> Self {
        self.metadata_bytes_max = metadata_bytes_max;
        self
    }

    /// Sets the maximum size of a page, in bytes.
    pub fn with_page_bytes_max(mut self, page_bytes_max: usize) -> Self {
        self.page_bytes_max = page_bytes_max;
        self
    }

    /// Sets the maximum number of fields.
    pub fn with_fields_max(mut self, fields_max: usize) -> Self {
        self.fields_max = fields_max;
        self
    }

    /// Sets the maximum size of an empty row, in bytes.
    pub fn with_row_bytes_max(mut self, row_bytes_max: usize) -> Self {
        self.row_bytes_max = row_bytes_max;
        self
    }

    /// Sets the maximum memory of a batch, in bytes.
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
