// SPDX-License-Identifier: Apache-2.0
//! The kinds of values at every place of records, one record per line: what another program's rules
//! need to choose types.
//!
//! Nothing is decided here. Where [`crate::infer`] joins kinds to types of its own, this keeps the
//! set of the kinds seen, so that any rule of types that does not depend on the order of the values
//! can be applied to it. What such rules may read differently is *left*: a line that is not one
//! object in strict JSON, that repeats a key, or that exceeds a limit has no effect, and its
//! position is returned.
//!
//! ```
//! use arrowsmith_json::kinds::Kinds;
//!
//! let mut kinds = Kinds::default();
//! let lines = b"{\"a\":1}\n{\"a\":\"x\",\"b\":[2.5]}\nno JSON\n";
//! assert_eq!(kinds.observe(lines)?, lines.len());
//! assert_eq!(kinds.left(), [28]);
//! assert_eq!(
//!     kinds.to_string(),
//!     r#"{"seen":["object"],"fields":{"a":{"seen":["integer","string"]},"#.to_owned()
//!         + r#""b":{"seen":["list"],"items":{"seen":["float"]}}}}"#
//! );
//! # Ok::<(), arrowsmith_core::Error>(())
//! ```

mod text;
mod tree;
mod walk;

use arrowsmith_core::{PADDING_BYTES, Result, memory};
use arrowsmith_simd::{Input, Level};

use tree::Tree;
use walk::Lines;

/// Bytes whose UTF-8 is checked together, so that they are in the cache when they are read.
const BLOCK_BYTES: usize = 64 << 10;

/// Maximum number of lines that are left before the caller takes their positions.
const LEFT_MAX: usize = 8192;

/// The kinds of values at every place of records.
#[derive(Debug, Default)]
pub struct Kinds {
    tree: Tree,
    left: Vec<usize>,
}

impl Kinds {
    /// Adds the records of some lines; the last may lack its line feed. Returns the number of bytes
    /// that were read: fewer than there are if many lines were left. [`Kinds::left`] then has the
    /// positions of those that this call left.
    ///
    /// # Errors
    /// If there is no memory for a copy of the last line.
    pub fn observe(&mut self, text: &[u8]) -> Result<usize> {
        self.left.clear();
        // Vectors are read beyond the end of a line: the last lines are copied.
        let safe = text.len().saturating_sub(PADDING_BYTES);
        let whole = memchr::memrchr(b'\n', &text[..safe]).map_or(0, |at| at + 1);
        let read = self.blocks(text, whole, 0);
        if read < whole {
            return Ok(read);
        }
        let len = text.len() - whole;
        let mut last = memory::vec_with_capacity(len + PADDING_BYTES)?;
        last.extend_from_slice(&text[whole..]);
        // Bounded: within the capacity.
        last.resize(len + PADDING_BYTES, 0);
        Ok(whole + self.blocks(&last, len, whole))
    }

    /// The positions of the lines that the last call left, in ascending order.
    pub fn left(&self) -> &[usize] {
        &self.left
    }

    /// Reads the lines of `padded[..end]`, which begins at `offset` in the text; returns the bytes
    /// that were read.
    fn blocks(&mut self, padded: &[u8], end: usize, offset: usize) -> usize {
        let mut at = 0;
        while at < end && self.left.len() < LEFT_MAX {
            let near = (at + BLOCK_BYTES).min(end);
            let to = memchr::memchr(b'\n', &padded[near..end]).map_or(end, |len| near + len + 1);
            let block = &padded[at..to];
            let is_utf8 = block.is_ascii() || std::str::from_utf8(block).is_ok();
            let Some(input) = Input::new(padded, to) else { break };
            let (tree, left) = (&mut self.tree, &mut self.left);
            at = Level::get().dispatch(Lines { tree, left, input, at, offset, is_utf8 });
        }
        at
    }
}
