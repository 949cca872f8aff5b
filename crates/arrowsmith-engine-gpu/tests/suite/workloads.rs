// SPDX-License-Identifier: Apache-2.0
//! Every workload, in every layout, equals what the oracle makes of it, and none of it by the CPU engine.

#![cfg(feature = "shim")]

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrowsmith_core::{Chunk, DecodeOptions, Framing};
use arrowsmith_engine_gpu::{GpuEngine, GpuOptions};
use arrowsmith_plan::{Engine, Plan};
use arrowsmith_testkit::oracle::OracleEngine;
use arrowsmith_workload::{Generator, Layout, Workload};

use crate::common;

fn decode(engine: &dyn Engine, plan: &Arc<Plan>, text: &[u8], framing: Framing) -> RecordBatch {
    let mut decoder = engine.decoder(plan, &DecodeOptions::default()).unwrap();
    let mut padded = text.to_vec();
    padded.resize(text.len() + 128, b'7');
    let mut chunk = Chunk::new(&padded, framing);
    chunk.len = text.len();
    decoder.decode(&chunk).unwrap();
    decoder.flush().unwrap().unwrap()
}

#[test]
fn equals_the_oracle() {
    for workload in Workload::ALL {
        for max_values in [1, 8, 64, 512] {
            for layout in [Layout::Compact, Layout::Spaced, Layout::Pretty] {
                let mut text = Vec::new();
                Generator::new(workload, 7, max_values)
                    .with_layout(layout)
                    .fill(1 << 15, &mut text);
                let framing = match layout {
                    Layout::Pretty => Framing::Concatenated,
                    _ => Framing::Lines,
                };
                let plan = Arc::new(Plan::new(Arc::new(workload.schema())).unwrap());
                let expected = decode(&OracleEngine, &plan, &text, framing);
                let engine = GpuEngine::new(common::device(11), GpuOptions::default());
                let batch = decode(&engine, &plan, &text, framing);
                assert_eq!(batch, expected, "{workload:?} {max_values} {layout:?}");
                let (all, careful) = (engine.counters().bytes(), engine.counters().careful_bytes());
                assert_eq!(careful, 0, "{workload:?}: {careful} of {all} bytes by the CPU engine");
            }
        }
    }
}
