// SPDX-License-Identifier: Apache-2.0
//! Writes a Parquet converter's files to a folder:
//!
//!     cargo run -p arrowsmith-rtlgen --example parquet -- FOLDER NAME PATH:KIND[:FLAGS]...
//!
//! KIND is 32, 64 or bytes; FLAGS are letters: n nullable, p PLAIN, d DELTA, r RLE_DICTIONARY (none
//! of p, d, r: all three), s Snappy.

use std::path::Path;

use arrowsmith_rtlgen::library::{file_list, with_library};
use arrowsmith_rtlgen::parquet::{Column, Kind, Options, generate};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().ok_or("usage: parquet FOLDER NAME PATH:KIND[:FLAGS]...")?;
    let name = arguments.next().ok_or("a name is missing")?;
    let mut columns = Vec::new();
    for text in arguments {
        let mut parts = text.split(':');
        let path = parts.next().unwrap_or_default();
        let kind = match parts.next() {
            Some("32") => Kind::Bits32,
            Some("64") => Kind::Bits64,
            Some("bytes") => Kind::Bytes,
            _ => return Err(format!("{text}: no such kind").into()),
        };
        let flags = parts.next().unwrap_or_default();
        let mut column = Column::new(path, kind, flags.contains('n'));
        if flags.contains(['p', 'd', 'r']) {
            column.plain = flags.contains('p');
            column.delta = flags.contains('d');
            column.dictionary = flags.contains('r');
        }
        column.snappy = flags.contains('s');
        columns.push(column);
    }
    let design = generate(&columns, &Options { name, ..Options::default() })?;
    let folder = Path::new(&folder);
    let sources = with_library(&design.files);
    for (path, text) in &sources {
        let to = folder.join(path);
        std::fs::create_dir_all(to.parent().unwrap_or(folder))?;
        std::fs::write(&to, text)?;
    }
    let list = file_list(sources.iter().map(|(path, _)| path.as_str()));
    std::fs::write(folder.join(format!("{}.f", design.top)), list)?;
    std::fs::write(folder.join("registers.md"), design.registers.markdown())?;
    std::fs::write(folder.join("registers.h"), design.registers.c_header())?;
    std::fs::write(folder.join("registers.rs"), design.registers.rust())?;
    println!("{} {:016x}", design.top, design.schema_hash);
    Ok(())
}
