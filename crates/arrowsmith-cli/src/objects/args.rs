// SPDX-License-Identifier: Apache-2.0
//! The command line of `arrowsmith objects`, as clap parses it.

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

/// Print the layout, in memory and on the wire, of all classes reachable from a root
#[derive(Debug, Args)]
pub struct LayoutArgs {
    #[command(flatten)]
    pub program: ProgramArgs,

    /// Print JSON, which the other commands accept in place of the program
    #[arg(long)]
    pub json: bool,
}

/// Generate a reader and a writer in C++
///
/// Writes NAME.hpp, NAME.cpp and NAME.layout.json, which need the headers in this project's folder
/// cpp/include.
#[derive(Debug, Args)]
pub struct GenerateArgs {
    #[command(flatten)]
    pub program: ProgramArgs,

    /// The folder to write to
    #[arg(short, long, value_name = "DIR")]
    pub output: PathBuf,

    /// Name of the files and the namespace [default: the program's file name and `_messages`]
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,

    /// A header that declares the classes, to be included by the generated code; may be repeated
    #[arg(long, value_name = "HEADER")]
    pub include: Vec<String>,

    /// The layout in JSON of an older or a newer program, whose messages with a header are read
    /// too; may be repeated
    #[arg(long, value_name = "LAYOUT.json")]
    pub accept: Vec<PathBuf>,
}

/// Check messages, or convert them to Arrow and back
///
/// Messages are converted to one Arrow file per class in the folder OUT; Arrow files are converted
/// to messages there. Without OUT, messages are only checked.
#[derive(Debug, Args)]
pub struct RunArgs {
    #[command(flatten)]
    pub program: ProgramArgs,

    /// Message files with one message each (any number with --header), or only Arrow files
    #[arg(required = true, value_name = "INPUT")]
    pub inputs: Vec<PathBuf>,

    /// The folder to write to
    #[arg(short, long, value_name = "OUT")]
    pub output: Option<PathBuf>,

    /// Messages start with the versioned header
    #[arg(long)]
    pub header: bool,

    /// The layout in JSON of the program that wrote the messages, if that is of another version
    #[arg(long, value_name = "LAYOUT.json")]
    pub from: Option<PathBuf>,

    /// Maximum number of objects in a message
    #[arg(long, value_name = "N", default_value_t = 1 << 24)]
    pub objects_max: u32,
}

#[derive(Debug, Args)]
pub struct ProgramArgs {
    /// An object file, shared library or program with debug information, or a layout in JSON
    #[arg(value_name = "PROGRAM")]
    pub program: PathBuf,

    /// The class of the root object
    #[arg(long, value_name = "CLASS")]
    pub root: Option<String>,

    /// Annotations, as TOML: transient members, wire widths, type ids
    #[arg(long, value_name = "FILE.toml")]
    pub annotations: Option<PathBuf>,

    /// Do not read annotations from the comments of source files
    #[arg(long)]
    pub no_comments: bool,
}
