// SPDX-License-Identifier: Apache-2.0
//! `arrowsmith rtl` for Parquet: circuits for the columns of a schema or a file, and the simulation
//! of a file's columns, one by one.
//!
//! It decodes nothing itself.

use std::fs;
use std::io::{self, Read, Write};
use std::path::Path;

use arrow_array::ArrayRef;
use arrowsmith_core::{Error, Limits, Result, whole};
use arrowsmith_engine_cpu::parquet::{ColumnOptions, FieldDecoder};
use arrowsmith_engine_rtl::Verilator;
use arrowsmith_engine_rtl::parquet::{Circuits, Measured, ParquetError, column, columns};
use arrowsmith_parquet::{Column, File, ReadOptions, ReadPlan};
use arrowsmith_rtlgen::parquet::{Design, Options, columns_of_schema, generate};

use super::args::{CircuitArgs, GenerateArgs, RtlWriters, SimulateArgs};
use crate::failure::{Failure, Outcome};
use crate::schema;

/// The requested circuit.
pub(super) fn design(args: &GenerateArgs, schema: &str) -> Outcome<Design> {
    check(&args.circuit)?;
    let columns = if is_parquet(schema) {
        let (file, plan) = open(Path::new(schema))?;
        columns(&file, &plan)
    } else {
        columns_of_schema(schema::load(schema)?.as_ref(), args.snappy)
    };
    let name = args.name.clone().unwrap_or_else(|| "columns".to_owned());
    let options = Options { name, ..Options::default() };
    let design = columns.and_then(|columns| generate(&columns, &options));
    design.map_err(|refusal| Error::Config(refusal.to_string()).into())
}

/// Decodes all columns of a file, each with its circuit and with the engine `cpu`.
pub(super) fn simulate(args: &SimulateArgs) -> Outcome {
    check(&args.circuit)?;
    if args.shell.is_some() {
        let why = "--shell is for JSON only; `make sim` in the folder of a generated shell simulates columns";
        return Err(Failure::Usage(why.to_owned()));
    }
    let (file, plan) = open(&args.input)?;
    let verilator = Verilator::find().map_err(|error| Error::Config(error.to_string()))?;
    let circuits = Circuits::new(Options::default(), super::memory(args)).with_verilator(verilator);
    let mut stdout = io::stdout().lock();
    let mut differ = false;
    for field in &plan.fields {
        let name = field.field().name();
        let what = match column(&file, field) {
            Ok(column) => column,
            Err(refusal) => {
                let reason = refusal.reason;
                writeln!(stdout, "{name}: left to software: {reason}").map_err(Failure::stdout)?;
                continue;
            }
        };
        let mut took = Measured::default();
        let mut notes = Vec::new();
        for row_group in 0..file.row_groups() {
            let expected = expected(&file, row_group, field);
            match (circuits.measured(&file, row_group, field), expected) {
                (Ok((array, one)), Ok(expected)) => {
                    if array.as_ref() != expected.as_ref() {
                        differ = true;
                        notes.push(format!("row group {row_group} differs from engine cpu"));
                    }
                    took.add(&one);
                }
                (Ok(_), Err(error)) => {
                    notes
                        .push(format!("row group {row_group}: the engine cpu rejects it: {error}"));
                }
                (Err(ParquetError::Rtl(error)), _) => {
                    return Err(Error::Config(error.to_string()).into());
                }
                (Err(error), _) => notes.push(format!("left to software: {error}")),
            }
        }
        writeln!(
            stdout,
            "{name}: {what}: {} rows in {} cycles, {:.1} bytes in and {:.1} bytes of Arrow out a cycle",
            took.rows,
            took.cycles,
            took.input_bytes_a_cycle(),
            took.output_bytes_a_cycle()
        )
        .map_err(Failure::stdout)?;
        for note in notes {
            writeln!(stdout, "  {note}").map_err(Failure::stdout)?;
        }
    }
    if differ {
        return Err(Error::Config("the circuit and the engine cpu differ".to_owned()).into());
    }
    writeln!(stdout, "same as engine cpu").map_err(Failure::stdout)
}

fn expected(file: &File, row_group: usize, field: &Column) -> Result<ArrayRef> {
    let rows = file.row_group_rows(row_group)?;
    FieldDecoder::new(file, row_group, field, None, ColumnOptions::default())?.next(rows)
}

fn check(args: &CircuitArgs) -> Outcome {
    let refuse = |why: &str| Err(Failure::Usage(why.to_owned()));
    if args.width.is_some_and(|width| width != 64) {
        return refuse("--width: a Parquet circuit always reads 64 bytes per cycle");
    }
    if args.parsers != 1 || args.ports != 1 {
        return refuse(
            "--parsers and --ports are for JSON only; a Parquet circuit has one decoder per column",
        );
    }
    if args.writers != RtlWriters::Auto {
        return refuse(
            "--writers is for JSON only; each column of a Parquet circuit has its own writers",
        );
    }
    Ok(())
}

fn is_parquet(path: &str) -> bool {
    let mut magic = [0; 4];
    let read = fs::File::open(path).and_then(|mut file| file.read_exact(&mut magic));
    read.is_ok() && &magic == b"PAR1"
}

fn open(path: &Path) -> Result<(File, ReadPlan)> {
    let bytes = whole::read(path, super::INPUT_BYTES_MAX);
    let bytes = bytes.map_err(|error| Error::io(path, error))?;
    let file = File::open(bytes.into(), &Limits::default())?;
    let plan = ReadPlan::new(&file, &ReadOptions::default())?;
    Ok((file, plan))
}
