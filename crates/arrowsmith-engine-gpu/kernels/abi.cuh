// SPDX-License-Identifier: Apache-2.0
// The structures that the host writes and the kernels read. Generated from src/abi.rs by its test;
// do not edit.
#ifndef ARROWSMITH_ABI_CUH
#define ARROWSMITH_ABI_CUH
#include "common.cuh"

// A node of a plan. Children of a node are contiguous.
struct Node {
    // A `Kind`.
    u32 kind;
    u32 nullable;
    // First child.
    u32 first;
    // Fields of a struct, items of a fixed-size list.
    u32 count;
    // The counter of a list or map; the words of seen fields of a struct.
    u32 slot;
    // Struct: its first key.
    u32 keys;
    // Struct: its hash table.
    u32 table;
    // Struct: the size of its hash table less one.
    u32 table_mask;
    // The first entry of the nodes that become null with it.
    u32 under;
    // The number of these entries.
    u32 unders;
};
static_assert(sizeof(Node) == 40, "Node of src/abi.rs");

// A node that becomes null with an ancestor: `times` values for each value of the ancestor.
struct Under {
    u32 node;
    u32 times;
};
static_assert(sizeof(Under) == 8, "Under of src/abi.rs");

// The text of a key.
struct Key {
    u32 at;
    // NONE for a key that JSON can only write with escapes.
    u32 len;
};
static_assert(sizeof(Key) == 8, "Key of src/abi.rs");

// The arrays of a node.
struct Column {
    // Of a leaf: the position of each value's text (and its end for kept JSON text). Of a list
    // or map: the end offset of each value in its child, after a first 0.
    u32 *places;
    // Of nested nodes: a byte that marks presence.
    u8 *valid;
};
static_assert(sizeof(Column) == 16, "Column of src/abi.rs");

// From a value to the parent value: lists by their ends, fixed-size lists by division.
struct Hop {
    const u32 *ends;
    u64 count;
    // Items of a fixed-size list; 0 for other lists.
    u64 size;
};
static_assert(sizeof(Hop) == 24, "Hop of src/abi.rs");

// The 128 most significant bits of a power of five.
struct Power {
    u64 high;
    u64 low;
};
static_assert(sizeof(Power) == 16, "Power of src/abi.rs");

// A Parquet page in device memory.
struct PageDesc {
    const u8 *values;
    u64 values_len;
    // Definition levels in runs; if none, every value is present.
    const u8 *levels;
    u64 levels_len;
    // Repetition levels, for lists.
    const u8 *reps;
    u64 reps_len;
    // Entries, nulls included.
    u64 count;
    // Entries before the page.
    u64 first;
    // A `PageEncoding`.
    u64 encoding;
    // Non-null values before the page: computed on the device.
    u64 value_first;
    // Non-null values in the page: computed on the device, except for a dictionary.
    u64 value_count;
};
static_assert(sizeof(PageDesc) == 88, "PageDesc of src/abi.rs");

// A page that the device decompresses.
struct UnpackTask {
    const u8 *from;
    u64 from_len;
    // Less than 2^31 bytes, the number in the page's header.
    u8 *to;
    u64 to_len;
    // Scratch memory of a block: the literals of Zstandard.
    u8 *aside;
    // `Cuts`.
    u64 cuts;
    // The page that these bytes belong to; if none, the dictionary.
    PageDesc *page;
};
static_assert(sizeof(UnpackTask) == 56, "UnpackTask of src/abi.rs");

#endif
