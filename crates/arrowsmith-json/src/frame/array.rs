// SPDX-License-Identifier: Apache-2.0
//! The elements of one array: the text is split at commas between them, and ends at the bracket.
//!
//! Only a comma between two elements is removed. Superfluous commas are passed on, so that the
//! engine reports them at the same position wherever the text was split.

use arrowsmith_core::{ErrorKind, Result};

use super::scan::{Resume, is_whole, last_end};
use super::{Framer, Place, Step, skip_space};

impl Framer {
    pub(super) fn elements(&mut self, available: &[u8], eof: bool, target: usize) -> Result<Step> {
        let goal = self.lead.saturating_add(target);
        let first = skip_space(available, self.lead);
        let most = first.saturating_add(self.most()).saturating_add(1);
        if self.resume == Resume::at(self.lead)
            && let Some(end) = last_end(&available[..goal.min(available.len())], self.lead)
        {
            // The comma between two elements, unless this is the last one.
            let comma = skip_space(available, end);
            let next = available.get(skip_space(available, comma.saturating_add(1)));
            if available.get(comma) == Some(&b',') && next.is_some_and(|next| *next != b']') {
                return Ok(self.cut(available, comma, comma + 1));
            }
        }
        // The last comma between two elements.
        let mut end = None;
        loop {
            self.resume.skip_space(available);
            let at = self.resume.record;
            match available.get(at) {
                None => break,
                Some(b']') => {
                    self.place = Place::After;
                    return Ok(self.cut(available, at, at + 1));
                }
                Some(b',') => {
                    if end.is_some() && at > goal {
                        break;
                    }
                    let next = available.get(skip_space(available, at + 1));
                    if next.is_none() && !eof {
                        break;
                    }
                    if self.resume.element && next != Some(&b']') {
                        end = Some(at);
                    }
                    self.resume = Resume::at(at + 1);
                }
                Some(_) => {
                    // At least one element has to be found, up to the maximum size.
                    let limit = if end.is_some() { goal } else { most };
                    let Some(found) = self.resume.value_end(available, limit, eof) else { break };
                    self.resume =
                        Resume { element: is_whole(&available[at..found]), ..Resume::at(found) };
                }
            }
            if end.is_some() && self.resume.record > goal {
                break;
            }
        }
        if let Some(end) = end {
            return Ok(self.cut(available, end, end + 1));
        }
        if first >= available.len() {
            return if eof {
                Err(self.error(ErrorKind::Truncated, available, available.len(), "']'"))
            } else {
                Ok(self.blank(available))
            };
        }
        if available.len() >= most {
            return Err(self.too_long(available, first).into());
        }
        // The engine gets the rest; the missing bracket is reported after it.
        Ok(if eof { self.cut(available, available.len(), available.len()) } else { Step::NeedMore })
    }

    /// Checks that nothing follows the array.
    pub(super) fn after_array(&self, available: &[u8], eof: bool) -> Result<Step> {
        let at = skip_space(available, self.lead);
        if at < available.len() {
            return Err(self.error(ErrorKind::TrailingData, available, at, "end of input"));
        }
        Ok(if eof { Step::Done } else { self.blank(available) })
    }
}
