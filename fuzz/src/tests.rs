// SPDX-License-Identifier: Apache-2.0
//! Seeds and regressions on a stable compiler, and what a few mutations of them find.

mod seeds;

use std::path::Path;

use arrowsmith_testkit::random::{Rng, mutate};
use arrowsmith_testkit::scale;

type Body = fn(&[u8]);

const TARGETS: &[(&str, Body)] = &[
    ("json_engines", crate::json_engines),
    ("json_raw", crate::json_raw),
    ("json_random", crate::json_random),
    ("framing", crate::framing),
    ("tcp_framing", crate::tcp_framing),
    ("spool_segment", crate::spool_segment),
    ("ingest_http", crate::ingest::http),
    ("ingest_configuration", crate::ingest::configuration),
    ("ingest_places", crate::ingest::places),
    ("flight_tickets", crate::flight::tickets),
    ("number", crate::number),
    ("schema_text", crate::schema_text),
    ("c_abi", crate::c_abi),
    ("graph_message", crate::graph::message),
    ("graph_object", crate::graph::object),
    ("parquet_file", crate::parquet::parquet_file),
    ("parquet_reader", crate::parquet_reader::parquet_reader),
    ("parquet_random", crate::parquet_reader::parquet_random),
    ("parquet_claims", crate::parquet_reader::parquet_claims),
    ("parquet_pages", crate::parquet::parquet_pages),
    ("parquet_values", crate::parquet::parquet_values),
    ("parquet_levels", crate::parquet::parquet_levels),
    ("gpu_json", crate::gpu::json),
    ("gpu_pages", crate::gpu::pages),
];

fn files(folder: &str, target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder).join(target);
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths.iter().map(|path| std::fs::read(path).unwrap()).collect()
}

/// Runs a target on its seeds, and on `rounds` mutations of each (or as many as `ARROWSMITH_ROUNDS`
/// says); all that it finds is shown.
fn run(target: &str, rounds: u64) {
    let rounds = scale::number("ARROWSMITH_ROUNDS", rounds, rounds * 20);
    let (_, body) = TARGETS.iter().find(|(name, _)| *name == target).unwrap();
    // Targets of the GPU engine read what those of the CPU engine do.
    let folder = match target {
        "gpu_json" => "json_engines",
        "gpu_pages" => "parquet_pages",
        other => other,
    };
    let seeds = files("seeds", folder);
    assert!(!seeds.is_empty());
    files("regressions", target).iter().for_each(|data| body(data));
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
fn tcp_framing() {
    run("tcp_framing", 1000);
}

#[test]
fn spool_segment() {
    if std::env::var("ARROWSMITH_BLESS").is_ok() {
        let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds/spool_segment");
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
