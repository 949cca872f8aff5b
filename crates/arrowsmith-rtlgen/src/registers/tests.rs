// SPDX-License-Identifier: Apache-2.0
//! The generated texts agree on the registers.

use super::{Access, RegisterMap, Shape};

fn maps() -> [RegisterMap; 2] {
    let shape = Shape {
        name: "trip".into(),
        schema_hash: 0x0123_4567_89ab_cdef,
        units: 2,
        beat_bytes: 64,
        format: 2,
        inputs: vec!["a".into(), "b".into()],
        buffers: vec!["a values".into(), "b offsets".into(), "b bytes".into()],
    };
    [RegisterMap::converter(&shape), RegisterMap::json(&shape)]
}

#[test]
fn no_two_registers_share_a_word() {
    for map in maps() {
        let mut words = std::collections::BTreeSet::new();
        for register in &map.registers {
            for index in 0..register.count {
                for word in 0..register.bits / 32 {
                    let block = u32::try_from(index).unwrap() * super::BLOCK_BYTES;
                    assert!(words.insert(register.offset + block + word * 4), "{}", register.name);
                }
            }
        }
    }
}

#[test]
fn all_texts_have_all_registers() {
    for map in maps() {
        let (sv, rust, c, md) = (map.systemverilog(), map.rust(), map.c_header(), map.markdown());
        for register in &map.registers {
            let name = register.name.to_ascii_uppercase();
            let offset = format!("0x{:04x}", register.offset);
            assert!(rust.contains(&format!("pub const {name}: u32 = {offset};")), "{name}");
            assert!(c.contains(&format!("#define TRIP_{name} {offset}u")), "{name}");
            assert!(md.contains(&format!("| {} |", register.name)), "{name}");
            // A window is one range, given by its start.
            let window = register.access == Access::Window;
            assert!(window || sv.contains(&format!("16'h{:04x}", register.offset)), "{name}");
        }
        assert!(sv.contains("16'h0008: read_data_q <= 32'h89abcdef;"));
        assert!(sv.contains("16'h000c: read_data_q <= 32'h01234567;"));
    }
    let [converter, json] = maps().map(|map| map.systemverilog());
    assert!(converter.contains("16'h2044: buffer_address_q[160+:32] <= write_data;"));
    assert!(json.contains("16'h1024: input_address_q[96+:32] <= write_data;"));
    assert!(json.contains("16'h102c: read_data_q <= 32'(input_fault_i[8+:8]);"));
    assert!(json.contains("assign buffer_set_o   = write && write_address >= 16'h2000;"));
    // Settings are not read back; words that the circuit keeps have no register.
    assert!(!json.contains("read_data_q <= input_address") && !json.contains("buffer_address"));
}
