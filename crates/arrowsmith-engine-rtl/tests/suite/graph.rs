// SPDX-License-Identifier: Apache-2.0
//! Circuits against the contract: the paper's tree, difficult layouts, hostile messages, memory
//! that stalls.

#![allow(clippy::cast_possible_truncation, reason = "a test; what is cut is small or random")]

use std::process::Command;

use arrowsmith_engine_rtl::MemoryProfile;
use arrowsmith_engine_rtl::graph::Request;
use arrowsmith_graph::{Code, Layout, WireError};
use arrowsmith_rtlgen::graph::{Options, generate};
use arrowsmith_testkit::{scale, tools};
use arrowsmith_workload::SplitMix64;

use crate::support::{
    Oracle, circuit, layout, message, root, spoil, there, verilator, vtables, with_header,
};

const I386: &str = "examples/objects/expression/layout-i386.json";
const X86_64: &str = "examples/objects/expression/layout-x86_64.json";
const HARD: &str = "crates/arrowsmith-engine-rtl/tests/suite/hard-layout.json";

/// The tree of Fig. 18 with n operations: each has a literal on its left and the next on its right.
fn tree(n: u32) -> Vec<u8> {
    let mut bytes = (2 * n + 1).to_le_bytes().to_vec();
    for object in 0..=2 * n {
        bytes.extend(u32::from(object % 2 == 0 && object < 2 * n).to_le_bytes());
    }
    for operation in 0..n {
        bytes.extend((2 * operation + 1).to_le_bytes());
        bytes.extend((2 * operation + 2).to_le_bytes());
        bytes.push(0);
        bytes.extend(operation.to_le_bytes());
    }
    bytes.extend(n.to_le_bytes());
    bytes
}

fn request(message: &[u8], capacity: u32) -> Request<'_> {
    Request { message, header: false, misalignment: 0, region: 0x1000_0000, capacity }
}

#[test]
fn the_papers_message_becomes_the_papers_objects() {
    if !there() {
        return;
    }
    let layout = layout(I386);
    let message = [
        5, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, // types
        1, 0, 0, 0, 2, 0, 0, 0, 0, 3, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0, 2, 5, 0, 0, 0, 4, 0, 0, 0,
    ];
    let mut session = circuit(&layout, None).start(&[0x111, 0x222], &MemoryProfile::IDEAL).unwrap();
    let run = session.run(&[request(&message, 80)]).unwrap();
    let base = 0x1000_0000;
    let words: [u32; 20] = [
        0x222,
        base + 16,
        base + 32,
        0,
        0x111,
        0,
        0,
        3,
        0x222,
        base + 48,
        base + 64,
        2,
        0x111,
        0,
        0,
        5,
        0x111,
        0,
        0,
        4,
    ];
    let expected: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    assert_eq!(run.answers[0].region, Ok(expected));
    assert_eq!(run.answers[0].objects, 5);
}

#[test]
fn the_papers_largest_structure_takes_less_than_a_third_of_its_cycles() {
    if !there() {
        return;
    }
    let message = tree(127);
    for (path, bytes) in [(I386, 4_080), (X86_64, 8_160)] {
        let layout = layout(path);
        let mut session =
            circuit(&layout, None).start(&vtables(&layout), &MemoryProfile::IDEAL).unwrap();
        // Twice, so that the second message is already there when it begins, as in the paper's
        // input memory.
        let mut second = request(&message, 8_160);
        second.region += 0x10_0000;
        let run = session.run(&[request(&message, 8_160), second]).unwrap();
        assert_eq!(run.answers[1].region.as_ref().unwrap().len(), bytes);
        for answer in &run.answers {
            assert!(answer.cycles <= 400, "{path}: {} cycles", answer.cycles);
        }
    }
}

#[test]
fn as_many_objects_as_the_table_holds_and_not_one_more() {
    if !there() {
        return;
    }
    let layout = layout(I386);
    let mut session =
        circuit(&layout, None).start(&vtables(&layout), &MemoryProfile::IDEAL).unwrap();
    let full = tree(511);
    let mut over = full.clone();
    over[..4].copy_from_slice(&1025_u32.to_le_bytes());
    let mut second = request(&over, 20_000);
    second.region += 0x10_0000;
    let run = session.run(&[request(&full, 20_000), second]).unwrap();
    assert_eq!(run.answers[0].region.as_ref().unwrap().len(), 1_023 * 16);
    assert_eq!(run.answers[1].region, Err(WireError::new(Code::TooManyObjects, 0)));
}

/// Random valid and invalid messages, many in a row, against the oracle.
fn compare(layout: &Layout, beat_bytes: Option<u32>, stall_percent: u32, requests: u64) {
    let vtables = vtables(layout);
    let compiled = circuit(layout, beat_bytes);
    let beat = beat_bytes.unwrap_or(64).into();
    let oracle = Oracle { layout, vtables: &vtables, beat_bytes: beat };
    let mut random = SplitMix64::new(u64::from(stall_percent) * 1_000 + beat);
    let memory = MemoryProfile {
        read_latency: 2 + stall_percent,
        write_latency: 2 + stall_percent,
        ..MemoryProfile::stalling(stall_percent, 7)
    };
    let mut session = compiled.start(&vtables, &memory).unwrap();
    let mut messages = Vec::new();
    for index in 0..requests {
        let most = [3, 12, 40, 300][(index % 4) as usize];
        let count = 1 + random.below(most);
        let mut bytes = message(layout, count, &mut random);
        let header = random.below(4) == 0;
        if header {
            bytes = with_header(layout, &bytes);
        }
        if random.below(4) != 0 {
            spoil(&mut bytes, &mut random);
        }
        let fits = oracle.read(&bytes, header, 0, u32::MAX >> 1).map_or(5_000, |made| made.len());
        // More than enough, exactly enough, or too little.
        let capacity = match random.below(4) {
            0 => random.below(fits as u64 + 1),
            1 => fits as u64,
            _ => 40_000,
        };
        let region = 0x4000_0000 + index * 0x1_0000 + if random.below(40) == 0 { 4 } else { 0 };
        let misalignment = random.below(64) as u32;
        messages.push((bytes, header, region, capacity as u32, misalignment));
    }
    let requests: Vec<Request<'_>> = messages
        .iter()
        .map(|(message, header, region, capacity, misalignment)| Request {
            message,
            header: *header,
            misalignment: *misalignment,
            region: *region,
            capacity: *capacity,
        })
        .collect();
    let run = session.run(&requests).unwrap();
    let mut good = 0;
    for (index, (answer, request)) in run.answers.iter().zip(&requests).enumerate() {
        let expected =
            oracle.read(request.message, request.header, request.region, request.capacity);
        assert_eq!(answer.region, expected, "request {index}: {request:?}");
        good += usize::from(expected.is_ok());
    }
    assert!(good * 10 > requests.len() && good < requests.len(), "{good} good");
}

/// The number of requests of a comparison; ARROWSMITH_SEEDS requests more.
fn requests() -> u64 {
    scale::number("ARROWSMITH_SEEDS", 200, 20_000)
}

#[test]
fn the_tree_as_16_bytes_a_beat() {
    if !there() {
        return;
    }
    compare(&layout(I386), Some(16), 0, requests());
    compare(&layout(I386), Some(16), 35, requests());
}

#[test]
fn the_tree_of_a_64_bit_program_in_several_widths() {
    if !there() {
        return;
    }
    for beat_bytes in [16, 32] {
        compare(&layout(X86_64), Some(beat_bytes), 20, requests());
    }
}

#[test]
fn a_layout_that_is_hard_in_several_widths() {
    if !there() {
        return;
    }
    for (beat_bytes, stall_percent) in [(32, 0), (32, 50), (64, 15)] {
        compare(&layout(HARD), Some(beat_bytes), stall_percent, requests());
    }
}

/// The C++ program that uses the circuit's objects; the last but one word of each line is left out
/// of the comparison.
fn use_trees(path: &str, flags: &[&str]) {
    let layout = layout(path);
    let design = generate(&layout, &Options::default()).unwrap();
    let read = |name: &str| {
        std::fs::read_to_string(root().join("examples/objects/expression").join(name)).unwrap()
    };
    let (header, source) = (read("expression.hpp"), read("expression.cpp"));
    let files = [
        ("use_tree.cpp", include_str!("use_tree.cpp")),
        ("expression.hpp", header.as_str()),
        ("expression.cpp", source.as_str()),
    ];
    let program = verilator().program(&design, &files, flags).unwrap();
    let output = Command::new(program).arg(format!("{:x}", layout.wire_hash())).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}: {said}", output.status);
    assert_eq!(said.lines().count(), 4, "{said}");
}

#[test]
fn virtual_functions_are_called_on_the_tree_that_the_circuit_made() {
    if !there() {
        return;
    }
    use_trees(X86_64, &[]);
}

#[test]
fn and_in_a_32_bit_program_as_in_the_paper() {
    if !there() {
        return;
    }
    // Debian's g++ makes 32-bit programs if g++-multilib is installed.
    let mut probe = Command::new("sh");
    if tools::answers(probe.args(["-c", "echo 'int main(){}' | c++ -m32 -x c++ - -o /dev/null"])) {
        // If the compiler has 32-bit libraries but no 32-bit kernel headers, use the 64-bit ones.
        use_trees(I386, &["-m32", "-idirafter", "/usr/include/x86_64-linux-gnu"]);
    } else {
        tools::absent("C++ of 32 bits (c++ -m32), the paper's word size,", tools::SETUP);
    }
}
