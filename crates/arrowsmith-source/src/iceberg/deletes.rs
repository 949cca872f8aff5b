// SPDX-License-Identifier: Apache-2.0
//! Rows that were deleted from files which keep them: by deletion vectors, which are read here, and
//! by files of positions, which are Parquet.

use std::collections::HashMap;
use std::ops::Range;

use arrowsmith_core::{Error, FileErrorKind, Result};

use super::avro::Record;
use super::snapshot::{Found, Wrong};
use super::{Reading, Table, malformed};
use crate::Input;
use crate::deletion_vector::{Rows, count, parse_stored};

/// Maximum size of a file of vectors, in bytes.
const VECTORS_BYTES_MAX: u64 = 256 << 20;

/// Maximum memory of the ranges of all vectors, in bytes.
const RANGES_BYTES_MAX: usize = 4 << 30;

/// Maximum number of rows that files of positions delete: 2 GiB of memory.
const POSITIONS_MAX: usize = 256 << 20;

/// A file of deletes.
#[derive(Debug)]
pub(super) struct Deletes {
    path: String,
    /// It counts for files of this number and lower ones.
    sequence: i64,
    /// Where it is a vector; otherwise a file of positions.
    vector: Option<Vector>,
}

/// A vector: part of a file, of the rows of another.
#[derive(Debug)]
struct Vector {
    of: String,
    offset: u64,
    size: u64,
    rows: u64,
}

/// A Parquet file of rows that were deleted: the columns `file_path`, text, and `pos`, `int64`.
#[derive(Debug)]
pub struct PositionFile {
    /// The file.
    pub input: Input,
    pub(super) sequence: i64,
}

/// The file of deletes of a manifest's entry.
pub(super) fn deletes(data: &Record<'_>, sequence: i64) -> Result<Deletes, Wrong> {
    if data.get("content").long() != Some(1) {
        return Err(Wrong::Unsupported("rows deleted by equality (equality deletes)".to_owned()));
    }
    if !data.get("key_metadata").is_null() {
        return Err(Wrong::Unsupported("encrypted files".to_owned()));
    }
    let text = |name: &str| data.get(name).text().map(str::to_owned);
    let path = text("file_path").ok_or("an entry without a path".to_owned())?;
    let format = text("file_format").unwrap_or_default();
    let vector = match format.to_ascii_lowercase().as_str() {
        "parquet" => None,
        "puffin" => {
            let number = |name: &str| {
                let number = data.get(name).long().and_then(|number| u64::try_from(number).ok());
                number.ok_or_else(|| Wrong::from(format!("a deletion vector without {name}")))
            };
            let of = text("referenced_data_file");
            Some(Vector {
                of: of.ok_or("a deletion vector without referenced_data_file".to_owned())?,
                offset: number("content_offset")?,
                size: number("content_size_in_bytes")?,
                rows: number("record_count")?,
            })
        }
        _ => return Err(Wrong::Unsupported(format!("deletes in files of {format}"))),
    };
    Ok(Deletes { path, sequence, vector })
}

impl Deletes {
    /// About its memory, in bytes.
    pub(super) fn held(&self) -> usize {
        let of = self.vector.as_ref().map_or(0, |vector| vector.of.len());
        size_of::<Self>() + self.path.len() + of
    }
}

impl Reading<'_> {
    /// The deleted rows of files that have a vector, by their numbers, and the files of positions.
    pub(super) fn deleted(
        &self,
        files: &[Found],
        deletes: Vec<Deletes>,
    ) -> Result<(HashMap<usize, Rows>, Vec<PositionFile>)> {
        let (mut deleted, mut positions) = (HashMap::new(), Vec::new());
        let mut vectors = Vec::new();
        let places: HashMap<&str, usize> =
            files.iter().enumerate().map(|(place, file)| (file.path.as_str(), place)).collect();
        for Deletes { path, sequence, vector } in deletes {
            let Some(vector) = vector else {
                let input = self.place.input(&self.located(&path))?;
                positions.push(PositionFile { input, sequence });
                continue;
            };
            if let Some(place) = places.get(vector.of.as_str())
                && files[*place].sequence <= sequence
            {
                vectors.push((path, *place, vector));
            }
        }
        vectors.sort_by(|(a, ..), (b, ..)| a.cmp(b));
        let mut held = 0_usize;
        for of_file in vectors.chunk_by(|(a, ..), (b, ..)| a == b) {
            let location = self.located(&of_file[0].0);
            let bytes = self.place.read(&location, VECTORS_BYTES_MAX)?;
            for (_, place, vector) in of_file {
                let rows = vector.read(&bytes).map_err(|what| malformed(&location, &what))?;
                held += size_of_val(&*rows);
                if held > RANGES_BYTES_MAX {
                    return Err(self.refuse(&format!("ranges of deleted rows of {held} bytes")));
                }
                if deleted.insert(*place, rows).is_some() {
                    return Err(malformed(&location, "two deletion vectors of one file"));
                }
            }
        }
        Ok((deleted, positions))
    }
}

impl Vector {
    fn read(&self, bytes: &[u8]) -> std::result::Result<Rows, String> {
        let start = usize::try_from(self.offset).unwrap_or(usize::MAX);
        let bytes = bytes.get(start..).ok_or("a deletion vector beyond its file")?;
        let (size, rows) = parse_stored(bytes)?;
        // Beside the vector its size and its checksum.
        if self.size != size as u64 + 8 || self.rows != count(&rows) {
            return Err("a deletion vector of another size than its manifest says".to_owned());
        }
        Ok(rows)
    }
}

/// Collects what files of positions delete.
pub struct Positions<'a> {
    /// Number and sequence of the files that have no vector, which would count instead.
    files: HashMap<&'a str, (usize, i64)>,
    rows: HashMap<usize, Vec<u64>>,
    count: usize,
}

impl<'a> Positions<'a> {
    /// Of the files of this table.
    #[must_use]
    pub fn new(table: &'a Table) -> Self {
        let files = table.files.iter().zip(&table.origins).enumerate();
        let files = files.filter(|(_, (file, _))| file.deleted.is_none());
        let files = files.map(|(place, (_, (path, sequence)))| (path.as_str(), (place, *sequence)));
        Self { files: files.collect(), rows: HashMap::new(), count: 0 }
    }

    /// Rows of `file` that it deletes: their files, and their numbers in these.
    ///
    /// # Errors
    /// More rows than there is memory for, and a negative number.
    pub fn add<'p>(
        &mut self,
        file: &PositionFile,
        rows: impl Iterator<Item = (&'p str, i64)>,
    ) -> Result<()> {
        let wrong = |kind, message: &str| {
            let source = file.input.name();
            Error::file(kind, message).at(|place| place.source.clone_from(&source))
        };
        for (path, row) in rows {
            let Some(&(place, sequence)) = self.files.get(path) else { continue };
            if sequence > file.sequence {
                continue;
            }
            let row = u64::try_from(row).map_err(|_| {
                wrong(FileErrorKind::Corrupt, "a deleted row with a negative number")
            })?;
            self.count += 1;
            if self.count > POSITIONS_MAX {
                let message = format!("more than {POSITIONS_MAX} deleted rows in all files");
                return Err(wrong(FileErrorKind::Limit, &message));
            }
            self.rows.entry(place).or_default().push(row);
        }
        Ok(())
    }

    /// The deleted rows of files, by their numbers in the table.
    #[must_use]
    pub fn finish(self) -> Vec<(usize, Rows)> {
        let ranges = |mut rows: Vec<u64>| -> Rows {
            rows.sort_unstable();
            let mut ranges: Vec<Range<u64>> = Vec::new();
            for row in rows {
                match ranges.last_mut() {
                    Some(last) if row < last.end => {}
                    Some(last) if row == last.end => last.end += 1,
                    _ => ranges.push(row..row.saturating_add(1)),
                }
            }
            ranges.into()
        };
        self.rows.into_iter().map(|(place, rows)| (place, ranges(rows))).collect()
    }
}
