// SPDX-License-Identifier: Apache-2.0
//! `arrowsmith completions` and `arrowsmith man`: shell completions and manual pages, generated
//! from the definitions that parse the command line, so that they cannot disagree with it.

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use arrowsmith_core::Error;
use clap::{Args, Command};
use clap_complete::Shell;

use crate::failure::{Failure, Outcome};

/// Print a completion script for a shell
///
/// bash: arrowsmith completions bash > ~/.local/share/bash-completion/completions/arrowsmith; zsh:
/// to a file _arrowsmith in a folder of $fpath; fish: to
/// ~/.config/fish/completions/arrowsmith.fish.
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell to write completions for
    #[arg(value_enum, value_name = "SHELL")]
    shell: Shell,
}

/// Write a manual page for each command
#[derive(Debug, Args)]
pub struct ManArgs {
    /// The folder for the pages; created if it does not exist
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

pub fn run(args: &CompletionsArgs, mut command: Command) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, "arrowsmith", &mut script);
    std::io::stdout().write_all(&script).map_err(Failure::stdout)
}

pub fn manual(args: &ManArgs, command: Command) -> Outcome {
    let fail = |error| Failure::Work(Error::io(args.folder.display().to_string(), error));
    fs::create_dir_all(&args.folder).map_err(fail)?;
    clap_mangen::generate_to(command, &args.folder).map_err(fail)
}
