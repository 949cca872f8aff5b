// SPDX-License-Identifier: Apache-2.0
// The host's side of the object-graph circuit: writes requests to its registers and reads answers
// from them.
//
// A Bus has `void write(uint32_t address, uint32_t value)` and `uint32_t read(uint32_t address)`
// for the registers' 4 KiB: a mapped PCIe window on a board, a simulated AXI4-Lite port in
// as_memory_model.hpp. The driver knows registers only: the caller owns the memory of messages and
// regions; addresses are those that the circuit sees.
#pragma once

#include <cstdint>
#include <optional>

namespace arrowsmith {

// Registers, by byte address; documented in hdl/rtl/graph/as_graph_regs.sv.
enum GraphRegister : uint32_t {
    kIdentity = 0x000,
    kVersion = 0x004,
    kLayoutHashLow = 0x008,
    kLayoutHashHigh = 0x00c,
    kObjectsMax = 0x010,
    kSlots = 0x014,
    kBeatBytes = 0x018,
    kControl = 0x020,
    kStatus = 0x024,
    kMessageLow = 0x030,
    kMessageHigh = 0x034,
    kMessageLength = 0x038,
    kRegionLow = 0x040,
    kRegionHigh = 0x044,
    kRegionCapacity = 0x048,
    kTag = 0x04c,
    kAnswerTag = 0x060,
    kAnswerCode = 0x064,
    kAnswerPosition = 0x068,
    kAnswerObjects = 0x06c,
    kAnswerBytes = 0x070,
    kAnswerCycles = 0x074,
    kVtableSlot = 0x080,
    kVtableLow = 0x084,
    kVtableHigh = 0x088,
};

constexpr uint32_t kGraphIdentity = 0x52475341;  // "ASGR"

// A request: make objects from a message, in a region. The region begins at a multiple of a beat.
struct GraphRequest {
    uint64_t message = 0;  // address
    uint32_t length = 0;   // bytes
    bool header = false;   // the message begins with a header
    uint64_t region = 0;   // address
    uint32_t capacity = 0; // bytes
    uint32_t tag = 0;      // returned with the answer
};

// The answer. The codes are those of docs/design/0004-object-graphs.md; 0 is success, 15 a memory
// error.
struct GraphAnswer {
    uint32_t tag;
    uint32_t code;
    uint32_t position;
    uint32_t objects;
    uint32_t bytes;
    uint32_t cycles;
};

template <class Bus>
class GraphDriver {
public:
    explicit GraphDriver(Bus& bus) : bus_(bus) {}

    // Whether the circuit is present and was generated for this layout.
    bool identify(uint64_t layout_hash) {
        uint64_t hash = bus_.read(kLayoutHashHigh);
        hash = hash << 32 | bus_.read(kLayoutHashLow);
        return bus_.read(kIdentity) == kGraphIdentity && bus_.read(kVersion) == 1 && hash == layout_hash;
    }

    // Sets the vtable pointer of a class's objects: once, before the first request.
    void set_vtable(uint32_t slot, uint64_t value) {
        bus_.write(kVtableSlot, slot);
        bus_.write(kVtableLow, static_cast<uint32_t>(value));
        bus_.write(kVtableHigh, static_cast<uint32_t>(value >> 32));
    }

    // Queues a request, or returns false if the queue is full: take an answer first.
    bool submit(const GraphRequest& request) {
        if (bus_.read(kStatus) & 2) return false;
        bus_.write(kMessageLow, static_cast<uint32_t>(request.message));
        bus_.write(kMessageHigh, static_cast<uint32_t>(request.message >> 32));
        bus_.write(kMessageLength, request.length);
        bus_.write(kRegionLow, static_cast<uint32_t>(request.region));
        bus_.write(kRegionHigh, static_cast<uint32_t>(request.region >> 32));
        bus_.write(kRegionCapacity, request.capacity);
        bus_.write(kTag, request.tag);
        bus_.write(kControl, request.header ? 5 : 1);
        return true;
    }

    // The next answer, in the order of the requests, if there is one.
    std::optional<GraphAnswer> poll() {
        if (!(bus_.read(kStatus) & 1)) return std::nullopt;
        GraphAnswer answer{};
        answer.tag = bus_.read(kAnswerTag);
        answer.code = bus_.read(kAnswerCode);
        answer.position = bus_.read(kAnswerPosition);
        answer.objects = bus_.read(kAnswerObjects);
        answer.bytes = bus_.read(kAnswerBytes);
        answer.cycles = bus_.read(kAnswerCycles);
        bus_.write(kControl, 2);
        return answer;
    }

private:
    Bus& bus_;
};

}  // namespace arrowsmith
