// SPDX-License-Identifier: Apache-2.0
// Strings, kept JSON text and binary: first the number of bytes of each value, with all validity
// checks; then, after a scan of these, the bytes themselves.
#include "plan.cuh"
#include "text.cuh"

#define BAD (~(u64)0)

// In the token of a value: its text has escapes.
#define ESCAPED 0x80000000u
// Bytes from which on a warp copies a string together.
#define LONG 24

// The bytes of a word that are quotes, backslashes, control characters or not ASCII: the highest
// bit of each, exact up to the first one.
__device__ __forceinline__ u64 special(u64 word) {
    const u64 ones = 0x0101010101010101ull, high = ones << 7;
    const u64 control = (word - ones * 0x20) & ~word & high;
    return zero_bytes(word ^ ones * '"') | zero_bytes(word ^ ones * '\\') | control | (word & high);
}

// Bytes of a string after its quote, without escapes; and whether it has any.
__device__ u64 utf8_len(const u8 *text, bool *escapes) {
    u64 len = 0;
    const u8 *p = text + 1;
    for (;;) {
        const u64 found = special(load8(p));
        const u32 plain = found ? ((u32)__ffsll((i64)found) - 1) / 8 : 8;
        p += plain, len += plain;
        if (!found) continue;
        const u8 c = *p;
        if (c == '"') return len;
        if (c < 0x20) return BAD;
        if (c == '\\') {
            const Escape e = unescape(p);
            if (!e.read) return BAD;
            *escapes = true;
            p += e.read;
            len += e.len;
            continue;
        }
        const u32 n = utf8_bytes(p);
        if (!n) return BAD;
        p += n;
        len += n;
    }
}

__device__ void utf8_copy(const u8 *text, u8 *out, u64 len) {
    const u8 *p = text + 1;
    for (u64 at = 0; at < len;) {
        if (*p != '\\') {
            out[at++] = *p++;
            continue;
        }
        const Escape e = unescape(p);
        for (u32 i = 0; i < e.len; i++) out[at++] = (u8)(e.bytes >> (8 * i));
        p += e.read;
    }
}

// Bytes of kept JSON text, if it is UTF-8.
__device__ u64 json_len(const u8 *text, const u8 *last) {
    const u8 c = *last;
    const u8 *end = last;
    if (c == '}' || c == ']') end++;
    else if (c == '"') end += string_bytes(last);
    else while (!ends_word(*end)) end++;
    for (const u8 *p = text; p < end;) {
        const u32 n = utf8_bytes(p);
        if (!n) return BAD;
        p += n;
    }
    return (u64)(end - text);
}

// The six bits of a character of base64; 64 for none. `url` gets 1 for the standard alphabet's own
// characters, 2 for the other's.
__device__ __forceinline__ u32 sextet(u8 c, u32 *url) {
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (is_digit(c)) return c - '0' + 52;
    if (c == '+' || c == '/') { *url |= 1; return c == '+' ? 62 : 63; }
    if (c == '-' || c == '_') { *url |= 2; return c == '-' ? 62 : 63; }
    return 64;
}

__device__ u64 base64_len(const u8 *text) {
    u64 digits = 0, padding = 0;
    u32 url = 0, last = 0;
    const u8 *p = text + 1;
    for (; *p != '"' && *p != '='; p++, digits++) {
        last = sextet(*p, &url);
        if (last == 64) return BAD;
    }
    for (; *p == '='; p++) padding++;
    if (*p != '"' || url == 3 || digits % 4 == 1) return BAD;
    if (padding && (padding > 2 || (digits + padding) % 4)) return BAD;
    // Bits that belong to no byte.
    if (digits % 4 == 2 && (last & 15)) return BAD;
    if (digits % 4 == 3 && (last & 3)) return BAD;
    return digits / 4 * 3 + (digits % 4 ? digits % 4 - 1 : 0);
}

__device__ u64 hex_len(const u8 *text) {
    u64 digits = 0;
    for (; text[1 + digits] != '"'; digits++)
        if (hex_digit(text[1 + digits]) < 0) return BAD;
    return digits % 2 ? BAD : digits / 2;
}

__device__ void binary_copy(const u8 *text, bool hex, u8 *out, u64 len) {
    const u8 *p = text + 1;
    if (hex) {
        for (u64 i = 0; i < len; i++) out[i] = (u8)(hex_digit(p[2 * i]) << 4 | hex_digit(p[2 * i + 1]));
        return;
    }
    u32 held = 0, bits = 0, url = 0;
    for (u64 at = 0; at < len; p++) {
        held = held << 6 | sextet(*p, &url);
        bits += 6;
        if (bits < 8) continue;
        bits -= 8;
        out[at++] = (u8)(held >> bits);
    }
}

KERNEL(string_lens) {
    const u64 index = thread_index();
    const u32 token = index < a.count ? a.tokens[index] : NONE;
    const bool there = token != NONE;
    u64 len = 0;
    if (there) {
        const u8 *text = a.text + a.places[token];
        bool escapes = false;
        if (a.kind == K_JSON) len = json_len(text, a.text + a.places[a.last[index]]);
        else if (*text != '"') len = BAD;
        else if (a.kind == K_UTF8) len = utf8_len(text, &escapes);
        else len = a.hex ? hex_len(text) : base64_len(text);
        if (a.kind == K_FIXED_BINARY && len != a.size) len = BAD;
        if (len == BAD) {
            len = 0;
            doubt(a.suspect, a.doubt, record_of(a.hops, a.hop_count, index));
            // No bytes to copy; the row is the CPU engine's.
            if (a.kind == K_FIXED_BINARY) a.tokens[index] = NONE;
        } else if (escapes) {
            a.tokens[index] = token | ESCAPED;
        }
    }
    const u32 word = __ballot_sync(FULL, there);
    if (index < a.count) {
        if (a.kind != K_FIXED_BINARY) a.offsets[index] = len;
        if (index % WARP == 0) {
            a.valid[index / WARP] = word;
            const u64 left = a.count - index;
            const u32 missing = (left < WARP ? (u32)left : WARP) - (u32)__popc(word);
            if (missing) atomicAdd(a.nulls, missing);
        }
    }
}

KERNEL(string_copy) {
    const u64 index = thread_index();
    const u32 token = index < a.count ? a.tokens[index] : NONE;
    u64 from = 0, len = 0;
    if (index < a.count && a.kind == K_FIXED_BINARY) {
        from = index * a.size;
        if (token != NONE) len = a.size;
        else for (u64 i = 0; i < a.size; i++) a.bytes[from + i] = 0;
    } else if (index < a.count) {
        from = a.offsets[index];
        len = a.offsets[index + 1] - from;
        if (a.narrow) {
            a.narrow[index] = (u32)from;
            if (index + 1 == a.count) a.narrow[a.count] = (u32)a.offsets[a.count];
        }
    }
    const bool there = token != NONE && len != 0;
    const u8 *text = a.text + (there ? a.places[token & ~ESCAPED] : 0);
    // Text that is copied as it is: after the quote of a string.
    const bool plain = there && (a.kind == K_JSON || (a.kind == K_UTF8 && !(token & ESCAPED)));
    const u8 *source = text + (a.kind == K_UTF8 ? 1 : 0);
    u8 *to = a.bytes + from;
    const bool together = plain && len >= LONG;
    if (there && !plain) {
        if (a.kind == K_UTF8) utf8_copy(text, to, len);
        else binary_copy(text, a.hex, to, len);
    } else if (plain && !together) {
        for (u64 i = 0; i < len; i++) to[i] = source[i];
    }
    for (u32 rows = __ballot_sync(FULL, together); rows; rows &= rows - 1) {
        const u32 row = (u32)__ffsll((i64)rows) - 1;
        const u8 *its_source = (const u8 *)__shfl_sync(FULL, (u64)source, row);
        u8 *its_to = (u8 *)__shfl_sync(FULL, (u64)to, row);
        const u64 its_len = __shfl_sync(FULL, len, row);
        for (u64 i = threadIdx.x % WARP; i < its_len; i += WARP) its_to[i] = its_source[i];
    }
}
