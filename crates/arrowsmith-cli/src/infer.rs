// SPDX-License-Identifier: Apache-2.0
//! `arrowsmith infer`: prints the schema of the input, in the form that `--schema` accepts. Parquet
//! and Arrow files contain their schema.

use std::io::{self, Write};
use std::sync::Arc;

use arrow_array::RecordBatchReader;
use arrow_schema::Schema;
use arrowsmith::{ParquetReadOptions, json, parquet};

use crate::args::InferArgs;
use crate::convert::table_format;
use crate::convert::tables::Tables;
use crate::failure::{Failure, Outcome};
use crate::input::{self, Kind};
use crate::interrupt::Interrupt;
use crate::schema;

pub fn run(args: &InferArgs, interrupt: &Interrupt) -> Outcome {
    match input::kind(&args.input, args.read.format)? {
        Kind::Json => {}
        Kind::Parquet | Kind::Delta | Kind::Iceberg => {
            let mut options = ParquetReadOptions { limit: Some(0), ..args.read.parquet()? };
            let table = table_format::open(args.read.format, &args.input, &mut options)?;
            let builder = parquet::ReaderBuilder::new().options(options);
            let reader = match table {
                Some(table) => table.reader(builder)?,
                None => builder.open(input::files(&args.input, parquet::EXTENSIONS)?)?,
            };
            return print(&reader.schema());
        }
        Kind::Arrow => {
            let schema = Tables::Arrow.schema(&args.input, &args.read, interrupt)?;
            return print(&schema);
        }
        Kind::Csv { delimiter } => {
            let schema = Tables::Csv { delimiter }.schema(&args.input, &args.read, interrupt)?;
            return print(&schema);
        }
    }
    let builder = json::ReaderBuilder::new().options(args.read.json()?);
    let builder = builder.cancel(Arc::clone(interrupt.stop()));
    let sample = builder.infer_schema(input::files(&args.input, json::EXTENSIONS)?)?;
    if !sample.complete {
        eprintln!("{}", schema::inferred_from(sample.records));
    }
    print(&sample.schema)
}

fn print(schema: &Schema) -> Outcome {
    let mut text = schema::text(schema);
    if !text.ends_with('\n') {
        text.push('\n');
    }
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).map_err(Failure::stdout)
}
