// SPDX-License-Identifier: Apache-2.0
//! Generates, builds and runs all approaches for a layout: `jvm LAYOUT.yaml|small|medium|large DIR
//! [N]`.

use std::path::Path;

use arrowsmith_jvm::{Jdk, JvmError, Layout, Libraries, Mode, Project, RunOptions, Source};

fn main() -> Result<(), JvmError> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [layout, folder, rest @ ..] = &arguments[..] else {
        eprintln!("jvm LAYOUT DIR [OBJECTS]");
        std::process::exit(2);
    };
    let jdks = Jdk::all();
    let layout = match Layout::named(layout) {
        Ok(layout) => layout,
        Err(_) => {
            let text = std::fs::read_to_string(layout)
                .map_err(|source| JvmError::Io { path: layout.into(), source })?;
            match Source::parse(&text)? {
                Source::Layout(layout) => layout,
                Source::Existing(existing) => existing.layout(&jdks[0])?,
            }
        }
    };
    let libraries = match std::env::var_os("LIBRARIES") {
        Some(folder) => Libraries::install(Path::new(&folder), &jdks[0])?,
        None => Libraries::default(),
    };
    let built = Project::generate(&layout, Path::new(folder))?.build(&jdks, &libraries, &[])?;
    let objects = rest.first().and_then(|text| text.parse().ok()).unwrap_or(1024);
    for jdk in &jdks {
        let options = RunOptions {
            mode: Mode::All { objects },
            threads: vec![1, 2],
            ..RunOptions::default()
        };
        let outcome = built.run(jdk, &options)?;
        println!("JDK {} {}, {} objects", outcome.feature, outcome.collector, outcome.objects);
        for one in outcome.measured {
            let speed = |seconds: &[f64]| {
                let best = seconds.iter().copied().fold(f64::INFINITY, f64::min);
                #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
                let bytes = one.bytes as f64;
                bytes / best / 1e6
            };
            println!(
                "{:<20} {} {:>10.0} MB/s, unread {:>10.0} MB/s {}",
                one.approach,
                one.threads,
                speed(&one.seconds),
                speed(&one.handed_seconds),
                one.valid
            );
        }
        for one in outcome.not_run {
            println!(
                "{:<20} {} {}",
                one.approach,
                if one.failed { "FAILED" } else { "refused" },
                one.reason
            );
        }
    }
    Ok(())
}
