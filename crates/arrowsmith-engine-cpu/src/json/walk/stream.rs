// SPDX-License-Identifier: Apache-2.0
//! Records that are nothing but one list of integers, which a kernel reads without stopping between
//! records.

use arrowsmith_core::Framing;
use arrowsmith_plan::IntWidth;
use arrowsmith_simd::isa::Isa;
use arrowsmith_simd::stream::ListStream;

use super::{FAIL, Walker};
use crate::json::build::Values;
use crate::json::predict::Follows;
use crate::json::program::{Code, Id, ROOT};

impl<I: Isa> Walker<'_, I> {
    pub(super) fn may_stream(&self, framing: Framing) -> bool {
        let limits = &self.options.limits;
        let shallow = |(list, _): (Id, Id)| self.program.steps[list].depth <= limits.depth_max;
        framing == Framing::Lines
            && self.list.is_some_and(shallow)
            && self.input.end() <= limits.record_bytes_max
    }

    /// The literal between records, once it is known, and the length of its head.
    #[cold]
    pub(super) fn learn_stream(&mut self) -> Option<(ListStream, usize)> {
        let (_, item) = self.list?;
        let [first, _, last] = &self.predictors.first()?.slots[..] else { return None };
        if !matches!(first.follows, Follows::Field(_)) || last.follows != Follows::End {
            return None;
        }
        let (head, tail) = (first.literal.text(), last.literal.text());
        let literal = [b"]", tail, b"\n", head, b"["].concat();
        let signed = self.program.steps[item].code == Code::Int(IntWidth::I64);
        Some((ListStream::new(&literal, signed)?, head.len()))
    }

    /// Reads as many records as a stream kernel can; returns their number, the position of the next
    /// one, and the position from which to try again.
    #[inline(always)]
    pub(super) fn stream(
        &mut self,
        stream: &ListStream,
        head: usize,
        pos: usize,
    ) -> (usize, usize, usize) {
        let bracket = pos + head;
        let opening = self.predictors[0].slots.first();
        let known = opening.is_some_and(|slot| {
            slot.literal.len == head && slot.is_at(self.isa, self.input.window(pos))
        });
        let Some((list, item)) = self.list else { return (0, pos, FAIL) };
        if !known || self.input.at(bracket) != b'[' {
            return (0, pos, pos + 1);
        }
        let columns = &mut self.columns.columns;
        let [list, item] = match columns.get_disjoint_mut([list, item]) {
            Ok(pair) => pair,
            Err(_) => return (0, pos, FAIL),
        };
        let (Values::Ends(ends), Values::W64(values)) = (&mut list.values, &mut item.values) else {
            return (0, pos, FAIL);
        };
        let done = self.isa.list_stream(self.input, stream, bracket + 1, values, ends);
        *self.rows += done.records;
        if let Values::Count(rows) = &mut self.columns.columns[ROOT].values {
            *rows += done.records;
        }
        (done.records, done.pos - 1 - head, done.tried)
    }
}
