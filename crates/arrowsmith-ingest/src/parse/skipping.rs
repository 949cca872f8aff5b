// SPDX-License-Identifier: Apache-2.0
//! A decoder that skips bad records, made of one that can only stop at them.
//!
//! For the reference engine, which is the baseline and not made for bad data: after a bad record it
//! goes on line by line, and with more lines at a time as long as they are good.

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use arrowsmith_core::{
    Chunk, DataError, Decoder, Error, Framing, Position, Reject, Report, Result,
};

/// Skips the records at which the inner decoder stops.
pub(crate) struct Skipping(pub(crate) Box<dyn Decoder>);

impl Decoder for Skipping {
    fn decode(&mut self, chunk: &Chunk<'_>) -> Result<Report> {
        let text = chunk.data();
        let mut report = Report::default();
        let mut position = chunk.position.clone();
        let mut at = 0;
        // Lines that are tried at once.
        let mut lines = usize::MAX;
        while at < text.len() {
            let end = end_of_lines(text, at, lines);
            let before = self.0.rows();
            let error = match self.0.decode(&part(chunk, at, end, &position)) {
                Ok(part) => {
                    position.record += part.records;
                    report.records += part.records;
                    advance(&mut position, &text[at..end]);
                    at = end;
                    lines = lines.saturating_mul(2);
                    continue;
                }
                Err(Error::Data(error)) => error,
                Err(error) => return Err(error),
            };
            let kept = (self.0.rows() - before) as u64;
            let one = end_of_lines(text, at, 1) == end;
            if kept == 0 && !one {
                // The place of such an error may be anywhere.
                lines = 1;
                continue;
            }
            // The records before the bad one are in the batch; its line is skipped.
            let offset =
                usize::try_from(error.position.offset.saturating_sub(chunk.position.offset));
            let bad = if one { at } else { offset.unwrap_or(at).clamp(at, end - 1) };
            let bad_end = end_of_lines(text, bad, 1);
            position.record += kept;
            advance(&mut position, &text[at..bad]);
            report.rejects.push(reject(*error, &position, &text[bad..bad_end]));
            report.records += kept + 1;
            position.record += 1;
            advance(&mut position, &text[bad..bad_end]);
            at = bad_end;
            lines = 1;
        }
        report.lines = position.line - chunk.position.line;
        Ok(report)
    }

    fn rows(&self) -> usize {
        self.0.rows()
    }

    fn flush(&mut self) -> Result<Option<RecordBatch>> {
        self.0.flush()
    }

    fn schema(&self) -> SchemaRef {
        self.0.schema()
    }
}

fn part<'a>(chunk: &Chunk<'a>, from: usize, to: usize, position: &Position) -> Chunk<'a> {
    Chunk {
        bytes: chunk.bytes.get(from..).unwrap_or_default(),
        len: to - from,
        framing: Framing::Lines,
        position: position.clone(),
    }
}

/// The end of some lines from `from` on, or that of the text.
fn end_of_lines(text: &[u8], from: usize, lines: usize) -> usize {
    if lines == usize::MAX {
        return text.len();
    }
    let rest = text.get(from..).unwrap_or_default();
    memchr::memchr_iter(b'\n', rest).nth(lines - 1).map_or(text.len(), |end| from + end + 1)
}

fn advance(position: &mut Position, text: &[u8]) {
    position.offset += text.len() as u64;
    position.line += memchr::memchr_iter(b'\n', text).count() as u64;
}

fn reject(mut error: DataError, position: &Position, line: &[u8]) -> Reject {
    error.position = position.clone();
    Reject { error, record: line.trim_ascii_end().to_vec(), kept_as_null: false }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::cast::AsArray;
    use arrow_array::types::Int64Type;
    use arrowsmith::Engine;
    use arrowsmith_core::DecodeOptions;
    use arrowsmith_plan::Plan;

    use super::*;

    #[test]
    fn bad_lines_are_left_out_with_their_places_wherever_they_are() {
        let schema = arrowsmith_plan::load::load_schema("n: int64").unwrap();
        let plan = Arc::new(Plan::new(schema.into()).unwrap());
        let engine = arrowsmith::engine("reference").unwrap();
        let deep = "[".repeat(500);
        for bad in [&[][..], &[0], &[6], &[2, 3], &[0, 1, 2, 3, 4, 5, 6]] {
            for nonsense in ["{\"n\":\"x\"}", "nonsense", "{", "}", &deep] {
                let decoder = engine.decoder(&plan, &DecodeOptions::default()).unwrap();
                let mut decoder = Skipping(decoder);
                let mut text = String::new();
                let mut places = Vec::new();
                for line in 0..7 {
                    if bad.contains(&line) {
                        places.push((line, text.len() as u64));
                        text.push_str(nonsense);
                    } else {
                        text.push_str(&format!("{{\"n\":{line}}}"));
                    }
                    text.push('\n');
                }
                let chunk = Chunk::new(text.as_bytes(), Framing::Lines);
                let report = decoder.decode(&chunk).unwrap();
                assert_eq!((report.records, report.lines), (7, 7));
                let found: Vec<_> = report
                    .rejects
                    .iter()
                    .map(|reject| {
                        assert_eq!(reject.record, nonsense.as_bytes());
                        let place = &reject.error.position;
                        assert_eq!(place.line, place.record + 1);
                        (place.record, place.offset)
                    })
                    .collect();
                assert_eq!(found, places, "{nonsense}");
                let values: Vec<i64> = match decoder.flush().unwrap() {
                    Some(batch) => batch.column(0).as_primitive::<Int64Type>().values().to_vec(),
                    None => Vec::new(),
                };
                let good: Vec<i64> = (0..7).filter(|n| !bad.contains(&(*n as u64))).collect();
                assert_eq!(values, good, "{nonsense}");
            }
        }
    }
}
