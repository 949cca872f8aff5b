// SPDX-License-Identifier: Apache-2.0
//! Recognizes other formats in input that should be JSON, for the hint of the error.
//!
//! A guess from the first bytes, made only after reading has failed; no decision depends on it.

/// Magic numbers of common formats, and their descriptions.
const MAGIC: &[(&[u8], &str)] = &[
    (b"ARROW1", "an Arrow IPC file, which only `arrowsmith convert` reads (--format arrow)"),
    (b"\xFF\xFF\xFF\xFF", "an Arrow IPC stream, which is not supported here"),
    (b"PAR1", "a Parquet file: --format parquet reads it"),
    (b"PARE", "a Parquet file whose footer is encrypted, which is not supported"),
    (b"BZh", "compressed with bzip2: --compression-in bzip2 reads it"),
    (b"\xFD7zXZ\0", "compressed with xz: --compression-in xz reads it"),
    (b"PK\x03\x04", "a zip archive, which is not supported: unpack it first"),
    (b"\x1F\x8B", "compressed with gzip: --compression-in gzip reads it"),
    (b"\x28\xB5\x2F\xFD", "compressed with zstd: --compression-in zstd reads it"),
    (b"\x04\x22\x4D\x18", "compressed with lz4: --compression-in lz4 reads it"),
    (
        b"\xFF\x06\0\0sNaPpY",
        "compressed with snappy, which is not supported: gzip, zstd, lz4, bzip2 and xz are",
    ),
    (b"7z\xBC\xAF\x27\x1C", "a 7z archive, which is not supported: unpack it first"),
    (b"Obj\x01", "an Avro file, which is not supported"),
    (b"ORC", "an ORC file, which is not supported"),
    (b"SQLite format 3\0", "an SQLite database, which is not supported"),
    (b"\xFF\xFE", "UTF-16, which is not supported: JSON is UTF-8"),
    (b"\xFE\xFF", "UTF-16, which is not supported: JSON is UTF-8"),
    (b"<?xml", "XML, which is not supported"),
    (b"<!DOCTYPE", "HTML, which is not supported"),
    (b"<html", "HTML, which is not supported"),
    (b"---\n", "YAML, which is not supported"),
];

/// Describes the format that the input probably has, if it is a known one other than JSON.
pub fn guess(text: &[u8]) -> Option<String> {
    let known = MAGIC.iter().find(|(magic, _)| text.starts_with(magic));
    let what = known.map(|(_, what)| *what).or_else(|| separated(text))?;
    Some(format!("this looks like {what}"))
}

/// Recognizes CSV and TSV: the first line consists of names, one separator, and nothing of JSON.
fn separated(text: &[u8]) -> Option<&'static str> {
    let line = text.split(|byte| *byte == b'\n').next()?;
    let begins = line.first().is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'"');
    let is_text = std::str::from_utf8(line).is_ok() && !line.contains(&0);
    let has = |mark| line.contains(&mark);
    if !begins || !is_text || has(b'{') || has(b'[') {
        return None;
    }
    if has(b'\t') {
        return Some(
            "tab-separated values (TSV), which only `arrowsmith convert` reads (--format tsv)",
        );
    }
    (has(b',') || has(b';')).then_some(
        "comma-separated values (CSV), which only `arrowsmith convert` reads (--format csv)",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_known_by_their_first_bytes() {
        for (text, what) in [
            (&b"ARROW1\0\0\xFF\xFF"[..], "an Arrow IPC file"),
            (b"PAR1\x15\x04", "a Parquet file"),
            (b"BZh91AY&SY", "compressed with bzip2"),
            (b"\xFD7zXZ\0\0\x04", "compressed with xz"),
            (b"PK\x03\x04\x14\0", "a zip archive"),
            (b"id,name\n1,x\n", "comma-separated values"),
            (b"\"id\";\"name\"\r\n", "comma-separated values"),
            (b"id\tname", "tab-separated values"),
        ] {
            let said = guess(text).unwrap();
            assert!(said.starts_with(&format!("this looks like {what}")), "{said}");
        }
    }

    #[test]
    fn text_that_might_be_broken_json_is_not_guessed_at() {
        for text in
            [&b""[..], b"hello", b"{\"a\":1,}", b"nul, 1 [", b"+1,2", b"a: {b, c}", b"\0a,b"]
        {
            assert_eq!(guess(text), None, "{}", text.escape_ascii());
        }
    }
}
