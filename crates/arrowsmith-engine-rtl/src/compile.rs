// SPDX-License-Identifier: Apache-2.0
//! Compiles sources to a program, by Verilator and the C++ compiler, once for equal sources.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

use arrowsmith_core::hash::fnv1a;
use arrowsmith_rtlgen::library::{include_folders, is_header};

use crate::RtlError;

/// Programs whose compilation this process has begun: each has a folder of its own.
static STARTED: AtomicU64 = AtomicU64::new(0);

/// A Verilator, and the cache folder of its programs.
#[derive(Debug, Clone)]
pub struct Verilator {
    program: PathBuf,
    cache: PathBuf,
    /// Line coverage: if set, circuits are compiled with counters, and write them to the folder
    /// that this variable names.
    coverage: bool,
    /// How much the C++ compiler optimizes, 0 to 3.
    optimize: u8,
}

/// Names the folder for coverage data.
const COVERAGE: &str = "ARROWSMITH_RTL_COVERAGE";
/// How much the C++ compiler optimizes, 0 to 3: for short texts through many circuits, less is
/// faster overall.
const OPTIMIZE: &str = "ARROWSMITH_RTL_OPTIMIZE";

/// The sources: named texts; SystemVerilog in order, headers and packages first.
#[derive(Debug, Default, Clone)]
pub(crate) struct Sources {
    pub top: String,
    pub rtl: Vec<(String, String)>,
    /// C++: headers and sources.
    pub cpp: Vec<(String, String)>,
    /// Flags of the C++ compiler and its linker.
    pub flags: Vec<String>,
    /// Modules with many instances: each is compiled once, not once per instance.
    pub blocks: Vec<String>,
}

/// The folder of compiled programs and other results of tools: `ARROWSMITH_RTL_CACHE`, or else the
/// user's cache folder.
pub fn cache_folder() -> PathBuf {
    let folder = |name: &str| std::env::var_os(name).map(PathBuf::from);
    folder("ARROWSMITH_RTL_CACHE")
        .or_else(|| folder("XDG_CACHE_HOME").map(|base| base.join("arrowsmith/rtl")))
        .or_else(|| folder("HOME").map(|home| home.join(".cache/arrowsmith/rtl")))
        .unwrap_or_else(|| std::env::temp_dir().join("arrowsmith-rtl"))
}

impl Verilator {
    /// The Verilator that the variable `ARROWSMITH_VERILATOR` names, or else the one in the path.
    /// Programs are kept in [`cache_folder`].
    ///
    /// # Errors
    ///
    /// No working Verilator.
    pub fn find() -> Result<Self, RtlError> {
        let named = std::env::var_os("ARROWSMITH_VERILATOR");
        let program = PathBuf::from(named.unwrap_or_else(|| "verilator".into()));
        Self::at(program, cache_folder())
    }

    /// The Verilator at a path, with its programs kept in a folder.
    ///
    /// # Errors
    ///
    /// It does not run.
    pub fn at(program: PathBuf, cache: PathBuf) -> Result<Self, RtlError> {
        let coverage = std::env::var_os(COVERAGE).is_some();
        let optimize = match std::env::var(OPTIMIZE).as_deref() {
            Ok("0") => 0,
            Ok("1") => 1,
            Ok("3") => 3,
            _ => 2,
        };
        let found = Self { program, cache, coverage, optimize };
        let said = found.command().arg("--version").output();
        match said {
            Ok(output) if output.status.success() => Ok(found),
            Ok(output) => {
                Err(RtlError::NoVerilator(String::from_utf8_lossy(&output.stderr).into_owned()))
            }
            Err(error) => {
                Err(RtlError::NoVerilator(format!("{}: {error}", found.program.display())))
            }
        }
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        // An unpacked Verilator that is not installed does not find its own files.
        let root = self.program.parent().and_then(Path::parent);
        if let Some(root) = root.filter(|root| root.join("include/verilated.h").exists()) {
            command.env("VERILATOR_ROOT", root);
        }
        command
    }

    /// The program compiled from the sources, from the cache if it is there.
    pub(crate) fn compile(&self, sources: &Sources) -> Result<PathBuf, RtlError> {
        let counting = if self.coverage { "-coverage" } else { "" };
        let name = format!("{}-{:016x}-o{}{counting}", sources.top, sources.hash(), self.optimize);
        let kept = self.cache.join(name);
        let program = kept.join("obj/run");
        if program.exists() {
            return Ok(program);
        }
        // Compiled in a temporary folder and then renamed, so that others who compile the same
        // sources are not disturbed.
        let name = format!(
            "making-{}-{}-{:016x}",
            std::process::id(),
            STARTED.fetch_add(1, Ordering::Relaxed),
            sources.hash()
        );
        let aside = self.cache.join(name);
        let _ = fs::remove_dir_all(&aside);
        let made = self.make(sources, &aside);
        if made.is_ok() && fs::rename(&aside, &kept).is_err() && !program.exists() {
            return Err(RtlError::Io(kept, std::io::Error::other("cannot be put into place")));
        }
        let _ = fs::remove_dir_all(&aside);
        made.map(|()| program)
    }

    fn make(&self, sources: &Sources, folder: &Path) -> Result<(), RtlError> {
        let write = |name: &str, text: &str| {
            let path = folder.join(name);
            let done = fs::create_dir_all(path.parent().unwrap_or(folder))
                .and_then(|()| fs::write(&path, text));
            done.map_err(|error| RtlError::Io(path, error))
        };
        for (name, text) in sources.rtl.iter().chain(&sources.cpp) {
            write(name, text)?;
        }
        let block = |module: &String| format!("hier_block -module \"{module}\"\n");
        let blocks: String = sources.blocks.iter().map(block).collect();
        write("blocks.vlt", &format!("`verilator_config\n{blocks}"))?;
        let paths = sources.rtl.iter().map(|(name, _)| name.as_str());
        let mut command = self.command();
        command
            .current_dir(folder)
            .args(["--cc", "--exe", "-j", "2", "-O3", "--prefix", "Vobjects"])
            // One file: the precompiled header that several would share does not work with every
            // compiler.
            .args(["--output-split", "0"])
            .args(self.coverage.then_some("--coverage-line"))
            .args(["--top-module", &sources.top, "--Mdir", "obj", "-o", "run", "-CFLAGS"])
            .arg({
                let mut flags = OsString::from(format!("-std=c++20 -O{} -I", self.optimize));
                flags.push(fs::canonicalize(folder).unwrap_or_else(|_| folder.into()));
                for flag in &sources.flags {
                    flags.push(" ");
                    flags.push(flag);
                }
                flags
            })
            .arg("--assert")
            .args(include_folders(paths.clone()).iter().map(|folder| format!("-I{folder}")))
            .args(paths.filter(|path| !is_header(path)))
            .args(sources.cpp.iter().map(|(name, _)| name).filter(|name| name.ends_with(".cpp")));
        if !sources.blocks.is_empty() {
            // Ready and valid of a block meet outside of it: this looks like a combinational loop
            // and is none.
            command.args(["--hierarchical", "blocks.vlt", "-Wno-UNOPTFLAT"]);
        }
        if !sources.flags.is_empty() {
            command.args(["-LDFLAGS", &sources.flags.join(" ")]);
        }
        if !sources.blocks.is_empty() {
            return done(command.arg("--build")).map(drop);
        }
        done(&mut command)?;
        let made = folder.join("obj");
        run_once(&made)?;
        let root = done(self.command().args(["--getenv", "VERILATOR_ROOT"]))?;
        let mut make = Command::new("make");
        make.current_dir(made).args(["-f", "Vobjects.mk", "-j", "2"]);
        done(make.env("VERILATOR_ROOT", root.trim())).map(drop)
    }
}

/// Runs a command to its end, and returns its output; its last lines are the error if it fails.
fn done(command: &mut Command) -> Result<String, RtlError> {
    let program = PathBuf::from(command.get_program());
    let output = command.output().map_err(|error| RtlError::Io(program, error))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    let lines: Vec<&str> = said.lines().collect();
    Err(RtlError::Compile(lines[lines.len().saturating_sub(30)..].join("\n")))
}

/// Lets what runs once, at the start, be compiled without optimization: a third of the C++, and a
/// sixth of the time. Verilator does so only with one object per file.
fn run_once(folder: &Path) -> Result<(), RtlError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |error| RtlError::Io(path, error)
    };
    for entry in fs::read_dir(folder).map_err(failed(folder))? {
        let path = entry.map_err(failed(folder))?.path();
        if path.to_str().is_some_and(|path| path.ends_with("__Slow.cpp")) {
            let text = fs::read_to_string(&path).map_err(failed(&path))?;
            let text = format!(
                "#pragma GCC push_options\n#pragma GCC optimize(\"O0\")\n{text}\n\
                 #pragma GCC pop_options\n"
            );
            fs::write(&path, text).map_err(failed(&path))?;
        }
    }
    Ok(())
}

impl Sources {
    /// 64-bit FNV-1a of all names and texts.
    fn hash(&self) -> u64 {
        let files = self.rtl.iter().chain(&self.cpp);
        let flags = self.flags.iter().chain(&self.blocks).chain([&self.top]);
        let named = files.map(|(name, text)| (name.as_str(), text.as_str()));
        let all = named.chain(flags.map(|flag| (flag.as_str(), "")));
        let texts = all.flat_map(|(name, text)| [name, text]);
        fnv1a(texts.flat_map(|text| text.bytes().chain([0])))
    }
}
