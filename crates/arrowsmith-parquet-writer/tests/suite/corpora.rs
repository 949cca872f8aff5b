// SPDX-License-Identifier: Apache-2.0
//! Third-party files, rewritten: what is read of the new file is what was read of the old one.

use arrowsmith_testkit::parquet::corpora::files;
use arrowsmith_testkit::parquet::{Ask, ByEngine, ParquetRs, Reader};
use arrowsmith_testkit::random::Rng;
use arrowsmith_testkit::scale::Sample;
use arrowsmith_testkit::{engines, tools};
use bytes::Bytes;

use crate::random::check;
use crate::settings;

/// Bytes of a file beyond which it is left to the full run.
const BYTES_MAX: usize = 2 << 20;

#[test]
fn files_of_others_are_rewritten() {
    let Some(folder) = tools::corpora() else { return };
    let cpu = engines::cpu();
    let ours = ByEngine(cpu.as_ref());
    let mut sample = Sample::of("files", 4);
    let (mut equal, mut failures) = (0, Vec::new());
    for (at, entry) in files(&folder).unwrap().iter().enumerate() {
        let bytes = Bytes::from(std::fs::read(folder.join(&entry.path)).unwrap());
        let large = bytes.len() > BYTES_MAX && !arrowsmith_testkit::scale::full();
        if large || !sample.takes(&[], &entry.path) {
            continue;
        }
        let Ok(rows) = ours.read(&bytes, &Ask::default()).and_then(|rows| rows.concat()) else {
            continue;
        };
        if rows.num_columns() == 0 || ParquetRs.read(&bytes, &Ask::default()).is_err() {
            continue;
        }
        let rng = &mut Rng::new(at as u64);
        let mut options = settings::options(rng, rows.schema_ref());
        options.page_rows = options.page_rows.max(100);
        options.page_bytes = options.page_bytes.max(3_000);
        options.row_group_rows = options.row_group_rows.max(300);
        options.row_group_bytes = options.row_group_bytes.max(100_000);
        let written = settings::write(rng, &rows, &options);
        let checked = written.and_then(|file| {
            check(&ours, &file, &rows)?;
            check(&ParquetRs, &file, &rows)
        });
        match checked {
            Ok(()) => equal += 1,
            Err(error) => failures.push(format!("{}: {error}\n{options:?}", entry.path)),
        }
    }
    assert!(failures.is_empty(), "{}: {}", failures.len(), failures.join("\n"));
    assert!(equal >= 80, "only {equal} files");
}
