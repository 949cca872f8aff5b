// SPDX-License-Identifier: Apache-2.0
//! Runs the suite `flight` without the command: `flight_suite PROGRAM FOLDER SIZE ROUNDS NAMES`,
//! where PROGRAM is the `arrowsmith` command, FOLDER is for built and generated files, and NAMES
//! are servers and clients. For work on the suite.

use std::path::PathBuf;

use arrowsmith_bench::flight::{self, Options};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [program, folder, size, rounds, names] = &words[..] else {
        return Err("flight_suite PROGRAM FOLDER SIZE ROUNDS NAMES".into());
    };
    let names: Vec<String> = names.split(',').map(str::to_owned).collect();
    let options = Options {
        servers: names.clone(),
        clients: names,
        size_bytes: size.parse()?,
        rounds: rounds.parse()?,
        peers_dir: PathBuf::from(folder),
        ..Options::new(program.into())
    };
    let report = flight::run(&options, &mut |line| eprintln!("{line}"))?;
    for missing in &report.not_measured {
        eprintln!("{} {}: {}", missing.engine, missing.workload, missing.reason);
    }
    let folder = PathBuf::from(folder);
    std::fs::write(folder.join("flight.html"), flight::html(&report))?;
    std::fs::write(folder.join("flight.json"), serde_json::to_string_pretty(&report)?)?;
    Ok(())
}
