// SPDX-License-Identifier: Apache-2.0
// The interface of every contestant of `arrowsmith bench objects`: decodes the paper's tree (Fig.
// 18) from bytes, many times.
//
// The tree has n operations, a chain: each has a literal on its left, the next on its right, and
// the last a literal there too. A contestant encodes it once in its own format, untimed. Timed is a
// server's work for a message: decode its bytes to the form that its users work with, and release
// that before the next message. A file is one contestant; those that compile here take part.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace bench {

struct Codec {
    virtual ~Codec() = default;
    virtual const char *name() const = 0;
    // The reader's result: "objects" of the user's classes, "messages" of generated ones, "views"
    // into the bytes, "bytes".
    virtual const char *yields() const = 0;
    virtual void encode(int operations) = 0;
    virtual std::size_t bytes() const = 0;
    // Decodes and releases this many times; returns whether all succeeded.
    virtual bool decode(unsigned times) = 0;
    // The same, and walks the tree in between: the sum of its values, as computed by `evaluate()`.
    virtual bool use(unsigned times, int &value) = 0;
};

// Loops without virtual calls in them. T has `bool make()`, `int evaluate()` and `void release()`.
template <class T> struct Loops : Codec {
    bool decode(unsigned times) override {
        T &self = static_cast<T &>(*this);
        bool good = true;
        for (unsigned i = 0; i < times; i++) {
            good &= self.make();
            // Prevents the result from being optimized away.
            asm volatile("" : : "r"(&self) : "memory");
            self.release();
        }
        return good;
    }
    bool use(unsigned times, int &value) override {
        T &self = static_cast<T &>(*this);
        bool good = true;
        for (unsigned i = 0; i < times; i++) {
            good &= self.make();
            if (good) value = self.evaluate();
            self.release();
        }
        return good;
    }
};

inline std::vector<std::unique_ptr<Codec>> &codecs() {
    static std::vector<std::unique_ptr<Codec>> all;
    return all;
}

template <class T> struct Enter {
    Enter() { codecs().push_back(std::make_unique<T>()); }
};

// The values of the chain: literal i, operation i, the last literal; and its value. The numbers of
// the operations are those of the paper: 0 adds, 1 subtracts.
inline int literal(int index) { return index * 7 + 1; }
inline int operation(int index) { return index % 2; }
inline int apply(int type, int left, int right) { return type == 0 ? left + right : left - right; }
inline int expected(int operations) {
    int value = literal(operations);
    for (int i = operations; i-- > 0;) value = apply(operation(i), literal(i), value);
    return value;
}

// The message of the paper (Sect. 3).
inline std::vector<std::uint8_t> message(int operations) {
    std::vector<std::uint8_t> out;
    auto put = [&](std::uint32_t value, int bytes) {
        for (int i = 0; i < bytes; i++) out.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
    };
    put(static_cast<std::uint32_t>(2 * operations + 1), 4);
    for (int i = 0; i < operations; i++) put(1, 4), put(0, 4);
    put(0, 4);
    for (int i = 0; i < operations; i++) {
        put(static_cast<std::uint32_t>(2 * i + 1), 4);
        put(static_cast<std::uint32_t>(2 * i + 2), 4);
        put(static_cast<std::uint32_t>(operation(i)), 1);
        put(static_cast<std::uint32_t>(literal(i)), 4);
    }
    put(static_cast<std::uint32_t>(literal(operations)), 4);
    return out;
}

}  // namespace bench
