// SPDX-License-Identifier: Apache-2.0
//! Schemas of any width, and a little text: the output is bounded, and nothing panics.

use std::sync::Arc;

use arrow_schema::Schema;
use arrowsmith_core::{DecodeOptions, Framing, Limits, OnError};
use arrowsmith_engine::Engine;
use arrowsmith_engine_cpu::CpuEngine;
use arrowsmith_engine_reference::ReferenceEngine;
use arrowsmith_pipeline::{JsonPipeline, PushDecoder, SampleOptions, sample};
use arrowsmith_plan::Plan;
use arrowsmith_plan::text::parse_schema;
use arrowsmith_source::Input;
use arrowsmith_testkit::random::Rng;

/// Maximum memory of a pipeline, and of a batch, in bytes.
const MEMORY_BYTES: usize = 4 << 20;
const BATCH_BYTES: usize = 16 << 20;

/// Maximum batches that are checked: one record may become very many rows of lists.
const BATCHES_MAX: usize = 16;

/// A schema text, up to a zero byte, and text after it; without that byte eight bytes are the seed
/// of a schema. If the schema text is empty, the schema is inferred.
pub fn json_hostile(data: &[u8]) {
    let (schema, text) = match data.iter().position(|byte| *byte == 0) {
        Some(at) => {
            let schema = std::str::from_utf8(&data[..at]).ok().and_then(|s| parse_schema(s).ok());
            (schema, &data[at + 1..])
        }
        None => match data.split_first_chunk::<8>() {
            Some((seed, text)) => (Some(random_schema(u64::from_le_bytes(*seed))), text),
            None => return,
        },
    };
    let mut options = DecodeOptions::default();
    options.limits = Limits::default()
        .with_memory_bytes_max(MEMORY_BYTES)
        .with_batch_bytes_max(BATCH_BYTES)
        .with_fields_max(1000);
    options.on_error = OnError::Skip;
    // A compressed input is short text repeated many times.
    let many = text.repeat((64 << 10) / text.len().max(1));
    let Some(schema) = schema.or_else(|| infer(text, &options.limits)) else { return };
    let Ok(plan) = Plan::new(Arc::new(schema)).map(Arc::new) else { return };
    for framing in [None, Some(Framing::Lines), Some(Framing::Array)] {
        decode(&plan, Arc::new(CpuEngine::default()), options.clone(), framing, &many);
    }
    let mut fail = options.clone();
    fail.on_error = OnError::Fail;
    decode(&plan, Arc::new(ReferenceEngine::default()), fail, Some(Framing::Lines), &many);
    if let Ok(mut push) = PushDecoder::new(&plan, &CpuEngine::default(), &options) {
        let _ = push.feed(&many).and_then(|_| push.finish());
        let _ = push.flush();
    }
}

fn infer(text: &[u8], limits: &Limits) -> Option<Schema> {
    let options = SampleOptions { limits: limits.clone(), ..SampleOptions::default() };
    let sample = sample(vec![Input::bytes(text.to_vec())], &options).ok()?;
    Some(sample.schema.as_ref().clone())
}

fn decode(
    plan: &Arc<Plan>,
    engine: Arc<dyn Engine>,
    options: DecodeOptions,
    framing: Option<Framing>,
    text: &[u8],
) {
    let name = engine.name();
    let pipeline = JsonPipeline::builder(Arc::clone(plan), engine)
        .inputs([Input::bytes(text.to_vec())])
        .options(options)
        .framing(framing)
        .threads(1);
    let Ok(batches) = pipeline.start() else { return };
    for batch in batches.take(BATCHES_MAX) {
        let Ok(batch) = batch else { return };
        let bytes = batch.get_array_memory_size();
        // Other forms of text and validity bitmaps are created at the end.
        assert!(bytes < 8 * BATCH_BYTES, "{name}: a batch of {bytes} bytes: {:?}", plan.schema());
    }
}

/// A schema of unusual widths.
fn random_schema(seed: u64) -> Schema {
    let rng = &mut Rng::new(seed);
    let columns = *rng.pick(&[1, 1, 2, 5, 200, 2000]);
    let text: Vec<String> =
        (0..columns).map(|at| format!("c{at}: {}", random_type(rng, 0))).collect();
    parse_schema(&text.join(", ")).expect("it is well-formed")
}

fn random_type(rng: &mut Rng, depth: usize) -> String {
    let width =
        *rng.pick(&[0_u32, 1, 3, 64, 4096, 65_536, 1 << 20, 1 << 24, i32::MAX.cast_unsigned()]);
    let leaf = if depth < 4 { 0 } else { 3 };
    match leaf + rng.below(9 - leaf) {
        0 => format!("fixed_size_list<{}, {width}>", random_type(rng, depth + 1)),
        1 => format!("list<{}>", random_type(rng, depth + 1)),
        2 => {
            let fields = *rng.pick(&[1, 2, 300]);
            let inner = random_type(rng, depth + 2);
            let fields: Vec<_> = (0..fields).map(|at| format!("a{at}: {inner}")).collect();
            format!("struct<{}>", fields.join(", "))
        }
        3 => format!("fixed_size_binary({width})"),
        4 => "null".to_owned(),
        5 => "dictionary<int8, utf8>".to_owned(),
        6 => "decimal256(76, 2)".to_owned(),
        7 => "bool not null".to_owned(),
        _ => (*rng.pick(&["int64", "utf8", "json", "large_binary", "utf8_view", "date32"]))
            .to_owned(),
    }
}
