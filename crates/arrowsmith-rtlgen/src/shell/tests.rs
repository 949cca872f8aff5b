// SPDX-License-Identifier: Apache-2.0
//! The texts of a shell agree on the arguments; what a shell does not take is refused by name.

use std::sync::Arc;

use arrowsmith_plan::Plan;
use arrowsmith_plan::text::parse_schema;

use super::Shell;
use crate::json::{self, Shape};
use crate::parquet::{self, Column, Kind, Options};

fn json_files(shape: Shape, name: &str, shell: Shell) -> Result<Vec<(String, String)>, String> {
    files_of("id: uint64 not null, name: utf8", shape, name, shell)
}

fn files_of(
    schema: &str,
    shape: Shape,
    name: &str,
    shell: Shell,
) -> Result<Vec<(String, String)>, String> {
    let plan = Plan::new(Arc::new(parse_schema(schema).unwrap())).unwrap();
    let design = json::generate(&plan, name, shape).unwrap();
    json::project_for(&design, &plan, shell).map_err(|error| error.to_string())
}

fn text<'a>(files: &'a [(String, String)], path: &str) -> &'a str {
    &files.iter().find(|(found, _)| found == path).unwrap_or_else(|| panic!("{path}")).1
}

/// The value of an attribute.
fn attribute<'a>(element: &'a str, name: &str) -> &'a str {
    let (_, rest) = element.split_once(&format!(" {name}=\"")).unwrap();
    rest.split_once('"').unwrap().0
}

fn hex(text: &str) -> u32 {
    u32::from_str_radix(text.trim_start_matches("0x"), 16).unwrap()
}

#[test]
fn all_texts_have_the_same_arguments() {
    let shape = Shape { parsers: 2, ports: 2, ..Shape::default() };
    let of_json = json_files(shape, "x", Shell::Xrt).unwrap();
    let columns = [Column::new("a", Kind::Bits64, true), Column::new("b", Kind::Bytes, false)];
    let options = Options { name: "x".into(), ..Options::default() };
    let design = parquet::generate(&columns, &options).unwrap();
    let of_parquet = parquet::project_for(&design, Shell::Xrt).unwrap();
    // Settings of 2 parsers with 4 buffers each; of 2 columns with 2 buffers each.
    for (files, wanted) in [(of_json, 3 + 2 * 2 + 8 * 2), (of_parquet, 2 * 3 + 4 * 2)] {
        let xml = text(&files, "shell/xrt/kernel.xml");
        let tcl = text(&files, "shell/xrt/package_kernel.tcl");
        let wrapper = text(&files, "rtl/x_xrt.v");
        let settings = text(&files, "shell/xrt/settings.hpp");
        let readme = text(&files, "shell/xrt/README.md");
        let arguments: Vec<&str> = xml.lines().filter(|line| line.contains("<arg ")).collect();
        assert_eq!(arguments.len(), wanted);
        let mut end = 0x10;
        for (id, argument) in arguments.iter().enumerate() {
            let (name, offset) = (attribute(argument, "name"), hex(attribute(argument, "offset")));
            let bytes = hex(attribute(argument, "size"));
            assert_eq!(attribute(argument, "id"), id.to_string());
            assert_eq!(offset, end, "{argument}");
            end += bytes;
            let port = attribute(argument, "port");
            let pointer = name.ends_with("_address");
            assert_eq!(pointer, attribute(argument, "addressQualifier") == "1", "{argument}");
            assert_eq!(pointer, port.starts_with("m_axi_gmem"), "{argument}");
            let bus = if pointer { port } else { "{}" };
            assert!(tcl.contains(&format!("    {name} 0x{offset:03x} {} {bus}\n", bytes * 8)));
            let row = readme.lines().find(|line| line.starts_with(&format!("| {id} | {name} |")));
            let register = hex(row.unwrap().rsplit(" | ").next().unwrap().trim_end_matches(" |"));
            for word in (0..bytes).step_by(4) {
                let (from, to) = (offset + word, register + word);
                let decoded = format!("16'h{from:04x}: argument = {{1'b1, 16'h{to:04x}}};");
                assert!(wrapper.contains(&decoded), "{decoded}");
                assert!(settings.contains(&format!("    {{0x{from:04x}, 0x{to:04x}}},\n")));
            }
        }
        // As many words as the arguments have, and no other.
        let words = wrapper.matches("argument = {1'b1").count();
        assert_eq!(u32::try_from(words).unwrap() * 4, end - 0x10);
    }
}

#[test]
fn a_buffer_is_in_the_memory_of_its_parsers_port() {
    let shape = Shape { parsers: 4, ports: 2, ..Shape::default() };
    let files = json_files(shape, "x", Shell::Xrt).unwrap();
    let xml = text(&files, "shell/xrt/kernel.xml");
    for (name, port) in [
        ("input1_address", "m_axi_gmem0"),
        ("input2_address", "m_axi_gmem1"),
        ("buffer7_address", "m_axi_gmem0"),
        ("buffer8_address", "m_axi_gmem1"),
    ] {
        let line = xml.lines().find(|line| line.contains(&format!("name=\"{name}\""))).unwrap();
        assert_eq!(attribute(line, "port"), port, "{line}");
    }
}

#[test]
fn a_wrapper_has_every_signal_of_axi() {
    for (shell, module, prefix) in
        [(Shell::Xrt, "xrt", "m_axi_gmem1"), (Shell::Zynq, "axi", "m_axi1")]
    {
        let shape = Shape { parsers: 2, ports: 2, ..Shape::default() };
        let files = json_files(shape, "x", shell).unwrap();
        let wrapper = text(&files, &format!("rtl/x_{module}.v"));
        for channel in ["ar", "aw"] {
            for signal in [
                "id", "addr", "len", "size", "burst", "lock", "cache", "prot", "qos", "region",
                "valid", "ready",
            ] {
                let port = format!(" {prefix}_{channel}{signal},");
                assert!(wrapper.contains(&port), "{port}");
            }
        }
        for signal in [
            "rid", "rdata", "rresp", "rlast", "rvalid", "rready", "wdata", "wstrb", "wlast",
            "wvalid", "wready", "bid", "bresp", "bvalid", "bready",
        ] {
            assert!(wrapper.contains(&format!(" {prefix}_{signal}")), "{signal}");
        }
        // Every source of the list is one of the files, in the tools' scripts, too.
        let folder = format!("shell/{shell}/");
        let script = ["package_kernel.tcl", "block_design.tcl"]
            .iter()
            .find_map(|name| files.iter().find(|(path, _)| *path == format!("{folder}{name}")));
        let (_, script) = script.unwrap();
        for (path, _) in files.iter().filter(|(path, _)| path.starts_with("rtl/")) {
            assert!(script.contains(&format!("    {path}\n")), "{path}");
        }
        for wanted in ["README.md", "Makefile", "host.cpp", "settings.hpp"] {
            text(&files, &format!("{folder}{wanted}"));
        }
    }
}

#[test]
fn what_a_shell_does_not_take_is_refused() {
    let many = Shape { parsers: 64, ports: 32, ..Shape::default() };
    let wide = "a: utf8, b: utf8";
    let error = files_of(wide, many, "x", Shell::Xrt).err().unwrap();
    assert!(error.contains("899 arguments of 5388 bytes"), "{error}");
    assert!(files_of(wide, many, "x", Shell::AxiPcie).is_ok());
    for name in ["a__b", "a_"] {
        let error = json_files(Shape::default(), name, Shell::Xrt).err().unwrap();
        assert!(error.contains("see --name"), "{error}");
    }
    // A required key that the circuit does not find: there is no sample.
    let error = files_of(r#""say \"so\"": int8 not null"#, Shape::default(), "x", Shell::Xrt);
    let error = error.err().unwrap();
    assert!(error.contains("no sample"), "{error}");
}
