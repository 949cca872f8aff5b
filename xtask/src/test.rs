// SPDX-License-Identifier: Apache-2.0
//! `cargo xtask test`: checks the tools, compiles everything once, runs the checks, and prints the
//! time of each.

use std::collections::VecDeque;
use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError, mpsc};
use std::time::Instant;

use crate::cargo::{Program, programs, selection};
use crate::run::{Runner, folder};
use crate::steps::{self, Check, Command, Scope, Words, inputs};
use crate::tools::{self, Tool};
use crate::{setup, shell};

/// The parsed command line.
struct Request<'a> {
    areas: Vec<&'a str>,
    full: bool,
    dry: bool,
    again: bool,
    jobs: usize,
}

impl<'a> Request<'a> {
    fn parse(arguments: &[&'a str]) -> Option<Self> {
        let mut request = Self { areas: vec![], full: false, dry: false, again: false, jobs: 2 };
        let mut words = arguments.iter().copied();
        while let Some(word) = words.next() {
            match word {
                "full" => request.full = true,
                "--dry-run" => request.dry = true,
                "--again" => request.again = true,
                "--jobs" => request.jobs = words.next()?.parse().ok().filter(|jobs| *jobs > 0)?,
                area if steps::AREAS.contains(&area) => request.areas.push(area),
                _ => return None,
            }
        }
        request.again |= request.full;
        Some(request)
    }

    fn scope<'b>(&'b self, programs: &'b [Program]) -> Scope<'b> {
        Scope { areas: &self.areas, full: self.full, programs }
    }
}

/// Runs the requested checks.
pub fn test(arguments: &[&str]) -> ExitCode {
    let Some(request) = Request::parse(arguments) else { return crate::usage() };
    if request.dry {
        dry(&request);
        return ExitCode::SUCCESS;
    }
    let Some(later) = installed(&request) else { return ExitCode::FAILURE };
    // Only results of this run are kept.
    let _ = fs::remove_dir_all(folder("quick"));
    folder("quick");
    let begin = Instant::now();
    let runner = Runner::new(environment(&request), request.again);
    all(&request, &runner, &later);
    let mut title = if request.full { vec!["full"] } else { Vec::new() };
    title.extend(&request.areas);
    let file =
        format!("test-times{}.txt", title.iter().map(|a| format!("-{a}")).collect::<String>());
    let right =
        runner.report(&format!("test {}", title.join(" ")), &file, begin.elapsed().as_secs_f64());
    if right { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Installs what is missing, if that is possible; `None` if not. In a run of everything, what the
/// build does not need is returned, to be installed meanwhile: most of that is waiting for others.
fn installed(request: &Request<'_>) -> Option<Vec<&'static Tool>> {
    let Request { areas, full, .. } = request;
    let absent = tools::missing(areas, *full);
    if absent.is_empty() {
        return Some(absent);
    }
    if !setup::may_install() {
        tools::report_missing(&absent);
        return None;
    }
    if !areas.is_empty() || *full {
        return setup::install(areas, *full).then(Vec::new);
    }
    setup::packages(&absent);
    let (first, later): (Vec<_>, Vec<_>) = absent.into_iter().partition(|tool| tool.builds());
    setup::commands(&first);
    let left: Vec<_> =
        tools::missing(areas, *full).into_iter().filter(|tool| tool.builds()).collect();
    if !left.is_empty() {
        tools::report_missing(&left);
    }
    left.is_empty().then_some(later)
}

/// Environment variables of all commands.
fn environment(request: &Request<'_>) -> Vec<(String, String)> {
    let target = shell::target();
    let mut env = vec![
        ("CARGO_TARGET_DIR", target.display().to_string()),
        ("CARGO_TERM_COLOR", "never".to_owned()),
        // A test whose tool is missing fails.
        ("ARROWSMITH_STRICT", "1".to_owned()),
        // Circuits run short texts in tests, so half the compile time matters more than speed.
        ("ARROWSMITH_RTL_OPTIMIZE", "1".to_owned()),
        ("ARROWSMITH_SUITES", target.join("suites").display().to_string()),
        // Verilator's runtime is the same for all circuits: a quarter of compiling one.
        ("OBJCACHE", format!("python3 {}", shell::root().join("hdl/tb/once.py").display())),
        ("AS_ONCE", folder("once").display().to_string()),
    ];
    if request.full {
        env.push(("ARROWSMITH_FULL", "1".to_owned()));
    }
    if request.again {
        env.push(("ARROWSMITH_AGAIN", "1".to_owned()));
    }
    env.extend(verilator().map(|path| (VERILATOR, path)));
    if let Some(corpora) = shell::corpora() {
        env.push(("ARROWSMITH_CORPORA", corpora.display().to_string()));
    }
    env.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

const VERILATOR: &str = "ARROWSMITH_VERILATOR";

fn verilator() -> Option<String> {
    shell::succeeds("tools/hdl installed").then(|| shell::output("tools/hdl verilator"))
}

/// Runs everything in order. A failed lint or build ends the run, and so do tools of `later` that
/// are not there after the build; the other checks all run, whatever fails.
fn all(request: &Request<'_>, runner: &Runner, later: &[&Tool]) {
    let nothing = request.scope(&[]);
    if nothing.has(&["lint"]) && !steps::lints(&nothing).iter().all(|check| runner.check(check)) {
        return;
    }
    if request.areas == ["lint"] {
        return;
    }
    let unbuilt = Mutex::new(VecDeque::from(steps::unbuilt(&nothing)));
    let building = AtomicBool::new(true);
    std::thread::scope(|threads| {
        let (send, installed) = mpsc::channel();
        let (unbuilt, building) = (&unbuilt, &building);
        threads.spawn(move || {
            let there = later.is_empty() || {
                setup::commands(later);
                setup::is_complete(&request.areas, request.full)
            };
            if let Some(path) = verilator().filter(|_| there && !later.is_empty()) {
                runner.set(VERILATOR, path);
            }
            let _ = send.send(there);
            while there && building.load(Ordering::Relaxed) {
                let Some(check) = next(unbuilt) else { break };
                runner.check(&check);
            }
        });
        let built = runner.build(&builds(&nothing));
        building.store(false, Ordering::Relaxed);
        if !installed.recv().unwrap_or(false) {
            return runner.failed("tools");
        }
        let Some(messages) = built else { return };
        let programs = programs(&messages);
        link_suites(&programs);
        let scope = request.scope(&programs);
        for check in steps::compiled(&scope) {
            runner.check(&check);
        }
        let left = std::iter::from_fn(|| next(unbuilt)).collect();
        let queue = Mutex::new(queue(&scope, left));
        let work = || {
            while let Some(check) = next(&queue) {
                runner.check(&check);
            }
        };
        std::thread::scope(|threads| {
            for _ in 0..request.jobs {
                threads.spawn(work);
            }
        });
    });
}

/// Takes the first of some checks.
fn next(checks: &Mutex<VecDeque<Check>>) -> Option<Check> {
    checks.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
}

/// The checks that need only built programs, and what is left of those that need none, the longest
/// first.
fn queue(scope: &Scope<'_>, left: Vec<Check>) -> VecDeque<Check> {
    let (longest, rest) = tests(scope);
    longest.into_iter().chain(left).chain(steps::others(scope)).chain(rest).collect()
}

/// The commands of a build: libraries, the command, examples; then test programs, which it lists.
fn builds(scope: &Scope<'_>) -> [Command; 2] {
    let packages = selection(&steps::packages(scope));
    let build = Command::new(&["cargo", "build"]).words(&packages);
    let tests = Command::new(&["cargo", "test", "--no-run", "--lib", "--bins", "--tests"]);
    let listed = ["--message-format=json-render-diagnostics"];
    let built = build.words(&steps::products(scope));
    [built.checked(), tests.words(&packages).words(&listed).checked()]
}

/// Links each package's suite under the package's name, for scripts that run some of its tests.
fn link_suites(programs: &[Program]) {
    let links = folder("suites");
    for program in programs.iter().filter(|program| program.name == "suite") {
        let link = links.join(Path::new(&program.folder).file_name().unwrap_or_default());
        let _ = fs::remove_file(&link);
        // The scripts are for Unix.
        #[cfg(unix)]
        if let Err(error) = std::os::unix::fs::symlink(&program.path, &link) {
            eprintln!("{}: {error}", link.display());
        }
    }
}

/// The tests of each package: the longest, and the others; then again with other instruction sets.
fn tests(scope: &Scope<'_>) -> (Vec<Check>, Vec<Check>) {
    let tested = if scope.areas.is_empty() { every(scope) } else { steps::tested(scope) };
    let native = tested.iter().map(|(folder, runs)| of_package(scope, folder, runs, None));
    let mut all: Vec<Check> = native.collect();
    let levels = if cfg!(target_arch = "x86_64") { steps::LEVELS } else { &["portable"] };
    for level in levels {
        let again = tested.iter().filter(|(folder, _)| scope.full || kernels(folder));
        all.extend(again.map(|(folder, runs)| of_package(scope, folder, runs, Some(level))));
    }
    let order = |check: &Check| {
        let named = |short: &&str| check.name == name(&steps::folder(short), None);
        steps::LONGEST.iter().position(named)
    };
    all.retain(|check| !check.commands.is_empty());
    let (mut longest, rest): (Vec<_>, Vec<_>) = all.into_iter().partition(|c| order(c).is_some());
    longest.sort_by_key(order);
    (longest, rest)
}

/// All packages with test programs, with all of their tests.
fn every(scope: &Scope<'_>) -> Vec<(String, Vec<Words>)> {
    let mut folders: Vec<String> = scope.programs.iter().map(|one| one.folder.clone()).collect();
    folders.sort();
    folders.dedup();
    folders.into_iter().map(|folder| (folder, vec![Words::default()])).collect()
}

/// Whether a package is tested with every instruction set.
fn kernels(folder: &str) -> bool {
    steps::KERNELS.iter().any(|short| steps::folder(short) == folder)
}

fn name(folder: &str, level: Option<&str>) -> String {
    let package = folder.rsplit('/').next().unwrap_or(folder);
    level.map_or(format!("tests of {package}"), |level| format!("tests of {package}, {level}"))
}

/// The test programs of a package, run as cargo does, with another instruction set than the widest
/// if one is given.
fn of_package(scope: &Scope<'_>, folder: &str, runs: &[Words], level: Option<&str>) -> Check {
    let at = shell::root().join(folder);
    let here = || scope.programs.iter().filter(|program| program.folder == folder);
    let mut commands = Vec::new();
    for words in runs {
        for program in here() {
            let path = program.path.display().to_string();
            let mut command = Command::new(&[path]).words(words);
            command = command.env("CARGO_MANIFEST_DIR", at.display().to_string());
            if let Some(level) = level {
                command = command.env("ARROWSMITH_CPU", level);
            }
            command.folder = Some(at.clone());
            commands.push(command);
        }
    }
    let counts = runs.iter().any(|words| !words.is_empty());
    let slow = steps::SLOW.iter().find(|(short, _)| steps::folder(short) == folder);
    let inputs = (level.is_some() || slow.is_some()).then(|| {
        let programs: Vec<String> = here().map(|one| one.path.display().to_string()).collect();
        let mut sources = vec!["testdata", folder];
        sources.extend(programs.iter().map(String::as_str));
        sources.extend(slow.iter().flat_map(|(_, folders)| folders.iter().copied()));
        let words = runs.iter().flat_map(|words| words.iter().copied());
        let texts: Vec<&str> = words.chain(level).collect();
        inputs(&sources, &texts)
    });
    Check { name: name(folder, level), commands, inputs, counts }
}

/// Prints the commands. Test programs have no names before they are built.
fn dry(request: &Request<'_>) {
    let scope = request.scope(&[]);
    for (name, value) in environment(request) {
        println!("export {name}={value}");
    }
    let show = |check: &Check| {
        println!("# {}", check.name);
        check.commands.iter().for_each(print);
    };
    if scope.has(&["lint"]) {
        steps::lints(&scope).iter().for_each(show);
    }
    if request.areas == ["lint"] {
        return;
    }
    steps::unbuilt(&scope).iter().for_each(show);
    println!("# build");
    builds(&scope).iter().for_each(print);
    steps::compiled(&scope).iter().for_each(show);
    if scope.areas.is_empty() {
        println!("# every test program");
    }
    for (folder, runs) in steps::tested(&scope) {
        for words in runs {
            println!("# the test programs of {folder} {}", words.join(" "));
        }
    }
    if scope.areas.is_empty() || steps::tested(&scope).iter().any(|(folder, _)| kernels(folder)) {
        for level in steps::LEVELS {
            println!("# the test programs of packages with kernels, ARROWSMITH_CPU={level}");
        }
    }
    steps::others(&scope).iter().for_each(show);
}

fn print(command: &Command) {
    let env = command.env.iter().map(|(name, value)| format!("{name}='{value}' "));
    println!("{}{}", env.collect::<String>(), command.words.join(" "));
}
