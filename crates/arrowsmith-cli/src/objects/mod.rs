// SPDX-License-Identifier: Apache-2.0
//! `arrowsmith objects`: class layouts of a program, the C++ that reads and writes its objects, and
//! messages to Arrow and back.
//!
//! This module handles only files and names; layouts and messages are those of `arrowsmith-graph`.

mod args;
mod run;

use std::fs;
use std::io::{self, Read, Write};
use std::path::Path;

use arrowsmith_core::sink::{Output, Sink};
use arrowsmith_core::{Error, whole};
use arrowsmith_graph::generate;
use arrowsmith_graph::layout::{Annotations, Layout, Names, Options, Table, from_object};

pub use self::args::ObjectsArgs;
use self::args::{GenerateArgs, LayoutArgs, ObjectsCommand, ProgramArgs};
use crate::failure::{Failure, Outcome};

pub fn run(args: &ObjectsArgs) -> Outcome {
    match &args.command {
        ObjectsCommand::Layout(args) => layout(args),
        ObjectsCommand::Generate(args) => generate(args),
        ObjectsCommand::Run(args) => run::run(args),
    }
}

fn layout(args: &LayoutArgs) -> Outcome {
    let layout = load(&args.program)?;
    let text = if args.json { layout.to_json() } else { Table(&layout).to_string() };
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).map_err(Failure::stdout)
}

fn generate(args: &GenerateArgs) -> Outcome {
    let (layout, names) = load_with_names(&args.program)?;
    let name = match &args.name {
        Some(name) => name.clone(),
        None => {
            let file = args.program.program.file_name().unwrap_or_default().to_string_lossy();
            match file.strip_suffix(".layout.json") {
                // Generated before, with this name.
                Some(name) => name.to_owned(),
                None => {
                    let stem = file.split('.').next().unwrap_or_default();
                    generate::default_name(stem, &layout, &args.include)
                }
            }
        }
    };
    generate::check_name(&name, &names).map_err(|error| Failure::Usage(error.to_string()))?;
    let options = generate::Options { name, includes: args.include.clone() };
    let accepted = args.accept.iter().map(|path| stored(path)).collect::<Outcome<Vec<Layout>>>()?;
    let files = generate::cpp_accepting(&layout, &options, &accepted)
        .map_err(|error| Failure::Usage(error.to_string()))?;
    fs::create_dir_all(&args.output).map_err(|error| at(&args.output, error))?;
    for file in files {
        let path = args.output.join(&file.name);
        keep_sources(&path, &file.name)?;
        fs::write(&path, file.text).map_err(|error| at(&path, error))?;
        eprintln!("{}", path.display());
    }
    Ok(())
}

/// Refuses to overwrite C++ that was not generated, such as the program's own header.
fn keep_sources(path: &Path, name: &str) -> Outcome {
    let cpp = name.ends_with(".hpp") || name.ends_with(".cpp");
    let Ok(old) = fs::File::open(path) else { return Ok(()) };
    let mut start = Vec::new();
    let read = old.take(generate::GENERATED.len() as u64).read_to_end(&mut start);
    if cpp && read.is_ok() && start != generate::GENERATED.as_bytes() {
        let message = "was not generated, and is kept; choose another --name or --output";
        return Err(fault(path, message));
    }
    Ok(())
}

/// Maximum size of a program and its debug information, in bytes.
const PROGRAM_BYTES_MAX: u64 = 4 << 30;

/// A layout in JSON.
fn stored(path: &Path) -> Outcome<Layout> {
    let text = whole::read_text(path).map_err(|error| at(path, error))?;
    Layout::from_json(&text).map_err(|error| fault(path, error))
}

/// The layout of a program, or a layout stored as JSON.
fn load(args: &ProgramArgs) -> Outcome<Layout> {
    load_with_names(args).map(|(layout, _)| layout)
}

/// The same with the names of the program, of which a stored layout has none.
fn load_with_names(args: &ProgramArgs) -> Outcome<(Layout, Names)> {
    let path = &args.program;
    let bytes = whole::read(path, PROGRAM_BYTES_MAX).map_err(|error| at(path, error))?;
    if bytes.first() == Some(&b'{') {
        if args.root.is_some() || args.annotations.is_some() {
            return Err(Failure::Usage(
                "a layout in JSON already has its root and annotations".into(),
            ));
        }
        let text = String::from_utf8(bytes).map_err(|error| fault(path, error))?;
        let layout = Layout::from_json(&text).map_err(|error| fault(path, error))?;
        return Ok((layout, Names::default()));
    }
    let Some(root) = args.root.clone() else {
        return Err(Failure::Usage("--root is required: the class of the first object".into()));
    };
    let annotations = match &args.annotations {
        Some(path) => {
            let text = whole::read_text(path).map_err(|error| at(path, error))?;
            Annotations::from_toml(&text).map_err(|error| fault(path, error))?
        }
        None => Annotations::default(),
    };
    let options = Options { root, annotations, no_comments: args.no_comments };
    let extracted = from_object(&bytes, &options).map_err(|error| fault(path, error))?;
    for note in &extracted.notes {
        eprintln!("note: {note}");
    }
    Ok((extracted.layout, extracted.names))
}

/// An I/O error on a file.
fn at(path: &Path, error: io::Error) -> Failure {
    Failure::Work(Error::io(path, error))
}

/// An error in the content of a file.
fn fault(path: &Path, error: impl std::fmt::Display) -> Failure {
    at(path, io::Error::new(io::ErrorKind::InvalidData, error.to_string()))
}
