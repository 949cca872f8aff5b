// SPDX-License-Identifier: Apache-2.0
//! TEMP
use arrowsmith_core::{Framing, Limits, Result};
use std::sync::Arc;

pub(crate) struct Cut {
    pub(crate) start: usize,
    pub(crate) len: usize,
    pub(crate) consumed: usize,
    pub(crate) framing: Framing,
    pub(crate) lines_before: u64,
    pub(crate) lines_after: u64,
}
pub(crate) enum Step {
    Cut(Cut),
    NeedMore,
    Done,
}
pub(crate) struct Frames;
impl Frames {
    pub(crate) fn new(_f: Option<Framing>, _l: &Limits, _n: Option<Arc<str>>) -> Self {
        Self
    }
    pub(crate) fn next(
        &mut self,
        available: &[u8],
        eof: bool,
        target: usize,
        _offset: u64,
    ) -> Result<Step> {
        if available.is_empty() {
            return Ok(if eof { Step::Done } else { Step::NeedMore });
        }
        let end = match memchr::memchr(b'\n', &available[target.min(available.len()) - 1..]) {
            Some(i) => target + i,
            None if eof => available.len(),
            None => match memchr::memrchr(b'\n', available) {
                Some(i) => i + 1,
                None => return Ok(Step::NeedMore),
            },
        };
        Ok(Step::Cut(Cut {
            start: 0,
            len: end,
            consumed: end,
            framing: Framing::Lines,
            lines_before: 0,
            lines_after: 0,
        }))
    }
}
