// SPDX-License-Identifier: Apache-2.0
// Dates, times, timestamps and durations of ISO 8601 text, by one thread; the forms are those of
// docs/design/0002, rule 12. Text with escapes, and text that is not clearly valid, is left to the
// CPU engine.
#ifndef ARROWSMITH_TIME_CUH
#define ARROWSMITH_TIME_CUH
#include "text.cuh"

__device__ __forceinline__ i32 two_digits(const u8 *text) {
    return is_digit(text[0]) && is_digit(text[1]) ? (text[0] - '0') * 10 + (text[1] - '0') : -1;
}

// YYYY-MM-DD in days since 1970-01-01.
__device__ __forceinline__ bool date_at(const u8 *text, i64 *days) {
    const i32 century = two_digits(text);
    if (century < 0) return false;
    const i32 rest = two_digits(text + 2);
    if (rest < 0 || text[4] != '-') return false;
    const i32 month = two_digits(text + 5);
    if (month < 1 || month > 12 || text[7] != '-') return false;
    const i32 day = two_digits(text + 8);
    i32 year = century * 100 + rest;
    const bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    const i32 days_of_month = month == 2 ? (leap ? 29 : 28) : 30 + ((month + (month > 7 ? 1 : 0)) & 1);
    if (year == 0 || day < 1 || day > days_of_month) return false;
    // Years from March, so that the leap day is the last.
    if (month < 3) year--;
    const i32 from_march = month < 3 ? month + 9 : month - 3;
    *days = (i64)year * 365 + year / 4 - year / 100 + year / 400 + (153 * from_march + 2) / 5 + day - 1 - 719468;
    return true;
}

// Digits of a fraction in units of 1 / per_second; false if there are none, or if digits would be
// lost.
__device__ __forceinline__ bool fraction_at(const u8 *text, u32 *at, i64 per_second, i64 *units) {
    i64 weight = per_second;
    u32 i = *at;
    *units = 0;
    for (; is_digit(text[i]); i++) {
        weight /= 10;
        if (weight == 0 && text[i] != '0') return false;
        *units += weight * (text[i] - '0');
    }
    const bool some = i > *at;
    *at = i;
    return some;
}

// HH:MM[:SS[.f]]: seconds, up to a day with a leap second, and the fraction in units.
__device__ __forceinline__ bool clock_at(const u8 *text, u32 *at, i64 per_second, i64 *seconds, i64 *units) {
    u32 i = *at;
    const i32 hour = two_digits(text + i);
    if (hour < 0 || hour > 23 || text[i + 2] != ':') return false;
    const i32 minute = two_digits(text + i + 3);
    if (minute < 0 || minute > 59) return false;
    i32 second = 0;
    i += 5;
    *units = 0;
    if (text[i] == ':') {
        second = two_digits(text + i + 1);
        if (second < 0 || second > 60) return false;
        i += 3;
        if (text[i] == '.') {
            i++;
            if (!fraction_at(text, &i, per_second, units)) return false;
        }
    } else if (text[i] == '.') {
        return false;
    }
    *seconds = hour * 3600 + minute * 60 + second;
    *at = i;
    return true;
}

// seconds × per_second + units, if it fits 64 bits.
__device__ __forceinline__ bool scale_seconds(i64 seconds, i64 units, i64 per_second, i64 *value) {
    const __int128 wide = (__int128)seconds * per_second + units;
    *value = (i64)wide;
    return (__int128)*value == wide;
}

__device__ __forceinline__ bool time_of_day(const u8 *text, u32 len, i64 per_second, i64 *value) {
    i64 seconds, units;
    u32 at = 0;
    if (!clock_at(text, &at, per_second, &seconds, &units) || at != len || seconds >= 86400) return false;
    *value = seconds * per_second + units;
    return true;
}

// A date, or a date and a time of day with an optional offset. `local` is subtracted from a text
// without offset, if `local_known`.
__device__ __forceinline__ bool timestamp(const u8 *text, u32 len, i64 per_second, bool local_known, i64 local, i64 *value) {
    i64 days;
    if (len < 10 || !date_at(text, &days)) return false;
    i64 seconds = 0, units = 0, offset = 0;
    bool has_offset = false;
    u32 i = 10;
    if (len > 10) {
        if (text[10] != 'T' && text[10] != 't' && text[10] != ' ') return false;
        i = 11;
        if (!clock_at(text, &i, per_second, &seconds, &units)) return false;
        const u8 sign = text[i];
        if (i == len) {
        } else if (sign == 'Z' || sign == 'z') {
            has_offset = true;
            i++;
        } else if (sign == '+' || sign == '-') {
            has_offset = true;
            const i32 hour = two_digits(text + i + 1);
            if (hour < 0 || hour > 23) return false;
            i += 3;
            i32 minute = 0;
            if (i != len) {
                if (text[i] == ':') i++;
                minute = two_digits(text + i);
                if (minute < 0 || minute > 59) return false;
                i += 2;
            }
            offset = hour * 3600 + minute * 60;
            if (sign == '-') offset = -offset;
        } else {
            return false;
        }
    }
    if (i != len) return false;
    if (!scale_seconds(days * 86400 + seconds - offset, units, per_second, value)) return false;
    if (has_offset) return true;
    const i64 utc = (i64)((u64)*value - (u64)local);
    if (!local_known || (local > 0 ? utc > *value : utc < *value)) return false;
    *value = utc;
    return true;
}

// [±]P[nD][T[nH][nM][n[.f]S]].
__device__ __forceinline__ bool duration(const u8 *text, u32 len, i64 per_second, i64 *value) {
    const bool negative = text[0] == '-';
    u32 i = negative || text[0] == '+' ? 1 : 0;
    if (text[i] != 'P') return false;
    i++;
    bool in_time = false;
    u32 order = 0;
    i64 seconds = 0, units = 0;
    while (i < len) {
        if (text[i] == 'T' && !in_time) {
            in_time = true;
            order = 1;
            if (++i == len) return false;
            continue;
        }
        const u32 from = i;
        i64 count = 0;
        for (; is_digit(text[i]); i++) {
            if (count > 100000000000000ll) return false;
            count = count * 10 + (text[i] - '0');
        }
        if (i == from) return false;
        if (text[i] == '.') {
            i++;
            if (!fraction_at(text, &i, per_second, &units) || text[i] != 'S') return false;
        }
        const u8 c = text[i];
        u32 place;
        i64 weight;
        if (!in_time && c == 'D') place = 1, weight = 86400;
        else if (in_time && c == 'H') place = 2, weight = 3600;
        else if (in_time && c == 'M') place = 3, weight = 60;
        else if (in_time && c == 'S') place = 4, weight = 1;
        else return false;
        if (place <= order) return false;
        order = place;
        i++;
        const __int128 sum = (__int128)count * weight + seconds;
        seconds = (i64)sum;
        if ((__int128)seconds != sum) return false;
    }
    // `PT` alone was refused above; a lone `T` counts as none.
    if (order == 0 || i != len) return false;
    return negative ? scale_seconds(-seconds, -units, per_second, value) : scale_seconds(seconds, units, per_second, value);
}

#endif
