// SPDX-License-Identifier: Apache-2.0
// The tables of a layout, and numbers in memory: what the other headers of this folder share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace arrowsmith::graph {

// The tables of a layout. The fields have the meaning of those of the same name in the JSON form.
enum class Kind : std::uint8_t { integer, bits, real, pointer, string, vector, view, choice };

// The container that elements are in.
enum class Form : std::uint8_t { vector, deque, list, tree, hash };

struct Element;

struct Target {
    std::uint32_t type_id;
    std::uint32_t adjust;
    std::int32_t slot;  // of the vtable pointer there; -1: none
};

struct Reference {
    const Target *targets;
    std::uint32_t count;
    bool nullable;
    const std::int64_t *adjust_of;  // by type id; -1: not allowed
};

struct Member {
    Kind kind;
    std::uint8_t bytes;
    std::uint8_t wire_bytes;
    bool is_signed;
    bool ranged;
    std::uint8_t bit_offset;
    std::uint8_t bit_size;
    std::uint32_t offset;
    std::uint32_t count;
    std::int64_t low, high;
    const Reference *reference;
    const Element *element;  // of a choice: `high` alternatives, whose number is in the byte at `low`
};

struct Element {
    std::uint32_t size, align, wire_bytes_min, member_count;
    const Member *members;
    Form form;
    bool unique, descending, cached;
    std::uint32_t key_count;  // 0: no order is checked
    const std::uint32_t *keys;
};

struct VtablePointer {
    std::uint32_t offset, slot;
};

struct Class {
    std::uint32_t size, align;
    std::uint32_t wire_bytes;  // 0xFFFFFFFF: not the same for all objects
    std::uint32_t vptr_count, member_count;
    const VtablePointer *vptrs;
    const Member *members;
};

struct Layout {
    std::uint32_t pointer_bytes, region_align, class_count, slot_count;
    std::uint64_t wire_hash;
    const Class *classes;
    Reference root;
    const std::uint64_t *slots;  // the values of vtable pointers
};

namespace detail {

template <typename T> inline T load(const std::uint8_t *at) {
    T value;
    std::memcpy(&value, at, sizeof value);
    return value;
}

template <typename T> inline void store(std::uint8_t *at, T value) { std::memcpy(at, &value, sizeof value); }

inline std::uint64_t load_bytes(const std::uint8_t *at, unsigned bytes) {
    switch (bytes) {
    case 1: return *at;
    case 2: return load<std::uint16_t>(at);
    case 4: return load<std::uint32_t>(at);
    default: return load<std::uint64_t>(at);
    }
}

inline void store_bytes(std::uint8_t *at, unsigned bytes, std::uint64_t value) {
    switch (bytes) {
    case 1: *at = static_cast<std::uint8_t>(value); break;
    case 2: store(at, static_cast<std::uint16_t>(value)); break;
    case 4: store(at, static_cast<std::uint32_t>(value)); break;
    default: store(at, value);
    }
}

inline std::uint64_t sign_extend(std::uint64_t value, unsigned bits) {
    if (bits >= 64) return value;
    const std::uint64_t sign = std::uint64_t{1} << (bits - 1);
    return (value ^ sign) - sign;
}

inline bool in_range(const Member &member, std::uint64_t value) {
    if (member.is_signed) {
        const auto number = static_cast<std::int64_t>(value);
        return number >= member.low && number <= member.high;
    }
    // For unsigned numbers, a negative upper bound allows none and a negative lower bound all.
    const std::uint64_t low = member.low < 0 ? 0 : static_cast<std::uint64_t>(member.low);
    return member.high >= 0 && value >= low && value <= static_cast<std::uint64_t>(member.high);
}

inline std::uint64_t align_up(std::uint64_t value, std::uint64_t align) { return (value + align - 1) & ~(align - 1); }

// The bits of a number at any position in memory, a byte at a time: bit-fields may end with their
// object.
inline std::uint64_t load_bits(const std::uint8_t *at, unsigned offset, unsigned size) {
    const unsigned bytes = (offset + size + 7) / 8;
    if (bytes == 1) return (at[0] >> offset) & ((1U << size) - 1);
    if (bytes == 2) return (load<std::uint16_t>(at) >> offset) & ((1U << size) - 1);
    std::uint64_t value = 0;
    for (unsigned done = 0; done < size;) {
        const unsigned bit = offset + done, within = bit % 8;
        const unsigned take = size - done < 8 - within ? size - done : 8 - within;
        const std::uint64_t part = (at[bit / 8] >> within) & ((1U << take) - 1);
        value |= part << done;
        done += take;
    }
    return value;
}

inline void store_bits(std::uint8_t *at, unsigned offset, unsigned size, std::uint64_t value) {
    for (unsigned done = 0; done < size;) {
        const unsigned bit = offset + done, within = bit % 8;
        const unsigned take = size - done < 8 - within ? size - done : 8 - within;
        const unsigned mask = ((1U << take) - 1) << within;
        at[bit / 8] = static_cast<std::uint8_t>((at[bit / 8] & ~mask) | ((value >> done << within) & mask));
        done += take;
    }
}

}  // namespace detail

}  // namespace arrowsmith::graph
