// SPDX-License-Identifier: Apache-2.0
//! Test vectors: the bits that a decimal text rounds to in each width, and UTF-8 sequences.

use std::path::Path;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float16Type, Float32Type, Float64Type};
use arrow_schema::{DataType, Field, Schema};
use arrowsmith_core::{Chunk, DecodeOptions, Error, Framing, OnError};
use arrowsmith_engine::Engine;
use arrowsmith_plan::Plan;

use crate::run::{Input, observe};

/// Reads every number of `numbers-fxx` that is valid JSON, in three widths. Returns how many there
/// were.
///
/// # Errors
/// The first number whose bits differ, or a description of another error.
pub fn run_numbers(engine: &dyn Engine, folder: &Path) -> Result<usize, String> {
    let fields = [("h", DataType::Float16), ("f", DataType::Float32), ("d", DataType::Float64)];
    let fields = fields.map(|(name, data_type)| Field::new(name, data_type, true));
    let plan = Plan::new(Arc::new(Schema::new(fields.to_vec()))).map(Arc::new).map_err(text)?;
    let mut options = DecodeOptions::default();
    // A number out of range is an error here, and an infinity in the vectors.
    options.on_error = OnError::Null;
    let mut count = 0;
    let data = folder.join("numbers-fxx/data");
    let mut files: Vec<_> = std::fs::read_dir(data).map_err(text)?.flatten().collect();
    files.sort_by_key(std::fs::DirEntry::file_name);
    for file in files {
        let vectors = std::fs::read_to_string(file.path()).map_err(text)?;
        let vectors: Vec<[&str; 4]> = vectors.lines().filter_map(vector).collect();
        let mut json = String::new();
        for [.., number] in &vectors {
            json.push_str(&format!("{{\"h\":{number},\"f\":{number},\"d\":{number}}}\n"));
        }
        let mut decoder = engine.decoder(&plan, &options).map_err(text)?;
        decoder.decode(&Chunk::new(json.as_bytes(), Framing::Lines)).map_err(text)?;
        let batch = decoder.flush().map_err(text)?.ok_or("no rows")?;
        for (row, [half, single, double, number]) in vectors.iter().enumerate() {
            let column = |index: usize| batch.column(index);
            let valid = |index: usize| !arrow_array::Array::is_null(column(index), row);
            let found = [
                valid(0)
                    .then(|| column(0).as_primitive::<Float16Type>().value(row).to_bits().into()),
                valid(1)
                    .then(|| column(1).as_primitive::<Float32Type>().value(row).to_bits().into()),
                valid(2).then(|| column(2).as_primitive::<Float64Type>().value(row).to_bits()),
            ];
            let infinite = |bits: u64, infinity: u64| (bits != infinity).then_some(bits);
            let expected = [
                infinite(hex(half) & 0x7FFF, 0x7C00).map(|_| hex(half)),
                infinite(hex(single) & 0x7FFF_FFFF, 0x7F80_0000).map(|_| hex(single)),
                infinite(hex(double) & (u64::MAX >> 1), 0x7FF0 << 48).map(|_| hex(double)),
            ];
            if found != expected {
                return Err(format!("{number}: {found:x?}, expected {expected:x?}"));
            }
        }
        count += vectors.len();
    }
    Ok(count)
}

/// The columns of a line whose number is valid JSON.
fn vector(line: &str) -> Option<[&str; 4]> {
    let mut columns = line.split(' ');
    let columns = [columns.next()?, columns.next()?, columns.next()?, columns.next()?];
    let number = columns[3].strip_prefix('-').unwrap_or(columns[3]);
    let digits_end = number.find(|c: char| !c.is_ascii_digit()).unwrap_or(number.len());
    let (whole, rest) = number.split_at(digits_end);
    let fraction_fits = match rest.strip_prefix('.') {
        Some(rest) => rest.starts_with(|c: char| c.is_ascii_digit()),
        None => true,
    };
    let json = (whole == "0" || !whole.starts_with('0')) && !whole.is_empty() && fraction_fits;
    json.then_some(columns)
}

fn hex(digits: &str) -> u64 {
    u64::from_str_radix(digits, 16).unwrap_or(0)
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// Reads every sequence of `utf8` inside a string. Returns how many there were.
///
/// # Errors
/// The first sequence that is accepted or rejected wrongly.
pub fn run_utf8(engine: &dyn Engine, folder: &Path) -> Result<usize, String> {
    let field = Field::new("s", DataType::Utf8, false);
    let plan = Plan::new(Arc::new(Schema::new(vec![field]))).map(Arc::new).map_err(text)?;
    let mut count = 0;
    for file in std::fs::read_dir(folder.join("utf8")).map_err(text)?.flatten() {
        if file.path().extension().is_none_or(|extension| extension != "txt") {
            continue;
        }
        for line in std::fs::read(file.path()).map_err(text)?.split(|&byte| byte == b'\n') {
            let Some((number, valid, bytes)) = sequence(line) else { continue };
            let json = [b"{\"s\":\"", bytes.as_slice(), b"\"}\n"].concat();
            let input = Input::whole(&json, Framing::Lines);
            let found = observe(engine, &plan, &DecodeOptions::default(), &input);
            let found = found.map_err(|error: Error| error.to_string())?;
            let as_expected = match &found.error {
                None => valid && found.rows.len() == 1,
                Some(error) => !valid && error.kind == "invalid-utf8",
            };
            if !as_expected {
                return Err(format!("{number}: {bytes:x?}: {:?}", found.error));
            }
            count += 1;
        }
    }
    Ok(count)
}

/// `number:valid[ hex]:bytes…` or `number:invalid hex:bytes:…`; `None` for bytes that a JSON string
/// cannot contain unescaped.
fn sequence(line: &[u8]) -> Option<(String, bool, Vec<u8>)> {
    let mut columns = line.split(|&byte| byte == b':');
    let number = String::from_utf8_lossy(columns.next()?).into_owned();
    let kind = columns.next()?;
    let bytes = columns.next()?;
    let valid = kind.starts_with(b"valid");
    let bytes = if kind.ends_with(b"hex") {
        let digits: Vec<u8> = bytes.iter().copied().filter(u8::is_ascii_hexdigit).collect();
        let pair = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
        digits.chunks(2).map(pair).collect::<Option<Vec<u8>>>()?
    } else {
        bytes.to_vec()
    };
    let holds = |byte: &u8| *byte >= 0x20 && !matches!(byte, b'"' | b'\\');
    let known = kind.starts_with(b"valid") || kind.starts_with(b"invalid");
    (known && !number.starts_with('#') && bytes.iter().all(holds)).then_some((number, valid, bytes))
}
