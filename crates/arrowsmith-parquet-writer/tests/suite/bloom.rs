// SPDX-License-Identifier: Apache-2.0
//! Bloom filters, checked by brute force with the specification's hash written down once more.

use std::process::Command;
use std::sync::Arc;

use arrow_array::builder::{Int64Builder, ListBuilder};
use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray};
use arrowsmith_core::Error;
use arrowsmith_parquet_writer::{Options, ParquetWriter};
use arrowsmith_testkit::parquet::random;
use arrowsmith_testkit::random::Rng;
use arrowsmith_testkit::{scale, tools};
use bytes::Bytes;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::reader::{FileReader, SerializedFileReader};

use crate::{indexes, settings};

const PRIMES: [u64; 5] = [
    0x9E37_79B1_85EB_CA87,
    0xC2B2_AE3D_27D4_EB4F,
    0x1656_67B1_9E37_79F9,
    0x85EB_CA77_C2B2_AE63,
    0x27D4_EB2F_1656_67C5,
];

fn round(sum: u64, word: u64) -> u64 {
    let sum = sum.wrapping_add(word.wrapping_mul(PRIMES[1]));
    sum.rotate_left(31).wrapping_mul(PRIMES[0])
}

/// XXH64 with seed 0.
fn xxh64(bytes: &[u8]) -> u64 {
    let [p1, p2, p3, p4, p5] = PRIMES;
    let word = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().unwrap());
    let mut rest = bytes;
    let mut hash = p5;
    if bytes.len() >= 32 {
        let mut sums = [p1.wrapping_add(p2), p2, 0, p1.wrapping_neg()];
        while let Some((stripe, after)) = rest.split_first_chunk::<32>() {
            for (sum, lane) in sums.iter_mut().zip(stripe.chunks_exact(8)) {
                *sum = round(*sum, word(lane));
            }
            rest = after;
        }
        let turned = sums.iter().zip([1, 7, 12, 18]).map(|(sum, by)| sum.rotate_left(by));
        hash = turned.fold(0, u64::wrapping_add);
        for sum in sums {
            hash = (hash ^ round(0, sum)).wrapping_mul(p1).wrapping_add(p4);
        }
    }
    hash = hash.wrapping_add(bytes.len() as u64);
    while let Some((eight, after)) = rest.split_first_chunk::<8>() {
        hash = (hash ^ round(0, word(eight))).rotate_left(27).wrapping_mul(p1).wrapping_add(p4);
        rest = after;
    }
    if let Some((four, after)) = rest.split_first_chunk::<4>() {
        let four = u64::from(u32::from_le_bytes(*four)).wrapping_mul(p1);
        hash = (hash ^ four).rotate_left(23).wrapping_mul(p2).wrapping_add(p3);
        rest = after;
    }
    for byte in rest {
        hash = (hash ^ u64::from(*byte).wrapping_mul(p5)).rotate_left(11).wrapping_mul(p1);
    }
    hash = (hash ^ hash >> 33).wrapping_mul(p2);
    hash = (hash ^ hash >> 29).wrapping_mul(p3);
    hash ^ hash >> 32
}

const SALTS: [u32; 8] = [
    0x47b6_137b,
    0x4497_4d91,
    0x8824_ad5b,
    0xa2b7_289d,
    0x7054_95c7,
    0x2df1_424b,
    0x9efc_4947,
    0x5c6b_fb31,
];

/// Whether a filter says that a value may be there.
fn passes(bits: &[u8], value: &[u8]) -> bool {
    let hash = xxh64(value);
    let block = ((hash >> 32) * (bits.len() as u64 / 32)) >> 32;
    let block = &bits[block as usize * 32..][..32];
    SALTS.iter().zip(block.chunks_exact(4)).all(|(salt, word)| {
        let bit = (hash as u32).wrapping_mul(*salt) >> 27;
        u32::from_le_bytes(word.try_into().unwrap()) >> bit & 1 == 1
    })
}

/// The bits of a chunk's filter, whose number of bytes is a power of two, after a short header.
fn bits(file: &Bytes, chunk: &ColumnChunkMetaData) -> Option<Bytes> {
    let start = chunk.bloom_filter_offset()? as usize;
    let length = chunk.bloom_filter_length()? as usize;
    let bits = 1 << length.ilog2();
    Some(file.slice(start + length - bits..start + length))
}

#[test]
fn the_hash_is_that_of_the_specification() {
    assert_eq!(xxh64(b""), 0xef46_db37_51d8_e999);
    assert_eq!(xxh64(b"a"), 0xd24e_c4f1_a98c_6e5b);
    assert_eq!(xxh64(b"Nobody inspects the spammish repetition"), 0xfbce_a83c_8a37_8bf1);
}

#[test]
fn filters_have_all_values_and_few_others() {
    let seeds = scale::number("ARROWSMITH_SEEDS", 60, 2_000);
    for seed in 0..seeds {
        let rows = random::file(seed).rows;
        let rng = &mut Rng::new(seed ^ 0xB100);
        let options = settings::options(rng, rows.schema_ref());
        let file = settings::write(rng, &rows, &options).unwrap();
        let reader = SerializedFileReader::new(file.clone()).unwrap();
        for (number, group) in reader.metadata().row_groups().iter().enumerate() {
            for (column, chunk) in group.columns().iter().enumerate() {
                let requested = options.bloom_filters.contains(&chunk.column_path().string());
                let bits = bits(&file, chunk);
                assert_eq!(bits.is_some(), requested, "seed {seed}");
                let Some(bits) = bits else { continue };
                let pages = reader.get_row_group(number).unwrap();
                let mut pages = pages.get_column_reader(column).unwrap();
                let rows = usize::try_from(group.num_rows()).unwrap();
                let values = indexes::read(&mut pages, rows, chunk.column_descr()).values;
                for value in &values {
                    assert!(
                        passes(&bits, value),
                        "seed {seed}, {}: {value:?}",
                        chunk.column_path()
                    );
                }
                let others = (0..2_000).filter(|n: &u64| {
                    let other = (n ^ 0x5eed_0000_0000).wrapping_mul(PRIMES[2]).to_le_bytes();
                    let other = [other.as_slice(), b"other"].concat();
                    passes(&bits, &other)
                });
                assert!(others.count() < 60, "seed {seed}, {}", chunk.column_path());
            }
        }
    }
}

fn written(columns: Vec<(&str, ArrayRef)>, filters: &[&str]) -> Result<Bytes, Error> {
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let bloom_filters = filters.iter().map(|path| (*path).to_owned()).collect();
    let options = Options { bloom_filters, ..Options::default() };
    let mut writer = ParquetWriter::try_new(Vec::new(), batch.schema(), options)?;
    writer.write(&batch)?;
    Ok(writer.close()?.1.into())
}

/// A filter that nearly every value would pass is not written: of lists with far more values than
/// rows.
#[test]
fn filters_that_are_full_are_not_written() {
    let mut lists = ListBuilder::new(Int64Builder::new());
    lists.values().append_slice(&(0..20_000).collect::<Vec<i64>>());
    lists.append(true);
    let lists = Arc::new(lists.finish()) as ArrayRef;
    let batch = RecordBatch::try_from_iter([("l", lists)]).unwrap();
    for (row_group_rows, expected) in [(1, false), (1_000, true)] {
        let bloom_filters = vec!["l".to_owned()];
        let options = Options { row_group_rows, bloom_filters, ..Options::default() };
        let mut writer = ParquetWriter::try_new(Vec::new(), batch.schema(), options).unwrap();
        writer.write(&batch).unwrap();
        let file: Bytes = writer.close().unwrap().1.into();
        let reader = SerializedFileReader::new(file.clone()).unwrap();
        let found = bits(&file, reader.metadata().row_group(0).column(0));
        assert_eq!(found.is_some(), expected, "{row_group_rows}");
    }
}

/// Zeros of both signs are equal, so that a reader may look for either.
#[test]
fn zeros_of_both_signs_are_in_a_filter() {
    for zero in [0.0_f64, -0.0] {
        let column = Arc::new(Float64Array::from(vec![zero, 1.0])) as ArrayRef;
        let file = written(vec![("f", column)], &["f"]).unwrap();
        let reader = SerializedFileReader::new(file.clone()).unwrap();
        let bits = bits(&file, reader.metadata().row_group(0).column(0)).unwrap();
        for value in [0.0_f64, -0.0, 1.0] {
            assert!(passes(&bits, &value.to_le_bytes()), "{value}");
        }
        assert!(!passes(&bits, &2.0_f64.to_le_bytes()));
    }
}

/// DuckDB looks values up in the filters, and finds the rows.
#[test]
fn duckdb_finds_what_is_there() {
    let Some(python) = tools::python("duckdb") else { return };
    let numbers = Arc::new(Int64Array::from_iter_values((0..5_000).map(|n| n * 7))) as ArrayRef;
    let texts = (0..5_000).map(|n| Some(format!("text {}", n % 3_000)));
    let texts = Arc::new(texts.collect::<StringArray>()) as ArrayRef;
    let floats = Arc::new(Float64Array::from_iter_values((0..5_000).map(f64::from))) as ArrayRef;
    let columns = vec![("n", numbers), ("t", texts), ("f", floats)];
    let file = written(columns, &["n", "t", "f"]).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.parquet");
    std::fs::write(&path, file).unwrap();
    let output = Command::new(python).args(["-c", DUCKDB]).arg(&path).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Probes the filters, and selects rows by each column.
const DUCKDB: &str = "
import sys, duckdb
path = sys.argv[1]
def excluded(column, value):
    query = f\"select bloom_filter_excludes from parquet_bloom_probe('{path}', '{column}', {value})\"
    return [row[0] for row in duckdb.sql(query).fetchall()]
def count(column, value):
    return duckdb.sql(f\"select count(*) from '{path}' where {column} = {value}\").fetchall()[0][0]
for n in range(0, 3000, 113):
    for column, there, missing in [('n', n * 7, n * 7 + 1), ('t', f\"'text {n}'\", f\"'text {n}x'\"),
                                   ('f', f'{n}::double', f'{n}.5::double')]:
        assert excluded(column, there) == [False], (column, there)
        assert count(column, there) > 0 and count(column, missing) == 0, (column, there)
missing = sum(excluded('n', n * 7 + 1)[0] for n in range(100, 300))
assert missing > 190, missing
";

/// A filter is as large as its values need, whatever a row group may hold.
#[test]
fn filters_are_folded() {
    for (distinct, most) in [(0, 64), (100, 256), (20_000, 64 << 10)] {
        let texts = (0..20_000).map(|n| (distinct > 0).then(|| format!("text {}", n % distinct)));
        let column = Arc::new(texts.collect::<StringArray>()) as ArrayRef;
        let file = written(vec![("t", column)], &["t"]).unwrap();
        let reader = SerializedFileReader::new(file.clone()).unwrap();
        let bits = bits(&file, reader.metadata().row_group(0).column(0)).unwrap();
        assert!(bits.len() <= most, "{distinct}: {}", bits.len());
    }
}

#[test]
fn columns_that_cannot_have_one_are_refused() {
    let flags = Arc::new(BooleanArray::from(vec![true, false])) as ArrayRef;
    for path in ["flag", "fla", "flag.x", ""] {
        let error = written(vec![("flag", Arc::clone(&flags))], &[path]).unwrap_err();
        assert!(matches!(&error, Error::Config(text) if text.contains(path)), "{error}");
    }
}
