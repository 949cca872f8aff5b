// SPDX-License-Identifier: Apache-2.0
//! The conformance suite: cases are data, in `testdata/json/*.toml`, and [`run_suite`] runs every
//! engine on them.
//!
//! A case is a schema (as [`parse_schema`] reads it), a framing, options and an input; the
//! expectation is rows (as [`crate::render`] writes them), an error with its position, and rejected
//! records. Each case is run with every padding after the input, with positions that do not start
//! at 0, and split in two at every line.

mod text;

#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::Arc;

use arrowsmith_core::{
    DecodeOptions, Dialect, DuplicateKeys, Error, Framing, OnError, UnknownKeys,
};
use arrowsmith_engine::Engine;
use arrowsmith_plan::Plan;
use arrowsmith_plan::text::parse_schema;
use serde::Deserialize;

use crate::corpus::testdata;
use crate::run::{Feed, Input, Mark, Outcome, PADDINGS, Padding, Rejected, observe};
use crate::scale::Sample;

pub use text::to_toml;

/// One file of cases.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CaseFile {
    /// A description of the cases.
    pub about: String,
    /// The cases.
    pub case: Vec<Case>,
}

/// One case.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// A unique name.
    pub name: String,
    /// The schema, in its text form.
    pub schema: String,
    /// The columns that are decoded, as paths; all if there are none.
    #[serde(default)]
    pub columns: Vec<String>,
    /// `lines`, `concatenated` or `array` (without its brackets).
    #[serde(default = "lines")]
    pub framing: String,
    /// The options that differ from the defaults.
    #[serde(default)]
    pub options: Options,
    /// The input, if it is UTF-8.
    pub input: Option<String>,
    /// The input in hex, with white space anywhere, if it is not.
    pub input_hex: Option<String>,
    /// The rows.
    #[serde(default)]
    pub rows: Vec<String>,
    /// The error at which decoding stops.
    pub error: Option<Expected>,
    /// The rejected records.
    #[serde(default)]
    pub rejects: Vec<ExpectedReject>,
}

fn lines() -> String {
    "lines".to_owned()
}

/// Options of a case.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "they are the fields of DecodeOptions and Limits")]
pub struct Options {
    pub on_error: Option<String>,
    pub duplicate_keys: Option<String>,
    pub unknown_keys: Option<String>,
    pub dialect: Option<String>,
    #[serde(default)]
    pub allow_nan: bool,
    #[serde(default)]
    pub trust: bool,
    pub depth_max: Option<usize>,
    pub record_bytes_max: Option<usize>,
}

/// An expected error.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "they are the fields of Mark")]
pub struct Expected {
    pub kind: String,
    pub offset: u64,
    #[serde(default = "one")]
    pub line: u64,
    #[serde(default)]
    pub record: u64,
    #[serde(default)]
    pub path: String,
}

fn one() -> u64 {
    1
}

/// An expected rejected record.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExpectedReject {
    /// The reason.
    pub error: Expected,
    /// The record's text.
    pub text: Option<String>,
    /// The record's text in hex, if it is not UTF-8.
    pub text_hex: Option<String>,
    /// Whether there is a row for it anyway.
    #[serde(default)]
    pub kept: bool,
}

/// The result of a run of the suite.
#[derive(Debug, Default)]
pub struct Summary {
    /// Number of cases.
    pub cases: usize,
    /// Number of runs: each case is run in several ways.
    pub runs: usize,
    /// Names of cases whose plan or options the engine refused.
    pub unsupported: Vec<String>,
    /// Failures, one line each.
    pub failures: Vec<String>,
}

/// Reads every case, file by file, sorted by name.
///
/// # Errors
/// A description of a file that cannot be read.
pub fn load() -> Result<Vec<(String, CaseFile)>, String> {
    let folder = testdata().join("json");
    let entries = std::fs::read_dir(&folder).map_err(|error| error.to_string())?;
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    paths.sort();
    paths.iter().map(|path| load_file(path)).collect()
}

fn load_file(path: &Path) -> Result<(String, CaseFile), String> {
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let text = std::fs::read_to_string(path).map_err(|error| format!("{name}: {error}"))?;
    let file = toml::from_str(&text).map_err(|error| format!("{name}: {error}"))?;
    Ok((name, file))
}

/// Runs an engine on every case.
///
/// # Errors
/// A description of a file or case that cannot be read.
pub fn run_suite(engine: &dyn Engine) -> Result<Summary, String> {
    run_some(engine, &mut Sample::of("cases", 1))
}

/// Runs an engine on a sample of the cases: of each file some that succeed and some of each error.
///
/// # Errors
/// A description of a file or case that cannot be read.
pub fn run_some(engine: &dyn Engine, sample: &mut Sample) -> Result<Summary, String> {
    let mut summary = Summary::default();
    for (file, cases) in load()? {
        for case in &cases.case {
            let name = format!("{file}/{}", case.name);
            let error = case.error.as_ref().map(|error| &error.kind);
            if !sample.takes(&[&format!("{file} {} {error:?}", case.framing)], &name) {
                continue;
            }
            summary.cases += 1;
            match run_case(engine, case, &mut summary.runs) {
                Ok(()) => {}
                Err(Failed::Unsupported) => summary.unsupported.push(name),
                Err(Failed::Wrong(what)) => summary.failures.push(format!("{name}: {what}")),
            }
        }
    }
    Ok(summary)
}

/// Why a case did not pass.
#[derive(Debug)]
pub enum Failed {
    /// The engine has no such type or option.
    Unsupported,
    /// The case is malformed, or the engine's result is wrong.
    Wrong(String),
}

impl Case {
    /// The plan of the case's schema.
    ///
    /// # Errors
    /// A description of the error in the schema.
    pub fn plan(&self) -> Result<Arc<Plan>, String> {
        let schema = Arc::new(parse_schema(&self.schema).map_err(|error| error.to_string())?);
        let plan = match self.columns.as_slice() {
            [] => Plan::new(schema),
            columns => Plan::with_columns(&schema, columns),
        };
        plan.map(Arc::new).map_err(|error| error.to_string())
    }

    /// The framing.
    ///
    /// # Errors
    /// For an unknown name.
    pub fn framing(&self) -> Result<Framing, String> {
        match self.framing.as_str() {
            "lines" => Ok(Framing::Lines),
            "concatenated" => Ok(Framing::Concatenated),
            "array" => Ok(Framing::Array),
            other => Err(format!("there is no framing {other}")),
        }
    }

    /// The bytes of the input.
    ///
    /// # Errors
    /// If there is none, or two.
    pub fn bytes(&self) -> Result<Vec<u8>, String> {
        match (&self.input, &self.input_hex) {
            (Some(text), None) => Ok(text.as_bytes().to_vec()),
            (None, Some(digits)) => unhex(digits),
            _ => Err("a case has one input".to_owned()),
        }
    }

    /// The options.
    ///
    /// # Errors
    /// For an unknown value.
    pub fn decode_options(&self) -> Result<DecodeOptions, String> {
        let mut options = DecodeOptions::default();
        options.on_error = match self.options.on_error.as_deref() {
            None | Some("fail") => OnError::Fail,
            Some("null") => OnError::Null,
            Some("skip") => OnError::Skip,
            Some(other) => return Err(format!("on_error is never {other}")),
        };
        options.duplicate_keys = match self.options.duplicate_keys.as_deref() {
            None | Some("last") => DuplicateKeys::Last,
            Some("error") => DuplicateKeys::Error,
            Some(other) => return Err(format!("duplicate_keys is never {other}")),
        };
        options.unknown_keys = match self.options.unknown_keys.as_deref() {
            None | Some("skip") => UnknownKeys::Skip,
            Some("error") => UnknownKeys::Error,
            Some(other) => return Err(format!("unknown_keys is never {other}")),
        };
        options.dialect = match self.options.dialect.as_deref() {
            None | Some("iso") => Dialect::Iso,
            Some("spark") => Dialect::Spark,
            Some(other) => return Err(format!("dialect is never {other}")),
        };
        options.allow_nan = self.options.allow_nan;
        options.trust = self.options.trust;
        if let Some(depth_max) = self.options.depth_max {
            options.limits = options.limits.with_depth_max(depth_max);
        }
        if let Some(record_bytes_max) = self.options.record_bytes_max {
            options.limits = options.limits.with_record_bytes_max(record_bytes_max);
        }
        Ok(options)
    }
}

pub(crate) fn unhex(digits: &str) -> Result<Vec<u8>, String> {
    let digits: Vec<char> = digits.chars().filter(|c| !c.is_whitespace()).collect();
    let pair = |pair: &[char]| u8::from_str_radix(&pair.iter().collect::<String>(), 16).ok();
    digits.chunks(2).map(pair).collect::<Option<_>>().ok_or_else(|| "not hex".to_owned())
}

/// Runs one case in all ways; counts them in `runs`.
///
/// # Errors
/// See [`Failed`].
pub fn run_case(engine: &dyn Engine, case: &Case, runs: &mut usize) -> Result<(), Failed> {
    let plan = case.plan().map_err(Failed::Wrong)?;
    let framing = case.framing().map_err(Failed::Wrong)?;
    let options = case.decode_options().map_err(Failed::Wrong)?;
    let bytes = case.bytes().map_err(Failed::Wrong)?;
    let mut inputs = Vec::new();
    for padding in PADDINGS {
        inputs.push((format!("{padding:?}"), Input::split(&[&bytes], framing, *padding)));
    }
    let mut later = Input::split(&[&bytes], framing, Padding::Byte(b'}'));
    (later.position.offset, later.position.line, later.position.record) = (1_000_000, 77, 42);
    if !bytes.starts_with(b"\xEF\xBB\xBF") {
        inputs.push(("later in the source".to_owned(), later));
    }
    if framing == Framing::Lines {
        for (cut, _) in bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n') {
            let (one, other) = bytes.split_at(cut + 1);
            let paddings = [Padding::None, Padding::Text("9\"]}")];
            for padding in paddings {
                let input = Input::split(&[one, other], framing, padding);
                inputs.push((format!("cut after byte {cut}, {padding:?}"), input));
            }
            // The second half, directly after the first in memory.
            let mut input = Input::split(&[one, other], framing, Padding::None);
            input.feeds[0] = Feed { text: one, padding: Padding::Byte(b'{') };
            inputs.push((format!("cut after byte {cut}"), input));
        }
    }
    for (way, input) in inputs {
        *runs += 1;
        match observe(engine, &plan, &options, &input) {
            Ok(outcome) => check(case, &bytes, &input, &outcome)
                .map_err(|what| Failed::Wrong(format!("{way}: {what}")))?,
            Err(Error::Config(_) | Error::Schema { .. }) => return Err(Failed::Unsupported),
            Err(error) => return Err(Failed::Wrong(error.to_string())),
        }
    }
    Ok(())
}

fn check(case: &Case, bytes: &[u8], input: &Input<'_>, found: &Outcome) -> Result<(), String> {
    if let Some(broken) = &found.broken {
        return Err(format!("broken: {broken}"));
    }
    let mark = |expected: &Expected| Mark {
        kind: expected.kind.clone(),
        offset: input.position.offset + expected.offset,
        line: input.position.line - 1 + expected.line,
        record: input.position.record + expected.record,
        path: expected.path.clone(),
    };
    let error = case.error.as_ref().map(mark);
    if found.error != error {
        return Err(format!("error {:?}, expected {error:?}", found.error));
    }
    if found.rows != case.rows {
        return Err(format!("rows {:#?}, expected {:#?}", found.rows, case.rows));
    }
    if found.error.is_some() {
        return Ok(());
    }
    let mut rejects = Vec::new();
    for reject in &case.rejects {
        let text = match (&reject.text, &reject.text_hex) {
            (Some(text), None) => text.as_bytes().to_vec(),
            (None, Some(digits)) => unhex(digits)?,
            _ => return Err("a reject has one text".to_owned()),
        };
        rejects.push(Rejected { mark: mark(&reject.error), text, kept: reject.kept });
    }
    if found.rejects != rejects {
        return Err(format!("rejects {:#?}, expected {rejects:#?}", found.rejects));
    }
    let left_out = rejects.iter().filter(|reject| !reject.kept).count();
    let records = (found.rows.len() + left_out) as u64;
    let lines = bytes.iter().filter(|&&byte| byte == b'\n').count() as u64;
    if (found.records, found.lines) != (records, lines) {
        let found = (found.records, found.lines);
        return Err(format!("records and lines {found:?}, expected {:?}", (records, lines)));
    }
    Ok(())
}
