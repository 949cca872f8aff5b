// SPDX-License-Identifier: Apache-2.0
//! The first rows as an HTML table, for notebooks.

use std::fmt::Write;

use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_schema::{ArrowError, SchemaRef};

use crate::table::Rows;

/// Number of rows, columns and characters of a cell that are shown.
const ROWS: usize = 10;
const COLUMNS: usize = 50;
const CHARACTERS: usize = 80;

pub(crate) fn table(schema: &SchemaRef, batches: &[Rows]) -> Result<String, ArrowError> {
    let count: usize = batches.iter().map(Rows::count).sum();
    let columns = schema.fields().len();
    let mut html = String::from("<table>\n<thead><tr>");
    for field in schema.fields().iter().take(COLUMNS) {
        let _ = write!(html, "<th>{}<br><small>", escaped(field.name()));
        let _ = write!(html, "{}</small></th>", escaped(&field.data_type().to_string()));
    }
    html.push_str("</tr></thead>\n<tbody>\n");
    let mut left = ROWS;
    // Rows on a device are not fetched for this.
    for batch in batches.iter().map_while(|rows| rows.on_host().ok()) {
        let options = FormatOptions::new().with_null("null").with_display_error(true);
        let shown = batch.columns().iter().take(COLUMNS);
        let formats = shown.map(|column| ArrayFormatter::try_new(column.as_ref(), &options));
        let formats = formats.collect::<Result<Vec<_>, _>>()?;
        for row in 0..batch.num_rows().min(left) {
            html.push_str("<tr>");
            for format in &formats {
                let text = format.value(row).to_string();
                let _ = write!(html, "<td>{}</td>", escaped(&text));
            }
            html.push_str("</tr>\n");
        }
        left -= batch.num_rows().min(left);
        if left == 0 {
            break;
        }
    }
    let _ = write!(html, "</tbody>\n</table>\n<p>{count} rows &times; {columns} columns</p>");
    Ok(html)
}

/// A text for HTML, shortened.
fn escaped(text: &str) -> String {
    let mut html = String::new();
    for (index, character) in text.chars().enumerate() {
        if index == CHARACTERS {
            html.push('…');
            break;
        }
        match character {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            other => html.push(other),
        }
    }
    html
}
