// SPDX-License-Identifier: Apache-2.0
//! Parquet column chunks through a generated circuit: a row group in, a record batch out, with the
//! cycles it took.
//!
//! Software reads the footer and says what is decoded ([`columns`]); the circuit reads page
//! headers, levels and values and writes Arrow's buffers; software puts arrays around them and
//! checks that text is UTF-8. The same rows and errors as engine `cpu`, for the columns that a
//! circuit has: others are refused by name, before anything is compiled.

mod columns;
mod per_column;

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, make_array};
use arrow_buffer::Buffer;
use arrow_data::ArrayData;
use arrow_schema::{ArrowError, Schema, SchemaRef};
use arrowsmith_parquet::{Column, File, Leaf, ReadPlan};
use arrowsmith_rtlgen::library::with_library;
use arrowsmith_rtlgen::parquet::{Design, Kind, Options, generate};

pub use arrowsmith_rtlgen::graph::Refusal;
pub use columns::{column, columns};
pub use per_column::{Circuits, Counts};

use crate::converter::{Converter, Fault, Input, Outcome, Session};
use crate::{MemoryProfile, RtlError, Verilator};

/// Bytes of all buffers of a row group, at most: a footer can promise any number of rows, and a
/// dictionary can expand to any length.
const CAPACITY_MAX: u64 = 1 << 31;

/// What a circuit calls a full buffer.
const CODE_CAPACITY: u32 = 2;

/// The reason a row group was not read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ParquetError {
    /// A circuit cannot be generated for these columns.
    #[error("no circuit: {0}")]
    Refused(#[from] Refusal),
    /// The column chunk is invalid: the circuit's fault, and the column.
    #[error(
        "row group {row_group}, column {column}, page at byte {} of the chunk: {}",
        fault.position,
        meaning(fault.code)
    )]
    Data {
        /// The column's path.
        column: String,
        /// The row group.
        row_group: usize,
        /// The fault, and its offset in the chunk.
        fault: Fault,
    },
    /// Text that is not UTF-8, or invalid offsets: Arrow's message.
    #[error("column {0}: {1}")]
    Array(String, #[source] ArrowError),
    /// The file's metadata is invalid.
    #[error(transparent)]
    File(#[from] arrowsmith_core::Error),
    /// The circuit does not run.
    #[error(transparent)]
    Rtl(#[from] RtlError),
}

/// The meaning of a code of the register `error_code`.
pub fn meaning(code: u32) -> &'static str {
    arrowsmith_rtlgen::parquet::fault(code).unwrap_or("an unknown code")
}

/// The cost of a row group.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Measured {
    /// Rows.
    pub rows: u64,
    /// Bytes of the column chunks.
    pub input_bytes: u64,
    /// Bytes of the Arrow buffers that were written.
    pub output_bytes: u64,
    /// Cycles from start to done.
    pub cycles: u64,
    /// Of them, cycles in which a column waited for input.
    pub stall_input: u64,
    /// Of them, cycles in which a column waited for memory to take output.
    pub stall_output: u64,
}

impl Measured {
    /// Adds the counts of another run, made after this one.
    pub fn add(&mut self, other: &Self) {
        self.rows += other.rows;
        self.input_bytes += other.input_bytes;
        self.output_bytes += other.output_bytes;
        self.cycles += other.cycles;
        self.stall_input += other.stall_input;
        self.stall_output += other.stall_output;
    }

    /// Bytes of column chunks per cycle.
    pub fn input_bytes_a_cycle(&self) -> f64 {
        self.input_bytes as f64 / self.cycles.max(1) as f64
    }

    /// Bytes of Arrow buffers per cycle.
    pub fn output_bytes_a_cycle(&self) -> f64 {
        self.output_bytes as f64 / self.cycles.max(1) as f64
    }
}

/// A circuit for the columns of a plan.
#[derive(Debug)]
pub struct Circuit {
    converter: Converter,
    design: Design,
    leaves: Vec<Leaf>,
    schema: SchemaRef,
}

/// A running circuit.
#[derive(Debug)]
pub struct Reader<'a> {
    circuit: &'a Circuit,
    session: Session,
}

impl Circuit {
    /// Generates and compiles the circuit for the columns that a plan reads of a file.
    ///
    /// # Errors
    ///
    /// Columns that a circuit does not support; errors of Verilator.
    pub fn new(
        verilator: &Verilator,
        file: &File,
        plan: &ReadPlan,
        options: &Options,
    ) -> Result<Self, ParquetError> {
        let design = generate(&columns(file, plan)?, options)?;
        Self::of_design(verilator, design, plan)
    }

    /// Compiles a design that was generated for [`columns`] of this plan.
    ///
    /// # Errors
    ///
    /// Errors of Verilator; a plan of other columns.
    pub fn of_design(
        verilator: &Verilator,
        design: Design,
        plan: &ReadPlan,
    ) -> Result<Self, ParquetError> {
        let leaves: Vec<Leaf> = plan.fields.iter().flat_map(Column::leaves).cloned().collect();
        if leaves.len() != design.columns.len() {
            let reason = "has another number of columns than the circuit".to_owned();
            return Err(Refusal { path: "plan".into(), reason }.into());
        }
        let converter = Converter::compile(
            verilator,
            &design.top,
            design.schema_hash,
            &with_library(&design.files),
        )?;
        Ok(Self { converter, design, leaves, schema: plan.schema.clone() })
    }

    /// Generates and compiles the circuit for one column of a file, with all encodings, so that it
    /// serves every column of its kind; or takes it from the cache.
    ///
    /// # Errors
    ///
    /// A column that a circuit does not support; errors of Verilator.
    pub fn of_column(
        verilator: &Verilator,
        file: &File,
        field: &Column,
        options: &Options,
    ) -> Result<Self, ParquetError> {
        let leaves: Vec<Leaf> = field.leaves().into_iter().cloned().collect();
        let stored = column(file, field)?;
        let alike = arrowsmith_rtlgen::parquet::Column {
            snappy: stored.snappy,
            ..arrowsmith_rtlgen::parquet::Column::new("column", stored.kind, stored.nullable)
        };
        let design = generate(&[alike], options)?;
        let converter = Converter::compile(
            verilator,
            &design.top,
            design.schema_hash,
            &with_library(&design.files),
        )?;
        let schema = Arc::new(Schema::new(vec![Arc::clone(field.field())]));
        Ok(Self { converter, design, leaves, schema })
    }

    /// The circuit.
    pub fn design(&self) -> &Design {
        &self.design
    }

    /// Starts it on a memory.
    ///
    /// # Errors
    ///
    /// The process does not start.
    pub fn start(&self, memory: &MemoryProfile) -> Result<Reader<'_>, ParquetError> {
        Ok(Reader { circuit: self, session: self.converter.start(memory)? })
    }
}

impl Reader<'_> {
    /// One row group of a file, as the plan reads it.
    ///
    /// # Errors
    ///
    /// Invalid data, a circuit that does not run.
    pub fn read(
        &mut self,
        file: &File,
        row_group: usize,
    ) -> Result<(RecordBatch, Measured), ParquetError> {
        let rows = file.row_group_rows(row_group)?;
        let mut chunks = Vec::new();
        let mut bytes = Vec::new();
        for leaf in &self.circuit.leaves {
            chunks.push(file.slice(file.chunk_range(row_group, leaf.index)?)?);
            let whole = file.chunk(row_group, leaf.index)?.uncompressed_size();
            bytes.push(u64::try_from(whole).unwrap_or(0));
        }
        let inputs: Vec<Input<'_>> = chunks
            .iter()
            .enumerate()
            .map(|(index, chunk)| Input {
                bytes: chunk,
                items: rows as u64,
                // As in the file: chunks begin at any address.
                misalignment: u32::try_from(index * 1236 % 4096).unwrap_or(0),
            })
            .collect();
        let outcome = self.convert(&inputs, rows as u64, &bytes)?;
        if let Some(fault) = outcome.fault {
            let column = self.circuit.leaves.get(fault.unit as usize);
            let column = column.map_or_else(String::new, |leaf| leaf.path.clone());
            return Err(ParquetError::Data { column, row_group, fault });
        }
        let measured = Measured {
            rows: rows as u64,
            input_bytes: chunks.iter().map(|chunk| chunk.len() as u64).sum(),
            output_bytes: outcome.buffers.iter().map(|buffer| buffer.len() as u64).sum(),
            cycles: outcome.cycles,
            stall_input: outcome.stall_input,
            stall_output: outcome.stall_output,
        };
        let arrays = self.arrays(rows, outcome.buffers)?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let batch =
            RecordBatch::try_new_with_options(self.circuit.schema.clone(), arrays, &options);
        batch
            .map(|batch| (batch, measured))
            .map_err(|error| ParquetError::Array("of the batch".into(), error))
    }

    /// Runs the circuit, with larger buffers while a dictionary makes more bytes than the pages
    /// had.
    fn convert(
        &mut self,
        inputs: &[Input<'_>],
        rows: u64,
        bytes: &[u64],
    ) -> Result<Outcome, ParquetError> {
        let mut room = 1_u64;
        loop {
            let mut capacities = Vec::new();
            for (column, bytes) in self.circuit.design.columns.iter().zip(bytes) {
                let whole = |bytes: u64| bytes.next_multiple_of(64).min(CAPACITY_MAX);
                if column.nullable {
                    capacities.push(whole(rows.div_ceil(64) * 8));
                }
                match column.kind {
                    Kind::Bits32 => capacities.push(whole(rows * 4)),
                    Kind::Bits64 => capacities.push(whole(rows * 8)),
                    Kind::Bytes => {
                        capacities.push(whole((rows + 1) * 4));
                        capacities.push(whole((bytes + 64).saturating_mul(room)));
                    }
                }
            }
            let all: u64 = capacities.iter().sum();
            if all > CAPACITY_MAX {
                let reason = format!("a row group needs buffers of {all} bytes");
                return Err(Refusal { path: "row group".into(), reason }.into());
            }
            let outcome = self.session.run(inputs, &capacities)?;
            let full = outcome.fault.is_some_and(|fault| fault.code == CODE_CAPACITY);
            let most = bytes.iter().copied().max().unwrap_or(0);
            if !full || most.saturating_mul(room) >= CAPACITY_MAX / 4 {
                return Ok(outcome);
            }
            room *= 4;
        }
    }

    fn arrays(&self, rows: usize, buffers: Vec<Vec<u8>>) -> Result<Vec<ArrayRef>, ParquetError> {
        let mut buffers = buffers.into_iter();
        let mut arrays: Vec<ArrayRef> = Vec::new();
        for (column, leaf) in self.circuit.design.columns.iter().zip(&self.circuit.leaves) {
            let mut next = || Buffer::from(buffers.next().unwrap_or_default());
            let mut data = ArrayData::builder(leaf.field.data_type().clone()).len(rows);
            if column.nullable {
                data = data.null_bit_buffer(Some(next()));
            }
            data = data.add_buffer(next());
            if column.kind == Kind::Bytes {
                data = data.add_buffer(next());
            }
            // All invariants are checked, including UTF-8; words may be unaligned for Arrow.
            let data = data.align_buffers(true).build();
            let data = data.map_err(|error| ParquetError::Array(leaf.path.clone(), error))?;
            arrays.push(Arc::clone(&make_array(data)));
        }
        Ok(arrays)
    }
}
