// SPDX-License-Identifier: Apache-2.0
// The grammar of single JSON words, by one thread: strings, numbers, literals.
//
// The host pads the text with line feeds past its last byte, which no word goes past, so that no
// bounds checks are needed here. A function returns true only if the contract (docs/design/0002)
// allows the text.
#ifndef ARROWSMITH_TEXT_CUH
#define ARROWSMITH_TEXT_CUH
#include "../common.cuh"

// Whether the text is exactly this word.
__device__ __forceinline__ bool is_literal(const u8 *text, const char *word, u32 len) {
    for (u32 i = 0; i < len; i++)
        if (text[i] != (u8)word[i]) return false;
    return ends_word(text[len]);
}

__device__ __forceinline__ i32 hex_digit(u8 c) {
    if (is_digit(c)) return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

__device__ __forceinline__ i32 hex4(const u8 *text) {
    i32 value = 0;
    for (u32 i = 0; i < 4; i++) {
        const i32 digit = hex_digit(text[i]);
        if (digit < 0) return -1;
        value = value * 16 + digit;
    }
    return value;
}

// The byte that a backslash and this letter stand for; 0 for none. 'u' is not among them.
__device__ __forceinline__ u8 escape_of(u8 c) {
    switch (c) {
    case '"': case '\\': case '/': return c;
    case 'b': return 8;
    case 'f': return 12;
    case 'n': return 10;
    case 'r': return 13;
    case 't': return 9;
    default: return 0;
    }
}

// Bytes of the string after the quote at `text`, quotes included, if its escapes are valid and it
// holds no control character; else 0. Surrogates and UTF-8 are not checked.
__device__ __forceinline__ u64 string_bytes(const u8 *text) {
    u64 i = 1;
    for (;;) {
        const u8 c = text[i];
        if (c == '"') return i + 1;
        if (c < 0x20) return 0;
        if (c == '\\') {
            if (text[i + 1] == 'u') {
                if (hex4(text + i + 2) < 0) return 0;
                i += 6;
                continue;
            }
            if (!escape_of(text[i + 1])) return 0;
            i++;
        }
        i++;
    }
}

struct Number {
    bool ok, negative, fraction, exponent;
    // The start of the integer digits, the end of the mantissa's digits, the end of the number.
    u32 digits, mantissa_end, end;
};

// The number at `text`.
__device__ __forceinline__ Number number_at(const u8 *text) {
    Number n = {false, text[0] == '-', false, false, 0, 0, 0};
    u32 i = n.negative ? 1 : 0;
    n.digits = i;
    while (is_digit(text[i])) i++;
    if (i == n.digits || (i > n.digits + 1 && text[n.digits] == '0')) return n;
    if (text[i] == '.') {
        n.fraction = true;
        const u32 from = ++i;
        while (is_digit(text[i])) i++;
        if (i == from) return n;
    }
    n.mantissa_end = i;
    if ((text[i] | 0x20) == 'e') {
        n.exponent = true;
        i++;
        if (text[i] == '+' || text[i] == '-') i++;
        const u32 from = i;
        while (is_digit(text[i])) i++;
        if (i == from) return n;
    }
    n.end = i;
    n.ok = true;
    return n;
}

// Whether a word other than brackets and punctuation is of the grammar.
__device__ __forceinline__ bool is_scalar(const u8 *text) {
    switch (text[0]) {
    case '"': return string_bytes(text) != 0;
    case 't': return is_literal(text, "true", 4);
    case 'f': return is_literal(text, "false", 5);
    case 'n': return is_literal(text, "null", 4);
    default: {
        const Number n = number_at(text);
        return n.ok && ends_word(text[n.end]);
    }
    }
}

// Bytes of the UTF-8 character at `text`, 0 if it is invalid.
__device__ __forceinline__ u32 utf8_bytes(const u8 *text) {
    const u8 a = text[0];
    if (a < 0x80) return 1;
    if (a < 0xC2 || a > 0xF4) return 0;
    if ((text[1] & 0xC0) != 0x80) return 0;
    if (a < 0xE0) return 2;
    if ((text[2] & 0xC0) != 0x80) return 0;
    if (a < 0xF0) {
        if ((a == 0xE0 && text[1] < 0xA0) || (a == 0xED && text[1] > 0x9F)) return 0;
        return 3;
    }
    if ((text[3] & 0xC0) != 0x80) return 0;
    if ((a == 0xF0 && text[1] < 0x90) || (a == 0xF4 && text[1] > 0x8F)) return 0;
    return 4;
}

// The decoded escape at `text` (its backslash): bytes read, bytes of UTF-8 and the bytes
// themselves. `read` is 0 for a broken escape or half of a pair.
struct Escape {
    u32 read, len;
    u32 bytes;
};

__device__ __forceinline__ Escape unescape(const u8 *text) {
    Escape e = {0, 0, 0};
    if (text[1] != 'u') {
        const u8 c = escape_of(text[1]);
        if (c) e.read = 2, e.len = 1, e.bytes = c;
        return e;
    }
    i32 code = hex4(text + 2);
    if (code < 0 || (code >= 0xDC00 && code < 0xE000)) return e;
    u32 read = 6;
    u32 point = (u32)code;
    if (code >= 0xD800 && code < 0xDC00) {
        if (text[6] != '\\' || text[7] != 'u') return e;
        const i32 low = hex4(text + 8);
        if (low < 0xDC00 || low > 0xDFFF) return e;
        point = 0x10000 + ((u32)(code - 0xD800) << 10) + (u32)(low - 0xDC00);
        read = 12;
    }
    e.read = read;
    if (point < 0x80) {
        e.len = 1, e.bytes = point;
    } else if (point < 0x800) {
        e.len = 2, e.bytes = (0xC0 | point >> 6) | (0x80 | (point & 63)) << 8;
    } else if (point < 0x10000) {
        e.len = 3;
        e.bytes = (0xE0 | point >> 12) | (0x80 | (point >> 6 & 63)) << 8 | (0x80 | (point & 63)) << 16;
    } else {
        e.len = 4;
        e.bytes = (0xF0 | point >> 18) | (0x80 | (point >> 12 & 63)) << 8 |
                  (0x80 | (point >> 6 & 63)) << 16 | (0x80 | (point & 63)) << 24;
    }
    return e;
}

#endif
