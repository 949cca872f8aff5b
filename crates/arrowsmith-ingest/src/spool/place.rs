// SPDX-License-Identifier: Apache-2.0
//! A place in a spool, and the text in which it is kept.

/// A place in the spool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct Place {
    pub(super) segment: u64,
    pub(super) offset: u64,
}

impl Place {
    /// Parses the file of the place; the checksum detects a torn one. Files of earlier versions
    /// have none.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut words = text.strip_suffix('\n')?.split(' ');
        let (segment, offset) = (words.next()?, words.next()?);
        if let Some(sum) = words.next()
            && u32::from_str_radix(sum, 16).ok()? != Self::sum(&format!("{segment} {offset}"))
        {
            return None;
        }
        Some(Self { segment: segment.parse().ok()?, offset: offset.parse().ok()? })
    }

    pub(super) fn text(self) -> String {
        let place = format!("{} {}", self.segment, self.offset);
        let sum = Self::sum(&place);
        format!("{place} {sum:08x}\n")
    }

    fn sum(place: &str) -> u32 {
        crc32c::crc32c(place.as_bytes())
    }
}
