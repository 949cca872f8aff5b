// SPDX-License-Identifier: Apache-2.0
//! Strings and byte strings as views: short ones in the view, long ones in the page's memory.

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_buffer::{Buffer, NullBuffer};
use arrow_schema::DataType;
use arrowsmith_core::Result;
use arrowsmith_parquet::{DataPage, DictionaryPage, Encoding, Physical};
use arrowsmith_simd::column::{PlainStrings, Rows, Strings, ViewDictionary, ViewPage, Views};
use arrowsmith_simd::{Buf, Level};

use super::super::{corrupt, fault};
use super::state::{State, indices, plausible};
use super::{SKIP, Values};

/// A column of views.
#[derive(Debug)]
pub(super) struct ViewColumn {
    utf8: bool,
    level: Level,
    bytes_max: usize,
    /// State of a page that views do not point into.
    state: State,
    /// A page that views point into.
    page: Option<ViewPage>,
    dictionary: Option<ViewDictionary>,
    views: Views,
    slots: usize,
    /// Bytes of pages and strings that the batch's views point into, beside the file's own.
    held: usize,
}

impl ViewColumn {
    pub(super) fn new(data_type: DataType, level: Level, bytes_max: usize) -> Self {
        let utf8 = data_type == DataType::Utf8View;
        Self {
            utf8,
            level,
            bytes_max,
            state: State::Idle,
            page: None,
            dictionary: None,
            views: Views::new(utf8, 0),
            slots: 0,
            held: 0,
        }
    }

    fn append(&mut self, page: &DataPage<'_>, rows: Rows<'_>) -> Result<()> {
        if let Some(page) = &mut self.page {
            return self.views.read(self.level, page, rows).map_err(fault);
        }
        match std::mem::take(&mut self.state) {
            State::Indices(state) => {
                let mut hybrid = state.over(indices(page));
                if let Some(dictionary) = &mut self.dictionary {
                    let views = &mut self.views;
                    views
                        .read_dictionary(self.level, &mut hybrid, dictionary, rows)
                        .map_err(fault)?;
                } else if rows.values() == 0 {
                    // A chunk that has nulls only.
                    self.views.push_nulls(rows.len());
                } else {
                    return Err(corrupt("indices without a dictionary"));
                }
                self.state = State::Indices(hybrid.over(&[]));
            }
            State::DeltaStrings(state) => {
                // No page has such strings contiguously.
                let mut decoder = state.over(page.values);
                let mut strings = Strings::<i32>::new(self.utf8, rows.len(), 0, self.bytes_max);
                strings.read(self.level, &mut decoder, rows).map_err(fault)?;
                self.held += strings.bytes().len();
                self.views.append(&mut strings).map_err(fault)?;
                self.state = State::DeltaStrings(decoder.over(&[]));
            }
            other => return Err(other.unexpected()),
        }
        Ok(())
    }
}

impl Values for ViewColumn {
    fn slot_bytes(&self) -> usize {
        size_of::<u128>()
    }

    fn text_bytes(&self) -> Option<usize> {
        Some(self.held)
    }

    fn begin(&mut self, slots: usize, _: usize) {
        self.slots = slots;
    }

    fn dictionary(&mut self, page: &DictionaryPage<'_>) -> Result<()> {
        let count = plausible(page, 4)?;
        let mut strings = Strings::<i32>::new(self.utf8, count, page.values.len(), usize::MAX);
        let mut decoder = PlainStrings::new(page.values);
        strings.read(self.level, &mut decoder, Rows::All(count)).map_err(fault)?;
        self.dictionary = Some(ViewDictionary::new(&mut strings).map_err(fault)?);
        Ok(())
    }

    fn page(&mut self, page: &DataPage<'_>) -> Result<()> {
        self.page = None;
        if !matches!(page.encoding, Encoding::Plain | Encoding::DeltaLengthByteArray) {
            self.state = State::open(Physical::BYTE_ARRAY, page)?;
            return Ok(());
        }
        let bytes = match page.shared {
            Some(file) => Buffer::from(file.slice_ref(page.values)),
            None => {
                let mut copy = Buf::with_capacity(page.values.len());
                copy.extend(page.values);
                self.held += page.values.len();
                copy.take().into_inner()
            }
        };
        self.page = Some(match page.encoding {
            Encoding::Plain => ViewPage::plain(bytes),
            _ => ViewPage::delta_length(bytes).map_err(fault)?,
        });
        Ok(())
    }

    fn read(&mut self, page: &DataPage<'_>, rows: Rows<'_>, _: usize) -> Result<()> {
        if self.views.is_empty() {
            // Bounded: by what `begin` reserves, which the bytes of the batch and of the chunk
            // limit.
            self.views.reserve(self.slots);
        }
        self.append(page, rows)
    }

    fn skip(&mut self, page: &DataPage<'_>, values: usize) -> Result<()> {
        if let (State::Indices(_), Some(dictionary)) = (&self.state, &self.dictionary)
            && self.page.is_none()
        {
            let sizes = (1, dictionary.len());
            return self.state.skip(self.level, page, values, sizes).map(drop);
        }
        let held = self.held;
        let kept = std::mem::replace(&mut self.views, Views::new(self.utf8, 0));
        let mut left = values;
        while left > 0 {
            let some = left.min(SKIP);
            self.views = Views::new(self.utf8, some);
            self.append(page, Rows::All(some))?;
            left -= some;
        }
        (self.views, self.held) = (kept, held);
        Ok(())
    }

    fn take(&mut self, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
        // The next batch may continue in the same page, which counts for the batch that began it.
        self.held = 0;
        if self.utf8 {
            Ok(Arc::new(self.views.take_strings(nulls).map_err(fault)?))
        } else {
            Ok(Arc::new(self.views.take_binary(nulls).map_err(fault)?))
        }
    }
}
