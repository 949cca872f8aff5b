// SPDX-License-Identifier: Apache-2.0
//! Decodes chunks by a circuit: what it takes becomes a batch; a record that it does not take goes
//! to the host's engine, and the circuit continues after it.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use arrowsmith_core::{
    Chunk, DecodeOptions, Decoder, Error, Framing, Position, Report, Result, UnknownKeys,
};
use arrowsmith_plan::Plan;
use arrowsmith_rtlgen::json::{Design, Kind, WINDOW_BYTES};

use super::assemble::{Assemble, broken};
use super::process::{Limits, Session};
use super::{Counts, Statistics};

/// Approximate bytes of text in one run: buffers are sized for it. A parser may get more than its
/// share.
const RUN_BYTES: usize = 4 << 20;
const PARSER_BYTES: usize = 1 << 20;

/// The deepest nesting that the circuit's skipper supports.
const SKIP_DEPTH: usize = 63;

pub(crate) struct RtlDecoder {
    schema: SchemaRef,
    design: Design,
    session: Session,
    host: Box<dyn Decoder>,
    limits: Limits,
    statistics: Arc<Statistics>,
    done: Vec<RecordBatch>,
    rows: usize,
}

/// A text in the circuit's memory: complete lines, and their offsets in the source.
struct Lines<'a> {
    text: &'a [u8],
    position: Position,
}

impl RtlDecoder {
    pub(crate) fn new(
        plan: &Plan,
        design: Design,
        session: Session,
        host: Box<dyn Decoder>,
        options: &DecodeOptions,
        statistics: Arc<Statistics>,
    ) -> Result<Self> {
        let parents = |mut node: usize| {
            let mut depth = 0;
            while node != 0 {
                node = design.layout.rows[node].parent;
                depth += 1;
            }
            depth
        };
        let rows = design.layout.rows.iter().enumerate();
        let containers =
            rows.filter(|(_, row)| matches!(row.kind, Kind::Struct | Kind::List | Kind::Fixed(_)));
        let deepest = containers.map(|(node, _)| parents(node) + 1).max().unwrap_or(1);
        let Some(left) = options.limits.depth_max.checked_sub(deepest) else {
            return Err(Error::Config(format!("depth_max: the schema alone is {deepest} deep")));
        };
        let limits = Limits {
            refuse_unknown: options.unknown_keys == UnknownKeys::Error,
            record_bytes_max: u32::try_from(options.limits.record_bytes_max).unwrap_or(u32::MAX),
            depth_max: u32::try_from(left.min(SKIP_DEPTH)).unwrap_or(0),
        };
        let schema = Arc::clone(plan.schema());
        Ok(Self { schema, design, session, host, limits, statistics, done: Vec::new(), rows: 0 })
    }

    fn keep(&mut self, batch: RecordBatch) {
        self.rows += batch.num_rows();
        self.done.push(batch);
    }

    /// Decodes lines, the last of which may lack its line feed.
    fn lines(&mut self, lines: &Lines<'_>, report: &mut Report) -> Result<()> {
        let text = lines.text;
        let end: &[u8] = if text.ends_with(b"\n") { b"" } else { b"\n" };
        let pieces = [text, end];
        let all = u32::try_from(text.len() + end.len())
            .map_err(|_| Error::Config("a record of more than 4 GiB".to_owned()))?;
        let mut fresh = Some(&pieces[..]);
        let mut parts = split(text, 0..all, self.session.parsers);
        // Parts in order; the output of the parsers after a fault is valid too.
        while parts.iter().any(|part| !part.is_empty()) {
            let capacities = self.capacities(&parts);
            let run = self.session.run(fresh.take(), self.limits, &parts, &capacities);
            let outcome = run.map_err(|error| broken(&format!("does not run: {error}")))?;
            match outcome.error {
                0 => {}
                1 => return Err(broken("was refused an access by memory")),
                _ => return Err(broken("had too small a buffer")),
            }
            self.statistics.add(Counts {
                cycles: outcome.cycles,
                starved: outcome.starved,
                blocked: outcome.blocked,
                write_bursts: outcome.write_bursts,
                written: outcome.buffers.iter().map(|buffer| buffer.len() as u64).sum(),
                runs: 1,
                ..Counts::default()
            });
            let per_parser = self.design.layout.counts.iter().sum::<usize>();
            let mut again = None;
            for (parser, part) in parts.iter().enumerate() {
                let answer = outcome.answers[parser];
                let rows = answer.rows as usize;
                if rows > 0 {
                    let buffers = &outcome.buffers[parser * per_parser..][..per_parser];
                    let made = Assemble::new(&self.design.layout, buffers);
                    let batch = made.batch(&self.schema, rows)?;
                    self.keep(batch);
                    report.records += u64::from(answer.rows);
                }
                let taken = if answer.fault == 0 {
                    part.end
                } else {
                    // The record that it did not take.
                    let line = skip_lines(text, part.start as usize..part.end as usize, rows);
                    self.decode_line_on_host(lines, line.clone(), report)?;
                    u32::try_from(line.end + 1).unwrap_or(u32::MAX).min(all)
                };
                self.statistics.add(Counts {
                    bytes: u64::from(taken - part.start),
                    rows: u64::from(answer.rows),
                    ..Counts::default()
                });
                if answer.fault != 0 && taken < all {
                    // The text after it is split again; later parts are repeated, so that rows stay
                    // in order.
                    again = Some(taken..all);
                    break;
                }
            }
            parts = match again {
                Some(rest) => split(text, rest, self.session.parsers),
                None => Vec::new(),
            };
        }
        Ok(())
    }

    /// Reads a record with the host's engine.
    fn decode_line_on_host(
        &mut self,
        lines: &Lines<'_>,
        line: Range<usize>,
        report: &mut Report,
    ) -> Result<()> {
        self.statistics.add(Counts { handed_back: 1, ..Counts::default() });
        let text = lines.text;
        let position = Position {
            source: lines.position.source.clone(),
            record: lines.position.record + report.records,
            line: lines.position.line + newlines(&text[..line.start]),
            offset: lines.position.offset + line.start as u64,
        };
        let end = (line.end + 1).min(text.len());
        let bytes = &text[line.start..end];
        let chunk = Chunk { bytes, len: bytes.len(), framing: Framing::Lines, position };
        self.decode_on_host(&chunk, report)
    }

    fn decode_on_host(&mut self, chunk: &Chunk<'_>, report: &mut Report) -> Result<()> {
        let decoded = self.host.decode(chunk);
        if let Some(batch) = self.host.flush()? {
            self.keep(batch);
        }
        let decoded = decoded?;
        report.records += decoded.records;
        report.rejects.extend(decoded.rejects);
        Ok(())
    }

    /// Reads a complete chunk with the host's engine: records that are not one per line, which the
    /// circuit cannot separate.
    fn decode_chunk_on_host(&mut self, chunk: &Chunk<'_>, report: &mut Report) -> Result<()> {
        let rows = self.rows;
        let decoded = self.decode_on_host(chunk, report);
        // A record that ends the call leaves no row.
        let read = report.records.max((self.rows - rows) as u64 + u64::from(decoded.is_err()));
        self.statistics.add(Counts { handed_back: read, ..Counts::default() });
        decoded
    }

    /// The capacity of each buffer for its part: the most values that this many bytes can have.
    fn capacities(&self, parts: &[Range<u32>]) -> Vec<u32> {
        let layout = &self.design.layout;
        let beat = self.design.shape.beat_bytes() as u64;
        // Bounded: by the circuit.
        let mut out = Vec::with_capacity(self.session.buffers);
        for part in parts {
            let more = WINDOW_BYTES + self.design.shape.overrun_bytes();
            let bytes = u64::from(part.end - part.start) + more as u64;
            // A record has two bytes at least, and an item of a list two.
            let elements = |node: usize| {
                let mut factor = 1;
                let mut at = node;
                while at != 0 {
                    at = layout.rows[at].parent;
                    if let Kind::Fixed(size) = layout.rows[at].kind {
                        factor *= u64::from(size.max(1));
                    }
                }
                (bytes / 2 + 2) * factor
            };
            // Bounded: by the columns of the circuit.
            let mut sizes = vec![0_u64; layout.counts.iter().sum()];
            let mut before = [0; 5];
            for class in 1..5 {
                before[class] = before[class - 1] + layout.counts[class - 1];
            }
            for (node, row) in layout.rows.iter().enumerate() {
                let count = elements(node);
                if let Some(buffer) = row.data {
                    let element = row.kind.element_bytes();
                    sizes[before[0] + buffer] =
                        element.map_or(bytes, |size| count * u64::from(size));
                }
                if let Some(buffer) = row.offsets {
                    sizes[before[1] + buffer] = (count + 1) * 4;
                }
                if let Some(buffer) = row.validity {
                    let class = if arrowsmith_rtlgen::json::is_outer(row.kind) { 3 } else { 2 };
                    sizes[before[class] + buffer] = count / 8 + 1;
                }
                if let Some(buffer) = row.flags {
                    sizes[before[4] + buffer] = count / 8 + 1;
                }
            }
            let rounded = sizes.into_iter().map(|size| (size.div_ceil(beat) + 1) * beat);
            out.extend(rounded.map(|size| u32::try_from(size).unwrap_or(u32::MAX / 4096 * 4096)));
        }
        // A circuit without columns still has a buffer, and waits for its size.
        // Bounded: by the circuit.
        out.resize(self.session.buffers, 4096);
        out
    }
}

impl Decoder for RtlDecoder {
    fn decode(&mut self, chunk: &Chunk<'_>) -> Result<Report> {
        let data = chunk.data();
        let mut report = Report { lines: newlines(data), ..Report::default() };
        if chunk.framing != Framing::Lines {
            return self.decode_chunk_on_host(chunk, &mut report).map(|()| report);
        }
        let mark = b"\xEF\xBB\xBF";
        let mut at =
            if chunk.position.offset == 0 && data.starts_with(mark) { mark.len() } else { 0 };
        let first = at;
        let mut line = chunk.position.line;
        while at < data.len() {
            let run = RUN_BYTES.max(PARSER_BYTES * self.session.parsers);
            let most = (at + run).min(data.len());
            let end = if most == data.len() {
                most
            } else {
                // At the end of a line, or of a longer one if there is none.
                let before = memchr::memrchr(b'\n', &data[at..most]).map(|end| at + end + 1);
                let after = || memchr::memchr(b'\n', &data[most..]).map(|end| most + end + 1);
                before.or_else(after).unwrap_or(data.len())
            };
            let lines = Lines {
                text: &data[at..end],
                position: Position {
                    source: chunk.position.source.clone(),
                    record: chunk.position.record,
                    line,
                    offset: chunk.position.offset + at as u64,
                },
            };
            debug_assert!(at >= first);
            self.lines(&lines, &mut report)?;
            line += newlines(&data[at..end]);
            at = end;
        }
        Ok(report)
    }

    fn rows(&self) -> usize {
        self.rows
    }

    fn flush(&mut self) -> Result<Option<RecordBatch>> {
        self.rows = 0;
        let done = std::mem::take(&mut self.done);
        Ok(match done.as_slice() {
            [] => None,
            [only] => Some(only.clone()),
            several => Some(arrow_select::concat::concat_batches(&self.schema, several)?),
        })
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

/// Splits a range of lines for several parsers, at ends of lines; the last parts may be empty.
fn split(text: &[u8], range: Range<u32>, parts: usize) -> Vec<Range<u32>> {
    // Bounded: by the parsers of the circuit.
    let mut out = Vec::with_capacity(parts);
    let mut at = range.start;
    for part in 0..parts {
        let left = u32::try_from(parts - part).unwrap_or(1);
        let share = at + (range.end - at) / left;
        let rest = text.get(share as usize..).unwrap_or_default();
        let end = match memchr::memchr(b'\n', rest) {
            Some(end) if left > 1 => share + u32::try_from(end + 1).unwrap_or(0),
            _ => range.end,
        };
        out.push(at..end.min(range.end));
        at = end.min(range.end);
    }
    out
}

/// The line of a range after this many non-blank ones: from its first byte to its line feed.
fn skip_lines(text: &[u8], range: Range<usize>, lines: usize) -> Range<usize> {
    let mut left = lines;
    let mut at = range.start;
    loop {
        let rest = text.get(at..).unwrap_or_default();
        let end = memchr::memchr(b'\n', rest).map_or(text.len(), |end| at + end);
        let blank = text.get(at..end).is_none_or(|line| line.iter().all(|b| b" \t\r".contains(b)));
        if !blank && left == 0 || end >= text.len() {
            return at.min(text.len())..end;
        }
        left -= usize::from(!blank);
        at = end + 1;
    }
}

fn newlines(text: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', text).count() as u64
}
