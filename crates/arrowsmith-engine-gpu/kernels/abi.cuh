// SPDX-License-Identifier: Apache-2.0
// What the host and the kernels agree on. Generated from src/abi by its test; do not edit.
#ifndef ARROWSMITH_ABI_CUH
#define ARROWSMITH_ABI_CUH
#include "common.cuh"

// The kind of value that a node reads.
enum Kind : u32 {
    K_NULL = 0,
    K_BOOL = 1,
    K_INT = 2,
    K_FLOAT = 3,
    K_DECIMAL = 4,
    K_UTF8 = 5,
    K_JSON = 6,
    K_BINARY = 7,
    K_FIXED_BINARY = 8,
    K_DATE32 = 9,
    K_DATE64 = 10,
    K_TIME = 11,
    K_TIMESTAMP = 12,
    K_DURATION = 13,
    K_LIST = 14,
    K_FIXED_LIST = 15,
    K_STRUCT = 16,
    K_MAP = 17,
};

// How the records of a piece are framed.
enum Framed : u64 {
    F_LINES = 0,
    F_CONCATENATED = 1,
    F_ARRAY = 2,
    // An array that continues in the next piece.
    F_ARRAY_PART = 3,
};

// How the values of a Parquet page are stored.
enum PageEncoding : u64 {
    E_PLAIN = 0,
    E_DICTIONARY = 1,
    E_RUNS = 2,
    E_DELTA = 3,
    E_DELTA_LENGTH = 4,
    E_DELTA_STRINGS = 5,
    E_SPLIT = 6,
};

// What the elements of a chain are.
enum ChainForm : u64 {
    C_SNAPPY = 0,
    // Blocks that the host has found.
    C_ZSTD = 1,
    C_STRINGS = 2,
};

// A part of a page that may be in runs.
enum RunPart : u64 {
    R_LEVELS = 0,
    R_REPEATS = 1,
    R_VALUES = 2,
};

// How a stored number of a Parquet page is converted to the Arrow type.
enum Turn : u64 {
    T_COPY = 0,
    T_LOW = 1,
    T_EXTEND = 2,
    T_MULTIPLY = 3,
    T_DIVIDE = 4,
    T_BIG = 5,
    T_INT96 = 6,
    T_KEY = 7,
};

// Parts at the start of a page of version 1: bits.
enum Cut : u64 {
    CUT_REPS = 1,
    CUT_LEVELS = 2,
};

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
    // List: whether a record has at most one.
    u32 once;
};
static_assert(sizeof(Node) == 44, "Node of src/abi");

// A node that becomes null with an ancestor: `times` values for each value of the ancestor.
struct Under {
    u32 node;
    u32 times;
};
static_assert(sizeof(Under) == 8, "Under of src/abi");

// The text of a key, which a quote follows.
struct Key {
    // A multiple of eight.
    u32 at;
    // NONE for a key that JSON can only write with escapes.
    u32 len;
};
static_assert(sizeof(Key) == 8, "Key of src/abi");

// The arrays of a node.
struct Column {
    // Of a leaf: the token of each value, NONE for a null. Of a list or map: the end offset of
    // each value in its child, after a first 0.
    u32 *tokens;
    // Of nested nodes: a byte that marks presence. Of kept JSON text: the last token.
    u8 *valid;
    // Of lists of scalars: the token of the first item; NONE for a null of fixed size.
    u32 *firsts;
};
static_assert(sizeof(Column) == 24, "Column of src/abi");

// From a value to the parent value: lists by their ends, fixed-size lists by division.
struct Hop {
    const u32 *ends;
    u64 count;
    // Items of a fixed-size list; 0 for other lists.
    u64 size;
};
static_assert(sizeof(Hop) == 24, "Hop of src/abi");

// The 128 most significant bits of a power of five.
struct Power {
    u64 high;
    u64 low;
};
static_assert(sizeof(Power) == 16, "Power of src/abi");

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
    // Non-null values before the page: computed on the device if there may be nulls.
    u64 value_first;
    // Non-null values in the page: likewise.
    u64 value_count;
    // If its values are split among many blocks.
    const struct ChainTask *chain;
};
static_assert(sizeof(PageDesc) == 96, "PageDesc of src/abi");

// A page that the device decompresses.
struct UnpackTask {
    const u8 *from;
    u64 from_len;
    // Less than 2^31 bytes, the number in the page's header.
    u8 *to;
    u64 to_len;
    // Scratch memory of a block: the literals of Zstandard.
    u8 *aside;
    // `Cut`s.
    u64 cuts;
    // The page that these bytes belong to; if none, the dictionary.
    PageDesc *page;
    // If it is split among many blocks.
    const struct ChainTask *chain;
    // Where it is noted that it is malformed.
    u32 *bad;
};
static_assert(sizeof(UnpackTask) == 72, "UnpackTask of src/abi");

// A copy between the device and pinned memory of the host.
struct CopyPart {
    u8 *to;
    const u8 *from;
    u64 bytes;
};
static_assert(sizeof(CopyPart) == 24, "CopyPart of src/abi");

// A page that is split among many blocks, by the chain of its elements.
struct ChainTask {
    // A `ChainForm`.
    u64 form;
    // The page whose values it has; none for compressed bytes.
    const PageDesc *page;
    // Set by the host for compressed bytes, else on the device.
    const u8 *from;
    u64 from_len;
    // Bytes, or values, that it makes.
    u64 want;
    // Of compressed bytes: the output, and where it is noted that they are malformed.
    u8 *to;
    u32 *bad;
    // For each byte: where the chain from it leaves its segment (lower half, from the start
    // of the segment), and the output on the way. There is room for this many.
    u64 *exits;
    u64 room;
    // Its first segment, how many there are, and its first unit.
    u64 segment;
    u64 segments;
    u64 unit;
    // Computed on the device: where its first element is.
    u64 start;
    // Values before it, of all pages.
    u64 value_first;
    // Of Zstandard: maximum bytes of a block.
    u64 per_block;
    // Whether one block decodes the page after all, because something was unexpected.
    u64 serial;
};
static_assert(sizeof(ChainTask) == 128, "ChainTask of src/abi");

// A page of deltas: what its header says, and where its blocks end.
struct DeltaPage {
    const u8 *values;
    u64 len;
    // Values and miniblocks of a block.
    u64 per_block;
    u64 minis;
    u64 first;
    u64 end;
    // Its first block of deltas, and the same as of the page.
    u64 slot;
    u64 value_first;
    u64 value_count;
    // Where values go: bytes of each in the array, 0 for words, 1 for lengths.
    u64 width;
};
static_assert(sizeof(DeltaPage) == 80, "DeltaPage of src/abi");

// A block of a Zstandard page that is split.
struct ZstdBlock {
    ChainTask *chain;
    // Its content, without the header; its kind there: 0 raw, 1 a repeated byte, 2 compressed.
    const u8 *from;
    u64 size;
    u64 kind;
    // Of a compressed block: room for its literals; how many there are, and their bytes in it.
    u8 *literals;
    u64 literal_count;
    u64 literal_bytes;
    // Room for its sequences and their end, three words each; and how many there are.
    u32 *sequences;
    u64 sequence_count;
    // Earlier blocks (NONE: itself, or none) that describe its Huffman tree and its tables.
    u64 tree_from;
    u64 lengths_from;
    u64 offsets_from;
    u64 matches_from;
    // Computed on the device: where its literals are, the bytes it makes, and the last three
    // offsets after it, which may be those before it.
    const u8 *read;
    u64 made;
    u64 last;
    u64 second;
    u64 third;
};
static_assert(sizeof(ZstdBlock) == 144, "ZstdBlock of src/abi");

// Scans text for tokens and line feeds.
struct ScanArgs {
    const u8 *text;
    u64 len;
    u64 lines;
    // One state per block, then the state at the start of each.
    u64 *states;
    u64 *tokens;
    // Tokens in the lower half, line feeds in the upper one, of each block.
    u64 *counts;
};
static_assert(sizeof(ScanArgs) == 48, "ScanArgs of src/abi");
typedef ScanArgs scan_states_args;
typedef ScanArgs scan_masks_args;

// Replaces an array by its exclusive scan, and appends the total.
struct JoinArgs {
    u64 *values;
    u64 count;
};
static_assert(sizeof(JoinArgs) == 16, "JoinArgs of src/abi");
typedef JoinArgs scan_join_args;
typedef JoinArgs sum_join_args;

// Lists the tokens.
struct IndexArgs {
    const u8 *text;
    const u64 *tokens;
    u64 words;
    // Tokens before each block, in the lower half.
    const u64 *counts;
    u32 *places;
    u8 *bytes;
};
static_assert(sizeof(IndexArgs) == 48, "IndexArgs of src/abi");
typedef IndexArgs index_tokens_args;

// Lists the records.
struct FrameArgs {
    const u8 *bytes;
    u64 tokens;
    u64 framing;
    // For each block: how many brackets it leaves open; then how many are open before it.
    u64 *depths;
    // For each block: records that begin in it; then before it.
    u64 *counts;
    // First token of each record.
    u32 *starts;
};
static_assert(sizeof(FrameArgs) == 48, "FrameArgs of src/abi");
typedef FrameArgs frame_depths_args;
typedef FrameArgs frame_count_args;
typedef FrameArgs frame_write_args;

// Lists the items of lists of scalars.
struct ExpandArgs {
    const u8 *bytes;
    // The first item of each list.
    const u32 *firsts;
    u64 lists;
    // Where they end, after a first 0; or, of fixed-size lists, their size.
    const u32 *ends;
    u64 size;
    // The token of each item, NONE for a null.
    u32 *tokens;
};
static_assert(sizeof(ExpandArgs) == 48, "ExpandArgs of src/abi");
typedef ExpandArgs expand_items_args;

// Walks the tokens of records and the plan.
struct WalkArgs {
    const u8 *text;
    u64 len;
    const u32 *places;
    const u8 *bytes;
    u64 tokens;
    const u32 *starts;
    u64 records;
    u64 framing;
    const Node *nodes;
    const Under *unders;
    const Key *keys;
    const u8 *key_text;
    const u32 *tables;
    // The counter of slot s and record r is at s × records + r: first the count, then the
    // start.
    u64 *counts;
    u64 *seen;
    // Of each record: 1 if it is in doubt; between the passes 2 if its keys come in order.
    u8 *suspect;
    // Whether any record is in doubt.
    u32 *doubt;
    const Column *columns;
    u64 depth_max;
    u64 record_bytes_max;
    u64 record_tokens_max;
    u64 refuse_unknown;
    u64 slots;
};
static_assert(sizeof(WalkArgs) == 184, "WalkArgs of src/abi");
typedef WalkArgs walk_count_args;
typedef WalkArgs walk_write_args;
typedef WalkArgs walk_once_args;

// Converts the values of a column of fixed width.
struct ConvertArgs {
    const u8 *text;
    // Where each token is; and the token of each value, NONE for a null.
    const u32 *places;
    const u32 *tokens;
    u64 count;
    u64 kind;
    // Bits of a number; precision of a decimal; units per second of times.
    u64 width;
    // Signed integers; scale of a decimal; whether `local` applies to text without offset.
    i64 option;
    i64 local;
    u64 allow_nan;
    u8 *values;
    u32 *valid;
    u32 *nulls;
    const Hop *hops;
    u64 hop_count;
    u8 *suspect;
    u32 *doubt;
    const Power *powers;
};
static_assert(sizeof(ConvertArgs) == 136, "ConvertArgs of src/abi");
typedef ConvertArgs convert_fixed_args;

// Converts strings, kept JSON text and binary.
struct StringArgs {
    const u8 *text;
    // Where each token is; and the token of each value, NONE for a null. `string_lens` marks
    // values with escapes.
    const u32 *places;
    u32 *tokens;
    // The last token of kept JSON text.
    const u32 *last;
    u64 count;
    u64 kind;
    // Binary: whether it is hex.
    u64 hex;
    // Fixed-size binary: its size.
    u64 size;
    // Bytes of each value; then its start, and after the last one the total.
    u64 *offsets;
    u8 *bytes;
    // The offsets in Arrow's form, if 32 bits are enough.
    u32 *narrow;
    u32 *valid;
    u32 *nulls;
    const Hop *hops;
    u64 hop_count;
    u8 *suspect;
    u32 *doubt;
};
static_assert(sizeof(StringArgs) == 136, "StringArgs of src/abi");
typedef StringArgs string_lens_args;
typedef StringArgs string_copy_args;

// Packs a byte per value, or NONE among positions, to a bit per value.
struct PackArgs {
    const u8 *bytes;
    u64 count;
    u32 *valid;
    u32 *nulls;
};
static_assert(sizeof(PackArgs) == 32, "PackArgs of src/abi");
typedef PackArgs pack_valid_args;

// Copies parts; they are in pinned memory.
struct CopyArgs {
    const CopyPart *parts;
};
static_assert(sizeof(CopyArgs) == 8, "CopyArgs of src/abi");
typedef CopyArgs copy_parts_args;

// Extends offsets to 64 bits.
struct WidenArgs {
    const u32 *from;
    u64 count;
    u64 *to;
};
static_assert(sizeof(WidenArgs) == 24, "WidenArgs of src/abi");
typedef WidenArgs widen_offsets_args;

// Replaces arrays of `count` numbers, one after another, by their exclusive prefix sums.
struct SlotArgs {
    u64 *values;
    u64 count;
    u64 blocks;
    // `blocks` + 1 sums for each array.
    u64 *sums;
    u64 *totals;
};
static_assert(sizeof(SlotArgs) == 40, "SlotArgs of src/abi");
typedef SlotArgs slots_sum_args;
typedef SlotArgs slots_join_args;
typedef SlotArgs slots_spread_args;

// Decompresses pages, and finds where their levels end.
struct UnpackArgs {
    const UnpackTask *tasks;
    u64 task_count;
};
static_assert(sizeof(UnpackArgs) == 16, "UnpackArgs of src/abi");
typedef UnpackArgs unpack_snappy_args;
typedef UnpackArgs unpack_zstd_args;
typedef UnpackArgs cut_pages_args;

// Splits pages among many blocks: the chains of their elements, and what is decoded by them.
struct ChainArgs {
    ChainTask *tasks;
    u64 task_count;
    // The chain of each segment, and of each unit.
    const u32 *owners;
    const u32 *unit_owners;
    // For each segment: its first element, and the output before that.
    u64 *entries;
    u64 *before;
    // The first element of each unit.
    u64 *units;
    u64 *words;
    u64 *lens;
};
static_assert(sizeof(ChainArgs) == 72, "ChainArgs of src/abi");
typedef ChainArgs chain_begin_args;
typedef ChainArgs chain_map_args;
typedef ChainArgs chain_walk_args;
typedef ChainArgs string_places_args;
typedef ChainArgs snappy_cuts_args;
typedef ChainArgs unpack_units_args;

// Decompresses Zstandard pages that are split.
struct ZstdArgs {
    ChainTask *chains;
    ZstdBlock *blocks;
    u64 block_count;
};
static_assert(sizeof(ZstdArgs) == 24, "ZstdArgs of src/abi");
typedef ZstdArgs zstd_parts_args;
typedef ZstdArgs zstd_join_args;

// Finds the parts of pages, and decodes DELTA_BINARY_PACKED: numbers, or lengths of text.
struct PartArgs {
    const PageDesc *pages;
    u64 page_count;
    // Which part has runs, if any is wanted; and bits of a level.
    u64 part;
    u64 level_width;
    // For each tile of runs: where the run with its first value is (lower half), and the
    // values before that run.
    u64 *marks;
    DeltaPage *deltas;
    // For each block of deltas, if any is wanted: its page (upper half), and where its
    // widths are in that page; and its minimum.
    u64 *slots;
    u64 *leasts;
    u64 slot_count;
    // For each block of deltas: their sum; then the sum of those before.
    u64 *sums;
    u64 *words;
    u64 *lens;
    // If numbers go directly to their final places: where, and their bytes; else 0.
    u8 *out;
    u64 width;
    u32 *bad;
};
static_assert(sizeof(PartArgs) == 120, "PartArgs of src/abi");
typedef PartArgs page_index_args;
typedef PartArgs delta_sums_args;
typedef PartArgs delta_values_args;

// Decodes the levels of pages.
struct LevelArgs {
    PageDesc *pages;
    u64 page_count;
    // One byte per entry; repetition levels only if the column has them.
    u8 *def;
    u8 *rep;
    // Whether there is a value; then, after a scan, how many come before each, and after the
    // last one the total.
    u8 *valid;
    u64 *before;
    u64 entries;
    u64 def_max;
    u64 rep_max;
    // Marks of the tiles of both.
    const u64 *def_marks;
    const u64 *rep_marks;
    u32 *bad;
};
static_assert(sizeof(LevelArgs) == 96, "LevelArgs of src/abi");
typedef LevelArgs page_levels_args;
typedef LevelArgs page_firsts_args;

// The slots of a node: entries at which one begins.
struct SlotsArgs {
    const u8 *def;
    const u8 *rep;
    u64 entries;
    // The maximum repetition level and the minimum definition level of a slot.
    u64 rep_most;
    u64 def_least;
    // Definition level from which it is not null.
    u64 def_valid;
    // Whether an entry is a slot; after a scan, how many come before it.
    u64 *marks;
    // Of a list: how many elements come before each entry; and the start of the elements of
    // each slot.
    const u64 *elements;
    u32 *starts;
    u8 *valid;
    u64 *entry_of;
};
static_assert(sizeof(SlotsArgs) == 88, "SlotsArgs of src/abi");
typedef SlotsArgs mark_slots_args;
typedef SlotsArgs write_slots_args;

// Decodes the values of pages.
struct ValueArgs {
    const PageDesc *pages;
    u64 page_count;
    // One word per value: its number, or the address of its text; and for text its length, or,
    // at first, the length of the prefix shared with the previous value.
    u64 *words;
    u64 *lens;
    const u8 *dictionary;
    u64 dictionary_count;
    // If lengths of indexed texts are wanted: those of the dictionary.
    const u64 *dictionary_lens;
    // Marks of the tiles of runs.
    const u64 *marks;
    // If numbers go directly to their final places: where, their bytes, and whether they are
    // the indices; else 0.
    u8 *out;
    u64 width;
    u64 keys;
    // Bytes of text that a page of shared prefixes makes; and their destination.
    u64 *totals;
    u8 *text;
    u32 *bad;
};
static_assert(sizeof(ValueArgs) == 112, "ValueArgs of src/abi");
typedef ValueArgs run_values_args;
typedef ValueArgs page_values_args;
typedef ValueArgs page_strings_args;
typedef ValueArgs page_joins_args;

// Writes each value into its final place.
struct GatherArgs {
    const PageDesc *pages;
    u64 page_count;
    const DeltaPage *deltas;
    // Output rows from the first one on, and the entry of each, if not all entries are rows;
    // and then the number of rows before each entry.
    u64 first;
    u64 rows;
    const u64 *entry_of;
    const u64 *marks;
    // Whether entries have values, and how many values come before each; none without nulls.
    const u8 *valid;
    const u64 *before;
    const u64 *words;
    const u64 *lens;
    const u8 *dictionary;
    const u64 *dictionary_words;
    const u64 *dictionary_lens;
    // Bytes of a stored value, 0 for bits; bytes of an output value.
    u64 stored;
    u64 width;
    u64 turn;
    i64 factor;
    u8 *out;
    // Of text: bytes of each row, then their start.
    u64 *offsets;
    u32 *narrow;
    u64 utf8;
    u32 *bad;
};
static_assert(sizeof(GatherArgs) == 184, "GatherArgs of src/abi");
typedef GatherArgs gather_fixed_args;
typedef GatherArgs gather_decimals_args;
typedef GatherArgs gather_lens_args;
typedef GatherArgs gather_text_args;

#endif
