// SPDX-License-Identifier: Apache-2.0
//! `arrowsmith infer`: the schema of the input, as `--schema` takes it.

use std::io::{self, Write};

use arrowsmith::json::infer_schema;

use crate::args::InferArgs;
use crate::failure::{Failure, Outcome};
use crate::input;
use crate::interrupt::Interrupt;
use crate::schema;

pub fn run(args: &InferArgs, interrupt: &Interrupt) -> Outcome {
    let options = input::sampling(&args.input, &args.infer, interrupt);
    let sample = infer_schema(arrowsmith::expand_all(&args.input.inputs)?, &options)?;
    if !sample.complete {
        eprintln!(
            "note: these are the first {} records; --infer-records all looks at all",
            sample.records
        );
    }
    let mut text = schema::text(&sample.schema);
    if !text.ends_with('\n') {
        text.push('\n');
    }
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).map_err(Failure::stdout)
}
