//! A table of texts, columns as wide as they need to be.

use std::fmt;

/// Rows of cells, the first row being the heading, and a line of explanation below.
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
    note: String,
}

impl Table {
    pub(crate) fn new(heading: &[&str], note: &str) -> Self {
        Self { rows: vec![heading.iter().map(|cell| (*cell).to_owned()).collect()], note: note.to_owned() }
    }

    pub(crate) fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width =
            |column: usize| self.rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
        let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
        for (number, row) in self.rows.iter().enumerate() {
            for (column, cell) in row.iter().enumerate() {
                let width = widths[column];
                if column == 0 { write!(f, "  {cell:<width$}")? } else { write!(f, "  {cell:>width$}")? }
            }
            writeln!(f)?;
            if number == 0 {
                writeln!(f, "  {}", "-".repeat(widths.iter().map(|width| width + 2).sum::<usize>() - 2))?;
            }
        }
        write!(f, "  {}", self.note)
    }
}
