// SPDX-License-Identifier: Apache-2.0
//! `arrowsmith jvm`: ways from JVM objects to native memory, for one's own layout or class.

use std::path::{Path, PathBuf};

use arrowsmith_core::Error;
use arrowsmith_jvm::{
    APPROACHES, Built, Jdk, JvmError, Layout, Libraries, Mode, Outcome as Measured, Project,
    RunOptions, Source,
};
use clap::{Args, Subcommand};

use crate::bench::{to_json, write};
use crate::failure::{Failure, Outcome};

/// Generate and measure ways from JVM objects to native memory
#[derive(Debug, Args)]
pub struct JvmArgs {
    #[command(subcommand)]
    command: JvmCommand,
}

#[derive(Debug, Subcommand)]
enum JvmCommand {
    Generate(GenerateArgs),
    Bench(BenchArgs),
}

/// Generate the classes and every approach in Java and C, and build them
///
/// The folder then has a script `run`.
#[derive(Debug, Args)]
struct GenerateArgs {
    #[command(flatten)]
    layout: LayoutArgs,

    /// The folder to write: empty, or one that was generated
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,

    /// Write the sources and build nothing
    #[arg(long)]
    sources_only: bool,
}

/// Generate, build and run every approach; each has to come to the same sum
///
/// Approaches take turns in one JVM. Figures go to standard error, the JSON result to where --json
/// says.
#[derive(Debug, Args)]
struct BenchArgs {
    #[command(flatten)]
    layout: LayoutArgs,

    /// Only these approaches: bytebuffer,unsafe,jni,direct,columns,…
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = APPROACHES)]
    approaches: Vec<String>,

    /// Objects of the collection
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(1..))]
    objects: u32,

    /// One object, this many calls a round, instead of a collection
    #[arg(long, value_name = "N", conflicts_with_all = ["objects", "threads"], value_parser = clap::value_parser!(u32).range(1..))]
    calls: Option<u32>,

    /// Thread counts
    #[arg(long, value_name = "N", value_delimiter = ',', default_value = "1", value_parser = clap::value_parser!(u32).range(1..=256))]
    threads: Vec<u32>,

    /// Timed rounds
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,

    /// Rounds before those
    #[arg(long, value_name = "N", default_value_t = 3)]
    warmup: u32,

    /// Start of the random data
    #[arg(long, default_value_t = 0)]
    seed: u64,

    /// Only these JDKs [default: all that are found]
    #[arg(long = "jdk", value_name = "VERSIONS", value_delimiter = ',')]
    jdks: Vec<u32>,

    /// An option for the JVM, such as -XX:+UseSerialGC or -Xmx4g
    #[arg(long = "jvm-option", value_name = "OPTION", allow_hyphen_values = true)]
    jvm: Vec<String>,

    /// Where it is generated
    #[arg(short, long, value_name = "DIR", default_value = ".bench/jvm/bench")]
    output: PathBuf,

    /// Write the figures as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// What the objects are.
#[derive(Debug, Args)]
struct LayoutArgs {
    /// A layout: a file (YAML or JSON), or small, medium or large, the paper's objects
    #[arg(value_name = "LAYOUT", required_unless_present = "class", conflicts_with = "class")]
    layout: Option<String>,

    /// A class that exists, by its binary name: com.example.Order
    #[arg(long, value_name = "CLASS")]
    class: Option<String>,

    /// Jars or folders with that class and what it needs
    #[arg(long = "jar", value_name = "JAR", requires = "class")]
    jars: Vec<PathBuf>,

    /// Fetch Kryo, Protobuf and Arrow Java by Maven into this folder; without, their approaches are
    /// left out
    #[arg(long, value_name = "DIR")]
    libraries: Option<PathBuf>,
}

pub fn run(args: &JvmArgs) -> Outcome {
    match &args.command {
        JvmCommand::Generate(args) => generate(args),
        JvmCommand::Bench(args) => bench(args),
    }
}

fn failed(error: JvmError) -> Failure {
    match error {
        JvmError::Layout(_) | JvmError::Unsupported { .. } | JvmError::TooLarge { .. } => {
            Failure::Usage(error.to_string())
        }
        JvmError::Io { path, source } => Failure::Work(Error::io(path, source)),
        other => Failure::Work(Error::Config(other.to_string())),
    }
}

fn jdks(wanted: &[u32]) -> Outcome<Vec<Jdk>> {
    let mut all = Jdk::all();
    if !wanted.is_empty() {
        all.retain(|jdk| wanted.contains(&jdk.feature));
    }
    if all.is_empty() {
        let message = "no JDK of version 17 or newer was found; set JAVA_HOME".to_owned();
        return Err(Failure::Work(Error::Config(message)));
    }
    Ok(all)
}

fn layout(args: &LayoutArgs, jdk: impl FnOnce() -> Outcome<Jdk>) -> Outcome<Layout> {
    let source = match (&args.layout, &args.class) {
        (Some(name), _) if Layout::named(name).is_ok() && !Path::new(name).exists() => {
            Source::Layout(Layout::named(name).map_err(failed)?)
        }
        (Some(path), _) => {
            let text = std::fs::read_to_string(path)
                .map_err(|error| Failure::Work(Error::io(path.clone(), error)))?;
            Source::parse(&text).map_err(failed)?
        }
        (None, class) => Source::Existing(arrowsmith_jvm::Existing {
            class: class.clone().unwrap_or_default(),
            jars: args.jars.clone(),
        }),
    };
    match source {
        Source::Layout(layout) => Ok(layout),
        Source::Existing(existing) => existing.layout(&jdk()?).map_err(failed),
    }
}

fn build(args: &LayoutArgs, project: &Project, jdks: &[Jdk], wanted: &[&str]) -> Outcome<Built> {
    let libraries = match (&args.libraries, jdks.first()) {
        (Some(folder), Some(jdk)) => {
            eprintln!("fetching libraries into {}", folder.display());
            Libraries::install(folder, jdk).map_err(failed)?
        }
        _ => Libraries::default(),
    };
    project.build(jdks, &libraries, wanted).map_err(failed)
}

fn generate(args: &GenerateArgs) -> Outcome {
    let newest = || jdks(&[])?.pop().ok_or_else(|| Failure::Usage("no JDK".to_owned()));
    let layout = layout(&args.layout, newest)?;
    let project = Project::generate(&layout, &args.output).map_err(failed)?;
    if !args.sources_only {
        let built = build(&args.layout, &project, &jdks(&[])?, &[])?;
        eprintln!("{}/run runs it", built.folder().display());
    }
    Ok(())
}

fn bench(args: &BenchArgs) -> Outcome {
    let jdks = jdks(&args.jdks)?;
    // What a newer compiler made, an older one does not read: the newest reads all.
    let newest = || jdks.last().cloned().ok_or_else(|| Failure::Usage("no JDK".to_owned()));
    let layout = layout(&args.layout, newest)?;
    let project = Project::generate(&layout, &args.output).map_err(failed)?;
    let wanted: Vec<&str> = args.approaches.iter().map(String::as_str).collect();
    let built = build(&args.layout, &project, &jdks, &wanted)?;
    let options = RunOptions {
        approaches: args.approaches.clone(),
        mode: match args.calls {
            Some(calls) => Mode::One { calls },
            None => Mode::All { objects: args.objects },
        },
        threads: args.threads.clone(),
        rounds: args.rounds,
        warmup: args.warmup,
        seed: args.seed,
        jvm: args.jvm.clone(),
    };
    let mut outcomes = Vec::new();
    for jdk in &jdks {
        let outcome = built.run(jdk, &options).map_err(failed)?;
        print(&outcome, args.calls.is_some());
        outcomes.push(outcome);
    }
    if let Some(path) = &args.json {
        write(path, &(to_json(&outcomes)? + "\n"))?;
    }
    let wrong = |outcome: &Measured| {
        let measured = outcome.measured.iter().filter(|one| !one.valid).map(|one| &one.approach);
        let failed = outcome.not_run.iter().filter(|one| one.failed).map(|one| &one.approach);
        measured.chain(failed).cloned().collect::<Vec<_>>()
    };
    let wrong: Vec<String> = outcomes.iter().flat_map(wrong).collect();
    if wrong.is_empty() {
        return Ok(());
    }
    Err(Failure::Work(Error::Config(format!("not as it should be: {}", wrong.join(", ")))))
}

/// The figures for people.
fn print(outcome: &Measured, single: bool) {
    eprintln!(
        "JDK {} ({}), {}: {} objects, {} bytes of primitives",
        outcome.feature, outcome.java, outcome.collector, outcome.objects, outcome.payload_bytes
    );
    for one in &outcome.measured {
        let mut sorted = one.seconds.clone();
        sorted.sort_by(f64::total_cmp);
        let median = sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN);
        #[expect(clippy::cast_precision_loss, reason = "sizes are far below 2^53")]
        let speed = one.bytes as f64 / median / 1e9;
        let sum = if one.valid { "" } else { ", WRONG SUM" };
        if single {
            eprintln!("{:<20} {:>12.3} µs a call{sum}", one.approach, median * 1e6);
        } else {
            let threads = one.threads;
            eprintln!("{:<20} {threads:>3} threads {speed:>9.3} GB/s{sum}", one.approach);
        }
    }
    for one in &outcome.not_run {
        let how = if one.failed { "failed" } else { "refused" };
        eprintln!("{:<20} {how}: {}", one.approach, one.reason);
    }
}
