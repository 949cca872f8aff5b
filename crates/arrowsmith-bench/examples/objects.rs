// SPDX-License-Identifier: Apache-2.0
//! The suite `objects` without the command: `objects RESULT.json REPORT.html [quick]`.

use std::error::Error;
use std::fs;

use arrowsmith_bench::objects::{Options, html, run};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [json, page, rest @ ..] = arguments.as_slice() else {
        return Err("usage: objects RESULT.json REPORT.html [quick]".into());
    };
    let mut options = Options::default();
    if !rest.is_empty() {
        options.rounds = 2;
        options.trips = 200;
        options.operations = vec![1, 127];
    }
    let report = run(&options, &mut |line| eprintln!("{line}"))?;
    fs::write(json, serde_json::to_string_pretty(&report)? + "\n")?;
    fs::write(page, html(&report))?;
    Ok(())
}
