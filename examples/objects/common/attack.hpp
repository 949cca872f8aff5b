// SPDX-License-Identifier: Apache-2.0
// Hostile messages: good ones with bytes, words and lengths changed. Every reader has to say the
// same of each, and what is refused must not be touched. The cases can be written to a file, for
// the Rust reader to say the same.
#pragma once

#include <arrowsmith/graph.hpp>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

namespace attack {

using arrowsmith::graph::Layout;
using arrowsmith::graph::Region;
using arrowsmith::graph::Status;

using Bytes = std::vector<std::uint8_t>;

inline void check(bool good, const char *what) {
    if (good) return;
    std::fprintf(stderr, "FAILED: %s\n", what);
    std::exit(1);
}

class Random {
public:
    explicit Random(std::uint64_t seed) : state_(seed) {}
    std::uint64_t next() {
        state_ ^= state_ << 13;
        state_ ^= state_ >> 7;
        state_ ^= state_ << 17;
        return state_;
    }
    std::size_t below(std::size_t end) { return end == 0 ? 0 : static_cast<std::size_t>(next() % end); }

private:
    std::uint64_t state_;
};

// What a reader says, and what it makes.
struct Outcome {
    Status status;
    std::uint64_t root = 0;
    bool operator==(const Outcome &other) const {
        return status.code == other.status.code && status.position == other.status.position && (!status.ok() || root == other.root);
    }
};

using Read = std::function<Outcome(const Bytes &message, const Region &region)>;

inline Bytes mutated(const std::vector<Bytes> &good, Random &random) {
    Bytes message = good[random.below(good.size())];
    static constexpr std::uint32_t odd[] = {0, 1, 2, 3, 0xFFFFFFFF, 0xFFFFFFFE, 0x80000000, 0x7FFFFFFF, 16, 255, 256, 65536};
    for (std::size_t changes = random.below(4); changes > 0 && !message.empty(); --changes) {
        const std::size_t at = random.below(message.size());
        switch (random.below(7)) {
        case 0: message[at] = static_cast<std::uint8_t>(random.next()); break;
        case 1: message[at] = static_cast<std::uint8_t>(message[at] ^ (1U << random.below(8))); break;
        case 2: message.resize(at); break;
        case 3: message.insert(message.begin() + static_cast<std::ptrdiff_t>(at), static_cast<std::uint8_t>(random.next())); break;
        case 4: message.erase(message.begin() + static_cast<std::ptrdiff_t>(at)); break;
        default: {
            // A whole word, mostly where one is.
            const std::size_t place = random.below(2) == 0 ? at & ~std::size_t{3} : at;
            const std::uint32_t word = random.below(2) == 0 ? odd[random.below(sizeof odd / sizeof *odd)]
                                                            : static_cast<std::uint32_t>(random.below(random.below(2) == 0 ? 12 : 300));
            if (place + 4 <= message.size()) std::memcpy(message.data() + place, &word, 4);
        }
        }
    }
    return message;
}

class Cases {
public:
    Cases(const char *path, const Layout &layout, std::uint64_t address) : file_(path ? std::fopen(path, "wb") : nullptr) {
        check(path == nullptr || file_ != nullptr, "the file of cases can be written");
        put(address);
        put(layout.slot_count);
        for (std::uint32_t i = 0; i < layout.slot_count; ++i) put(layout.slots[i]);
    }
    ~Cases() {
        if (file_) std::fclose(file_);
    }
    Cases(const Cases &) = delete;

    void add(const Bytes &message, const Region &region, const Outcome &outcome) {
        if (!file_) return;
        put(message.size());
        std::fwrite(message.data(), 1, message.size(), file_);
        put(region.capacity);
        put(static_cast<std::uint64_t>(outcome.status.code));
        put(outcome.status.position);
        put(outcome.root);
        std::uint64_t hash = 0xcbf29ce484222325U;
        const auto *memory = static_cast<const std::uint8_t *>(region.memory);
        for (std::size_t i = 0; outcome.status.ok() && i < region.capacity; ++i) hash = (hash ^ memory[i]) * 0x100000001b3U;
        put(hash);
    }

private:
    void put(std::uint64_t value) {
        if (file_) std::fwrite(&value, 8, 1, file_);
    }
    std::FILE *file_;
};

// Tries `count` messages on readers that must agree; `use` is called with what all of them have
// taken.
inline void run(const Layout &layout, const std::vector<Bytes> &good, std::size_t count, std::size_t region_bytes,
                const Read &fast, const Read &tables, const std::function<Outcome(const Bytes &)> &other,
                const std::function<void(std::uint64_t)> &use, const char *path) {
    auto *memory = static_cast<std::uint8_t *>(std::aligned_alloc(64, region_bytes));
    auto *twin = static_cast<std::uint8_t *>(std::aligned_alloc(64, region_bytes));
    const auto address = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(memory));
    Cases cases(path, layout, address);
    Random random(0x9E3779B97F4A7C15U);
    std::size_t taken = 0;
    std::size_t seen[32] = {};
    for (std::size_t i = 0; i < count; ++i) {
        // A separate copy, so that sanitizers find a read past its end.
        const Bytes message = i < good.size() ? good[i] : mutated(good, random);
        std::size_t capacity = region_bytes;
        if (i >= good.size() && random.below(8) == 0) capacity = random.below(region_bytes);
        const Bytes own(message);
        std::memset(memory, 0xAA, region_bytes);
        std::memset(twin, 0xAA, region_bytes);
        const Region region(memory, capacity), second(twin, capacity, address);
        const Outcome ours = fast(own, region), theirs = tables(own, second);
        if (!(ours == theirs)) {
            std::fprintf(stderr, "case %zu: code %u at %llu, by tables %u at %llu\n", i, static_cast<unsigned>(ours.status.code),
                         static_cast<unsigned long long>(ours.status.position), static_cast<unsigned>(theirs.status.code),
                         static_cast<unsigned long long>(theirs.status.position));
            check(false, "all readers say the same");
        }
        for (std::size_t b = capacity; b < region_bytes; ++b) check(memory[b] == 0xAA, "nothing is written after the region");
        if (ours.status.ok()) check(std::memcmp(memory, twin, region_bytes) == 0, "all readers make the same");
        if (other && ours.status.code != arrowsmith::graph::Code::region_too_small) {
            check(other(own).status.code == ours.status.code, "the baseline says the same");
            check(other(own).status.position == ours.status.position, "the baseline says the same, at the same place");
        }
        cases.add(message, region, ours);
        ++seen[static_cast<unsigned>(ours.status.code)];
        if (ours.status.ok()) {
            ++taken;
            use(ours.root);
        }
    }
    std::printf("%zu messages, %zu good; by code:", count, taken);
    for (unsigned code = 0; code < 32; ++code) {
        if (seen[code] != 0) std::printf(" %u:%zu", code, seen[code]);
    }
    std::printf("\n");
    std::free(memory);
    std::free(twin);
}

}  // namespace attack
