// SPDX-License-Identifier: Apache-2.0
//! Circuits in the shells of boards: the program for the host, run on the simulated shell, passes
//! and can fail; an engine whose circuits are in a shell has the rows of the engine `cpu`. Without
//! a Verilator the tests that simulate are skipped.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use arrowsmith_core::DecodeOptions;
use arrowsmith_engine_rtl::RtlEngine;
use arrowsmith_plan::Plan;
use arrowsmith_plan::text::parse_schema;
use arrowsmith_rtlgen::json::{self, Shape};
use arrowsmith_rtlgen::parquet::{self, Column, Kind, Options};
use arrowsmith_rtlgen::shell::Shell;
use arrowsmith_testkit::tools;
use arrowsmith_workload::{Generator, Workload};

use crate::json_support::{check, memory};
use crate::support::there;

const SCHEMA: &str = "id: uint64 not null, name: utf8, on: bool, counts: list<int32>";

/// The files of a JSON circuit in a shell, in a new folder.
fn json_project(name: &str, shell: Shell) -> PathBuf {
    let plan = Plan::new(Arc::new(parse_schema(SCHEMA).unwrap())).unwrap();
    let shape = Shape { parsers: 2, ports: 2, ..Shape::default() };
    let design = json::generate(&plan, "t", shape).unwrap();
    write(name, json::project_for(&design, &plan, shell).unwrap())
}

fn write(name: &str, files: Vec<(String, String)>) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    for (path, text) in files {
        let file = folder.join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }
    folder
}

/// `make TARGET` in a shell's folder: whether it succeeded, and its output.
fn make(folder: &Path, shell: Shell, target: &str) -> (bool, String) {
    let verilator = std::env::var_os("ARROWSMITH_VERILATOR").unwrap_or_else(|| "verilator".into());
    let program = PathBuf::from(verilator);
    let mut make = Command::new("make");
    let root = program.parent().and_then(Path::parent);
    if let Some(root) = root.filter(|root| root.join("include/verilated.h").exists()) {
        make.env("VERILATOR_ROOT", root);
    }
    let output = make
        .args(["--silent", "-C"])
        .arg(folder.join(format!("shell/{shell}")))
        .args([target, "OPTIMIZE=0", &format!("VERILATOR={}", program.display())])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    (output.status.success(), said)
}

#[test]
fn a_kernel_runs_the_hosts_program_and_can_fail() {
    if !there() {
        return;
    }
    let folder = json_project("shell_xrt", Shell::Xrt);
    let (passed, said) = make(&folder, Shell::Xrt, "sim");
    assert!(passed && said.contains("all buffers as expected") && said.contains("PASS"), "{said}");

    // A description of another kernel than this one.
    let xml = folder.join("shell/xrt/kernel.xml");
    let kept = fs::read_to_string(&xml).unwrap();
    for (from, to, why) in [
        ("=\"ap_ctrl_hs\"", "=\"ap_ctrl_none\"", "another protocol"),
        ("offset=\"0x010\"", "offset=\"0x014\"", "a gap before refuse_unknown"),
    ] {
        fs::write(&xml, kept.replace(from, to)).unwrap();
        let (passed, said) = make(&folder, Shell::Xrt, "sim");
        assert!(!passed && said.contains(&format!("FAIL: kernel.xml: {why}")), "{said}");
    }
    fs::write(&xml, &kept).unwrap();

    // A wrong byte.
    let expected = folder.join("bench/expected.txt");
    let right = fs::read_to_string(&expected).unwrap();
    let (at, digit) = right.char_indices().filter(|(_, c)| c.is_ascii_digit()).nth(500).unwrap();
    let other = if digit == '0' { "1" } else { "0" };
    fs::write(&expected, [&right[..at], other, &right[at + 1..]].concat()).unwrap();
    let (passed, said) = make(&folder, Shell::Xrt, "sim");
    assert!(!passed && said.contains("FAIL") && said.contains("differs"), "{said}");
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_block_of_axi_runs_the_hosts_program() {
    if !there() {
        return;
    }
    let folder = json_project("shell_axi", Shell::AxiPcie);
    let (passed, said) = make(&folder, Shell::AxiPcie, "sim");
    assert!(passed && said.contains("all buffers as expected") && said.contains("PASS"), "{said}");
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_kernel_for_columns_runs_the_hosts_program() {
    if !there() {
        return;
    }
    let of = |path: &str, kind, nullable| Column::new(path, kind, nullable);
    // What a column can be decodes the same in a shell; a circuit of less compiles sooner.
    let columns = [
        Column { dictionary: false, delta: false, ..of("plain", Kind::Bits64, true) },
        Column { plain: false, delta: false, ..of("dictionary", Kind::Bytes, true) },
    ];
    let options = Options { name: "t".into(), ..Options::default() };
    let design = parquet::generate(&columns, &options).unwrap();
    let folder = write("shell_parquet", parquet::project_for(&design, Shell::Xrt).unwrap());
    let (passed, said) = make(&folder, Shell::Xrt, "sim");
    assert!(passed && said.contains("all buffers as expected") && said.contains("PASS"), "{said}");
    fs::remove_dir_all(&folder).unwrap();
}

/// The host's programs compile without a warning: for the devices of Linux as they are, for XRT
/// against its own headers. (The simulations compile it against the stub.)
#[test]
fn the_hosts_programs_compile() {
    let compiles = |folder: &Path, shell: Shell, includes: &[&str]| {
        let mut compiler = Command::new("g++");
        compiler.args(["-std=c++17", "-Wall", "-Wextra", "-Werror", "-fsyntax-only"]);
        compiler.current_dir(folder.join(format!("shell/{shell}")));
        compiler.args(["-I.", "-I../../bench", "-I../../driver", "host.cpp"]);
        compiler.args(includes.iter().map(|include| format!("-isystem{include}")));
        let output = compiler.output().unwrap();
        assert!(output.status.success(), "{shell}: {}", String::from_utf8_lossy(&output.stderr));
    };
    for shell in [Shell::AxiPcie, Shell::Zynq] {
        let folder = json_project(&format!("host_{shell}"), shell);
        compiles(&folder, shell, &[]);
        fs::remove_dir_all(&folder).unwrap();
    }
    // As the package libxrt-dev has them.
    let own = "/usr/include/xrt";
    if !Path::new(own).join("xrt/xrt_kernel.h").exists() {
        tools::absent("libxrt-dev, the headers of XRT,", tools::SETUP);
        return;
    }
    let folder = json_project("host_xrt", Shell::Xrt);
    compiles(&folder, Shell::Xrt, &[own]);
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_circuit_in_a_shell_has_the_rows_of_the_cpu() {
    if !there() {
        return;
    }
    let schema = Workload::Battery.schema();
    let plan = Arc::new(Plan::new(Arc::new(schema)).unwrap());
    let mut text = Vec::new();
    Generator::new(Workload::Battery, 7, 16).fill(20_000, &mut text);
    let shape = Shape { parsers: 2, ports: 2, ..Shape::default() };
    let rtl = RtlEngine::default().with_shape(shape).with_memory(memory(20, 3));
    let rtl = rtl.with_shell(Shell::Xrt);
    check(&rtl, &plan, &DecodeOptions::default(), &text, "battery in a kernel");
    let broken = [&text[..], b"{\"voltage\":[1,}\n", &text[..]].concat();
    check(&rtl, &plan, &DecodeOptions::default(), &broken, "with a record that is none");
}
