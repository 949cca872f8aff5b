// SPDX-License-Identifier: Apache-2.0
//! The generated circuits for the paper's schemas are kept in `hdl/examples`; unsupported schemas
//! are refused by name.

use std::path::PathBuf;
use std::sync::Arc;

use arrowsmith_plan::Plan;
use arrowsmith_plan::text::parse_schema;
use arrowsmith_workload::Workload;

use super::project::FAULTS;
use super::{Kind, Layout, Shape, generate, project, project_for};
use crate::library::LIBRARY;
use crate::shell::Shell;

fn plan(schema: &str) -> Plan {
    Plan::new(Arc::new(parse_schema(schema).unwrap())).unwrap()
}

#[test]
fn examples_are_fresh() {
    for workload in [Workload::Battery, Workload::Trip] {
        let plan = Plan::new(Arc::new(workload.schema())).unwrap();
        let design = generate(&plan, workload.name(), Shape::default()).unwrap();
        let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../hdl/examples");
        let mut files = design.files.clone();
        let wanted = ["README.md", "diagram.svg", "registers.md"];
        let beside = project(&design, &plan).into_iter();
        files.extend(beside.filter(|(path, _)| wanted.contains(&path.as_str())));
        // The wrappers of shells, for one of them.
        if workload == Workload::Battery {
            for shell in [Shell::Xrt, Shell::AxiPcie] {
                let wrapped = project_for(&design, &plan, shell).unwrap().into_iter();
                let wrapper = wrapped.filter(|(path, _)| path.ends_with(".v"));
                files.extend(wrapper.map(|(path, text)| (path.replace("rtl/", ""), text)));
            }
        }
        for (path, text) in files {
            let file = root.join(workload.name()).join(&path);
            if std::env::var_os("ARROWSMITH_UPDATE_SNAPSHOTS").is_some() {
                std::fs::create_dir_all(file.parent().unwrap()).unwrap();
                std::fs::write(&file, &text).unwrap();
            }
            let kept = std::fs::read_to_string(&file).unwrap_or_default();
            assert!(kept == text, "{path} is stale: ARROWSMITH_UPDATE_SNAPSHOTS=1");
        }
    }
}

#[test]
fn equal_schemas_give_equal_text() {
    let shape = Shape { width: 32, parsers: 2, ..Shape::default() };
    let schema = "a: list<int8>, b: struct<c: utf8 not null>";
    let one = generate(&plan(schema), "x", shape).unwrap();
    assert_eq!(one.files, generate(&plan(schema), "x", shape).unwrap().files);
}

#[test]
fn texts_between_values_are_predicted() {
    let layout = Layout::new(&plan("a: int8, s: struct<b: utf8, c: list<int8>>, d: bool")).unwrap();
    let texts: Vec<String> =
        layout.slots.iter().map(|slot| String::from_utf8(slot.text.clone()).unwrap()).collect();
    assert_eq!(texts, ["{\"a\":", ",\"s\":{\"b\":\"", "\",\"c\":[", "]},\"d\":", "}\n{\"a\":"]);
    assert_eq!(layout.rows[1].kind, Kind::Int(true, 8));
    assert!(layout.slots[4].newline);
}

#[test]
fn what_cannot_be_done_is_refused_by_name() {
    for (schema, field) in [
        ("a: float16", "field a:"),
        ("a: struct<b: list<decimal256(50, 2)>>", "field a.b[]:"),
        ("a: duration(us)", "field a:"),
        ("a: dictionary<int8, utf8>", "field a:"),
        ("s: struct<m: list<map<utf8, int8>>>", "field s.m[]:"),
        ("a: map<utf8, int8>", "field a:"),
    ] {
        let error = generate(&plan(schema), "x", Shape::default()).unwrap_err().to_string();
        assert!(error.contains(field), "{error}");
    }
    let error = generate(&plan("a: int8"), "x", Shape { width: 12, ..Shape::default() });
    assert!(error.unwrap_err().to_string().contains("width 12"));
    let error = generate(&plan("a: int8"), "x", Shape { parsers: 3, ports: 2, ..Shape::default() });
    assert!(error.unwrap_err().to_string().contains("2 ports of 3 parsers"));
    for parsers in [0, 65, usize::MAX] {
        let error = generate(&plan("a: int8"), "x", Shape { parsers, ..Shape::default() });
        let error = error.unwrap_err().to_string();
        assert!(error.ends_with(&format!("{parsers} parsers: there can be 1 to 64")), "{error}");
    }
}

#[test]
fn keys_that_are_left_to_software_are_named() {
    let plan = plan(r#"a: int8, "say \"so\"": int8, s: struct<"back\\slash": int8>"#);
    let design = generate(&plan, "x", Shape::default()).unwrap();
    let keys: Vec<&str> = design.layout.keys_for_software().into_iter().collect();
    assert_eq!(keys, ["back\\slash", "say \"so\""]);
    let (_, readme) = &project(&design, &plan)[0];
    assert!(readme.contains(r#"left to the host: `back\\slash`, `say \"so\"`."#), "{readme}");
}

#[test]
fn a_project_has_what_tools_expect() {
    let plan = plan("voltage: list<uint64 not null> not null");
    let design = generate(&plan, "battery", Shape { parsers: 8, ..Shape::default() }).unwrap();
    let files = project(&design, &plan);
    for wanted in [
        "README.md",
        "diagram.svg",
        "files.f",
        "battery.core",
        "vivado.tcl",
        "quartus.tcl",
        "driver/battery_registers.h",
        "driver/battery_registers.rs",
        "driver/as_json_driver.hpp",
        "driver/as_json_registers.hpp",
        "registers.md",
        "rtl/battery_regs.sv",
        "rtl/battery_top.sv",
        "rtl/json/as_json_route.sv",
    ] {
        assert!(files.iter().any(|(path, _)| path == wanted), "{wanted}");
    }
}

#[test]
fn faults_are_those_of_the_circuit() {
    let package = LIBRARY.iter().find(|(path, _)| path.ends_with("as_json_pkg.sv")).unwrap().1;
    let codes = package
        .lines()
        .filter_map(|line| line.trim().strip_prefix("Fault")?.split_once("= 8'd"))
        .map(|(_, rest)| rest.chars().take_while(char::is_ascii_digit).collect::<String>())
        .map(|digits| digits.parse::<u8>().unwrap())
        .filter(|code| *code != 0);
    assert!(codes.eq(FAULTS.iter().map(|(code, _)| *code)));
}

#[test]
fn powers_are_those_of_software() {
    let file =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../hdl/rtl/json/as_json_powers.sv");
    let kept = std::fs::read_to_string(&file).unwrap();
    let begin = "Powers[651] = '{\n";
    let (head, rest) = kept.split_once(begin).unwrap();
    let (_, tail) = rest.split_once("\n  };").unwrap();
    let table = arrowsmith_number::powers_of_five();
    let lines: Vec<String> = table
        .chunks(3)
        .map(|three| {
            let texts: Vec<_> =
                three.iter().map(|(high, low)| format!("128'h{high:016x}{low:016x}")).collect();
            format!("      {}", texts.join(", "))
        })
        .collect();
    let wanted = format!("{head}{begin}{}\n  }};{tail}", lines.join(",\n"));
    if std::env::var_os("ARROWSMITH_UPDATE_SNAPSHOTS").is_some() {
        std::fs::write(&file, &wanted).unwrap();
    }
    assert!(kept == wanted, "the powers of five are stale: ARROWSMITH_UPDATE_SNAPSHOTS=1");
}
