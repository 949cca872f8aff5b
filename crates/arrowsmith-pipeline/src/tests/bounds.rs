// SPDX-License-Identifier: Apache-2.0
//! Memory is bounded, slow consumers apply back-pressure, dropped ones stop everything.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use arrowsmith_core::{DecodeOptions, Error, Limits};
use arrowsmith_source::Input;

use super::{Drip, Watched, cpu, drain, pipeline, record, rows};

/// Much longer than any test here takes.
const PATIENCE: Duration = Duration::from_secs(120);

fn many(count: usize) -> String {
    (0..count).map(|number| record(number) + "\n").collect()
}

fn limited(memory_bytes_max: usize) -> DecodeOptions {
    let mut options = DecodeOptions::default();
    options.limits = Limits::default().with_memory_bytes_max(memory_bytes_max);
    options
}

#[test]
fn a_slow_consumer_holds_everything_up_within_the_budget() {
    const MEMORY: usize = 4 << 20;
    let text = many(400_000);
    assert!(text.len() > 3 * MEMORY);
    for input in [Input::bytes(text.clone()), Input::reader(Drip::new(text.clone(), 1 << 16))] {
        let mut batches = pipeline(cpu(), input)
            .options(limited(MEMORY))
            .threads(4)
            .chunk_bytes(128 << 10)
            .start()
            .unwrap();
        let first = batches.next().unwrap().unwrap();
        // Without a consumer, reading stops by itself.
        let progress = Arc::clone(batches.progress());
        let mut bytes = progress.bytes();
        loop {
            thread::sleep(Duration::from_millis(200));
            if std::mem::replace(&mut bytes, progress.bytes()) == progress.bytes() {
                break;
            }
        }
        assert!(bytes < text.len() as u64 / 2, "{bytes} of {}", text.len());
        let mut count = first.num_rows();
        for batch in batches {
            count += batch.unwrap().num_rows();
        }
        assert_eq!(count, 400_000);
        assert_eq!(progress.rows(), 400_000);
    }
}

#[test]
fn pieces_shrink_where_text_grows_a_lot() {
    // Three bytes of text become sixteen and more of Arrow.
    let text = "{}\n".repeat(3_000_000);
    const MEMORY: usize = 8 << 20;
    let mut batches =
        pipeline(cpu(), Input::bytes(text)).options(limited(MEMORY)).threads(2).start().unwrap();
    let mut count = 0;
    let mut largest_late = 0;
    let mut peak = 0;
    while let Some(batch) = batches.next() {
        let batch = batch.unwrap();
        if count > 1_500_000 {
            largest_late = largest_late.max(batch.num_rows() * 3);
        }
        count += batch.num_rows();
        peak = peak.max(batches.bytes_peak());
    }
    assert_eq!(count, 3_000_000);
    assert!(largest_late < 1 << 20, "{largest_late}");
    // Only the first pieces, whose growth is not known yet, may be larger than expected.
    assert!((1..3 * MEMORY).contains(&peak), "{peak}");
}

#[test]
fn a_record_longer_than_a_chunk_and_than_the_budget_passes() {
    let long = format!("{{\"n\":1,\"s\":\"{}\"}}", "z".repeat(3 << 20));
    let text = format!("{}\n{long}\n{}", record(1), record(2));
    for threads in [1, 2] {
        for input in [Input::bytes(text.clone()), Input::reader(Drip::new(text.clone(), 1 << 16))] {
            let batches = pipeline(cpu(), input)
                .options(limited(1 << 20))
                .threads(threads)
                .chunk_bytes(1000)
                .start()
                .unwrap();
            assert_eq!(rows(batches).num_rows(), 3);
        }
    }
}

#[test]
fn a_dropped_consumer_stops_and_joins_the_threads() {
    let text = many(100_000);
    for taken in [0, 1, 3] {
        let engine = Arc::new(Watched::default());
        let alive = Arc::clone(&engine.alive);
        let mut batches = pipeline(engine, Input::bytes(text.clone()))
            .threads(3)
            .chunk_bytes(1000)
            .start()
            .unwrap();
        for _ in 0..taken {
            batches.next().unwrap().unwrap();
        }
        assert_eq!(alive.load(Ordering::SeqCst), 3);
        drop(batches);
        assert_eq!(alive.load(Ordering::SeqCst), 0);
    }
}

#[test]
fn an_error_ends_the_threads_before_the_iterator_is_dropped() {
    let engine = Arc::new(Watched::default());
    let alive = Arc::clone(&engine.alive);
    let mut batches = pipeline(engine, Input::bytes("{\"n\":[]}\n")).threads(3).start().unwrap();
    assert!(batches.next().unwrap().is_err());
    assert_eq!(alive.load(Ordering::SeqCst), 0);
    assert!(batches.next().is_none());
}

#[test]
fn cancelling_stops_promptly() {
    let text = many(200_000);
    for threads in [1, 3] {
        let cancel = Arc::new(AtomicBool::new(false));
        let mut batches = pipeline(cpu(), Input::bytes(text.clone()))
            .threads(threads)
            .chunk_bytes(1000)
            .cancel(Arc::clone(&cancel))
            .start()
            .unwrap();
        batches.next().unwrap().unwrap();
        cancel.store(true, Ordering::Relaxed);
        let (_, error) = drain(batches);
        assert!(matches!(error, Some(Error::Cancelled)));
    }
}

/// A pipe without a writer.
struct Silent(mpsc::Receiver<()>);

impl Read for Silent {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        let _ = self.0.recv();
        Ok(0)
    }
}

#[test]
fn a_pipe_without_a_writer_hangs_neither_cancelling_nor_dropping() {
    let (keep, receiver) = mpsc::channel();
    let started = Instant::now();
    let cancel = Arc::new(AtomicBool::new(false));
    let reader = io::Cursor::new(b"{\"n\":1}\n".to_vec()).chain(Silent(receiver));
    let mut batches = pipeline(cpu(), Input::reader(reader))
        .threads(3)
        .cancel(Arc::clone(&cancel))
        .start()
        .unwrap();
    let flag = Arc::clone(&cancel);
    let stopper = thread::spawn(move || {
        thread::sleep(Duration::from_millis(100));
        flag.store(true, Ordering::Relaxed);
    });
    assert!(matches!(batches.next(), Some(Err(Error::Cancelled))));
    drop(batches);
    assert!(started.elapsed() < PATIENCE);
    stopper.join().unwrap();
    drop(keep);
}
