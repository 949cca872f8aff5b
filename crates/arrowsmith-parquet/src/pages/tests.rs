// SPDX-License-Identifier: Apache-2.0
//! The page cursor over files that the `parquet` crate writes, and over malformed ones.

use std::io::Write;
use std::sync::Arc;

use arrow_array::{Int32Array, RecordBatch, StringArray};
use arrowsmith_core::{Error, FileErrorKind, Limits};
use arrowsmith_simd::Buf;
use arrowsmith_source::FileReader;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding as TheirEncoding};
use parquet::file::properties::{WriterProperties, WriterVersion};

use super::*;
use crate::file::Tail;
use crate::header::{Encoding, LevelEncoding};
use crate::index::page_locations;

fn file(properties: WriterProperties) -> Bytes {
    let numbers = Int32Array::from_iter((0..1000).map(|i| (i % 7 != 0).then_some(i)));
    let words = StringArray::from_iter_values((0..1000).map(|i| format!("word {}", i % 5)));
    let batch = RecordBatch::try_from_iter_with_nullable([
        ("n", Arc::new(numbers) as _, true),
        ("s", Arc::new(words) as _, false),
    ])
    .unwrap();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    bytes.into()
}

fn small_pages(version: WriterVersion, codec: Compression) -> WriterProperties {
    WriterProperties::builder()
        .set_writer_version(version)
        .set_compression(codec)
        .set_data_page_row_count_limit(100)
        .set_write_batch_size(50)
        .set_column_dictionary_enabled("n".into(), false)
        .set_column_encoding("n".into(), TheirEncoding::PLAIN)
        .build()
}

fn open(bytes: &Bytes) -> File {
    File::open(bytes.clone(), &Limits::default()).unwrap()
}

#[test]
fn pages_come_one_by_one() {
    for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
        for codec in [Compression::UNCOMPRESSED, Compression::SNAPPY] {
            let file = open(&file(small_pages(version, codec)));
            let mut pages = Pages::new(&file, 0, 0).unwrap().verify_checksums(true);
            for page in 0..10 {
                let info = pages.peek().unwrap().unwrap();
                assert_eq!((info.count, info.rows, info.dictionary), (100, Some(100), false));
                assert_eq!(pages.ordinal(), page);
                let Some(Page::Data(data)) = pages.next().unwrap() else { panic!("no page") };
                assert_eq!(
                    (data.count, data.rows, data.encoding),
                    (100, Some(100), Encoding::Plain)
                );
                assert_eq!((data.def.max, data.def.bit_width(), data.rep.max), (1, 1, 0));
                let nulls = (page * 100..page * 100 + 100).filter(|i| i % 7 == 0).count();
                assert_eq!(data.values.len(), (100 - nulls) * 4);
                if version == WriterVersion::PARQUET_2_0 {
                    assert_eq!(data.nulls, Some(nulls));
                }
                assert_eq!(data.shared.is_some(), codec == Compression::UNCOMPRESSED);
                if codec != Compression::UNCOMPRESSED {
                    assert!(data.readable.len() >= data.values.len() + 128);
                }
            }
            assert!(pages.next().unwrap().is_none());
            assert!(pages.peek().unwrap().is_none());
            // The second column begins with its dictionary; the buffers go on.
            let mut pages = Pages::with_buffers(&file, 0, 1, pages.take_buffers()).unwrap();
            let Some(Page::Dictionary(page)) = pages.next().unwrap() else { panic!("no page") };
            assert_eq!((page.count, page.values.len()), (5, 5 * (4 + 6)));
            let Some(Page::Data(page)) = pages.next().unwrap() else { panic!("no page") };
            assert_eq!((page.encoding, page.def.max), (Encoding::Dictionary, 0));
            assert_eq!(page.nulls, Some(0));
        }
    }
}

/// Pages that a reader decompresses by itself are those that the cursor decompresses.
#[test]
fn packed_pages_become_the_pages_that_are_read() {
    for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
        let bytes = file(small_pages(version, Compression::SNAPPY));
        for (file, leaf) in [(open(&bytes), 0), (open(&bytes), 1), (from_disk(&bytes).1, 1)] {
            let mut packed = Pages::new(&file, 0, leaf).unwrap().verify_checksums(true);
            let mut plain = Pages::new(&file, 0, leaf).unwrap();
            let mut codec = crate::codec::decompressor(Compression::SNAPPY).unwrap();
            let mut count = 0;
            while let Some(expected) = plain.next().unwrap() {
                // Nothing is skipped where the reader does not take it.
                assert!(packed.next_packed(|_| false).unwrap().is_none());
                let Some(page) = packed.next_packed(|bytes| !bytes.is_empty()).unwrap() else {
                    // Pages of version 2 that compression does not shorten are stored.
                    packed.next().unwrap().unwrap();
                    continue;
                };
                count += 1;
                let mut unpacked = vec![0; page.unpacked_bytes];
                codec.decompress(page.packed, &mut unpacked).unwrap();
                match expected {
                    Page::Dictionary(expected) => {
                        assert!(page.dictionary && page.v1_levels.is_none());
                        assert_eq!((page.count, &unpacked[..]), (expected.count, expected.values));
                    }
                    Page::Data(expected) => {
                        assert_eq!((page.dictionary, page.count), (false, expected.count));
                        assert_eq!(page.encoding, expected.encoding);
                        assert!(unpacked.ends_with(expected.values));
                        if version == WriterVersion::PARQUET_2_0 {
                            assert_eq!(
                                (page.rep, page.def),
                                (expected.rep.bytes, expected.def.bytes)
                            );
                            assert_eq!(unpacked, expected.values);
                        } else {
                            let runs = Some(LevelEncoding::Rle);
                            assert_eq!(page.v1_levels, Some((runs, runs)));
                        }
                    }
                }
            }
            assert!(count > 5, "{count}");
            assert!(packed.next_packed(|_| true).unwrap().is_none());
        }
    }
}

#[test]
fn pages_are_skipped_and_sought() {
    let file = open(&file(small_pages(WriterVersion::PARQUET_1_0, Compression::SNAPPY)));
    let locations = page_locations(&file, 0, 0).unwrap().unwrap();
    assert_eq!(locations.len(), 10);
    assert_eq!(locations[3].rows, 300..400);
    let mut pages = Pages::new(&file, 0, 0).unwrap();
    for _ in 0..3 {
        pages.skip().unwrap();
    }
    assert_eq!(pages.peek().unwrap().unwrap().offset, locations[3].offset);
    let read = |pages: &mut Pages| match pages.next().unwrap() {
        Some(Page::Data(page)) => page.values.to_vec(),
        other => panic!("{other:?}"),
    };
    let third = read(&mut pages);
    pages.seek(locations[9].offset);
    let last = read(&mut pages);
    assert_ne!(third, last);
    assert!(pages.next().unwrap().is_none());
    pages.seek(locations[3].offset);
    assert_eq!(read(&mut pages), third);
}

/// The same file, of which only the metadata is in memory.
fn from_disk(bytes: &Bytes) -> (std::fs::File, File) {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(bytes).unwrap();
    let reader = Arc::new(FileReader::new(file.try_clone().unwrap()));
    let (length, limits) = (bytes.len() as u64, Limits::default());
    let Tail::More(more) =
        File::open_tail(None, bytes.slice(bytes.len() - 8..), length, &limits).unwrap()
    else {
        panic!("a file of eight bytes");
    };
    let tail = bytes.slice(bytes.len() - more..);
    let Tail::File(opened) = File::open_tail(None, tail, length, &limits).unwrap() else {
        panic!("more than it said");
    };
    (file, opened.with_source(reader))
}

/// Levels and values of all pages that `take` takes; the others are skipped.
fn contents(file: &File, leaf: usize, leave: bool, take: fn(usize) -> bool) -> Vec<Vec<u8>> {
    let mut pages = Pages::new(file, 0, leaf).unwrap().verify_checksums(!leave).leave_values(leave);
    let mut all = Vec::new();
    while pages.peek().unwrap().is_some() {
        if !take(pages.ordinal()) {
            pages.skip().unwrap();
            continue;
        }
        all.push(match pages.next().unwrap().unwrap() {
            Page::Dictionary(page) => page.values.to_vec(),
            Page::Data(page) => {
                assert!(page.readable.starts_with(page.values));
                let mut stored = Buf::<i32>::default();
                if let Some(values) = page.stored {
                    values.read(0, 1, &mut stored).unwrap();
                    values.read(4, page.count - 1, &mut stored).unwrap();
                    assert!(values.read(4, page.count, &mut stored).is_err());
                    assert!(values.read(usize::MAX, 1, &mut stored).is_err());
                }
                let stored = stored.as_slice().iter().flat_map(|value| value.to_le_bytes());
                [page.def.bytes, page.values, &stored.collect::<Vec<_>>()].concat()
            }
        });
    }
    all
}

#[test]
fn a_window_gives_what_memory_gives() {
    let numbers = Int32Array::from_iter_values((0..3000).map(|i: i32| i.wrapping_mul(7919)));
    let words = StringArray::from_iter((0..3000).map(|i| (i % 9 > 0).then(|| format!("w{i}"))));
    let batch = RecordBatch::try_from_iter_with_nullable([
        ("n", Arc::new(numbers) as _, false),
        ("s", Arc::new(words) as _, true),
    ])
    .unwrap();
    for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
        for codec in [Compression::UNCOMPRESSED, Compression::SNAPPY] {
            // Pages from much smaller than a window to many times its size.
            for page_rows in [3, 40, 70, 1000] {
                let properties = WriterProperties::builder()
                    .set_writer_version(version)
                    .set_compression(codec)
                    .set_data_page_row_count_limit(page_rows)
                    .set_write_batch_size(page_rows)
                    .set_column_dictionary_enabled("n".into(), false)
                    .set_column_encoding("n".into(), TheirEncoding::PLAIN)
                    .build();
                let mut bytes = Vec::new();
                let schema = batch.schema();
                let mut writer =
                    ArrowWriter::try_new(&mut bytes, schema, Some(properties)).unwrap();
                writer.write(&batch).unwrap();
                writer.close().unwrap();
                let bytes = Bytes::from(bytes);
                let (disk, file) = from_disk(&bytes);
                for leaf in [0, 1] {
                    for take in [|_| true, |page| page % 3 == 1, |page| page % 3 > 0] {
                        let wanted = contents(&open(&bytes), leaf, false, take);
                        assert_eq!(contents(&file, leaf, false, take), wanted);
                        assert_eq!(contents(&file, leaf, true, take), wanted);
                    }
                }
                // A file that is truncated meanwhile is an error, wherever.
                for length in [bytes.len() / 2, 100, 0] {
                    disk.set_len(length as u64).unwrap();
                    let mut pages = Pages::new(&file, 0, 1).unwrap();
                    let error = loop {
                        match pages.next() {
                            Ok(page) => assert!(page.is_some()),
                            Err(error) => break error,
                        }
                    };
                    assert!(matches!(error, Error::Io { .. }), "{error}");
                }
            }
        }
    }
}

#[test]
fn parts_of_a_file_are_enough() {
    let bytes = file(small_pages(WriterVersion::PARQUET_1_0, Compression::UNCOMPRESSED));
    let length = bytes.len() as u64;
    let limits = Limits::default();
    let tail = |count: usize| bytes.slice(bytes.len() - count..);
    let Tail::More(more) = File::open_tail(None, tail(8), length, &limits).unwrap() else {
        panic!("a file of eight bytes");
    };
    let Tail::File(file) = File::open_tail(None, tail(more), length, &limits).unwrap() else {
        panic!("more than it said");
    };
    let error = Pages::new(&file, 0, 1).unwrap().next().unwrap_err();
    assert_eq!(error.as_file().unwrap().kind, FileErrorKind::Truncated);
    // The chunk in two pieces, split between pages.
    let range = file.chunk_range(0, 0).unwrap();
    let whole = open(&bytes);
    let cut = page_locations(&whole, 0, 0).unwrap().unwrap()[4].offset;
    let piece = |from: u64, to: u64| {
        (from, bytes.slice(usize::try_from(from).unwrap()..usize::try_from(to).unwrap()))
    };
    let file = file.with_pieces([piece(range.start, cut), piece(cut, range.end)]);
    let mut pages = Pages::new(&file, 0, 0).unwrap();
    let mut count = 0;
    while let Some(page) = pages.next().unwrap() {
        assert!(matches!(page, Page::Data(_)));
        count += 1;
    }
    assert_eq!(count, 10);
}

fn kind(error: &Error) -> FileErrorKind {
    error.as_file().unwrap().kind
}

#[test]
fn the_limit_of_a_page_is_kept() {
    let bytes = file(small_pages(WriterVersion::PARQUET_1_0, Compression::SNAPPY));
    let limits = Limits::default().with_page_bytes_max(100);
    let file = File::open_named(Some("x.parquet".into()), bytes, &limits).unwrap();
    let error = Pages::new(&file, 0, 0).unwrap().next().unwrap_err();
    assert_eq!(kind(&error), FileErrorKind::Limit);
    let text = error.to_string();
    assert!(
        text.starts_with("x.parquet, row group 0, column n, page 0, byte 4: limit: "),
        "{text}"
    );
    assert!(text.contains("page_bytes_max is 100"), "{text}");
}

#[test]
fn any_changed_byte_is_an_error_or_a_page() {
    for codec in
        [Compression::UNCOMPRESSED, Compression::SNAPPY, Compression::ZSTD(Default::default())]
    {
        let bytes = file(small_pages(WriterVersion::PARQUET_2_0, codec));
        for at in 0..bytes.len() {
            for flip in [0x01, 0x80, 0xff] {
                let mut changed = bytes.to_vec();
                changed[at] ^= flip;
                let Ok(file) = File::open(changed.into(), &Limits::default()) else { continue };
                for row_group in 0..file.row_groups().min(2) {
                    for leaf in 0..2 {
                        let Ok(mut pages) = Pages::new(&file, row_group, leaf) else { continue };
                        while let Ok(Some(page)) = pages.next() {
                            if let Page::Data(page) = page {
                                assert!(page.readable.starts_with(page.values));
                            }
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn a_page_has_no_more_nulls_than_values() {
    let bytes = file(small_pages(WriterVersion::PARQUET_2_0, Compression::UNCOMPRESSED));
    // After the page header's sizes and its checksum: DataPageHeaderV2 {1: 100, 2: 15, 3: 100, …}.
    let counts = [0x15, 200, 1, 0x15, 30, 0x15, 200, 1];
    let at = bytes.windows(counts.len()).position(|window| window == counts).unwrap();
    for (place, value) in [(4, 0x7e), (6, 202)] {
        let mut changed = bytes.to_vec();
        changed[at + place] = value;
        if place == 4 {
            // 15 nulls become 63, which is fine.
            assert!(Pages::new(&open(&changed.into()), 0, 0).unwrap().next().is_ok());
        } else {
            let error = Pages::new(&open(&changed.into()), 0, 0).unwrap().next().unwrap_err();
            assert_eq!(kind(&error), FileErrorKind::Corrupt, "{error}");
            assert!(error.to_string().contains("101 rows"), "{error}");
        }
    }
}

#[test]
fn files_that_are_none_are_refused() {
    let open = |bytes: &[u8]| File::open(Bytes::copy_from_slice(bytes), &Limits::default());
    assert_eq!(kind(&open(b"").unwrap_err()), FileErrorKind::Format);
    assert_eq!(kind(&open(b"PAR1").unwrap_err()), FileErrorKind::Format);
    assert_eq!(kind(&open(b"PAR1 no parquet").unwrap_err()), FileErrorKind::Format);
    assert_eq!(kind(&open(b"PAR1\xff\xff\xff\x0fPAR1").unwrap_err()), FileErrorKind::Truncated);
    let error = open(b"PARE\x00\x00\x00\x00PARE").unwrap_err();
    assert_eq!(kind(&error), FileErrorKind::Encrypted);
    assert!(error.to_string().contains("decrypt"));
    let whole = file(small_pages(WriterVersion::PARQUET_1_0, Compression::SNAPPY));
    for cut in (0..whole.len()).step_by(37) {
        assert!(open(&whole[..cut]).is_err());
    }
    let limits = Limits::default().with_metadata_bytes_max(10);
    assert_eq!(kind(&File::open(whole, &limits).unwrap_err()), FileErrorKind::Limit);
}

/// Metadata whose schema nests, or counts, more than there is.
#[test]
fn schemas_that_would_cost_much_are_refused() {
    let build = |elements: &[u8], count: u8| {
        // {1: i32 1, 2: list of struct}
        let mut metadata = vec![0x15, 2, 0x19, 0xfc, count];
        metadata.extend_from_slice(elements);
        metadata.push(0);
        let length = u32::try_from(metadata.len()).unwrap();
        let mut file = b"PAR1".to_vec();
        file.extend(metadata);
        file.extend(length.to_le_bytes());
        file.extend(b"PAR1");
        File::open(file.into(), &Limits::default()).unwrap_err()
    };
    // Groups {4: "a", 5: 1}, each with one child, 120 deep … and one too many.
    let group = [0x48, 1, b'a', 0x15, 2, 0];
    let deep = build(&group.repeat(127), 127);
    assert_eq!(kind(&deep), FileErrorKind::Corrupt);
    let wide = build(&[0x48, 1, b'a', 0x15, 0xfe, 0xff, 0xff, 0xff, 0x0f, 0], 1);
    assert!(wide.to_string().contains("more children"), "{wide}");
    let none = build(&[0x48, 1, b'a', 0x15, 3, 0], 1);
    assert!(none.to_string().contains("negative number of children"), "{none}");
}

mod properties {
    use proptest::prelude::*;

    use crate::header::PageHeader;

    proptest! {
        #[test]
        fn any_bytes_are_a_header_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            if let Ok(header) = PageHeader::read(&bytes) {
                prop_assert!(header.header_bytes <= bytes.len());
            }
        }
    }
}

/// Pages of version 2 as parquet-cpp-arrow wrote them before 3.0.0: compressed, and saying that
/// they are not.
#[test]
fn old_pages_of_version_2_are_compressed_whatever_they_say() {
    for (created_by, sound) in
        [("parquet-cpp-arrow version 2.0.0", true), ("parquet-cpp-arrow version 4.0.0", false)]
    {
        let properties = WriterProperties::builder()
            .set_writer_version(WriterVersion::PARQUET_2_0)
            .set_compression(Compression::SNAPPY)
            .set_created_by(created_by.to_owned())
            .set_column_dictionary_enabled("n".into(), false)
            .set_column_encoding("n".into(), TheirEncoding::PLAIN)
            .build();
        let bytes = file(properties);
        let whole = open(&bytes);
        let mut pages = Pages::new(&whole, 0, 0).unwrap();
        let Some(Page::Data(page)) = pages.next().unwrap() else { panic!("no page") };
        let wanted = page.values.to_vec();
        let start = usize::try_from(whole.chunk_range(0, 0).unwrap().start).unwrap();
        // The end of the header: no repetition levels, compressed.
        let mut old = bytes.to_vec();
        let flag = old[start..].windows(3).position(|window| window == [0x15, 0, 0x11]).unwrap();
        old[start + flag + 2] = 0x12;
        let old = open(&old.into());
        let mut pages = Pages::new(&old, 0, 0).unwrap();
        let Some(Page::Data(page)) = pages.next().unwrap() else { panic!("no page") };
        assert_eq!(page.values == wanted, sound, "{created_by}");
    }
}
