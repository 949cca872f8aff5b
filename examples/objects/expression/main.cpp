// SPDX-License-Identifier: Apache-2.0
// The paper's expression tree: written, read back in three ways, used; then attacked. Arguments:
// how many hostile messages [20000], and a file to write them to.
#include "baseline.hpp"
#include "expr.hpp"
#include "tree.hpp"

#include "../common/attack.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>

using attack::Bytes;
using attack::check;

namespace {

void paper_example() {
    Tree tree;
    // 3 + (5 * 4), Sect. 2.1.
    Node *l5 = tree.literal(5), *l4 = tree.literal(4), *l3 = tree.literal(3);
    Node *mult = tree.operation(Operation::eMultiplication, l5, l4);
    Node *add = tree.operation(Operation::eAddition, l3, mult);
    Bytes message;
    check(expr::write(add, message).ok(), "the tree is written");
    static constexpr std::uint8_t paper[] = {5, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0,
                                             0, 2, 0, 0, 0, 0, 3, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0, 2, 5, 0, 0, 0, 4, 0, 0, 0};
    check(message == Bytes(paper, paper + sizeof paper), "the message is that of Sect. 3.1, byte for byte");
    alignas(64) char memory[1024];
    Node *root = nullptr;
    check(expr::read(message.data(), message.size(), {memory, sizeof memory}, root).ok(), "the message is read");
    std::printf("the paper's tree evaluates to %d\n", root->evaluate());
    check(root->evaluate() == 23, "3 + (5 * 4) is 23");

    // For another address: created here, used there after one memcpy (Sect. 5.2).
    alignas(64) char elsewhere[1024];
    const arrowsmith::graph::Region made(memory, sizeof memory, reinterpret_cast<std::uintptr_t>(elsewhere));
    check(expr::read(message.data(), message.size(), made, root).ok(), "the message is read for another address");
    std::memcpy(elsewhere, memory, sizeof memory);
    check(static_cast<void *>(root) == elsewhere && root->evaluate() == 23, "the tree is used where it was made for");

    // Sharing and cycles are kept: one literal on both sides.
    Node *twice = tree.operation(Operation::eMultiplication, l5, l5);
    check(expr::write(twice, message).ok() && message.size() == 4 + 2 * 4 + 9 + 4, "a shared object is sent once");
    check(expr::read(message.data(), message.size(), {memory, sizeof memory}, root).ok() && root->evaluate() == 25, "and is shared again");

    // With the header, and with one of other classes.
    arrowsmith::graph::Options header;
    header.header = true;
    check(expr::write(add, message, header).ok(), "a header is written");
    check(expr::read(message.data(), message.size(), {memory, sizeof memory}, root, header).ok() && root->evaluate() == 23, "and read");
    message[8] ^= 1;
    const auto refused = expr::read(message.data(), message.size(), {memory, sizeof memory}, root, header);
    check(refused.code == arrowsmith::graph::Code::wrong_layout && refused.position == 8, "another layout is refused");

    // A chain that would exhaust the stack of a recursive writer.
    Node *deep = tree.chain(300000);
    check(expr::write(deep, message).ok() && message.size() == 21 * 300000 + 12, "a long chain is written");

    // Batches, and the entry points for C.
    Tree other;
    std::vector<Bytes> messages(100);
    std::vector<expr::Message> list;
    for (int i = 0; i < 100; ++i) {
        check(expr::write(other.balanced(i), messages[i]).ok(), "a message of the batch is written");
        list.push_back({messages[i].data(), messages[i].size()});
    }
    void *region = std::aligned_alloc(64, 1 << 20);
    std::vector<Node *> roots(100);
    std::size_t done = 0, used = 0;
    check(expr::read_batch(list.data(), 100, {region, 1 << 20}, roots.data(), done, used).ok() && done == 100, "a batch is read");
    for (int i = 0; i < 100; ++i) {
        Tree again;
        check(roots[i]->evaluate() == again.balanced(i)->evaluate(), "every tree of the batch is right");
    }
    std::free(region);
    std::uint64_t address = 0, position = 0;
    check(expr_read(paper, sizeof paper, memory, sizeof memory, reinterpret_cast<std::uintptr_t>(memory), &address, &position) == 0, "C reads");
    std::size_t written = 0;
    char back[64];
    check(expr_write(reinterpret_cast<void *>(static_cast<std::uintptr_t>(address)), back, sizeof back, &written) == 0 &&
              written == sizeof paper && std::memcmp(back, paper, written) == 0, "C writes what it read");
}

template <typename Work> double nanoseconds(Work work, int repeats) {
    double best = 1e18;
    for (int round = 0; round < 25; ++round) {
        const auto begin = std::chrono::steady_clock::now();
        for (int i = 0; i < repeats; ++i) work();
        const std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - begin;
        if (spent.count() / repeats < best) best = spent.count() / repeats;
    }
    return best;
}

// For information; times are not checked.
void timing() {
    std::printf("%5s %8s %8s %10s %10s %10s %10s\n", "n", "message", "memory", "fast ns", "tables ns", "baseline", "memcpy");
    for (const int n : {1, 3, 7, 15, 31, 63, 127}) {
        Tree tree;
        Bytes message;
        check(expr::write(tree.chain(n), message).ok(), "a tree is written");
        const std::size_t bytes = sizeof(Literal) * static_cast<std::size_t>(2 * n + 1);
        void *region = std::aligned_alloc(64, 16384), *copy = std::aligned_alloc(64, 16384);
        Node *root = nullptr;
        baseline::Serializer serializer;
        const auto keep = [](void *memory) { asm volatile("" ::"r"(memory) : "memory"); };
        const double fast = nanoseconds([&] { expr::read(message.data(), message.size(), {region, 16384}, root); keep(region); }, 2000);
        const double copied = nanoseconds([&] { std::memcpy(copy, region, bytes); keep(copy); }, 2000);
        const double tables = nanoseconds([&] { expr::read_by_tables(message.data(), message.size(), {region, 16384}, root); keep(region); }, 500);
        const double paper = nanoseconds([&] { serializer.read(message.data(), message.size()); }, 200);
        std::printf("%5d %8zu %8zu %10.1f %10.1f %10.1f %10.1f\n", n, message.size(), bytes, fast, tables, paper, copied);
        std::free(region);
        std::free(copy);
    }
}

// Many messages, more than the caches hold, as in a service that has just received them.
void streaming() {
    constexpr std::size_t count = 8192;
    const int n = 127;
    Tree tree;
    Bytes message;
    check(expr::write(tree.chain(n), message).ok(), "a tree is written");
    const std::size_t each = (sizeof(Literal) * static_cast<std::size_t>(2 * n + 1) + 63) & ~std::size_t{63};
    Bytes messages;
    for (std::size_t i = 0; i < count; ++i) messages.insert(messages.end(), message.begin(), message.end());
    std::vector<expr::Message> list;
    for (std::size_t i = 0; i < count; ++i) list.push_back({messages.data() + i * message.size(), message.size()});
    std::vector<Node *> roots(count);
    void *region = std::aligned_alloc(64, each * count), *copy = std::aligned_alloc(64, each * count);
    std::memset(region, 1, each * count);
    std::memset(copy, 1, each * count);
    std::size_t done = 0, used = 0;
    const auto keep = [](void *memory) { asm volatile("" ::"r"(memory) : "memory"); };
    // In turns, so that other load on the machine affects both.
    double batch = 1e18, copied = 1e18;
    for (int round = 0; round < 3; ++round) {
        batch = std::min(batch, nanoseconds([&] { expr::read_batch(list.data(), count, {region, each * count}, roots.data(), done, used); keep(region); }, 1) / count);
        copied = std::min(copied, nanoseconds([&] { std::memcpy(copy, region, each * count); keep(copy); }, 1) / count);
    }
    check(done == count && roots[count - 1]->evaluate() == tree.chain(n)->evaluate(), "the last tree is right");
    std::printf("%zu messages of n = 127, %zu MB of objects: %.1f ns per message, memcpy of the objects %.1f\n", count, each * count >> 20, batch, copied);
    std::free(region);
    std::free(copy);
}

}  // namespace

int main(int argc, char **argv) {
    if (argc > 1 && std::strcmp(argv[1], "timing") == 0) {
        timing();
        streaming();
        return 0;
    }
    paper_example();
    std::vector<Bytes> good;
    for (const int n : {0, 1, 2, 5, 12, 40, 127}) {
        Tree tree;
        Bytes message;
        check(expr::write(tree.chain(n), message).ok(), "a chain is written");
        good.push_back(message);
        check(expr::write(tree.balanced(n), message).ok(), "a tree is written");
        good.push_back(message);
        check(expr::write(tree.operation(Operation::eDivision, tree.chain(n), nullptr), message).ok(), "a null is written");
        good.push_back(message);
    }
    const std::size_t count = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 20000;
    const auto outcome = [](arrowsmith::graph::Status status, Node *root) {
        return attack::Outcome{status, reinterpret_cast<std::uintptr_t>(root)};
    };
    const auto fast = [&](const Bytes &message, const attack::Region &region) {
        Node *root = nullptr;
        const auto status = expr::read(message.data(), message.size(), region, root);
        return outcome(status, root);
    };
    const auto tables = [&](const Bytes &message, const attack::Region &region) {
        Node *root = nullptr;
        const auto status = expr::read_by_tables(message.data(), message.size(), region, root);
        return outcome(status, root);
    };
    const auto paper = [&](const Bytes &message) {
        baseline::Serializer serializer;
        return attack::Outcome{serializer.read(message.data(), message.size())};
    };
    // An accepted message can be written again: every pointer and vtable pointer in it is followed.
    // Trees that became graphs with cycles must not be evaluated; writing ends on them.
    const auto use = [](std::uint64_t root) {
        Bytes again;
        check(expr::write(reinterpret_cast<Node *>(static_cast<std::uintptr_t>(root)), again).ok(), "what was taken can be used");
    };
    attack::run(expr::layout(), good, count, 16384, fast, tables, paper, use, argc > 2 ? argv[2] : nullptr);
    return 0;
}
