// SPDX-License-Identifier: Apache-2.0
//! The addresses in the C++ drivers are those that the generator writes.

use arrowsmith_rtlgen::registers::{RegisterMap, Shape};

fn shape(name: &str) -> Shape {
    Shape {
        name: name.into(),
        schema_hash: 0,
        units: 0,
        beat_bytes: 0,
        format: 0,
        inputs: Vec::new(),
        buffers: Vec::new(),
    }
}

/// The definitions of a header, without those specific to one circuit.
fn defines(header: &str) -> Vec<&str> {
    let particular = [
        "_SCHEMA_HASH_VALUE",
        "_SHAPE_VALUE",
        "_COUNTS_VALUE",
        "_INPUTS",
        "_BUFFERS",
        "_REGISTERS_H",
    ];
    let lines = header.lines().filter(|line| line.starts_with("#define"));
    let lines = lines.map(|line| line.split("//").next().unwrap_or(line).trim_end());
    lines
        .filter(|line| {
            let name = line.split(' ').nth(1).unwrap_or_default();
            !particular.iter().any(|end| name.ends_with(end))
        })
        .collect()
}

#[test]
fn the_drivers_know_the_registers() {
    for (map, header) in [
        (
            RegisterMap::converter(&shape("as_converter")),
            include_str!("../../cpp/as_converter_registers.hpp"),
        ),
        (RegisterMap::json(&shape("as_json")), include_str!("../../cpp/as_json_registers.hpp")),
    ] {
        let wanted = map.c_header();
        assert_eq!(defines(header), defines(&wanted));
        assert!(defines(header).len() > map.registers.len());
    }
}
