// SPDX-License-Identifier: Apache-2.0
//! Makes the text of a workload: from the generator, or from the records of a public file; with a
//! schema that changes on the way, if requested.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef};
use arrowsmith_workload::{Generator, Workload};

use crate::definition::{CorpusDefinition, Drift, TextDefinition};
use crate::{BenchError, corpus, shapes};

/// A workload, ready to be converted.
#[derive(Debug)]
pub(crate) struct Text {
    pub(crate) workload: String,
    pub(crate) shape: String,
    /// Of all records.
    pub(crate) schema: SchemaRef,
    /// Whether engines have to infer it.
    pub(crate) is_inferred: bool,
    /// One record per line, each with its line feed.
    pub(crate) text: Vec<u8>,
}

impl Text {
    /// Makes the input; `Ok(None)` if its public file is missing.
    pub(crate) fn make(
        definition: &TextDefinition,
        seed: u64,
        size_bytes: u64,
        corpora: Option<&Path>,
    ) -> Result<Option<Self>, BenchError> {
        let bad =
            |message: String| BenchError::Definition(format!("{}: {message}", definition.name));
        let mut schema = shapes::schema(&definition.shape)
            .ok_or_else(|| bad(format!("no shape is called {:?}", definition.shape)))?;
        let target = usize::try_from(size_bytes)
            .map_err(|_| bad(format!("{size_bytes} bytes do not fit in memory")))?;

        let mut text = if let Some(corpus) = &definition.corpus {
            match corpora.map(|folder| folder.join(&corpus.file)).filter(|file| file.is_file()) {
                Some(file) => repeat(&file, corpus, target)?,
                None => return Ok(None),
            }
        } else {
            let name = definition.generator.as_deref().unwrap_or_default();
            let workload: Workload = name.parse().map_err(|error| bad(format!("{error}")))?;
            let mut text = Vec::with_capacity(target.saturating_add(64 * 1024));
            let found =
                Generator::new(workload, seed, definition.values_max).fill(target, &mut text);
            match definition.records.get(&size_bytes.to_string()) {
                Some(&expected) if expected != found => {
                    let workload = definition.name.clone();
                    return Err(BenchError::WrongInput { workload, expected, found });
                }
                _ => text,
            }
        };
        if let Some(drift) = definition.drift {
            (schema, text) = drifted(&schema, &text, drift);
        }
        let (workload, shape) = (definition.name.clone(), definition.shape.clone());
        let is_inferred = definition.drift.is_some();
        Ok(Some(Self { workload, shape, schema, is_inferred, text }))
    }
}

/// Records from one new key to the next.
const DRIFT_RECORDS: usize = 10_000;

/// The lines with a schema that changes, and the schema that they have then.
fn drifted(schema: &SchemaRef, lines: &[u8], drift: Drift) -> (SchemaRef, Vec<u8>) {
    let middle = lines.split_inclusive(|byte| *byte == b'\n').count() / 2;
    let mut fields: Vec<FieldRef> = schema.fields().iter().cloned().collect();
    let mut text = Vec::with_capacity(lines.len() + lines.len() / 1024 + 1024);
    for (number, line) in lines.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let has_new_key = match drift {
            Drift::None => false,
            Drift::Key | Drift::Type => number == middle,
            Drift::Keys => number % DRIFT_RECORDS == DRIFT_RECORDS - 1,
        };
        match line.strip_suffix(b"}\n") {
            Some(record) if has_new_key && drift == Drift::Type => {
                let place = |wanted| record.iter().position(|byte| *byte == wanted);
                let (start, end) = (place(b':').map_or(0, |colon| colon + 1), place(b','));
                text.extend_from_slice(&record[..start]);
                text.extend_from_slice(b"0.5");
                text.extend_from_slice(&line[end.unwrap_or(record.len())..]);
                let first = fields[0].as_ref().clone().with_data_type(DataType::Float64);
                fields[0] = Arc::new(first);
            }
            Some(record) if has_new_key => {
                let key = format!("new_{}", fields.len() - schema.fields().len());
                text.extend_from_slice(record);
                text.extend_from_slice(format!(",\"{key}\":{number}}}\n").as_bytes());
                fields.push(Arc::new(Field::new(key, DataType::Int64, true)));
            }
            _ => text.extend_from_slice(line),
        }
    }
    (Arc::new(Schema::new(fields)), text)
}

/// The records of a file, repeated until there are `target` bytes.
fn repeat(file: &PathBuf, corpus: &CorpusDefinition, target: usize) -> Result<Vec<u8>, BenchError> {
    let minified = corpus::minify(&std::fs::read(file).map_err(BenchError::io(file))?);
    let records = corpus::elements(&minified, &corpus.array);
    if records.is_empty() {
        let message = format!("{} has no array {:?}", file.display(), corpus.array);
        return Err(BenchError::Definition(message));
    }
    let mut text = Vec::with_capacity(target.saturating_add(1 << 20));
    for record in records.iter().cycle() {
        if text.len() >= target {
            break;
        }
        text.extend_from_slice(corpus.prefix.as_bytes());
        text.extend_from_slice(record);
        text.extend_from_slice(corpus.suffix.as_bytes());
        text.push(b'\n');
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::Definition;

    #[test]
    fn generated_inputs_have_the_records_that_the_definition_states() {
        let definition = Definition::json().unwrap();
        for workload in definition.workloads.iter().filter(|w| w.generator.is_some()) {
            assert!(workload.records.contains_key("1048576"), "{}", workload.name);
            let input = Text::make(workload, definition.seed, 1 << 20, None).unwrap().unwrap();
            assert!(input.text.len() >= 1 << 20);
        }
    }

    #[test]
    fn an_input_of_another_length_is_refused() {
        let mut workload = Definition::json().unwrap().workloads.remove(0);
        workload.records = [("1000".to_owned(), 3)].into();
        let error = Text::make(&workload, 42, 1000, None).unwrap_err().to_string();
        assert!(error.ends_with("records, but its definition says 3"), "{error}");
        assert!(Text::make(&workload, 42, 1001, None).is_ok());
    }

    #[test]
    fn a_missing_corpus_is_no_error() {
        let definition = Definition::json().unwrap();
        let picked = definition.select(&["real-twitter".into()]).unwrap().0;
        assert!(Text::make(&picked[0], 1, 100, None).unwrap().is_none());
        assert!(Text::make(&picked[0], 1, 100, Some(Path::new("/nowhere"))).unwrap().is_none());
    }

    #[test]
    fn records_drift_where_they_are_asked_to() {
        let schema = Arc::new(Schema::new(vec![Field::new("a", DataType::Int64, true)]));
        let lines = b"{\"a\":1}\n".repeat(20_000);
        let made = |drift| {
            let (schema, text) = drifted(&schema, &lines, drift);
            let text = String::from_utf8(text).unwrap();
            let changed = text.lines().enumerate().filter(|(_, line)| *line != "{\"a\":1}");
            let changed: Vec<_> =
                changed.map(|(number, line)| format!("{number} {line}")).collect();
            assert_eq!(text.lines().count(), 20_000);
            let fields = schema.fields().iter().map(|f| format!("{} {}", f.name(), f.data_type()));
            (fields.collect::<Vec<_>>().join(", "), changed.join(" "))
        };
        assert_eq!(made(Drift::None), ("a Int64".into(), String::new()));
        let key = "10000 {\"a\":1,\"new_0\":10000}";
        assert_eq!(made(Drift::Key), ("a Int64, new_0 Int64".into(), key.into()));
        assert_eq!(made(Drift::Type), ("a Float64".into(), "10000 {\"a\":0.5}".into()));
        let keys = "9999 {\"a\":1,\"new_0\":9999} 19999 {\"a\":1,\"new_1\":19999}";
        assert_eq!(made(Drift::Keys), ("a Int64, new_0 Int64, new_1 Int64".into(), keys.into()));
    }

    #[test]
    fn records_of_a_file_are_repeated() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.json");
        std::fs::write(&file, r#"{"rows": [[1, 2], [3]]}"#).unwrap();
        let corpus = CorpusDefinition {
            file: "a.json".into(),
            array: "rows".into(),
            prefix: "{\"r\":".into(),
            suffix: "}".into(),
        };
        let text = repeat(&file, &corpus, 30).unwrap();
        assert_eq!(text, b"{\"r\":[1,2]}\n{\"r\":[3]}\n{\"r\":[1,2]}\n");
        let none = CorpusDefinition { array: "cols".into(), ..corpus };
        assert!(repeat(&file, &none, 30).is_err());
    }
}
