// SPDX-License-Identifier: Apache-2.0
//! `kernels/abi.cuh` is what the definitions say, and every kernel is there.

use super::*;
use crate::device::BLOCK;
use crate::kernel;

const HEAD: &str = "// SPDX-License-Identifier: Apache-2.0
// What the host and the kernels agree on. Generated from src/abi by its test; do not edit.
#ifndef ARROWSMITH_ABI_CUH
#define ARROWSMITH_ABI_CUH
#include \"common.cuh\"

";

/// The kernels' definitions are the host's; ARROWSMITH_UPDATE_SNAPSHOTS=1 writes them, without the
/// feature `shim`, which compiles them first.
#[test]
fn kernels_have_the_hosts_definitions() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/kernels/abi.cuh");
    let parts = [HEAD, &numbers_in_cpp(), &structures_in_cpp(), &kernels_in_cpp(), "#endif\n"];
    let header = parts.concat();
    if std::env::var_os("ARROWSMITH_UPDATE_SNAPSHOTS").is_some() {
        std::fs::write(path, &header).unwrap();
    }
    assert_eq!(std::fs::read_to_string(path).unwrap(), header);
}

/// A kernel that is only in the source does not compile: it has no arguments.
#[test]
fn every_kernel_is_in_the_source() {
    let source = kernel::source();
    for name in NAMES {
        assert!(source.contains(&format!("\nKERNEL({name}) {{")), "{name}");
    }
}

#[test]
fn blocks_have_the_same_number_of_threads() {
    let block = format!("#else\n#define BLOCK {BLOCK}\n#endif");
    assert!(kernel::source().contains(&block), "{block}");
}

#[test]
fn structures_are_written_field_by_field() {
    let keys = [Key { at: 1, len: 2 }, Key { at: 3, len: 0xFFFF_FFFF }];
    assert_eq!(bytes_of(&keys), [1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 255, 255, 255, 255]);
    assert_eq!(bytes_of(&[PageDesc::default()]).len(), PageDesc::BYTES);
}

#[test]
fn arguments_are_written_in_order() {
    let args = WidenArgs { from: Ptr(3), count: 2, to: Ptr(1) };
    assert_eq!(args.words(), [3, 2, 1]);
}
