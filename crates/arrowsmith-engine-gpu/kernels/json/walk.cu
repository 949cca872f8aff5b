// SPDX-License-Identifier: Apache-2.0
// Walk: a thread walks the tokens of a record and the plan in parallel; the plan is data.
//
// Two passes: `walk_count` checks the record's structure against grammar and plan and counts the
// items of each list; after a scan of the counts `walk_write` repeats the walk and records the
// token of each value. A plan without lists and maps has nothing to count: `walk_once` does both.
// The next key is predicted: the field after the last one; where that held for all keys of a
// record, the second pass does not look at them. A record with an error or a rare form (keys with
// escapes, repeated keys) is marked and counts as a row of nulls, which the host replaces with the
// CPU engine's result.
// Values of columns are not looked at here, except for `null`: `convert` does that, one thread per
// value.
// What a thread reads and counts most often is in registers: sixteen tokens, and the innermost
// container. Its records are far from those of its neighbours, so that memory serves it badly.
#include "plan.cuh"
#include "text.cuh"

// Maximum nesting depth of the plan; deeper plans stay with the CPU engine.
#define FRAMES 34
// Maximum nesting depth inside skipped values.
#define SKIP_DEPTH 128
// Tokens that are read at once: from the current one on, so that threads whose records are alike
// read at the same time.
#define AHEAD 16
// Instead of 1 in `suspect`, between the passes: the record is sound, and its keys come in order.
#define REGULAR 2

// An open container.
struct Frame {
    u32 node, index;
    // Next field of a struct, elements of a fixed-size list so far, the counter of a list.
    u32 due;
    // Of a struct of at most 64 fields: which ones it has had; of others, they are in `seen`.
    u32 count;
    u64 had;
};

template <bool WRITE, bool CHECK> struct Walker {
    const WalkArgs &a;
    u64 record;
    u32 t, end;
    // Whether every key was the predicted one.
    bool regular;
    // The tokens `base` and after.
    u32 base;
    u64 low, high;

    __device__ Walker(const WalkArgs &args, u64 of, u32 from, u32 to, bool is_regular)
        : a(args), record(of), t(from), end(to), regular(is_regular), base(from - AHEAD), low(0), high(0) {}

    // Tokens are requested in ascending order.
    __device__ __forceinline__ u8 byte_at(u32 token) {
        u32 offset = token - base;
        if (offset >= AHEAD) {
            base = token, offset = 0;
            const u64 *word = (const u64 *)((u64)(a.bytes + token) & ~(u64)7);
            const u32 shift = token % 8 * 8;
            low = word[0] >> shift, high = word[1] >> shift;
            if (shift) low |= word[1] << (64 - shift), high |= word[2] << (64 - shift);
        }
        return (u8)((offset & 8 ? high : low) >> (offset % 8 * 8));
    }
    __device__ __forceinline__ u8 at(u32 token) { return token < end ? byte_at(token) : (u8)0; }
    __device__ const u8 *text(u32 token) const { return a.text + a.places[token]; }
    __device__ u64 &counter(u32 slot) const { return a.counts[slot * a.records + record]; }
    __device__ u64 &seen(const Node &node, u32 field) const {
        return a.seen[(node.slot + field / 64) * a.records + record];
    }

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
                    column.tokens[at + 1] = (u32)counter(below.slot);
                    column.valid[at] = 0;
                } else if (below.kind == K_STRUCT || below.kind == K_FIXED_LIST) {
                    column.valid[at] = 0;
                    if (column.firsts) column.firsts[at] = NONE;
                } else {
                    column.tokens[at] = NONE;
                }
            }
        }
    }

    // Walks a value of any kind, with `outside` containers open around it.
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
                if (!is_scalar_token(c)) return false;
                if (CHECK && !is_scalar(text(t))) return false;
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

    __device__ __forceinline__ bool is_scalar_token(u8 c) const { return t < end && !is_operator(c) && c != '\n'; }

    __device__ bool key_of_any() {
        if (at(t) != '"' || (CHECK && string_bytes(text(t)) == 0)) return false;
        t++;
        if (at(t) != ':') return false;
        t++;
        return true;
    }

    // Whether this key is at `text`, with its closing quote.
    __device__ __forceinline__ bool is_key(const u8 *text, const Key &key) const {
        // A key of the schema that JSON can only write with escapes has no plain text.
        if (key.len == NONE) return false;
        const u64 *expected = (const u64 *)(a.key_text + key.at);
        const u32 bytes = key.len + 1;
        for (u32 i = 0; i < bytes; i += 8) {
            u64 differ = load8(text + i) ^ expected[i / 8];
            if (bytes - i < 8) differ <<= 64 - 8 * (bytes - i);
            if (differ) return false;
        }
        return true;
    }

    // The field whose key is at the token: its number, `count` for an unknown key, NONE for a key
    // with escapes.
    __device__ u32 field_of(const Node &node, u32 due) {
        if (!CHECK && regular) return due;
        const u8 *key = text(t) + 1;
        if (due < node.count && is_key(key, a.keys[node.keys + due])) return due;
        regular = false;
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
            if (wanted.len == len && is_key(key, wanted)) return field;
        }
    }

    // Whether these are four scalars other than `null`, each with a comma after it.
    static __device__ __forceinline__ bool four_scalars(u64 tokens) {
        const u64 odd = 0xFF00FF00FF00FF00ull, ones = 0x0101010101010101ull;
        if ((tokens & odd) != 0x2C002C002C002C00ull) return false;
        const u64 values = tokens | odd, folded = values | ones * 0x20;
        const u64 comma = values ^ ones * ',', colon = values ^ ones * ':', feed = values ^ ones * '\n';
        const u64 open = folded ^ ones * '{', close = folded ^ ones * '}', null = values ^ ones * 'n';
        return !(zero_bytes(comma) | zero_bytes(colon) | zero_bytes(feed) | zero_bytes(open) | zero_bytes(close) |
                 zero_bytes(null));
    }

    // The elements of a list of scalars, up to its end; false if it is not one after all. Only the
    // first one is noted: `expand_items` lists all.
    __device__ __forceinline__ bool scalars(Frame &frame, const Node &item, const Node &node) {
        const bool fixed = node.kind == K_FIXED_LIST;
        const u64 most = fixed ? node.count : ~(u64)0;
        if (WRITE) a.columns[frame.node].firsts[frame.index] = t;
        if (!CHECK && (fixed || (node.once && record + 1 < a.records))) {
            // The first pass has seen them all.
            const u32 count = fixed ? node.count : (u32)((&counter(node.slot))[1]) - frame.due;
            frame.due += count;
            t += 2 * count - 1;
            return true;
        }
        for (;;) {
            if (t + 8 <= end && frame.due + (u64)4 < most && four_scalars(load8(a.bytes + t))) {
                frame.due += 4;
                t += 8;
                continue;
            }
            if (frame.due == most) return false;
            const u8 c = at(t);
            if (!is_scalar_token(c)) return false;
            if (c == 'n' && (!item.nullable || (CHECK && !is_literal(text(t), "null", 4)))) return false;
            frame.due++;
            t++;
            const u8 then = at(t);
            if (then == ']') return true;
            if (then != ',') return false;
            t++;
        }
    }

    __device__ bool run() {
        // Those around the innermost one.
        Frame frames[FRAMES];
        u32 open = 0;
        Frame top = {0, 0, 0, 0, 0};
        u32 kind = K_NULL;
        u32 id = 0, index = (u32)record;
        // The next action.
        enum { VALUE, AFTER, KEY, ELEMENT, CLOSE } next = VALUE;
        for (;;) {
            if (next == VALUE) {
                if (t >= end) return false;
                const Node &node = a.nodes[id];
                const u8 c = byte_at(t);
                next = AFTER;
                if (c == 'n' && !(node.kind == K_JSON && !node.nullable)) {
                    if (!node.nullable || (CHECK && !is_literal(text(t), "null", 4))) return false;
                    put_null(id, index);
                    t++;
                } else if (node.kind >= K_LIST) {
                    const bool object = node.kind == K_STRUCT || node.kind == K_MAP;
                    if (c != (object ? '{' : '[')) return false;
                    if (open + 1 > a.depth_max || open == FRAMES) return false;
                    if (open) frames[open - 1] = top;
                    open++;
                    kind = node.kind;
                    top = Frame{id, index, 0, 0, 0};
                    if (kind == K_LIST || kind == K_MAP) top.due = (u32)counter(node.slot);
                    if (kind == K_STRUCT && node.count > 64)
                        for (u32 field = 0; field < node.count; field += 64) seen(node, field) = 0;
                    t++;
                    if (at(t) == (object ? '}' : ']')) next = CLOSE;
                    else next = object ? KEY : ELEMENT;
                } else if (node.kind == K_JSON) {
                    const u32 from = t;
                    if (!skip(open)) return false;
                    if (WRITE) {
                        a.columns[id].tokens[index] = from;
                        // Its end is known for a bracket; `convert` finds it for others.
                        ((u32 *)a.columns[id].valid)[index] = t - 1;
                    }
                } else {
                    if (is_operator(c) || c == '\n') return false;
                    if (node.kind == K_NULL) return false;
                    if (WRITE) a.columns[id].tokens[index] = t;
                    t++;
                }
            } else if (next == AFTER) {
                if (open == 0) return is_end();
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
                const Node &node = a.nodes[top.node];
                next = VALUE;
                if (kind == K_MAP) {
                    index = top.due++;
                    if (WRITE) a.columns[node.first].tokens[index] = t;
                    id = node.first + 1;
                    t++;
                    if (at(t) != ':') return false;
                    t++;
                    continue;
                }
                const u32 field = field_of(node, top.due);
                if (field == NONE) return false;
                t++;
                if (at(t) != ':') return false;
                t++;
                if (field == node.count) {
                    if (a.refuse_unknown || !skip(open)) return false;
                    next = AFTER;
                    continue;
                }
                const u64 bit = (u64)1 << (field % 64);
                // (A reference to either would put both into memory.)
                if (node.count > 64) {
                    u64 &had = seen(node, field);
                    if (had & bit) return false;
                    had |= bit;
                } else {
                    if (top.had & bit) return false;
                    top.had |= bit;
                }
                top.count++;
                top.due = field + 1;
                id = node.first + field;
                index = top.index;
            } else if (next == ELEMENT) {
                const Node &node = a.nodes[top.node];
                const Node &item = a.nodes[node.first];
                if (item.kind < K_LIST && item.kind != K_JSON && item.kind != K_NULL) {
                    if (!scalars(top, item, node)) return false;
                    next = CLOSE;
                    continue;
                }
                id = node.first;
                if (kind == K_LIST) {
                    index = top.due++;
                } else {
                    if (top.due == node.count) return false;
                    index = top.index * node.count + top.due++;
                }
                next = VALUE;
            } else {
                const Node &node = a.nodes[top.node];
                if (kind == K_STRUCT) {
                    if (top.count < node.count && !fill(node, top)) return false;
                } else if (kind == K_FIXED_LIST) {
                    if (top.due != node.count) return false;
                } else {
                    // The thread of the record before may look where this one's list begins.
                    if (CHECK || !node.once) counter(node.slot) = top.due;
                    if (WRITE) a.columns[top.node].tokens[top.index + 1] = top.due;
                }
                if (WRITE) a.columns[top.node].valid[top.index] = 1;
                t++;
                next = AFTER;
                if (--open) {
                    top = frames[open - 1];
                    kind = a.nodes[top.node].kind;
                }
            }
        }
    }

    // Makes the fields null that are missing from an object.
    __device__ bool fill(const Node &node, const Frame &frame) const {
        for (u32 field = 0; field < node.count; field++) {
            const u64 had = node.count > 64 ? seen(node, field) : frame.had;
            if (had >> (field % 64) & 1) continue;
            if (!a.nodes[node.first + field].nullable) return false;
            put_null(node.first + field, frame.index);
        }
        return true;
    }

    // Whether only allowed bytes follow the record.
    __device__ bool is_end() {
        if (a.framing == F_LINES) return t >= end || byte_at(t) == '\n';
        if (a.framing == F_CONCATENATED || (a.framing == F_ARRAY && record + 1 == a.records)) return t == end;
        return t + 1 == end && byte_at(t) == ',';
    }
};

// The tokens of a record; false if it exceeds the limits.
__device__ __forceinline__ bool tokens_of_record(const WalkArgs &a, u64 record, u32 *from, u32 *end) {
    *from = a.starts[record];
    *end = record + 1 < a.records ? a.starts[record + 1] : (u32)a.tokens;
    // Including the bytes after it: a record near the limit is left to the CPU engine to measure.
    const u64 upto = *end < a.tokens ? a.places[*end] : a.len;
    return *end - *from <= a.record_tokens_max && upto - a.places[*from] <= a.record_bytes_max;
}

KERNEL(walk_count) {
    const u64 record = thread_index();
    if (record >= a.records) return;
    u32 from, end;
    bool good = tokens_of_record(a, record, &from, &end);
    Walker<false, true> walker(a, record, from, end, true);
    good = good && walker.run();
    if (good) {
        if (walker.regular) a.suspect[record] = REGULAR;
        return;
    }
    doubt(a.suspect, a.doubt, record);
    for (u32 slot = 0; slot < a.slots; slot++) a.counts[slot * a.records + record] = 0;
}

KERNEL(walk_write) {
    const u64 record = thread_index();
    if (record >= a.records) return;
    const u8 suspect = a.suspect[record];
    const u32 from = a.starts[record];
    const u32 end = record + 1 < a.records ? a.starts[record + 1] : (u32)a.tokens;
    Walker<true, false> walker(a, record, from, end, suspect == REGULAR);
    if (suspect == REGULAR) a.suspect[record] = 0;
    if (suspect == 1) walker.put_null(0, (u32)record);
    else walker.run();
}

KERNEL(walk_once) {
    const u64 record = thread_index();
    if (record >= a.records) return;
    u32 from, end;
    const bool good = tokens_of_record(a, record, &from, &end);
    Walker<true, true> walker(a, record, from, end, true);
    if (good && walker.run()) return;
    doubt(a.suspect, a.doubt, record);
    walker.put_null(0, (u32)record);
}
