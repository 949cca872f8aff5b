// SPDX-License-Identifier: Apache-2.0
//! Files of old and foreign writers: both engines read the same.

use arrow_array::builder::{Int32Builder, ListBuilder};
use arrow_array::{Array, ArrayRef, StructArray};
use arrow_buffer::NullBuffer;
use parquet::basic::{Compression, Encoding};
use parquet::data_type::{ByteArray, FixedLenByteArray, FixedLenByteArrayType};
use parquet::file::properties::WriterVersion;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

use super::*;

/// The results of both engines for a file: the cpu's, and the reference's.
fn both(bytes: &[u8]) -> [Result<RecordBatch>; 2] {
    [false, true].map(|reference| {
        let mut made = pipeline(bytes.to_vec()).threads(1);
        if reference {
            made = made.engine(arrowsmith_testkit::engines::reference());
        }
        let batches = made.start()?;
        let schema = Arc::clone(batches.schema());
        let batches: Vec<RecordBatch> = batches.collect::<Result<_>>()?;
        Ok(concat_batches(&schema, &batches)?)
    })
}

/// parquet-cpp-arrow before 3.0.0 compressed pages of version 2 without saying so in their headers.
#[test]
fn old_pages_of_version_2_are_decompressed_by_both() {
    let wanted = rows(0, 3000);
    for codec in [Compression::SNAPPY, Compression::UNCOMPRESSED] {
        let properties = WriterProperties::builder()
            .set_writer_version(WriterVersion::PARQUET_2_0)
            .set_compression(codec)
            .set_dictionary_enabled(false)
            .set_encoding(Encoding::PLAIN)
            .set_data_page_row_count_limit(200)
            .set_write_batch_size(100)
            .set_created_by("parquet-cpp-arrow version 2.0.0".to_owned());
        let mut writer =
            ArrowWriter::try_new(Vec::new(), wanted.schema(), Some(properties.build())).unwrap();
        writer.write(&wanted).unwrap();
        let mut bytes = writer.into_inner().unwrap();
        // The end of a page's header: no repetition levels, compressed.
        let mut flags = 0;
        for at in 0..bytes.len() - 3 {
            if bytes[at..at + 4] == [0x15, 0, 0x11, 0x1c] || bytes[at..at + 4] == [0x15, 0, 0x11, 0]
            {
                bytes[at + 2] = 0x12;
                flags += 1;
            }
        }
        assert!(flags >= 45 || codec == Compression::UNCOMPRESSED, "{flags} pages");
        for found in both(&bytes) {
            assert_eq!(found.unwrap(), wanted, "{codec:?}");
        }
    }
}

/// A file of one column of intervals, given as months, days and milliseconds.
fn intervals(inside: &str, values: &[Option<[u32; 3]>]) -> Vec<u8> {
    let leaf = "optional fixed_len_byte_array(12) i (INTERVAL);";
    let message = format!("message m {{ {} }}", inside.replace("LEAF", leaf));
    let schema = Arc::new(parse_message_type(&message).unwrap());
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, Arc::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    let depth = if inside == "LEAF" { 1 } else { 2 };
    let levels: Vec<i16> = values.iter().map(|v| depth - i16::from(v.is_none())).collect();
    let stored: Vec<FixedLenByteArray> = values
        .iter()
        .flatten()
        .map(|parts| {
            let bytes: Vec<u8> = parts.iter().flat_map(|part| part.to_le_bytes()).collect();
            FixedLenByteArray::from(ByteArray::from(bytes))
        })
        .collect();
    let typed = column.typed::<FixedLenByteArrayType>();
    typed.write_batch(&stored, Some(&levels), None).unwrap();
    column.close().unwrap();
    group.close().unwrap();
    writer.into_inner().unwrap()
}

#[test]
fn months_of_intervals_are_left_out_by_neither() {
    for inside in ["LEAF", "optional group s { LEAF }"] {
        let without = [Some([0, 3, 500]), None, Some([0, 0, 0])];
        let [cpu, reference] = both(&intervals(inside, &without)).map(Result::unwrap);
        assert_eq!(cpu, reference);
        assert_eq!((cpu.num_rows(), cpu.column(0).len()), (3, 3));
        let with = [Some([0, 3, 500]), None, Some([7, 0, 0])];
        for found in both(&intervals(inside, &with)) {
            let error = found.unwrap_err();
            assert!(error.to_string().contains("an interval with months"), "{error}");
        }
    }
}

/// Of `a { b { c: [int32] } }` only `a` may be null; where it is, so is what is inside.
#[test]
fn required_lists_in_required_structs_are_null_with_the_outermost() {
    let mut lists = ListBuilder::new(Int32Builder::new());
    for row in 0..100 {
        lists.append_value((0..row % 4).map(Some));
    }
    let lists: ArrayRef = Arc::new(lists.finish());
    let within = |name: &str, inside: ArrayRef, nulls: Option<NullBuffer>| {
        let field = Field::new(name, inside.data_type().clone(), false);
        Arc::new(StructArray::new(vec![field].into(), vec![inside], nulls)) as ArrayRef
    };
    let nulls: NullBuffer = (0..100).map(|row| row % 3 != 0).collect();
    for depth in 1..4 {
        let mut inside = within("c", Arc::clone(&lists), None);
        for _ in 1..depth {
            inside = within("b", inside, None);
        }
        let wanted = within("a", inside, Some(nulls.clone()));
        let wanted = RecordBatch::try_from_iter_with_nullable([("a", wanted, true)]).unwrap();
        let mut writer = ArrowWriter::try_new(Vec::new(), wanted.schema(), None).unwrap();
        writer.write(&wanted).unwrap();
        let [found, _] = both(&writer.into_inner().unwrap());
        let found = found.unwrap();
        assert_eq!(found.column(0).null_count(), 34);
        found.column(0).to_data().validate_full().unwrap();
        let rows = |batch: &RecordBatch| arrowsmith_testkit::render::rows(batch);
        assert_eq!(rows(&found), rows(&wanted), "{depth}");
    }
}
