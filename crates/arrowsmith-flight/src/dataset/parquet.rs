// SPDX-License-Identifier: Apache-2.0
//! Parquet files as a dataset: their footers are read once, their values on request, by
//! Arrowsmith's own reader.

use std::collections::HashSet;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::RecordBatchReader;
use arrow_schema::{Schema, SchemaRef};
use arrowsmith::parquet::{
    EXTENSIONS, File, LateColumns, ParquetReader, ReadOptions, ReadPlan, ReaderBuilder, open_file,
};
use arrowsmith::{DataFile, Error, Input, Limits, ParquetReadOptions, Result, expand_datasets};

use super::identity::{Identity, Watched, version};
use super::{Batches, Content, Read, Snapshot, split};

/// Minimum and maximum rows of a batch.
const BATCH_ROWS: Range<usize> = 1 << 10..128 << 10;

/// Approximate maximum size of a decompressed page.
const PAGE_BYTES: u64 = 1 << 20;

#[derive(Debug)]
struct FileEntry {
    path: PathBuf,
    identity: Identity,
    partitions: Vec<(String, Option<String>)>,
    row_groups: Vec<usize>,
}

/// The files, in order.
#[derive(Debug)]
pub(crate) struct Files {
    files: Vec<FileEntry>,
    /// Types of the partition columns in folder names.
    partition_types: Option<SchemaRef>,
    /// Columns that are in the files.
    columns: Vec<Size>,
    /// Whether all files have the same columns and types: any of them can be the first of a part
    /// then.
    alike: bool,
}

/// A top-level column's sizes.
#[derive(Debug)]
struct Size {
    name: String,
    /// Arrow bytes of a row, about.
    row_bytes: u64,
    /// Bytes of its pages that are in memory at a time.
    page_bytes: u64,
}

/// The share of one reader: whole files, or row groups of one.
#[derive(Debug, PartialEq)]
enum Run {
    Files(Range<usize>),
    Groups(usize, Vec<usize>),
}

impl Files {
    pub(super) fn open(paths: &[PathBuf]) -> Result<Snapshot> {
        let found = expand_datasets(paths, EXTENSIONS)?;
        let mut files = Vec::with_capacity(found.len());
        let (mut rows, mut bytes, mut sizes, mut alike) = (0, 0, Vec::<Size>::new(), true);
        let mut columns = None;
        for DataFile { input, partitions, .. } in found {
            let Input::Path(path) = input else {
                return Err(Error::Config("only files can be served".to_owned()));
            };
            let identity = Identity::at(&path)?;
            let file = open_file(Input::Path(path.clone()), &Limits::default())?;
            bytes += file.file_bytes();
            // Bounded: by the footer, which has each of them.
            let mut row_groups = Vec::with_capacity(file.row_groups());
            for group in 0..file.row_groups() {
                let count = file.row_group_rows(group)?;
                rows += count as u64;
                row_groups.push(count);
            }
            let its = ReadPlan::new(&file, &ReadOptions::default())?.schema;
            let first = columns.get_or_insert_with(|| Arc::clone(&its));
            if sizes.is_empty() {
                sizes = column_sizes(&file);
            } else if first.fields() != its.fields() {
                alike = false;
                let known: HashSet<String> = sizes.iter().map(|size| size.name.clone()).collect();
                sizes.extend(
                    column_sizes(&file).into_iter().filter(|its| !known.contains(&its.name)),
                );
            }
            files.push(FileEntry { path, identity, partitions, row_groups });
        }
        let mut files = Self { files, partition_types: None, columns: sizes, alike };
        let all = 0..files.files.len();
        // The partition columns' types depend on all values: this reader sees them all and decodes
        // nothing.
        let none = ParquetReadOptions {
            limit: Some(0),
            threads: Some(1),
            late_columns: LateColumns::Add,
            ..ParquetReadOptions::default()
        };
        let schema = ReaderBuilder::new().options(none).open(files.data(all)?)?.schema();
        let partitioned = files.files.first().map_or(0, |file| file.partitions.len());
        let first = schema.fields().len().saturating_sub(partitioned);
        let types: Vec<_> = schema.fields().iter().skip(first).cloned().collect();
        files.partition_types = Some(Arc::new(Schema::new(types)));
        Ok(Snapshot {
            version: version(files.files.iter().map(|file| (&file.path, &file.identity))),
            schema,
            rows: Some(rows),
            bytes: Some(bytes),
            content: Content::Parquet(files),
        })
    }

    fn data(&self, range: Range<usize>) -> Result<Vec<DataFile>> {
        let files = self.files.get(range).ok_or_else(|| Error::Config("no such files".into()))?;
        let data = |file: &FileEntry| DataFile {
            input: Input::Path(file.path.clone()),
            partitions: file.partitions.clone(),
            deleted: None,
        };
        Ok(files.iter().map(data).collect())
    }

    pub(super) fn units(&self) -> usize {
        if !self.alike {
            return 1;
        }
        self.files.iter().map(|file| file.row_groups.len()).sum()
    }

    fn sizes(&self, columns: Option<&[String]>) -> impl Iterator<Item = &Size> {
        self.columns.iter().filter(move |size| columns.is_none_or(|all| all.contains(&size.name)))
    }

    pub(super) fn read_bytes(&self, columns: Option<&[String]>) -> u64 {
        self.sizes(columns).map(|size| size.page_bytes).sum()
    }

    /// Bytes of a row, about.
    fn row_bytes(&self, columns: Option<&[String]>) -> u64 {
        self.sizes(columns).map(|size| size.row_bytes).sum()
    }

    pub(super) fn read(&self, read: &Read) -> Result<Batches> {
        let batch_rows = usize::try_from(
            read.batch_bytes as u64 / self.row_bytes(read.columns.as_deref()).max(1),
        );
        // Whole bytes of bit maps, so that slices need no shifting.
        let batch_rows = batch_rows.unwrap_or(0).clamp(BATCH_ROWS.start, BATCH_ROWS.end) & !63;
        let runs = self.runs(read.part, read.parts);
        let readers = runs.iter().map(|run| self.reader(run, read, batch_rows));
        let mut readers = readers.collect::<Result<Vec<_>>>()?.into_iter();
        // The first one is opened here, so that an invalid request is reported at once.
        let mut open = readers.next().map(Opener::open).transpose()?;
        let mut done = false;
        Ok(Box::new(std::iter::from_fn(move || {
            while !done {
                let (reader, watched) = open.as_mut()?;
                let next = reader.next_batch().and_then(|batch| match batch {
                    Some(batch) => Ok(Some(batch)),
                    None => watched.after().map(|()| None),
                });
                match next {
                    Ok(Some(batch)) => return Some(Ok(batch)),
                    Ok(None) => match readers.next().map(Opener::open).transpose() {
                        Ok(next) => open = next,
                        Err(error) => {
                            done = true;
                            return Some(Err(error));
                        }
                    },
                    Err(error) => {
                        done = true;
                        return Some(Err(error));
                    }
                }
            }
            None
        })))
    }

    fn reader(&self, run: &Run, read: &Read, rows: usize) -> Result<Opener> {
        let mut options = ParquetReadOptions {
            columns: read.columns.clone(),
            partitions: self.partition_types.clone(),
            filter: read.filter.clone(),
            limit: read.limit,
            threads: Some(read.threads.max(1)),
            batch_rows: Some(rows),
            late_columns: if self.alike { LateColumns::Error } else { LateColumns::Add },
            ..ParquetReadOptions::default()
        };
        let builder =
            |options| ReaderBuilder::new().options(options).cancel(Arc::clone(&read.cancel));
        Ok(match run {
            Run::Files(range) => Opener {
                builder: builder(options),
                files: self.data(range.clone())?,
                watched: self.watched(range.clone()),
            },
            Run::Groups(file, groups) => {
                options.row_groups = Some(groups.clone());
                Opener {
                    builder: builder(options),
                    files: self.data(*file..file + 1)?,
                    watched: self.watched(*file..file + 1),
                }
            }
        })
    }

    fn watched(&self, range: Range<usize>) -> Watched {
        let files = self.files.get(range).unwrap_or_default();
        Watched::new(files.iter().map(|file| (file.path.clone(), file.identity)))
    }

    /// The shares of the readers of a part.
    fn runs(&self, part: usize, parts: usize) -> Vec<Run> {
        if parts <= 1 {
            return vec![Run::Files(0..self.files.len())];
        }
        let units: Vec<(usize, usize, usize)> = self
            .files
            .iter()
            .enumerate()
            .flat_map(|(file, entry)| {
                entry.row_groups.iter().enumerate().map(move |(group, rows)| (file, group, *rows))
            })
            .collect();
        let range = split(units.iter().map(|(_, _, rows)| *rows), part, parts);
        let mut runs: Vec<Run> = Vec::new();
        for unit in units.get(range).unwrap_or_default().chunk_by(|a, b| a.0 == b.0) {
            let Some((file, _, _)) = unit.first() else { continue };
            let whole = self.files.get(*file).is_some_and(|f| f.row_groups.len() == unit.len());
            match runs.last_mut() {
                Some(Run::Files(range)) if whole && range.end == *file => range.end += 1,
                _ if whole => runs.push(Run::Files(*file..file + 1)),
                _ => {
                    let groups = unit.iter().map(|(_, group, _)| *group).collect();
                    runs.push(Run::Groups(*file, groups));
                }
            }
        }
        runs
    }
}

/// A reader that is opened when it is its turn.
struct Opener {
    builder: ReaderBuilder,
    files: Vec<DataFile>,
    watched: Watched,
}

impl Opener {
    fn open(self) -> Result<(ParquetReader, Watched)> {
        // A file that replaced it meanwhile is detected by its content, or by this.
        let reader = self.builder.open(self.files);
        self.watched.before()?;
        Ok((reader?, self.watched))
    }
}

/// Sizes of the top-level columns, by the footer.
fn column_sizes(file: &File) -> Vec<Size> {
    let metadata = file.metadata();
    let rows = u64::try_from(metadata.file_metadata().num_rows()).unwrap_or(0).max(1);
    let mut sizes: Vec<Size> = Vec::new();
    let schema = metadata.file_metadata().schema_descr();
    for (leaf, column) in schema.columns().iter().enumerate() {
        let name = column.path().parts().first().cloned().unwrap_or_default();
        let chunks = metadata.row_groups().iter().filter_map(|group| group.columns().get(leaf));
        let chunks = chunks.map(|chunk| u64::try_from(chunk.uncompressed_size()).unwrap_or(0));
        let (largest, stored) = chunks
            .fold((0, 0_u64), |(max, sum), bytes| (bytes.max(max), sum.saturating_add(bytes)));
        // Encoded values are smaller than Arrow's; most types take at least eight bytes.
        let row_bytes = (stored / rows).max(8);
        // A page, and the dictionary, which is no larger.
        let page_bytes = 2 * largest.min(PAGE_BYTES);
        match sizes.last_mut() {
            Some(size) if size.name == name => {
                size.row_bytes += row_bytes;
                size.page_bytes += page_bytes;
            }
            _ => sizes.push(Size { name, row_bytes, page_bytes }),
        }
    }
    sizes
}
