// SPDX-License-Identifier: Apache-2.0
//! What is to be read of a file, and as which Arrow types.

use arrow_schema::TimeUnit;

/// The form of strings and binary values in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StringForm {
    /// As the Arrow schema in the file says, else offsets of 32 bits.
    #[default]
    AsFile,
    /// Offsets of 32 bits.
    Small,
    /// Offsets of 64 bits.
    Large,
    /// Views.
    View,
}

/// The form of lists in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ListForm {
    /// As the Arrow schema in the file says, else offsets of 32 bits.
    #[default]
    AsFile,
    /// Offsets of 32 bits.
    Small,
    /// Offsets of 64 bits.
    Large,
}

/// Which columns something is for: paths as in [`ReadOptions::columns`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Columns {
    /// None.
    #[default]
    None,
    /// Every column.
    All,
    /// These, and what is inside of them.
    Paths(Vec<String>),
}

/// What is to be read, and as which types. The default is everything, as the writer meant it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReadOptions {
    /// Columns to read, in this order; `None`: all. A dotted path names a column and all that is
    /// inside of it (`a`, `a.b`); the names that Parquet puts between a list or map and its parts
    /// (`list.element`, `key_value.value`) are optional; `element` alone is accepted, too.
    pub columns: Option<Vec<String>>,
    /// Follow the Arrow schema that a writer has put into the file. Default true.
    pub arrow_schema: bool,
    /// String and binary columns that become dictionaries with 32-bit keys.
    pub dictionary: Columns,
    /// The form of strings and binary values.
    pub strings: StringForm,
    /// The form of lists.
    pub lists: ListForm,
    /// The unit of all timestamps; `None`: as the file says, nanoseconds for INT96.
    pub timestamp_unit: Option<TimeUnit>,
    /// Verify the checksums of pages. Default false.
    pub verify_checksums: bool,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self {
            columns: None,
            arrow_schema: true,
            dictionary: Columns::None,
            strings: StringForm::AsFile,
            lists: ListForm::AsFile,
            timestamp_unit: None,
            verify_checksums: false,
        }
    }
}

impl ReadOptions {
    /// Sets the columns to read.
    #[must_use]
    pub fn with_columns<S: Into<String>>(mut self, columns: impl IntoIterator<Item = S>) -> Self {
        self.columns = Some(columns.into_iter().map(Into::into).collect());
        self
    }

    /// Sets whether the Arrow schema in the file is followed.
    #[must_use]
    pub fn with_arrow_schema(mut self, follow: bool) -> Self {
        self.arrow_schema = follow;
        self
    }

    /// Sets the columns that become dictionaries.
    #[must_use]
    pub fn with_dictionary(mut self, columns: Columns) -> Self {
        self.dictionary = columns;
        self
    }

    /// Sets the form of strings and binary values.
    #[must_use]
    pub fn with_strings(mut self, form: StringForm) -> Self {
        self.strings = form;
        self
    }

    /// Sets the form of lists.
    #[must_use]
    pub fn with_lists(mut self, form: ListForm) -> Self {
        self.lists = form;
        self
    }

    /// Sets one unit for all timestamps.
    #[must_use]
    pub fn with_timestamp_unit(mut self, unit: TimeUnit) -> Self {
        self.timestamp_unit = Some(unit);
        self
    }

    /// Sets whether the checksums of pages are verified.
    #[must_use]
    pub fn with_verify_checksums(mut self, verify: bool) -> Self {
        self.verify_checksums = verify;
        self
    }
}
