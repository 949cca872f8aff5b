// SPDX-License-Identifier: Apache-2.0
//! The page's wording for each suite.

/// The words of a suite.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Words {
    pub(crate) title: &'static str,
    pub(crate) subtitle: &'static str,
    /// The unit of speeds.
    pub(crate) unit: &'static str,
    /// The method, without the part common to all suites.
    pub(crate) method: &'static str,
}

const JSON: Words = Words {
    title: "JSON to Arrow",
    subtitle: "Text in memory to Arrow columns in memory",
    unit: "GB/s of JSON text",
    method: "Its result is compared with that of the reference engine, column by column. Loading the \
             text, starting threads, compiling plans and freeing the result are not timed. Speeds are \
             bytes of JSON text over the median time. Peak memory is that of the whole process with \
             the input text.",
};

const PARQUET: Words = Words {
    title: "Parquet to Arrow",
    subtitle: "Files in the page cache to Arrow columns in memory",
    unit: "GB/s of Arrow output",
    method: "Its result is compared, column by column, with totals computed from the rows before \
             they were written. Opening the file is timed, unless the engine reads from memory; \
             starting threads and freeing the result are not. Speeds are bytes of the Arrow arrays \
             (values, offsets, validity; strings as offsets and bytes) over the median time. If a \
             file has only strings, an engine is compared with those that make the same type of them: plain \
             strings, views or dictionaries. Peak memory is that of the whole process, with the pages \
             of the file that it has mapped.",
};

impl Words {
    pub(crate) fn of(suite: &str) -> Self {
        if suite == "parquet" { PARQUET } else { JSON }
    }
}
