// SPDX-License-Identifier: Apache-2.0
//! Every target under libFuzzer, in one program, because linking one takes minutes. The environment
//! variable `FUZZ_TARGET` names the target.

#![no_main]

use std::sync::OnceLock;

use arrowsmith_fuzz::{Body, TARGETS, budget};

static BODY: OnceLock<Body> = OnceLock::new();

libfuzzer_sys::fuzz_target!(
    init: {
        let name = std::env::var("FUZZ_TARGET").unwrap_or_default();
        let Some((_, body)) = TARGETS.iter().find(|(known, _)| *known == name) else {
            let all: Vec<_> = TARGETS.iter().map(|(known, _)| *known).collect();
            eprintln!("FUZZ_TARGET is one of {}", all.join(", "));
            std::process::exit(2);
        };
        BODY.get_or_init(|| *body);
    },
    |data: &[u8]| {
        if let Some(body) = BODY.get() {
            budget::run(*body, data);
        }
    }
);
