// SPDX-License-Identifier: Apache-2.0
//! A Parquet file through a circuit and through engine `cpu`.

use arrow_array::ArrayRef;
use arrow_array::RecordBatch;
use arrowsmith_core::Limits;
use arrowsmith_engine_cpu::parquet::{ColumnOptions, FieldDecoder};
use arrowsmith_engine_rtl::MemoryProfile;
use arrowsmith_engine_rtl::Verilator;
use arrowsmith_engine_rtl::parquet::{Circuit, Measured, ParquetError};
use arrowsmith_parquet::{Column, File, ReadOptions, ReadPlan};
use arrowsmith_rtlgen::parquet::Options;
use bytes::Bytes;

/// A file and what is read of it.
pub struct Case {
    pub file: File,
    pub plan: ReadPlan,
}

impl Case {
    pub fn open(bytes: Bytes) -> Result<Self, String> {
        let file = File::open(bytes, &Limits::default()).map_err(|error| error.to_string())?;
        let plan =
            ReadPlan::new(&file, &ReadOptions::default()).map_err(|error| error.to_string())?;
        Ok(Self { file, plan })
    }

    /// A row group as read by engine `cpu`.
    pub fn expected(&self, row_group: usize) -> Result<RecordBatch, String> {
        let arrays = self.plan.fields.iter().map(|field| self.expected_field(row_group, field));
        let arrays = arrays.collect::<Result<Vec<ArrayRef>, String>>()?;
        RecordBatch::try_new(self.plan.schema.clone(), arrays).map_err(|error| error.to_string())
    }

    /// One column of it as read by engine `cpu`.
    pub fn expected_field(&self, row_group: usize, field: &Column) -> Result<ArrayRef, String> {
        let decode = || {
            let rows = self.file.row_group_rows(row_group)?;
            let options = ColumnOptions::default();
            FieldDecoder::new(&self.file, row_group, field, None, options)?.next(rows)
        };
        decode().map_err(|error: arrowsmith_core::Error| error.to_string())
    }
}

pub fn engine(verilator: &Verilator, case: &Case) -> Result<Circuit, ParquetError> {
    Circuit::new(verilator, &case.file, &case.plan, &Options::default())
}

/// All row groups, equal to engine `cpu`'s; their cost.
pub fn check(verilator: &Verilator, case: &Case, memory: &MemoryProfile) -> Result<String, String> {
    let engine = engine(verilator, case).map_err(|error| error.to_string())?;
    let mut reader = engine.start(memory).map_err(|error| error.to_string())?;
    let mut all = Measured::default();
    for row_group in 0..case.file.row_groups() {
        let expected = case.expected(row_group);
        match (reader.read(&case.file, row_group), expected) {
            (Ok((batch, took)), Ok(expected)) => {
                if batch != expected {
                    return Err(format!(
                        "row group {row_group} differs: {}",
                        first_difference(&batch, &expected)
                    ));
                }
                all.add(&took);
            }
            (Err(ParquetError::Data { .. } | ParquetError::Array(..)), Err(_)) => {}
            (Err(error), _) => return Err(error.to_string()),
            (Ok(_), Err(why)) => return Err(format!("is read, and engine cpu reports: {why}")),
        }
    }
    Ok(format!(
        "{} rows, {} -> {} bytes, {} cycles, {:.1} in/cycle, {:.1} out/cycle",
        all.rows,
        all.input_bytes,
        all.output_bytes,
        all.cycles,
        all.input_bytes_a_cycle(),
        all.output_bytes_a_cycle()
    ))
}

pub fn first_difference(found: &RecordBatch, expected: &RecordBatch) -> String {
    for (index, (found, expected)) in found.columns().iter().zip(expected.columns()).enumerate() {
        for row in 0..found.len().min(expected.len()) {
            if found.slice(row, 1) != expected.slice(row, 1) {
                return format!(
                    "column {index}, row {row}: {:?}, expected {:?}",
                    found.slice(row, 1),
                    expected.slice(row, 1)
                );
            }
        }
    }
    "in length".into()
}
