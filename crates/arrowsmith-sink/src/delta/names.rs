// SPDX-License-Identifier: Apache-2.0
//! Names in a log: of its own files by their versions, and of the files of the table,
//! percent-encoded.

use std::collections::BTreeMap;

/// The last version: they are signed numbers to others.
const VERSION_MAX: u64 = i64::MAX as u64;

/// The name of a commit in the log.
pub(super) fn commit_name(version: u64) -> String {
    format!("{version:020}.json")
}

/// The files of a log by their versions.
#[derive(Default)]
pub(super) struct Names {
    commits: Vec<u64>,
    /// By version and number of parts, the parts.
    checkpoints: BTreeMap<(u64, u64), BTreeMap<u64, String>>,
    /// Those whose names have a unique part.
    unique: BTreeMap<u64, String>,
}

impl Names {
    pub(super) fn new(names: &[String]) -> Self {
        let mut found = Self::default();
        for name in names {
            let words: Vec<&str> = name.split('.').collect();
            let number = |text: &str| {
                let digits = text.bytes().all(|byte| byte.is_ascii_digit());
                digits.then(|| text.parse::<u64>().ok()).flatten()
            };
            let version = words.first().filter(|w| w.len() == 20).and_then(|w| number(w));
            let Some(version) = version.filter(|version| *version < VERSION_MAX) else { continue };
            let part = match words.as_slice() {
                [_, "json"] => {
                    found.commits.push(version);
                    None
                }
                [_, "checkpoint", "parquet"] => Some((1, 1)),
                [_, "checkpoint", _, "json" | "parquet"] => {
                    found.unique.insert(version, name.clone());
                    None
                }
                [_, "checkpoint", part, parts, "parquet"] => number(part).zip(number(parts)),
                _ => None,
            };
            if let Some((part, parts)) = part {
                let checkpoint = found.checkpoints.entry((version, parts)).or_default();
                checkpoint.insert(part, name.clone());
            }
        }
        found
    }

    /// The last version.
    pub(super) fn last(&self) -> Option<u64> {
        let checkpoint = self.checkpoint().map(|(version, _)| version);
        self.commits.iter().copied().chain(checkpoint).max()
    }

    /// The last checkpoint that has all of its parts.
    pub(super) fn checkpoint(&self) -> Option<(u64, Vec<&String>)> {
        let complete = self.checkpoints.iter().rev().find(|((_, parts), found)| {
            found.len() as u64 == *parts && found.keys().copied().eq(1..=*parts)
        });
        let complete = complete.map(|((version, _), parts)| (*version, parts.values().collect()));
        let unique = self.unique.last_key_value().map(|(version, name)| (*version, vec![name]));
        complete.into_iter().chain(unique).max_by_key(|(version, _)| *version)
    }
}

/// Bytes that a path in a log has as they are.
fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-_.~/=".contains(&byte)
}

/// A path as a log has it.
pub(super) fn encoded(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for byte in path.bytes() {
        match is_plain(byte) {
            true => out.push(char::from(byte)),
            false => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

/// The path that a log has; `None` if it is malformed.
pub(super) fn decoded(path: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        rest = after;
        if first != b'%' {
            bytes.push(first);
            continue;
        }
        let digits = std::str::from_utf8(after.get(..2)?).ok()?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = after.get(2..)?;
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_decoded_as_they_are_encoded() {
        for (path, text) in [
            ("a/b.parquet", "a/b.parquet"),
            ("k=a%2Fb/ä b.parquet", "k=a%252Fb/%C3%A4%20b.parquet"),
            ("k=+&#?", "k=%2B%26%23%3F"),
        ] {
            assert_eq!(encoded(path), text);
            assert_eq!(decoded(text).as_deref(), Some(path));
        }
        for malformed in ["%", "%2", "%zz", "%ff"] {
            assert_eq!(decoded(malformed), None, "{malformed}");
        }
    }

    #[test]
    fn the_last_complete_checkpoint_counts() {
        let names: Vec<String> = [
            "00000000000000000001.json",
            "00000000000000000002.checkpoint.parquet",
            "00000000000000000003.checkpoint.0000000001.0000000002.parquet",
            "00000000000000000004.json",
            "00000000000000000001.checkpoint.0b0f.parquet",
            "00000000000000000005.checkpoint.0b0f.crc",
            ".00000000000000000009.json.x.tmp",
            "_last_checkpoint",
            "9.json",
            "+0000000000000000009.json",
            "09223372036854775807.json",
            "18446744073709551615.checkpoint.parquet",
        ]
        .map(str::to_owned)
        .to_vec();
        let found = Names::new(&names);
        assert_eq!(found.last(), Some(4));
        assert_eq!(found.checkpoint(), Some((2, vec![&names[1]])));
        let more = [&names[..], &[names[2].replace("1.00", "2.00")]].concat();
        let found = Names::new(&more);
        let (version, parts) = found.checkpoint().unwrap();
        assert_eq!((version, parts.len()), (3, 2));
        let unique = "00000000000000000005.checkpoint.0b0f-1.json".to_owned();
        let more = [&more[..], std::slice::from_ref(&unique)].concat();
        let found = Names::new(&more);
        assert_eq!((found.checkpoint(), found.last()), (Some((5, vec![&unique])), Some(5)));
        assert_eq!(Names::new(&[]).last(), None);
    }
}
