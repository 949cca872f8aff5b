// SPDX-License-Identifier: Apache-2.0
//! pyarrow, DuckDB and polars read of our files what they read of those of the `parquet` crate.

use std::process::Command;

use arrowsmith_parquet_writer::Encoding;
use arrowsmith_testkit::parquet::{as_stored, random};
use arrowsmith_testkit::random::Rng;
use arrowsmith_testkit::{scale, tools};
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;

use crate::settings;

#[test]
fn others_read_what_they_read_of_the_reference() {
    let Some(python) = tools::python("pyarrow, duckdb, polars") else { return };
    let folder = tempfile::tempdir().unwrap();
    let seeds = scale::number("ARROWSMITH_SEEDS", 60, 1_000);
    for seed in 0..seeds {
        let rows = random::file(seed).rows;
        let rng = &mut Rng::new(seed ^ 0x0B5E);
        let mut options = settings::options(rng, rows.schema_ref());
        options.page_rows = options.page_rows.max(100);
        options.page_bytes = options.page_bytes.max(3_000);
        // On FIXED_LEN_BYTE_ARRAY polars reads the first, DuckDB the second of these not yet.
        let everywhere = |encoding: &Encoding| {
            !matches!(encoding, Encoding::DeltaByteArray | Encoding::ByteStreamSplit)
        };
        options.encodings.retain(|_, encoding| everywhere(encoding));
        // DuckDB reads a row group in vectors of its own: many of ten rows take it minutes.
        options.row_group_rows = options.row_group_rows.max(300);
        options.row_group_bytes = options.row_group_bytes.max(100_000);
        let file = settings::write(rng, &rows, &options).unwrap();
        std::fs::write(folder.path().join(format!("{seed}.ours.parquet")), file).unwrap();
        std::fs::write(folder.path().join(format!("{seed}.txt")), format!("{options:?}")).unwrap();
        let rows = as_stored(&rows).unwrap();
        // The names in lists and maps are then those of the format.
        let properties = WriterProperties::builder().set_coerce_types(true).build();
        let mut writer = ArrowWriter::try_new(Vec::new(), rows.schema(), Some(properties)).unwrap();
        writer.write(&rows).unwrap();
        let file = writer.into_inner().unwrap();
        std::fs::write(folder.path().join(format!("{seed}.theirs.parquet")), file).unwrap();
    }
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/suite/readers.py");
    let output = Command::new(python).arg(script).arg(folder.path()).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, error) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{out}\n{error}");
    println!("{out}");
}
