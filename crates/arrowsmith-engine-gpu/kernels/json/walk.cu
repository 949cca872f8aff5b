// SPDX-License-Identifier: Apache-2.0
// Walk: a thread walks the tokens of a record and the plan in parallel; the plan is data.
//
// Two passes: `walk_count` checks the record's structure against grammar and plan and counts the
// items of each list; after a scan of the counts `walk_write` repeats the walk and records the
// position of each value's text. The next key is predicted: the field after the last one. A record
// with an error or a rare form (keys with escapes, repeated keys) is marked and counts as a row of
// nulls, which the host replaces with the CPU engine's result.
// Values of columns are not looked at here, except for `null`: `convert` does that, one thread per
// value.
#include "plan.cuh"
#include "text.cuh"

// Maximum nesting depth of the plan; deeper plans stay with the CPU engine.
#define FRAMES 34
// Maximum nesting depth inside skipped values.
#define SKIP_DEPTH 128

struct Frame {
    u32 node, index;
    // Next field of a struct, elements of a fixed-size list so far.
    u32 due, seen;
};

template <bool WRITE> struct Walker {
    const WalkArgs &a;
    u64 record;
    u32 t, end;

    __device__ u8 at(u32 token) const { return token < end ? a.bytes[token] : (u8)0; }
    __device__ const u8 *text(u32 token) const { return a.text + a.places[token]; }
    __device__ u64 &counter(u32 slot) const { return a.counts[slot * a.records + record]; }

    // Makes a value null, with all values that are null because of it.
    __device__ void put_null(u32 id, u32 index) const {
        if (!WRITE) return;
        const Node &node = a.nodes[id];
        for (u32 i = 0; i < node.unders; i++) {
            const Under under = a.unders[node.under + i];
            const Node &below = a.nodes[under.node];
            const Column &column = a.columns[under.node];
            for (u32 k = 0; k < under.times; k++) {
                const u64 at = (u64)index * under.times + k;
                if (below.kind == K_LIST || below.kind == K_MAP) {
                    column.places[at + 1] = (u32)counter(below.slot);
                    column.valid[at] = 0;
                } else if (below.kind == K_STRUCT || below.kind == K_FIXED_LIST) {
                    column.valid[at] = 0;
                } else {
                    column.places[at] = NONE;
                }
            }
        }
    }

    // Walks a value of any kind, with `outside` containers open around it; the grammar is checked
    // in the first pass only.
    __device__ bool skip(u64 outside) {
        u64 objects[SKIP_DEPTH / 64] = {0, 0};
        u32 depth = 0;
        for (;;) {
            // A value is expected.
            const u8 c = at(t);
            if (c == '{' || c == '[') {
                if (depth == SKIP_DEPTH || outside + depth + 1 > a.depth_max) return false;
                const u64 bit = (u64)1 << (depth % 64);
                objects[depth / 64] = c == '{' ? objects[depth / 64] | bit : objects[depth / 64] & ~bit;
                depth++;
                t++;
                if (at(t) == (c == '{' ? '}' : ']')) {
                    depth--;
                    t++;
                } else {
                    if (c == '{' && !key_of_any()) return false;
                    continue;
                }
            } else {
                if (t >= end || is_operator(c) || c == '\n') return false;
                if (!WRITE && !is_scalar(text(t))) return false;
                t++;
            }
            // A value is complete.
            for (;;) {
                if (depth == 0) return true;
                const bool object = objects[(depth - 1) / 64] >> ((depth - 1) % 64) & 1;
                const u8 next = at(t);
                if (next == ',') {
                    t++;
                    if (object && !key_of_any()) return false;
                    break;
                }
                if (next != (object ? '}' : ']')) return false;
                depth--;
                t++;
            }
        }
    }

    __device__ bool key_of_any() {
        if (at(t) != '"' || (!WRITE && string_bytes(text(t)) == 0)) return false;
        t++;
        if (at(t) != ':') return false;
        t++;
        return true;
    }

    // The field whose key is at the token: its number, `count` for an unknown key, NONE for a key
    // with escapes.
    __device__ u32 field_of(const Node &node, u32 due) const {
        const u8 *key = text(t) + 1;
        if (due < node.count) {
            const Key wanted = a.keys[node.keys + due];
            const u8 *expected = a.key_text + wanted.at;
            u32 i = 0;
            // A key of the schema that JSON can only write with escapes has no plain text.
            if (wanted.len != NONE) {
                while (i < wanted.len && key[i] == expected[i]) i++;
                if (i == wanted.len && key[i] == '"') return due;
            }
        }
        u32 hash = HASH_START;
        u32 len = 0;
        for (u8 c; (c = key[len]) != '"'; len++) {
            if (c < 0x20 || c == '\\') return NONE;
            hash = hash_step(hash, c);
        }
        for (u32 at = hash & node.table_mask;; at = (at + 1) & node.table_mask) {
            const u32 field = a.tables[node.table + at];
            if (field == NONE) return node.count;
            const Key wanted = a.keys[node.keys + field];
            if (wanted.len != len) continue;
            u32 i = 0;
            while (i < len && key[i] == a.key_text[wanted.at + i]) i++;
            if (i == len) return field;
        }
    }

    __device__ bool run() {
        Frame frames[FRAMES];
        u32 open = 0;
        u32 id = 0, index = (u32)record;
        // The next action.
        enum { VALUE, AFTER, KEY, ELEMENT, CLOSE } next = VALUE;
        for (;;) {
            if (next == VALUE) {
                if (t >= end) return false;
                const Node &node = a.nodes[id];
                const u8 c = a.bytes[t];
                next = AFTER;
                if (c == 'n' && !(node.kind == K_JSON && !node.nullable)) {
                    if (!node.nullable || (!WRITE && !is_literal(text(t), "null", 4))) return false;
                    put_null(id, index);
                    t++;
                } else if (node.kind >= K_LIST) {
                    const bool object = node.kind == K_STRUCT || node.kind == K_MAP;
                    if (c != (object ? '{' : '[')) return false;
                    if (open + 1 > a.depth_max || open == FRAMES) return false;
                    frames[open++] = Frame{id, index, 0, 0};
                    if (node.kind == K_STRUCT)
                        for (u32 w = 0; w < (node.count + 63) / 64; w++)
                            a.seen[(node.slot + w) * a.records + record] = 0;
                    t++;
                    if (at(t) == (object ? '}' : ']')) next = CLOSE;
                    else next = object ? KEY : ELEMENT;
                } else if (node.kind == K_JSON) {
                    const u32 from = t;
                    if (!skip(open)) return false;
                    if (WRITE) {
                        a.columns[id].places[index] = a.places[from];
                        // The last token: its end is known for a bracket; `convert` finds it for
                        // others.
                        ((u32 *)a.columns[id].valid)[index] = a.places[t - 1];
                    }
                } else {
                    if (is_operator(c) || c == '\n') return false;
                    if (node.kind == K_NULL) return false;
                    if (WRITE) a.columns[id].places[index] = a.places[t];
                    t++;
                }
            } else if (next == AFTER) {
                if (open == 0) return is_end();
                const u32 kind = a.nodes[frames[open - 1].node].kind;
                const bool object = kind == K_STRUCT || kind == K_MAP;
                const u8 c = at(t);
                if (c == ',') {
                    t++;
                    next = object ? KEY : ELEMENT;
                } else if (c == (object ? '}' : ']')) {
                    next = CLOSE;
                } else {
                    return false;
                }
            } else if (next == KEY) {
                if (at(t) != '"') return false;
                Frame &frame = frames[open - 1];
                const Node &node = a.nodes[frame.node];
                if (node.kind == K_MAP) {
                    index = (u32)counter(node.slot)++;
                    if (WRITE) a.columns[node.first].places[index] = a.places[t];
                    id = node.first + 1;
                    t++;
                    if (at(t) != ':') return false;
                    t++;
                    next = VALUE;
                    continue;
                }
                const u32 field = field_of(node, frame.due);
                if (field == NONE) return false;
                t++;
                if (at(t) != ':') return false;
                t++;
                if (field == node.count) {
                    if (a.refuse_unknown || !skip(open)) return false;
                    next = AFTER;
                    continue;
                }
                u64 &seen = a.seen[(node.slot + field / 64) * a.records + record];
                if (seen >> (field % 64) & 1) return false;
                seen |= (u64)1 << (field % 64);
                frame.seen++;
                frame.due = field + 1;
                id = node.first + field;
                index = frame.index;
                next = VALUE;
            } else if (next == ELEMENT) {
                Frame &frame = frames[open - 1];
                const Node &node = a.nodes[frame.node];
                id = node.first;
                if (node.kind == K_LIST) {
                    index = (u32)counter(node.slot)++;
                } else {
                    if (frame.due == node.count) return false;
                    index = frame.index * node.count + frame.due++;
                }
                next = VALUE;
            } else {
                const Frame frame = frames[--open];
                const Node &node = a.nodes[frame.node];
                if (node.kind == K_STRUCT) {
                    if (frame.seen < node.count && !fill(node, frame.index)) return false;
                } else if (node.kind == K_FIXED_LIST) {
                    if (frame.due != node.count) return false;
                } else if (WRITE) {
                    a.columns[frame.node].places[frame.index + 1] = (u32)counter(node.slot);
                }
                if (WRITE) a.columns[frame.node].valid[frame.index] = 1;
                t++;
                next = AFTER;
            }
        }
    }

    // Makes the fields null that are missing from an object.
    __device__ bool fill(const Node &node, u32 index) const {
        for (u32 field = 0; field < node.count; field++) {
            if (a.seen[(node.slot + field / 64) * a.records + record] >> (field % 64) & 1) continue;
            if (!a.nodes[node.first + field].nullable) return false;
            put_null(node.first + field, index);
        }
        return true;
    }

    // Whether only allowed bytes follow the record.
    __device__ bool is_end() const {
        if (a.framing == F_LINES) return t >= end || a.bytes[t] == '\n';
        if (a.framing == F_CONCATENATED || (a.framing == F_ARRAY && record + 1 == a.records)) return t == end;
        return t + 1 == end && a.bytes[t] == ',';
    }
};

KERNEL(walk_count) {
    const u64 record = thread_index();
    if (record >= a.records) return;
    const u32 from = a.starts[record];
    const u32 end = record + 1 < a.records ? a.starts[record + 1] : (u32)a.tokens;
    // Including the bytes after it: a record near the limit is left to the CPU engine to measure.
    const u64 upto = end < a.tokens ? a.places[end] : a.len;
    const u64 bytes = upto - a.places[from];
    bool good = end - from <= a.record_tokens_max && bytes <= a.record_bytes_max;
    if (good) {
        Walker<false> walker = {a, record, from, end};
        good = walker.run();
    }
    if (!good) {
        a.suspect[record] = 1;
        for (u32 slot = 0; slot < a.slots; slot++) a.counts[slot * a.records + record] = 0;
    }
}

KERNEL(walk_write) {
    const u64 record = thread_index();
    if (record >= a.records) return;
    const u32 from = a.starts[record];
    const u32 end = record + 1 < a.records ? a.starts[record + 1] : (u32)a.tokens;
    Walker<true> walker = {a, record, from, end};
    if (a.suspect[record]) walker.put_null(0, (u32)record);
    else walker.run();
}
