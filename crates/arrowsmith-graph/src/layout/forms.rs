// SPDX-License-Identifier: Apache-2.0
//! How the elements of a container lie in memory, as libstdc++ lays them out.
//!
//! On the wire all containers are vectors; their form decides where a reader puts the elements, and
//! which order it demands. The links between the nodes are made by [`crate::wire`] and by the
//! runtime of generated C++.

use serde::{Deserialize, Serialize};

use super::{Element, Kind, LayoutError, Member};

/// Bytes of a block of a `std::deque`, whose elements are not larger.
const BLOCK_BYTES: u32 = 512;

/// The form of a container in memory.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(tag = "as", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Form {
    /// A `std::vector`: one element after another.
    #[default]
    Vector,
    /// A `std::deque`: blocks of elements, and a table of the blocks.
    Deque,
    /// A `std::list`: nodes in a ring.
    List,
    /// A `std::map`, `set`, `multimap` or `multiset`: nodes in a red-black tree.
    Tree {
        /// The order of the elements.
        keys: Keys,
    },
    /// An unordered one of these: nodes in a chain, and buckets.
    Hash {
        /// The order of the elements on the wire.
        keys: Keys,
        /// Whether nodes keep the hash of their key.
        cached: bool,
    },
}

/// The keys of a map or set.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Keys {
    /// The members of an element by which elements are ordered, the first one first; none if only
    /// the program knows the order, which is then not checked.
    pub members: Vec<u32>,
    /// Whether all keys differ.
    pub unique: bool,
    /// Whether the greatest key is the first.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub descending: bool,
    /// Whether elements are pairs of a key and a value.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub map: bool,
}

/// Where the content of a container is, relative to its first byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Content {
    /// All bytes.
    pub bytes: u64,
    /// The required alignment.
    pub align: u64,
    /// The first element.
    pub first: u64,
    /// The distance of two elements.
    pub stride: u64,
}

impl Form {
    pub(super) const fn is_vector(&self) -> bool {
        matches!(self, Self::Vector)
    }

    /// The keys of a map or set.
    pub const fn keys(&self) -> Option<&Keys> {
        match self {
            Self::Tree { keys } | Self::Hash { keys, .. } => Some(keys),
            Self::Vector | Self::Deque | Self::List => None,
        }
    }

    /// The name of the form, as in JSON.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Vector => "vector",
            Self::Deque => "deque",
            Self::List => "list",
            Self::Tree { .. } => "tree",
            Self::Hash { .. } => "hash",
        }
    }

    /// Words of the container itself.
    pub(super) const fn words(&self) -> u32 {
        match self {
            Self::Vector | Self::List => 3,
            Self::Deque => 10,
            Self::Tree { .. } => 6,
            Self::Hash { .. } => 7,
        }
    }
}

impl Element {
    /// The elements in a block of a deque.
    pub(crate) fn per_block(&self) -> u64 {
        u64::from((BLOCK_BYTES / self.size.max(1)).max(1))
    }

    /// The content of a container of this many elements. It does not overflow: `length` is a number
    /// of 32 bits, and sizes are limited.
    pub(crate) fn content(&self, length: u64, word: u64) -> Content {
        let (size, own) = (u64::from(self.size), u64::from(self.align));
        let align = own.max(word);
        let head = match self.form {
            Form::Vector => {
                return Content { bytes: length * size, align: own, first: 0, stride: size };
            }
            Form::Deque => {
                let blocks = length / self.per_block() + 1;
                let first = (blocks * word).next_multiple_of(own);
                return Content { bytes: first + length * size, align, first, stride: size };
            }
            Form::List => 2 * word,
            Form::Tree { .. } => 4 * word,
            Form::Hash { .. } => word,
        };
        let first = head.next_multiple_of(own);
        let end = match self.form {
            Form::Hash { cached: true, .. } => (first + size).next_multiple_of(word) + word,
            _ => first + size,
        };
        let stride = end.next_multiple_of(align);
        let buckets = match (&self.form, buckets(length)) {
            (Form::Hash { .. }, count @ 2..) => count * word,
            _ => 0,
        };
        Content { bytes: length * stride + buckets, align, first, stride }
    }

    /// Checks the keys.
    pub(super) fn check_form(&self, path: &str) -> Result<(), LayoutError> {
        let bad = |message: &str| Err(LayoutError::new(path, message));
        let Some(keys) = self.form.keys() else { return Ok(()) };
        let mut found: Vec<&Member> = Vec::new();
        for &index in &keys.members {
            let member = usize::try_from(index).ok().and_then(|index| self.members.get(index));
            let Some(member) = member else { return bad("has a key that is not a member") };
            let ordered = matches!(
                member.kind,
                Kind::Integer(_) | Kind::Float { .. } | Kind::String | Kind::View
            );
            if !ordered || found.len() >= self.members.len() {
                return bad("has a key that has no order");
            }
            found.push(member);
        }
        let is_hash = matches!(self.form, Form::Hash { .. });
        let hashed = match found.as_slice() {
            [key] => key.count == 1 && !matches!(key.kind, Kind::Float { .. }),
            _ => false,
        };
        if is_hash && (!hashed || keys.descending) {
            return bad("has a key whose hash is unknown");
        }
        Ok(())
    }
}

/// The number of buckets for this many elements: at least as many, and without small divisors, as
/// keys are often multiples of a number.
pub(crate) fn buckets(length: u64) -> u64 {
    let mut count = length | 1;
    while count > 1 && [3, 5, 7].iter().any(|divisor| count.is_multiple_of(*divisor)) {
        count += 2;
    }
    count
}
