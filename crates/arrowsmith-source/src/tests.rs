// SPDX-License-Identifier: Apache-2.0
//! Inputs of every kind return their bytes, or an error that names them.

use std::fs;
use std::io::{self, BufReader, Cursor, Read, Write};
use std::path::Path;
use std::sync::atomic::Ordering;

use arrowsmith_core::Error;
use tempfile::tempdir;

use crate::gzip::Gzip;
use crate::{Compression, Content, Input, OpenOptions, Source, expand, expand_all};

/// Text that is longer than every buffer between a file and its reader.
fn text() -> Vec<u8> {
    let mut text = Vec::new();
    for number in 0..200_000 {
        text.extend_from_slice(format!("{{\"n\":{number}}}\n").as_bytes());
    }
    text
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

/// A BGZF member: it says how long it is.
fn bgzf_member(data: &[u8]) -> Vec<u8> {
    let mut encoder =
        flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(data).unwrap();
    let deflated = encoder.finish().unwrap();
    let mut crc = flate2::Crc::new();
    crc.update(data);
    let size = u16::try_from(18 + deflated.len() + 8 - 1).unwrap();
    let mut member = b"\x1F\x8B\x08\x04\0\0\0\0\0\xFF\x06\0BC\x02\0".to_vec();
    member.extend(size.to_le_bytes());
    member.extend(deflated);
    member.extend(crc.sum().to_le_bytes());
    member.extend(crc.amount().to_le_bytes());
    member
}

/// Members of about this size, and the empty one that marks the end.
fn bgzf_of(text: &[u8], bytes: usize) -> Vec<u8> {
    let members = text.chunks(bytes).chain([&b""[..]]).map(bgzf_member);
    members.collect::<Vec<_>>().concat()
}

fn bgzf(text: &[u8]) -> Vec<u8> {
    bgzf_of(text, 60_000)
}

fn zstd(text: &[u8]) -> Vec<u8> {
    zstd::encode_all(text, 1).unwrap()
}

fn lz4(text: &[u8]) -> Vec<u8> {
    let mut encoder = lz4_flex::frame::FrameEncoder::new(Vec::new());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

#[cfg(feature = "bzip2")]
fn bzip2(text: &[u8]) -> Vec<u8> {
    let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

#[cfg(feature = "xz")]
fn xz(text: &[u8]) -> Vec<u8> {
    liblzma::encode_all(text, 0).unwrap()
}

type Encode = fn(&[u8]) -> Vec<u8>;
const ENCODERS: &[(&str, Encode)] = &[
    ("gzip", gzip),
    ("bgzf", bgzf),
    ("zstd", zstd),
    ("lz4", lz4),
    #[cfg(feature = "bzip2")]
    ("bzip2", bzip2),
    #[cfg(feature = "xz")]
    ("xz", xz),
];

fn read(source: Source) -> io::Result<Vec<u8>> {
    match source.content {
        Content::Whole(bytes) => Ok((*bytes).as_ref().to_vec()),
        Content::Stream(mut stream) => {
            let mut bytes = Vec::new();
            stream.read_to_end(&mut bytes).map(|_| bytes)
        }
    }
}

fn read_bytes(bytes: Vec<u8>) -> io::Result<Vec<u8>> {
    read(Input::bytes(bytes).open(&OpenOptions::default()).unwrap())
}

#[test]
fn every_compression_is_found_in_files_memory_and_readers() {
    let folder = tempdir().unwrap();
    let text = text();
    for (name, encode) in ENCODERS.iter().copied() {
        let packed = encode(&text);
        let path = folder.path().join("no-extension");
        fs::write(&path, &packed).unwrap();
        let options = OpenOptions::default();
        let inputs = [
            Input::Path(path),
            Input::bytes(packed.clone()),
            Input::reader(Cursor::new(packed.clone())),
        ];
        for input in inputs {
            let before = options.bytes_read.load(Ordering::Relaxed);
            let source = input.open(&options).unwrap();
            assert!(matches!(source.content, Content::Stream(_)), "{name}");
            assert!(read(source).unwrap() == text, "{name}");
            let counted = options.bytes_read.load(Ordering::Relaxed) - before;
            assert_eq!(counted, packed.len() as u64, "{name}");
        }
    }
}

#[test]
fn members_and_frames_one_after_another_are_read_through() {
    let text = text();
    for (name, encode) in ENCODERS.iter().copied() {
        let (first, second) = text.split_at(text.len() / 3);
        let packed = [encode(first), encode(b""), encode(second)].concat();
        assert!(read_bytes(packed).unwrap() == text, "{name}");
    }
}

#[test]
fn a_file_that_is_cut_short_is_an_error_after_what_was_good() {
    let text = text();
    for (name, encode) in ENCODERS.iter().copied() {
        let packed = encode(&text);
        for missing in [1, 4, 5, 8, 9, packed.len() / 2] {
            let cut = packed[..packed.len() - missing].to_vec();
            let source = Input::bytes(cut).open(&OpenOptions::default()).unwrap();
            let Content::Stream(mut stream) = source.content else { panic!("{name}") };
            let mut bytes = Vec::new();
            let error = stream.read_to_end(&mut bytes).expect_err(name);
            assert_eq!(
                error.kind(),
                io::ErrorKind::UnexpectedEof,
                "{name} less {missing}: {error}"
            );
            assert!(text.starts_with(&bytes), "{name}");
            // An lz4 block has up to 4 MiB, and is returned entirely or not at all.
            let enough = missing > 9 || name == "lz4" || bytes.len() > text.len() / 2;
            assert!(enough, "{name} less {missing}: {}", bytes.len());
        }
    }
}

/// Everything up to an error, and whether there was one.
fn all_of(mut reader: impl Read) -> (Vec<u8>, bool) {
    let mut bytes = Vec::new();
    let failed = reader.read_to_end(&mut bytes).is_err();
    (bytes, failed)
}

#[test]
fn members_that_say_how_long_they_are_are_read_like_others() {
    let text = text();
    let decoded = |packed: &[u8], threads| {
        let buffered = BufReader::with_capacity(20_000, packed);
        all_of(Gzip::new(buffered, threads))
    };
    let mixed = [bgzf_of(&text, 700), gzip(&text), bgzf_of(&text, 65_000)].concat();
    for packed in [bgzf(&text), bgzf_of(&text, 300), bgzf_of(b"", 1), mixed.clone()] {
        let expected = all_of(flate2::bufread::MultiGzDecoder::new(&packed[..]));
        assert!(!expected.1);
        for threads in [0, 1, 2, 5, 100] {
            assert!(decoded(&packed, threads) == expected, "{threads} threads");
        }
    }
    // Whatever is wrong, the data before it is there, and nothing that is wrong is.
    let mut seed = 7_u64;
    let mut random = |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        usize::try_from(seed >> 33).unwrap() % below
    };
    let short = &text[..text.len().min(9_000)];
    let whole = bgzf_of(short, 500);
    let mut refused = 0;
    for round in 0..2_000 {
        let mut packed = whole.clone();
        match round % 3 {
            0 => packed.truncate(random(packed.len())),
            1 => packed[random(whole.len())] ^= 1 << random(8),
            _ => packed.insert(random(whole.len()), 0x1F),
        }
        let expected = all_of(flate2::bufread::MultiGzDecoder::new(&packed[..]));
        let found = decoded(&packed, 1 + round % 3);
        if found.1 {
            // A length that is wrong is seen by those who use it.
            refused += 1;
            // What has no length is checked after it was read.
            let is_good = short.starts_with(&found.0) || expected.0.starts_with(&found.0);
            assert!(is_good, "round {round}");
            let good = expected.0.iter().zip(short).take_while(|(one, other)| one == other).count();
            let lost = good.saturating_sub(found.0.len());
            assert!(lost <= 1_000 || !expected.1, "round {round}: {lost} bytes");
        } else {
            assert!(found == expected, "round {round}");
        }
    }
    assert!(refused > 1_000, "{refused}");
}

#[test]
fn an_lz4_file_cut_between_blocks_is_an_error() {
    // lz4_flex accepts this as the end of the input.
    let packed = lz4(&text());
    let first_block = u32::from_le_bytes(packed[7..11].try_into().unwrap()) & 0x7FFF_FFFF;
    let cut = packed[..11 + first_block as usize].to_vec();
    assert_eq!(read_bytes(cut).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
}

#[test]
fn damage_is_an_error() {
    let text = text();
    for (name, encode) in ENCODERS.iter().copied() {
        let mut packed = encode(&text);
        let middle = packed.len() / 2;
        for byte in &mut packed[middle..middle + 8] {
            *byte ^= 0x5A;
        }
        match read_bytes(packed) {
            Err(_) => {}
            // Neither zstd's command nor lz4_flex writes checksums by default.
            Ok(bytes) => assert!(bytes != text && name != "gzip", "{name}"),
        }
    }
}

#[test]
fn compression_can_be_given() {
    let packed = gzip(b"[1]");
    let none = OpenOptions { compression: Compression::None, ..OpenOptions::default() };
    assert_eq!(read(Input::bytes(packed.clone()).open(&none).unwrap()).unwrap(), packed);
    let zstd = OpenOptions { compression: Compression::Zstd, ..OpenOptions::default() };
    assert!(read(Input::bytes(packed).open(&zstd).unwrap()).is_err());
    assert_eq!(Compression::from_name("zst"), Some(Compression::Zstd));
    assert_eq!(Compression::from_name("rar"), None);
}

#[test]
fn plain_files_are_mapped_and_can_be_streamed() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("plain.json.gz");
    fs::write(&path, b"{}\n").unwrap();
    let source = Input::from(path.as_path()).open(&OpenOptions::default()).unwrap();
    assert_eq!(source.name.as_deref(), path.to_str());
    assert!(matches!(source.content, Content::Whole(_)));
    assert_eq!(read(source).unwrap(), b"{}\n");
    let streamed = OpenOptions { map_files: false, ..OpenOptions::default() };
    let source = Input::Path(path.clone()).open(&streamed).unwrap();
    assert!(matches!(source.content, Content::Stream(_)));
    assert_eq!(read(source).unwrap(), b"{}\n");
    assert_eq!(Input::Path(path).stored_bytes(), Some(3));
}

#[test]
fn short_inputs_are_what_they_are() {
    let folder = tempdir().unwrap();
    for text in [&b""[..], b"1", b"12", b"123", b"1234", &[0x1F], &[0x28, 0xB5, 0x2F]] {
        let path = folder.path().join("short");
        fs::write(&path, text).unwrap();
        let reader = Input::reader(Cursor::new(text.to_vec()));
        for input in [Input::Path(path), Input::bytes(text.to_vec()), reader] {
            let source = input.open(&OpenOptions::default()).unwrap();
            assert_eq!(read(source).unwrap(), text);
        }
    }
}

#[test]
fn errors_name_the_file() {
    let folder = tempdir().unwrap();
    let missing = folder.path().join("missing.json");
    for path in [missing.as_path(), folder.path()] {
        match Input::from(path).open(&OpenOptions::default()) {
            Err(Error::Io { path: Some(named), .. }) => assert_eq!(named, path),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_reader_that_fails_or_panics_fails_the_stream() {
    struct Bad(bool, bool);
    impl Read for Bad {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            if std::mem::replace(&mut self.0, false) {
                let head = gzip(b"{}");
                buffer[..10].copy_from_slice(&head[..10]);
                return Ok(10);
            }
            assert!(!self.1, "a reader that panics");
            Err(io::Error::other("the line is down"))
        }
    }
    for (panics, words) in
        [(false, "the line is down"), (true, "ended before the end of the input")]
    {
        let options = OpenOptions { compression: Compression::Gzip, ..OpenOptions::default() };
        let source = Input::reader(Bad(true, panics)).open(&options).unwrap();
        let error = read(source).unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
    }
}

fn names(inputs: &[Input]) -> Vec<String> {
    let name = |input: &Input| match input {
        Input::Path(path) => path.file_name().unwrap().to_str().unwrap().to_owned(),
        other => format!("{other:?}"),
    };
    inputs.iter().map(name).collect()
}

#[test]
fn patterns_give_files_in_the_order_of_their_names() {
    let folder = tempdir().unwrap();
    for name in ["b.json", "a.json", "c.txt", ".hidden.json", "[x].json"] {
        fs::write(folder.path().join(name), b"").unwrap();
    }
    fs::create_dir(folder.path().join("d.json")).unwrap();
    fs::create_dir(folder.path().join("sub")).unwrap();
    fs::write(folder.path().join("sub/z.json"), b"").unwrap();
    let at = |name: &str| folder.path().join(name);
    assert_eq!(names(&expand(at("*.json")).unwrap()), ["[x].json", "a.json", "b.json"]);
    assert_eq!(names(&expand(at("[x].json")).unwrap()), ["[x].json"]);
    assert_eq!(names(&expand(at("[ab].json")).unwrap()), ["a.json", "b.json"]);
    let deep = names(&expand(at("**/?.json")).unwrap());
    assert_eq!(deep, ["a.json", "b.json", "z.json"]);
    assert_eq!(names(&expand(at("gone.json")).unwrap()), ["gone.json"]);
    fs::create_dir(at(".sub")).unwrap();
    fs::write(at(".sub/y.json"), b"").unwrap();
    assert_eq!(names(&expand(at("**/?.json")).unwrap()), deep);
    assert_eq!(names(&expand(at(".*.json")).unwrap()), [".hidden.json"]);
    assert_eq!(names(&expand(at(".s*/*.json")).unwrap()), ["y.json"]);
    #[cfg(target_os = "linux")]
    {
        use std::os::unix::ffi::OsStrExt;
        let name = std::ffi::OsStr::from_bytes(b"\xff.json");
        fs::write(folder.path().join(name), b"").unwrap();
        assert_eq!(names(&expand(at("[ab].json")).unwrap()), ["a.json", "b.json"]);
    }
    let all = expand_all(&[at("c.txt"), at("a.json"), Path::new("-").to_owned()]).unwrap();
    assert_eq!(names(&all), ["c.txt", "a.json", "Stdin"]);
}

#[test]
fn a_pattern_without_files_is_an_error_that_names_it() {
    let folder = tempdir().unwrap();
    for pattern in ["*.json", "a[.json", "a**b*"] {
        let path = folder.path().join(pattern);
        match expand(&path) {
            Err(error @ Error::Io { .. }) => {
                assert!(error.to_string().contains(pattern), "{error}")
            }
            other => panic!("{other:?}"),
        }
    }
    assert!(matches!(expand_all(&["-", "-"]), Err(Error::Config(_))));
}
