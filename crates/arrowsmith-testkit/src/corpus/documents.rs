// SPDX-License-Identifier: Apache-2.0
//! JSON documents that are known to be valid, invalid, or implementation-defined.
//!
//! A document is decoded twice: alone, with a plan whose records are `arrow.json` values, and
//! inside a record, `{"v": DOC}`. It is accepted if the result is exactly one row. Documents that
//! are implementation-defined, and intentional differences from a corpus, are listed in
//! `testdata/json/decisions.txt`, one per line; an unexpected result that is not listed fails, and
//! so does an unused line.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema};
use arrowsmith_core::{DecodeOptions, DuplicateKeys, Framing, OnError, UnknownKeys};
use arrowsmith_engine::Engine;
use arrowsmith_plan::plan::{EXTENSION_NAME_KEY, JSON_EXTENSION_NAME};
use arrowsmith_plan::{Plan, ROOT_METADATA_KEY, VALUE_FIELD_NAME};

use super::{Listed, listed, testdata};
use crate::run::{Input, Outcome, PADDINGS, Padding, difference, observe};
use crate::scale::Sample;

/// Maximum size of a document that is decoded with every padding, and of NDJSON that is split at
/// every line.
const SMALL_BYTES: usize = 16 << 10;

/// The result of a run over the corpora.
#[derive(Debug, Default)]
pub struct CorpusSummary {
    /// Number of documents decoded.
    pub documents: usize,
    /// Failures, one line each.
    pub failures: Vec<String>,
    /// The lines that `decisions.txt` would need.
    pub decisions: String,
}

/// The verdicts on a document, alone and wrapped: `accepted`, or `rejected` with the kind of the
/// error.
type Verdicts = (String, String);

/// Runs an engine on every JSON document of the corpora.
///
/// # Errors
/// If a file cannot be read.
pub fn run_corpus(engine: &dyn Engine, folder: &Path) -> std::io::Result<CorpusSummary> {
    run_some(engine, folder, &mut Sample::of("documents", 1))
}

/// Runs an engine on a sample of the JSON documents: of each corpus some valid, invalid and listed
/// ones.
///
/// # Errors
/// If a file cannot be read.
pub fn run_some(
    engine: &dyn Engine,
    folder: &Path,
    sample: &mut Sample,
) -> std::io::Result<CorpusSummary> {
    let mut summary = CorpusSummary::default();
    let mut decisions = read_decisions()?;
    for entry in listed(folder)?.iter().filter(|entry| entry.path.starts_with("json-")) {
        let containers = ["json", "ndjson", "ndjson-partial"];
        if entry.path.ends_with(".gz") || !containers.contains(&entry.container.as_str()) {
            continue;
        }
        if !sample.takes(&[&entry.kind(decisions.get(&entry.path))], &entry.path) {
            decisions.remove(&entry.path);
            continue;
        }
        let text = std::fs::read(folder.join(&entry.path))?;
        summary.documents += 1;
        if entry.container == "json" {
            document(engine, entry, &text, decisions.remove(&entry.path), &mut summary);
        } else {
            lines(engine, entry, &text, &mut summary);
        }
    }
    let unused = decisions.keys().map(|path| format!("{path}: decided, but not in the corpora"));
    summary.failures.extend(unused);
    Ok(summary)
}

/// `path <tab> bare <tab> wrapped`, with comments after `#`.
fn read_decisions() -> std::io::Result<BTreeMap<String, Verdicts>> {
    let text = std::fs::read_to_string(testdata().join("json/decisions.txt"))?;
    let mut decisions = BTreeMap::new();
    for line in text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        let mut columns = line.split('\t').map(str::to_owned);
        let mut next = || columns.next().unwrap_or_default();
        decisions.insert(next(), (next(), next()));
    }
    Ok(decisions)
}

fn json_plan(value_root: bool) -> Option<Arc<Plan>> {
    let name = if value_root { VALUE_FIELD_NAME } else { "v" };
    let extension = [(EXTENSION_NAME_KEY.to_owned(), JSON_EXTENSION_NAME.to_owned())];
    let field = Field::new(name, DataType::Utf8, false).with_metadata(extension.into());
    let mut schema = Schema::new(vec![field]);
    if value_root {
        schema.metadata.insert(ROOT_METADATA_KEY.to_owned(), "value".to_owned());
    }
    Plan::new(Arc::new(schema)).ok().map(Arc::new)
}

/// Options with which a document cannot add keys to the record around it.
fn strict() -> DecodeOptions {
    let mut options = DecodeOptions::default();
    options.duplicate_keys = DuplicateKeys::Error;
    options.unknown_keys = UnknownKeys::Error;
    options
}

fn feed(engine: &dyn Engine, plan: &Arc<Plan>, text: &[u8], padding: Padding) -> Outcome {
    let input = Input::split(&[text], Framing::Concatenated, padding);
    let broken = |error: arrowsmith_core::Error| Outcome {
        broken: Some(error.to_string()),
        ..Outcome::default()
    };
    observe(engine, plan, &strict(), &input).unwrap_or_else(broken)
}

fn verdict(outcome: &Outcome) -> String {
    match (&outcome.broken, &outcome.error, outcome.rows.len()) {
        (Some(broken), ..) => format!("broken: {broken}"),
        (_, Some(error), _) => format!("rejected:{}", error.kind),
        (_, None, 1) => "accepted".to_owned(),
        (_, None, rows) => format!("rejected:{rows}-documents"),
    }
}

fn document(
    engine: &dyn Engine,
    entry: &Listed,
    text: &[u8],
    decision: Option<Verdicts>,
    summary: &mut CorpusSummary,
) {
    let (Some(bare_plan), Some(wrapped_plan)) = (json_plan(true), json_plan(false)) else { return };
    let wrapped_text = [b"{\"v\": ", text, b"}"].concat();
    let bare = feed(engine, &bare_plan, text, Padding::None);
    let wrapped = feed(engine, &wrapped_plan, &wrapped_text, Padding::None);
    let paddings = if text.len() <= SMALL_BYTES { PADDINGS } else { &PADDINGS[..2] };
    for padding in paddings {
        let again = feed(engine, &bare_plan, text, *padding);
        if let Some(difference) = difference(&bare, &again) {
            summary.failures.push(format!("{}: with {padding:?}: {difference}", entry.path));
        }
    }
    let verdicts = (verdict(&bare), verdict(&wrapped));
    let plain = match entry.expected.as_str() {
        "accept" | "roundtrip" => Some(true),
        "reject" => Some(false),
        _ => None,
    };
    let as_expected = |verdict: &str| match plain {
        Some(true) => verdict == "accepted",
        Some(false) => verdict.starts_with("rejected"),
        None => false,
    };
    let listed = !(as_expected(&verdicts.0) && as_expected(&verdicts.1));
    if listed {
        let line = format!("{}\t{}\t{}\n", entry.path, verdicts.0, verdicts.1);
        summary.decisions.push_str(&line);
    }
    let failure = match decision {
        None if listed => format!("is {}, and not listed: {verdicts:?}", entry.expected),
        Some(_) if !listed => "is listed, and need not be".to_owned(),
        Some(decided) if decided != verdicts => format!("decided {decided:?}, found {verdicts:?}"),
        _ => return,
    };
    summary.failures.push(format!("{}: {failure}", entry.path));
}

/// NDJSON: every line is a document, or as many lines as the corpus states.
fn lines(engine: &dyn Engine, entry: &Listed, text: &[u8], summary: &mut CorpusSummary) {
    let Some(plan) = json_plan(true) else { return };
    let mut options = strict();
    options.on_error = OnError::Skip;
    let run = |texts: &[&[u8]]| {
        let input = Input::split(texts, Framing::Lines, Padding::None);
        observe(engine, &plan, &options, &input).ok()
    };
    let Some(whole) = run(&[text]) else { return };
    let expected = match entry.container.as_str() {
        "ndjson" => u64::try_from(whole.rows.len()).ok().filter(|_| whole.rejects.is_empty()),
        // "20 of 22 lines are valid JSON"
        _ => entry.note.split(' ').next().and_then(|count| count.parse().ok()),
    };
    if expected != u64::try_from(whole.rows.len()).ok() || whole.rows.is_empty() {
        let marks: Vec<_> = whole.rejects.iter().map(|reject| &reject.mark).collect();
        let rows = whole.rows.len();
        summary.failures.push(format!("{}: {rows} rows, rejected {marks:?}", entry.path));
    }
    if text.len() > SMALL_BYTES {
        return;
    }
    for (cut, _) in text.iter().enumerate().filter(|(_, byte)| **byte == b'\n') {
        let (one, other) = text.split_at(cut + 1);
        let Some(halves) = run(&[one, other]) else { return };
        if let Some(difference) = difference(&whole, &halves) {
            summary.failures.push(format!("{}: cut after byte {cut}: {difference}", entry.path));
        }
    }
}
