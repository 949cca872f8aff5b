// SPDX-License-Identifier: Apache-2.0
//! Runs the built programs and reads their output.

use std::path::Path;
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};

use crate::error::JvmError;
use crate::jdk::{Jdk, tool};
use crate::project::{Built, joined, library};

/// All approaches: the paper's (Table 1), then today's.
pub const APPROACHES: [&str; 14] = [
    "bytebuffer",
    "bytebuffer-direct",
    "unsafe",
    "jni",
    "direct-copy",
    "direct",
    "jni-critical",
    "ffm",
    "varhandle",
    "java-serialization",
    "kryo",
    "protobuf",
    "arrow-java",
    "columns",
];

/// The unit of a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// One object, this many times per round.
    One {
        /// Number of calls.
        calls: u32,
    },
    /// A collection.
    All {
        /// Its objects.
        objects: u32,
    },
}

/// Options of a run.
#[derive(Debug, Clone)]
pub struct RunOptions {
    /// Approaches by name; empty for all.
    pub approaches: Vec<String>,
    /// One object or a collection.
    pub mode: Mode,
    /// Counts of threads, one after another.
    pub threads: Vec<u32>,
    /// Measured rounds.
    pub rounds: u32,
    /// Warm-up rounds.
    pub warmup: u32,
    /// Seed of the random data.
    pub seed: u64,
    /// Options of the JVM: `-Xmx4g`, `-XX:+UseSerialGC`.
    pub jvm: Vec<String>,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            approaches: Vec::new(),
            mode: Mode::All { objects: 1 << 10 },
            threads: vec![1],
            rounds: 5,
            warmup: 3,
            seed: 0,
            jvm: Vec::new(),
        }
    }
}

/// The measurement of one approach.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// Its name; `copy-bandwidth` and `read-bandwidth` are the machine's limits.
    pub approach: String,
    /// Threads.
    pub threads: u32,
    /// Bytes of primitives and UTF-8 transferred.
    pub bytes: u64,
    /// Time of every round, seconds; for one object, divided by the number of calls.
    pub seconds: Vec<f64>,
    /// The same if native code does not read the data; empty if it reads the heap itself.
    #[serde(default)]
    pub handed_seconds: Vec<f64>,
    /// Whether every round computed the right sum.
    pub valid: bool,
}

/// Why an approach was not measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NotRun {
    /// Its name.
    pub approach: String,
    /// The reason.
    pub reason: String,
    /// Whether this is a failure rather than an expected refusal.
    pub failed: bool,
}

/// The output of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Outcome {
    /// Version of the VM.
    pub java: String,
    /// Its number: 17, 25.
    pub feature: u32,
    /// The collector.
    pub collector: String,
    /// Objects.
    pub objects: u64,
    /// Bytes of their primitives and UTF-8.
    pub payload_bytes: u64,
    /// The sum of all primitives, by Java.
    pub expected: String,
    /// The measurements.
    pub measured: Vec<Measured>,
    /// The approaches that were not measured.
    pub not_run: Vec<NotRun>,
}

#[derive(Deserialize)]
struct Head {
    java: String,
    feature: u32,
    collector: String,
    objects: u64,
    payload_bytes: u64,
    expected: String,
}

#[derive(Deserialize)]
struct Refusal {
    approach: String,
    refused: Option<String>,
    failed: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Line {
    Head(Head),
    Measured(Measured),
    Refusal(Refusal),
}

impl Built {
    /// Its folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// A command line of a generated program, with the options that the JDK needs.
    ///
    /// # Errors
    /// If a path cannot be on a class path.
    pub fn command(&self, jdk: &Jdk, jvm: &[String], main: &str) -> Result<Command, JvmError> {
        let mut command = Command::new(jdk.program("java"));
        // Needed by Arrow Java; and also compiles methods of a thousand fields.
        command.arg("--add-opens=java.base/java.nio=ALL-UNNAMED");
        command.arg("-XX:-DontCompileHugeMethods");
        if jdk.feature >= 22 {
            command.arg("--enable-native-access=ALL-UNNAMED");
        }
        if jdk.feature >= 23 {
            command.arg("--sun-misc-unsafe-memory-access=allow");
        }
        command.args(jvm);
        command.arg(format!("-Dbench.native={}", library(&self.folder).display()));
        let classpath = self.classpath.iter().filter(|path| {
            // Older VMs skip classes that they cannot load.
            jdk.feature >= 22 || !path.ends_with("classes22")
        });
        command.arg("-cp").arg(joined(&classpath.cloned().collect::<Vec<_>>())?);
        command.arg(main).stdin(Stdio::null());
        Ok(command)
    }

    /// Writes a script that runs approaches, for people.
    pub(crate) fn script(&self) -> Result<(), JvmError> {
        let quoted = |text: &str| format!("'{}'", text.replace('\'', "'\\''"));
        let joined = |all: &[std::path::PathBuf]| -> Result<String, JvmError> {
            Ok(quoted(&joined(all)?.to_string_lossy()))
        };
        let older: Vec<_> =
            self.classpath.iter().filter(|path| !path.ends_with("classes22")).cloned().collect();
        let text = format!(
            "#!/bin/sh\n\
             # Runs approaches with the JDK of JAVA_HOME: ./run approaches=unsafe,direct objects=1000 threads=1,2 rounds=5\n\
             set -eu\n\
             java=${{JAVA_HOME:+$JAVA_HOME/bin/}}java\n\
             options='--add-opens=java.base/java.nio=ALL-UNNAMED -XX:-DontCompileHugeMethods'\n\
             classes={}\n\
             if \"$java\" --enable-native-access=ALL-UNNAMED --sun-misc-unsafe-memory-access=allow -version >/dev/null 2>&1; then\n\
             \x20   options=\"$options --enable-native-access=ALL-UNNAMED --sun-misc-unsafe-memory-access=allow\"\n\
             \x20   classes={}\n\
             fi\n\
             exec \"$java\" $options ${{JVM_OPTIONS:-}} -Dbench.native={} -cp \"$classes\" bench.Run \"$@\"\n",
            joined(&older)?,
            joined(&self.classpath)?,
            quoted(&library(&self.folder).to_string_lossy()),
        );
        let path = self.folder.join("run");
        std::fs::write(&path, text).map_err(JvmError::io(&path))?;
        crate::libraries::executable(&path)
    }

    /// Runs approaches in rotation in a JVM of their own.
    ///
    /// # Errors
    /// If the JVM ends with an error or its output is malformed.
    pub fn run(&self, jdk: &Jdk, options: &RunOptions) -> Result<Outcome, JvmError> {
        let mut command = self.command(jdk, &options.jvm, "bench.Run")?;
        match options.mode {
            Mode::One { calls } => command.arg("mode=one").arg(format!("calls={calls}")),
            Mode::All { objects } => command.arg("mode=all").arg(format!("objects={objects}")),
        };
        let threads: Vec<String> = options.threads.iter().map(u32::to_string).collect();
        command.arg(format!("threads={}", threads.join(",")));
        command.arg(format!("rounds={}", options.rounds));
        command.arg(format!("warmup={}", options.warmup));
        command.arg(format!("seed={}", options.seed.cast_signed()));
        if !options.approaches.is_empty() {
            command.arg(format!("approaches={}", options.approaches.join(",")));
        }
        let failed = |error: std::io::Error| JvmError::Tool {
            tool: "java".to_owned(),
            message: format!("cannot be started: {error}"),
        };
        let output = command.output().map_err(failed)?;
        if !output.status.success() {
            let said = [output.stderr, output.stdout].concat();
            let said = String::from_utf8_lossy(&said);
            let lines: Vec<&str> =
                said.lines().filter(|line| !line.trim().is_empty()).take(12).collect();
            return Err(JvmError::Run(format!("{}: {}", output.status, lines.join("\n"))));
        }
        read(&String::from_utf8_lossy(&output.stdout))
    }
}

/// Options for measuring single calls with JMH.
#[derive(Debug, Clone)]
pub struct SingleOptions {
    /// Approaches by name; none may be a refused one.
    pub approaches: Vec<String>,
    /// Measured iterations; half as many are warm-up.
    pub iterations: u32,
    /// Duration of each.
    pub iteration_ms: u32,
    /// Seed of the random data.
    pub seed: u64,
    /// Options of the JVM.
    pub jvm: Vec<String>,
}

#[derive(Deserialize)]
struct JmhResult {
    params: JmhParams,
    #[serde(rename = "primaryMetric")]
    metric: JmhMetric,
}

#[derive(Deserialize)]
struct JmhParams {
    approach: String,
}

#[derive(Deserialize)]
struct JmhMetric {
    #[serde(rename = "rawData")]
    raw: Vec<Vec<f64>>,
}

impl Built {
    /// Measures single calls by JMH, each approach in a JVM of its own, which checks the sum first.
    /// Returns the seconds per call in every iteration, by approach; failed ones are absent.
    ///
    /// # Errors
    /// If JMH cannot be run.
    pub fn single(
        &self,
        jdk: &Jdk,
        options: &SingleOptions,
    ) -> Result<Vec<(String, Vec<f64>)>, JvmError> {
        let results = self.folder.join("jmh.json");
        let _ = std::fs::remove_file(&results);
        let mut command = self.command(jdk, &options.jvm, "org.openjdk.jmh.Main")?;
        let time = format!("{}ms", options.iteration_ms);
        command.args(["bench.Single.one", "-f", "1", "-rf", "json", "-foe", "false"]);
        command.args(["-wi", &(options.iterations / 2).max(1).to_string(), "-w", &time]);
        command.args(["-i", &options.iterations.to_string(), "-r", &time]);
        command.args(["-p", &format!("approach={}", options.approaches.join(","))]);
        command.args(["-p", &format!("seed={}", options.seed.cast_signed())]);
        tool(command.arg("-rff").arg(&results))?;
        let text = std::fs::read(&results).map_err(JvmError::io(&results))?;
        let all: Vec<JmhResult> = serde_json::from_slice(&text)
            .map_err(|error| JvmError::Run(format!("the results of JMH: {error}")))?;
        let seconds = |raw: Vec<Vec<f64>>| raw.into_iter().flatten().map(|ns| ns / 1e9).collect();
        Ok(all.into_iter().map(|one| (one.params.approach, seconds(one.metric.raw))).collect())
    }
}

fn read(text: &str) -> Result<Outcome, JvmError> {
    let mut outcome: Option<Outcome> = None;
    for line in text.lines().filter(|line| line.starts_with('{')) {
        let wrong = |error: serde_json::Error| JvmError::Run(format!("{error}: {line:.200}"));
        match (serde_json::from_str(line).map_err(wrong)?, &mut outcome) {
            (Line::Head(head), None) => {
                outcome = Some(Outcome {
                    java: head.java,
                    feature: head.feature,
                    collector: head.collector,
                    objects: head.objects,
                    payload_bytes: head.payload_bytes,
                    expected: head.expected,
                    measured: Vec::new(),
                    not_run: Vec::new(),
                });
            }
            (Line::Measured(measured), Some(outcome)) => outcome.measured.push(measured),
            (Line::Refusal(refusal), Some(outcome)) => {
                let failed = refusal.failed.is_some();
                let reason = refusal.failed.or(refusal.refused).unwrap_or_default();
                outcome.not_run.push(NotRun { approach: refusal.approach, reason, failed });
            }
            _ => return Err(JvmError::Run(format!("lines out of order: {line:.200}"))),
        }
    }
    outcome.ok_or_else(|| JvmError::Run("it printed no result".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_run_says_is_read() {
        let text = "noise\n{\"java\":\"17\",\"feature\":17,\"collector\":\"G1\",\"objects\":2,\
            \"payload_bytes\":8,\"expected\":\"-5\"}\n\
            {\"approach\":\"ffm\",\"refused\":\"needs JDK 22\"}\n\
            {\"approach\":\"jni\",\"threads\":1,\"bytes\":8,\"seconds\":[0.5, 1.0E-4],\"valid\":true}\n";
        let outcome = read(text).unwrap();
        assert_eq!((outcome.expected.as_str(), outcome.measured.len()), ("-5", 1));
        assert_eq!(outcome.measured[0].seconds, [0.5, 1e-4]);
        assert!(!outcome.not_run[0].failed);
        assert!(read("").is_err() && read("{\"a\":1}").is_err());
        assert!(read(text.lines().nth(3).unwrap()).is_err(), "no head");
    }
}
