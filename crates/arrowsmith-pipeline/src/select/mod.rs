// SPDX-License-Identifier: Apache-2.0
//! Selects the rows and columns that leave a pipeline: a condition keeps some of the decoded rows,
//! columns of origin (partitions, file, record) and what the schema has no column for are added,
//! and columns that only the condition needed are dropped.
//!
//! A [`Select`] knows the inputs and the options; [`Bound`] is the same for one schema of the
//! decoder. Workers apply it to each batch, so it runs in parallel. What needs the order of the
//! input (`skip`, `limit`, numbers of records) is a [`Window`], for the consumer.

mod bound;
mod condition;
mod flatten;
mod rescue;
mod window;

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef};
use arrowsmith_core::{Error, Reject, Result};
use arrowsmith_json::rescue::Rescuer;
use arrowsmith_parquet::Predicate;
use arrowsmith_plan::{Plan, ROOT_METADATA_KEY};
use arrowsmith_source::DataFile;

use self::bound::{Bound, Origin, Starts};
use self::rescue::Records;
pub(crate) use self::window::Window;
use crate::cut::Piece;
use crate::decide::never;
use crate::partition::Partitions;
use crate::work::Output;

/// What is wanted of the rows.
#[derive(Debug, Clone, Default)]
pub struct SelectOptions {
    /// Only rows for which this is true.
    pub filter: Option<Predicate>,
    /// The columns to keep, as paths; partition columns may be among them. None keeps all.
    pub columns: Option<Vec<String>>,
    /// Types of partition columns; those of the others are inferred.
    pub partition_types: Vec<FieldRef>,
    /// The name of a column with what the schema lacks of a record, as a JSON object.
    pub rescued_column: Option<String>,
    /// The name of a column with the name of the input that a row comes from.
    pub file_column: Option<String>,
    /// The name of a column with the byte of the input at which the record starts.
    pub offset_column: Option<String>,
    /// The name of a column with the number of the record in its input, from 0.
    pub record_column: Option<String>,
    /// Whether the fields of objects become columns.
    pub flatten: bool,
}

/// Which rows and columns leave a pipeline.
#[derive(Debug, Clone, Default)]
pub struct Select {
    options: SelectOptions,
    partitions: Partitions,
    /// Values of the partition columns by input, as arrays of one row.
    values: Vec<Vec<ArrayRef>>,
    /// Finds what the schema lacks, if that is wanted.
    rescuer: Option<Rescuer>,
    /// Whether columns to keep may be missing for now.
    grows: bool,
}

impl SelectOptions {
    /// The names of the columns that are added, besides those of partitions.
    fn added(&self) -> impl Iterator<Item = &String> {
        let Self { rescued_column, file_column, offset_column, record_column, .. } = self;
        [rescued_column, file_column, offset_column, record_column].into_iter().flatten()
    }
}

impl Select {
    /// What is wanted of the rows of `files`. Files of which the condition keeps no row, by their
    /// partition values alone, are removed; one stays, as a schema may be inferred from it.
    ///
    /// # Errors
    /// Files with other partition names, values that are not of their type, and a condition that
    /// compares a partition column with what it is not.
    pub fn new(files: &mut Vec<DataFile>, options: SelectOptions) -> Result<Self> {
        let partitions = Partitions::new(files, &options.partition_types)?;
        for name in options.added() {
            if partitions.has(name) {
                return Err(Error::Config(format!("folders give values of {name} already")));
            }
        }
        let mut values = Vec::new();
        if !partitions.fields.is_empty() {
            values =
                files.iter().map(|file| partitions.values(file)).collect::<Result<Vec<_>>>()?;
            if let Some(filter) = &options.filter {
                let decided = values.iter().map(|row| partitions.decide(filter, row, &[]));
                let decided = decided.collect::<Result<Vec<_>>>()?;
                let mut wanted: Vec<bool> = decided.iter().map(|left| !never(left)).collect();
                if let (true, Some(first)) = (!wanted.contains(&true), wanted.first_mut()) {
                    *first = true;
                }
                let mut keep = wanted.iter();
                files.retain(|_| keep.next().is_some_and(|keep| *keep));
                let mut keep = wanted.iter();
                values.retain(|_| keep.next().is_some_and(|keep| *keep));
            }
        }
        Ok(Self { options, partitions, values, rescuer: None, grows: false })
    }

    /// Takes columns to keep that a schema lacks as those that a later one may have.
    #[must_use]
    pub fn growing(mut self) -> Self {
        self.grows = true;
        self
    }

    /// With all that the schema has, whichever of its columns are decoded: the rest is for the
    /// column of what it lacks.
    pub fn known(mut self, plan: &Plan) -> Self {
        self.rescuer = self.options.rescued_column.is_some().then(|| Rescuer::new(plan));
        self
    }

    /// Whether every row leaves as it was decoded.
    #[must_use]
    pub fn is_everything(&self) -> bool {
        let added = self.options.added().next().is_some();
        let changed = self.options.flatten || self.grows;
        self.options.filter.is_none() && !added && !changed && self.partitions.fields.is_empty()
    }

    /// Whether the last column counts records.
    pub(crate) fn counts_records(&self) -> bool {
        self.options.record_column.is_some()
    }

    /// The columns to decode, as paths: those that are kept, and those of the condition as far as
    /// the schema has them. None stands for all.
    #[must_use]
    pub fn decoded_columns(&self, schema: &Schema) -> Option<Vec<String>> {
        let mut columns = self.kept_columns(schema)?;
        let asked = self.options.filter.iter().flat_map(Predicate::columns);
        columns.extend(asked.flat_map(|path| condition::quoted(path, schema)));
        Some(columns)
    }

    /// Whether the schema lacks a column that is selected, or one of the condition beside those.
    #[must_use]
    pub fn lacks(&self, schema: &Schema) -> bool {
        let asked = self.options.filter.iter().flat_map(Predicate::columns);
        let mut condition = asked.filter(|path| !self.is_added(path));
        self.options.columns.is_some()
            && (self.selected_columns().any(|path| !Plan::has_column(schema, path))
                || condition.any(|path| condition::fields(path, schema).is_empty()))
    }

    /// That a schema of the decoder has all columns to keep.
    ///
    /// # Errors
    /// The first one that it lacks.
    pub(crate) fn check(&self, decoded: &SchemaRef) -> Result<()> {
        let columns: Vec<&String> = self.selected_columns().collect();
        Plan::with_columns(decoded, &columns).map(drop)
    }

    /// The columns that the options select of what is decoded.
    fn selected_columns(&self) -> impl Iterator<Item = &String> {
        self.options.columns.iter().flatten().filter(|path| !self.is_added(path))
    }

    /// The columns to keep of what is decoded.
    fn kept_columns(&self, schema: &Schema) -> Option<Vec<String>> {
        self.options.columns.as_ref()?;
        let kept = self.selected_columns();
        Some(kept.filter(|path| !self.grows || Plan::has_column(schema, path)).cloned().collect())
    }

    /// Whether a column comes from elsewhere than the text.
    fn is_added(&self, name: &str) -> bool {
        self.partitions.has(name) || self.options.added().any(|added| added == name)
    }

    /// The columns that are added, in order.
    fn added(&self) -> Vec<FieldRef> {
        let SelectOptions { columns, rescued_column, file_column, .. } = &self.options;
        let SelectOptions { offset_column, record_column, .. } = &self.options;
        let asked = |field: &&FieldRef| {
            columns.as_ref().is_none_or(|columns| columns.contains(field.name()))
        };
        let mut fields: Vec<_> = self.partitions.fields.iter().filter(asked).cloned().collect();
        if let Some(name) = rescued_column {
            fields.push(Arc::new(rescue::field(name)));
        }
        if let Some(name) = file_column {
            fields.push(Arc::new(Field::new(name, DataType::Utf8, true)));
        }
        for name in [offset_column, record_column].into_iter().flatten() {
            fields.push(Arc::new(Field::new(name, DataType::Int64, false)));
        }
        fields
    }

    /// What is kept of decoded batches of this schema. A folder's name counts more than a key of
    /// the same name.
    fn kept_schema(&self, decoded: &SchemaRef) -> Result<SchemaRef> {
        let kept = match self.kept_columns(decoded) {
            Some(columns) => Arc::clone(Plan::with_columns(decoded, &columns)?.schema()),
            None => Arc::clone(decoded),
        };
        if !kept.fields().iter().any(|field| self.partitions.has(field.name())) {
            return Ok(kept);
        }
        let fields = kept.fields().iter().filter(|field| !self.partitions.has(field.name()));
        let fields: Vec<FieldRef> = fields.cloned().collect();
        Ok(Arc::new(Schema::new_with_metadata(fields, kept.metadata().clone())))
    }

    /// The schema of what leaves, by that of the decoder.
    ///
    /// # Errors
    /// A column that is kept and not there, and one to be added that is there already.
    pub fn schema(&self, decoded: &SchemaRef) -> Result<SchemaRef> {
        self.with_added(&self.flat_schema(&self.kept_schema(decoded)?)?)
    }

    fn flat_schema(&self, kept: &SchemaRef) -> Result<SchemaRef> {
        if self.options.flatten { flatten::schema(kept) } else { Ok(Arc::clone(kept)) }
    }

    fn with_added(&self, kept: &SchemaRef) -> Result<SchemaRef> {
        let added = self.added();
        if added.is_empty() {
            return Ok(Arc::clone(kept));
        }
        let mut fields: Vec<FieldRef> = kept.fields().iter().cloned().collect();
        for field in added {
            if fields.iter().any(|other| other.name() == field.name()) {
                let message = format!("there is a column {} already", field.name());
                return Err(Error::Config(format!("{message}: give the added one another name")));
            }
            fields.push(field);
        }
        let mut metadata = kept.metadata().clone();
        // With another column a record is not a single value any more.
        metadata.remove(ROOT_METADATA_KEY);
        Ok(Arc::new(Schema::new_with_metadata(fields, metadata)))
    }

    /// Whether the condition means the same with both schemas of the decoder.
    pub(crate) fn is_same_condition(&self, one: &Schema, other: &Schema) -> bool {
        self.options.filter.iter().flat_map(Predicate::columns).all(|path| {
            self.is_added(path) || condition::fields(path, one) == condition::fields(path, other)
        })
    }

    /// What is done with batches of a schema.
    ///
    /// # Errors
    /// As [`Select::schema`]; a condition that the columns do not suit.
    pub(crate) fn bind(&self, decoded: &SchemaRef) -> Result<Bound> {
        let kept = self.kept_schema(decoded)?;
        let to = self.with_added(&self.flat_schema(&kept)?)?;
        let filter = self.options.filter.as_ref();
        let condition = filter.map(|filter| self.condition(filter, decoded)).transpose()?;
        Ok(Bound { from: Arc::clone(decoded), kept, to, condition })
    }
}

/// What was decoded of a piece.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Part<'a> {
    /// The text, from its first record on.
    pub(crate) text: &'a [u8],
    /// Whether the decoder counts values that the schema has no column for.
    pub(crate) counted: bool,
}

/// Applies a [`Select`] for one worker.
pub(crate) struct Selector {
    select: Arc<Select>,
    bound: Option<Bound>,
    /// Whether the consumer needs to know which record a row was.
    numbered: bool,
    /// Whether a condition that does not suit the schema may suit a later one.
    grows: bool,
}

impl Selector {
    pub(crate) fn new(select: Arc<Select>, numbered: bool, grows: bool) -> Self {
        let SelectOptions { rescued_column, offset_column, record_column, .. } = &select.options;
        let added = [rescued_column, offset_column, record_column];
        let numbered = numbered || added.into_iter().any(Option::is_some);
        Self { select, bound: None, numbered, grows }
    }

    /// Replaces the batches of an output, all of a part of one piece, by what leaves of them.
    pub(crate) fn apply(&mut self, output: &mut Output, piece: &Piece, part: Part<'_>) {
        let complete = rescue::nothing_left_out(output, part.counted);
        if self.select.rescuer.is_some() {
            (output.report.left_out, output.report.left_out_key) = (0, None);
        }
        let doubtful = rescue::doubtful(&output.report.rejects);
        let decoded = std::mem::take(&mut output.batches);
        let rows: usize = decoded.iter().map(RecordBatch::num_rows).sum();
        let mut numbers = self.numbered.then(|| numbers(rows, &output.report.rejects));
        for batch in decoded {
            let rows = batch.num_rows();
            let own = numbers.as_mut().map(|all| {
                let own = all.slice(0, rows.min(all.len()));
                *all = all.slice(own.len(), all.len() - own.len());
                own
            });
            let (text, framing, doubtful) = (part.text, piece.framing, &doubtful[..]);
            let records = (!complete).then_some(Records { text, framing, doubtful });
            let starts = Starts { text, piece };
            if let Err(error) = self.one(&batch, own, output, piece, (records, starts)) {
                if self.grows {
                    output.refused = Some(error);
                } else {
                    (output.error, output.next) = (Some(error), None);
                }
                return;
            }
        }
    }

    fn one(
        &mut self,
        batch: &RecordBatch,
        numbers: Option<Int64Array>,
        output: &mut Output,
        piece: &Piece,
        (records, starts): (Option<Records<'_>>, Starts<'_>),
    ) -> Result<()> {
        let schema = batch.schema_ref();
        let bound = match &mut self.bound {
            Some(bound) if Arc::ptr_eq(&bound.from, schema) || bound.from == *schema => bound,
            bound => bound.insert(self.select.bind(schema)?),
        };
        let source = usize::try_from(piece.source_number).unwrap_or(usize::MAX);
        let values = self.select.values.get(source).map_or(&[][..], Vec::as_slice);
        let origin = Origin { values, name: piece.source.as_deref(), records, starts };
        bound.apply(&self.select, batch, numbers, &origin, output)
    }
}

/// The number of the record of each row, counted as the decoder does: some records gave no row.
fn numbers(rows: usize, rejects: &[Reject]) -> Int64Array {
    let mut skipped = rejects
        .iter()
        .filter(|reject| !reject.kept_as_null)
        .map(|reject| reject.error.position.record)
        .peekable();
    let mut next = 0;
    let mut number = || {
        while skipped.next_if_eq(&next).is_some() {
            next += 1;
        }
        next += 1;
        i64::try_from(next - 1).unwrap_or(i64::MAX)
    };
    Int64Array::from_iter_values((0..rows).map(|_| number()))
}
