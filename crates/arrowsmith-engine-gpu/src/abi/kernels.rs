// SPDX-License-Identifier: Apache-2.0
//! The kernels and their arguments. A kernel is launched with the structure that is declared here,
//! and its definition in C++, `KERNEL(name)`, takes the same one.

use super::{Arguments, Framed, Kernel, Kind, RunPart, Turn, Word};
use crate::device::Ptr;

/// Defines arguments, and the kernels that take them: for each field its name, its type here, and
/// its type in C++, of eight bytes.
macro_rules! kernels {
    ($(
        $(#[doc = $about:literal])+
        struct $args:ident for $($kernel:ident = $name:literal),+ {
            $($(#[doc = $note:literal])* $field:ident: $host:ty => $device:literal,)+
        }
    )+) => {
        $(
            $(#[doc = $about])+
            #[derive(Debug, Clone, Copy)]
            pub struct $args {
                $($(#[doc = $note])* pub $field: $host,)+
            }

            impl Arguments for $args {
                fn words(&self) -> Vec<u64> {
                    vec![$(self.$field.word()),+]
                }
            }

            $(
                #[doc = concat!("The kernel `", $name, "`.")]
                pub const $kernel: Kernel<$args> = Kernel::new($name);
            )+
        )+

        /// The names of all kernels.
        pub const NAMES: &[&str] = &[$($($name,)+)+];

        /// The same in C++.
        #[cfg(test)]
        pub(super) fn kernels_in_cpp() -> String {
            let mut text = String::new();
            $(
                $(text += &format!("//{}\n", $about);)+
                text += &format!("struct {} {{\n", stringify!($args));
                $(
                    $(text += &format!("    //{}\n", $note);)*
                    text += &format!("    {}{};\n", $device, stringify!($field));
                )+
                text += &format!(
                    "}};\nstatic_assert(sizeof({0}) == {1}, \"{0} of src/abi\");\n",
                    stringify!($args),
                    8 * [$(stringify!($field)),+].len(),
                );
                $(text += &format!("typedef {} {}_args;\n", stringify!($args), $name);)+
                text += "\n";
            )+
            text
        }
    };
}

kernels! {
    /// Scans text for tokens and line feeds.
    struct ScanArgs for SCAN_STATES = "scan_states", SCAN_MASKS = "scan_masks" {
        text: Ptr => "const u8 *",
        len: u64 => "u64 ",
        lines: bool => "u64 ",
        /// One state per block, then the state at the start of each.
        states: Ptr => "u64 *",
        tokens: Ptr => "u64 *",
        /// Tokens in the lower half, line feeds in the upper one, of each block.
        counts: Ptr => "u64 *",
    }

    /// Replaces an array by its exclusive scan, and appends the total.
    struct JoinArgs for SCAN_JOIN = "scan_join", SUM_JOIN = "sum_join" {
        values: Ptr => "u64 *",
        count: u64 => "u64 ",
    }

    /// Lists the tokens.
    struct IndexArgs for INDEX_TOKENS = "index_tokens" {
        text: Ptr => "const u8 *",
        tokens: Ptr => "const u64 *",
        words: u64 => "u64 ",
        /// Tokens before each block, in the lower half.
        counts: Ptr => "const u64 *",
        places: Ptr => "u32 *",
        bytes: Ptr => "u8 *",
    }

    /// Lists the records.
    struct FrameArgs for
        FRAME_DEPTHS = "frame_depths", FRAME_COUNT = "frame_count", FRAME_WRITE = "frame_write"
    {
        bytes: Ptr => "const u8 *",
        tokens: u64 => "u64 ",
        framing: Framed => "u64 ",
        /// For each block: how many brackets it leaves open; then how many are open before it.
        depths: Ptr => "u64 *",
        /// For each block: records that begin in it; then before it.
        counts: Ptr => "u64 *",
        /// First token of each record.
        starts: Ptr => "u32 *",
    }

    /// Lists the items of lists of scalars.
    struct ExpandArgs for EXPAND_ITEMS = "expand_items" {
        bytes: Ptr => "const u8 *",
        /// The first item of each list.
        firsts: Ptr => "const u32 *",
        lists: u64 => "u64 ",
        /// Where they end, after a first 0; or, of fixed-size lists, their size.
        ends: Ptr => "const u32 *",
        size: u64 => "u64 ",
        /// The token of each item, NONE for a null.
        tokens: Ptr => "u32 *",
    }

    /// Walks the tokens of records and the plan.
    struct WalkArgs for
        WALK_COUNT = "walk_count", WALK_WRITE = "walk_write", WALK_ONCE = "walk_once"
    {
        text: Ptr => "const u8 *",
        len: u64 => "u64 ",
        places: Ptr => "const u32 *",
        bytes: Ptr => "const u8 *",
        tokens: u64 => "u64 ",
        starts: Ptr => "const u32 *",
        records: u64 => "u64 ",
        framing: Framed => "u64 ",
        nodes: Ptr => "const Node *",
        unders: Ptr => "const Under *",
        keys: Ptr => "const Key *",
        key_text: Ptr => "const u8 *",
        tables: Ptr => "const u32 *",
        /// The counter of slot s and record r is at s × records + r: first the count, then the
        /// start.
        counts: Ptr => "u64 *",
        seen: Ptr => "u64 *",
        /// Of each record: 1 if it is in doubt; between the passes 2 if its keys come in order.
        suspect: Ptr => "u8 *",
        /// Whether any record is in doubt.
        doubt: Ptr => "u32 *",
        columns: Ptr => "const Column *",
        depth_max: u64 => "u64 ",
        record_bytes_max: u64 => "u64 ",
        record_tokens_max: u64 => "u64 ",
        refuse_unknown: bool => "u64 ",
        slots: u64 => "u64 ",
    }

    /// Converts the values of a column of fixed width.
    struct ConvertArgs for CONVERT_FIXED = "convert_fixed" {
        text: Ptr => "const u8 *",
        /// Where each token is; and the token of each value, NONE for a null.
        places: Ptr => "const u32 *",
        tokens: Ptr => "const u32 *",
        count: u64 => "u64 ",
        kind: Kind => "u64 ",
        /// Bits of a number; precision of a decimal; units per second of times.
        width: u64 => "u64 ",
        /// Signed integers; scale of a decimal; whether `local` applies to text without offset.
        option: i64 => "i64 ",
        local: i64 => "i64 ",
        allow_nan: bool => "u64 ",
        values: Ptr => "u8 *",
        valid: Ptr => "u32 *",
        nulls: Ptr => "u32 *",
        hops: Ptr => "const Hop *",
        hop_count: u64 => "u64 ",
        suspect: Ptr => "u8 *",
        doubt: Ptr => "u32 *",
        powers: Ptr => "const Power *",
    }

    /// Converts strings, kept JSON text and binary.
    struct StringArgs for STRING_LENS = "string_lens", STRING_COPY = "string_copy" {
        text: Ptr => "const u8 *",
        /// Where each token is; and the token of each value, NONE for a null. `string_lens` marks
        /// values with escapes.
        places: Ptr => "const u32 *",
        tokens: Ptr => "u32 *",
        /// The last token of kept JSON text.
        last: Ptr => "const u32 *",
        count: u64 => "u64 ",
        kind: Kind => "u64 ",
        /// Binary: whether it is hex.
        hex: bool => "u64 ",
        /// Fixed-size binary: its size.
        size: u64 => "u64 ",
        /// Bytes of each value; then its start, and after the last one the total.
        offsets: Ptr => "u64 *",
        bytes: Ptr => "u8 *",
        /// The offsets in Arrow's form, if 32 bits are enough.
        narrow: Ptr => "u32 *",
        valid: Ptr => "u32 *",
        nulls: Ptr => "u32 *",
        hops: Ptr => "const Hop *",
        hop_count: u64 => "u64 ",
        suspect: Ptr => "u8 *",
        doubt: Ptr => "u32 *",
    }

    /// Packs a byte per value, or NONE among positions, to a bit per value.
    struct PackArgs for PACK_VALID = "pack_valid" {
        bytes: Ptr => "const u8 *",
        count: u64 => "u64 ",
        valid: Ptr => "u32 *",
        nulls: Ptr => "u32 *",
    }

    /// Copies parts; they are in pinned memory.
    struct CopyArgs for COPY_PARTS = "copy_parts" {
        parts: Ptr => "const CopyPart *",
    }

    /// Extends offsets to 64 bits.
    struct WidenArgs for WIDEN_OFFSETS = "widen_offsets" {
        from: Ptr => "const u32 *",
        count: u64 => "u64 ",
        to: Ptr => "u64 *",
    }

    /// Replaces arrays of `count` numbers, one after another, by their exclusive prefix sums.
    struct SlotArgs for
        SLOTS_SUM = "slots_sum", SLOTS_JOIN = "slots_join", SLOTS_SPREAD = "slots_spread"
    {
        values: Ptr => "u64 *",
        count: u64 => "u64 ",
        blocks: u64 => "u64 ",
        /// `blocks` + 1 sums for each array.
        sums: Ptr => "u64 *",
        totals: Ptr => "u64 *",
    }

    /// Decompresses pages, and finds where their levels end.
    struct UnpackArgs for
        UNPACK_SNAPPY = "unpack_snappy", UNPACK_ZSTD = "unpack_zstd", CUT_PAGES = "cut_pages"
    {
        tasks: Ptr => "const UnpackTask *",
        task_count: u64 => "u64 ",
    }

    /// Splits pages among many blocks: the chains of their elements, and what is decoded by them.
    struct ChainArgs for
        CHAIN_BEGIN = "chain_begin", CHAIN_MAP = "chain_map", CHAIN_WALK = "chain_walk",
        STRING_PLACES = "string_places", SNAPPY_CUTS = "snappy_cuts", UNPACK_UNITS = "unpack_units"
    {
        tasks: Ptr => "ChainTask *",
        task_count: u64 => "u64 ",
        /// The chain of each segment, and of each unit.
        owners: Ptr => "const u32 *",
        unit_owners: Ptr => "const u32 *",
        /// For each segment: its first element, and the output before that.
        entries: Ptr => "u64 *",
        before: Ptr => "u64 *",
        /// The first element of each unit.
        units: Ptr => "u64 *",
        words: Ptr => "u64 *",
        lens: Ptr => "u64 *",
    }

    /// Decompresses Zstandard pages that are split.
    struct ZstdArgs for ZSTD_PARTS = "zstd_parts", ZSTD_JOIN = "zstd_join" {
        chains: Ptr => "ChainTask *",
        blocks: Ptr => "ZstdBlock *",
        block_count: u64 => "u64 ",
    }

    /// Finds the parts of pages, and decodes DELTA_BINARY_PACKED: numbers, or lengths of text.
    struct PartArgs for
        PAGE_INDEX = "page_index", DELTA_SUMS = "delta_sums", DELTA_VALUES = "delta_values"
    {
        pages: Ptr => "const PageDesc *",
        page_count: u64 => "u64 ",
        /// Which part has runs, if any is wanted; and bits of a level.
        part: RunPart => "u64 ",
        level_width: u64 => "u64 ",
        /// For each tile of runs: where the run with its first value is (lower half), and the
        /// values before that run.
        marks: Ptr => "u64 *",
        deltas: Ptr => "DeltaPage *",
        /// For each block of deltas, if any is wanted: its page (upper half), and where its
        /// widths are in that page; and its minimum.
        slots: Ptr => "u64 *",
        leasts: Ptr => "u64 *",
        slot_count: u64 => "u64 ",
        /// For each block of deltas: their sum; then the sum of those before.
        sums: Ptr => "u64 *",
        words: Ptr => "u64 *",
        lens: Ptr => "u64 *",
        /// If numbers go directly to their final places: where, and their bytes; else 0.
        out: Ptr => "u8 *",
        width: u64 => "u64 ",
        bad: Ptr => "u32 *",
    }

    /// Decodes the levels of pages.
    struct LevelArgs for PAGE_LEVELS = "page_levels", PAGE_FIRSTS = "page_firsts" {
        pages: Ptr => "PageDesc *",
        page_count: u64 => "u64 ",
        /// One byte per entry; repetition levels only if the column has them.
        def: Ptr => "u8 *",
        rep: Ptr => "u8 *",
        /// Whether there is a value; then, after a scan, how many come before each, and after the
        /// last one the total.
        valid: Ptr => "u8 *",
        before: Ptr => "u64 *",
        entries: u64 => "u64 ",
        def_max: u64 => "u64 ",
        rep_max: u64 => "u64 ",
        /// Marks of the tiles of both.
        def_marks: Ptr => "const u64 *",
        rep_marks: Ptr => "const u64 *",
        bad: Ptr => "u32 *",
    }

    /// The slots of a node: entries at which one begins.
    struct SlotsArgs for MARK_SLOTS = "mark_slots", WRITE_SLOTS = "write_slots" {
        def: Ptr => "const u8 *",
        rep: Ptr => "const u8 *",
        entries: u64 => "u64 ",
        /// The maximum repetition level and the minimum definition level of a slot.
        rep_most: u64 => "u64 ",
        def_least: u64 => "u64 ",
        /// Definition level from which it is not null.
        def_valid: u64 => "u64 ",
        /// Whether an entry is a slot; after a scan, how many come before it.
        marks: Ptr => "u64 *",
        /// Of a list: how many elements come before each entry; and the start of the elements of
        /// each slot.
        elements: Ptr => "const u64 *",
        starts: Ptr => "u32 *",
        valid: Ptr => "u8 *",
        entry_of: Ptr => "u64 *",
    }

    /// Decodes the values of pages.
    struct ValueArgs for
        RUN_VALUES = "run_values", PAGE_VALUES = "page_values", PAGE_STRINGS = "page_strings",
        PAGE_JOINS = "page_joins"
    {
        pages: Ptr => "const PageDesc *",
        page_count: u64 => "u64 ",
        /// One word per value: its number, or the address of its text; and for text its length, or,
        /// at first, the length of the prefix shared with the previous value.
        words: Ptr => "u64 *",
        lens: Ptr => "u64 *",
        dictionary: Ptr => "const u8 *",
        dictionary_count: u64 => "u64 ",
        /// If lengths of indexed texts are wanted: those of the dictionary.
        dictionary_lens: Ptr => "const u64 *",
        /// Marks of the tiles of runs.
        marks: Ptr => "const u64 *",
        /// If numbers go directly to their final places: where, their bytes, and whether they are
        /// the indices; else 0.
        out: Ptr => "u8 *",
        width: u64 => "u64 ",
        keys: bool => "u64 ",
        /// Bytes of text that a page of shared prefixes makes; and their destination.
        totals: Ptr => "u64 *",
        text: Ptr => "u8 *",
        bad: Ptr => "u32 *",
    }

    /// Writes each value into its final place.
    struct GatherArgs for
        GATHER_FIXED = "gather_fixed", GATHER_DECIMALS = "gather_decimals",
        GATHER_LENS = "gather_lens", GATHER_TEXT = "gather_text"
    {
        pages: Ptr => "const PageDesc *",
        page_count: u64 => "u64 ",
        deltas: Ptr => "const DeltaPage *",
        /// Output rows from the first one on, and the entry of each, if not all entries are rows;
        /// and then the number of rows before each entry.
        first: u64 => "u64 ",
        rows: u64 => "u64 ",
        entry_of: Ptr => "const u64 *",
        marks: Ptr => "const u64 *",
        /// Whether entries have values, and how many values come before each; none without nulls.
        valid: Ptr => "const u8 *",
        before: Ptr => "const u64 *",
        words: Ptr => "const u64 *",
        lens: Ptr => "const u64 *",
        dictionary: Ptr => "const u8 *",
        dictionary_words: Ptr => "const u64 *",
        dictionary_lens: Ptr => "const u64 *",
        /// Bytes of a stored value, 0 for bits; bytes of an output value.
        stored: u64 => "u64 ",
        width: u64 => "u64 ",
        turn: Turn => "u64 ",
        factor: i64 => "i64 ",
        out: Ptr => "u8 *",
        /// Of text: bytes of each row, then their start.
        offsets: Ptr => "u64 *",
        narrow: Ptr => "u32 *",
        utf8: bool => "u64 ",
        bad: Ptr => "u32 *",
    }
}
