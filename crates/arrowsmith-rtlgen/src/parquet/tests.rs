// SPDX-License-Identifier: Apache-2.0
//! Generated text, refusals, and the example in `hdl/examples`.

use std::path::Path;

use arrowsmith_plan::text::parse_schema;

use super::{Column, Kind, Options, columns_of_schema, fault, generate, project, project_for};
use crate::library::LIBRARY;
use crate::shell::Shell;

#[test]
fn every_buffer_has_a_stream() {
    let columns = [
        Column::new("a", Kind::Bits64, false),
        Column::new("b.c", Kind::Bytes, true),
        Column::new("d", Kind::Bits32, true),
    ];
    let design = generate(&columns, &Options::default()).unwrap();
    assert_eq!(
        design.registers.buffers,
        ["a values", "b.c validity", "b.c offsets", "b.c bytes", "d validity", "d values"]
    );
    let top = &design.files[1].1;
    for stream in 0..6 {
        assert!(top.contains(&format!("assign out_valid[{stream}] = ")), "{stream}");
    }
    assert_eq!(generate(&columns, &Options::default()).unwrap(), design);
}

#[test]
fn what_cannot_be_done_is_refused_by_name() {
    let mut column = Column::new("a", Kind::Bits64, false);
    let refused =
        |columns: &[Column], options: &Options| generate(columns, options).unwrap_err().path;
    assert_eq!(refused(&[], &Options::default()), "columns");
    let options = Options { name: "9x".into(), ..Options::default() };
    assert_eq!(refused(std::slice::from_ref(&column), &options), "name");
    let options = Options { entries: 1000, ..Options::default() };
    assert_eq!(refused(std::slice::from_ref(&column), &options), "entries");
    (column.plain, column.delta, column.dictionary) = (false, false, false);
    assert_eq!(refused(&[column], &Options::default()), "a");
}

#[test]
fn the_example_is_fresh() {
    let schema =
        parse_schema("id: int64 not null, day: date32 not null, amount: float64, name: utf8");
    let columns = columns_of_schema(&schema.unwrap(), true).unwrap();
    let design =
        generate(&columns, &Options { name: "orders".into(), ..Options::default() }).unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../hdl/examples/orders");
    let mut files = design.files.clone();
    let wanted = ["README.md", "diagram.svg", "registers.md"];
    let beside = project(&design).into_iter();
    files.extend(beside.filter(|(path, _)| wanted.contains(&path.as_str())));
    let wrapped = project_for(&design, Shell::Xrt).unwrap().into_iter();
    let wrapper = wrapped.filter(|(path, _)| path.ends_with(".v"));
    files.extend(wrapper.map(|(path, text)| (path.replace("rtl/", ""), text)));
    for (path, text) in files {
        let file = root.join(&path);
        if std::env::var_os("ARROWSMITH_UPDATE_SNAPSHOTS").is_some() {
            std::fs::create_dir_all(&root).unwrap();
            std::fs::write(&file, &text).unwrap();
        }
        let kept = std::fs::read_to_string(&file).unwrap_or_default();
        assert!(kept == text, "{path} is stale: ARROWSMITH_UPDATE_SNAPSHOTS=1");
    }
}

#[test]
fn schemas_become_columns_or_are_refused_by_name() {
    let of = |text: &str| columns_of_schema(&parse_schema(text).unwrap(), false);
    let columns = of("a: timestamp(us) not null, b: binary").unwrap();
    assert_eq!(columns[0], Column::new("a", Kind::Bits64, false));
    assert_eq!(columns[1], Column::new("b", Kind::Bytes, true));
    for text in ["a: bool", "a: list<int32>", "a: timestamp(s)", "a: decimal128(5, 2)", "a: int8"] {
        assert_eq!(of(text).unwrap_err().path, "a", "{text}");
    }
}

#[test]
fn a_project_has_what_tools_expect() {
    let options = Options { name: "t".into(), ..Options::default() };
    let mut column = Column::new("a", Kind::Bits64, true);
    column.snappy = true;
    let files = project(&generate(&[column], &options).unwrap());
    for wanted in [
        "README.md",
        "diagram.svg",
        "registers.md",
        "files.f",
        "t.core",
        "vivado.tcl",
        "quartus.tcl",
        "driver/t_registers.h",
        "driver/t_registers.rs",
        "driver/as_converter_driver.hpp",
        "driver/as_converter_registers.hpp",
        "shell/t_opae.sv",
        "rtl/t_regs.sv",
        "rtl/t_top.sv",
        "rtl/parquet/as_parquet_column.sv",
    ] {
        assert!(files.iter().any(|(path, _)| path == wanted), "{wanted}");
    }
}

/// The table of faults matches the package.
#[test]
fn faults_are_those_of_the_circuit() {
    let package = LIBRARY.iter().find(|(path, _)| path.ends_with("as_parquet_pkg.sv")).unwrap().1;
    let codes: Vec<u32> = package
        .lines()
        .filter_map(|line| line.trim().strip_prefix("Fault")?.split_once("= 8'd"))
        .map(|(_, rest)| rest.chars().take_while(char::is_ascii_digit).collect::<String>())
        .map(|digits| digits.parse().unwrap())
        .filter(|code| *code != 0)
        .collect();
    assert_eq!(codes.len(), 16);
    assert!(codes.iter().all(|code| fault(*code).is_some()), "{codes:?}");
}
