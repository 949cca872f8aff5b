// SPDX-License-Identifier: Apache-2.0
//! Body of the target that writes Parquet files: random rows with random options, read back by the
//! `parquet` crate and by the engine `cpu`.

use arrowsmith_parquet_writer::{Choice, Codec, Options, PageVersion, ParquetWriter};
use arrowsmith_testkit::engines;
use arrowsmith_testkit::parquet::{
    Ask, ByEngine, ParquetRs, Reader, as_stored, difference, random,
};
use arrowsmith_testkit::random::Rng;
use bytes::Bytes;

/// Rows of a seed beyond which a file takes too long for fuzzing.
const ROWS_MAX: usize = 3_000;

fn options(rng: &mut Rng) -> Options {
    let codecs =
        [Codec::None, Codec::Snappy, Codec::Lz4, Codec::Zstd(1), Codec::Gzip(1), Codec::Brotli(1)];
    Options {
        codec: *rng.pick(&codecs),
        page_version: *rng.pick(&[PageVersion::V1, PageVersion::V2]),
        page_rows: 1 + rng.below(5_000),
        page_bytes: 1 + rng.below(20_000),
        dictionary_bytes: rng.below(20_000),
        row_group_rows: 50 + rng.below(5_000),
        threads: 1 + rng.below(3),
        backlog_bytes: rng.below(100_000),
        choice: *rng.pick(&[Choice::Smallest, Choice::Compatible, Choice::Plain]),
        crc: rng.one_in(2),
        statistics_bytes: 1 + rng.below(64),
        ..Options::default()
    }
}

/// Eight bytes as the seed of rows and options: reading the file returns what was written.
pub fn parquet_writer(data: &[u8]) {
    let Some(seed) = data.first_chunk() else { return };
    crate::budget::lifted(|| check(u64::from_le_bytes(*seed)));
}

fn check(seed: u64) {
    let rows = random::file(seed).rows;
    let rows = rows.slice(0, rows.num_rows().min(ROWS_MAX));
    let options = options(&mut Rng::new(seed ^ 0x3217));
    let told = format!("seed {seed}: {options:?} {:?}", rows.schema());
    let write = || {
        let mut writer = ParquetWriter::try_new(Vec::new(), rows.schema(), options)?;
        writer.write(&rows)?;
        writer.close().map(|(_, file)| Bytes::from(file))
    };
    let file = write().unwrap_or_else(|error| panic!("{told}: {error}"));
    let stored = as_stored(&rows).unwrap_or_else(|error| panic!("{told}: {error}"));
    let cpu = engines::cpu();
    for reader in [&ByEngine(cpu.as_ref()) as &dyn Reader, &ParquetRs] {
        let found = reader.read(&file, &Ask::default()).and_then(|found| found.concat());
        match found.map(|found| difference(&found, &stored)) {
            Ok(None) => {}
            // A limitation of its reader of structs, see the writer's tests.
            Err(error) if error.contains("nulls not present in parent") => {}
            Ok(Some(text)) | Err(text) => panic!("{told}: {}: {text}", reader.name()),
        }
    }
}
