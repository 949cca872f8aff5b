// SPDX-License-Identifier: Apache-2.0
//! `arrowsmith generate`: the workloads of arrowsmith-workload, to a file, standard output or a
//! service.

mod send;

use std::io::Write;
use std::sync::atomic::Ordering;
use std::time::Instant;

use arrowsmith_core::Error;
use arrowsmith_core::sink::Output;
use arrowsmith_workload::{Generator, Layout};

use crate::args::GenerateArgs;
use crate::failure::{Failure, Outcome};
use crate::interrupt::Interrupt;
use crate::progress::{Progress, When};
use crate::size::{display, grouped};

/// Bytes between two writes.
const CHUNK_BYTES: usize = 1 << 20;

/// Bytes to write when neither `--bytes` nor `--rows` is given.
const BYTES_DEFAULT: u64 = 1 << 20;

pub fn run(args: &GenerateArgs, interrupt: &Interrupt) -> Outcome {
    let started = Instant::now();
    let layout = match (args.pretty, args.spaced) {
        (true, _) => Layout::Pretty,
        (false, true) => Layout::Spaced,
        (false, false) => Layout::Compact,
    };
    if let Some(target) = args.send.connect.as_ref().or(args.send.listen.as_ref()) {
        return send::run(args, target, layout, interrupt);
    }
    let generator = Generator::new(args.workload, args.seed, args.max_values).with_layout(layout);
    let output = Output::create(&args.output).map_err(Failure::output)?;
    interrupt.remove_at_exit(output.temporary_path());
    let (records, bytes) = write(args, generator, output, interrupt)?;
    if !args.quiet {
        let seconds = started.elapsed().as_secs_f64();
        eprintln!("{} records; {} out; {seconds:.3} s", grouped(records), display(bytes));
    }
    Ok(())
}

/// Writes all records; returns the number of records and of bytes.
fn write(
    args: &GenerateArgs,
    mut generator: Generator,
    mut output: Output,
    interrupt: &Interrupt,
) -> Outcome<(u64, u64)> {
    let bytes_target = match args.rows {
        Some(_) => None,
        None => Some(args.bytes.unwrap_or(BYTES_DEFAULT)),
    };
    let when = if args.quiet { When::Never } else { args.progress };
    let mut progress = Progress::new(when, bytes_target);
    let mut chunk = Vec::with_capacity(CHUNK_BYTES + CHUNK_BYTES / 8);
    let (mut records, mut bytes) = (0u64, 0u64);
    loop {
        if interrupt.stop().load(Ordering::Relaxed) {
            return Err(Failure::Work(Error::Cancelled));
        }
        chunk.clear();
        match bytes_target {
            Some(target) => {
                let left = usize::try_from(target.saturating_sub(bytes)).unwrap_or(usize::MAX);
                records += generator.fill(left.min(CHUNK_BYTES), &mut chunk);
            }
            None => {
                while chunk.len() < CHUNK_BYTES && Some(records) < args.rows {
                    generator.next_record(&mut chunk);
                    records += 1;
                }
            }
        }
        if chunk.is_empty() {
            break;
        }
        output.write_all(&chunk).map_err(|error| Failure::output(output.error(error)))?;
        bytes += chunk.len() as u64;
        progress.set(bytes);
    }
    output.commit().map_err(Failure::output)?;
    Ok((records, bytes))
}
