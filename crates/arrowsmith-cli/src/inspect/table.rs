// SPDX-License-Identifier: Apache-2.0
//! Text tables with aligned columns.

use comfy_table::{CellAlignment, presets};

/// Maximum number of rows shown of a table in text; `--json` shows all.
pub const ROWS_MAX: usize = 20;

/// Rows under a heading; cells are padded to the widest of their column.
pub struct Table {
    shown: comfy_table::Table,
    left_out: usize,
}

impl Table {
    /// A table with these headings; a heading that starts with `#` is of a column of numbers, which
    /// are aligned right.
    pub fn new(headings: &[&str]) -> Self {
        let mut shown = comfy_table::Table::new();
        shown.load_preset(presets::NOTHING);
        shown.set_header(headings.iter().map(|heading| heading.trim_start_matches('#')));
        for (column, heading) in shown.column_iter_mut().zip(headings) {
            column.set_padding((2, 0));
            if heading.starts_with('#') {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        Self { shown, left_out: 0 }
    }

    /// Adds a row, or only counts it once [`ROWS_MAX`] are shown.
    pub fn push(&mut self, cells: Vec<String>) {
        if self.shown.row_count() == ROWS_MAX {
            self.left_out += 1;
        } else {
            self.shown.add_row(cells);
        }
    }

    /// The table as text, indented by two, each row with its line end.
    pub fn text(&self) -> String {
        let mut text = self.shown.trim_fmt();
        text.push('\n');
        if self.left_out > 0 {
            text.push_str(&format!("  and {} more\n", self.left_out));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_and_rows_beyond_the_limit_are_counted() {
        let mut table = Table::new(&["#batch", "name"]);
        table.push(vec!["0".to_owned(), "a longer name".to_owned()]);
        table.push(vec!["1234567".to_owned(), "é".to_owned()]);
        assert_eq!(table.text(), "    batch  name\n        0  a longer name\n  1234567  é\n");
        for _ in 0..ROWS_MAX {
            table.push(vec![String::new(), String::new()]);
        }
        assert!(table.text().ends_with("\n  and 2 more\n"), "{}", table.text());
    }
}
