// SPDX-License-Identifier: Apache-2.0
//! JSON into the JVM: Arrowsmith's reader compared with Jackson and Spark's own
//! (`bench/peers/jvm`).

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use arrowsmith_jvm::{Jdk, Libraries};
use arrowsmith_workload::{Generator, VALUES_MAX_DEFAULT, Workload};
use serde::Deserialize;

use super::{Options, Report, Row, SEED, handed_over};
use crate::install::{Sources, run as ran, sources, virtual_environment};

const PEER: &str = include_str!("../../embedded/peers/jvm/JsonPeer.java");
/// Spark from the Python package index: it runs on JDK 17 and newer.
const SPARK: Sources = sources!("peers/jvm": "requirements.txt", "spark.py");

#[derive(Deserialize)]
struct Answer {
    approach: String,
    threads: u32,
    bytes: u64,
    rows: u64,
    seconds: Vec<f64>,
    valid: bool,
}

/// Measures; failures are recorded.
pub(super) fn run(
    options: &Options,
    jdks: &[Jdk],
    libraries: &Libraries,
    report: &mut Report,
    progress: &mut dyn FnMut(&str),
) {
    let folder = options.peers_dir.join("jvm/json");
    let file = match input(&folder, options.size_bytes / 2) {
        Ok(file) => file,
        Err(reason) => return report.missing("", "json", reason),
    };
    let Some(first) = jdks.first() else { return };
    let threads = options.threads.iter().max().copied().unwrap_or(1);
    let figures = [threads, options.rounds.min(5), 2].map(|number| number.to_string());
    let classes = match compile(&folder, first, libraries) {
        Ok(classes) => classes,
        Err(reason) => return report.missing("json-arrowsmith, json-jackson", "json", reason),
    };
    for jdk in jdks {
        progress(&format!("json, JDK {}", jdk.feature));
        let mut command = Command::new(jdk.program("java"));
        command.args(["--add-opens=java.base/java.nio=ALL-UNNAMED", "-Xmx2g"]);
        if jdk.feature >= 22 {
            command.arg("--enable-native-access=ALL-UNNAMED");
        }
        if jdk.feature >= 23 {
            command.arg("--sun-misc-unsafe-memory-access=allow");
        }
        command.arg("-cp").arg(&classes).arg("JsonPeer").arg(&file).args(&figures);
        match answers(&mut command) {
            Ok(found) => add(report, jdk, &found),
            Err(reason) => {
                let engine = format!("json-arrowsmith, json-jackson (JDK {})", jdk.feature);
                report.missing(&engine, "json", reason);
            }
        }
    }
    progress("json, Spark");
    // Spark's releases support certain JDKs; the oldest here is always one of them.
    let spark = spark(&folder).and_then(|(python, script)| {
        let mut command = Command::new(python);
        command.arg(script).arg(&file).args(&figures).env("JAVA_HOME", &first.home);
        answers(&mut command)
    });
    match spark {
        Ok(found) => add(report, first, &found),
        Err(reason) => report.missing("json-spark", "json", reason),
    }
}

/// The reduced trip reports of the JSON paper.
fn input(folder: &Path, bytes: u64) -> Result<PathBuf, String> {
    let file = folder.join("trip.json");
    let said = |error: std::io::Error| format!("{}: {error}", file.display());
    let target = usize::try_from(bytes.max(1 << 20)).map_err(|error| error.to_string())?;
    let mut text = Vec::new();
    Generator::new(Workload::Trip, SEED, VALUES_MAX_DEFAULT).fill(target, &mut text);
    fs::create_dir_all(folder).map_err(said)?;
    fs::write(&file, text).map_err(said)?;
    std::path::absolute(&file).map_err(said)
}

fn compile(folder: &Path, jdk: &Jdk, libraries: &Libraries) -> Result<std::ffi::OsString, String> {
    let source = folder.join("JsonPeer.java");
    fs::write(&source, PEER).map_err(|error| format!("{}: {error}", source.display()))?;
    let classes = folder.join("classes");
    let mut all = vec![classes.clone()];
    all.extend(libraries.jars.iter().cloned());
    let classpath = std::env::join_paths(all).map_err(|error| error.to_string())?;
    let mut command = Command::new(jdk.program("javac"));
    command.args(["-nowarn", "-proc:none", "-d"]).arg(&classes).arg("-cp").arg(&classpath);
    ran(command.arg(&source))?;
    Ok(classpath)
}

fn spark(folder: &Path) -> Result<(PathBuf, PathBuf), String> {
    let folder = std::path::absolute(folder).map_err(|error| error.to_string())?;
    let interpreter = virtual_environment(&folder, SPARK, || ())?;
    Ok((interpreter, folder.join("spark.py")))
}

fn answers(command: &mut Command) -> Result<Vec<Answer>, String> {
    let text = ran(command.stdin(Stdio::null()))?;
    let text = String::from_utf8_lossy(&text);
    let lines = text.lines().filter(|line| line.starts_with('{'));
    let answers: Result<Vec<Answer>, _> = lines.map(serde_json::from_str).collect();
    answers.map_err(|error| format!("malformed answer: {error}"))
}

fn add(report: &mut Report, jdk: &Jdk, answers: &[Answer]) {
    for answer in answers {
        let row = Row::new("json", &answer.approach)
            .with("x", 0)
            .with("jdk", jdk.feature)
            .with("version", jdk.feature.to_string())
            .with("collector", "")
            .with("threads", answer.threads)
            .with("objects", answer.rows)
            .with("vs_copy", None::<f64>)
            .with("vs_read", None::<f64>)
            .with("valid", answer.valid)
            .speed(answer.bytes, &answer.seconds, &["median", "min"]);
        report.rows.push(handed_over(row, answer.bytes, &[]));
    }
}
