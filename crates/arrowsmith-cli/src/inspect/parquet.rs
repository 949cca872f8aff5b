// SPDX-License-Identifier: Apache-2.0
//! Parquet: the library's report as text, with a tree of row groups, column chunks and pages.

use std::path::Path;

use arrowsmith::Limits;
use arrowsmith::parquet::{ChunkReport, EXTENSIONS, FileReport, PageReport, describe, open_file};

use super::Report;
use super::table::{ROWS_MAX, Table};
use crate::failure::{Failure, Outcome};
use crate::input;
use crate::schema;
use crate::size::{counted, display, grouped};

/// Maximum number of characters shown of a bound in text; `--json` shows all.
const BOUND_CHARS_MAX: usize = 32;

pub fn file(path: &Path, pages: bool) -> Outcome<FileReport> {
    let file = open_file(path.into(), &Limits::default()).map_err(Failure::Work)?;
    describe(&file, pages).map_err(Failure::Work)
}

/// The report of the object at a URL. Pages are not fetched, as only their headers would be used.
pub fn object(url: &str, pages: bool) -> Outcome<FileReport> {
    if pages {
        return Err(Failure::Usage("--pages is for local files only".to_owned()));
    }
    let mut files = input::expand_url(url, EXTENSIONS)?;
    let (Some(found), true) = (files.pop(), files.is_empty()) else {
        return Err(Failure::Usage(format!("{url} is more than one file")));
    };
    let file = open_file(found.input, &Limits::default()).map_err(Failure::Work)?;
    describe(&file, false).map_err(Failure::Work)
}

impl Report for FileReport {
    fn text(&self) -> String {
        let mut text = format!("Parquet file, {}, version {}", display(self.bytes), self.version);
        if let Some(created_by) = &self.created_by {
            text.push_str(&format!(", created by {created_by}"));
        }
        text.push_str(&format!(
            "\n{} in {}\n",
            counted(self.rows, "row"),
            counted(self.row_groups.len() as u64, "row group")
        ));
        text.push_str(&schema::section(&self.schema));
        if !self.columns.is_empty() {
            text.push_str(&format!("\ncolumns:\n{}", columns(self).text()));
        }
        for (index, group) in self.row_groups.iter().enumerate().take(ROWS_MAX) {
            text.push_str(&format!(
                "\nrow group {index}: {}, {} ({} uncompressed)\n",
                counted(group.rows, "row"),
                display(group.bytes_compressed),
                display(group.bytes_uncompressed)
            ));
            for (place, chunk) in group.columns.iter().enumerate() {
                tree(chunk, place + 1 == group.columns.len(), &mut text);
            }
        }
        if self.row_groups.len() > ROWS_MAX {
            let more = self.row_groups.len() - ROWS_MAX;
            text.push_str(&format!("\nand {more} more row groups (--json has all)\n"));
        }
        text
    }
}

fn columns(report: &FileReport) -> Table {
    let headings =
        ["column", "type", "codec", "#values", "#nulls", "#bytes", "#uncompressed", "encodings"];
    let mut table = Table::new(&headings);
    for column in &report.columns {
        table.push(vec![
            column.path.clone(),
            column.physical_type.to_lowercase(),
            column.codec.clone(),
            grouped(column.values),
            column.nulls.map_or_else(|| "?".to_owned(), grouped),
            grouped(column.bytes_compressed),
            grouped(column.bytes_uncompressed),
            column.encodings.join(" "),
        ]);
    }
    table
}

/// The lines for a column chunk and its pages.
fn tree(chunk: &ChunkReport, last: bool, text: &mut String) {
    let (branch, trunk) = if last { ("└─", "  ") } else { ("├─", "│ ") };
    let mut parts = vec![
        format!("{branch} {}: {} values", chunk.path, grouped(chunk.values)),
        chunk.nulls.map_or_else(
            || "nulls unknown".to_owned(),
            |nulls| format!("{} nulls", grouped(nulls)),
        ),
        format!(
            "{} ({} uncompressed)",
            display(chunk.bytes_compressed),
            display(chunk.bytes_uncompressed)
        ),
        format!("{} {}", chunk.codec, chunk.encodings.join(" ")),
    ];
    if let (Some(min), Some(max)) = (&chunk.min, &chunk.max) {
        parts.push(format!("{} … {}", short(min), short(max)));
    }
    let indexes = [
        ("column index", chunk.column_index),
        ("offset index", chunk.offset_index),
        ("bloom filter", chunk.bloom_filter),
    ];
    parts.extend(indexes.iter().filter(|(_, there)| *there).map(|(name, _)| (*name).to_owned()));
    text.push_str(&parts.join(", "));
    text.push('\n');
    let pages = chunk.pages.as_deref().unwrap_or_default();
    for (number, page) in pages.iter().enumerate().take(ROWS_MAX) {
        let branch = if number + 1 == pages.len() { "└─" } else { "├─" };
        text.push_str(&format!("{trunk} {branch} page {number}: {}\n", page_line(page)));
    }
    if pages.len() > ROWS_MAX {
        text.push_str(&format!("{trunk} └─ and {} more pages\n", pages.len() - ROWS_MAX));
    }
}

fn page_line(page: &PageReport) -> String {
    let what = if page.dictionary { "entries" } else { "values" };
    let rows = match page.rows {
        Some(rows) if !page.dictionary && rows != page.values => {
            format!(" in {} rows", grouped(rows as u64))
        }
        _ => String::new(),
    };
    format!(
        "{}, {} {what}{rows}, {} ({} uncompressed)",
        if page.dictionary { "dictionary" } else { &page.encoding },
        grouped(page.values as u64),
        display(page.bytes_compressed as u64),
        display(page.bytes_uncompressed as u64)
    )
}

fn short(bound: &str) -> String {
    let start: String = bound.chars().take(BOUND_CHARS_MAX).collect();
    let cut = if start.len() < bound.len() { "…" } else { "" };
    format!("{}{cut}", start.escape_debug())
}
