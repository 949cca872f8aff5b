// SPDX-License-Identifier: Apache-2.0
//! What is generated, and what is refused.

use super::{Column, Kind, Options, generate};

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
