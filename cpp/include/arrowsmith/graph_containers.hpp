// SPDX-License-Identifier: Apache-2.0
// The containers of libstdc++ in memory: where a reader puts their elements, and how it links them;
// which elements a writer finds, in which order. The Rust reader does the same, in
// `wire/link.rs` and `wire/order.rs` of `arrowsmith-graph`.
#pragma once

#include <arrowsmith/graph_tables.hpp>

#include <algorithm>
#include <vector>

namespace arrowsmith::graph::detail {

// Where the content of a container is: all bytes, their alignment, the first element, the distance
// of two.
struct Content {
    std::uint64_t bytes, align, first, stride;
};

// The elements in a block of a deque.
inline std::uint64_t per_block(const Element &element) { return element.size < 512 ? 512 / element.size : 1; }

// At least as many as elements, and without small divisors, as keys are often multiples of a
// number.
inline std::uint64_t bucket_count(std::uint64_t length) {
    std::uint64_t count = length | 1;
    while (count > 1 && (count % 3 == 0 || count % 5 == 0 || count % 7 == 0)) count += 2;
    return count;
}

// The bytes of a node before its element.
inline std::uint64_t head_of(const Element &element, std::uint64_t word) {
    const std::uint64_t words = element.form == Form::list ? 2 : element.form == Form::tree ? 4 : 1;
    return align_up(words * word, element.align);
}

inline Content content_of(const Element &element, std::uint64_t length, std::uint64_t word) {
    const std::uint64_t size = element.size, own = element.align, align = own > word ? own : word;
    if (element.form == Form::vector) return {length * size, own, 0, size};
    if (element.form == Form::deque) {
        const std::uint64_t first = align_up((length / per_block(element) + 1) * word, own);
        return {first + length * size, align, first, size};
    }
    const std::uint64_t first = head_of(element, word);
    const std::uint64_t end = element.cached ? align_up(first + size, word) + word : first + size;
    const std::uint64_t stride = align_up(end, align), buckets = bucket_count(length);
    const bool table = element.form == Form::hash && buckets > 1;
    return {length * stride + (table ? buckets * word : 0), align, first, stride};
}

// `std::_Hash_bytes` of libstdc++ with its seed: Murmur 64A, or Murmur 2 where `std::size_t` has 32
// bits.
inline std::uint64_t hash_bytes(const std::uint8_t *bytes, std::uint64_t length, unsigned word) {
    constexpr std::uint32_t seed = 0xc70f6907U;
    if (word == 4) {
        constexpr std::uint32_t factor = 0x5bd1e995U;
        std::uint32_t hash = seed ^ static_cast<std::uint32_t>(length);
        for (; length >= 4; bytes += 4, length -= 4) {
            std::uint32_t part = load<std::uint32_t>(bytes) * factor;
            part = (part ^ (part >> 24)) * factor;
            hash = (hash * factor) ^ part;
        }
        if (length > 0) {
            std::uint32_t part = 0;
            for (std::uint64_t i = length; i > 0; --i) part = (part << 8) | bytes[i - 1];
            hash = (hash ^ part) * factor;
        }
        hash = (hash ^ (hash >> 13)) * factor;
        return hash ^ (hash >> 15);
    }
    constexpr std::uint64_t factor = 0xc6a4a7935bd1e995U;
    const auto mix = [](std::uint64_t value) { return value ^ (value >> 47); };
    std::uint64_t hash = seed ^ (length * factor);
    for (; length >= 8; bytes += 8, length -= 8) {
        hash = (hash ^ (mix(load<std::uint64_t>(bytes) * factor) * factor)) * factor;
    }
    if (length > 0) {
        std::uint64_t part = 0;
        for (std::uint64_t i = length; i > 0; --i) part = (part << 8) | bytes[i - 1];
        hash = (hash ^ part) * factor;
    }
    return mix(mix(hash) * factor);
}

// Memory whose first byte has an address, which may be another than its own: that of a region, or,
// with nothing and 0, that of the program.
class Linker {
public:
    Linker(std::uint8_t *memory, std::uint64_t address, unsigned word) : memory_(memory), address_(address), word_(word) {}

    // Whether an element of a map or set may be after another one. A number that is none has no
    // place in an order.
    bool follows(const Element &element, const std::uint8_t *before, const std::uint8_t *at) const {
        if (element.key_count == 0) return true;
        const Order order = compare(element, before, at);
        if (order == Order::equal) return !element.unique;
        return order == (element.descending ? Order::greater : Order::less);
    }

    bool is_less(const Element &element, const std::uint8_t *a, const std::uint8_t *b) const {
        return compare(element, a, b) == Order::less;
    }

    // Makes the container at an offset, whose elements are there, and all other bytes zero.
    void link(const Element &element, std::uint64_t place, std::uint64_t length, std::uint64_t content) const {
        const Container of{element, content_of(element, length, word_), place, length, content};
        switch (element.form) {
        case Form::deque: return deque(of);
        case Form::list: return list(of);
        case Form::tree: return tree(of);
        case Form::hash: return hash(of);
        default: return vector(of);
        }
    }

private:
    enum class Order { less, equal, greater, none };

    struct Container {
        const Element &element;
        const Content of;
        const std::uint64_t place, length, content;
        std::uint64_t node(std::uint64_t index) const { return content + index * of.stride; }
    };

    struct Text {
        const std::uint8_t *bytes;
        std::uint64_t length;
    };

    std::uint64_t word_at(std::uint64_t place) const { return load_bytes(memory_ + place, word_); }
    void set(std::uint64_t place, std::uint64_t value) const { store_bytes(memory_ + place, word_, value); }

    // A string or a view of one.
    Text text(const Member &member, const std::uint8_t *at) const {
        const bool view = member.kind == Kind::view;
        const std::uint64_t length = load_bytes(at + (view ? 0 : word_), word_);
        const std::uint64_t to = load_bytes(at + (view ? word_ : 0), word_);
        if (length == 0) return {nullptr, 0};
        if (memory_ == nullptr) return {reinterpret_cast<const std::uint8_t *>(static_cast<std::uintptr_t>(to)), length};
        return {memory_ + (to - address_), length};
    }

    template <typename T> static Order order_of(T a, T b) {
        return a < b ? Order::less : b < a ? Order::greater : a == b ? Order::equal : Order::none;
    }

    Order compare(const Element &element, const std::uint8_t *a, const std::uint8_t *b) const {
        for (std::uint32_t k = 0; k < element.key_count; ++k) {
            const Member &member = element.members[element.keys[k]];
            for (std::uint32_t i = 0; i < member.count; ++i) {
                const std::uint32_t offset = member.offset + i * member.bytes;
                const Order order = compare(member, a + offset, b + offset);
                if (order != Order::equal) return order;
            }
        }
        return Order::equal;
    }

    Order compare(const Member &member, const std::uint8_t *a, const std::uint8_t *b) const {
        if (member.kind == Kind::real) {
            return member.bytes == 4 ? order_of(load<float>(a), load<float>(b)) : order_of(load<double>(a), load<double>(b));
        }
        if (member.kind != Kind::integer) {
            const Text x = text(member, a), y = text(member, b);
            const std::uint64_t both = std::min(x.length, y.length);
            const int order = both == 0 ? 0 : std::memcmp(x.bytes, y.bytes, static_cast<std::size_t>(both));
            return order == 0 ? order_of(x.length, y.length) : order_of(order, 0);
        }
        const std::uint64_t x = load_bytes(a, member.bytes), y = load_bytes(b, member.bytes);
        if (!member.is_signed) return order_of(x, y);
        const unsigned bits = member.bytes * 8U;
        return order_of(static_cast<std::int64_t>(sign_extend(x, bits)), static_cast<std::int64_t>(sign_extend(y, bits)));
    }

    void vector(const Container &c) const {
        if (c.length == 0) return;
        const std::uint64_t first = address_ + c.content, end = first + c.length * c.of.stride;
        set(c.place, first);
        set(c.place + word_, end);
        set(c.place + 2 * word_, end);
    }

    // The table of blocks and its length; of the first and the last element the place, the block's
    // begin and end, and the block's place in the table. Blocks are next to each other, and the
    // last one is no longer than its elements.
    void deque(const Container &c) const {
        const std::uint64_t table = address_ + c.content, first = table + c.of.first;
        const std::uint64_t block = per_block(c.element) * c.of.stride, last = c.length / per_block(c.element);
        for (std::uint64_t i = 0; i <= last; ++i) set(c.content + i * word_, first + i * block);
        const std::uint64_t words[] = {table,         last + 1,
                                       first,         first,
                                       first + block, table,
                                       first + c.length * c.of.stride, first + last * block,
                                       first + (last + 1) * block,     table + last * word_};
        for (std::uint64_t i = 0; i < 10; ++i) set(c.place + i * word_, words[i]);
    }

    // Nodes begin with the next and the previous one; the container is one, then their number.
    void list(const Container &c) const {
        std::uint64_t before = c.place;
        for (std::uint64_t i = 0; i < c.length; ++i) {
            const std::uint64_t node = c.node(i);
            set(before, address_ + node);
            set(node + word_, address_ + before);
            before = node;
        }
        set(before, address_ + c.place);
        set(c.place + word_, address_ + before);
        set(c.place + 2 * word_, c.length);
    }

    // Nodes begin with colour, parent, left and right; the container has an empty word, a node that
    // is the parent of the root and knows the first and the last one, and their number.
    void tree(const Container &c) const {
        const std::uint64_t header = c.place + word_;
        unsigned deepest = 0;
        while ((c.length >> deepest) > 1) ++deepest;
        const bool full = ((c.length + 1) & c.length) == 0;
        const std::uint64_t root = subtree(c, 0, c.length, header, full ? 64 : deepest);
        store(memory_ + header, std::uint32_t{0});
        set(header + word_, root);
        set(header + 2 * word_, address_ + (c.length == 0 ? header : c.node(0)));
        set(header + 3 * word_, address_ + (c.length == 0 ? header : c.node(c.length - 1)));
        set(header + 4 * word_, c.length);
    }

    // Links nodes from `low` to before `high`; returns the address of the one above the others. The
    // levels are full but the last one, whose nodes are red (0); `deeper` levels are above that. It
    // is at most 32 levels deep.
    std::uint64_t subtree(const Container &c, std::uint64_t low, std::uint64_t high, std::uint64_t parent, unsigned deeper) const {
        if (low == high) return 0;
        const std::uint64_t middle = low + (high - low) / 2, node = c.node(middle);
        store(memory_ + node, std::uint32_t{deeper != 0});
        set(node + word_, address_ + parent);
        set(node + 2 * word_, subtree(c, low, middle, node, deeper - 1));
        set(node + 3 * word_, subtree(c, middle + 1, high, node, deeper - 1));
        return address_ + node;
    }

    // Nodes begin with the next one. The container has its buckets and their number, the first
    // node, the number of nodes, the greatest load, the number of nodes for which there are
    // buckets, and a bucket for when there is only one. A bucket has the node before its first.
    void hash(const Container &c) const {
        const std::uint64_t count = bucket_count(c.length);
        const std::uint64_t table = count == 1 ? c.place + 6 * word_ : c.content + c.length * c.of.stride;
        // The nodes of each bucket, in their order.
        for (std::uint64_t i = c.length; i > 0; --i) {
            const std::uint64_t node = c.node(i - 1), code = hash_of(c.element, memory_ + node + c.of.first);
            if (c.element.cached) set(align_up(node + c.of.first + c.element.size, word_), code);
            const std::uint64_t bucket = table + code % count * word_;
            set(node, word_at(bucket));
            set(bucket, address_ + node);
        }
        // One chain of them all.
        std::uint64_t before = c.place + 2 * word_;
        for (std::uint64_t i = 0; i < count; ++i) {
            const std::uint64_t bucket = table + i * word_;
            std::uint64_t next = word_at(bucket);
            if (next == 0) continue;
            set(before, next);
            set(bucket, address_ + before);
            for (; next != 0; next = word_at(before)) before = next - address_;
        }
        set(c.place, address_ + table);
        set(c.place + word_, count);
        set(c.place + 3 * word_, c.length);
        store(memory_ + c.place + 4 * word_, 1.0F);
        set(c.place + 5 * word_, c.length == 0 ? 0 : count);
    }

    // The hash of the key of an element: of a number itself.
    std::uint64_t hash_of(const Element &element, const std::uint8_t *at) const {
        const Member &member = element.members[element.keys[0]];
        at += member.offset;
        if (member.kind != Kind::integer) {
            const Text key = text(member, at);
            return hash_bytes(key.bytes, key.length, word_);
        }
        const std::uint64_t value = load_bytes(at, member.bytes);
        const std::uint64_t code = member.is_signed ? sign_extend(value, member.bytes * 8U) : value;
        return word_ == 4 ? code & 0xFFFFFFFFU : code;
    }

    std::uint8_t *const memory_;
    const std::uint64_t address_;
    const unsigned word_;
};

inline const std::uint8_t *pointer_at(const std::uint8_t *at, unsigned word) {
    return reinterpret_cast<const std::uint8_t *>(static_cast<std::uintptr_t>(load_bytes(at, word)));
}

// The node after another one of a tree: the leftmost on its right, or the first above it of which
// it is on the left.
inline const std::uint8_t *next_in_tree(const std::uint8_t *node, unsigned word) {
    const std::uint8_t *next = pointer_at(node + 3 * word, word);
    if (next != nullptr) {
        while (const std::uint8_t *left = pointer_at(next + 2 * word, word)) next = left;
        return next;
    }
    const std::uint8_t *parent = pointer_at(node + word, word);
    while (node == pointer_at(parent + 3 * word, word)) {
        node = parent;
        parent = pointer_at(parent + word, word);
    }
    return parent;
}

// The elements of a container of this process that is not a vector, in the order of the message:
// their own one, but of a hash table that of their keys, which every program has alike.
inline std::vector<const std::uint8_t *> elements_of(const Element &element, const std::uint8_t *place, unsigned word) {
    std::vector<const std::uint8_t *> found;
    if (element.form == Form::deque) {
        // Of the first element and of the end: place, begin and end of the block, its place in the
        // table.
        const std::uint8_t *at = pointer_at(place + 2 * word, word), *end = pointer_at(place + 6 * word, word);
        const std::uint8_t *block_end = pointer_at(place + 4 * word, word), *block = pointer_at(place + 5 * word, word);
        while (at != end) {
            found.push_back(at);
            at += element.size;
            if (at != block_end) continue;
            block += word;
            at = pointer_at(block, word);
            block_end = at + per_block(element) * element.size;
        }
        return found;
    }
    const std::uint64_t head = head_of(element, word);
    const unsigned count_at = element.form == Form::list ? 2 : element.form == Form::tree ? 5 : 3;
    const auto count = static_cast<std::size_t>(load_bytes(place + count_at * word, word));
    found.reserve(count);
    if (element.form == Form::tree) {
        const std::uint8_t *node = pointer_at(place + 3 * word, word);
        for (std::size_t i = 0; i < count; ++i, node = next_in_tree(node, word)) found.push_back(node + head);
        return found;
    }
    const std::uint8_t *node = pointer_at(place + (element.form == Form::list ? 0 : 2 * word), word);
    for (std::size_t i = 0; i < count; ++i, node = pointer_at(node, word)) found.push_back(node + head);
    if (element.form == Form::hash) {
        const Linker memory{nullptr, 0, word};
        std::stable_sort(found.begin(), found.end(), [&](const std::uint8_t *a, const std::uint8_t *b) { return memory.is_less(element, a, b); });
    }
    return found;
}

}  // namespace arrowsmith::graph::detail
