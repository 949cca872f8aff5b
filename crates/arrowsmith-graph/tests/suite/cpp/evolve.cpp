// SPDX-License-Identifier: Apache-2.0
// One program in two versions: each writes messages, reads those of the other one, and answers
// changed ones. `write FILE` writes its own; `read FILE OUT` reads those of the other one, and
// writes to OUT what it has read.
#ifdef NEWER
#include "newer.hpp"
#else
#include "older.hpp"
#endif
#include "evolving.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

using Bytes = std::vector<std::uint8_t>;

static void check(bool good, const char *what) {
    if (good) return;
    std::fprintf(stderr, "FAILED: %s\n", what);
    std::exit(1);
}

static void fill(Node &node, int i) {
    node.count = static_cast<std::uint16_t>(65000 + i);
    for (int k = 0; k < i; ++k) {
        Item item{};
        item.id = -k;
        item.weight = 0.5F + static_cast<float>(k);
        item.name = k % 2 == 0 ? "short" : "a name that is too long for the string itself";
#ifdef NEWER
        item.added = {1, 2, k};
#else
        item.removed[1] = 7;
        node.removed.push_back("gone");
#endif
        node.items.push_back(item);
        node.by_id[k * 3] = item;
    }
    if (i > 0) node.maybe = -i;
    if (i % 2 == 0) node.any = i;
    else node.any = std::string("any");
    node.large = -1000000000 - i;
    node.grade = Grade::high;
#ifdef NEWER
    node.words = {"a", "b"};
    node.some = std::string("some");
    node.note = "a note";
    node.level = last;
    node.other = &node;
#endif
}

static void same(const Node &node, int i) {
    check(node.count == 65000U + static_cast<unsigned>(i) && node.grade == Grade::high, "numbers of more or fewer bytes");
    check(node.items.size() == static_cast<std::size_t>(i) && node.by_id.size() == node.items.size(), "containers");
    int k = 0;
    for (const Item &item : node.items) {
        check(item.id == -k && item.weight == 0.5 + k && item.name.size() == (k % 2 == 0 ? 5 : 45), "members of elements");
        check(node.by_id.at(k * 3).name == item.name, "a map");
        ++k;
#ifdef NEWER
        check(item.added.empty(), "a new member of an element");
#else
        check(item.removed[1] == 0, "a member that the newer one removed");
#endif
    }
    check(node.maybe.has_value() == (i > 0) && (i == 0 || *node.maybe == -i), "an optional");
    if (i % 2 == 0) check(std::get<int>(node.any) == i, "an alternative");
    else check(std::get<std::string>(node.any) == "any", "an alternative");
    check(node.large == -1000000000 - i, "a number of fewer bytes");
#ifdef NEWER
    check(node.words.empty() && node.words.begin() == node.words.end() && node.note.empty(), "new members are empty");
    check(node.other == nullptr && node.added == nullptr && std::get<short>(node.some) == 0, "new members are null");
    check(node.level == first, "a new enumerator is one");
#else
    check(node.removed.empty(), "what the newer one removed is empty");
#endif
}

int main(int, char **argv) {
    const arrowsmith::graph::Options options{true, 1U << 20};
    if (std::strcmp(argv[1], "write") == 0) {
        std::ofstream out(argv[2], std::ios::binary);
        for (int i = 0; i < 6; ++i) {
            Leaf leaf;
            Node root;
            fill(root, i);
            fill(leaf, i);
            leaf.leaf = 11;
            root.next = &leaf;
            leaf.next = &root;
            Bytes message;
            check(evolving::write(&root, message, options).ok(), "it is written");
            out.write(reinterpret_cast<const char *>(message.data()), static_cast<std::streamsize>(message.size()));
        }
        return 0;
    }
    std::ifstream in(argv[2], std::ios::binary);
    const std::string all((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    std::ofstream out(argv[3], std::ios::binary);
    constexpr std::size_t capacity = 1 << 16;
    auto *memory = std::aligned_alloc(64, capacity);
    std::vector<Bytes> good;
    for (std::size_t at = 0; at < all.size();) {
        std::uint32_t length = 0;
        std::memcpy(&length, all.data() + at + 16, 4);
        good.emplace_back(all.begin() + static_cast<std::ptrdiff_t>(at), all.begin() + static_cast<std::ptrdiff_t>(at + 20 + length));
        at += 20 + length;
    }
    check(good.size() == 6, "all messages are there");
    for (int i = 0; i < 6; ++i) {
        const Bytes &message = good[static_cast<std::size_t>(i)];
        Node *root = nullptr;
        std::uint64_t needed = 0;
        check(evolving::region_bytes(message.data(), message.size(), needed, options).ok(), "it is measured");
        const auto status = evolving::read(message.data(), message.size(), {memory, static_cast<std::size_t>(needed)}, root, options);
        check(status.ok(), "a message of the other version is read");
        same(*root, i);
        same(*root->next, i);
        check(dynamic_cast<Leaf &>(*root->next).leaf == 11 && root->next->next == root, "classes and cycles");
        Bytes own;
        check(evolving::write(root, own, options).ok(), "what was read is written");
        out.write(reinterpret_cast<const char *>(own.data()), static_cast<std::streamsize>(own.size()));
    }
    // What the header says is checked as for the own version.
    Bytes longer = good[1];
    longer.push_back(0);
    Node *none = nullptr;
    const auto header = evolving::read(longer.data(), longer.size(), {memory, capacity}, none, options);
    check(header.code == arrowsmith::graph::Code::bad_header && header.position == 16, "a length that is not that of the message");
    longer = good[1];
    longer[8] ^= 1;
    const auto unknown = evolving::read(longer.data(), longer.size(), {memory, capacity}, none, options);
    check(unknown.code == arrowsmith::graph::Code::wrong_layout && unknown.position == 8, "a version that is not known");
    std::uint64_t state = 88172645463325252U;
    const auto random = [&](std::size_t end) {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        return static_cast<std::size_t>(state % end);
    };
    std::size_t taken = 0;
    for (int i = 0; i < 20000; ++i) {
        Bytes message = good[random(good.size())];
        for (std::size_t changes = 1 + random(3); changes > 0; --changes) {
            const std::size_t at = 20 + random(message.size() - 20);
            message[at] = static_cast<std::uint8_t>(random(3) == 0 ? random(256) : random(6));
            if (random(9) == 0) {
                message.resize(at + 1);
                const auto length = static_cast<std::uint32_t>(message.size() - 20);
                std::memcpy(message.data() + 16, &length, 4);
                break;
            }
        }
        const std::unique_ptr<std::uint8_t[]> exact(new std::uint8_t[message.size()]);
        std::memcpy(exact.get(), message.data(), message.size());
        Node *root = nullptr, *other = nullptr;
        const auto fast = evolving::read(exact.get(), message.size(), {memory, capacity}, root, options);
        const bool good_one = fast.ok();
        Bytes own;
        if (good_one) check(evolving::write(root, own, options).ok(), "what is accepted can be written");
        taken += good_one;
        const auto tables = evolving::read_by_tables(exact.get(), message.size(), {memory, capacity}, other, options);
        check(fast.code == tables.code && fast.position == tables.position, "both readers answer alike");
    }
    check(taken > 1000, "some are accepted");
    std::free(memory);
    return 0;
}
