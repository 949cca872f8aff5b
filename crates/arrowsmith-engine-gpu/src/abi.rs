// SPDX-License-Identifier: Apache-2.0
//! The structures that the host writes and the kernels read, defined once: here for the host, in
//! `kernels/abi.cuh` for the kernels, which a test keeps equal to these definitions. It is the
//! layout only; what fills the structures is in `json` and `parquet`.

/// A structure in device memory: its fields in order, little-endian, without padding.
pub(crate) trait Shared: Copy {
    /// Bytes of one structure.
    const BYTES: usize;

    /// Appends the bytes of one structure.
    fn write(&self, out: &mut Vec<u8>);
}

/// The bytes of an array of structures.
pub(crate) fn bytes_of<T: Shared>(items: &[T]) -> Vec<u8> {
    let mut out = Vec::with_capacity(items.len() * T::BYTES);
    items.iter().for_each(|item| item.write(&mut out));
    out
}

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
            pub(crate) struct $name {
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

        /// `kernels/abi.cuh`.
        #[cfg(test)]
        fn header() -> String {
            let mut text = String::from(HEAD);
            $(
                $(text += &format!("//{}\n", $about);)+
                text += &format!("struct {} {{\n", stringify!($name));
                $(
                    $(text += &format!("    //{}\n", $note);)*
                    text += &format!("    {}{};\n", $device, stringify!($field));
                )+
                text += &format!(
                    "}};\nstatic_assert(sizeof({0}) == {1}, \"{0} of src/abi.rs\");\n\n",
                    stringify!($name),
                    $name::BYTES,
                );
            )+
            text + "#endif\n"
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
    }

    /// A node that becomes null with an ancestor: `times` values for each value of the ancestor.
    struct Under {
        node: u32 => "u32 ",
        times: u32 => "u32 ",
    }

    /// The text of a key.
    struct Key {
        at: u32 => "u32 ",
        /// NONE for a key that JSON can only write with escapes.
        len: u32 => "u32 ",
    }

    /// The arrays of a node.
    struct Column {
        /// Of a leaf: the position of each value's text (and its end for kept JSON text). Of a list
        /// or map: the end offset of each value in its child, after a first 0.
        places: u64 => "u32 *",
        /// Of nested nodes: a byte that marks presence.
        valid: u64 => "u8 *",
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
        /// Non-null values before the page: computed on the device.
        value_first: u64 => "u64 ",
        /// Non-null values in the page: computed on the device, except for a dictionary.
        value_count: u64 => "u64 ",
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
        /// `Cuts`.
        cuts: u64 => "u64 ",
        /// The page that these bytes belong to; if none, the dictionary.
        page: u64 => "PageDesc *",
    }
}

#[cfg(test)]
const HEAD: &str = "// SPDX-License-Identifier: Apache-2.0
// The structures that the host writes and the kernels read. Generated from src/abi.rs by its test;
// do not edit.
#ifndef ARROWSMITH_ABI_CUH
#define ARROWSMITH_ABI_CUH
#include \"common.cuh\"

";

#[cfg(test)]
mod tests {
    use super::*;

    /// The kernels' definitions are the host's; ARROWSMITH_UPDATE_SNAPSHOTS=1 writes them.
    #[test]
    fn kernels_have_the_hosts_structures() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/kernels/abi.cuh");
        if std::env::var_os("ARROWSMITH_UPDATE_SNAPSHOTS").is_some() {
            std::fs::write(path, header()).unwrap();
        }
        assert_eq!(std::fs::read_to_string(path).unwrap(), header());
    }

    #[test]
    fn structures_are_written_field_by_field() {
        let keys = [Key { at: 1, len: 2 }, Key { at: 3, len: 0xFFFF_FFFF }];
        assert_eq!(bytes_of(&keys), [1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 255, 255, 255, 255]);
        assert_eq!(bytes_of(&[PageDesc::default()]).len(), PageDesc::BYTES);
    }
}
