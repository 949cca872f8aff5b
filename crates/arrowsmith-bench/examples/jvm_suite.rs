// SPDX-License-Identifier: Apache-2.0
//! The suite `jvm` without the rest of the command: `jvm REPORT.html REPORT.json PEERS SIZE_MIB
//! ROUNDS FIGURES…`; with only the approaches in `APPROACHES`, if it is set.

use arrowsmith_bench::jvm::{Options, html, run};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [page, json, peers, size, rounds, figures @ ..] = &arguments[..] else {
        return Err("jvm REPORT.html REPORT.json PEERS SIZE_MIB ROUNDS FIGURES…".into());
    };
    let approaches = std::env::var("APPROACHES").unwrap_or_default();
    let approaches = approaches.split(',').filter(|name| !name.is_empty());
    let options = Options {
        approaches: approaches.map(str::to_owned).collect(),
        iteration_ms: 50,
        figures: figures.to_vec(),
        peers_dir: peers.into(),
        size_bytes: size.parse::<u64>()? << 20,
        rounds: rounds.parse()?,
        ..Options::default()
    };
    let report = run(&options, &mut |line| eprintln!("{line}"))?;
    std::fs::write(page, html(&report))?;
    std::fs::write(json, serde_json::to_string_pretty(&report)? + "\n")?;
    Ok(())
}
