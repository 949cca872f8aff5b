// SPDX-License-Identifier: Apache-2.0
// The reader that `arrowsmith objects generate` made for the classes (namespace `expr`), and the
// lower bound for any reader: a copy of the objects.
#include <cstdlib>
#include <cstring>

#include "codec.hpp"
#include "expr.hpp"

namespace {

constexpr std::size_t capacity = 1 << 16;

struct Region {
    void *memory = std::aligned_alloc(64, capacity);
    ~Region() { std::free(memory); }
};

struct Ours : bench::Loops<Ours> {
    std::vector<std::uint8_t> message;
    Region region;
    Node *root = nullptr;

    const char *name() const override { return "arrowsmith"; }
    const char *yields() const override { return "objects"; }
    void encode(int operations) override { message = bench::message(operations); }
    std::size_t bytes() const override { return message.size(); }
    bool make() { return expr::read(message.data(), message.size(), {region.memory, capacity}, root).ok(); }
    int evaluate() const { return root->evaluate(); }
    void release() {}
};

struct Copy : bench::Loops<Copy> {
    Region from, to;
    std::size_t size = 0;
    Node *root = nullptr;

    const char *name() const override { return "memcpy"; }
    const char *yields() const override { return "bytes"; }
    void encode(int operations) override {
        const std::vector<std::uint8_t> message = bench::message(operations);
        size = 32 * static_cast<std::size_t>(2 * operations + 1);
        // Pointers are made for the address of the copy.
        const auto address = reinterpret_cast<std::uintptr_t>(to.memory);
        if (!expr::read(message.data(), message.size(), {from.memory, capacity, address}, root).ok()) std::abort();
    }
    std::size_t bytes() const override { return size; }
    bool make() {
        std::memcpy(to.memory, from.memory, size);
        return true;
    }
    int evaluate() const { return reinterpret_cast<Node *>(to.memory)->evaluate(); }
    void release() {}
};

const bench::Enter<Ours> enter_ours;
const bench::Enter<Copy> enter_copy;

}  // namespace
