// SPDX-License-Identifier: Apache-2.0
//! What text can become in Arrow, before it does: `{}` is two bytes, and a row of every column.
//!
//! Strings take no more than their text. All other types have a width that follows from the schema:
//! that of a row for each line, and that of an item for each comma or brace where the schema has
//! lists. An item that becomes null is as wide as any other. So the bound comes of counting
//! characters, and nothing is allocated for it.

use std::ops::Range;

use arrow_schema::{DataType, Schema};
use arrowsmith_core::OnError;
use arrowsmith_plan::{Node, Op, Plan};

/// Lines of one job, at most: each may become a reject, which takes some hundred bytes.
pub(crate) const LINES_MAX: u64 = 64 << 10;

/// Growth factor of a job below which no exact count is made.
const CHEAP: u64 = 4;

/// What a hash table takes for a value of a dictionary, beside its text, in bits.
const DICTIONARY_VALUE_BITS: u64 = 256;

/// The widths of a schema, in bits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Width {
    /// A row, whatever its record contains.
    row: u64,
    /// The widest list item that is not an object, and the widest entry of a map.
    item: u64,
    /// The widest item of a list of objects.
    object: u64,
    /// Whether what is not an object may be a null item of such a list, besides `null`.
    lenient: bool,
}

/// Some lines of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) range: Range<usize>,
    /// Lines, the last of which may lack a line end.
    pub(crate) lines: u64,
    /// Bytes of Arrow data beyond the size of the text, at most.
    pub(crate) beyond: u64,
}

impl Width {
    /// Of a schema.
    pub(crate) fn of(schema: &Schema) -> Self {
        let mut this = Self::default();
        for field in schema.fields() {
            let bits = this.value(field.data_type());
            this.row = this.row.saturating_add(bits);
        }
        this
    }

    /// The same, where values that do not match become null, or words of the plan are null.
    pub(crate) fn with_nulls(self, plan: &Plan, on_error: OnError) -> Self {
        Self { lenient: on_error == OnError::Null || has_null_words(plan.root()), ..self }
    }

    /// Bytes of a row.
    pub(crate) fn row_bytes(&self) -> u64 {
        self.row.div_ceil(8)
    }

    /// Bits of a value whatever it is, its validity among them. Notes the width of what it may
    /// hold.
    fn value(&mut self, data_type: &DataType) -> u64 {
        let bits = match data_type {
            DataType::Null => 0,
            DataType::Boolean => 1,
            DataType::Utf8 | DataType::Binary => 32,
            DataType::LargeUtf8 | DataType::LargeBinary => 64,
            DataType::Utf8View | DataType::BinaryView => 128,
            DataType::FixedSizeBinary(bytes) => u64::from(bytes.unsigned_abs()).saturating_mul(8),
            DataType::FixedSizeList(item, len) => {
                self.value(item.data_type()).saturating_mul(u64::from(len.unsigned_abs()))
            }
            DataType::Struct(fields) => fields
                .iter()
                .fold(0, |sum: u64, field| sum.saturating_add(self.value(field.data_type()))),
            DataType::List(item) | DataType::ListView(item) => {
                self.items(item.data_type());
                64
            }
            DataType::LargeList(item) | DataType::LargeListView(item) => {
                self.items(item.data_type());
                128
            }
            DataType::Map(entries, _) => {
                // An entry is not an object of its own in the text.
                let bits = self.value(entries.data_type());
                self.item = self.item.max(bits);
                32
            }
            DataType::Dictionary(keys, values) => {
                self.value(keys) + self.value(values) + DICTIONARY_VALUE_BITS
            }
            other => other.primitive_width().map_or(256, |bytes| bytes as u64 * 8),
        };
        bits.saturating_add(1)
    }

    fn items(&mut self, item: &DataType) {
        let bits = self.value(item);
        match item {
            DataType::Struct(_) => self.object = self.object.max(bits),
            _ => self.item = self.item.max(bits),
        }
    }

    fn bytes(&self, lines: u64, items: u64, objects: u64) -> u64 {
        let of = |count: u64, bits: u64| count.saturating_mul(bits);
        let bits = of(lines, self.row)
            .saturating_add(of(items, self.item))
            .saturating_add(of(objects, self.object));
        bits.div_ceil(8)
    }

    /// Bytes of Arrow data of this many lines beyond the size of the text, at most.
    pub(crate) fn beyond(&self, text: &[u8], lines: u64) -> u64 {
        let len = text.len() as u64;
        // Items have at least two characters (`1,`), objects three (`{},`).
        let objects = if self.lenient { len / 2 } else { len / 3 };
        let worst = self.bytes(lines, len / 2 + 1, objects + 1);
        let simple = self.item == 0 && self.object == 0;
        if simple || worst <= len.saturating_mul(CHEAP) {
            return worst.saturating_sub(len);
        }
        let (mut items, mut objects) = (0, 0);
        if self.item > 0 {
            items = memchr::memchr3_iter(b',', b'[', b'{', text).count() as u64;
        }
        if self.object > 0 && self.lenient {
            objects = memchr::memchr_iter(b'{', text).count() as u64 + others(text);
        } else if self.object > 0 {
            objects = memchr::memchr2_iter(b'{', b'n', text).count() as u64;
        }
        self.bytes(lines, items, objects).saturating_sub(len)
    }

    /// Splits text of whole lines into parts of at most `most` bytes of Arrow data beyond their
    /// size; a part of one line may be more. `lines` is the number of line ends in it.
    pub(crate) fn parts(&self, text: &[u8], lines: u64, most: u64) -> Vec<Part> {
        let lines = lines + u64::from(!text.is_empty() && !text.ends_with(b"\n"));
        let beyond = self.beyond(text, lines);
        if lines <= LINES_MAX && beyond <= most {
            return vec![Part { range: 0..text.len(), lines, beyond }];
        }
        let mut parts: Vec<Part> = Vec::new();
        let mut start = 0;
        for end in memchr::memchr_iter(b'\n', text).map(|at| at + 1).chain([text.len()]) {
            if end == start {
                continue;
            }
            let beyond = self.beyond(&text[start..end], 1);
            match parts.last_mut() {
                // The sum over lines is a bound: none uses what another leaves.
                Some(part) if part.lines < LINES_MAX && part.beyond + beyond <= most => {
                    part.range.end = end;
                    part.lines += 1;
                    part.beyond += beyond;
                }
                _ => parts.push(Part { range: start..end, lines: 1, beyond }),
            }
            start = end;
        }
        parts
    }
}

/// Whether some strings are null.
fn has_null_words(node: &Node) -> bool {
    node.coercion.as_ref().is_some_and(|coercion| !coercion.nulls.is_empty())
        || match &node.op {
            Op::List(item) | Op::FixedSizeList(item, _) => has_null_words(item),
            Op::Struct(fields) => fields.iter().any(|field| has_null_words(&field.node)),
            Op::Map { value, .. } => has_null_words(value),
            _ => false,
        }
}

/// At least as many as there are items of lists that are not objects: what follows a bracket or a
/// comma, unless it is a key or begins with a brace.
fn others(text: &[u8]) -> u64 {
    let ends = memchr::memchr2_iter(b',', b'[', text);
    ends.filter(|at| is_other(&text[at + 1..])).count() as u64
}

fn is_other(text: &[u8]) -> bool {
    let text = text.trim_ascii_start();
    let Some((first, rest)) = text.split_first() else { return false };
    if *first != b'"' {
        return *first != b'{';
    }
    let Some(end) = memchr::memchr(b'"', rest) else { return false };
    // After a backslash the string may go on; it is none of the keys that are told then.
    rest[..end].ends_with(b"\\") || !rest[end + 1..].trim_ascii_start().starts_with(b":")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn width(text: &str) -> Width {
        Width::of(&arrowsmith_plan::load::load_schema(text).unwrap())
    }

    #[test]
    fn widths_are_those_of_what_arrow_allocates() {
        assert_eq!(width("a: int64, b: int64").row_bytes(), 17);
        assert_eq!(width("a: fixed_size_binary(2147483647)").row_bytes(), 2_147_483_648);
        assert!(
            width("a: fixed_size_list<fixed_size_list<int64, 2147483647>, 2147483647>").row
                > 1 << 60
        );
        let list = width("a: list<struct<x: int64, y: list<int8>>>");
        assert_eq!((list.object, list.item), (65 + 65 + 1, 9));
    }

    #[test]
    fn text_that_is_as_long_as_its_values_needs_nothing_beyond() {
        let text = b"{\"a\":12345678,\"b\":12345678}\n".repeat(100);
        assert_eq!(width("a: int64, b: int64").beyond(&text, 100), 0);
        let text = b"{\"a\":[18446744073709551615,18446744073709551615]}\n".repeat(100);
        assert_eq!(width("a: list<uint64>").parts(&text, 100, 1 << 20).len(), 1);
    }

    #[test]
    fn empty_objects_count_wherever_they_stand() {
        let wide: Vec<String> = (0..40).map(|n| format!("c{n}: int64")).collect();
        let wide = wide.join(", ");
        let text = b"{}\n".repeat(1000);
        assert!(width(&wide).beyond(&text, 1000) >= 1000 * 317);
        let text = format!("{{\"l\":[{}]}}\n", vec!["{}"; 1000].join(","));
        assert!(
            width(&format!("l: list<struct<{wide}>>")).beyond(text.as_bytes(), 1) >= 1000 * 317
        );
        let text = format!("{{\"l\":[{}]}}\n", vec!["null"; 1000].join(","));
        assert!(
            width(&format!("l: list<struct<{wide}>>")).beyond(text.as_bytes(), 1) >= 1000 * 317
        );
        assert!(
            width("l: list<fixed_size_list<int64, 100>>").beyond(text.as_bytes(), 1) >= 790_000
        );
    }

    /// Found by an attack: 1,215 bytes of gzip took a gigabyte.
    #[test]
    fn items_that_become_null_count_whatever_they_are() {
        let wide: Vec<String> = (0..40).map(|n| format!("c{n}: int64")).collect();
        let schema = format!("l: list<struct<{}>>", wide.join(", "));
        let plan = |schema: &str| {
            Plan::new(arrowsmith_plan::load::load_schema(schema).unwrap().into()).unwrap()
        };
        let of = |schema: &str, on_error: OnError| {
            let plan = plan(schema);
            Width::of(plan.schema()).with_nulls(&plan, on_error)
        };
        let strict = of(&schema, OnError::Skip);
        assert!(!strict.lenient);
        let words = of(&format!("{schema} nulls \"-\""), OnError::Skip);
        let null = of(&schema, OnError::Null);
        let items =
            ["1", " 1", "\"\"", "\"-\" ", "\"\\\":\"", "\"a\\\\\"", "[]", "true", "-0", "null"];
        for item in items {
            let text = format!("{{\"l\":[{}]}}\n", vec![item; 1000].join(","));
            for width in [&null, &words] {
                assert!(width.beyond(text.as_bytes(), 1) >= 1000 * 317, "{item}");
            }
        }
        // Keys, and what is in objects, are not items.
        let text = "{\"l\":[{\"c0\":1, \"c1\" :[2]},{\"c2\":3,\"c3\":{}}]}";
        assert_eq!(others(text.as_bytes()), 1);
        assert_eq!((others(b""), others(b"["), others(b"[ ,\"")), (0, 0, 1));
    }

    #[test]
    fn parts_are_whole_lines_within_the_bound_and_are_all_of_the_text() {
        let width = width("a: fixed_size_binary(1000)");
        let text = b"{}\n".repeat(100).into_iter().chain(*b"{\"a\":1}").collect::<Vec<u8>>();
        let parts = width.parts(&text, 100, 10_000);
        assert_eq!(parts.len(), 11);
        assert_eq!(parts.iter().map(|part| part.lines).sum::<u64>(), 101);
        let mut at = 0;
        for part in &parts {
            assert!(part.beyond <= 10_000 && part.range.start == at);
            assert!(part.range.end == text.len() || text[..part.range.end].ends_with(b"\n"));
            at = part.range.end;
        }
        assert_eq!(at, text.len());
        assert_eq!(width.parts(&text, 100, 10).len(), 101, "a line cannot be parted");
        let none = Width::default();
        assert_eq!(none.parts(&b"\n".repeat(200_000), 200_000, 0).len(), 4);
        assert_eq!(none.parts(b"", 0, 0).len(), 1);
    }
}
