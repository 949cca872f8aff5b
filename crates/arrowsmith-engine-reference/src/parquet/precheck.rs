// SPDX-License-Identifier: Apache-2.0
//! Whether a column chunk may be handed to the `parquet` crate, which allocates by what the file
//! says: its pages are walked first, and what they claim is checked against their bytes.

use std::sync::Arc;

use arrowsmith_core::{Error, FileErrorKind, Result};
use arrowsmith_parquet::{Budget, Encoding, File, Leaf, Page, Pages};
use arrowsmith_simd::column::{Delta, DeltaStrings};

/// Bytes that the crate allocates per value where it collects lengths before it decodes.
const VALUE_BYTES: usize = 16;

/// Checks a column chunk against its pages; returns how many bytes of them the crate holds at a
/// time: the dictionary and a page, decompressed.
///
/// # Errors
/// Pages that are malformed, claim more than they have, or need more memory than the limit.
pub(super) fn check(
    file: &File,
    row_group: usize,
    leaf: &Leaf,
    budget: &Arc<Budget>,
) -> Result<usize> {
    let place = |error| file.place(error, row_group, leaf.index);
    let wrong = |message: String| place(Error::file(FileErrorKind::Corrupt, message));
    let fits = |values: usize| match values.saturating_mul(VALUE_BYTES) {
        bytes if bytes > budget.bytes_max() => Err(place(budget.exceeded(bytes))),
        _ => Ok(()),
    };
    if leaf.max_rep > 0 {
        // All of them may be in one row.
        let values = file.chunk(row_group, leaf.index)?.num_values();
        fits(usize::try_from(values).unwrap_or(usize::MAX))?;
    }
    let mut pages = Pages::new(file, row_group, leaf.index)?.within(budget);
    let (mut dictionary_bytes, mut page_bytes) = (0_usize, 0_usize);
    while let Some(info) = pages.peek()? {
        match info.dictionary {
            true => dictionary_bytes = info.uncompressed_bytes,
            false => page_bytes = page_bytes.max(info.uncompressed_bytes),
        }
        let Some(page) = pages.next()? else { break };
        match page {
            Page::Dictionary(page) if page.count > page.values.len() => {
                let (count, bytes) = (page.count, page.values.len());
                return Err(wrong(format!("a dictionary of {count} entries in {bytes} bytes")));
            }
            Page::Dictionary(_) => {}
            Page::Data(page) => {
                let delta = match page.encoding {
                    Encoding::DeltaBinaryPacked
                    | Encoding::DeltaLengthByteArray
                    | Encoding::DeltaByteArray => delta_count(page.encoding, page.values),
                    _ => 0,
                };
                if delta > page.count {
                    let count = page.count;
                    return Err(wrong(format!("{delta} values in a page of {count}")));
                }
                fits(delta)?;
            }
        }
    }
    Ok(dictionary_bytes.saturating_add(page_bytes))
}

/// The maximum number of values that the headers of delta-encoded pages declare. Malformed headers
/// are left to the decoder.
fn delta_count(encoding: Encoding, values: &[u8]) -> usize {
    let first = Delta::new(values).map_or(0, |values| values.left());
    let second = match encoding {
        Encoding::DeltaByteArray => DeltaStrings::new(values).map_or(0, |values| values.left()),
        _ => 0,
    };
    first.max(second)
}
