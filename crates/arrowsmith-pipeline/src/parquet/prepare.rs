// SPDX-License-Identifier: Apache-2.0
//! What is read of one file: which columns, by which engine, and the values of columns that the
//! file does not have.
//!
//! The first file gives the schema of all, and a schema that is given the columns that it lacks. In
//! the others columns are found by name; one that is missing is null, in conditions, too; one of
//! another type is cast, and a value out of range is an error. A table may know its columns by ids:
//! then its schema is that of all, and files are read as if they had its names. A part of several
//! files has the schema of them all.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef};
use arrowsmith_core::{Error, FileErrorKind, Limits, Result};
use arrowsmith_engine::{Chain, ColumnDecoder, ColumnRequest, Engine};
use arrowsmith_parquet::{
    Budget, Claim, Column, ColumnMapping, Columns, File, Filter, Predicate, ReadOptions, ReadPlan,
    RowSelection, count_rows, uncounted_column,
};
use arrowsmith_source::DataFile;
use arrowsmith_source::deletion_vector::Rows;

use super::Explanation;
use super::conform::conforms;
use super::explain::{ColumnNote, ColumnSource};
use super::field::{FieldTask, Stream};
use super::input::{self, Opened};
use super::late::{self, LateColumns};
use super::portion::Window;
use super::table::{Requested, has_path, is_within};
use crate::decide::{always, never};
use crate::partition::Partitions;

/// The request for all files.
#[derive(Clone)]
pub(crate) struct Request {
    pub(crate) options: ReadOptions,
    pub(crate) filter: Option<Predicate>,
    pub(crate) row_groups: Option<Vec<usize>>,
    /// The engines: the first that does not decline a column decodes it.
    pub(crate) engine: Chain,
    pub(crate) limits: Limits,
    /// Rows that are read, counted over the row groups that are; `None`: all.
    pub(crate) rows: Option<RowSelection>,
    pub(crate) partitions: Partitions,
    /// The columns that there are, whichever of them the first file has.
    pub(crate) schema: Option<SchemaRef>,
    /// How they are found in the files.
    pub(crate) mapping: ColumnMapping,
    /// Whether the columns and their types are exactly these, whatever the first file has.
    pub(crate) is_exact: bool,
    pub(crate) late: LateColumns,
    /// The places of its columns, by their names.
    pub(crate) places: HashMap<String, usize>,
    /// Whether there are several files, so that a column may be null in one of the others.
    pub(crate) many: bool,
}

/// A file, ready to be read.
pub(crate) struct Prepared {
    pub(crate) opened: Opened,
    /// The columns that are decoded.
    plan: ReadPlan,
    options: ReadOptions,
    engine: Chain,
    /// The source of each field of the batches.
    sources: Vec<Source>,
    pub(crate) schema: SchemaRef,
    pub(crate) condition: Condition,
    /// The rows that are not part of the table any more, and where each row group begins.
    deleted: Option<(Rows, Vec<u64>)>,
}

/// The condition on a file's rows.
pub(crate) enum Condition {
    /// Anything.
    All,
    /// No row is read.
    None,
    /// Rows for which this holds.
    Some(Box<FilterPlan>),
}

/// A condition with its columns.
pub(crate) struct FilterPlan {
    pub(crate) filter: Filter,
    pub(crate) plan: ReadPlan,
}

#[derive(Clone)]
enum Source {
    /// A column of the plan, by its number, and what helps if a value does not fit.
    Column(usize, &'static str),
    Null,
    Constant(ArrayRef),
}

impl Prepared {
    /// Opens a file. `schema` is that of the first one, which has none yet.
    pub(crate) fn new(
        file: DataFile,
        request: &Request,
        schema: Option<&SchemaRef>,
    ) -> Result<Self> {
        let values = request.partitions.values(&file)?;
        let DataFile { input, deleted, .. } = file;
        let mut opened = input::open(input, &request.limits)?;
        let source = opened.file.name().cloned();
        let named = |error: Error| error.at(|place| place.source = source.clone());
        if let Some(table) = &request.schema {
            let renamed = opened.file.with_names_of(table.fields(), request.mapping);
            opened.file = renamed.map_err(named)?;
        }
        let mut options = request.options.clone();
        if let Some(columns) = &mut options.columns {
            columns.retain(|column| !request.partitions.has(column));
        }
        let is_absent = |path: &str| request.is_absent(&opened.file, path, schema.is_none());
        let mut plan = ReadPlan::new(&opened.file, &options);
        if plan.is_err() {
            if let Some(columns) = &mut options.columns {
                let absent: Vec<String> = columns.extract_if(.., |path| is_absent(path)).collect();
                for path in absent {
                    let ancestor = ancestor(&opened.file, &path).filter(|ancestor| {
                        !columns.iter().any(|column| is_within(column, ancestor))
                    });
                    columns.extend(ancestor.map(str::to_owned));
                }
            }
            if let Columns::Paths(columns) = &mut options.dictionary {
                columns.retain(|column| !is_absent(column));
            }
            plan = ReadPlan::new(&opened.file, &options);
        }
        let mut plan = plan?;
        // A folder's name takes precedence over the same column in the file.
        retain(&mut plan, |name| !request.partitions.has(name));
        let known = if request.is_exact { request.schema.as_ref() } else { schema };
        if let Some(known) = known.filter(|_| request.fails_late()) {
            late::check(&plan, known, request.requested()).map_err(named)?;
        }
        if request.is_mapped() || request.is_exact {
            // A column that a table does not know has been dropped.
            retain(&mut plan, |name| request.in_schema(name).is_some());
        }
        let schema = match schema {
            Some(schema) => Arc::clone(schema),
            None => first_schema(&plan, request),
        };
        let sources = sources(&plan, &schema, request, &values).map_err(named)?;
        let condition = condition(&opened.file, request, &values, is_absent)?;
        let decoded = plan.fields.iter().chain(match &condition {
            Condition::Some(condition) => condition.plan.fields.as_slice(),
            Condition::All | Condition::None => &[],
        });
        let deleted = match deleted {
            Some(rows) => Some((rows, starts(&opened.file)?)),
            None => None,
        };
        // A column that no engine decodes is an error before any is decoded.
        let engine = request.engine.clone();
        for column in decoded {
            engine.decide_parquet(&opened.file, column, &options)?;
        }
        Ok(Self { opened, plan, options, engine, sources, schema, condition, deleted })
    }

    /// Ranges of the file that the fields need in a row group.
    pub(crate) fn ranges(&self, plan: &ReadPlan, row_group: usize) -> Result<Vec<Range<u64>>> {
        plan.ranges(&self.opened.file, row_group)
    }

    /// The rows of a row group that were not deleted; `None`: all of them.
    pub(crate) fn left(&self, row_group: usize) -> Result<Option<RowSelection>> {
        let Some((deleted, starts)) = &self.deleted else { return Ok(None) };
        let first = starts.get(row_group).copied().unwrap_or(u64::MAX);
        let end = first.saturating_add(self.opened.file.row_group_rows(row_group)? as u64);
        let place = |row: u64| usize::try_from(row.clamp(first, end) - first).unwrap_or(usize::MAX);
        let from = deleted.partition_point(|range| range.end <= first);
        let to = deleted.partition_point(|range| range.start < end);
        let gone = deleted.get(from..to).unwrap_or_default();
        let starts = std::iter::once(first).chain(gone.iter().map(|range| range.end));
        let ends = gone.iter().map(|range| range.start).chain(std::iter::once(end));
        let left = starts.zip(ends).map(|(start, end)| place(start)..place(end));
        Ok(Some(RowSelection::from_ranges(left)))
    }

    /// Checks the number of rows of a row group, if no decoded column would.
    pub(crate) fn check_rows(&self, row_group: usize) -> Result<()> {
        let file = &self.opened.file;
        let decoded = self.sources.iter().any(|source| matches!(source, Source::Column(..)));
        if decoded || matches!(self.condition, Condition::Some(_)) {
            return Ok(());
        }
        if let Some(leaf) = uncounted_column(file, row_group)? {
            let here = self.opened.with(vec![file.chunk_range(row_group, leaf)?])?;
            count_rows(&here, row_group, leaf)?;
        }
        Ok(())
    }

    /// The memory budget of a plan's columns while a row group is decoded, as a part of a claim.
    pub(crate) fn budget(
        &self,
        plan: &ReadPlan,
        row_group: usize,
        claim: &Arc<Claim>,
    ) -> Result<Arc<Budget>> {
        let ranges = self.ranges(plan, row_group)?.into_iter();
        let stored = ranges.map(|range| range.end - range.start).fold(0, u64::saturating_add);
        Ok(Budget::new(self.opened.file.limits(), stored, claim))
    }

    /// The file with the page indexes of a plan's columns in memory, if it has any.
    pub(crate) fn with_indexes(&self, plan: &ReadPlan, row_group: usize) -> Result<File> {
        let file = &self.opened.file;
        let mut ranges = Vec::new();
        for leaf in plan.leaves() {
            let chunk = file.chunk(row_group, leaf)?;
            for (offset, length) in [
                (chunk.offset_index_offset(), chunk.offset_index_length()),
                (chunk.column_index_offset(), chunk.column_index_length()),
            ] {
                let range = offset.zip(length).and_then(|(offset, length)| {
                    let start = u64::try_from(offset).ok()?;
                    Some(start..start.checked_add(u64::try_from(length).ok()?)?)
                });
                ranges.extend(range.filter(|range| range.end <= file.file_bytes()));
            }
        }
        self.opened.with(ranges)
    }

    /// The columns that are decoded.
    pub(crate) fn plan(&self) -> &ReadPlan {
        &self.plan
    }

    /// Starts decoding the fields of the batches, over the rows of a window.
    pub(crate) fn fields(
        self: &Arc<Self>,
        file: &File,
        window: &Arc<Window>,
    ) -> Result<Vec<FieldTask>> {
        let mut tasks = Vec::with_capacity(self.sources.len());
        for (source, field) in self.sources.iter().zip(self.schema.fields()) {
            let mask = (window.selection.rows(), window.mask.clone());
            tasks.push(match source {
                Source::Null => {
                    let stream = Stream::Null(field.data_type().clone());
                    FieldTask::new(stream, field, field.data_type(), mask, 0)
                }
                Source::Constant(value) => {
                    let stream = Stream::Constant(Arc::clone(value));
                    FieldTask::new(stream, field, field.data_type(), mask, 0)
                }
                Source::Column(index, remedy) => {
                    let column = &self.plan.fields[*index];
                    let (this, opened, rows) = (Arc::clone(self), file.clone(), Arc::clone(window));
                    let index = *index;
                    let stream = Stream::Closed(Box::new(move || {
                        this.open(&opened, &this.plan.fields[index], &rows)
                    }));
                    let (mut stored, mut plain) = (0, 0_u64);
                    for leaf in column.leaves() {
                        let range = file.chunk_range(window.row_group, leaf.index)?;
                        stored += range.end - range.start;
                        let chunk = file.chunk(window.row_group, leaf.index)?;
                        let size = u64::try_from(chunk.uncompressed_size()).unwrap_or(0);
                        plain = plain.saturating_add(size);
                    }
                    let mut task = FieldTask::new(stream, field, column.data_type(), mask, stored);
                    task.weight = plain;
                    task.in_file(file.name(), window.row_group).with_remedy(remedy)
                }
            });
        }
        Ok(tasks)
    }

    /// Starts decoding one column.
    pub(crate) fn open(
        &self,
        file: &File,
        column: &Column,
        window: &Window,
    ) -> Result<Box<dyn ColumnDecoder>> {
        let request = ColumnRequest {
            file,
            row_group: window.row_group,
            column,
            selection: Some(&window.selection),
            batch_rows: window.batch_rows,
            options: &self.options,
            budget: &window.budget,
        };
        self.engine.column(&request)
    }

    /// The explanation, by this file.
    pub(crate) fn explain(&self, request: &Request, files: usize) -> Result<Explanation> {
        let file = &self.opened.file;
        let mut columns = Vec::with_capacity(self.sources.len());
        for (source, field) in self.sources.iter().zip(self.schema.fields()) {
            let mut how = None;
            let by = match source {
                Source::Null => ColumnSource::Missing,
                Source::Constant(_) => ColumnSource::Folders,
                Source::Column(index, _) => {
                    let column = &self.plan.fields[*index];
                    let decision = self.engine.decide_parquet(file, column, &self.options)?;
                    how = self.engine.describe(&decision, file, column);
                    ColumnSource::Engine(decision)
                }
            };
            let data_type = field.data_type().to_string();
            columns.push(ColumnNote { name: field.name().clone(), data_type, by, how });
        }
        let mut left = 0;
        for row_group in 0..file.row_groups() {
            let wanted =
                request.row_groups.as_ref().is_none_or(|wanted| wanted.contains(&row_group));
            let may = match &self.condition {
                Condition::All => true,
                Condition::None => false,
                Condition::Some(plan) => !plan.filter.prune(file, row_group)?.is_empty(),
            };
            left += usize::from(wanted && may);
        }
        Ok(Explanation {
            columns,
            plan: self.plan.to_string(),
            filter: request.filter.as_ref().map(Predicate::to_string),
            row_groups: (file.row_groups(), left),
            files,
        })
    }
}

impl Request {
    /// The column of this name in the given schema.
    fn in_schema(&self, name: &str) -> Option<&FieldRef> {
        let place = self.places.get(name).copied()?;
        self.schema.as_ref()?.fields().get(place)
    }

    /// Whether the names of columns are those of a table, and not those of its files.
    fn is_mapped(&self) -> bool {
        self.schema.is_some() && self.mapping != ColumnMapping::None
    }

    /// Whether columns that the first file lacks are an error: of a table, none is late.
    fn fails_late(&self) -> bool {
        self.late == LateColumns::Error && (self.schema.is_none() || self.is_exact)
    }

    fn requested(&self) -> Requested<'_> {
        Requested(self.options.columns.as_deref())
    }

    /// Whether a file lacks a column that there is in others: it is null there. What the first file
    /// lacks is an error, unless the given schema has it.
    fn is_absent(&self, file: &File, path: &str, is_first: bool) -> bool {
        let is_known = match &self.schema {
            Some(schema) => has_path(schema.fields(), path),
            None => !is_first,
        };
        is_known && !has_column(file, path)
    }
}

/// Leaves columns out of a plan.
fn retain(plan: &mut ReadPlan, is_read: impl Fn(&str) -> bool) {
    let is_read = |column: &Column| is_read(column.field().name());
    if plan.fields.iter().all(is_read) {
        return;
    }
    plan.fields.retain(is_read);
    let fields = plan.fields.iter().map(|column| Arc::clone(column.field()));
    let fields: Vec<FieldRef> = fields.collect();
    plan.schema = Arc::new(Schema::new_with_metadata(fields, plan.schema.metadata().clone()));
}

/// What a file has of a path that it lacks: the struct whose rows say where the path is null
/// because there is nothing around it.
fn ancestor<'a>(file: &File, path: &'a str) -> Option<&'a str> {
    let ends = path.rmatch_indices('.').map(|(at, _)| &path[..at]);
    let mut ends = ends.filter(|path| has_column(file, path));
    ends.next()
}

pub(super) fn has_column(file: &File, path: &str) -> bool {
    let alone = ReadOptions::default().with_columns([path]);
    !matches!(ReadPlan::new(file, &alone), Err(Error::Config(_)))
}

/// The schema of all batches, by the first file: its columns, those that it lacks of a table, and
/// partition columns, in the order of the table if there is one.
fn first_schema(plan: &ReadPlan, request: &Request) -> SchemaRef {
    let requested = request.requested();
    let field = |field: &FieldRef| {
        let table = request.in_schema(field.name());
        if let Some(exact) =
            table.filter(|_| request.is_exact).and_then(|table| requested.of(table))
        {
            return exact;
        }
        let nullable = field.is_nullable() || request.many;
        let data_type = match table {
            Some(table) => requested.evolved(field.data_type(), table),
            None => field.data_type().clone(),
        };
        Arc::new(field.as_ref().clone().with_data_type(data_type).with_nullable(nullable))
    };
    let mut fields: Vec<FieldRef> = plan.schema.fields().iter().map(field).collect();
    let table = request.schema.iter().flat_map(|schema| schema.fields());
    let known: HashSet<&str> = plan.schema.fields().iter().map(|field| &**field.name()).collect();
    let is_absent = |field: &&FieldRef| {
        !known.contains(field.name().as_str()) && !request.partitions.has(field.name())
    };
    fields.extend(table.clone().filter(is_absent).filter_map(|field| requested.of(field)));
    let partitions = request.partitions.fields.iter();
    fields.extend(partitions.filter_map(|field| requested.of(field)));
    if request.schema.is_some() {
        let places: HashMap<&str, usize> = match &request.options.columns {
            Some(columns) => columns.iter().map(String::as_str).zip(0..).collect(),
            None => table.map(|field| field.name().as_str()).zip(0..).collect(),
        };
        fields.sort_by_cached_key(|field| {
            let place = places.get(field.name().as_str()).copied();
            place.or_else(|| requested.place(field.name())).unwrap_or(usize::MAX)
        });
    }
    let metadata = match &request.schema {
        Some(schema) if request.is_exact => schema.metadata().clone(),
        Some(_) if request.is_mapped() => HashMap::new(),
        _ => plan.schema.metadata().clone(),
    };
    Arc::new(Schema::new_with_metadata(fields, metadata))
}

/// The first row of each row group.
fn starts(file: &File) -> Result<Vec<u64>> {
    let mut next = 0_u64;
    let start = |row_group| {
        let start = next;
        next = next.saturating_add(file.row_group_rows(row_group)? as u64);
        Ok(start)
    };
    (0..file.row_groups()).map(start).collect()
}

fn sources(
    plan: &ReadPlan,
    schema: &SchemaRef,
    request: &Request,
    values: &[ArrayRef],
) -> Result<Vec<Source>> {
    let mut places = HashMap::with_capacity(plan.fields.len());
    for (index, column) in plan.fields.iter().enumerate() {
        places.entry(column.field().name().as_str()).or_insert(index);
    }
    let source = |field: &FieldRef| {
        let place = request.partitions.fields.iter().position(|known| known.name() == field.name());
        if let Some(value) = place.and_then(|place| values.get(place)) {
            return Ok(Source::Constant(Arc::clone(value)));
        }
        let Some(&index) = places.get(field.name().as_str()) else { return missing(field) };
        let remedy = fits(plan.fields[index].data_type(), field, request)?;
        Ok(Source::Column(index, remedy))
    };
    schema.fields().iter().map(source).collect()
}

fn missing(field: &Field) -> Result<Source> {
    if field.is_nullable() {
        return Ok(Source::Null);
    }
    let message = format!("the file has no column {}, which may not be null", field.name());
    Err(Error::file(FileErrorKind::Unsupported, message))
}

/// Checks that a column can be made that of the schema; returns what helps if one of its values
/// cannot.
fn fits(stored: &DataType, field: &Field, request: &Request) -> Result<&'static str> {
    let (name, wanted) = (field.name(), field.data_type());
    if stored == wanted {
        return Ok("");
    }
    let remedy = match request.schema.is_none() && late::merged_type(wanted, stored) != *wanted {
        true => "; --late-columns add looks at all files before any row",
        false => "",
    };
    if conforms(stored, wanted) {
        return Ok(remedy);
    }
    let message = format!("column {name} is {stored}, in the first file it is {wanted}{remedy}");
    Err(Error::file(FileErrorKind::Unsupported, message))
}

fn condition(
    file: &File,
    request: &Request,
    values: &[ArrayRef],
    is_absent: impl Fn(&str) -> bool,
) -> Result<Condition> {
    let Some(predicate) = &request.filter else { return Ok(Condition::All) };
    let partitions = &request.partitions;
    let mut absent = predicate.columns();
    absent.retain(|path| !partitions.has(path) && is_absent(path));
    let predicate = partitions.decide(predicate, values, &absent)?;
    if always(&predicate) {
        return Ok(Condition::All);
    }
    if never(&predicate) {
        return Ok(Condition::None);
    }
    let columns: Vec<String> = predicate.columns().into_iter().map(str::to_owned).collect();
    let mut options = request.options.clone().with_columns(columns);
    // A dictionary would only be unpacked again.
    options.dictionary = Columns::None;
    let plan = ReadPlan::new(file, &options)?;
    let filter = Filter::new(&predicate, &plan)?;
    Ok(Condition::Some(Box::new(FilterPlan { filter, plan })))
}
