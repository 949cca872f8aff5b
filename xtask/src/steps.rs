// SPDX-License-Identifier: Apache-2.0
//! The tables of `cargo xtask test`: the packages of each area, and the checks besides cargo's
//! tests.

use std::path::{Path, PathBuf};

use crate::cargo::{FEATURES, Program};
use crate::inputs::Inputs;
use crate::shell;

/// The names of the areas.
pub const AREAS: &[&str] =
    &["lint", "json", "parquet", "ingest", "flight", "objects", "jvm", "hdl", "gpu", "python"];

/// Arguments of a test program: names of tests, or `--skip` and names.
pub type Words = &'static [&'static str];

/// The packages of each area, in `crates/` without `arrowsmith-`, and their tests: arguments of the
/// test programs, empty for all tests.
pub const PACKAGES: &[(&str, &[(&str, Words)])] = &[
    ("lint", &[]),
    (
        "json",
        &[
            ("core", &[]),
            ("number", &[]),
            ("simd", &["--skip", "column"]),
            ("plan", &[]),
            ("json", &[]),
            ("workload", &[]),
            ("source", &[]),
            ("engine", &[]),
            ("engine-cpu", &["--skip", "parquet"]),
            ("engine-reference", &[]),
            ("sink", &["--skip", "parquet"]),
            ("pipeline", &["--skip", "parquet"]),
            ("arrowsmith", &["--skip", "parquet", "--skip", "stores"]),
            ("cli", &["--skip", "ingest", "--skip", "parquet"]),
            ("fuzz", &["--skip", "parquet"]),
        ],
    ),
    (
        "parquet",
        &[
            ("simd", &["column"]),
            ("parquet", &[]),
            ("parquet-writer", &[]),
            ("engine", &[]),
            ("engine-cpu", &["parquet"]),
            ("sink", &["parquet"]),
            ("pipeline", &["parquet"]),
            ("source", &["file"]),
            ("arrowsmith", &["parquet", "stores"]),
            ("testkit", &["parquet"]),
            ("cli", &["parquet"]),
            ("fuzz", &["parquet"]),
        ],
    ),
    (
        "ingest",
        &[
            ("publish", &[]),
            ("publish-flight", &[]),
            ("publish-pulsar", &[]),
            ("ingest", &[]),
            ("load", &[]),
            ("cli", &["ingest"]),
        ],
    ),
    (
        "flight",
        &[("flight", &[]), ("flight-sql", &[]), ("publish-flight", &[]), ("cli", &["serve"])],
    ),
    ("objects", &[("graph", &[])]),
    ("jvm", &[("ffi", &[]), ("jvm", &[])]),
    ("hdl", &[("rtlgen", &[]), ("engine-rtl", &[]), ("cli", &["rtl"])]),
    ("gpu", &[("engine-gpu", &[]), ("cli", &["gpu"])]),
    ("python", &[("python", &[])]),
];

/// Examples that the scripts of an area run.
const EXAMPLES: &[(&str, &[&str])] =
    &[("flight", &["serve_sql"]), ("objects", &["generate", "layout", "verify"])];

/// Packages whose tests run with every instruction set; `full` runs all packages so. Those of
/// `engine-cpu` name the instruction sets themselves.
pub const KERNELS: &[&str] = &["number", "simd", "json"];

/// Packages whose tests drive simulators and JVMs for minutes, and depend only on their own
/// sources, test data and these folders: they are not run again unless one of these has changed.
pub const SLOW: &[(&str, &[&str])] =
    &[("engine-rtl", &["hdl", "cpp", "examples/objects", "tools/hdl"]), ("jvm", &["tools/java"])];

/// Instruction sets to test besides the widest of the machine.
pub const LEVELS: &[&str] = &["avx2", "portable"];

/// The packages with the longest tests: they are started first, so that they do not run alone at
/// the end.
pub const LONGEST: &[&str] = &[
    "engine-rtl",
    "cli",
    "jvm",
    "engine-gpu",
    "publish-pulsar",
    "ingest",
    "engine-cpu",
    "parquet",
];

/// The package of a short name.
pub fn package(short: &str) -> String {
    match short {
        "xtask" => short.to_owned(),
        "arrowsmith" => short.to_owned(),
        _ => format!("arrowsmith-{short}"),
    }
}

/// The folder of the package of a short name.
pub fn folder(short: &str) -> String {
    match short {
        "fuzz" | "python" | "xtask" => short.to_owned(),
        _ => format!("crates/{}", package(short)),
    }
}

/// A command of a check.
#[derive(Clone)]
pub struct Command {
    /// The program and its arguments.
    pub words: Vec<String>,
    /// The folder to run in, if not the root of the repository.
    pub folder: Option<PathBuf>,
    /// Its environment variables.
    pub env: Vec<(String, String)>,
}

impl Command {
    /// A command in the root of the repository, without variables.
    pub fn new<W: AsRef<str>>(words: &[W]) -> Self {
        let words = words.iter().map(|word| word.as_ref().to_owned()).collect();
        Self { words, folder: None, env: Vec::new() }
    }

    /// Compiles the workspace's own crates with clippy, for which a warning is an error.
    pub fn checked(self) -> Self {
        let root = shell::root().join("tools/checked");
        self.env("RUSTC_WORKSPACE_WRAPPER", root.join("rustc").display().to_string())
            .env("RUSTDOC", root.join("rustdoc").display().to_string())
    }

    /// Adds an environment variable.
    pub fn env(mut self, name: &str, value: impl Into<String>) -> Self {
        self.env.push((name.to_owned(), value.into()));
        self
    }
}

/// One row of the final table: commands, run one after another.
pub struct Check {
    /// Its name.
    pub name: String,
    /// Its commands.
    pub commands: Vec<Command>,
    /// The hash of its inputs, if it is not run again while they are unchanged.
    pub inputs: Option<u64>,
    /// Whether its output contains numbers of passed tests, of which there has to be one at least.
    pub counts: bool,
}

/// The requested areas, and the built programs.
pub struct Scope<'a> {
    /// The areas; empty: everything.
    pub areas: &'a [&'a str],
    /// Whether to run at full scale.
    pub full: bool,
    /// The programs that cargo built.
    pub programs: &'a [Program],
}

impl Scope<'_> {
    /// Whether one of these areas is requested.
    pub fn has(&self, areas: &[&str]) -> bool {
        self.areas.is_empty() || self.areas.iter().any(|area| areas.contains(area))
    }

    /// The path of a built program.
    fn built(&self, name: &str) -> String {
        shell::target().join("debug").join(name).display().to_string()
    }

    /// The test suite of a package.
    fn suite(&self, short: &str) -> PathBuf {
        let folder = folder(short);
        let suite = self.programs.iter().find(|one| one.folder == folder && one.name == "suite");
        suite.map(|one| one.path.clone()).unwrap_or_default()
    }
}

/// Inputs: paths in the repository or elsewhere, then texts.
pub fn inputs(paths: &[&str], texts: &[&str]) -> u64 {
    let mut all = Inputs::new();
    for path in paths {
        all.path(Path::new(path));
    }
    for text in texts {
        all.text(text);
    }
    all.key()
}

/// The checks before anything is built; the run ends if one fails. In a run of everything, clippy
/// is the compiler of the build, and rustdoc runs before the examples in documentation.
pub fn lints(scope: &Scope<'_>) -> Vec<Check> {
    let check = |name: &str, command: Command| plain(name, vec![command]);
    let tidy = std::env::current_exe().unwrap_or_default().display().to_string();
    let features = ["--features", FEATURES];
    let fuzz = format!("{FEATURES},arrowsmith-fuzz/libfuzzer");
    let mut checks = vec![
        check("format", Command::new(&["cargo", "fmt", "--all", "--check"])),
        check("tidy", Command::new(&[&tidy[..], "tidy"])),
    ];
    if scope.areas.is_empty() && !scope.full {
        return checks;
    }
    checks.extend([
        texts(scope),
        check(
            "lints",
            Command::new(&[
                "cargo",
                "clippy",
                "--workspace",
                "--features",
                &fuzz,
                "--all-targets",
                "--locked",
                "--quiet",
                "--",
                "-D",
                "warnings",
            ]),
        ),
        check(
            "documentation",
            Command::new(&["cargo", "doc", "--workspace", features[0], features[1], "--no-deps"])
                .words(&["--locked", "--quiet"])
                .env("RUSTDOCFLAGS", "-D warnings"),
        ),
    ]);
    checks
}

impl Command {
    /// Adds arguments.
    pub fn words<W: AsRef<str>>(mut self, words: &[W]) -> Self {
        self.words.extend(words.iter().map(|word| word.as_ref().to_owned()));
        self
    }
}

fn plain(name: &str, commands: Vec<Command>) -> Check {
    Check { name: name.to_owned(), commands, inputs: None, counts: false }
}

/// Further checks that cargo compiles; each uses all cores, so they run one at a time.
pub fn compiled(scope: &Scope<'_>) -> Vec<Check> {
    let mut checks = Vec::new();
    if scope.has(&["json", "parquet"]) {
        let neon = Command::new(&["cargo", "test", "--locked", "-p", "arrowsmith-simd", "--lib"])
            .words(&["--tests", "--target", "aarch64-unknown-linux-gnu"])
            .env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", "aarch64-linux-gnu-gcc")
            .env(
                "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER",
                "qemu-aarch64 -L /usr/aarch64-linux-gnu",
            );
        let below = ["core", "number", "simd"].map(folder);
        let sources = [&below[0], &below[1], &below[2], "Cargo.lock", "Cargo.toml"];
        checks.push(Check {
            name: "NEON kernels, emulated".to_owned(),
            commands: vec![neon],
            inputs: Some(inputs(&sources, &[&shell::output("rustc -V; qemu-aarch64 --version")])),
            counts: true,
        });
    }
    if scope.full && scope.has(&["json", "parquet", "ingest", "jvm"]) {
        checks.extend(checked_memory());
    }
    checks
}

/// The target of sanitized builds. Without `--target`, build scripts and macros would be
/// instrumented too.
const SANITIZED: &str = "x86_64-unknown-linux-gnu";

/// Packages whose tests run under the sanitizers.
const UNSAFE_OR_THREADED: [&str; 3] = ["simd", "ffi", "ingest"];

/// Memory checks: Miri where no foreign code is called, the sanitizers where there is `unsafe` or
/// many threads; then every fuzz target for some time.
fn checked_memory() -> Vec<Check> {
    let folder = |name: &str| shell::target().join(name).display().to_string();
    let miri = |words: &[&str]| {
        Command::new(&["cargo", "+nightly", "miri", "test", "--locked"])
            .words(words)
            .env("CARGO_TARGET_DIR", folder("miri"))
            .env("MIRIFLAGS", "-Zmiri-disable-isolation")
            .env("ARROWSMITH_CPU", "portable")
            .env("PROPTEST_CASES", "16")
    };
    // Arithmetic of 1,300 bits takes hours.
    let number = ["-p", "arrowsmith-number", "--lib", "--", "--skip", "exact_arithmetic"];
    let sanitized = |short: &str, name: &str| {
        Command::new(&["cargo", "+nightly", "test", "--locked", "--lib", "--tests"])
            .words(&["-p", &package(short), "--target", SANITIZED])
            .env("CARGO_TARGET_DIR", folder(name))
            .env("RUSTFLAGS", format!("-Zsanitizer={name}"))
            // A seed takes seconds under them; thousands run without.
            .env("ARROWSMITH_MODEL_SEEDS", "10")
    };
    // Its program is linked by a C compiler without the sanitizer.
    let without_c = ["--", "--skip", "c::a_c_program"];
    let address = |short: &&str| {
        // Pools and statics live as long as the process.
        let checked = sanitized(short, "address").env("ASAN_OPTIONS", "detect_leaks=0");
        checked.words(&without_c)
    };
    let thread = |short: &&str| {
        // Without its own build of the standard library, the sanitizer does not see its locks.
        let options = concat!(
            "halt_on_error=1 suppressions=",
            env!("CARGO_MANIFEST_DIR"),
            "/thread-sanitizer.txt"
        );
        let checked = sanitized(short, "thread").env("TSAN_OPTIONS", options);
        checked.words(&["-Zbuild-std"]).words(&without_c)
    };
    let this = std::env::current_exe().unwrap_or_default().display().to_string();
    vec![
        plain(
            "Miri",
            vec![
                miri(&["-p", "arrowsmith-core", "--lib"]),
                miri(&number),
                miri(&["-p", "arrowsmith-plan", "--lib", "--", "text", "width"]),
                miri(&["-p", "arrowsmith-parquet", "--lib", "--", "thrift", "footer"]),
                miri(&["-p", "arrowsmith-graph", "--test", "suite", "--", "wire::"]),
            ],
        ),
        plain("AddressSanitizer", UNSAFE_OR_THREADED.iter().map(address).collect()),
        plain("ThreadSanitizer", UNSAFE_OR_THREADED.iter().map(thread).collect()),
        plain("fuzz targets", vec![Command::new(&[&this[..], "fuzz", "--minutes", "20"])]),
    ]
}

/// Spelling, workflows and scripts. Licences of dependencies change rarely, and cargo-deny takes
/// minutes to compile: only `full` and CI run it.
fn texts(scope: &Scope<'_>) -> Check {
    let strict = if scope.full { "1" } else { "0" };
    let command = Command::new(&["tools/lint"]).env("ARROWSMITH_STRICT", strict);
    plain("spelling, workflows, scripts", vec![command])
}

/// The checks that need nothing that cargo builds: they run beside the build, which does not always
/// keep two cores busy.
pub fn unbuilt(scope: &Scope<'_>) -> Vec<Check> {
    let mut checks = Vec::new();
    if scope.areas.is_empty() && !scope.full {
        checks.push(texts(scope));
    }
    if scope.has(&["hdl"]) {
        hardware(scope, &mut checks);
    }
    checks
}

/// The checks besides those and the test programs, which run in parallel.
pub fn others(scope: &Scope<'_>) -> Vec<Check> {
    let mut checks = Vec::new();
    if scope.areas.is_empty() {
        let mut all = Command::new(&["cargo", "test", "--doc", "--quiet"]).checked();
        all = all.words(&crate::cargo::selection(&[]));
        let sources =
            ["crates", "tools/checked", "README.md", "docs/guide", "Cargo.lock", "Cargo.toml"];
        let of = inputs(&sources, &[&shell::output("rustc -V")]);
        checks.push(Check {
            name: "documentation and its examples".to_owned(),
            commands: vec![all],
            inputs: Some(of),
            counts: true,
        });
    }
    if scope.has(&["jvm"]) {
        let native = scope.built("libarrowsmith_ffi.so");
        let cli = scope.built("arrowsmith");
        let jdks = shell::output("tools/java home 17; tools/java home 25; mvn --version");
        // Spark's after the library's, which it builds, too; and what needs its jars.
        let spark: &[&[&str]] = &[
            &["tools/spark", "test"],
            &["tools/spark", "cluster"],
            &["tools/spark", "suites"],
            &["python/setup.sh", "engines", &scope.built("lib_lib.so")],
            &["python/check.sh", "engines"],
        ];
        let spark = spark.iter().filter(|_| scope.full);
        let commands = [&["tools/java", "test"][..]].into_iter().chain(spark.copied());
        let commands = commands.map(|words| {
            Command::new(words).env("ARROWSMITH_NATIVE", &native).env("ARROWSMITH_CLI", &cli)
        });
        let mut of = vec!["java", "tools/java", "tools/spark", &native, &cli];
        if scope.full {
            of.push("python");
        }
        checks.push(Check {
            name: if scope.full { "Java, Spark, Dask, Daft, Ray" } else { "Java" }.to_owned(),
            commands: commands.collect(),
            inputs: Some(inputs(&of, &[&jdks])),
            counts: false,
        });
    }
    if scope.has(&["python"]) {
        let library = scope.built("lib_lib.so");
        checks.push(Check {
            name: "Python".to_owned(),
            inputs: Some(inputs(
                &["python", "docs/guide", "docs/tutorial.ipynb", "testdata", &library],
                &[],
            )),
            commands: vec![
                Command::new(&["python/setup.sh", &library]),
                Command::new(&["python/check.sh"]),
            ],
            counts: false,
        });
    }
    if scope.has(&["gpu"]) {
        let suite = scope.suite("engine-gpu").display().to_string();
        let kernels = folder("engine-gpu") + "/kernels";
        let mut steps = vec!["tools/gpu", "compile", "driver"];
        // The counting emulation takes most of a minute.
        if scope.full {
            steps.push("predict");
        }
        checks.push(Check {
            name: "GPU kernels and driver".to_owned(),
            inputs: Some(inputs(&[&kernels, "tools/gpu", "tools/gpu-predict", &suite], &[])),
            commands: vec![Command::new(&steps)],
            counts: true,
        });
    }
    if scope.has(&["objects"]) {
        let messages = if scope.full { "20000" } else { "5000" };
        let examples = scope.built("examples");
        let tools = ["generate", "layout", "verify"].map(|name| format!("{examples}/{name}"));
        let sources = ["examples/objects", "cpp", "tools/objects", &tools[0], &tools[1], &tools[2]];
        let compilers = shell::output("g++ --version; clang++ --version");
        checks.push(Check {
            name: "C++ objects, every compiler".to_owned(),
            inputs: Some(inputs(&sources, &[messages, &compilers])),
            commands: vec![
                Command::new(&["examples/objects/check.sh", messages])
                    .env("ARROWSMITH_TOOLS", examples),
            ],
            counts: false,
        });
    }
    if scope.has(&["flight"]) {
        let server = scope.built("examples/serve_sql");
        let interop = folder("flight-sql") + "/interop";
        checks.push(Check {
            name: "Flight, official clients".to_owned(),
            inputs: Some(inputs(&[&interop, "tools/flight", &server], &[])),
            commands: vec![Command::new(&["tools/flight", "check", &server])],
            counts: false,
        });
    }
    benchmarks(scope, &mut checks);
    checks
}

fn hardware(scope: &Scope<'_>, checks: &mut Vec<Check>) {
    let sources = ["hdl", "tools/hdl"];
    let tools = shell::output("tools/hdl path");
    let unchanged = Some(inputs(&sources, &[&tools]));
    for (name, part) in [
        ("hardware: benches", "benches"),
        ("hardware: second simulator", if scope.full { "every-netlist" } else { "netlists" }),
        ("hardware: proofs", "proofs"),
        ("hardware: synthesis", "synthesis"),
        ("hardware: lint", "lint"),
    ] {
        let command = Command::new(&["hdl/check.sh", part]);
        let check = Check { inputs: unchanged, ..plain(name, vec![command]) };
        // Coverage runs the benches too.
        if !(scope.full && part == "benches") {
            checks.push(check);
        }
    }
    if scope.full {
        checks.push(plain("hardware: coverage", vec![Command::new(&["hdl/coverage.sh"])]));
    }
}

/// Small runs of the benchmarks: they must work, with correct results.
fn benchmarks(scope: &Scope<'_>, checks: &mut Vec<Check>) {
    let folder = shell::target().join("quick");
    let all: &[(&str, &[&str], &[&str])] = &[
        (
            "json",
            &["--size", "1MiB", "--rounds", "1", "--threads", "1"],
            &["--engines", "arrowsmith-cpu,arrow-json"],
        ),
        ("parquet", &["--quick"], &[]),
        ("ingest", &["--quick"], &[]),
        ("flight", &["--quick"], &[]),
    ];
    // With every peer: each is built, and must compute the correct result.
    let every = "arrowsmith,cpp,java,python,rust";
    let peers: &[(&str, &[&str])] = &[
        ("json", &["--size", "1MiB", "--rounds", "1", "--threads", "1"]),
        ("parquet", &["--quick"]),
        ("ingest", &["--sizes", "1MiB", "--rounds", "1", "--seconds", "1"]),
        ("flight", &["--quick", "--servers", every, "--clients", every]),
        ("objects", &["--quick"]),
        ("jvm", &["--quick"]),
    ];
    let command = |suite: &str, kind: &str, words: &[&str]| {
        let file = |end: &str| folder.join(format!("{suite}-{kind}.{end}")).display().to_string();
        Command::new(&[&scope.built("arrowsmith")[..], "bench", suite]).words(words).words(&[
            "--json",
            &file("json"),
            "--report",
            &file("html"),
        ])
    };
    for (suite, words, small) in all {
        if !scope.has(&[suite]) || scope.full {
            continue;
        }
        let mut command = command(suite, "quick", words).words(small);
        match *suite {
            "parquet" => command = command.words(&["--files-dir".to_owned(), in_folder(&folder)]),
            "flight" => command = command.words(&["--peers-dir".to_owned(), in_folder(&folder)]),
            _ => {}
        }
        checks.push(plain(&format!("benchmark: {suite}"), vec![command]));
    }
    if scope.full {
        let built = shell::target().join("bench-peers").display().to_string();
        let this = std::env::current_exe().unwrap_or_default().display().to_string();
        for (suite, words) in peers {
            let json = folder.join(format!("{suite}-peers.json")).display().to_string();
            let run = command(suite, "peers", words).words(&["--peers-dir", &built]);
            let measured = Command::new(&[&this[..], "measured", &json]);
            checks.push(plain(&format!("benchmark and peers: {suite}"), vec![run, measured]));
        }
    }
}

fn in_folder(folder: &Path) -> String {
    folder.join("files").display().to_string()
}

/// The arguments for everything that cargo builds besides test programs: libraries for other
/// languages, the command, and the examples that scripts run; all examples if everything is tested,
/// so that clippy sees them.
pub fn products(scope: &Scope<'_>) -> Vec<String> {
    let mut all = vec!["--lib".to_owned(), "--bins".to_owned()];
    if scope.areas.is_empty() {
        all.push("--examples".to_owned());
        return all;
    }
    let examples = EXAMPLES.iter().filter(|(area, _)| scope.has(&[area]));
    for name in examples.flat_map(|(_, names)| names.iter()) {
        all.extend(["--example".to_owned(), (*name).to_owned()]);
    }
    all
}

/// The packages that the areas' checks need; empty means all.
pub fn packages(scope: &Scope<'_>) -> Vec<String> {
    let areas = PACKAGES.iter().filter(|(area, _)| scope.areas.contains(area));
    areas.flat_map(|(_, names)| names.iter().map(|(short, _)| package(short))).collect()
}

/// The packages whose tests are run, with the arguments of their test programs: those of every area
/// that names a package, or all.
pub fn tested(scope: &Scope<'_>) -> Vec<(String, Vec<Words>)> {
    let mut all: Vec<(String, Vec<Words>)> = Vec::new();
    for (area, names) in PACKAGES {
        for (short, words) in names.iter().filter(|_| scope.areas.contains(area)) {
            let folder = folder(short);
            match all.iter_mut().find(|(known, _)| *known == folder) {
                Some((_, runs)) => runs.push(words),
                None => all.push((folder, vec![words])),
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_area_but_lint_builds_packages_that_are_there() {
        for area in AREAS {
            let areas = [*area];
            let scope = Scope { areas: &areas, full: false, programs: &[] };
            assert_eq!(packages(&scope).is_empty(), *area == "lint", "{area}: all would be built");
            for (folder, _) in tested(&scope) {
                let manifest = shell::root().join(&folder).join("Cargo.toml");
                assert!(manifest.is_file(), "{area}: {folder}");
            }
        }
    }

    #[test]
    fn every_package_belongs_to_an_area() {
        let scope = Scope { areas: AREAS, full: false, programs: &[] };
        let named: Vec<String> = tested(&scope).into_iter().map(|(folder, _)| folder).collect();
        let crates = std::fs::read_dir(shell::root().join("crates"));
        for entry in crates.into_iter().flatten().flatten() {
            let folder = format!("crates/{}", entry.file_name().to_string_lossy());
            // Its tests run the benchmarks, which the areas do separately.
            if folder != "crates/arrowsmith-bench" && entry.path().is_dir() {
                assert!(named.contains(&folder), "{folder}");
            }
        }
    }

    #[test]
    fn checks_have_names_of_their_own_and_run_what_is_there() {
        for full in [false, true] {
            let scope = Scope { areas: &[], full, programs: &[] };
            let parts = [lints(&scope), unbuilt(&scope), compiled(&scope), others(&scope)];
            let all: Vec<Check> = parts.into_iter().flatten().collect();
            for (at, check) in all.iter().enumerate() {
                assert!(all[at + 1..].iter().all(|other| other.name != check.name));
                for command in &check.commands {
                    let program = &command.words[0];
                    let script = shell::root().join(program);
                    let here = !program.contains('/') || program.starts_with('/');
                    assert!(here || script.is_file(), "{}: {program}", check.name);
                }
            }
        }
    }
}
