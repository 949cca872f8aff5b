// SPDX-License-Identifier: Apache-2.0
// Writes, reads and compares objects with members of the standard library, then changes messages:
// both readers answer alike. Argument: the file for the messages and their answers.
#include "types.hpp"
#include "wire_types.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>

using Bytes = std::vector<std::uint8_t>;

static void check(bool good, const char *what) {
    if (good) return;
    std::fprintf(stderr, "FAILED: %s\n", what);
    std::exit(1);
}

static void same(const Types &a, const Types &b) {
    check(a.flags == b.flags, "a value that is not an enumerator");
    check(a.count == b.count && a.name == b.name && a.nested == b.nested, "optionals");
    check(a.at.has_value() == b.at.has_value() && (!a.at || a.at->y == b.at->y), "an optional of a class");
    check(a.leaf.has_value() == b.leaf.has_value() && (!a.leaf || (*a.leaf == nullptr) == (*b.leaf == nullptr)), "an optional pointer");
    check(a.any.index() == b.any.index(), "the alternative of a variant");
    if (const auto *text = std::get_if<std::string>(&a.any)) check(*text == std::get<std::string>(b.any), "a string in a variant");
    if (const auto *leaf = std::get_if<std::shared_ptr<Leaf>>(&a.any)) {
        check((*leaf)->value == std::get<std::shared_ptr<Leaf>>(b.any)->value, "a shared pointer in a variant");
        check(std::get<std::shared_ptr<Leaf>>(b.any) == b.a, "what is shared stays shared");
    }
    check(a.words == b.words && a.view == b.view && a.tuple == b.tuple && a.pair == b.pair, "views, tuples, pairs");
    check((a.a == a.b) == (b.a == b.b) && (!b.a || b.a->label == a.a->label), "shared pointers");
    if (const auto *big = dynamic_cast<const Big *>(a.b.get())) check(big->gaps == dynamic_cast<Big &>(*b.b).gaps, "optionals in vectors");
    check(a.corners[1].y == b.corners[1].y && a.elapsed == b.elapsed && a.since == b.since, "arrays, times");
    // Copies do not own, and may be made and dropped.
    const std::shared_ptr<Leaf> copy = b.a;
    check(copy.use_count() == 0, "the region owns the objects");
}

static Types make(int kind) {
    Types made{};
    made.elapsed = std::chrono::nanoseconds(1234567890123);
    made.corners = {{{1, 2}, {3, 4}}};
    made.tuple = {'t', "a string that is too long to be inside", 2.5F};
    if (kind == 0) return made;
    made.count = 7;
    made.flags = static_cast<Flags>(200 + kind);
    made.name = "an optional string that is not short";
    made.at = Point{5, 6};
    made.nested = std::optional<bool>(kind == 1 ? std::nullopt : std::optional<bool>(true));
    made.words = {true, std::string_view("a view"), false, std::string_view()};
    auto big = std::make_shared<Big>();
    big->gaps = {1, std::nullopt, -3};
    made.b = big;
    made.a = kind == 1 ? std::make_shared<Leaf>() : made.b;
    made.a->label = "label";
    made.a->value = kind;
    made.view = "seen";
    made.pair = {9, 0.5};
    made.leaf = kind == 1 ? nullptr : made.a.get();
    if (kind == 1) made.any = std::string("in a variant");
    if (kind == 2) made.any = made.a;
    if (kind == 3) made.any = Point{8, 9};
    if (kind == 4) made.any = std::int64_t{-1};
    return made;
}

int main(int, char **argv) {
    constexpr std::size_t capacity = 8192;
    auto *memory = std::aligned_alloc(64, capacity), *other = std::aligned_alloc(64, capacity);
    std::ofstream out(argv[1], std::ios::binary);
    std::vector<Bytes> good;
    for (int kind = 0; kind < 5; ++kind) {
        const Types made = make(kind);
        Bytes message, again;
        check(wire_types::write(&made, message).ok(), "it is written");
        Types *root = nullptr;
        check(wire_types::read(message.data(), message.size(), {memory, capacity}, root).ok(), "it is read");
        same(made, *root);
        std::uint64_t needed = 0;
        check(wire_types::region_bytes(message.data(), message.size(), needed).ok(), "it is measured");
        const auto size = static_cast<std::size_t>(needed);
        const auto less = wire_types::read(message.data(), message.size(), {memory, size - 1}, root);
        check(less.code == arrowsmith::graph::Code::region_too_small, "it needs no less");
        check(wire_types::read(message.data(), message.size(), {memory, size}, root).ok(), "it fits what it needs");
        check(wire_types::write(root, again).ok() && again == message, "what was read is written as it was");
        good.push_back(message);
    }
    std::uint64_t state = 88172645463325252U;
    const auto random = [&](std::size_t end) {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        return static_cast<std::size_t>(state % end);
    };
    std::size_t accepted = 0;
    for (int i = 0; i < 20000; ++i) {
        Bytes message = good[random(good.size())];
        for (std::size_t changes = i < 5 ? 0 : 1 + random(3); changes > 0; --changes) {
            const std::size_t at = random(message.size());
            if (random(8) == 0 && at > 0) message.resize(at);
            else message[at] = static_cast<std::uint8_t>(random(3) == 0 ? random(256) : random(6));
        }
        // Exactly as long, so that a sanitizer sees what is read after the end.
        const std::unique_ptr<std::uint8_t[]> exact(new std::uint8_t[message.size()]);
        std::memcpy(exact.get(), message.data(), message.size());
        Types *root = nullptr, *by_tables = nullptr;
        const auto fast = wire_types::read(exact.get(), message.size(), {memory, capacity}, root);
        const auto tables = wire_types::read_by_tables(exact.get(), message.size(), {other, capacity}, by_tables);
        check(fast.code == tables.code && fast.position == tables.position, "both readers answer alike");
        std::uint64_t needed = 0;
        const bool measured = wire_types::region_bytes(exact.get(), message.size(), needed).ok();
        if (fast.code == arrowsmith::graph::Code::region_too_small) check(!measured || needed > capacity, "too large is measured");
        if (fast.ok()) {
            ++accepted;
            check(measured && needed <= capacity, "what is accepted is measured");
            const auto same_size = wire_types::read_by_tables(exact.get(), message.size(), {other, static_cast<std::size_t>(needed)}, by_tables);
            check(same_size.ok(), "what is accepted fits what it needs");
            Bytes again, by_other;
            check(wire_types::write(root, again).ok() && wire_types::write(by_tables, by_other).ok(), "what is accepted can be written");
            check(again == by_other, "both readers make the same");
        }
        const std::uint64_t words[] = {message.size(), static_cast<std::uint64_t>(fast.code), fast.ok() ? 0 : fast.position};
        out.write(reinterpret_cast<const char *>(words), sizeof words);
        out.write(reinterpret_cast<const char *>(message.data()), static_cast<std::streamsize>(message.size()));
    }
    check(accepted > 100, "some messages are accepted");
    std::free(memory);
    std::free(other);
    return 0;
}
