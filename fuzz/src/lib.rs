// SPDX-License-Identifier: Apache-2.0
//! The fuzz targets: each takes any bytes, and panics where two results differ.

#![deny(unsafe_code)]

pub mod budget;
pub mod convert;
pub mod delta;
pub mod flight;
pub mod gpu;
pub mod graph;
pub mod growth;
pub mod hostile;
pub mod iceberg;
pub mod ingest;
pub mod kinds;
pub mod options;
pub mod parquet;
pub mod parquet_reader;
pub mod parquet_writer;
pub mod sql;
pub mod streams;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrowsmith_core::{DecodeOptions, Framing};
use arrowsmith_engine_cpu::CpuEngine;
use arrowsmith_ingest::fuzzing::{PORTIONS_MAX, receive, recover};
use arrowsmith_number as number;
use arrowsmith_pipeline::PushDecoder;
use arrowsmith_plan::Plan;
use arrowsmith_plan::text::{format_schema, parse_schema};
use arrowsmith_testkit::oracle::OracleEngine;
use arrowsmith_testkit::oracle::number::{Grammar, decimal, grammar, half_bits};
use arrowsmith_testkit::random::{self, Profile, Rng};
use arrowsmith_testkit::render;
use arrowsmith_testkit::run::{Input, Mark, PADDINGS, compare};

/// The schemas of `json_engines`.
const SCHEMAS: &[&str] = &[
    "a: int64",
    "a: uint64 not null, b: int8, c: uint16",
    "a: list<uint64>",
    "a: list<int64 not null> not null",
    "a: float64, b: float32, c: float16",
    "a: utf8, b: large_utf8 not null, c: utf8_view",
    "a: bool, b: null, c: utf8",
    "a: decimal128(10, 2), b: decimal256(50, -3)",
    "a: binary, b: binary encoding hex, c: fixed_size_binary(2)",
    "a: date32, b: date64, c: time32(s), d: time64(ns)",
    "a: timestamp(ms), b: timestamp(ns, \"UTC\"), c: timestamp(s, \"+02:00\"), d: duration(us)",
    "a: struct<a: int8, b: struct<a: utf8 not null>>, b: int8",
    "a: list<struct<a: int8 not null, b: list<utf8>>>",
    "a: map<utf8, int8>, b: map<utf8, list<int8 not null>>",
    "a: fixed_size_list<int8, 2>, b: fixed_size_list<fixed_size_list<utf8 not null, 1>, 2>",
    "a: dictionary<int8, utf8>, b: json, c: json not null",
    "a: int64, b: int64, c: int64, d: int64, e: utf8, f: float64, g: bool, h: utf8, i: int64, j: utf8",
    "",
    "root value, value: int64",
    "root value, value: json not null",
    "root value, value: list<struct<a: int8>>",
    "root value, value: map<utf8, decimal128(5, 1)>",
];

/// The body of a target.
pub type Body = fn(&[u8]);

/// Every target, by its name.
pub const TARGETS: &[(&str, Body)] = &[
    ("json_engines", json_engines),
    ("json_raw", json_raw),
    ("json_random", json_random),
    ("json_hostile", hostile::json_hostile),
    ("json_growth", growth::json_growth),
    ("json_kinds", kinds::json_kinds),
    ("framing", framing),
    ("tcp_framing", tcp_framing),
    ("spool_segment", spool_segment),
    ("ingest_http", ingest::http),
    ("ingest_configuration", ingest::configuration),
    ("ingest_places", ingest::places),
    ("flight_tickets", flight::tickets),
    ("flight_sql", sql::statements),
    ("ipc_message", flight::messages),
    ("arrow_input", convert::arrow),
    ("csv_input", convert::csv),
    ("byte_ranges", convert::byte_ranges),
    ("folder_names", convert::folder_names),
    ("delta_log", delta::log),
    ("deletion_vector", delta::deletion_vector),
    ("variant", convert::variant),
    ("iceberg_table", iceberg::table),
    ("spooled_stream", streams::spooled),
    ("json_options", options::json),
    ("json_documents", options::documents),
    ("number", number),
    ("schema_text", schema_text),
    ("c_abi", c_abi),
    ("graph_message", graph::message),
    ("graph_object", graph::object),
    ("parquet_file", parquet::parquet_file),
    ("parquet_reader", parquet_reader::parquet_reader),
    ("parquet_random", parquet_reader::parquet_random),
    ("parquet_claims", parquet_reader::parquet_claims),
    ("parquet_writer", parquet_writer::parquet_writer),
    ("parquet_pages", parquet::parquet_pages),
    ("parquet_values", parquet::parquet_values),
    ("parquet_levels", parquet::parquet_levels),
    ("gpu_json", gpu::json),
    ("gpu_pages", gpu::pages),
];

/// The seeds of a target, and the inputs that it failed on before.
pub fn seeds(target: &str) -> Vec<Vec<u8>> {
    // Targets of the GPU engine share the seeds of the CPU engine's.
    let folder = match target {
        "gpu_json" => "json_engines",
        "gpu_pages" => "parquet_pages",
        other => other,
    };
    let mut all = files("seeds", folder);
    all.extend(files("regressions", target));
    all
}

fn files(folder: &str, target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder).join(target);
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths.iter().filter_map(|path| std::fs::read(path).ok()).collect()
}

fn plan(text: &str) -> Arc<Plan> {
    let schema = parse_schema(text).expect("the schemas are well-formed");
    Arc::new(Plan::new(Arc::new(schema)).expect("the schemas can be decoded"))
}

const FRAMINGS: [Framing; 3] = [Framing::Lines, Framing::Concatenated, Framing::Array];

fn agree(plan: &Arc<Plan>, options: &DecodeOptions, input: &Input<'_>) {
    let result = compare(&OracleEngine, &CpuEngine::default(), plan, options, input);
    if let Err(difference) = result {
        let texts: Vec<_> = input.feeds.iter().map(|feed| feed.text.escape_ascii()).collect();
        let texts: Vec<_> = texts.iter().map(ToString::to_string).collect();
        let (framing, schema) = (input.framing, plan.schema());
        panic!("{difference}\n{framing:?} {texts:?}\n{options:?}\n{schema:?}");
    }
}

/// Any bytes through the C ABI: two choose functions and options.
pub fn c_abi(data: &[u8]) {
    arrowsmith_ffi::fuzzing::drive(data);
}

/// Any text: three bytes choose schema, framing, options and padding.
pub fn json_engines(data: &[u8]) {
    let [which, how, more, text @ ..] = data else { return };
    let plan = plan(SCHEMAS[usize::from(*which) % SCHEMAS.len()]);
    let options = random::options(&mut Rng::new(u64::from(*how)));
    let framing = FRAMINGS[usize::from(*more) % 3];
    let padding = PADDINGS[usize::from(*more / 3) % PADDINGS.len()];
    agree(&plan, &options, &Input::split(&[text], framing, padding));
}

/// Any text as a value that is kept as JSON text, and as one that is skipped.
pub fn json_raw(data: &[u8]) {
    let value = plan("root value, value: json not null");
    let options = DecodeOptions::default();
    for framing in FRAMINGS {
        agree(&value, &options, &Input::whole(data, framing));
    }
    let wrapped = [b"{\"x\":", data, b",\"a\":1}\n"].concat();
    agree(&plan("a: int8"), &options, &Input::whole(&wrapped, Framing::Concatenated));
}

/// A random schema and a text for it with a few errors; eight bytes are the seed.
pub fn json_random(data: &[u8]) {
    let Some((seed, rest)) = data.split_first_chunk::<8>() else { return };
    let seed = u64::from_le_bytes(*seed);
    let case = if rest.is_empty() {
        random::case(seed, Profile::Full)
    } else {
        random::broken_case(seed, Profile::Full)
    };
    let rng = &mut Rng::new(seed);
    let options = if rest.is_empty() { DecodeOptions::default() } else { random::options(rng) };
    let padding = *rng.pick(PADDINGS);
    agree(&case.plan, &options, &Input::split(&[&case.text], case.framing, padding));
}

/// Any text in pieces: one byte for schema and framing, then pieces, each preceded by its maximum
/// length.
pub fn framing(data: &[u8]) {
    let [how, rest @ ..] = data else { return };
    let plan = plan(
        ["a: int64, b: utf8", "root value, value: json", "a: list<int64>"][usize::from(*how) % 3],
    );
    let framing = FRAMINGS[usize::from(*how / 3) % 3];
    let mut pieces: Vec<&[u8]> = Vec::new();
    let mut rest = rest;
    while let [len, more @ ..] = rest {
        let (piece, more) = more.split_at(usize::from(*len % 32).min(more.len()));
        pieces.push(piece);
        rest = more;
    }
    let whole = pieces.concat();
    for engine in [&CpuEngine::default() as &dyn arrowsmith_engine::Engine, &OracleEngine] {
        let fed = |pieces: &[&[u8]]| push(engine, &plan, framing, pieces);
        assert_eq!(fed(&[&whole]), fed(&pieces), "{}: {framing:?} {pieces:?}", engine.name());
    }
}

/// Rows and error of a text that is read in pieces.
fn push(
    engine: &dyn arrowsmith_engine::Engine,
    plan: &Arc<Plan>,
    framing: Framing,
    pieces: &[&[u8]],
) -> (Vec<String>, Option<Mark>) {
    let decoder = PushDecoder::new(plan, engine, &DecodeOptions::default());
    let mut decoder = decoder.expect("the plan is supported").with_framing(framing);
    let mut result = Ok(());
    for piece in pieces {
        result = result.and_then(|()| decoder.feed(piece).map(|_| ()));
    }
    result = result.and_then(|()| decoder.finish().map(|_| ()));
    let error = result.err().map(|error| Mark::from(error.as_data().expect("a data error")));
    let batch = decoder.flush().expect("arrays are sound");
    (batch.map(|batch| render::rows(&batch)).unwrap_or_default(), error)
}

/// Lines on a connection of the ingest service: a byte for the maximum line, then pairs of bytes
/// for the kind and amount of input.
pub fn tcp_framing(data: &[u8]) {
    let [longest, script @ ..] = data else { return };
    let record_bytes_max = [1, 10, 5_000, 20_000][usize::from(*longest) % 4];
    let mut portions = vec![Vec::new()];
    for pair in script.chunks_exact(2) {
        let count = usize::from(pair[1]);
        let last = portions.last_mut().expect("there is one from the start");
        match pair[0] % 4 {
            0 => last.extend(std::iter::repeat_n(pair[0], count)),
            // Beyond what a connection reads at once.
            1 => last.extend(std::iter::repeat_n(b'x', count * 64)),
            2 => last.extend(std::iter::repeat_n(b'\n', count % 4 + 1)),
            _ if portions.len() < PORTIONS_MAX => portions.push(Vec::new()),
            _ => {}
        }
    }
    portions.retain(|portion| !portion.is_empty());
    let text = portions.concat();
    let line_at = |offset: usize| {
        let ends = text[..offset].iter().filter(|byte| **byte == b'\n').count();
        u64::try_from(ends + 1).expect("it is short")
    };
    let mut at = 0;
    for handed in receive(&portions, record_bytes_max).expect("a connection can be made") {
        if let Some((line, offset, found)) = &handed.overlong {
            assert_eq!((*line, *offset), (line_at(at), at as u64));
            let rest = &text[at..];
            let bytes = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
            assert!(bytes > record_bytes_max, "{bytes} bytes are not too many");
            assert_eq!(*found, format!("{bytes} bytes"));
            at = (at + bytes + 1).min(text.len());
        }
        let end = at + handed.text.len();
        assert_eq!((handed.line, handed.offset), (line_at(at), at as u64));
        assert_eq!(Some(&handed.text[..]), text.get(at..end));
        assert!(handed.text.is_empty() || end == text.len() || handed.text.ends_with(b"\n"));
        at = end;
    }
    assert_eq!(at, text.len(), "not everything was handed over");
}

/// Any bytes as a segment of the ingest service's spool, the first of them as the position up to
/// which it is published: a start reads complete records, in order, and never past the end.
pub fn spool_segment(data: &[u8]) {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let [len, rest @ ..] = data else { return };
    let (place, segment) = rest.split_at(usize::from(*len % 32).min(rest.len()));
    let place = String::from_utf8_lossy(place);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let name = format!("arrowsmith-fuzz-spool-{}-{number}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    std::fs::create_dir_all(&folder).expect("a folder can be made");
    let found = recover(&folder, segment, &place).expect("the disk works");
    std::fs::remove_dir_all(&folder).expect("it was made here");
    assert!(found.read <= found.rows, "{found:?}");
    assert!(found.damaged <= segment.len() as u64, "{found:?}");
    let mut seen = std::collections::BTreeSet::new();
    assert!(found.sequences.iter().all(|sequence| seen.insert(sequence)), "{found:?}");
}

/// Any text as a schema: the schema makes the round trip through its text.
pub fn schema_text(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(schema) = parse_schema(text) else { return };
    let written = format_schema(&schema);
    match parse_schema(&written) {
        Ok(again) => assert_eq!(again, schema, "{text:?} {written:?}"),
        Err(error) => panic!("{text:?} {written:?}: {error}"),
    }
    // Some types are not supported in JSON, which is an error.
    let _ = Plan::new(Arc::new(schema));
}

/// Any text as a number of every width.
pub fn number(data: &[u8]) {
    let is_part = |byte: &u8| byte.is_ascii_digit() || b"+-.eE".contains(byte);
    let len = data.iter().take_while(|byte| is_part(byte)).count();
    let text = std::str::from_utf8(&data[..len]).expect("it is ASCII");
    let valid = grammar(text) == Grammar::Number;
    let double = text.parse::<f64>().ok().filter(|value| valid && value.is_finite());
    let single = text.parse::<f32>().ok().filter(|value| valid && value.is_finite());
    let half = valid.then(|| half_bits(text)).flatten();
    let found = |result: Result<(u64, usize), number::NumberError>| {
        result.ok().map(|(bits, found)| {
            assert_eq!(found, len, "{text}");
            bits
        })
    };
    let bits = number::parse_f64(data).map(|(value, len)| (value.to_bits(), len));
    assert_eq!(found(bits), double.map(f64::to_bits), "{text}");
    let bits = number::parse_f32(data).map(|(value, len)| (value.to_bits().into(), len));
    assert_eq!(found(bits), single.map(|value| value.to_bits().into()), "{text}");
    let bits = number::parse_f16(data).map(|(value, len)| (value.to_bits().into(), len));
    assert_eq!(found(bits), half.map(u64::from), "{text}");
    // `-0` is an integer, but not one of an unsigned type; `+1` is not a JSON number.
    let signed = text.parse::<i64>().ok().filter(|_| valid);
    let bits = number::parse_i64(data).map(|(value, len)| (value.cast_unsigned(), len));
    assert_eq!(found(bits), signed.map(i64::cast_unsigned), "{text}");
    let unsigned = text.parse::<u64>().ok().filter(|_| valid && !text.starts_with('-'));
    assert_eq!(found(number::parse_u64(data)), unsigned, "{text}");
    for (precision, scale) in [(38, 0), (9, 2), (38, 38), (5, -3)] {
        let expected = valid.then(|| decimal(text, precision, scale).ok()).flatten();
        let narrow = number::parse_decimal128(data, precision, scale).ok().map(|(value, _)| value);
        assert_eq!(narrow, expected.and_then(|value| value.to_i128()), "{text}");
        let wide = number::parse_decimal256(data, precision, scale).ok().map(|(value, _)| value);
        assert_eq!(wide, expected, "{text}");
    }
}

#[cfg(test)]
mod tests;
