// SPDX-License-Identifier: Apache-2.0
//! One record per line: the text is split at line ends, and almost none of it is read.

use arrowsmith_core::{Reject, Result};
use memchr::{memchr, memrchr};

use super::{Framer, SLACK_BYTES, Step, newlines, skip_space};

impl Framer {
    pub(super) fn lines(&mut self, available: &[u8], eof: bool, target: usize) -> Result<Step> {
        if self.overlong.is_some() {
            return Ok(self.skip(available, 0, eof));
        }
        if available.len() <= self.lead {
            return Ok(if eof { Step::Done } else { Step::NeedMore });
        }
        let goal = self.lead.saturating_add(target.max(1)).min(available.len());
        if eof && goal == available.len() {
            return Ok(self.cut(available, goal, goal));
        }
        // There is no line end before `resume.at`.
        let from = self.resume.at.clamp(self.lead, goal);
        if let Some(found) = memrchr(b'\n', &available[from..goal]) {
            let end = from + found + 1;
            return Ok(self.cut(available, end, end));
        }
        let from = self.resume.at.max(goal).min(available.len());
        let start = skip_space(available, self.lead);
        let most = start.saturating_add(self.most()).saturating_add(1);
        let looked = &available[..most.clamp(from, available.len())];
        if let Some(found) = memchr(b'\n', &looked[from..]) {
            let end = from + found + 1;
            return Ok(self.cut(available, end, end));
        }
        self.resume.at = looked.len();
        if start >= available.len() {
            return Ok(if eof { self.cut_blank(available) } else { self.blank(available) });
        }
        if looked.len() < most {
            let all = available.len();
            return Ok(if eof { self.cut(available, all, all) } else { Step::NeedMore });
        }
        if !self.skip_overlong {
            return Err(self.too_long(available, start).into());
        }
        if start > self.lead {
            // So that the line starts at the start of the text.
            return Ok(self.cut_blank(&available[..start]));
        }
        let error = self.too_long(available, start);
        let record = available[start..looked.len().min(start + SLACK_BYTES)].to_vec();
        self.overlong = Some(Box::new(Reject { error, record, kept_as_null: false }));
        Ok(self.skip(available, looked.len(), eof))
    }

    /// Continues in an overlong line, which has no end before `from`.
    fn skip(&mut self, available: &[u8], from: usize, eof: bool) -> Step {
        let end = memchr(b'\n', &available[from..]).map(|found| from + found + 1);
        let consumed = end.unwrap_or(available.len());
        if consumed == 0 && !eof {
            return Step::NeedMore;
        }
        let ended = end.is_some() || eof;
        let reject = if ended { self.overlong.take() } else { None };
        Step::Skipped { consumed, lines: newlines(&available[..consumed]), reject }
    }
}
