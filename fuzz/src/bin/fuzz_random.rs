// SPDX-License-Identifier: Apache-2.0
//! Fuzzing without libFuzzer: the bodies of the targets on random changes of their seeds, for a
//! time.
//!
//! `fuzz_random TARGET SECONDS SEED FOLDER`. The current input is written to FOLDER before it runs,
//! so that one that ends the process is found there; one that panics is kept beside it. Prints the
//! number of runs.

#![forbid(unsafe_code)]

use std::fs;
use std::panic::catch_unwind;
use std::path::PathBuf;
use std::process::{ExitCode, abort};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use arrowsmith_fuzz::{TARGETS, budget, seeds};
use arrowsmith_testkit::random::{Rng, mutate};

/// Maximum time for one input.
const PATIENCE: Duration = Duration::from_secs(60);

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let (Some(target), Some(seconds), Some(seed), Some(folder)) = (
        words.first().and_then(|name| TARGETS.iter().find(|(known, _)| known == name)),
        words.get(1).and_then(|text| text.parse().ok()),
        words.get(2).and_then(|text| text.parse::<u64>().ok()),
        words.get(3).map(PathBuf::from),
    ) else {
        eprintln!("usage: fuzz_random TARGET SECONDS SEED FOLDER");
        return ExitCode::from(2);
    };
    let (name, body) = *target;
    let seeds = seeds(name);
    let current = folder.join(format!("{name}.current"));
    let runs = Arc::new(AtomicU64::new(0));
    watch(Arc::clone(&runs));
    let ends = Instant::now() + Duration::from_secs_f64(seconds);
    let rng = &mut Rng::new(seed);
    let mut crashes = 0_u64;
    while Instant::now() < ends && crashes < 10 {
        let mut data = if seeds.is_empty() { Vec::new() } else { rng.pick(&seeds).clone() };
        for _ in 0..rng.below(6) {
            mutate(rng, &mut data);
        }
        if fs::write(&current, &data).is_err() {
            eprintln!("{} cannot be written", current.display());
            return ExitCode::from(2);
        }
        if catch_unwind(|| budget::run(body, &data)).is_err() {
            crashes += 1;
            let kept = folder.join(format!("{name}-{seed}-{}", runs.load(Ordering::Relaxed)));
            let _ = fs::write(&kept, &data);
            eprintln!("{name}: the input is {}", kept.display());
        }
        runs.fetch_add(1, Ordering::Relaxed);
    }
    let _ = fs::remove_file(&current);
    println!("{}", runs.load(Ordering::Relaxed));
    if crashes == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Ends the process when one input takes too long.
fn watch(runs: Arc<AtomicU64>) {
    thread::spawn(move || {
        let mut last = (u64::MAX, Instant::now());
        loop {
            thread::sleep(Duration::from_secs(1));
            let now = runs.load(Ordering::Relaxed);
            if now != last.0 {
                last = (now, Instant::now());
            } else if last.1.elapsed() > PATIENCE {
                eprintln!("one input took more than {} s", PATIENCE.as_secs());
                abort();
            }
        }
    });
}
