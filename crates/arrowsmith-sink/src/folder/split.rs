// SPDX-License-Identifier: Apache-2.0
//! [`Partitioner`]: which rows of a batch belong to which folder.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{RecordBatch, UInt32Array};
use arrow_row::{RowConverter, SortField};
use arrow_schema::SchemaRef;
use arrow_select::take::take_record_batch;
use arrowsmith_core::{Error, Result};

use super::FolderOptions;
use super::partition::Partition;

/// Rows of one folder, without the columns that its name has.
pub(super) struct Share {
    /// The number of the folder.
    pub(super) folder: usize,
    pub(super) batch: RecordBatch,
}

/// Distributes rows over folders, which are numbered in the order in which they appear.
pub struct Partitioner {
    /// What the folders are named after, and the positions of the columns.
    levels: Vec<(Partition, usize)>,
    /// Columns of the files.
    kept: Vec<usize>,
    schema: SchemaRef,
    converter: RowConverter,
    numbers: HashMap<Box<[u8]>, usize>,
    paths: Vec<String>,
    folders_max: usize,
}

impl Partitioner {
    /// For batches of this schema.
    ///
    /// # Errors
    /// [`Error::Schema`] for a partition by a column that does not exist or has an unsuitable type.
    pub fn new(schema: &SchemaRef, options: &FolderOptions) -> Result<Self> {
        let mut levels: Vec<(Partition, usize)> = Vec::new();
        let mut fields = Vec::new();
        for partition in &options.partition_by {
            let (at, field) = schema.column_with_name(partition.column()).ok_or_else(|| {
                Error::schema(partition.column(), "there is no such column to partition by")
            })?;
            partition.check(field.data_type())?;
            if levels.iter().any(|(other, _)| other.name() == partition.name()) {
                return Err(Error::schema(partition.column(), "is a partition already"));
            }
            let empty = arrow_array::new_empty_array(field.data_type());
            let data_type = partition.keys(&empty)?.data_type().clone();
            fields.push(SortField::new(data_type));
            levels.push((partition.clone(), at));
        }
        let in_name = |at: usize| {
            let is_of = |(level, of): &(Partition, usize)| *of == at && level.is_whole();
            !options.keeps_columns && levels.iter().any(is_of)
        };
        let kept: Vec<usize> = (0..schema.fields().len()).filter(|at| !in_name(*at)).collect();
        if kept.is_empty() && !levels.is_empty() {
            return Err(Error::schema("", "no column is left for the files"));
        }
        let schema = Arc::new(schema.project(&kept)?);
        // Readers would see one of the two.
        let is_other =
            |(level, _): &&(Partition, usize)| !options.keeps_columns || !level.is_whole();
        let twice = levels.iter().filter(is_other).map(|(level, _)| (level, level.name()));
        if let Some((level, name)) =
            twice.into_iter().find(|(_, name)| schema.index_of(name).is_ok())
        {
            let message =
                format!("is a column of the files and the name of the folders by {level}");
            return Err(Error::schema(name, message));
        }
        Ok(Self {
            schema,
            levels,
            kept,
            converter: RowConverter::new(fields)?,
            numbers: HashMap::new(),
            paths: Vec::new(),
            folders_max: options.partitions_max,
        })
    }

    /// The schema of the files.
    pub(super) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The path of a folder, relative to the outermost, with a `/` at its end, or empty.
    pub(super) fn path(&self, folder: usize) -> String {
        self.paths.get(folder).cloned().unwrap_or_default()
    }

    /// The folders so far, in the order in which they appeared, each with a `/` at its end.
    pub fn folders(&self) -> &[String] {
        &self.paths
    }

    /// Takes the folders of a batch for known, without distributing its rows.
    ///
    /// # Errors
    /// [`Error::Config`] for more folders than [`FolderOptions::partitions_max`], [`Error::Schema`]
    /// for a value without a text, such as a date beyond the calendar. Some of the batch's folders
    /// are known then.
    pub fn add(&mut self, batch: &RecordBatch) -> Result<()> {
        if self.levels.is_empty() { Ok(()) } else { self.rows(batch).map(drop) }
    }

    /// The rows of each folder, in the order in which the folders appear in the batch.
    pub(super) fn split(&mut self, batch: &RecordBatch) -> Result<Vec<Share>> {
        let kept = batch.project(&self.kept)?;
        if self.levels.is_empty() {
            return Ok(vec![Share { folder: 0, batch: kept }]);
        }
        let rows = self.rows(batch)?;
        if let [(folder, _)] = rows.as_slice() {
            return Ok(vec![Share { folder: *folder, batch: kept }]);
        }
        let shares = rows.into_iter().map(|(folder, rows)| {
            let batch = take_record_batch(&kept, &UInt32Array::from(rows))?;
            Ok(Share { folder, batch })
        });
        shares.collect()
    }

    /// The folders of a batch and their rows.
    fn rows(&mut self, batch: &RecordBatch) -> Result<Vec<(usize, Vec<u32>)>> {
        let keys = self.levels.iter().map(|(level, at)| level.keys(batch.column(*at)));
        let keys = keys.collect::<Result<Vec<_>>>()?;
        let encoded = self.converter.convert_columns(&keys)?;
        let mut found: Vec<(usize, Vec<u32>)> = Vec::new();
        // Where the folders of this batch are in `found`.
        let mut places: HashMap<usize, usize> = HashMap::new();
        // Rows of a folder often follow each other.
        let mut last: Option<(&[u8], usize)> = None;
        for (at, row) in (0_u32..).zip(encoded.iter()) {
            let key = row.data();
            let place = match last {
                Some((previous, place)) if previous == key => place,
                _ => {
                    let folder = match self.numbers.get(key) {
                        Some(folder) => *folder,
                        None => self.add_folder(key, &keys, at as usize)?,
                    };
                    *places.entry(folder).or_insert_with(|| {
                        found.push((folder, Vec::new()));
                        found.len() - 1
                    })
                }
            };
            last = Some((key, place));
            found[place].1.push(at);
        }
        Ok(found)
    }

    /// Adds a folder; returns its number.
    fn add_folder(
        &mut self,
        key: &[u8],
        keys: &[arrow_array::ArrayRef],
        row: usize,
    ) -> Result<usize> {
        if self.paths.len() >= self.folders_max {
            let by: Vec<String> = self.levels.iter().map(|(level, _)| level.to_string()).collect();
            return Err(Error::Config(format!(
                "more than {} partitions by {}: name columns with fewer values, or raise partitions_max",
                self.folders_max,
                by.join(",")
            )));
        }
        let mut path = String::new();
        for ((level, _), keys) in self.levels.iter().zip(keys) {
            path.push_str(&level.folder(keys, row)?);
            path.push('/');
        }
        let number = self.paths.len();
        self.paths.push(path);
        self.numbers.insert(key.into(), number);
        Ok(number)
    }
}
