// SPDX-License-Identifier: Apache-2.0
//! Threads, chunk lengths, framings, compressions and kinds of input give the same rows.

use std::fs;
use std::io::{Cursor, Write};

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrowsmith_source::Input;

use super::{Drip, cpu, pipeline, reference, rows, texts};
use crate::JsonPipeline;

const CHUNKS: [usize; 5] = [1, 7, 100, 1000, 1 << 20];

#[test]
fn threads_and_chunks_do_not_matter() {
    for (name, text) in texts(200) {
        let whole = pipeline(cpu(), Input::bytes(text.clone())).threads(1).start().unwrap();
        let expected = rows(whole);
        assert_eq!(expected.num_rows(), 200, "{name}");
        for threads in [1, 2, 4] {
            for chunk in CHUNKS {
                let inputs = [
                    Input::bytes(text.clone()),
                    Input::reader(Drip::new(text.clone(), 37)),
                    Input::reader(Drip::new(text.clone(), usize::MAX)),
                ];
                for input in inputs {
                    let label = format!("{name}, {threads} threads, chunks of {chunk}, {input:?}");
                    let batches =
                        pipeline(cpu(), input).threads(threads).chunk_bytes(chunk).start().unwrap();
                    assert_eq!(rows(batches), expected, "{label}");
                }
            }
        }
    }
}

#[test]
fn engines_agree() {
    for (name, text) in texts(50) {
        let mine = pipeline(cpu(), Input::bytes(text.clone())).chunk_bytes(64).start().unwrap();
        let theirs = pipeline(reference(), Input::bytes(text)).chunk_bytes(64).start().unwrap();
        assert_eq!(rows(mine), rows(theirs), "{name}");
    }
}

#[test]
fn every_short_text_at_every_chunk_length() {
    for (name, text) in texts(4) {
        for chunk in 1..=text.len() {
            for input in [Input::bytes(text.clone()), Input::reader(Drip::new(text.clone(), 1))] {
                let label = format!("{name}, chunks of {chunk}, {input:?}");
                let batches = pipeline(cpu(), input).threads(1).chunk_bytes(chunk).start().unwrap();
                assert_eq!(rows(batches).num_rows(), 4, "{label}");
            }
        }
    }
}

fn packed(text: &[u8]) -> Vec<Vec<u8>> {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(text).unwrap();
    let mut lz4 = lz4_flex::frame::FrameEncoder::new(Vec::new());
    lz4.write_all(text).unwrap();
    vec![gzip.finish().unwrap(), zstd::encode_all(text, 1).unwrap(), lz4.finish().unwrap()]
}

#[test]
fn compressed_inputs_give_the_same_rows() {
    let (_, text) = texts(50_000).swap_remove(0);
    let plain = pipeline(cpu(), Input::bytes(text.clone())).threads(1).start().unwrap();
    let expected = rows(plain);
    for bytes in packed(text.as_bytes()) {
        for threads in [1, 3] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("packed");
            fs::write(&path, &bytes).unwrap();
            let inputs = [
                Input::bytes(bytes.clone()),
                Input::reader(Cursor::new(bytes.clone())),
                path.into(),
            ];
            for input in inputs {
                let batches =
                    pipeline(cpu(), input).threads(threads).chunk_bytes(10_000).start().unwrap();
                let progress = std::sync::Arc::clone(batches.progress());
                assert!(rows(batches) == expected);
                assert_eq!(progress.bytes(), bytes.len() as u64);
                assert_eq!(progress.rows(), 50_000);
            }
        }
    }
}

#[test]
fn inputs_follow_one_another_and_each_is_framed_on_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("c.json");
    fs::write(&path, "\u{FEFF}[{\"n\":5},\n{\"n\":6}]").unwrap();
    let inputs = || {
        [
            Input::bytes(""),
            Input::bytes("{\"n\":1}\n{\"n\":2}"),
            Input::reader(Drip::new(" \n\n", 1)),
            Input::reader(Drip::new("{\"n\":\n3} {\"n\":\n4}", 3)),
            Input::Path(path.clone()),
            Input::bytes("[]"),
            Input::bytes("\u{FEFF}{\"n\":7}\r\n"),
        ]
    };
    for threads in [1, 2, 4] {
        for chunk in CHUNKS {
            let batches = JsonPipeline::builder(super::plan(), cpu())
                .inputs(inputs())
                .threads(threads)
                .chunk_bytes(chunk)
                .start()
                .unwrap();
            let rows = rows(batches);
            let numbers = rows.column(0).as_primitive::<Int64Type>();
            assert_eq!(numbers.values().as_ref(), [1, 2, 3, 4, 5, 6, 7], "{threads}, {chunk}");
        }
    }
}

#[test]
fn no_input_is_no_batch() {
    for threads in [1, 2] {
        let none: [Input; 0] = [];
        let builder = JsonPipeline::builder(super::plan(), cpu()).inputs(none);
        assert!(builder.threads(threads).start().unwrap().next().is_none());
        for text in ["", " \n\r\n", "\u{FEFF}", "[ ]"] {
            let mut batches = pipeline(cpu(), Input::bytes(text)).threads(threads).start().unwrap();
            assert!(batches.next().is_none(), "{text:?}");
            assert!(batches.next().is_none(), "{text:?}");
        }
    }
}

#[test]
fn batches_have_the_requested_rows() {
    let (_, text) = texts(1000).swap_remove(0);
    let whole = pipeline(cpu(), Input::bytes(text.clone())).threads(1).start().unwrap();
    let expected = rows(whole);
    for (chunk, size) in [(100, 64), (100_000, 64), (3000, 300), (100, 1), (5000, 5000), (1, 999)] {
        for threads in [1, 2] {
            let start = || {
                pipeline(cpu(), Input::bytes(text.clone()))
                    .threads(threads)
                    .chunk_bytes(chunk)
                    .batch_rows(Some(size))
                    .start()
                    .unwrap()
            };
            let sizes: Vec<usize> = start().map(|batch| batch.unwrap().num_rows()).collect();
            let (last, others) = sizes.split_last().unwrap();
            assert!(others.iter().all(|&rows| rows == size), "{sizes:?}");
            assert!((1..=size).contains(last), "{sizes:?}");
            assert_eq!(rows(start()), expected);
        }
    }
}

#[test]
fn batches_have_about_the_requested_bytes() {
    let (_, text) = texts(20_000).swap_remove(0);
    for (chunk, size) in [(1000, 50_000), (1 << 20, 50_000)] {
        let batches = pipeline(cpu(), Input::bytes(text.clone()))
            .chunk_bytes(chunk)
            .batch_bytes(Some(size))
            .start()
            .unwrap();
        let mut sizes: Vec<usize> = Vec::new();
        for batch in batches {
            let columns = batch.unwrap();
            let bytes =
                |column: &arrow_array::ArrayRef| column.to_data().get_slice_memory_size().unwrap();
            sizes.push(columns.columns().iter().map(bytes).sum());
        }
        let (_, full) = sizes.split_last().unwrap();
        assert!(full.len() > 5, "{sizes:?}");
        assert!(
            full.iter().all(|bytes| (size * 8 / 10..size * 12 / 10).contains(bytes)),
            "{sizes:?}"
        );
    }
}

#[test]
fn sizes_of_zero_are_refused() {
    let start =
        |set: fn(JsonPipeline) -> JsonPipeline| set(pipeline(cpu(), Input::bytes(""))).start();
    assert!(start(|pipeline| pipeline.batch_rows(Some(0))).is_err());
    assert!(start(|pipeline| pipeline.batch_bytes(Some(0))).is_err());
    assert!(start(|pipeline| pipeline.chunk_bytes(0)).is_err());
}
