// SPDX-License-Identifier: Apache-2.0
//! Structures in device memory: tables of a plan, pages of a column.

use super::Shared;

/// Defines structures: for each field its name, its type here, and its type in C++.
macro_rules! shared {
    ($(
        $(#[doc = $about:literal])+
        struct $name:ident {
            $($(#[doc = $note:literal])* $field:ident: $host:ty => $device:literal,)+
        }
    )+) => {
        $(
            $(#[doc = $about])+
            #[derive(Debug, Clone, Copy, Default)]
            #[repr(C)]
            pub struct $name {
                $($(#[doc = $note])* pub $field: $host,)+
            }

            impl Shared for $name {
                const BYTES: usize = size_of::<$name>();

                fn write(&self, out: &mut Vec<u8>) {
                    $(out.extend(self.$field.to_le_bytes());)+
                }
            }

            // Padding would be missing from the written bytes.
            const _: () = assert!(size_of::<$name>() == 0 $(+ size_of::<$host>())+);
        )+

        /// The same in C++.
        #[cfg(test)]
        pub(super) fn structures_in_cpp() -> String {
            let mut text = String::new();
            $(
                $(text += &format!("//{}\n", $about);)+
                text += &format!("struct {} {{\n", stringify!($name));
                $(
                    $(text += &format!("    //{}\n", $note);)*
                    text += &format!("    {}{};\n", $device, stringify!($field));
                )+
                text += &format!(
                    "}};\nstatic_assert(sizeof({0}) == {1}, \"{0} of src/abi\");\n\n",
                    stringify!($name),
                    $name::BYTES,
                );
            )+
            text
        }
    };
}

shared! {
    /// A node of a plan. Children of a node are contiguous.
    struct Node {
        /// A `Kind`.
        kind: u32 => "u32 ",
        nullable: u32 => "u32 ",
        /// First child.
        first: u32 => "u32 ",
        /// Fields of a struct, items of a fixed-size list.
        count: u32 => "u32 ",
        /// The counter of a list or map; the words of seen fields of a struct.
        slot: u32 => "u32 ",
        /// Struct: its first key.
        keys: u32 => "u32 ",
        /// Struct: its hash table.
        table: u32 => "u32 ",
        /// Struct: the size of its hash table less one.
        table_mask: u32 => "u32 ",
        /// The first entry of the nodes that become null with it.
        under: u32 => "u32 ",
        /// The number of these entries.
        unders: u32 => "u32 ",
        /// List: whether a record has at most one.
        once: u32 => "u32 ",
    }

    /// A node that becomes null with an ancestor: `times` values for each value of the ancestor.
    struct Under {
        node: u32 => "u32 ",
        times: u32 => "u32 ",
    }

    /// The text of a key, which a quote follows.
    struct Key {
        /// A multiple of eight.
        at: u32 => "u32 ",
        /// NONE for a key that JSON can only write with escapes.
        len: u32 => "u32 ",
    }

    /// The arrays of a node.
    struct Column {
        /// Of a leaf: the token of each value, NONE for a null. Of a list or map: the end offset of
        /// each value in its child, after a first 0.
        tokens: u64 => "u32 *",
        /// Of nested nodes: a byte that marks presence. Of kept JSON text: the last token.
        valid: u64 => "u8 *",
        /// Of lists of scalars: the token of the first item; NONE for a null of fixed size.
        firsts: u64 => "u32 *",
    }

    /// From a value to the parent value: lists by their ends, fixed-size lists by division.
    struct Hop {
        ends: u64 => "const u32 *",
        count: u64 => "u64 ",
        /// Items of a fixed-size list; 0 for other lists.
        size: u64 => "u64 ",
    }

    /// The 128 most significant bits of a power of five.
    struct Power {
        high: u64 => "u64 ",
        low: u64 => "u64 ",
    }

    /// A Parquet page in device memory.
    struct PageDesc {
        values: u64 => "const u8 *",
        values_len: u64 => "u64 ",
        /// Definition levels in runs; if none, every value is present.
        levels: u64 => "const u8 *",
        levels_len: u64 => "u64 ",
        /// Repetition levels, for lists.
        reps: u64 => "const u8 *",
        reps_len: u64 => "u64 ",
        /// Entries, nulls included.
        count: u64 => "u64 ",
        /// Entries before the page.
        first: u64 => "u64 ",
        /// A `PageEncoding`.
        encoding: u64 => "u64 ",
        /// Non-null values before the page: computed on the device if there may be nulls.
        value_first: u64 => "u64 ",
        /// Non-null values in the page: likewise.
        value_count: u64 => "u64 ",
        /// If its values are split among many blocks.
        chain: u64 => "const struct ChainTask *",
    }

    /// A page that the device decompresses.
    struct UnpackTask {
        from: u64 => "const u8 *",
        from_len: u64 => "u64 ",
        /// Less than 2^31 bytes, the number in the page's header.
        to: u64 => "u8 *",
        to_len: u64 => "u64 ",
        /// Scratch memory of a block: the literals of Zstandard.
        aside: u64 => "u8 *",
        /// `Cut`s.
        cuts: u64 => "u64 ",
        /// The page that these bytes belong to; if none, the dictionary.
        page: u64 => "PageDesc *",
        /// If it is split among many blocks.
        chain: u64 => "const struct ChainTask *",
        /// Where it is noted that it is malformed.
        bad: u64 => "u32 *",
    }

    /// A copy between the device and pinned memory of the host.
    struct CopyPart {
        to: u64 => "u8 *",
        from: u64 => "const u8 *",
        bytes: u64 => "u64 ",
    }

    /// A page that is split among many blocks, by the chain of its elements.
    struct ChainTask {
        /// A `ChainForm`.
        form: u64 => "u64 ",
        /// The page whose values it has; none for compressed bytes.
        page: u64 => "const PageDesc *",
        /// Set by the host for compressed bytes, else on the device.
        from: u64 => "const u8 *",
        from_len: u64 => "u64 ",
        /// Bytes, or values, that it makes.
        want: u64 => "u64 ",
        /// Of compressed bytes: the output, and where it is noted that they are malformed.
        to: u64 => "u8 *",
        bad: u64 => "u32 *",
        /// For each byte: where the chain from it leaves its segment (lower half, from the start
        /// of the segment), and the output on the way. There is room for this many.
        exits: u64 => "u64 *",
        room: u64 => "u64 ",
        /// Its first segment, how many there are, and its first unit.
        segment: u64 => "u64 ",
        segments: u64 => "u64 ",
        unit: u64 => "u64 ",
        /// Computed on the device: where its first element is.
        start: u64 => "u64 ",
        /// Values before it, of all pages.
        value_first: u64 => "u64 ",
        /// Of Zstandard: maximum bytes of a block.
        per_block: u64 => "u64 ",
        /// Whether one block decodes the page after all, because something was unexpected.
        serial: u64 => "u64 ",
    }

    /// A page of deltas: what its header says, and where its blocks end.
    struct DeltaPage {
        values: u64 => "const u8 *",
        len: u64 => "u64 ",
        /// Values and miniblocks of a block.
        per_block: u64 => "u64 ",
        minis: u64 => "u64 ",
        first: u64 => "u64 ",
        end: u64 => "u64 ",
        /// Its first block of deltas, and the same as of the page.
        slot: u64 => "u64 ",
        value_first: u64 => "u64 ",
        value_count: u64 => "u64 ",
        /// Where values go: bytes of each in the array, 0 for words, 1 for lengths.
        width: u64 => "u64 ",
    }

    /// A block of a Zstandard page that is split.
    struct ZstdBlock {
        chain: u64 => "ChainTask *",
        /// Its content, without the header; its kind there: 0 raw, 1 a repeated byte, 2 compressed.
        from: u64 => "const u8 *",
        size: u64 => "u64 ",
        kind: u64 => "u64 ",
        /// Of a compressed block: room for its literals; how many there are, and their bytes in it.
        literals: u64 => "u8 *",
        literal_count: u64 => "u64 ",
        literal_bytes: u64 => "u64 ",
        /// Room for its sequences and their end, three words each; and how many there are.
        sequences: u64 => "u32 *",
        sequence_count: u64 => "u64 ",
        /// Earlier blocks (NONE: itself, or none) that describe its Huffman tree and its tables.
        tree_from: u64 => "u64 ",
        lengths_from: u64 => "u64 ",
        offsets_from: u64 => "u64 ",
        matches_from: u64 => "u64 ",
        /// Computed on the device: where its literals are, the bytes it makes, and the last three
        /// offsets after it, which may be those before it.
        read: u64 => "const u8 *",
        made: u64 => "u64 ",
        last: u64 => "u64 ",
        second: u64 => "u64 ",
        third: u64 => "u64 ",
    }
}
