// SPDX-License-Identifier: Apache-2.0
// Strings, kept JSON text and binary: first the number of bytes of each value, with all validity
// checks; then, after a scan of these, the bytes themselves.
#include "plan.cuh"
#include "text.cuh"

#define BAD (~(u64)0)

// Bytes of a string after its quote, without escapes.
__device__ u64 utf8_len(const u8 *text) {
    u64 len = 0;
    const u8 *p = text + 1;
    for (;;) {
        const u8 c = *p;
        if (c == '"') return len;
        if (c < 0x20) return BAD;
        if (c == '\\') {
            const Escape e = unescape(p);
            if (!e.read) return BAD;
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
    const u32 place = index < a.count ? a.places[index] : NONE;
    const bool there = place != NONE;
    u64 len = 0;
    if (there) {
        const u8 *text = a.text + place;
        if (a.kind == K_JSON) len = json_len(text, a.text + a.last[index]);
        else if (*text != '"') len = BAD;
        else if (a.kind == K_UTF8) len = utf8_len(text);
        else len = a.hex ? hex_len(text) : base64_len(text);
        if (a.kind == K_FIXED_BINARY && len != a.size) len = BAD;
        if (len == BAD) {
            len = 0;
            a.suspect[record_of(a.hops, a.hop_count, index)] = 1;
            // No bytes to copy; the row is the CPU engine's.
            if (a.kind == K_FIXED_BINARY) ((u32 *)a.places)[index] = NONE;
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
    if (index >= a.count) return;
    const u32 place = a.places[index];
    u64 from, len;
    if (a.kind == K_FIXED_BINARY) {
        from = index * a.size;
        len = a.size;
        if (place == NONE) {
            for (u64 i = 0; i < len; i++) a.bytes[from + i] = 0;
            return;
        }
    } else {
        from = a.offsets[index];
        len = a.offsets[index + 1] - from;
        if (a.narrow) {
            a.narrow[index] = (u32)from;
            if (index + 1 == a.count) a.narrow[a.count] = (u32)a.offsets[a.count];
        }
    }
    if (place == NONE || len == 0) return;
    const u8 *text = a.text + place;
    if (a.kind == K_UTF8) {
        utf8_copy(text, a.bytes + from, len);
    } else if (a.kind == K_JSON) {
        for (u64 i = 0; i < len; i++) a.bytes[from + i] = text[i];
    } else {
        binary_copy(text, a.hex, a.bytes + from, len);
    }
}
