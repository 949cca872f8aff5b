// SPDX-License-Identifier: Apache-2.0
//! Shared by the tests of JSON circuits: the engine on a memory that pauses, and the comparison
//! with the engine `cpu`.

use std::sync::Arc;

use arrowsmith_core::{DecodeOptions, Framing};
use arrowsmith_engine_cpu::CpuEngine;
use arrowsmith_engine_rtl::MemoryProfile;
use arrowsmith_engine_rtl::RtlEngine;
use arrowsmith_plan::Plan;
use arrowsmith_plan::text::parse_schema;
use arrowsmith_testkit::engines::Helped;
use arrowsmith_testkit::random::Rng;
use arrowsmith_testkit::run::{Input, Padding, difference, observe};

/// A memory with a latency of some cycles and random pauses.
pub fn memory(stalls: u32, seed: u64) -> MemoryProfile {
    MemoryProfile { read_latency: 7, write_latency: 3, ..MemoryProfile::stalling(stalls, seed) }
}

pub fn plan(schema: &str) -> Arc<Plan> {
    Arc::new(Plan::new(Arc::new(parse_schema(schema).unwrap())).unwrap())
}

/// Both engines on one text.
pub fn check(rtl: &RtlEngine, plan: &Arc<Plan>, options: &DecodeOptions, text: &[u8], about: &str) {
    let input = Input::split(&[text], Framing::Lines, Padding::None);
    let found = match observe(&Helped(rtl.clone()), plan, options, &input) {
        Ok(found) => found,
        // The schema alone is deeper than this limit, which a circuit does not accept.
        Err(error) if error.to_string().contains("depth_max") => return,
        Err(error) => panic!("{about}: {error}"),
    };
    let expected = observe(&CpuEngine::default(), plan, options, &input).unwrap();
    if let Some(difference) = difference(&expected, &found) {
        panic!(
            "{about}, {options:?}\n{}\ncpu, then rtl: {difference}",
            String::from_utf8_lossy(text)
        );
    }
}

pub fn one<'a>(rng: &mut Rng, texts: &[&'a str]) -> &'a str {
    texts[rng.below(texts.len())]
}
