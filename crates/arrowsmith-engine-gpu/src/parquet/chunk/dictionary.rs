// SPDX-License-Identifier: Apache-2.0
//! The dictionary of a chunk on the device: its bytes, and where its texts are.

use super::super::pages::Host;
use super::super::shape::{Form, Shape};
use super::run::{Halt, Run};
use crate::abi::*;
use crate::device::Ptr;

/// The dictionary on the device: its bytes, or where its texts are, and how many there are.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Dictionary {
    pub(super) bytes: Ptr,
    pub(super) words: Ptr,
    pub(super) lens: Ptr,
    pub(super) count: usize,
}

/// Makes the dictionary ready; one that is malformed is left to another engine.
pub(super) fn dictionary(
    run: &mut Run<'_>,
    shape: &Shape,
    host: &Host,
    unpacked: Ptr,
    bad: Ptr,
) -> Result<Dictionary, Halt> {
    let Some((at, count)) = &host.dictionary else { return Ok(Dictionary::default()) };
    let (bytes, len, count) = (at.at(unpacked), at.len(), *count);
    if shape.keys.is_some() {
        // Its entries are decoded separately; each has at least one byte.
        if count > len {
            return Err(Halt::Unsure);
        }
        return Ok(Dictionary { bytes, count, ..Dictionary::default() });
    }
    let least = match shape.form {
        Form::Bits => return Err(Halt::Unsure),
        Form::Fixed { stored, .. } => usize::try_from(stored).unwrap_or(usize::MAX),
        Form::Bytes { .. } | Form::Decimals { .. } => 4,
    };
    if count.saturating_mul(least) > len {
        return Err(Halt::Unsure);
    }
    let mut dictionary = Dictionary { bytes, count, ..Dictionary::default() };
    if shape.form.is_text() {
        dictionary.words = run.take(count * 8)?;
        dictionary.lens = run.take(count * 8)?;
        let page = PageDesc {
            values: bytes.0,
            values_len: len as u64,
            count: count as u64,
            value_count: count as u64,
            ..PageDesc::default()
        };
        let args = ValueArgs {
            pages: run.put(&bytes_of(&[page]))?,
            page_count: 1,
            words: dictionary.words,
            lens: dictionary.lens,
            dictionary: Ptr(0),
            dictionary_count: 0,
            dictionary_lens: Ptr(0),
            marks: Ptr(0),
            out: Ptr(0),
            width: 0,
            keys: false,
            totals: Ptr(0),
            text: Ptr(0),
            bad,
        };
        run.launch(PAGE_STRINGS, 1, &args)?;
    }
    Ok(dictionary)
}
