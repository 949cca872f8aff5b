// SPDX-License-Identifier: Apache-2.0
//! Inference is sound: any records decode with the schema that was inferred from them.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Fields, SchemaRef};
use arrowsmith_core::{Chunk, DecodeOptions, Framing};
use arrowsmith_engine::Engine;
use arrowsmith_json::infer::{InferOptions, Inferrer};
use arrowsmith_plan::Plan;
use arrowsmith_plan::text::{format_schema, parse_schema};
use arrowsmith_testkit::oracle::OracleEngine;
use arrowsmith_testkit::random::{self, Profile, Rng};
use arrowsmith_testkit::{corpus, tools};

fn options(seed: u64) -> InferOptions {
    let mut options = InferOptions::default();
    options.timestamps = seed & 1 != 0;
    options.strict_nulls = seed & 2 != 0;
    options.object_keys_max = if seed & 4 != 0 { 3 } else { 1000 };
    options
}

/// The schema of all records, and how many there were.
fn infer(chunk: &Chunk<'_>, options: InferOptions) -> Option<(SchemaRef, u64)> {
    let mut inferrer = Inferrer::new(options);
    let observed = inferrer.observe(chunk).ok()?;
    assert!(observed.complete);
    Some((Arc::new(inferrer.finish().ok()?), observed.records))
}

/// Decodes a chunk with the schema that was inferred from it.
fn check(chunk: &Chunk<'_>, options: InferOptions, name: &str) -> Option<SchemaRef> {
    let (schema, records) = infer(chunk, options)?;
    let text = format_schema(&schema);
    assert_eq!(parse_schema(&text).unwrap(), *schema, "{name}");
    let plan = Arc::new(Plan::new(Arc::clone(&schema)).unwrap());
    let mut decoder = OracleEngine.decoder(&plan, &DecodeOptions::default()).unwrap();
    let error = decoder.decode(chunk).err().map(|error| error.to_string());
    assert_eq!(error, None, "{name}\n{text}");
    assert_eq!(decoder.rows() as u64, records, "{name}");
    decoder.flush().unwrap();
    Some(schema)
}

#[test]
fn random_records_decode_with_the_schema_inferred_from_them() {
    let mut checked = 0;
    for seed in 0..20_000 {
        let case = random::case(seed, Profile::Full);
        let chunk = Chunk::new(&case.text, case.framing);
        checked += usize::from(check(&chunk, options(seed), &format!("seed {seed}")).is_some());
    }
    assert!(checked > 10_000, "{checked}");
}

#[test]
fn broken_records_are_an_error_or_decode() {
    for seed in 0..20_000 {
        let case = random::broken_case(seed, Profile::Full);
        let chunk = Chunk::new(&case.text, case.framing);
        let mut strict = Inferrer::new(options(seed));
        let mut tolerant = options(seed);
        tolerant.skip_malformed = true;
        let mut tolerant = Inferrer::new(tolerant);
        tolerant.observe(&chunk).unwrap();
        if strict.observe(&chunk).is_ok() {
            assert_eq!(strict.records(), tolerant.records(), "seed {seed}");
            check(&chunk, options(seed), &format!("seed {seed}"));
        }
    }
}

/// A schema with the fields of structs in order of their names.
fn sorted(fields: &Fields) -> Fields {
    let mut fields: Vec<Field> = fields
        .iter()
        .map(|field| field.as_ref().clone().with_data_type(sorted_type(field.data_type())))
        .collect();
    fields.sort_by(|one, other| one.name().cmp(other.name()));
    fields.into()
}

fn sorted_type(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Struct(fields) => DataType::Struct(sorted(fields)),
        DataType::List(item) => {
            let inner = sorted_type(item.data_type());
            DataType::List(Arc::new(item.as_ref().clone().with_data_type(inner)))
        }
        DataType::Map(entries, sorted) => {
            let inner = sorted_type(entries.data_type());
            DataType::Map(Arc::new(entries.as_ref().clone().with_data_type(inner)), *sorted)
        }
        other => other.clone(),
    }
}

#[test]
fn the_order_of_records_and_seeing_them_twice_do_not_matter() {
    for seed in 0..5_000 {
        let rng = &mut Rng::new(seed);
        // Records of several schemas, so that there are conflicts.
        let mut lines: Vec<Vec<u8>> = Vec::new();
        for number in 0..4 {
            let case = random::case(seed * 7 + number, Profile::Full);
            if case.framing == Framing::Lines {
                lines.extend(case.text.split(|byte| *byte == b'\n').map(<[u8]>::to_vec));
            }
        }
        let text = lines.join(&b'\n');
        let Some((schema, _)) = infer(&Chunk::new(&text, Framing::Lines), options(seed)) else {
            continue;
        };
        check(&Chunk::new(&text, Framing::Lines), options(seed), &format!("seed {seed}"));
        for at in (1..lines.len()).rev() {
            lines.swap(at, rng.below(at + 1));
        }
        lines.extend_from_within(..);
        let text = lines.join(&b'\n');
        let (again, _) = infer(&Chunk::new(&text, Framing::Lines), options(seed)).unwrap();
        assert_eq!(schema.metadata(), again.metadata(), "seed {seed}");
        assert_eq!(sorted(schema.fields()), sorted(again.fields()), "seed {seed}");
    }
}

#[test]
fn documents_of_the_corpora_decode_with_their_own_schema() {
    let Some(folder) = tools::corpora() else { return };
    let mut checked = 0;
    for entry in corpus::listed(&folder).unwrap() {
        if entry.path.starts_with("json-") && !entry.path.ends_with(".gz") {
            let text = std::fs::read(folder.join(&entry.path)).unwrap();
            if text.len() > 4 << 20 {
                continue;
            }
            let framing = match entry.container.as_str() {
                "ndjson" => Framing::Lines,
                _ => Framing::Concatenated,
            };
            let chunk = Chunk::new(&text, framing);
            for seed in [0, 7] {
                checked += usize::from(check(&chunk, options(seed), &entry.path).is_some());
            }
        }
    }
    assert!(checked > 500, "{checked}");
}
