// SPDX-License-Identifier: Apache-2.0
//! Seeds and regressions on a stable compiler, and what a few mutations of them find.

mod seeds;

use arrowsmith_testkit::random::{Rng, mutate};
use arrowsmith_testkit::scale;

/// Runs a target on its seeds, and on `rounds` mutations of each (or as many as in
/// `ARROWSMITH_ROUNDS`); reports all failures.
fn run(target: &str, rounds: u64) {
    let rounds = scale::number("ARROWSMITH_ROUNDS", rounds, rounds * 20);
    let (_, body) = crate::TARGETS.iter().find(|(name, _)| *name == target).unwrap();
    let seeds = crate::seeds(target);
    assert!(!seeds.is_empty());
    let body = |data: &[u8]| crate::budget::run(*body, data);
    for (index, seed) in seeds.iter().enumerate() {
        body(seed);
        for round in 0..rounds {
            let mut data = seed.clone();
            let rng = &mut Rng::new(round << 16 | index as u64);
            for _ in 0..=rng.below(3) {
                mutate(rng, &mut data);
            }
            body(&data);
        }
    }
}

#[test]
fn json_engines() {
    run("json_engines", 300);
}

#[test]
fn json_raw() {
    run("json_raw", 300);
}

#[test]
fn json_hostile() {
    run("json_hostile", 20);
}

#[test]
fn json_growth() {
    run("json_growth", 100);
}

#[test]
fn json_kinds() {
    run("json_kinds", 500);
}

#[test]
fn json_random() {
    run("json_random", 30);
}

#[test]
fn framing() {
    run("framing", 300);
}

#[test]
fn flight_tickets() {
    run("flight_tickets", 1000);
}

#[test]
fn flight_sql() {
    run("flight_sql", 10);
}

#[test]
fn ipc_message() {
    run("ipc_message", 300);
}

#[test]
fn arrow_input() {
    run("arrow_input", 300);
}

#[test]
fn csv_input() {
    run("csv_input", 1000);
}

#[test]
fn byte_ranges() {
    run("byte_ranges", 200);
}

#[test]
fn folder_names() {
    run("folder_names", 1000);
}

#[test]
fn delta_log() {
    run("delta_log", 200);
}

#[test]
fn variant() {
    run("variant", 2000);
}

#[test]
fn deletion_vector() {
    run("deletion_vector", 2000);
}

#[test]
fn iceberg_table() {
    run("iceberg_table", 500);
}

#[test]
fn spooled_stream() {
    run("spooled_stream", 1000);
}

#[test]
fn json_options() {
    run("json_options", 10);
}

#[test]
fn json_documents() {
    run("json_documents", 20);
}

#[test]
fn tcp_framing() {
    run("tcp_framing", 1000);
}

#[test]
fn spool_segment() {
    if std::env::var("ARROWSMITH_BLESS").is_ok() {
        let seeds = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds/spool_segment");
        std::fs::create_dir_all(&seeds).unwrap();
        let folder = std::env::temp_dir().join(format!("spool-seeds-{}", std::process::id()));
        for (name, messages, place) in
            [("one", 1, ""), ("three", 3, "1 0\n"), ("middle", 3, "1 700\n")]
        {
            let bytes = arrowsmith_ingest::fuzzing::segment(&folder, messages).unwrap();
            std::fs::remove_dir_all(&folder).unwrap();
            let len = u8::try_from(place.len()).unwrap();
            let seed = [&[len], place.as_bytes(), &bytes].concat();
            std::fs::write(seeds.join(name), seed).unwrap();
        }
    }
    run("spool_segment", 200);
}

#[test]
fn ingest_http() {
    run("ingest_http", 20);
}

#[test]
fn ingest_configuration() {
    run("ingest_configuration", 1000);
}

#[test]
fn ingest_places() {
    run("ingest_places", 1000);
}

#[test]
fn c_abi() {
    run("c_abi", 300);
}

#[test]
fn graph_message() {
    run("graph_message", 2000);
}

#[test]
fn graph_object() {
    run("graph_object", 300);
}

#[test]
fn number() {
    run("number", 3000);
}

#[test]
fn schema_text() {
    run("schema_text", 1000);
}

#[test]
fn parquet_file() {
    run("parquet_file", 300);
}

#[test]
fn parquet_reader() {
    run("parquet_reader", 300);
}

#[test]
fn parquet_random() {
    run("parquet_random", 10);
}

#[test]
fn parquet_writer() {
    run("parquet_writer", 10);
}

#[test]
fn parquet_claims() {
    run("parquet_claims", 100);
}

#[test]
fn parquet_pages() {
    run("parquet_pages", 300);
}

#[test]
fn parquet_values() {
    run("parquet_values", 300);
}

#[test]
fn parquet_levels() {
    run("parquet_levels", 300);
}

#[test]
fn gpu_json() {
    run("gpu_json", 20);
}

#[test]
fn gpu_pages() {
    run("gpu_pages", 60);
}
