// SPDX-License-Identifier: Apache-2.0
//! Every key is found, and nothing else is, whatever the keys have in common.

use arrowsmith_simd::{Kernel, Level};

use super::*;

struct Find<'a> {
    table: &'a KeyTable,
    input: Input<'a>,
    len: usize,
}

impl Kernel for Find<'_> {
    type Output = Found;

    #[inline(always)]
    fn run<I: Isa>(self, isa: I) -> Found {
        self.table.find(isa, self.input, 2, self.len)
    }
}

/// Looks `key` up as it is in a text.
fn find(table: &KeyTable, key: &str) -> Found {
    let mut text = [b",\"", key.as_bytes(), b"\":1"].concat();
    let end = text.len();
    text.resize(end + PADDING_BYTES, b'"');
    let input = Input::new(&text, end).unwrap();
    let found: Vec<Found> = Level::available()
        .into_iter()
        .map(|level| level.dispatch(Find { table, input, len: key.len() }))
        .collect();
    assert!(found.windows(2).all(|pair| pair[0] == pair[1]), "{key}: {found:?}");
    found[0]
}

fn table(keys: &[String]) -> KeyTable {
    KeyTable::new(keys.iter().map(|key| (&**key, Fast::I64)))
}

/// Every key is found, and no variation of a key.
fn check(keys: &[String]) {
    let table = table(keys);
    assert!(table.complete, "{} keys, such as {:?}", keys.len(), keys.first());
    for (field, key) in keys.iter().enumerate() {
        assert_eq!(find(&table, key), Found::Field(field, Fast::I64), "{key}");
        for other in [format!("{key}x"), format!("x{key}"), key.replacen('e', "f", 1)] {
            if other.len() <= KEY_BYTES_MAX && !keys.contains(&other) {
                assert_eq!(find(&table, &other), Found::Unknown, "{other}");
            }
        }
    }
}

fn numbered(count: usize, name: impl Fn(usize) -> String) -> Vec<String> {
    (0..count).map(name).collect()
}

#[test]
fn keys_that_have_much_in_common_are_told_apart() {
    for count in [1, 2, 3, 40, 64, 65, 200] {
        check(&numbered(count, |i| format!("{i}")));
        check(&numbered(count, |i| format!("field_{i:02}")));
        check(&numbered(count, |i| format!("{i}_of_a_tail_that_is_long")));
        check(&numbered(count, |i| format!("a_head_that_is_long_{i}")));
        check(&numbered(count, |i| format!("a_long_head_{i:03}_and_a_long_tail")));
        check(&numbered(count.min(63), |i| "e".repeat(i + 1)));
        check(&numbered(count.min(62), |i| format!("{}\u{e9}", "x".repeat(i.min(61)))));
    }
    check(&[String::new()]);
    check(&[String::new(), "a".to_owned(), "b".to_owned(), "ab".to_owned(), "ba".to_owned()]);
}

#[test]
fn thousands_of_keys_take_memory_in_proportion() {
    for count in [1_000, 10_000] {
        let keys = numbered(count, |i| format!("{:x}_key", i.wrapping_mul(0x9E37_79B9)));
        let table = table(&keys);
        assert!(table.complete);
        assert!(table.entries.len() <= 4 * count && table.displacements.len() <= 2 * count);
        for (field, key) in keys.iter().enumerate() {
            assert_eq!(find(&table, key), Found::Field(field, Fast::I64), "{key}");
        }
    }
}

#[test]
fn no_keys_are_no_field() {
    let table = table(&[]);
    assert_eq!(find(&table, ""), Found::Unknown);
    assert_eq!(find(&table, "a"), Found::Unknown);
    assert_eq!(find(&KeyTable::default(), "a"), Found::Unsure);
}

#[test]
fn keys_that_hash_alike_are_looked_for_elsewhere() {
    // No position of the first word distinguishes all of these.
    let name =
        |i: usize| format!("{}{:02}{}", "h".repeat(8 + i % 3 * 8), i, "t".repeat(32 - i % 3 * 8));
    let alike = numbered(99, name);
    let table = table(&alike);
    for (field, key) in alike.iter().enumerate() {
        let found = find(&table, key);
        assert!(matches!(found, Found::Unsure) || found == Found::Field(field, Fast::I64), "{key}");
    }
    // Thousands of equal hashes end soon.
    let many = numbered(5_000, |i| format!("{}{:06}{}", "h".repeat(50), i, "t".repeat(7)));
    let table = KeyTable::new(many.iter().map(|key| (&**key, Fast::I64)));
    assert!(many.iter().enumerate().all(|(field, key)| match find(&table, key) {
        Found::Field(found, _) => found == field,
        Found::Unknown => false,
        Found::Unsure => true,
    }));
}

#[test]
fn keys_that_need_an_escape_or_are_long_are_not_in_the_table() {
    let keys = ["a\"b", "a\\b", "a\tb", &"long".repeat(16), "plain"].map(str::to_owned);
    let table = table(&keys);
    assert!(table.complete);
    assert_eq!(find(&table, "plain"), Found::Field(4, Fast::I64));
    assert_eq!(find(&table, &"long".repeat(15)), Found::Unknown);
    assert_eq!(table.keys.iter().filter(|key| key.len > 0).count(), 1);
}

#[test]
fn bytes_beside_a_key_do_not_matter() {
    let table = table(&numbered(40, |i| format!("k{i}")));
    let mut text = b"{\"k7\":0,\"k7\": 1,\"k77\":2".to_vec();
    let end = text.len();
    text.resize(end + PADDING_BYTES, 0);
    let input = Input::new(&text, end).unwrap();
    let hash = |at, len| table.hash.of(input, at, len);
    assert_eq!(hash(2, 2), hash(9, 2));
    assert_ne!(hash(2, 2), hash(17, 3));
}
