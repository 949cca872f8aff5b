// SPDX-License-Identifier: Apache-2.0
//! Messages as they are written, and with one number of them changed.

use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, DictionaryArray, Int64Array, ListArray, StringArray, StringViewArray, new_null_array,
};
use arrow_flight::{SchemaAsIpc, SchemaResult};
use arrow_ipc::writer::{DictionaryTracker, IpcDataGenerator, IpcWriteContext, IpcWriteOptions};
use arrow_schema::{Field, Schema};
use futures_util::{FutureExt, stream};
use proptest::prelude::*;

use super::*;

fn batch() -> RecordBatch {
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![7; 4000]));
    let texts: ArrayRef = Arc::new(StringArray::from_iter(
        (0..4000).map(|n| (n % 3 != 0).then(|| format!("row {n}"))),
    ));
    let views: ArrayRef = Arc::new(StringViewArray::from_iter_values(
        (0..4000).map(|n| format!("a text that is longer than a view {n}")),
    ));
    let lists: ArrayRef = Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(
        (0..4000).map(|n| Some(vec![Some(n); 3])),
    ));
    RecordBatch::try_from_iter([("n", numbers), ("t", texts), ("v", views), ("l", lists)]).unwrap()
}

fn messages(compression: Option<CompressionType>) -> Vec<FlightData> {
    let options = IpcWriteOptions::default().try_with_compression(compression).unwrap();
    let batch = batch();
    let schema: FlightData = SchemaAsIpc::new(&batch.schema(), &options).into();
    let (_, data) = IpcDataGenerator::default()
        .encode(
            &batch,
            &mut DictionaryTracker::new(false),
            &options,
            &mut IpcWriteContext::default(),
        )
        .unwrap();
    vec![schema, data.into()]
}

fn decode(messages: Vec<FlightData>, bounds: Bounds) -> Result<Vec<RecordBatch>, FlightError> {
    let messages = stream::iter(messages.into_iter().map(Ok)).boxed();
    let all = batches(messages, bounds).collect::<Vec<_>>();
    // Nothing in it waits.
    all.now_or_never().unwrap().into_iter().collect()
}

const ALL: [Option<CompressionType>; 3] =
    [None, Some(CompressionType::LZ4_FRAME), Some(CompressionType::ZSTD)];

/// A dictionary without values is what a column of nulls may have.
#[test]
fn a_dictionary_of_nulls_takes_nothing() {
    let texts = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
    let nulls = new_null_array(&texts, 3);
    assert_eq!(expanded(&nulls), 0);
    let some: DictionaryArray<Int32Type> = [None, Some("abc"), Some("abc")].into_iter().collect();
    assert_eq!(expanded(&(Arc::new(some) as ArrayRef)), 6);
}

#[test]
fn what_writers_write_is_taken() {
    for compression in ALL {
        assert_eq!(decode(messages(compression), Bounds::default()).unwrap(), [batch()]);
    }
}

#[test]
fn compression_can_be_refused() {
    let bounds = Bounds { compression: false, ..Bounds::default() };
    assert!(decode(messages(None), bounds).is_ok());
    assert!(decode(messages(Some(CompressionType::ZSTD)), bounds).is_err());
}

#[test]
fn a_declared_length_is_checked_against_the_bytes() {
    for codec in [CompressionType::LZ4_FRAME, CompressionType::ZSTD] {
        let declared = 32_000_u64.to_le_bytes();
        for lie in [1 << 61, 1 << 40, 1 << 31, u64::MAX - 1, 1 << 63] {
            let mut all = messages(Some(codec));
            let mut body = all[1].data_body.to_vec();
            let at = body.windows(8).position(|eight| eight == declared).unwrap();
            body[at..at + 8].copy_from_slice(&lie.to_le_bytes());
            all[1].data_body = body.into();
            assert!(decode(all, Bounds::default()).is_err(), "{lie}");
        }
    }
    let bounds = Bounds { decoded_bytes_max: 32_000, ..Bounds::default() };
    assert!(decode(messages(Some(CompressionType::ZSTD)), bounds).is_err());
    assert!(decode(messages(Some(CompressionType::LZ4_FRAME)), bounds).is_err());
}

#[test]
fn frames_are_bounded_by_their_blocks() {
    // A frame of blocks of 4 MiB: header, then blocks with their sizes.
    let mut frame = vec![0x04, 0x22, 0x4d, 0x18, 0x40, 0x70, 0];
    for _ in 0..10 {
        frame.extend_from_slice(&20_000_u32.to_le_bytes());
        frame.extend_from_slice(&[0; 20_000]);
    }
    frame.extend_from_slice(&[0; 4]);
    assert_eq!(lz4_most(&frame), 10 * (4 << 20));
    assert_eq!(lz4_most(b""), 0);
    assert_eq!(lz4_most(&[0x04, 0x22, 0x4d, 0x18]), 4 * LZ4_RATIO);
    assert_eq!(lz4_most(b"xx"), 2 * LZ4_RATIO);
}

#[test]
fn widths_are_bounded() {
    let options = IpcWriteOptions::default();
    let wide = |data_type: DataType| {
        let schema = Schema::new(vec![Field::new("a", data_type, true)]);
        let message: FlightData = SchemaAsIpc::new(&schema, &options).into();
        check(&message.data_header, &[], &Bounds::default())
    };
    let list = |item: DataType, length| {
        DataType::FixedSizeList(Arc::new(Field::new("item", item, true)), length)
    };
    assert!(wide(DataType::FixedSizeBinary(16)).is_ok());
    assert!(wide(list(DataType::Int8, 3)).is_ok());
    assert!(wide(DataType::FixedSizeBinary(i32::MAX)).is_err());
    assert!(wide(list(DataType::Int8, i32::MAX)).is_err());
    assert!(wide(list(list(DataType::Int8, 2000), 2000)).is_err());
    assert!(
        wide(DataType::Struct(vec![Field::new("x", list(DataType::Int8, 1 << 30), true)].into()))
            .is_err()
    );
    assert_eq!(width(&list(list(DataType::Int8, 2000), 2000)), 4_000_000);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]
    /// Whatever is changed: an answer, and no more memory than the message could come to.
    #[test]
    fn changed_bytes_are_an_answer(
        compression in prop::sample::select(ALL.to_vec()),
        which in 0..2_usize,
        head in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        body in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..3),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let mut all = messages(compression);
        let message = &mut all[which];
        let mut header = message.data_header.to_vec();
        for (index, value) in head {
            let at = index.index(header.len());
            header[at] = value;
        }
        message.data_header = header.into();
        let mut bytes = message.data_body.to_vec();
        for (index, value) in body {
            if !bytes.is_empty() {
                let at = index.index(bytes.len());
                bytes[at] = value;
            }
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len() + 1));
        }
        message.data_body = bytes.into();
        let bounds = Bounds { decoded_bytes_max: 64 << 20, ..Bounds::default() };
        if let Ok(batches) = decode(all, bounds) {
            prop_assert!(batches.iter().map(RecordBatch::num_rows).sum::<usize>() < 1 << 31);
        }
    }
}

/// A schema of every type.
fn all_types() -> Schema {
    use DataType as T;
    use arrow_schema::{IntervalUnit, TimeUnit, UnionFields, UnionMode};
    let item = |data_type| Arc::new(Field::new("item", data_type, true));
    let dictionary = |index, values| T::Dictionary(Box::new(index), Box::new(values));
    let units = [TimeUnit::Second, TimeUnit::Millisecond, TimeUnit::Microsecond];
    let pair = vec![Field::new("key", T::Utf8, false), Field::new("value", T::Int8, true)];
    let union = || UnionFields::try_new([0, 5], [item(T::Int32), item(T::Utf8)]).unwrap();
    let mut types = vec![
        T::Null,
        T::Boolean,
        T::Int8,
        T::Int16,
        T::Int32,
        T::Int64,
        T::UInt8,
        T::UInt16,
        T::UInt32,
        T::UInt64,
        T::Float16,
        T::Float32,
        T::Float64,
        T::Utf8,
        T::LargeUtf8,
        T::Utf8View,
        T::Binary,
        T::LargeBinary,
        T::BinaryView,
        T::FixedSizeBinary(3),
        T::Date32,
        T::Date64,
        T::Time32(TimeUnit::Second),
        T::Time32(TimeUnit::Millisecond),
        T::Time64(TimeUnit::Microsecond),
        T::Time64(TimeUnit::Nanosecond),
        T::Interval(IntervalUnit::YearMonth),
        T::Interval(IntervalUnit::DayTime),
        T::Interval(IntervalUnit::MonthDayNano),
        T::Decimal32(9, 2),
        T::Decimal64(18, -2),
        T::Decimal128(38, 10),
        T::Decimal256(76, 0),
        T::List(item(T::Int8)),
        T::LargeList(item(T::Int8)),
        T::ListView(item(T::Int8)),
        T::LargeListView(item(T::Int8)),
        T::FixedSizeList(item(T::Int8), 2),
        T::Struct(pair.clone().into()),
        T::Map(Arc::new(Field::new("entries", T::Struct(pair.into()), false)), true),
        T::RunEndEncoded(Arc::new(Field::new("run_ends", T::Int16, false)), item(T::Utf8)),
        T::Union(union(), UnionMode::Dense),
        T::Union(union(), UnionMode::Sparse),
        dictionary(T::Int8, T::Utf8),
        dictionary(T::UInt64, T::Timestamp(units[0], None)),
    ];
    types.extend(units.map(|unit| T::Timestamp(unit, Some("UTC".into()))));
    types.extend(units.map(T::Duration));
    let fields = types.into_iter().enumerate();
    Schema::new(
        fields.map(|(n, data_type)| Field::new(n.to_string(), data_type, true)).collect::<Vec<_>>(),
    )
}

/// No byte of a schema makes its conversion panic: what it would panic at is refused before.
#[test]
fn schemas_that_are_accepted_are_converted() {
    let described: SchemaResult =
        SchemaAsIpc::new(&all_types(), &IpcWriteOptions::default()).try_into().unwrap();
    assert_eq!(schema(&described.schema).unwrap(), all_types());
    let without_marker = &described.schema[CONTINUATION.len()..];
    assert_eq!(schema(without_marker).unwrap(), all_types());
    let message = &without_marker[4..];
    let (mut converted, mut refused) = (0, 0);
    for place in 0..message.len() {
        for value in [0, 1, 3, 9, 31, 127, 128, 255] {
            let mut bytes = message.to_vec();
            bytes[place] = value;
            if check(&bytes, &[], &Bounds::default()).is_err() {
                refused += 1;
                continue;
            }
            let read = root_as_message(&bytes).unwrap();
            if let Some(read) = read.header_as_schema() {
                let _ = arrow_ipc::convert::fb_to_schema(read);
                converted += 1;
            }
        }
    }
    assert!(converted > 1000 && refused > 1000, "{converted} {refused}");
}

#[test]
fn a_schema_with_a_number_cut_off_is_an_error() {
    let described: SchemaResult =
        SchemaAsIpc::new(&all_types(), &IpcWriteOptions::default()).try_into().unwrap();
    for length in 0..described.schema.len() {
        assert!(schema(&described.schema[..length]).is_err(), "{length}");
    }
}
