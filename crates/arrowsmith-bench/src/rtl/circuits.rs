// SPDX-License-Identifier: Apache-2.0
//! The circuits of the report: their sources, and the cycles of a simulated run.

use std::sync::Arc;

use ::parquet::arrow::ArrowWriter;
use ::parquet::basic::Encoding;
use ::parquet::file::properties::{WriterProperties, WriterVersion};
use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch, StringArray};
use arrowsmith_core::{Chunk, DecodeOptions, Framing, Limits};
use arrowsmith_engine::{Chain, Engine};
use arrowsmith_engine_cpu::CpuEngine;
use arrowsmith_engine_rtl::RtlEngine;
use arrowsmith_engine_rtl::{MemoryProfile, Verilator, parquet};
use arrowsmith_parquet::{File, ReadOptions, ReadPlan};
use arrowsmith_plan::Plan;
use arrowsmith_rtlgen::json::{Shape, generate};
use arrowsmith_rtlgen::library::with_library;
use arrowsmith_rtlgen::parquet as rtl_parquet;
use arrowsmith_workload::{Generator, Workload};

use super::model::Run;
use super::synthesis::Sources;
use crate::check::arrow_bytes;

/// Maximum values of a list, in the simulated JSON.
const VALUES_MAX: u32 = 64;

/// The synthesized parts of a JSON circuit: one parser up to its writers, and the complete circuit
/// with writers, memory and registers.
pub(crate) fn json_sources(plan: &Plan, shape: Shape) -> Result<[Sources; 2], String> {
    let design = generate(plan, "records", shape).map_err(|error| error.to_string())?;
    let mut files = with_library(&design.files);
    let device = Sources { top: design.top.clone(), files: files.clone() };
    files.retain(|(name, _)| !name.ends_with("_top.sv") && !name.ends_with("as_json_device.sv"));
    Ok([Sources { top: "records_parser".to_owned(), files }, device])
}

/// Runs generated records through the circuit of a workload and compares every value with the
/// engine `cpu`.
pub(crate) fn run_json(
    workload: Workload,
    shape: Shape,
    memory: MemoryProfile,
    bytes: usize,
) -> Result<Run, String> {
    let say = |error: arrowsmith_core::Error| error.to_string();
    let mut text = Vec::new();
    Generator::new(workload, 1, VALUES_MAX).fill(bytes, &mut text);
    let plan = Arc::new(Plan::new(Arc::new(workload.schema())).map_err(say)?);
    let cpu = Chain::of(CpuEngine::default());
    let circuit = RtlEngine::default().with_shape(shape).with_memory(memory);
    let with_cpu = Chain::of(circuit.clone()).then(&cpu);
    let decode = |engine: &dyn Engine| {
        let mut decoder = engine.decoder(&plan, &DecodeOptions::default())?;
        decoder.decode(&Chunk::new(&text, Framing::Lines))?;
        decoder.flush()
    };
    let found = decode(&with_cpu).map_err(say)?;
    if found != decode(&cpu).map_err(say)? {
        return Err("the circuit and the engine cpu differ".to_owned());
    }
    let counts = circuit.statistics().counts();
    if counts.handed_back > 0 {
        return Err(format!("{} records were read by software", counts.handed_back));
    }
    Ok(Run {
        input_bytes: counts.bytes,
        output_bytes: found.iter().map(arrow_bytes).sum::<Result<u64, String>>()?,
        cycles: counts.cycles,
        starved: counts.starved,
        blocked: counts.blocked,
        write_bursts: counts.write_bursts,
    })
}

/// The columns of the Parquet paper's Table I with a circuit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ColumnCase {
    /// Numbers of 64 bits, PLAIN.
    Plain,
    /// Numbers of 64 bits, DELTA_BINARY_PACKED.
    Delta,
    /// Strings, DELTA_LENGTH_BYTE_ARRAY.
    Strings,
    /// Numbers of 64 bits, nullable, in all encodings of a circuit, as real files have them.
    Everything,
}

impl ColumnCase {
    pub(crate) const ALL: [Self; 4] = [Self::Plain, Self::Delta, Self::Strings, Self::Everything];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Plain => "int64, plain",
            Self::Delta => "int64, delta",
            Self::Strings => "utf8, delta length",
            Self::Everything => "int64, nulls, plain, delta and dictionary",
        }
    }

    fn column(self) -> rtl_parquet::Column {
        let kind = match self {
            Self::Strings => rtl_parquet::Kind::Bytes,
            Self::Plain | Self::Delta | Self::Everything => rtl_parquet::Kind::Bits64,
        };
        let all = self == Self::Everything;
        rtl_parquet::Column {
            plain: all || self == Self::Plain,
            delta: all || self != Self::Plain,
            dictionary: all,
            ..rtl_parquet::Column::new("values", kind, all)
        }
    }

    /// A file of the column: numbers below 2^20 and strings of 1 to 12 letters, by a fixed rule.
    fn file(self, rows: usize) -> Result<Vec<u8>, String> {
        // Any mixing is sufficient: Knuth's multiplier.
        let mixed = |row: usize| (row as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        let number = |row| i64::try_from(mixed(row) % (1 << 20)).unwrap_or(0);
        let column: ArrayRef = match self {
            Self::Strings => Arc::new(StringArray::from_iter_values((0..rows).map(|row| {
                let length = usize::try_from(mixed(row) % 12 + 1).unwrap_or(1);
                "abcdefghijkl"[..length].to_owned()
            }))),
            Self::Plain | Self::Delta => {
                Arc::new(Int64Array::from_iter_values((0..rows).map(number)))
            }
            Self::Everything => Arc::new(
                (0..rows)
                    .map(|row| (row % 5 != 0).then(|| number(row) % 1000))
                    .collect::<Int64Array>(),
            ),
        };
        let encoding = match self {
            Self::Plain | Self::Everything => Encoding::PLAIN,
            Self::Delta => Encoding::DELTA_BINARY_PACKED,
            Self::Strings => Encoding::DELTA_LENGTH_BYTE_ARRAY,
        };
        let properties = WriterProperties::builder()
            .set_writer_version(WriterVersion::PARQUET_1_0)
            .set_dictionary_enabled(self == Self::Everything)
            .set_encoding(encoding)
            .build();
        let nullable = self == Self::Everything;
        let field = arrow_schema::Field::new("values", column.data_type().clone(), nullable);
        let schema = Arc::new(arrow_schema::Schema::new(vec![field]));
        let say = |error: ::parquet::errors::ParquetError| error.to_string();
        let batch =
            RecordBatch::try_new(schema, vec![column]).map_err(|error| error.to_string())?;
        let mut written = Vec::new();
        let mut writer =
            ArrowWriter::try_new(&mut written, batch.schema(), Some(properties)).map_err(say)?;
        writer.write(&batch).map_err(say)?;
        writer.close().map_err(say)?;
        Ok(written)
    }

    fn design(self) -> Result<rtl_parquet::Design, String> {
        let options = rtl_parquet::Options::default();
        rtl_parquet::generate(&[self.column()], &options).map_err(|error| error.to_string())
    }

    /// The converter of this column only, with memory and registers.
    pub(crate) fn sources(self) -> Result<Sources, String> {
        let design = self.design()?;
        Ok(Sources { top: design.top.clone(), files: with_library(&design.files) })
    }

    /// Reads a file of the column through that converter.
    pub(crate) fn run(self, memory: &MemoryProfile, rows: usize) -> Result<Run, String> {
        let say = |error: parquet::ParquetError| error.to_string();
        let file = File::open(self.file(rows)?.into(), &Limits::default());
        let file = file.map_err(|error| error.to_string())?;
        let plan = ReadPlan::new(&file, &ReadOptions::default());
        let plan = plan.map_err(|error| error.to_string())?;
        let verilator = Verilator::find().map_err(|error| error.to_string())?;
        let engine = parquet::Circuit::of_design(&verilator, self.design()?, &plan).map_err(say)?;
        let mut reader = engine.start(memory).map_err(say)?;
        let mut run = Run::default();
        for row_group in 0..file.row_groups() {
            let (_, took) = reader.read(&file, row_group).map_err(say)?;
            run.input_bytes += took.input_bytes;
            run.output_bytes += took.output_bytes;
            run.cycles += took.cycles;
            run.starved += took.stall_input;
            run.blocked += took.stall_output;
        }
        Ok(run)
    }
}
