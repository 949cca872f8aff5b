// SPDX-License-Identifier: Apache-2.0
//! arrow-json, the ecosystem's own decoder, as an engine: the reference for every result, and a
//! peer that needs no installation.

use std::num::NonZeroUsize;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_json::ReaderBuilder;
use arrow_json::reader::infer_json_schema;
use arrow_schema::SchemaRef;

use crate::engine::{InProcess, OTHER_FORMAT, Prepared, Sink, Source};

/// Rows in a batch: the default of DataFusion, which uses this decoder.
const BATCH_ROWS: usize = 8192;

/// arrow-json as this command was built.
#[derive(Debug, Clone, Copy, Default)]
pub struct ArrowJson;

impl InProcess for ArrowJson {
    fn name(&self) -> &'static str {
        "arrow-json"
    }

    fn version(&self) -> String {
        "arrow-json 59".to_owned()
    }

    fn prepare<'a>(
        &'a self,
        source: Source<'a>,
        threads: NonZeroUsize,
    ) -> Result<Box<dyn Prepared + 'a>, String> {
        let Source::Json { schema, text } = source else { return Err(OTHER_FORMAT.to_owned()) };
        Ok(Box::new(Parts { schema: schema.cloned(), text, parts: split(text, threads) }))
    }
}

struct Parts<'a> {
    /// If it is given.
    schema: Option<SchemaRef>,
    text: &'a [u8],
    parts: Vec<&'a [u8]>,
}

impl Prepared for Parts<'_> {
    fn run(&mut self, sink: Sink<'_>) -> Result<(), String> {
        let schema = &match &self.schema {
            Some(schema) => Arc::clone(schema),
            None => {
                let inferred = infer_json_schema(self.text, None);
                Arc::new(inferred.map_err(|error| error.to_string())?.0)
            }
        };
        if let [all] = self.parts[..] {
            return decode(schema, all, sink);
        }
        let batches = std::thread::scope(|scope| {
            let workers: Vec<_> =
                self.parts.iter().map(|part| scope.spawn(|| collect(schema, part))).collect();
            let joined = workers.into_iter().map(|worker| {
                worker.join().map_err(|_| "a decoding thread ended early".to_owned())?
            });
            joined.collect::<Result<Vec<_>, String>>()
        })?;
        batches.into_iter().flatten().try_for_each(sink)
    }
}

fn collect(schema: &SchemaRef, part: &[u8]) -> Result<Vec<RecordBatch>, String> {
    let mut batches = Vec::new();
    decode(schema, part, &mut |batch| {
        batches.push(batch);
        Ok(())
    })?;
    Ok(batches)
}

fn decode(schema: &SchemaRef, part: &[u8], sink: Sink<'_>) -> Result<(), String> {
    let text = |error: arrow_schema::ArrowError| error.to_string();
    let builder = ReaderBuilder::new(schema.clone()).with_batch_size(BATCH_ROWS);
    let mut decoder = builder.build_decoder().map_err(text)?;
    let mut rest = part;
    loop {
        let read = decoder.decode(rest).map_err(text)?;
        rest = rest.get(read..).unwrap_or_default();
        match decoder.flush().map_err(text)? {
            Some(batch) => sink(batch)?,
            None if rest.is_empty() => return Ok(()),
            None => {}
        }
    }
}

/// Parts of about equal size, split at line ends; one empty part if there is no input.
pub(crate) fn split(input: &[u8], parts: NonZeroUsize) -> Vec<&[u8]> {
    let mut result = Vec::new();
    let mut rest = input;
    for left in (1..=parts.get()).rev() {
        let middle = rest.len() / left;
        let end = match rest.get(middle..).and_then(|tail| tail.iter().position(|&b| b == b'\n')) {
            Some(line_feed) if left > 1 => middle + line_feed + 1,
            _ => rest.len(),
        };
        let (part, tail) = rest.split_at(end);
        if !part.is_empty() || result.is_empty() {
            result.push(part);
        }
        rest = tail;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::check;
    use crate::shapes;

    fn json<'a>(schema: &'a SchemaRef, text: &'a [u8]) -> Source<'a> {
        Source::Json { schema: Some(schema), text }
    }

    fn threads(count: usize) -> NonZeroUsize {
        NonZeroUsize::new(count).unwrap()
    }

    #[test]
    fn parts_are_whole_lines_and_nothing_is_lost() {
        let text = b"a\nbb\nccc\ndddd\neeeee\n";
        for count in 1..9 {
            let parts = split(text, threads(count));
            assert!(parts.len() <= count);
            assert_eq!(parts.concat(), text);
            assert!(parts.iter().all(|part| part.ends_with(b"\n")), "{parts:?}");
        }
        assert_eq!(split(b"no line feed", threads(2)), [b"no line feed"]);
        assert_eq!(split(b"", threads(3)), [b""]);
    }

    #[test]
    fn threads_do_not_change_the_result() {
        let schema = shapes::schema("logs").unwrap();
        let mut text = Vec::new();
        let workload = arrowsmith_workload::Workload::Logs;
        let rows = arrowsmith_workload::Generator::new(workload, 1, 1).fill(500_000, &mut text);
        let mut one = ArrowJson.prepare(json(&schema, &text), threads(1)).unwrap();
        let mut three = ArrowJson.prepare(json(&schema, &text), threads(3)).unwrap();
        let expected = check(one.as_mut()).unwrap();
        assert_eq!(expected.rows, rows);
        assert_eq!(check(three.as_mut()).unwrap().difference(&expected), None);
        assert!(expected.columns.contains_key("service.host.cpu"));
    }

    #[test]
    fn an_error_is_reported() {
        let schema = shapes::schema("battery").unwrap();
        let mut engine =
            ArrowJson.prepare(json(&schema, b"{\"voltage\":[-1]}\n"), threads(1)).unwrap();
        assert!(engine.run(&mut |_| Ok(())).is_err());
    }
}
