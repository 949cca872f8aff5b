// SPDX-License-Identifier: Apache-2.0
//! [`Bloom`]: the bloom filter of a column chunk, a split block filter as the specification has it.
//!
//! The bits are set by the `parquet` crate. A filter starts as large as a chunk without a value
//! twice would need it, and is folded in the end to what its values need: how many are distinct is
//! not known before.

use arrowsmith_core::Result;
use parquet::basic::Type as Physical;
use parquet::bloom_filter::Sbbf;

use crate::dense::Dense;
use crate::number::index;
use crate::options::Options;
use crate::schema::{Leaf, Order, failed};

/// The share of values that are not in a chunk and that its filter lets pass.
const FALSE_POSITIVES: f64 = 0.01;
/// The share at which a filter is of no use and is not written.
const FALSE_POSITIVES_MAX: f64 = 0.3;
/// Values that a filter has room for, at most; beyond it lets more pass. 8 MiB.
const VALUES_MAX: usize = 4 << 20;
/// Values of a row of a list, for the size at the start.
const LIST_VALUES: usize = 64;

/// A bloom filter that values are added to.
pub(crate) struct Bloom {
    filter: Sbbf,
    order: Order,
    physical: Physical,
    width: usize,
}

impl Bloom {
    /// A filter for the values of a row group.
    pub(crate) fn new(leaf: &Leaf, options: &Options) -> Result<Self> {
        let each = if leaf.max_rep > 0 { LIST_VALUES } else { 1 };
        let values = options.row_group_rows.saturating_mul(each).min(VALUES_MAX) as u64;
        Ok(Self {
            filter: Sbbf::new_with_ndv_fpp(values, FALSE_POSITIVES).map_err(failed)?,
            order: leaf.order,
            physical: leaf.physical,
            width: leaf.width,
        })
    }

    /// Adds the values of a page.
    pub(crate) fn add(&mut self, values: &Dense) {
        match self.physical {
            Physical::BOOLEAN => {}
            Physical::INT32 | Physical::FLOAT => {
                values.words.iter().for_each(|word| self.insert(&word.to_le_bytes()));
            }
            Physical::INT64 | Physical::DOUBLE => {
                values.longs.iter().for_each(|long| self.insert(&long.to_le_bytes()));
            }
            Physical::BYTE_ARRAY => {
                for ends in values.offsets.windows(2) {
                    let value = values.bytes.get(index(ends[0])..index(ends[1]));
                    self.insert(value.unwrap_or_default());
                }
            }
            Physical::INT96 | Physical::FIXED_LEN_BYTE_ARRAY => {
                values.bytes.chunks_exact(self.width.max(1)).for_each(|value| self.insert(value));
            }
        }
    }

    /// Adds the values of a dictionary page, which are PLAIN.
    pub(crate) fn add_plain(&mut self, mut page: &[u8]) {
        if self.width > 0 {
            page.chunks_exact(self.width).for_each(|value| self.insert(value));
            return;
        }
        while let Some((bytes, rest)) = page.split_first_chunk::<4>() {
            let bytes = index(u32::from_le_bytes(*bytes)).min(rest.len());
            let (value, rest) = rest.split_at(bytes);
            self.insert(value);
            page = rest;
        }
    }

    /// Adds a value: its PLAIN bytes, without a length. Of floating-point zeros both are added, as
    /// they are equal.
    fn insert(&mut self, value: &[u8]) {
        self.filter.insert(value);
        if let (Order::Float, Some((sign, rest))) = (self.order, value.split_last())
            && sign & 0x7f == 0
            && rest.iter().all(|byte| *byte == 0)
        {
            let mut other = [0; 8];
            let other = &mut other[..value.len().min(8)];
            if let Some(last) = other.last_mut() {
                *last = sign ^ 0x80;
            }
            self.filter.insert(&*other);
        }
    }

    /// The filter as it is in the file, header and bits; none if it lets too many values pass.
    pub(crate) fn finish(mut self) -> Result<Option<Vec<u8>>> {
        self.filter.fold_to_target_fpp(FALSE_POSITIVES);
        let mut bytes = Vec::new();
        self.filter.write(&mut bytes).map_err(failed)?;
        // A value passes if its eight bits are set.
        let ones: u64 = bytes.iter().map(|byte| u64::from(byte.count_ones())).sum();
        #[expect(clippy::cast_precision_loss, reason = "a filter has at most 2^26 bits")]
        let share = ones as f64 / (8 * bytes.len()) as f64;
        Ok((share.powi(8) <= FALSE_POSITIVES_MAX).then_some(bytes))
    }
}
