// SPDX-License-Identifier: Apache-2.0
//! The addresses that the C++ driver has are those that the generator writes.

use arrowsmith_rtlgen::registers::{Access, RegisterMap, Shape};

#[test]
fn the_driver_knows_the_registers() {
    let map = RegisterMap::converter(&Shape {
        name: "as_converter".into(),
        schema_hash: 0,
        units: 0,
        beat_bytes: 0,
        format: 0,
        inputs: Vec::new(),
        buffers: Vec::new(),
    });
    let mut wanted = String::from("#define AS_CONVERTER_BLOCK_BYTES 0x20u\n");
    for register in &map.registers {
        let name = register.name.to_ascii_uppercase();
        wanted += &format!("#define AS_CONVERTER_{name} 0x{:04x}u\n", register.offset);
        if let Access::Command(fields) | Access::Flags(fields) = &register.access {
            for (bit, (field, _)) in fields.iter().enumerate() {
                let field = field.to_ascii_uppercase();
                wanted += &format!("#define AS_CONVERTER_{name}_{field} (1u << {bit})\n");
            }
        }
    }
    let header = include_str!("../cpp/as_converter_registers.hpp");
    let defines: String = header
        .lines()
        .filter(|line| line.starts_with("#define"))
        .map(|line| format!("{line}\n"))
        .collect();
    assert_eq!(defines, wanted);
}
