// SPDX-License-Identifier: Apache-2.0
//! `arrowsmith infer`: prints the schema of the input, in the form that `--schema` accepts. Parquet
//! files contain their schema.

use std::io::{self, Write};

use arrow_array::RecordBatchReader;
use arrow_schema::Schema;
use arrowsmith::json::infer_schema;
use arrowsmith::parquet::ReaderBuilder;

use crate::args::InferArgs;
use crate::failure::{Failure, Outcome};
use crate::input;
use crate::interrupt::Interrupt;
use crate::schema;

pub fn run(args: &InferArgs, interrupt: &Interrupt) -> Outcome {
    if input::is_parquet(&args.input)? {
        let files = input::datasets(&args.input)?;
        let limits = input::limits(&args.input);
        return print(&ReaderBuilder::new().limits(limits).limit(Some(0)).open(files)?.schema());
    }
    let options = input::sampling(&args.input, &args.infer, interrupt);
    let sample = infer_schema(input::inputs(&args.input)?, &options)?;
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
