// SPDX-License-Identifier: Apache-2.0
//! Values one after another, with or without white space between them: the text is split after a
//! value.

use arrowsmith_core::Result;

use super::scan::{Resume, is_whole, last_end};
use super::{Framer, Step, skip_space};

impl Framer {
    pub(super) fn values(&mut self, available: &[u8], eof: bool, target: usize) -> Result<Step> {
        let goal = self.lead.saturating_add(target);
        let first = skip_space(available, self.lead);
        let most = first.saturating_add(self.most()).saturating_add(1);
        // The end of the last complete value.
        let mut end = None;
        if self.resume == Resume::at(self.lead) {
            end = last_end(&available[..goal.min(available.len())], self.lead);
            self.resume = Resume::at(end.unwrap_or(self.lead));
        }
        // The quick search finds neither values that are not containers nor long ones.
        while end.is_none_or(|end| end < goal) {
            self.resume.skip_space(available);
            let start = self.resume.record;
            if start >= available.len() {
                break;
            }
            // At least one value has to be found, up to the maximum size.
            let limit = if end.is_some() { goal } else { most };
            let Some(found) = self.resume.value_end(available, limit, eof) else { break };
            self.resume = Resume::at(found);
            if is_whole(&available[start..found]) {
                end = Some(found);
            }
        }
        if let Some(end) = end {
            return Ok(self.cut(available, end, end));
        }
        if first >= available.len() {
            return Ok(if eof { Step::Done } else { self.blank(available) });
        }
        if available.len() >= most {
            return Err(self.too_long(available, first).into());
        }
        // The engine reports what is missing at the end of the last value.
        Ok(if eof { self.cut(available, available.len(), available.len()) } else { Step::NeedMore })
    }
}
