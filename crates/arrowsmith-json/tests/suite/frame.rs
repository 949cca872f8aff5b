// SPDX-License-Identifier: Apache-2.0
//! Results do not depend on how a source arrives: for any pieces and any size of chunks, the
//! records are the same, and so are the first error and its position.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrowsmith_core::{
    Chunk, DecodeOptions, Decoder, Error, ErrorKind, Framing, Limits, OnError, Position, Reject,
};
use arrowsmith_engine::Engine;
use arrowsmith_json::frame::{Framer, Step};
use arrowsmith_plan::Plan;
use arrowsmith_testkit::oracle::OracleEngine;
use arrowsmith_testkit::random::{self, Profile, Rng};

/// The result of reading a source.
#[derive(Debug, PartialEq)]
struct Outcome {
    batch: Option<RecordBatch>,
    rejects: Vec<Reject>,
    error: Option<(ErrorKind, Position)>,
}

/// Reads a source in pieces, splits it into chunks of about `target` bytes, and decodes them.
fn read(
    text: &[u8],
    mut framer: Framer,
    mut pieces: impl FnMut() -> usize,
    target: usize,
    decoder: &mut dyn Decoder,
) -> Outcome {
    let (mut at, mut filled) = (0, 0);
    let mut position = Position { line: 1, ..Position::default() };
    let mut rejects = Vec::new();
    let error = loop {
        let eof = filled == text.len();
        match framer.next(&text[at..filled], eof, target) {
            Ok(Step::Cut(cut)) => {
                let before = position.offset;
                position.line += cut.lines_before;
                position.offset += cut.start as u64;
                let bytes = &text[at + cut.start..at + cut.start + cut.len];
                let mut chunk = Chunk::new(bytes, cut.framing);
                chunk.position = position.clone();
                let report = match decoder.decode(&chunk) {
                    Ok(report) => report,
                    Err(error) => break Some(error),
                };
                rejects.extend(report.rejects.into_iter().map(|mut reject| {
                    // The oracle shows the text after it, which may be in the next chunk.
                    reject.error.found.clear();
                    reject
                }));
                position.record += report.records;
                position.line += report.lines + cut.lines_after;
                position.offset = before + cut.consumed as u64;
                at += cut.consumed;
            }
            Ok(Step::NeedMore) => {
                assert!(!eof);
                filled = text.len().min(filled + pieces());
            }
            Ok(Step::Done) => {
                let left = &text[at..];
                let left = left.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(left);
                assert!(eof && left.trim_ascii().is_empty());
                break None;
            }
            Ok(Step::Skipped { .. }) => unreachable!(),
            Err(mut error) => {
                if let Error::Data(data) = &mut error {
                    data.position.record += position.record;
                    data.position.line += position.line - 1;
                }
                break Some(error);
            }
        }
    };
    let error = error.map(|error| {
        let data = error.as_data().unwrap();
        (data.kind, data.position.clone())
    });
    Outcome { batch: decoder.flush().unwrap(), rejects, error }
}

/// Reads a source as a whole, and in many different pieces.
fn check(
    plan: &Arc<Plan>,
    text: &[u8],
    framing: Option<Framing>,
    options: &DecodeOptions,
    name: &str,
) -> Outcome {
    let decoder = || OracleEngine.decoder(plan, options).unwrap();
    let framer = || Framer::new(framing, &Limits::default(), None);
    let whole = read(text, framer(), || usize::MAX / 2, usize::MAX, &mut *decoder());
    let rng = &mut Rng::new(text.len() as u64);
    for target in [1, 7, 40] {
        let once = read(text, framer(), || usize::MAX / 2, target, &mut *decoder());
        assert_eq!(once, whole, "{name}: by {target}");
        let drip = read(text, framer(), || 1, target, &mut *decoder());
        assert_eq!(drip, whole, "{name}: byte by byte, by {target}");
        let random = read(text, framer(), || 1 + rng.below(30), target, &mut *decoder());
        assert_eq!(random, whole, "{name}: in pieces, by {target}");
    }
    whole
}

/// The text of a case, as a source.
fn source(case: &random::RandomCase) -> Vec<u8> {
    match case.framing {
        Framing::Array => [b" [".as_slice(), &case.text, b"] \n"].concat(),
        _ => case.text.clone(),
    }
}

#[test]
fn good_sources() {
    for seed in 0..2_000 {
        let case = random::case(seed, Profile::Full);
        let options = DecodeOptions::default();
        let name = format!("seed {seed}");
        let whole = check(&case.plan, &source(&case), Some(case.framing), &options, &name);
        assert_eq!(whole.error, None, "{name}");
        let rows = whole.batch.map_or(0, |batch| batch.num_rows());
        assert_eq!(rows, case.rows.len(), "{name}");
    }
}

#[test]
fn broken_sources() {
    for seed in 0..4_000 {
        let case = random::broken_case(seed, Profile::Full);
        let options = DecodeOptions::default();
        let framing = if seed % 4 == 0 { None } else { Some(case.framing) };
        check(
            &case.plan,
            &source(&case),
            framing,
            &options,
            &format!("seed {seed}, {:?}", source(&case).escape_ascii().to_string()),
        );
    }
}

#[test]
fn broken_lines_are_left_out_one_by_one() {
    for seed in 0..4_000 {
        let case = random::broken_case(seed, Profile::Full);
        if case.framing == Framing::Lines {
            let mut options = DecodeOptions::default();
            options.on_error = if seed % 2 == 0 { OnError::Skip } else { OnError::Null };
            let name = format!("seed {seed}");
            check(&case.plan, &case.text, Some(Framing::Lines), &options, &name);
        }
    }
}
