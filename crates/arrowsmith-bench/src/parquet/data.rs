// SPDX-License-Identifier: Apache-2.0
//! The rows of the Parquet workloads, a batch at a time, from a seed. It writes no files.
//!
//! `int64-varied` and `int32-varied` are the Parquet paper's data for delta encoding: random
//! numbers modulo a power of two, which is drawn again for every 256 values, so that widths change
//! from block to block. `strings` are its strings, 1 to 12 letters and digits.

use std::sync::Arc;

use arrow_array::builder::{
    Float64Builder, Int64Builder, ListBuilder, StringBuilder, StructBuilder,
};
use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, TimestampMicrosecondType};
use arrow_array::{
    ArrayRef, BooleanArray, Float32Array, Float64Array, Int32Array, Int64Array, RecordBatch,
    StringArray,
};
use arrow_schema::{DataType, Field, Fields, Schema, SchemaRef, TimeUnit};
use arrowsmith_workload::{Generator, SplitMix64, Workload};

use crate::shapes;

/// Number of values after which the paper's generator draws another width.
const RUN_VALUES: u64 = 256;

const ALPHANUMERIC: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// The content of a workload's columns; the names are those of the definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Data {
    /// Any 64 bits.
    Int64,
    /// The paper's integers of changing width.
    Int64Varied,
    /// The same in 32 bits.
    Int32Varied,
    /// Any 64 bits, one value in ten null.
    Int64Nullable,
    /// Normally distributed.
    Float32,
    /// Normally distributed.
    Float64,
    /// 1 to 12 letters and digits.
    Strings,
    /// One of 50 strings of 4 to 16 letters.
    StringsFew,
    /// One of 100,000 strings of 8 to 24 letters.
    StringsMany,
    /// One of 50 strings, the same about twenty times in a row.
    StringsRuns,
    /// Sorted addresses of 44 characters.
    Urls,
    /// Lists of none to nine integers.
    Lists,
    /// Lists of none to nine structs of an integer, a float that may be null, and a string.
    Structs,
    /// The 19 columns of taxi trips.
    Taxi,
    /// The 16 columns of TPC-H, money as decimals.
    Lineitem,
    /// Below 100.
    Int64Small,
    /// Ascending, by 0 to 15.
    Int64Sorted,
    /// One of 1,000 values, far from each other.
    Int64Distant,
    /// Amounts below 1,000 with two decimals.
    Float64Prices,
    /// Ascending microseconds, up to two seconds apart.
    Timestamps,
    /// One in ten true.
    Booleans,
    /// Nested log records.
    Logs,
    /// Trip reports, most columns of which are lists.
    Trip,
}

impl Data {
    /// Approximate bytes of a row in Arrow, at least one: determines the number of rows for a size.
    pub(crate) const fn row_bytes(self) -> u64 {
        match self {
            Self::Booleans => 1,
            Self::Int64
            | Self::Int64Varied
            | Self::Int64Nullable
            | Self::Int64Small
            | Self::Int64Sorted
            | Self::Int64Distant
            | Self::Float64
            | Self::Float64Prices
            | Self::Timestamps => 8,
            Self::Int32Varied | Self::Float32 => 4,
            Self::Strings => 11,
            Self::StringsFew | Self::StringsRuns => 14,
            Self::StringsMany => 20,
            Self::Urls => 48,
            Self::Lists => 40,
            Self::Taxi => 148,
            Self::Structs => 121,
            Self::Lineitem => 160,
            Self::Logs => 300,
            Self::Trip => 450,
        }
    }

    /// Whether the only column is one of strings.
    pub(crate) fn is_strings(self) -> bool {
        let schema = self.schema();
        schema.fields().len() == 1 && schema.field(0).data_type() == &DataType::Utf8
    }

    /// The columns.
    pub(crate) fn schema(self) -> SchemaRef {
        let one =
            |name, kind, nullable| Arc::new(Schema::new(vec![Field::new(name, kind, nullable)]));
        match self {
            Self::Int64
            | Self::Int64Varied
            | Self::Int64Small
            | Self::Int64Sorted
            | Self::Int64Distant => one("v", DataType::Int64, false),
            Self::Timestamps => one("v", DataType::Timestamp(TimeUnit::Microsecond, None), false),
            Self::Booleans => one("v", DataType::Boolean, false),
            Self::Int64Nullable => one("v", DataType::Int64, true),
            Self::Int32Varied => one("v", DataType::Int32, false),
            Self::Float32 => one("v", DataType::Float32, false),
            Self::Float64 | Self::Float64Prices => one("v", DataType::Float64, false),
            Self::Strings
            | Self::StringsFew
            | Self::StringsMany
            | Self::StringsRuns
            | Self::Urls => one("s", DataType::Utf8, false),
            Self::Lists => one("l", DataType::new_list(DataType::Int64, true), true),
            Self::Structs => {
                one("l", DataType::new_list(DataType::Struct(struct_fields()), true), true)
            }
            Self::Lineitem => Arc::new(decimals(&generated("lineitem"))),
            Self::Logs => generated("logs"),
            Self::Taxi => generated("taxi"),
            Self::Trip => generated("trip"),
        }
    }
}

/// The generators know these schemas, so none is empty.
fn generated(name: &str) -> SchemaRef {
    shapes::schema(name).unwrap_or_else(|| Arc::new(Schema::empty()))
}

fn struct_fields() -> Fields {
    Fields::from(vec![
        Field::new("a", DataType::Int64, true),
        Field::new("b", DataType::Float64, true),
        Field::new("c", DataType::Utf8, true),
    ])
}

/// Amounts as in the specification: fifteen digits, two of them decimals.
fn decimals(schema: &Schema) -> Schema {
    let exact = |field: &Arc<Field>| match field.data_type() {
        DataType::Float64 => field.as_ref().clone().with_data_type(DataType::Decimal128(15, 2)),
        _ => field.as_ref().clone(),
    };
    Schema::new(schema.fields().iter().map(exact).collect::<Vec<_>>())
}

/// Makes rows, batch after batch.
#[derive(Debug)]
pub(crate) struct Rows {
    data: Data,
    schema: SchemaRef,
    rng: Random,
    /// Values left with the current width.
    left: u64,
    /// The strings to choose from.
    words: Vec<String>,
    /// The word of the current run, and the rows left in it.
    run: (usize, u64),
    /// The last of the sorted numbers, and the largest step to the next.
    key: (u64, u64),
    /// The exclusive upper bound of the current values.
    modulo: u64,
    generator: Option<Generator>,
    text: Vec<u8>,
}

impl Rows {
    /// `rows` is the total number of rows: sorted data spread over their full range.
    pub(crate) fn new(data: Data, seed: u64, rows: u64) -> Self {
        let mut rng = Random(SplitMix64::new(seed ^ (data as u64) << 32));
        let words = match data {
            Data::StringsFew | Data::StringsRuns => words(&mut rng, 50, 4, 16),
            Data::StringsMany => words(&mut rng, 100_000, 8, 24),
            _ => Vec::new(),
        };
        let generator = match data {
            Data::Taxi => Some(Generator::new(Workload::Taxi, seed, 1)),
            Data::Lineitem => Some(Generator::new(Workload::Lineitem, seed, 1)),
            Data::Logs => Some(Generator::new(Workload::Logs, seed, 1)),
            Data::Trip => Some(Generator::new(Workload::Trip, seed, 1)),
            _ => None,
        };
        Self {
            data,
            schema: data.schema(),
            rng,
            left: 0,
            words,
            run: (0, 0),
            key: (0, 2 * (900_000_000_000 / rows.max(1)).max(1)),
            modulo: 1,
            generator,
            text: Vec::new(),
        }
    }

    /// The next rows.
    pub(crate) fn batch(&mut self, rows: usize) -> Result<RecordBatch, String> {
        if self.generator.is_some() {
            return self.records(rows);
        }
        let column: ArrayRef = match self.data {
            Data::Int64 => Arc::new(Int64Array::from_iter_values(
                (0..rows).map(|_| self.rng.next().cast_signed()),
            )),
            Data::Int64Varied => {
                Arc::new(Int64Array::from_iter_values((0..rows).map(|_| self.varied(63))))
            }
            Data::Int64Small => self.integers(rows, |rng, _| rng.below(100)),
            Data::Int64Sorted => self.integers(rows, |rng, last| last + rng.below(16)),
            Data::Int64Distant => self.integers(rows, |rng, _| rng.below(1_000) * 1_000_000_007),
            Data::Float64Prices => {
                let cents = (0..rows).map(|_| i32::try_from(self.rng.below(100_000)).unwrap_or(0));
                let prices = cents.map(|cents| f64::from(cents) / 100.0);
                Arc::new(Float64Array::from_iter_values(prices))
            }
            Data::Timestamps => {
                let values = self.integers(rows, |rng, last| last + rng.below(2_000_000));
                let values = values.as_primitive::<Int64Type>();
                Arc::new(values.reinterpret_cast::<TimestampMicrosecondType>())
            }
            Data::Booleans => {
                let values = (0..rows).map(|_| Some(self.rng.below(10) == 0));
                Arc::new(values.collect::<BooleanArray>())
            }
            Data::Int32Varied => {
                let values = (0..rows).map(|_| i32::try_from(self.varied(31)).unwrap_or(0));
                Arc::new(Int32Array::from_iter_values(values))
            }
            Data::Int64Nullable => {
                let rng = &mut self.rng;
                let value = |_| (rng.below(10) != 0).then(|| rng.next().cast_signed());
                Arc::new((0..rows).map(value).collect::<Int64Array>())
            }
            #[expect(clippy::cast_possible_truncation, reason = "rounding is what is wanted")]
            Data::Float32 => {
                let values = (0..rows).map(|_| self.rng.normal() as f32);
                Arc::new(Float32Array::from_iter_values(values))
            }
            Data::Float64 => {
                Arc::new(Float64Array::from_iter_values((0..rows).map(|_| self.rng.normal())))
            }
            Data::Lists => self.lists(rows),
            Data::Structs => self.structs(rows),
            _ => Arc::new(self.strings(rows)),
        };
        RecordBatch::try_new(Arc::clone(&self.schema), vec![column]).map_err(|e| e.to_string())
    }

    /// Integers, each of which may depend on the last one.
    fn integers(&mut self, rows: usize, next: impl Fn(&mut Random, u64) -> u64) -> ArrayRef {
        let values = (0..rows).map(|_| {
            self.key.0 = next(&mut self.rng, self.key.0);
            self.key.0.cast_signed()
        });
        Arc::new(Int64Array::from_iter_values(values))
    }

    fn varied(&mut self, bits: u64) -> i64 {
        if self.left == 0 {
            self.left = RUN_VALUES;
            self.modulo = 1 << self.rng.below(bits);
        }
        self.left -= 1;
        (self.rng.next() % self.modulo).cast_signed()
    }

    fn strings(&mut self, rows: usize) -> StringArray {
        let mut builder = StringBuilder::with_capacity(rows, rows * 8);
        let mut text = String::new();
        for _ in 0..rows {
            match self.data {
                Data::Strings => {
                    text.clear();
                    let length = 1 + self.rng.below(12);
                    alphanumeric(&mut self.rng, length, &mut text);
                    builder.append_value(&text);
                }
                Data::Urls => {
                    self.key.0 += self.rng.below(self.key.1);
                    builder.append_value(format!(
                        "https://www.example.com/catalog/{:012}",
                        self.key.0
                    ));
                }
                Data::StringsRuns => {
                    if self.run.1 == 0 {
                        self.run = (self.rng.index(self.words.len()), 1 + self.rng.below(39));
                    }
                    self.run.1 -= 1;
                    builder.append_value(&self.words[self.run.0]);
                }
                _ => {
                    let word = self.rng.index(self.words.len());
                    builder.append_value(&self.words[word]);
                }
            }
        }
        builder.finish()
    }

    fn lists(&mut self, rows: usize) -> ArrayRef {
        let mut builder = ListBuilder::new(Int64Builder::new());
        for _ in 0..rows {
            for _ in 0..self.rng.below(10) {
                builder.values().append_value((self.rng.next() >> 2).cast_signed());
            }
            builder.append(true);
        }
        Arc::new(builder.finish())
    }

    fn structs(&mut self, rows: usize) -> ArrayRef {
        let mut builder = ListBuilder::new(StructBuilder::from_fields(struct_fields(), rows));
        let mut text = String::new();
        for _ in 0..rows {
            for _ in 0..self.rng.below(10) {
                let item = builder.values();
                if let Some(a) = item.field_builder::<Int64Builder>(0) {
                    a.append_value((self.rng.next() >> 2).cast_signed());
                }
                if let Some(b) = item.field_builder::<Float64Builder>(1) {
                    b.append_option((self.rng.below(10) != 0).then(|| self.rng.normal()));
                }
                text.clear();
                let length = 1 + self.rng.below(12);
                alphanumeric(&mut self.rng, length, &mut text);
                if let Some(c) = item.field_builder::<StringBuilder>(2) {
                    c.append_value(&text);
                }
                item.append(true);
            }
            builder.append(true);
        }
        Arc::new(builder.finish())
    }

    /// Records of the JSON workloads, read by arrow-json.
    fn records(&mut self, rows: usize) -> Result<RecordBatch, String> {
        self.text.clear();
        if let Some(generator) = &mut self.generator {
            for _ in 0..rows {
                generator.next_record(&mut self.text);
                self.text.push(b'\n');
            }
        }
        let text = |error: arrow_schema::ArrowError| error.to_string();
        let builder =
            arrow_json::ReaderBuilder::new(Arc::clone(&self.schema)).with_batch_size(rows);
        let mut decoder = builder.build_decoder().map_err(text)?;
        decoder.decode(&self.text).map_err(text)?;
        decoder.flush().map_err(text)?.ok_or_else(|| "no records".to_owned())
    }
}

fn words(rng: &mut Random, count: usize, least: u64, most: u64) -> Vec<String> {
    let word = |_| {
        let mut word = String::new();
        let length = least + rng.below(most - least + 1);
        alphanumeric(rng, length, &mut word);
        word
    };
    (0..count).map(word).collect()
}

fn alphanumeric(rng: &mut Random, length: u64, text: &mut String) {
    text.extend((0..length).map(|_| char::from(ALPHANUMERIC[rng.index(62)])));
}

/// The distributions of the columns; the same numbers on every machine.
#[derive(Debug, Clone)]
struct Random(SplitMix64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0.next_u64()
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }

    fn index(&mut self, len: usize) -> usize {
        // The remainder is below a length.
        usize::try_from(self.below(len as u64)).unwrap_or(0)
    }

    /// Approximately normal, mean 0, deviation 1: the sum of twelve uniform draws of 16 bits, with
    /// the low bits filled up, so that no bit of the mantissa is always zero.
    #[expect(clippy::cast_precision_loss, reason = "it is a draw")]
    fn normal(&mut self) -> f64 {
        let draws: u64 = (0..3)
            .map(|_| {
                let bits = self.next();
                (bits & 0xFFFF) + (bits >> 16 & 0xFFFF) + (bits >> 32 & 0xFFFF) + (bits >> 48)
            })
            .sum();
        let fine = (self.next() >> 11) as f64 / (1_u64 << 53) as f64;
        (draws as f64 + fine) / 65_536.0 - 6.0
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::Array;

    use super::*;

    const ALL: [Data; 23] = [
        Data::Int64,
        Data::Int64Varied,
        Data::Int32Varied,
        Data::Int64Nullable,
        Data::Float32,
        Data::Float64,
        Data::Strings,
        Data::StringsFew,
        Data::StringsMany,
        Data::StringsRuns,
        Data::Urls,
        Data::Lists,
        Data::Structs,
        Data::Taxi,
        Data::Lineitem,
        Data::Int64Small,
        Data::Int64Sorted,
        Data::Int64Distant,
        Data::Float64Prices,
        Data::Timestamps,
        Data::Booleans,
        Data::Logs,
        Data::Trip,
    ];

    #[test]
    fn rows_are_as_large_as_they_are_said_to_be() {
        for data in ALL {
            let mut rows = Rows::new(data, 42, 5_000);
            let batch = rows.batch(5_000).unwrap();
            assert_eq!((batch.num_rows(), batch.schema()), (5_000, data.schema()));
            let sizes =
                batch.columns().iter().map(|c| c.to_data().get_slice_memory_size().unwrap());
            // A boolean is a bit: no less than a byte is said.
            let found = (sizes.sum::<usize>() as u64 / 5_000).max(1);
            let said = data.row_bytes();
            assert!(found * 10 >= said * 8 && found * 10 <= said * 13, "{data:?}: {found}, {said}");
        }
    }

    #[test]
    fn a_seed_gives_the_same_rows_in_any_pieces() {
        for data in ALL {
            let whole = Rows::new(data, 7, 1_024).batch(1_024).unwrap();
            let mut rows = Rows::new(data, 7, 1_024);
            let first = rows.batch(256).unwrap();
            let second = rows.batch(768).unwrap();
            assert_eq!(whole.slice(0, 256), first, "{data:?}");
            assert_eq!(whole.slice(256, 768), second, "{data:?}");
        }
    }

    #[test]
    fn the_papers_integers_change_their_width_every_256_values() {
        let batch = Rows::new(Data::Int64Varied, 42, 1).batch(256 * 64).unwrap();
        let values = batch.column(0).as_primitive::<Int64Type>().values();
        let widths: Vec<u32> =
            values.chunks(256).map(|run| 64 - run.iter().max().unwrap().leading_zeros()).collect();
        assert!(values.iter().all(|value| *value >= 0));
        let distinct: std::collections::BTreeSet<u32> = widths.iter().copied().collect();
        assert!(distinct.len() > 20, "{distinct:?}");
        assert!(widths.iter().all(|width| *width <= 62));
    }

    #[test]
    fn addresses_are_sorted() {
        let batch = Rows::new(Data::Urls, 42, 2_000).batch(2_000).unwrap();
        let values = batch.column(0).as_string::<i32>();
        let values: Vec<&str> = values.iter().flatten().collect();
        assert!(values.is_sorted() && values.iter().all(|value| value.len() == 44));
    }
}
