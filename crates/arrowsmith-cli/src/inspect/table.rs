// SPDX-License-Identifier: Apache-2.0
//! Text tables with aligned columns.

/// Maximum number of rows shown of a table in text; `--json` shows all.
pub const ROWS_MAX: usize = 20;

/// Rows under a heading; cells are padded to the widest of their column.
pub struct Table {
    /// Whether the column holds numbers, which are aligned right.
    numeric: Vec<bool>,
    rows: Vec<Vec<String>>,
    left_out: usize,
}

impl Table {
    /// A table with these headings; a heading that starts with `#` is of a column of numbers.
    pub fn new(headings: &[&str]) -> Self {
        let numeric = headings.iter().map(|heading| heading.starts_with('#')).collect();
        let headings = headings.iter().map(|heading| heading.trim_start_matches('#').to_owned());
        Self { numeric, rows: vec![headings.collect()], left_out: 0 }
    }

    /// Adds a row, or only counts it once [`ROWS_MAX`] are shown.
    pub fn push(&mut self, cells: Vec<String>) {
        if self.rows.len() > ROWS_MAX {
            self.left_out += 1;
        } else {
            self.rows.push(cells);
        }
    }

    /// The table as text, indented by two, each row with its line end.
    pub fn text(&self) -> String {
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.numeric.len()).map(width).collect();
        let mut text = String::new();
        for row in &self.rows {
            let mut line = String::new();
            for ((cell, &width), &numeric) in row.iter().zip(&widths).zip(&self.numeric) {
                let padding = " ".repeat(width.saturating_sub(cell.chars().count()));
                let (before, after) =
                    if numeric { (padding.as_str(), "") } else { ("", padding.as_str()) };
                line.push_str("  ");
                line.extend([before, cell, after]);
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        if self.left_out > 0 {
            text.push_str(&format!("  and {} more\n", self.left_out));
        }
        text
    }
}
