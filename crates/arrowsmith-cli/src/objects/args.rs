// SPDX-License-Identifier: Apache-2.0
//! The command line of `arrowsmith objects`, as clap reads it.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// C++ object graphs: class layouts, generated readers and writers, messages to Arrow and back
#[derive(Debug, Args)]
pub struct ObjectsArgs {
    #[command(subcommand)]
    pub command: ObjectsCommand,
}

#[derive(Debug, Subcommand)]
pub enum ObjectsCommand {
    Layout(LayoutArgs),
    Generate(GenerateArgs),
    Run(RunArgs),
}

/// Print how the classes that can be reached from a root lie in memory and on the wire
#[derive(Debug, Args)]
pub struct LayoutArgs {
    #[command(flatten)]
    pub program: ProgramArgs,

    /// Print JSON, which the other commands take in place of the program
    #[arg(long)]
    pub json: bool,
}

/// Generate a reader and a writer in C++
///
/// NAME.hpp, NAME.cpp and NAME.layout.json; they include the headers of this project's folder
/// cpp/include.
#[derive(Debug, Args)]
pub struct GenerateArgs {
    #[command(flatten)]
    pub program: ProgramArgs,

    /// The folder to write to
    #[arg(short, long, value_name = "DIR")]
    pub output: PathBuf,

    /// Name of the files and the namespace [default: that of the program's file]
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,

    /// A header that declares the classes, as the generated code is to include it; may be given
    /// again
    #[arg(long, value_name = "HEADER")]
    pub include: Vec<String>,
}

/// Check messages, or convert them to Arrow and back
///
/// Messages become an Arrow file per class in the folder OUT; Arrow files become messages there.
/// Without OUT messages are only checked.
#[derive(Debug, Args)]
pub struct RunArgs {
    #[command(flatten)]
    pub program: ProgramArgs,

    /// Files of one message each (with --header: of any number), or, all of them, Arrow files
    #[arg(required = true, value_name = "INPUT")]
    pub inputs: Vec<PathBuf>,

    /// The folder to write to
    #[arg(short, long, value_name = "OUT")]
    pub output: Option<PathBuf>,

    /// Messages begin with the versioned header
    #[arg(long)]
    pub header: bool,

    /// Objects in a message, at most
    #[arg(long, value_name = "N", default_value_t = 1 << 24)]
    pub objects_max: u32,
}

#[derive(Debug, Args)]
pub struct ProgramArgs {
    /// An object file, shared library or program with debug information, or a layout in JSON
    #[arg(value_name = "PROGRAM")]
    pub program: PathBuf,

    /// The class that the root pointer points to
    #[arg(long, value_name = "CLASS")]
    pub root: Option<String>,

    /// What the compiler does not know, as TOML: transient members, wire widths, type ids
    #[arg(long, value_name = "FILE.toml")]
    pub annotations: Option<PathBuf>,

    /// Do not look for annotations in the comments of source files
    #[arg(long)]
    pub no_comments: bool,
}
