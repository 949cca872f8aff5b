// SPDX-License-Identifier: Apache-2.0
// Uses the objects that the circuit made: the circuit reads the message from this process's memory
// and writes the tree to the region's actual address, and then this program calls virtual functions
// on it. Prints one line per tree; returns 0 on success.
#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "as_graph_driver.hpp"
#include "as_memory_model.hpp"
#include "expression.hpp"

namespace {

constexpr uint32_t kCapacity = 64 * 1024;

// The first word of an object: its vtable pointer.
template <class T>
uint64_t vtable_of(const T& object) {
    uintptr_t value = 0;
    std::memcpy(&value, static_cast<const void*>(&object), sizeof value);
    return value;
}

struct Message {
    std::vector<uint8_t> types, members;
    uint32_t count = 0;

    template <class T>
    static void put(std::vector<uint8_t>& to, T value) {
        const auto* bytes = reinterpret_cast<const uint8_t*>(&value);
        to.insert(to.end(), bytes, bytes + sizeof value);
    }
    // An operation whose left is the next object, a literal, and whose right is the one after it.
    void operation(Operation::OperationType type) {
        put<uint32_t>(types, 1);
        put<uint32_t>(members, count + 1);
        put<uint32_t>(members, count + 2);
        put<uint8_t>(members, static_cast<uint8_t>(type));
        count++;
    }
    void literal(int value) {
        put<uint32_t>(types, 0);
        put<int32_t>(members, value);
        count++;
    }
    std::vector<uint8_t> bytes() const {
        std::vector<uint8_t> all;
        put(all, count);
        all.insert(all.end(), types.begin(), types.end());
        all.insert(all.end(), members.begin(), members.end());
        return all;
    }
};

// 1 + (2 - (3 + (4 - … n))), computed by recursion.
Message tree(int operations, int& value) {
    Message message;
    for (int i = 1; i <= operations; i++) {
        message.operation(i % 2 ? Operation::eAddition : Operation::eSubtraction);
        message.literal(i);
    }
    message.literal(operations + 1);
    value = operations + 1;
    for (int i = operations; i >= 1; i--) value = i % 2 ? i + value : i - value;
    return message;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) return 2;
    const uint64_t layout_hash = std::strtoull(argv[1], nullptr, 16);
    arrowsmith::MemoryModel model;
    arrowsmith::GraphDriver driver(model);
    if (!driver.identify(layout_hash)) return 3;
    driver.set_vtable(0, vtable_of(Literal(0)));
    driver.set_vtable(1, vtable_of(Operation(Operation::eAddition, nullptr, nullptr)));

    // A fixed address, as the paper's preallocated region: mapped there, or failure.
    void* const wanted = reinterpret_cast<void*>(uintptr_t{0x20000000});
    void* const region = mmap(wanted, kCapacity, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (region != wanted) return 4;

    for (int operations : {1, 2, 127, 500}) {
        int expected = 0;
        std::vector<uint8_t> message = tree(operations, expected).bytes();
        model.take_back_all();
        model.lend(reinterpret_cast<uintptr_t>(region), region, kCapacity, true);
        model.lend(reinterpret_cast<uintptr_t>(message.data()), message.data(), message.size(), false);
        arrowsmith::GraphRequest request;
        request.message = reinterpret_cast<uintptr_t>(message.data());
        request.length = static_cast<uint32_t>(message.size());
        request.region = reinterpret_cast<uintptr_t>(region);
        request.capacity = kCapacity;
        if (!driver.submit(request)) return 5;
        std::optional<arrowsmith::GraphAnswer> answer;
        for (int i = 0; i < 100000 && !answer; i++) answer = driver.poll();
        if (!answer || answer->code != 0 || !model.breaches().empty() || !model.stray().empty()) return 6;
        const int value = static_cast<const Node*>(region)->evaluate();
        std::printf("%d objects, %u bytes, %u cycles: %d\n", 2 * operations + 1, answer->bytes, answer->cycles, value);
        if (value != expected) return 7;
    }
    return 0;
}
