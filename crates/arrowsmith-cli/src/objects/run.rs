// SPDX-License-Identifier: Apache-2.0
//! `arrowsmith objects run`: message files → one Arrow file per class, and back.

use std::fs::{self, File};
use std::io::BufReader;
use std::path::Path;

use arrow_array::RecordBatch;
use arrow_ipc::reader::FileReader;
use arrowsmith_core::{Error, whole};
use arrowsmith_graph::Layout;
use arrowsmith_graph::arrow::{Batches, messages};
use arrowsmith_graph::wire::{HEADER_BYTES, Options, Translation};
use arrowsmith_sink::ipc::{IpcOptions, IpcSink};

use super::args::RunArgs;
use super::{Output, Sink, at, fault, load, stored};
use crate::failure::{Failure, Outcome};

/// Maximum size of a file of messages, in bytes.
const MESSAGES_BYTES_MAX: u64 = 4 << 30;

pub fn run(args: &RunArgs) -> Outcome {
    let layout = load(&args.program)?;
    let is_arrow = |path: &std::path::PathBuf| path.extension().is_some_and(|end| end == "arrow");
    match args.inputs.iter().filter(|path| is_arrow(path)).count() {
        0 => to_arrow(args, layout),
        all if all == args.inputs.len() && args.from.is_some() => Err(Failure::Usage(
            "--from is for messages; Arrow files have the columns of PROGRAM".into(),
        )),
        all if all == args.inputs.len() => to_messages(args, &layout),
        _ => Err(Failure::Usage("the inputs must all be messages, or all be Arrow files".into())),
    }
}

fn to_arrow(args: &RunArgs, layout: Layout) -> Outcome {
    let options = Options { header: args.header, objects_max: args.objects_max };
    let classes: Vec<String> = layout.classes.iter().map(|class| class.name.clone()).collect();
    let mut translation = match &args.from {
        Some(path) => {
            let other = Translation::new(stored(path)?, layout.clone());
            Some(other.map_err(|error| fault(path, error))?)
        }
        None => None,
    };
    let mut batches = Batches::new(layout);
    let mut count = 0_u64;
    for path in &args.inputs {
        let bytes = whole::read(path, MESSAGES_BYTES_MAX).map_err(|error| at(path, error))?;
        let mut begin = 0;
        while begin < bytes.len() || begin == 0 {
            let end = if args.header { message_end(&bytes, begin) } else { bytes.len() };
            let bad = |error: &dyn std::fmt::Display| {
                fault(path, format!("message at byte {begin}: {error}"))
            };
            let message = &bytes[begin..end];
            let own = translation.as_mut().map(|other| other.message(message, options));
            let own = own.transpose().map_err(|error| bad(&error))?;
            let message = own.as_deref().unwrap_or(message);
            batches.push(message, options).map_err(|error| bad(&error))?;
            begin = end;
            count += 1;
        }
    }
    let batches = batches.finish().map_err(|error| fault(&args.inputs[0], error))?;
    let Some(folder) = &args.output else {
        eprintln!("{count} messages are valid");
        return Ok(());
    };
    fs::create_dir_all(folder).map_err(|error| at(folder, error))?;
    for (batch, class) in batches.iter().zip(&classes) {
        let path = folder.join(format!("{}.arrow", file_name(class)));
        write(&path, batch)?;
        eprintln!("{}: {} rows", path.display(), batch.num_rows());
    }
    Ok(())
}

/// The end of a message with a header: the end stated in the header if it is within the file, else
/// the end of the file, where the reader then reports the error.
fn message_end(bytes: &[u8], begin: usize) -> usize {
    let length = bytes[begin..].get(16..HEADER_BYTES).and_then(|field| field.first_chunk());
    let length = length.and_then(|field| usize::try_from(u32::from_le_bytes(*field)).ok());
    let end = length.and_then(|length| begin.checked_add(HEADER_BYTES)?.checked_add(length));
    end.filter(|end| *end <= bytes.len()).unwrap_or(bytes.len())
}

/// A class name as a file name: characters that file systems do not allow are replaced by `_`.
fn file_name(class: &str) -> String {
    class.chars().map(|c| if c.is_alphanumeric() || c == '_' { c } else { '_' }).collect()
}

fn write(path: &Path, batch: &RecordBatch) -> Result<(), Error> {
    let output = Output::create(path)?;
    let mut sink = Box::new(IpcSink::new(output, &batch.schema(), &IpcOptions::default())?);
    sink.write(batch)?;
    sink.finish()?;
    Ok(())
}

fn to_messages(args: &RunArgs, layout: &Layout) -> Outcome {
    let Some(folder) = &args.output else {
        return Err(Failure::Usage("--output is required: the folder for the messages".into()));
    };
    let mut batches = Vec::new();
    for path in &args.inputs {
        let file = File::open(path).map_err(|error| at(path, error))?;
        let reader =
            FileReader::try_new(BufReader::new(file), None).map_err(|error| fault(path, error))?;
        for batch in reader {
            batches.push(batch.map_err(|error| fault(path, error))?);
        }
    }
    let messages =
        messages(layout, &batches, args.header).map_err(|error| fault(&args.inputs[0], error))?;
    fs::create_dir_all(folder).map_err(|error| at(folder, error))?;
    for (index, message) in messages.iter().enumerate() {
        let path = folder.join(format!("message-{index:06}.bin"));
        fs::write(&path, message).map_err(|error| at(&path, error))?;
    }
    eprintln!("{}: {} messages", folder.display(), messages.len());
    Ok(())
}
