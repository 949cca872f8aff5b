// SPDX-License-Identifier: Apache-2.0
//! Deletion vectors of a table's files: where they are, by the
//! [protocol](https://github.com/delta-io/delta/blob/master/PROTOCOL.md#deletion-vectors).

use arrowsmith_source::deletion_vector::{Rows, count, parse, parse_stored};

use super::actions::DeletionVector;

/// Maximum size of a file of vectors, in bytes.
pub(super) const FILE_BYTES_MAX: u64 = 256 << 20;

/// Characters of an id in the text that places a vector.
const ID_CHARACTERS: usize = 20;

/// The digits of base 85, as in ZeroMQ's RFC 32.
const DIGITS: &[u8; 85] =
    b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#";

/// Where a vector is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum At {
    Here(Vec<u8>),
    /// In a file, whose path is relative to the table, from this byte on.
    File(String, usize),
}

impl DeletionVector {
    /// Where it is; what is not supported otherwise.
    pub(super) fn at(&self) -> Result<At, String> {
        let text = &self.path_or_inline_dv;
        let malformed = || format!("a deletion vector at {text:?}");
        match self.storage_type.as_str() {
            "i" => {
                let mut bytes = decoded(text.as_bytes()).ok_or_else(malformed)?;
                // Padded to whole words.
                let size = usize::try_from(self.size_in_bytes).unwrap_or(0);
                if size > bytes.len() || bytes.len() - size >= 4 {
                    return Err(malformed());
                }
                bytes.truncate(size);
                Ok(At::Here(bytes))
            }
            "u" => {
                let split = text.len().checked_sub(ID_CHARACTERS);
                let (folder, id) =
                    split.and_then(|at| text.split_at_checked(at)).ok_or_else(malformed)?;
                let id = decoded(id.as_bytes()).ok_or_else(malformed)?;
                let is_within =
                    !folder.starts_with('/') && folder.split('/').all(|part| part != "..");
                let (16, true) = (id.len(), is_within) else { return Err(malformed()) };
                let mut name = String::new();
                for (index, byte) in id.iter().enumerate() {
                    let dash = if matches!(index, 4 | 6 | 8 | 10) { "-" } else { "" };
                    name += &format!("{dash}{byte:02x}");
                }
                let slash = if folder.is_empty() || folder.ends_with('/') { "" } else { "/" };
                let offset = usize::try_from(self.offset.unwrap_or(0)).map_err(|_| malformed())?;
                Ok(At::File(format!("{folder}{slash}deletion_vector_{name}.bin"), offset))
            }
            other => Err(format!("deletion vectors of storage {other:?}")),
        }
    }

    /// The deleted rows, by the bytes of the vector.
    pub(super) fn rows(&self, bytes: &[u8]) -> Result<Rows, String> {
        self.counted(parse(bytes)?)
    }

    /// The deleted rows, by the bytes of a file.
    pub(super) fn rows_of_file(&self, bytes: &[u8], offset: usize) -> Result<Rows, String> {
        let bytes = bytes.get(offset..).ok_or("a deletion vector beyond its file")?;
        let (size, rows) = parse_stored(bytes)?;
        match i64::try_from(size) == Ok(self.size_in_bytes) {
            true => self.counted(rows),
            false => Err("a deletion vector of another size than the log says".to_owned()),
        }
    }

    fn counted(&self, rows: Rows) -> Result<Rows, String> {
        match i64::try_from(count(&rows)) == Ok(self.cardinality) {
            true => Ok(rows),
            false => {
                Err("a deletion vector of another number of rows than the log says".to_owned())
            }
        }
    }
}

/// Text of base 85 as bytes: five characters are four.
fn decoded(text: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 5 * 4);
    for word in text.chunks(5) {
        let word: &[u8; 5] = word.try_into().ok()?;
        let value = word.iter().try_fold(0_u64, |value, character| {
            let digit = DIGITS.iter().position(|digit| digit == character)?;
            Some(value * 85 + digit as u64)
        });
        bytes.extend(u32::try_from(value?).ok()?.to_be_bytes());
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vector(storage: &str, text: &str, size: i64) -> DeletionVector {
        DeletionVector {
            storage_type: storage.to_owned(),
            path_or_inline_dv: text.to_owned(),
            size_in_bytes: size,
            ..DeletionVector::default()
        }
    }

    #[test]
    fn places_are_those_of_the_protocol() {
        // The examples of RFC 32 and of the protocol, the last one in the portable form.
        assert_eq!(
            decoded(b"HelloWorld").unwrap(),
            [0x86, 0x4f, 0xd2, 0x6f, 0xb5, 0x59, 0xf7, 0x5b]
        );
        let file = vector("u", "ab^-aqEH.-t@S}K{vb[*k^", 0).at().unwrap();
        let path = "ab/deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin";
        assert_eq!(file, At::File(path.to_owned(), 0));
        let inline = vector("i", "^Bg9^0rr910000000000iXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L", 44);
        let At::Here(bytes) = inline.at().unwrap() else { panic!("a file") };
        let rows = parse(&bytes).unwrap();
        assert_eq!(*rows, [3..5, 7..8, 11..12, 18..19, 29..30]);
    }

    #[test]
    fn malformed_places_are_refused() {
        for (storage, text, size) in [
            ("p", "/a/b.bin", 40),
            ("", "", 0),
            ("i", "wi5b=", 5),
            ("i", "wi5b=", 0),
            ("i", "wi5b", 4),
            ("i", "\u{e9}i5b", 4),
            ("i", "#####", 4),
            ("u", "short", 4),
            ("u", "\u{e9}^-aqEH.-t@S}K{vb[*k", 4),
            ("u", "../^-aqEH.-t@S}K{vb[*k^", 4),
            ("u", "/a^-aqEH.-t@S}K{vb[*k^", 4),
        ] {
            vector(storage, text, size).at().unwrap_err();
        }
        let mut file = vector("u", "", 4);
        file.offset = Some(-1);
        assert!(file.at().is_err());
    }
}
