// SPDX-License-Identifier: Apache-2.0
//! Columns that stay dictionaries: the file's indices as keys, and its dictionary as values.
//!
//! A writer may abandon the dictionary in the middle of a chunk. Later pages are decoded as values,
//! and a batch that has such rows is re-encoded as a dictionary as a whole.

use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{
    Array, ArrayRef, DictionaryArray, Int32Array, make_array, new_empty_array, new_null_array,
};
use arrow_buffer::{NullBuffer, ScalarBuffer};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::DataType;
use arrow_select::concat::concat;
use arrow_select::take::take;
use arrowsmith_core::Result;
use arrowsmith_parquet::{DataPage, DictionaryPage, Encoding, Physical};
use arrowsmith_simd::column::{Indices, Rows, read};
use arrowsmith_simd::{Buf, Level};

use super::super::{corrupt, fault};
use super::Values;
use super::state::{State, indices};

/// A column of keys.
pub(super) struct Keys {
    data_type: DataType,
    value_type: DataType,
    level: Level,
    /// Decodes the dictionary, and pages that do not use it.
    values: Box<dyn Values>,
    dictionary: ArrayRef,
    /// `None` for a page of values.
    state: Option<State>,
    keys: Buf<i32>,
    /// What came before `keys`, of batches that are not only keys.
    parts: Vec<Part>,
    /// Rows of the batch that `values` holds.
    rows_of_values: usize,
    slots: usize,
    bytes: usize,
}

enum Part {
    Keys(ScalarBuffer<i32>),
    Values(usize),
}

impl Keys {
    pub(super) fn new(data_type: DataType, values: Box<dyn Values>, level: Level) -> Self {
        let value_type = match &data_type {
            DataType::Dictionary(_, values) => values.as_ref().clone(),
            _ => DataType::Null,
        };
        Self {
            dictionary: new_empty_array(&value_type),
            data_type,
            value_type,
            level,
            values,
            state: None,
            keys: Buf::default(),
            parts: Vec::new(),
            rows_of_values: 0,
            slots: 0,
            bytes: 0,
        }
    }

    fn append(&mut self, page: &DataPage<'_>, rows: Rows<'_>) -> Result<()> {
        let Some(State::Indices(hybrid)) = &mut self.state else {
            return Err(State::Idle.unexpected());
        };
        let mut decoder = Indices::new(hybrid.over(indices(page)), self.dictionary.len());
        read(self.level, &mut decoder, rows, &mut self.keys).map_err(fault)?;
        *hybrid = decoder.into_hybrid().over(&[]);
        Ok(())
    }

    /// A batch that has rows of both kinds: all of them as values.
    fn decoded(&mut self, nulls: Option<&NullBuffer>) -> Result<ArrayRef> {
        let mut arrays = Vec::with_capacity(self.parts.len());
        // All values were decoded into one array, in order.
        let values = self.values.take(None)?;
        let (mut row, mut value) = (0, 0);
        for part in std::mem::take(&mut self.parts) {
            let len = match &part {
                Part::Keys(keys) => keys.len(),
                Part::Values(rows) => *rows,
            };
            let nulls = nulls.map(|nulls| nulls.slice(row, len));
            row += len;
            arrays.push(match part {
                Part::Keys(keys) => {
                    let keys = Int32Array::new(keys, nulls);
                    take(&self.dictionary_of(&keys), &keys, None)?
                }
                Part::Values(rows) => {
                    let data = values.slice(value, rows).to_data().into_builder().nulls(nulls);
                    value += rows;
                    make_array(data.build().map_err(|error| corrupt(error.to_string()))?)
                }
            });
        }
        let arrays: Vec<&dyn Array> = arrays.iter().map(|array| &**array).collect();
        self.cast(&concat(&arrays)?)
    }

    /// The dictionary, with an entry for keys that are not null where it has none: rows inside of a
    /// struct that is null have keys, too, and columns without nulls of their own no bitmap.
    fn dictionary_of(&self, keys: &Int32Array) -> ArrayRef {
        match self.dictionary.is_empty() && keys.null_count() < keys.len() {
            true => new_null_array(&self.value_type, 1),
            false => Arc::clone(&self.dictionary),
        }
    }

    fn cast(&self, array: &dyn Array) -> Result<ArrayRef> {
        let options = CastOptions { safe: false, ..CastOptions::default() };
        Ok(cast_with_options(array, &self.data_type, &options)?)
    }

    fn end_keys(&mut self) {
        if !self.keys.is_empty() {
            self.parts.push(Part::Keys(self.keys.take()));
        }
    }
}

impl Values for Keys {
    fn slot_bytes(&self) -> usize {
        self.values.slot_bytes().max(size_of::<i32>())
    }

    fn expect_bytes(&mut self, bytes: usize, rows: usize) {
        self.values.expect_bytes(bytes, rows);
    }

    fn text_bytes(&self) -> Option<usize> {
        self.values.text_bytes()
    }

    fn begin(&mut self, slots: usize, bytes: usize) {
        self.slots = slots;
        self.bytes = bytes;
    }

    fn dictionary(&mut self, page: &DictionaryPage<'_>) -> Result<()> {
        // The dictionary is read as a page of values; pages may refer to it as in columns of other
        // forms.
        let data = DataPage {
            count: page.count,
            nulls: Some(0),
            rows: None,
            encoding: Encoding::Plain,
            rep: arrowsmith_parquet::Levels::none(),
            def: arrowsmith_parquet::Levels::none(),
            values: page.values,
            readable: page.readable,
            shared: None,
            stored: None,
        };
        // Entries of one width take that, others a byte at least.
        let least = match self.value_type {
            DataType::FixedSizeBinary(width) => usize::try_from(width).unwrap_or(0),
            _ => usize::from(page.count > 0),
        };
        super::state::plausible(page, least)?;
        self.values.begin(0, page.values.len());
        self.values.page(&data)?;
        self.values.read(&data, Rows::All(page.count), page.count)?;
        self.dictionary = self.values.take(None)?;
        Ok(())
    }

    fn page(&mut self, page: &DataPage<'_>) -> Result<()> {
        self.state = None;
        if page.encoding == Encoding::Dictionary {
            // Indices have the same form for every type but BOOLEAN.
            self.state = Some(State::open(Physical::BYTE_ARRAY, page)?);
            return Ok(());
        }
        self.values.page(page)
    }

    fn read(&mut self, page: &DataPage<'_>, rows: Rows<'_>, values: usize) -> Result<()> {
        if self.state.is_some() {
            if self.keys.is_empty() {
                // Bounded: by what `begin` reserves, which the bytes of the batch and of the chunk
                // limit.
                self.keys.reserve(self.slots);
            }
            return self.append(page, rows);
        }
        self.end_keys();
        if self.rows_of_values == 0 {
            self.values.begin(self.slots, self.bytes);
        }
        self.rows_of_values += rows.len();
        match self.parts.last_mut() {
            Some(Part::Values(count)) => *count += rows.len(),
            _ => self.parts.push(Part::Values(rows.len())),
        }
        self.values.read(page, rows, values)
    }

    fn skip(&mut self, page: &DataPage<'_>, values: usize) -> Result<()> {
        let entries = self.dictionary.len();
        match &mut self.state {
            Some(state @ State::Indices(_)) => {
                state.skip(self.level, page, values, (1, entries)).map(drop)
            }
            Some(state) => Err(state.unexpected()),
            None => self.values.skip(page, values),
        }
    }

    fn take(&mut self, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
        if !self.parts.is_empty() {
            self.end_keys();
            self.rows_of_values = 0;
            return self.decoded(nulls.as_ref());
        }
        let keys = Int32Array::new(self.keys.take(), nulls);
        let dictionary = self.dictionary_of(&keys);
        let array = DictionaryArray::<Int32Type>::try_new(keys, dictionary)
            .map_err(|error| corrupt(error.to_string()))?;
        let plain = matches!(&self.data_type, DataType::Dictionary(key, values)
            if **key == DataType::Int32 && **values == self.value_type);
        if plain { Ok(Arc::new(array)) } else { self.cast(&array) }
    }
}
