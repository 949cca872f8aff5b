// SPDX-License-Identifier: Apache-2.0
// The fast paths of reading messages, for the sources that `arrowsmith objects generate` writes.
//
// Three ways, the first that applies: (1) if all classes are small, of one size and without strings
// and vectors, several objects at once with AVX-512 (`Groups`); (2) a compiled function per class
// (`Classes` of the generated source); (3) the tables (`Reader`). The first two only decide whether
// a message is valid; a message that they do not accept is read again by the third, which finds the
// code and position of the error. So all three have the same semantics, and errors cost extra time
// only when they occur.
#pragma once

#include <arrowsmith/graph.hpp>

#include <type_traits>

// Programs must run on any processor, so the processor is checked before vectors are used;
// ARROWSMITH_GRAPH_NO_VECTORS disables them, for tests.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(ARROWSMITH_GRAPH_NO_VECTORS)
// GCC 12 takes the undefined operands in its own header for mistakes.
#ifndef __clang__
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>
#ifndef __clang__
#pragma GCC diagnostic pop
#endif
#define ARROWSMITH_GRAPH_GROUPS 1
#endif

namespace arrowsmith::graph::fast {

#ifdef ARROWSMITH_GRAPH_GROUPS
#define ARROWSMITH_GRAPH_AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,bmi2")))

// Several objects at a time: as many as fill 64 bytes of memory. Their types together select an
// entry of a table, which gives for each of the 64 bytes the byte of the message, or of the vtable
// pointers, to copy. Then ids are converted to pointers by a shift and an addition, as all objects
// have one size, and a single comparison checks everything.
class Groups {
public:
    explicit Groups(const Layout &layout) { build(layout); }

    // Whether it applies to this layout, processor and message.
    bool fits(std::uint32_t objects) const { return entries_ != nullptr && objects >= objects_min; }

    // Makes the objects; false if anything is invalid, or not supported here. `in` is after the
    // type list.
    bool read(const std::uint8_t *types, std::uint32_t objects, const std::uint8_t *in, const std::uint8_t *end,
              std::uint8_t *out, std::uint64_t address) {
        if (!sizes(types, objects, static_cast<std::size_t>(end - in))) return false;
        set_limits(objects);
        // Messages with nulls need more work per object; the previous messages predict it.
        for (int attempt = 0; attempt < 2; ++attempt) {
            const bool good = nulls_ ? run_of<true>(types, objects, in, end, out, address)
                                     : run_of<false>(types, objects, in, end, out, address);
            if (good) return true;
            nulls_ = !nulls_;
        }
        return false;
    }

    std::size_t bytes(std::uint32_t objects) const { return std::size_t{objects} << shift_; }

private:
    static constexpr std::uint32_t objects_min = 4;
    static constexpr unsigned types_max = 16, entries_max = 256;

    struct alignas(64) Entry {
        std::uint8_t from[64];          // byte of the message (0 to 63), or of `constants_` (64 to 127)
        std::uint32_t limit[16];        // the maximum of each 4 bytes; for pointers, of the id
        std::uint32_t fixed_limit[16];  // the same without pointers
        std::uint64_t pointers;         // which lanes are pointers, a lane being a pointer's size
        std::uint64_t wire_bytes;
        std::uint64_t padding[6];
    };

    void build(const Layout &layout) {
        __builtin_cpu_init();
        if (!__builtin_cpu_supports("avx512vbmi") || !__builtin_cpu_supports("avx512bw") ||
            !__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512vl") || !__builtin_cpu_supports("bmi2")) {
            return;
        }
        const std::uint32_t size = layout.classes[0].size, count = layout.class_count;
        if (size < 8 || size > 64 || (size & (size - 1)) != 0 || count > types_max) return;
        if (layout.slot_count > 56 / layout.pointer_bytes) return;
        group_ = 64 / size;
        for (type_bits_ = 0; (1U << type_bits_) < count; ++type_bits_) {
        }
        const unsigned bits = type_bits_ * group_;
        if (bits > 8) return;
        for (std::uint32_t t = 0; t < count; ++t) {
            const Class &of = layout.classes[t];
            if (of.size != size || of.align > size || of.wire_bytes > 64 / group_) return;
            wire_[t] = of.wire_bytes;
            narrow_ = narrow_ && of.wire_bytes * group_ <= 32;
            for (std::uint32_t m = 0; m < of.member_count; ++m) {
                if (!member_fits(layout, of.members[m])) return;
            }
        }
        pointer_bytes_ = layout.pointer_bytes;
        class_count_ = count;
        shift_ = static_cast<unsigned>(__builtin_ctz(size));
        for (std::uint32_t s = 0; s < layout.slot_count; ++s) {
            detail::store_bytes(constants_ + 8 + s * pointer_bytes_, pointer_bytes_, layout.slots[s]);
        }
        storage_.resize((sizeof(Entry) << bits) + 64);
        const auto aligned = (reinterpret_cast<std::uintptr_t>(storage_.data()) + 63) & ~std::uintptr_t{63};
        entries_ = reinterpret_cast<Entry *>(aligned);
        entry_count_ = 1U << bits;
        for (unsigned e = 0; e < entry_count_; ++e) build_entry(layout, e);
    }

    bool member_fits(const Layout &layout, const Member &member) {
        switch (member.kind) {
        case Kind::pointer: {
            const Reference &reference = *member.reference;
            if (!reference.nullable || reference.count != layout.class_count) return false;
            for (std::uint32_t i = 0; i < reference.count; ++i) {
                if (reference.targets[i].adjust != 0) return false;
            }
            return member.offset % layout.pointer_bytes == 0;
        }
        case Kind::real: return true;
        case Kind::integer:
            if (member.is_signed && member.wire_bytes != member.bytes) return false;
            if (!member.ranged) return true;
            return !member.is_signed && member.low == 0 && member.bytes == 4 && member.offset % 4 == 0 &&
                   member.high >= 0 && member.high < 0xFFFFFFFFLL;
        default: return false;
        }
    }

    void build_entry(const Layout &layout, unsigned number) {
        Entry &entry = entries_[number];
        std::memset(&entry, 0, sizeof entry);
        // Unused bytes come from the constants' first byte, a zero.
        std::memset(entry.from, 64, sizeof entry.from);
        std::memset(entry.fixed_limit, 0xFF, sizeof entry.fixed_limit);
        unsigned wire = 0;
        for (unsigned object = 0; object < group_; ++object) {
            const unsigned type = (number >> (object * type_bits_)) & ((1U << type_bits_) - 1);
            // Combinations with unused type ids are never looked up.
            if (type >= class_count_) return;
            const Class &of = layout.classes[type];
            const unsigned base = object << shift_;
            for (std::uint32_t v = 0; v < of.vptr_count; ++v) {
                for (unsigned b = 0; b < pointer_bytes_; ++b) {
                    entry.from[base + of.vptrs[v].offset + b] =
                        static_cast<std::uint8_t>(64 + 8 + of.vptrs[v].slot * pointer_bytes_ + b);
                }
            }
            for (std::uint32_t m = 0; m < of.member_count; ++m) {
                const Member &member = of.members[m];
                for (std::uint32_t i = 0; i < member.count; ++i) {
                    const unsigned place = base + member.offset + i * member.bytes;
                    for (unsigned b = 0; b < member.wire_bytes; ++b) entry.from[place + b] = static_cast<std::uint8_t>(wire + b);
                    if (member.kind == Kind::pointer) entry.pointers |= std::uint64_t{1} << (place / pointer_bytes_);
                    if (member.ranged) entry.fixed_limit[place / 4] = static_cast<std::uint32_t>(member.high);
                    wire += member.wire_bytes;
                }
            }
        }
        entry.wire_bytes = wire;
    }

    void set_limits(std::uint32_t objects) {
        if (limits_for_ == objects) return;
        limits_for_ = objects;
        const unsigned step = pointer_bytes_ / 4;
        for (unsigned e = 0; e < entry_count_; ++e) {
            Entry &entry = entries_[e];
            std::memcpy(entry.limit, entry.fixed_limit, sizeof entry.limit);
            for (std::uint64_t lanes = entry.pointers; lanes != 0; lanes &= lanes - 1) {
                entry.limit[static_cast<unsigned>(__builtin_ctzll(lanes)) * step] = objects - 1;
            }
        }
    }

    // Whether all types are known, and the objects together are as long as the message.
    ARROWSMITH_GRAPH_AVX512 bool sizes(const std::uint8_t *types, std::uint32_t objects, std::size_t bytes) const {
        const __m512i widths = _mm512_loadu_si512(wire_);
        const __m512i classes = _mm512_set1_epi32(static_cast<int>(class_count_));
        __m512i sum = _mm512_setzero_si512();
        __mmask16 unknown = 0;
        std::uint32_t i = 0;
        std::uint64_t total = 0;
        for (; i + 16 <= objects; i += 16) {
            const __m512i type = _mm512_loadu_si512(types + 4 * std::size_t{i});
            unknown |= _mm512_cmpge_epu32_mask(type, classes);
            sum = _mm512_add_epi32(sum, _mm512_permutexvar_epi32(type, widths));
            // Sums of 16 lanes of at most 64 do not overflow before this.
            if ((i & 0xFFFFFF) == 0xFFFFF0) {
                total += static_cast<std::uint64_t>(_mm512_reduce_add_epi64(_mm512_cvtepu32_epi64(_mm512_castsi512_si256(sum)))) +
                         static_cast<std::uint64_t>(_mm512_reduce_add_epi64(_mm512_cvtepu32_epi64(_mm512_extracti64x4_epi64(sum, 1))));
                sum = _mm512_setzero_si512();
            }
        }
        const auto rest = static_cast<__mmask16>((1U << (objects - i)) - 1);
        const __m512i type = _mm512_maskz_loadu_epi32(rest, types + 4 * std::size_t{i});
        unknown |= _mm512_mask_cmpge_epu32_mask(rest, type, classes);
        sum = _mm512_mask_add_epi32(sum, rest, sum, _mm512_permutexvar_epi32(type, widths));
        total += static_cast<std::uint32_t>(_mm512_reduce_add_epi32(sum));
        return unknown == 0 && total == bytes;
    }

    // The entry for the types of the objects of a group, of which `there` exist.
    ARROWSMITH_GRAPH_AVX512 unsigned entry_of(const std::uint8_t *types, unsigned there) const {
        unsigned number = 0;
        for (unsigned i = 0; i < there; ++i) number |= detail::load<std::uint32_t>(types + 4 * i) << (i * type_bits_);
        return number;
    }

    // The loop for this size of pointers and objects, and for the bytes of the message that a group
    // loads.
    template <bool Nulls>
    bool run_of(const std::uint8_t *types, std::uint32_t objects, const std::uint8_t *in, const std::uint8_t *end,
                std::uint8_t *out, std::uint64_t address) const {
        const auto pick = [&](auto pointer_bytes, auto group) {
            constexpr int P = decltype(pointer_bytes)::value, G = decltype(group)::value;
            return narrow_ ? run<P, Nulls, G, 32>(types, objects, in, end, out, address)
                           : run<P, Nulls, G, 64>(types, objects, in, end, out, address);
        };
        using std::integral_constant;
        if (pointer_bytes_ == 4) {
            switch (group_) {
            case 1: return pick(integral_constant<int, 4>{}, integral_constant<int, 1>{});
            case 2: return pick(integral_constant<int, 4>{}, integral_constant<int, 2>{});
            case 4: return pick(integral_constant<int, 4>{}, integral_constant<int, 4>{});
            default: return pick(integral_constant<int, 4>{}, integral_constant<int, 8>{});
            }
        }
        switch (group_) {
        case 1: return pick(integral_constant<int, 8>{}, integral_constant<int, 1>{});
        case 2: return pick(integral_constant<int, 8>{}, integral_constant<int, 2>{});
        case 4: return pick(integral_constant<int, 8>{}, integral_constant<int, 4>{});
        default: return pick(integral_constant<int, 8>{}, integral_constant<int, 8>{});
        }
    }

    // Several valid type ids, as the number of an entry.
    template <int G> ARROWSMITH_GRAPH_AVX512 static std::size_t number_of(const std::uint8_t *types, std::uint64_t pair, unsigned bits) {
        if constexpr (G == 1) {
            return detail::load<std::uint32_t>(types);
        } else {
            std::uint64_t number = 0;
            for (int i = 0; i < G / 2; ++i) {
                number |= _pext_u64(detail::load<std::uint64_t>(types + 8 * i), pair) << (2 * i * bits);
            }
            return static_cast<std::size_t>(number);
        }
    }

    template <int P, bool Nulls, int G, int Width>
    ARROWSMITH_GRAPH_AVX512 bool run(const std::uint8_t *types, std::uint32_t objects, const std::uint8_t *in,
                                     const std::uint8_t *end, std::uint8_t *out, std::uint64_t address) const {
        const __m512i constants = _mm512_loadu_si512(constants_);
        const __m512i base = P == 8 ? _mm512_set1_epi64(static_cast<long long>(address)) : _mm512_set1_epi32(static_cast<int>(address));
        const __m512i shift = P == 8 ? _mm512_set1_epi64(shift_) : _mm512_set1_epi32(static_cast<int>(shift_));
        const Entry *const entries = entries_;
        const std::uint64_t pair = ((std::uint64_t{1} << type_bits_) - 1) * 0x0000000100000001U;
        const unsigned type_bits = type_bits_;
        __mmask16 bad = 0;
        std::uint32_t i = 0;
        // Full groups whose loaded bytes are all within the message.
        if (end - in >= Width) {
            const std::uint8_t *const safe = end - Width;
            for (; i + G <= objects && in <= safe; i += G, out += 64) {
                const Entry &entry = entries[number_of<G>(types + 4 * std::size_t{i}, pair, type_bits)];
                __m512i bytes;
                if constexpr (Width == 32) {
                    bytes = _mm512_castsi256_si512(_mm256_loadu_si256(reinterpret_cast<const __m256i *>(in)));
                } else {
                    bytes = _mm512_loadu_si512(in);
                }
                bad = _kor_mask16(bad, make<P, Nulls>(entry, bytes, constants, base, shift, out, ~std::uint64_t{0}));
                in += entry.wire_bytes;
            }
        }
        for (; i < objects; i += G, out += 64) {
            const unsigned there = objects - i < G ? objects - i : G;
            const Entry &entry = entries[entry_of(types + 4 * std::size_t{i}, there)];
            const auto left = static_cast<std::size_t>(end - in);
            const std::uint64_t readable = left >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << left) - 1;
            const unsigned filled = there << shift_;
            const std::uint64_t lanes = filled == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << filled) - 1;
            const __m512i bytes = _mm512_maskz_loadu_epi8(readable, in);
            bad = _kor_mask16(bad, make<P, Nulls>(entry, bytes, constants, base, shift, out, lanes));
            in += entry.wire_bytes;
        }
        return bad == 0;
    }

    // One group: returns the errors as bits; only zero or non-zero matters.
    template <int P, bool Nulls>
    ARROWSMITH_GRAPH_AVX512 static inline __attribute__((always_inline)) __mmask16
    make(const Entry &entry, __m512i bytes, __m512i constants, __m512i base, __m512i shift, std::uint8_t *out, std::uint64_t filled) {
        __m512i value = _mm512_permutex2var_epi8(bytes, _mm512_load_si512(entry.from), constants);
        const auto pointers8 = static_cast<__mmask8>(entry.pointers);
        const auto pointers16 = static_cast<__mmask16>(entry.pointers);
        // In a partial group, the lanes of missing objects hold arbitrary values.
        const auto there = static_cast<__mmask16>(_pext_u64(filled, 0x1111111111111111U));
        __mmask16 bad;
        if constexpr (!Nulls) {
            bad = _mm512_cmpgt_epu32_mask(value, _mm512_load_si512(entry.limit)) & there;
            if constexpr (P == 8) {
                value = _mm512_mask_sllv_epi64(value, pointers8, value, shift);
                value = _mm512_mask_add_epi64(value, pointers8, value, base);
            } else {
                value = _mm512_mask_sllv_epi32(value, pointers16, value, shift);
                value = _mm512_mask_add_epi32(value, pointers16, value, base);
            }
        } else {
            // A null is an id that is allowed to exceed the limit, and becomes zero.
            const __mmask16 above = _mm512_cmpgt_epu32_mask(value, _mm512_load_si512(entry.limit));
            if constexpr (P == 8) {
                const __mmask8 null = _mm512_mask_cmpeq_epi64_mask(pointers8, value, _mm512_set1_epi64(0xFFFFFFFFLL));
                bad = static_cast<__mmask16>(above & ~_pdep_u32(null, 0x5555U) & there);
                value = _mm512_mask_sllv_epi64(value, pointers8, value, shift);
                value = _mm512_mask_add_epi64(value, pointers8, value, base);
                value = _mm512_mask_mov_epi64(value, null, _mm512_setzero_si512());
            } else {
                const __mmask16 null = _mm512_mask_cmpeq_epi32_mask(pointers16, value, _mm512_set1_epi32(-1));
                bad = static_cast<__mmask16>(above & ~null & there);
                value = _mm512_mask_sllv_epi32(value, pointers16, value, shift);
                value = _mm512_mask_add_epi32(value, pointers16, value, base);
                value = _mm512_mask_mov_epi32(value, null, _mm512_setzero_si512());
            }
        }
        if (filled == ~std::uint64_t{0}) {
            _mm512_storeu_si512(out, value);
        } else {
            _mm512_mask_storeu_epi8(out, filled, value);
        }
        return bad;
    }

    alignas(64) std::uint8_t constants_[64] = {};
    alignas(64) std::uint32_t wire_[types_max] = {};
    std::vector<std::uint8_t> storage_;
    Entry *entries_ = nullptr;
    unsigned entry_count_ = 0, group_ = 1, type_bits_ = 0, shift_ = 0, pointer_bytes_ = 8;
    std::uint32_t class_count_ = 0, limits_for_ = 0;
    bool nulls_ = false, narrow_ = true;
};
#endif

// The state of a generated reader, and the functions that its compiled code calls.
class State {
public:
    explicit State(const Layout &layout)
        : reader(layout), writer(layout), slots(layout.slots), layout_(layout)
#ifdef ARROWSMITH_GRAPH_GROUPS
          ,
          groups_(layout)
#endif
    {
    }

    template <typename Classes>
    Status read(const void *message, std::size_t bytes, const Region &region, const Options &options, std::uint64_t &root) {
        if (read_fast<Classes>(static_cast<const std::uint8_t *>(message), bytes, region, options, root)) return {};
        used_ = region.capacity;
        return reader.read(message, bytes, region, options, root);
    }

    // Bytes of the region that the last message took.
    std::size_t used() const { return used_; }

    std::size_t left() const { return static_cast<std::size_t>(end_ - in); }

    template <int P> static void store_word(std::uint8_t *out, std::uint64_t value) {
        if constexpr (P == 8) {
            detail::store(out, value);
        } else {
            detail::store(out, static_cast<std::uint32_t>(value));
        }
    }

    template <int Bytes, int WireBytes, bool Signed, bool Ranged, std::int64_t Low, std::int64_t High>
    bool integer(const std::uint8_t *from, std::uint8_t *to) const {
        std::uint64_t value = detail::load_bytes(from, WireBytes);
        if constexpr (Signed) value = detail::sign_extend(value, WireBytes * 8);
        if constexpr (Ranged) {
            if (!within<Signed, Low, High>(value)) return false;
        }
        detail::store_bytes(to, Bytes, value);
        return true;
    }

    template <int BitOffset, int BitSize, int WireBytes, bool Signed, bool Ranged, std::int64_t Low, std::int64_t High>
    bool bits(const std::uint8_t *from, std::uint8_t *to) const {
        std::uint64_t value = detail::load_bytes(from, WireBytes);
        if constexpr (Signed) value = detail::sign_extend(value, WireBytes * 8);
        if constexpr (Ranged) {
            if (!within<Signed, Low, High>(value)) return false;
        }
        detail::store_bits(to, BitOffset, BitSize, value);
        return true;
    }

    // A pointer to any class, always with the same offset in its objects.
    template <int P, bool Nullable, std::uint32_t Adjust> bool pointer(const std::uint8_t *from, std::uint8_t *to) const {
        const std::uint32_t id = detail::load<std::uint32_t>(from);
        if (id >= count_) return null<P, Nullable>(id, to);
        store_word<P>(to, address_ + offsets_[id] + Adjust);
        return true;
    }

    // A pointer to some classes: bit i of `Types` is that of type id i.
    template <int P, bool Nullable, std::uint32_t Adjust, std::uint64_t Types>
    bool pointer_of(const std::uint8_t *from, std::uint8_t *to) const {
        const std::uint32_t id = detail::load<std::uint32_t>(from);
        if (id >= count_) return null<P, Nullable>(id, to);
        if ((Types >> detail::load<std::uint32_t>(types_ + 4 * std::size_t{id}) & 1) == 0) return false;
        store_word<P>(to, address_ + offsets_[id] + Adjust);
        return true;
    }

    // A pointer whose offset depends on the class.
    template <int P, bool Nullable, typename AdjustOf>
    bool pointer_by(const std::uint8_t *from, std::uint8_t *to, AdjustOf adjust_of) const {
        const std::uint32_t id = detail::load<std::uint32_t>(from);
        if (id >= count_) return null<P, Nullable>(id, to);
        const std::int64_t adjust = adjust_of(detail::load<std::uint32_t>(types_ + 4 * std::size_t{id}));
        if (adjust < 0) return false;
        store_word<P>(to, address_ + offsets_[id] + static_cast<std::uint64_t>(adjust));
        return true;
    }

    template <int P> bool string(std::uint8_t *out) {
        if (left() < 4) return false;
        const std::uint64_t length = detail::load<std::uint32_t>(in);
        in += 4;
        if (length > left()) return false;
        std::uint8_t *content = out + 2 * P;
        if (length > 15) {
            content = take(length + 1, 1);
            if (content == nullptr) return false;
            store_word<P>(out + 2 * P, length);
        }
        std::memcpy(content, in, static_cast<std::size_t>(length));
        content[length] = 0;
        store_word<P>(out, address_of(content));
        store_word<P>(out + P, length);
        in += length;
        return true;
    }

    template <int P> bool view(std::uint8_t *out) {
        if (left() < 4) return false;
        const std::uint64_t length = detail::load<std::uint32_t>(in);
        in += 4;
        if (length > left()) return false;
        if (length == 0) return true;
        std::uint8_t *content = take(length, 1);
        if (content == nullptr) return false;
        std::memcpy(content, in, static_cast<std::size_t>(length));
        store_word<P>(out, length);
        store_word<P>(out + P, address_of(content));
        in += length;
        return true;
    }

    template <int P, std::uint32_t Size, std::uint32_t Align, std::uint32_t WireMin, typename Make>
    bool vector(std::uint8_t *out, Make make) {
        if (left() < 4) return false;
        const std::uint64_t length = detail::load<std::uint32_t>(in);
        in += 4;
        if (length * WireMin > left()) return false;
        if (length == 0) return true;
        const std::uint64_t bytes = length * Size;
        std::uint8_t *content = take(bytes, Align);
        if (content == nullptr) return false;
        std::memset(content, 0, static_cast<std::size_t>(bytes));
        const std::uint64_t first = address_of(content);
        store_word<P>(out, first);
        store_word<P>(out + P, first + bytes);
        store_word<P>(out + 2 * P, first + bytes);
        for (std::uint64_t i = 0; i < length; ++i, content += Size) {
            if (!make(*this, content)) return false;
        }
        return true;
    }

    // A container that is not a vector.
    template <int P, typename Make> bool container(std::uint8_t *out, const Element &element, Make make) {
        if (left() < 4) return false;
        const std::uint64_t length = detail::load<std::uint32_t>(in);
        in += 4;
        if (length * element.wire_bytes_min > left()) return false;
        const detail::Linker linker{memory_, address_, P};
        const detail::Content of = detail::content_of(element, length, P);
        std::uint8_t *content = memory_;
        if (of.bytes > 0) {
            content = take(of.bytes, of.align);
            if (content == nullptr) return false;
            std::memset(content, 0, static_cast<std::size_t>(of.bytes));
        }
        for (std::uint64_t i = 0; i < length; ++i) {
            std::uint8_t *const item = content + of.first + i * of.stride;
            if (!make(*this, item)) return false;
            if (i > 0 && !linker.follows(element, item - of.stride, item)) return false;
        }
        linker.link(element, static_cast<std::uint64_t>(out - memory_), length, static_cast<std::uint64_t>(content - memory_));
        return true;
    }

    Reader reader;
    Writer writer;
    const std::uint64_t *slots;
    const std::uint8_t *in = nullptr;

private:
    template <bool Signed, std::int64_t Low, std::int64_t High> static bool within(std::uint64_t value) {
        if constexpr (Signed) {
            return static_cast<std::int64_t>(value) >= Low && static_cast<std::int64_t>(value) <= High;
        } else {
            constexpr std::uint64_t low = Low < 0 ? 0 : static_cast<std::uint64_t>(Low);
            return High >= 0 && value >= low && value <= static_cast<std::uint64_t>(High);
        }
    }

    template <int P, bool Nullable> static bool null(std::uint32_t id, std::uint8_t *to) {
        if (!Nullable || id != null_id) return false;
        store_word<P>(to, 0);
        return true;
    }

    std::uint64_t address_of(const std::uint8_t *place) const {
        return address_ + static_cast<std::uint64_t>(place - memory_);
    }

    std::uint8_t *take(std::uint64_t bytes, std::uint64_t align) {
        const std::uint64_t begin = detail::align_up(tail_, align);
        if (begin > capacity_ || bytes > capacity_ - begin) return nullptr;
        tail_ = begin + bytes;
        return memory_ + begin;
    }

    template <typename Classes>
    bool read_fast(const std::uint8_t *message, std::size_t bytes, const Region &region, const Options &options, std::uint64_t &root) {
        if (!Reader::region_is_sound(layout_, region)) return false;
        if (options.header) {
            if (!Reader::check_header(layout_, message, bytes).ok()) return false;
            message += header_bytes;
            bytes -= header_bytes;
        }
        if (bytes < 8) return false;
        count_ = detail::load<std::uint32_t>(message);
        if (count_ == 0 || count_ > options.objects_max || count_ > (bytes - 4) / 4) return false;
        types_ = message + 4;
        in = types_ + 4 * std::size_t{count_};
        end_ = message + bytes;
        memory_ = static_cast<std::uint8_t *>(region.memory);
        capacity_ = region.capacity;
        address_ = region.address;
        const std::uint32_t root_type = detail::load<std::uint32_t>(types_);
        if (root_type >= layout_.class_count || layout_.root.adjust_of[root_type] < 0) return false;
        root = address_ + static_cast<std::uint64_t>(layout_.root.adjust_of[root_type]);
#ifdef ARROWSMITH_GRAPH_GROUPS
        if (groups_.fits(count_)) {
            used_ = groups_.bytes(count_);
            return used_ <= capacity_ && groups_.read(types_, count_, in, end_, memory_, address_);
        }
#endif
        if (!place()) return false;
        for (std::uint32_t i = 0; i < count_; ++i) {
            if (!Classes::make(detail::load<std::uint32_t>(types_ + 4 * std::size_t{i}), *this, memory_ + offsets_[i])) return false;
        }
        used_ = static_cast<std::size_t>(tail_);
        return in == end_;
    }

    // The offset of each object.
    bool place() {
        if (offsets_.size() < count_) offsets_.resize(count_);
        std::uint64_t heap = 0;
        for (std::uint32_t i = 0; i < count_; ++i) {
            const std::uint32_t type = detail::load<std::uint32_t>(types_ + 4 * std::size_t{i});
            if (type >= layout_.class_count) return false;
            const Class &of = layout_.classes[type];
            heap = detail::align_up(heap, of.align);
            offsets_[i] = static_cast<std::size_t>(heap);
            heap += of.size;
            if (heap > capacity_) return false;
        }
        tail_ = heap;
        return true;
    }

    const Layout &layout_;
#ifdef ARROWSMITH_GRAPH_GROUPS
    Groups groups_;
#endif
    const std::uint8_t *types_ = nullptr, *end_ = nullptr;
    std::uint8_t *memory_ = nullptr;
    std::uint64_t capacity_ = 0, address_ = 0, tail_ = 0;
    std::uint32_t count_ = 0;
    std::size_t used_ = 0;
    std::vector<std::size_t> offsets_;
};

}  // namespace arrowsmith::graph::fast
