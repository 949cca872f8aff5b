// SPDX-License-Identifier: Apache-2.0
//! Circuits for Parquet: what `rtl generate` writes and refuses; and, where Verilator is installed,
//! a conversion and a simulation.

use std::process::Command;
use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, Int64Array, RecordBatch};
use arrowsmith_testkit::tools;
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;

use crate::cli::data::{read_file, whole};
use crate::cli::run::{Folder, finish};

/// Numbers that a circuit decodes, and a column that it does not.
pub fn write(folder: &Folder) -> RecordBatch {
    let ids = Int64Array::from_iter_values((0..3_000).map(|row| row * row));
    let even = BooleanArray::from_iter((0..3_000).map(|row| Some(row % 2 == 0)));
    let batch = RecordBatch::try_from_iter_with_nullable([
        ("id", Arc::new(ids) as ArrayRef, false),
        ("even", Arc::new(even) as ArrayRef, false),
    ])
    .unwrap();
    let properties = WriterProperties::builder()
        .set_dictionary_enabled(false)
        .set_max_row_group_row_count(Some(2_000))
        .build();
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    folder.write("x.parquet", writer.into_inner().unwrap());
    batch
}

#[test]
fn a_circuit_for_columns_is_written() {
    let folder = Folder::new();
    let generate = ["rtl", "generate", "--format", "parquet", "-o", "out", "--schema"];
    let ran =
        folder.run(&[&generate[..], &["id: int64 not null, name: utf8", "--snappy"]].concat());
    ran.assert_status(0);
    let readme = String::from_utf8(folder.read("out/README.md")).unwrap();
    assert!(readme.contains("| 1 | `name` | bytes, nullable, PLAIN, DELTA_LENGTH_BYTE_ARRAY, RLE_DICTIONARY, Snappy |"), "{readme}");
    let list = String::from_utf8(folder.read("out/files.f")).unwrap();
    assert!(list.starts_with("+incdir+rtl/include\n"), "{list}");
    for path in list.lines().skip(1) {
        assert!(folder.path("out").join(path).exists(), "{path}");
    }
    assert!(list.ends_with("rtl/columns_top.sv\n"), "{list}");
}

#[test]
fn a_circuit_for_records_says_who_shares_writers() {
    let folder = Folder::new();
    let generate = ["rtl", "generate", "--schema", "trip", "--parsers", "4", "--ports", "2", "-o"];
    for (args, sets, said) in [
        (&["auto"][..], 4, "Writers: a set for each parser."),
        (&["shared", "--writers", "shared"][..], 2, "Writers: shared by the 2 parsers of a port."),
    ] {
        folder.run(&[&generate[..], args].concat()).assert_status(0);
        let file =
            |name: &str| String::from_utf8(folder.read(&format!("{}/{name}", args[0]))).unwrap();
        assert!(file("README.md").contains(said), "{}", file("README.md"));
        assert!(file("rtl/trip_top.sv").contains(&format!(".Sets({sets})")));
        assert!(file("registers.md").contains("| 47 | parser 3, "));
    }
}

#[test]
fn a_shell_is_added_to_a_circuit() {
    let folder = Folder::new();
    let ran = folder.run(&["rtl", "generate", "--help"]);
    ran.assert_status(0);
    let help = String::from_utf8(ran.stdout).unwrap();
    for shell in ["xrt", "axi-pcie", "zynq"] {
        assert!(help.contains(&format!("- {shell}:")), "{help}");
        let json = ["rtl", "generate", "--schema", "battery", "--shell", shell, "-o", shell];
        folder.run(&json).assert_status(0);
        for file in ["README.md", "Makefile", "host.cpp"] {
            assert!(folder.path(&format!("{shell}/shell/{shell}/{file}")).exists(), "{file}");
        }
        let list = String::from_utf8(folder.read(&format!("{shell}/files.f"))).unwrap();
        let module = if shell == "xrt" { "xrt" } else { "axi" };
        assert!(list.ends_with(&format!("rtl/battery_{module}.v\n")), "{list}");
    }
    let parquet = ["rtl", "generate", "--format", "parquet", "--schema", "a: int64", "-o", "p"];
    folder.run(&[&parquet[..], &["--shell", "xrt"]].concat()).assert_status(0);
    assert!(folder.path("p/shell/xrt/kernel.xml").exists());
    write(&folder);
    let simulate = ["rtl", "simulate", "--format", "parquet", "--shell", "xrt", "x.parquet"];
    let ran = folder.run(&simulate);
    assert_eq!(ran.status, 2);
    assert!(ran.stderr.contains("--shell is for JSON only"), "{}", ran.stderr);
    let name = ["rtl", "generate", "--schema", "battery", "--shell", "xrt", "-o", "n", "--name"];
    let ran = folder.run(&[&name[..], &["a__b"]].concat());
    assert_ne!(ran.status, 0);
    assert!(ran.stderr.contains("see --name"), "{}", ran.stderr);
}

#[test]
fn what_has_no_circuit_is_refused_by_name() {
    let folder = Folder::new();
    write(&folder);
    let generate = ["rtl", "generate", "--format", "parquet", "-o", "out", "--schema"];
    for (args, said) in [
        (&["a: list<int8>"][..], "a: is"),
        (&["x.parquet"][..], "even: is BOOLEAN"),
        (&["a: int32", "--width", "8"][..], "--width"),
        (&["a: int32", "--parsers", "2"][..], "--parsers"),
        (&["a: int32", "--writers", "shared"][..], "--writers"),
    ] {
        let ran = folder.run(&[&generate[..], args].concat());
        assert_ne!(ran.status, 0, "{args:?}");
        assert!(ran.stderr.contains(said), "{args:?}: {}", ran.stderr);
    }
}

#[test]
fn a_conversion_by_circuits_has_the_rows() {
    let verilator = std::env::var_os("ARROWSMITH_VERILATOR").unwrap_or_else(|| "verilator".into());
    if !tools::answers(Command::new(verilator).arg("--version")) {
        let remedy = "`tools/hdl install` and ARROWSMITH_VERILATOR=$(tools/hdl verilator)";
        return tools::absent("Verilator", remedy);
    }
    let folder = Folder::new();
    let wanted = write(&folder);
    let ran = folder.run(&["convert", "x.parquet", "--engine", "rtl", "-o", "x.arrow"]);
    ran.assert_status(0);
    assert!(ran.stderr.contains("1 of 2 columns by another engine"), "{}", ran.stderr);
    assert!(ran.stderr.contains("circuits: 2 column chunks in "), "{}", ran.stderr);
    assert_eq!(whole(&read_file(&folder, "x.arrow")), wanted);
    let args = ["convert", "x.parquet", "--engine", "rtl", "--where", "id > 100", "-o", "y.arrow"];
    folder.run(&args).assert_status(0);
    assert_eq!(whole(&read_file(&folder, "y.arrow")), wanted.slice(11, 2_989));
    let ran = folder.run(&["rtl", "simulate", "--format", "parquet", "x.parquet"]);
    ran.assert_status(0);
    let text = String::from_utf8(ran.stdout).unwrap();
    assert!(text.contains("id: 64 bits, PLAIN: 3000 rows in "), "{text}");
    assert!(text.ends_with("same as engine cpu\n"), "{text}");
}

#[test]
fn what_a_circuit_takes_is_explained_without_a_simulator() {
    let folder = Folder::new();
    write(&folder);
    let mut explain = folder.command(&["convert", "x.parquet", "--engine", "rtl", "--explain"]);
    let ran = finish(explain.env("ARROWSMITH_VERILATOR", "/nowhere/verilator").spawn().unwrap());
    ran.assert_status(0);
    let text = String::from_utf8(ran.stdout).unwrap();
    assert!(text.contains("id: Int64 by engine rtl\n"), "{text}");
    assert!(text.contains("even: Boolean by engine cpu; rtl declined: even: is BOOLEAN"), "{text}");
    let mut convert = folder.command(&["convert", "x.parquet", "--engine", "rtl", "-o", "x.arrow"]);
    let ran = finish(convert.env("ARROWSMITH_VERILATOR", "/nowhere/verilator").spawn().unwrap());
    assert_ne!(ran.status, 0);
    assert!(ran.stderr.contains("no Verilator"), "{}", ran.stderr);
}

#[test]
fn keys_that_a_circuit_does_not_find_are_named() {
    let folder = Folder::new();
    let schema = r#"a: int8, "say \"so\"": int8"#;
    let ran = folder.run(&["rtl", "generate", "--schema", schema, "-o", "out"]);
    ran.assert_status(0);
    let note =
        r#"note: the circuit does not find the key "say \"so\"": records with it go to software"#;
    assert!(ran.stderr.contains(note), "{}", ran.stderr);
}
