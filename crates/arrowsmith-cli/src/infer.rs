// SPDX-License-Identifier: Apache-2.0
//! `arrowsmith infer`: prints the schema of the input, in the form that `--schema` accepts. Parquet
//! files contain their schema.

use std::io::{self, Write};
use std::sync::Arc;

use arrow_array::RecordBatchReader;
use arrow_schema::Schema;
use arrowsmith::{ParquetReadOptions, json, parquet};

use crate::args::{Format, InferArgs};
use crate::failure::{Failure, Outcome};
use crate::input;
use crate::interrupt::Interrupt;
use crate::schema;

pub fn run(args: &InferArgs, interrupt: &Interrupt) -> Outcome {
    if input::other(&args.input, args.read.format)?.is_some() {
        let message = "infer reads JSON and Parquet; inspect shows the schema of an Arrow file";
        return Err(Failure::Usage(message.to_owned()));
    }
    if args.read.format == Format::Delta {
        let message = "infer reads JSON and Parquet; convert --explain shows a Delta table";
        return Err(Failure::Usage(message.to_owned()));
    }
    if input::is_parquet(&args.input, args.read.format)? {
        let options = ParquetReadOptions { limit: Some(0), ..args.read.parquet()? };
        let files = input::files(&args.input, parquet::EXTENSIONS)?;
        return print(&parquet::ReaderBuilder::new().options(options).open(files)?.schema());
    }
    let builder = json::ReaderBuilder::new().options(args.read.json()?);
    let builder = builder.cancel(Arc::clone(interrupt.stop()));
    let sample = builder.infer_schema(input::files(&args.input, json::EXTENSIONS)?)?;
    if !sample.complete {
        eprintln!(
            "note: inferred from the first {} records; --infer-records all uses all of them",
            sample.records
        );
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
