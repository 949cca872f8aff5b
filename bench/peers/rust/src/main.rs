// SPDX-License-Identifier: Apache-2.0
//! The Rust peers of `arrowsmith bench json`: arrow-json, sonic-rs and simd-json.
//!
//! `arrowsmith-bench-peer --engine E --shape S --schema FILE --input FILE --threads N` loads the
//! input, reports that it is ready, and converts it once for every line `run`. It shares only the
//! code that sums results with Arrowsmith.
#![forbid(unsafe_code)]

#[allow(dead_code)]
mod check;
mod columns;
mod serve;
mod shapes;

use std::fs::File;
use std::process::ExitCode;

use arrow_array::RecordBatch;
use arrow_ipc::reader::StreamReader;
use arrow_schema::SchemaRef;

use crate::columns::Column;

/// Converts one part of the input.
pub type Convert = fn(&[u8], &SchemaRef) -> Result<Vec<RecordBatch>, String>;

/// Rows in a batch.
const BATCH_ROWS: usize = 8192;

fn main() -> ExitCode {
    match start(&std::env::args().collect::<Vec<_>>()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

fn start(arguments: &[String]) -> Result<(), String> {
    let option = |name: &str| {
        let at = arguments.iter().position(|argument| argument == name);
        at.and_then(|at| arguments.get(at + 1)).ok_or_else(|| format!("{name} is missing"))
    };
    let engine = option("--engine")?;
    let file = File::open(option("--schema")?).map_err(|e| e.to_string())?;
    let schema = StreamReader::try_new(file, None).map_err(|e| e.to_string())?.schema();
    let text = std::fs::read(option("--input")?).map_err(|e| e.to_string())?;
    let threads = option("--threads")?.parse().map_err(|_| "--threads takes a number")?;
    let (convert, version) = engine_of(engine, option("--shape")?)?;
    serve::serve(engine, version, convert, &schema, &text, threads)
}

fn engine_of(engine: &str, shape: &str) -> Result<(Convert, &'static str), String> {
    match engine {
        "arrow-json-native" => Ok((arrow_json, "arrow-json 59.3")),
        "sonic-rs" => Ok((for_shape(shape, Parser::Sonic)?, "sonic-rs 0.5")),
        "simd-json" => Ok((for_shape(shape, Parser::Simd)?, "simd-json 0.19")),
        _ => Err(format!("there is no engine {engine:?} here")),
    }
}

#[derive(Clone, Copy)]
enum Parser {
    Sonic,
    Simd,
}

fn for_shape(shape: &str, parser: Parser) -> Result<Convert, String> {
    fn of<C: Column>(parser: Parser) -> Convert {
        match parser {
            Parser::Sonic => sonic::<C>,
            Parser::Simd => simd::<C>,
        }
    }
    Ok(match shape {
        "battery" => of::<shapes::Battery>(parser),
        "trip" => of::<shapes::Trip>(parser),
        "trip-full" => of::<shapes::TripFull>(parser),
        "logs" => of::<shapes::Logs>(parser),
        "lineitem" => of::<shapes::Lineitem>(parser),
        "taxi" => of::<shapes::Taxi>(parser),
        "mixed-uniform" => of::<shapes::Mixed>(parser),
        "mixed-keys-200" => of::<shapes::MixedKeys200>(parser),
        "mixed-nested" => of::<shapes::MixedNested>(parser),
        "twitter" => of::<shapes::Tweet>(parser),
        "citm" => of::<shapes::Citm>(parser),
        "canada" => of::<shapes::Canada>(parser),
        _ => return Err(format!("no columns were written for the shape {shape:?}")),
    })
}

fn arrow_json(part: &[u8], schema: &SchemaRef) -> Result<Vec<RecordBatch>, String> {
    let builder = arrow_json::ReaderBuilder::new(schema.clone()).with_batch_size(BATCH_ROWS);
    let reader = builder.build(part).map_err(|e| e.to_string())?;
    reader.collect::<Result<_, _>>().map_err(|e| e.to_string())
}

/// One deserializer for the whole part: it skips the line feeds as white space.
fn sonic<C: Column>(part: &[u8], schema: &SchemaRef) -> Result<Vec<RecordBatch>, String> {
    let mut deserializer = sonic_rs::Deserializer::from_slice(part);
    let mut rows = memchr::memchr_iter(b'\n', part).count();
    let mut batches = Vec::new();
    while rows > 0 {
        let mut columns = C::default();
        let batch_rows = rows.min(BATCH_ROWS);
        for _ in 0..batch_rows {
            columns.read(&mut deserializer).map_err(|e| e.to_string())?;
        }
        rows -= batch_rows;
        batches.push(batch(columns, schema)?);
    }
    Ok(batches)
}

/// simd-json writes into its input, so each record is copied first; its buffers are reused.
fn simd<C: Column>(part: &[u8], schema: &SchemaRef) -> Result<Vec<RecordBatch>, String> {
    let mut buffers = simd_json::Buffers::default();
    let mut record = Vec::new();
    let mut lines = memchr::memchr_iter(b'\n', part).peekable();
    let mut start = 0;
    let mut batches = Vec::new();
    while lines.peek().is_some() {
        let mut columns = C::default();
        for end in lines.by_ref().take(BATCH_ROWS) {
            record.clear();
            record.extend_from_slice(&part[start..end]);
            start = end + 1;
            let mut deserializer =
                simd_json::Deserializer::from_slice_with_buffers(&mut record, &mut buffers)
                    .map_err(|e| e.to_string())?;
            columns.read(&mut deserializer).map_err(|e| e.to_string())?;
        }
        batches.push(batch(columns, schema)?);
    }
    Ok(batches)
}

fn batch<C: Column>(columns: C, schema: &SchemaRef) -> Result<RecordBatch, String> {
    let fields = arrow_schema::DataType::Struct(schema.fields().clone());
    let array = columns.finish(&fields, None).map_err(|e| e.to_string())?;
    let rows = arrow_array::cast::AsArray::as_struct(&array).clone();
    RecordBatch::try_new(schema.clone(), rows.into_parts().1).map_err(|e| e.to_string())
}
