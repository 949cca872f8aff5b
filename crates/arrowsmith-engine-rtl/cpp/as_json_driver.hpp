// SPDX-License-Identifier: Apache-2.0
// The host's side of a JSON circuit: what to write to its registers and what to read from them.
//
// A Bus has `void write(uint32_t address, uint32_t value)` and `uint32_t read(uint32_t address)` for the registers' 64 KiB: a mapped PCIe
// window on a board, a simulated AXI4-Lite port in as_memory_model.hpp. The driver knows registers only: memory for texts and
// buffers is the caller's, addresses are those that the circuit sees.
#pragma once

#include <cstdint>

namespace arrowsmith {

// Registers, by byte address; what they mean is in the README that is generated with the circuit.
enum JsonRegister : uint32_t {
    kJsonIdentity = 0x000,
    kJsonVersion = 0x004,
    kJsonSchemaHash = 0x008,  // 64 bits
    kJsonShape = 0x010,
    kJsonCounts = 0x014,
    kJsonControl = 0x018,
    kJsonStatus = 0x01c,
    kJsonErrorCode = 0x020,
    kJsonCycles = 0x048,   // 64 bits
    kJsonStarved = 0x050,  // 64 bits
    kJsonBlocked = 0x058,  // 64 bits
    kJsonRefuseUnknown = 0x060,
    kJsonRecordBytesMax = 0x064,
    kJsonDepthMax = 0x068,
    kJsonInput = 0x1000,   // 0x20 each: address (64), length, fault code, fault position (64), rows
    kJsonBuffer = 0x2000,  // 0x20 each: address (64), capacity
};

constexpr uint32_t kJsonIs = 0x4d535241;  // "ARSM"

struct JsonAnswer {
    uint32_t fault;     // 0: all records were taken
    uint64_t position;  // byte of the text, beginning with its memory beat
    uint32_t rows;      // records before the one that was not taken
};

template <class Bus>
class JsonDriver {
public:
    explicit JsonDriver(Bus& bus) : bus_(bus) {}

    // Whether the circuit is there and was generated for this schema.
    bool identify(uint64_t schema_hash) {
        return bus_.read(kJsonIdentity) == kJsonIs && bus_.read(kJsonVersion) == 1 && read64(kJsonSchemaHash) == schema_hash;
    }
    uint32_t parsers() { return bus_.read(kJsonShape) & 0xff; }
    uint32_t buffers() { return bus_.read(kJsonCounts) >> 16; }

    void set_options(bool refuse_unknown, uint32_t record_bytes_max, uint32_t depth_max) {
        bus_.write(kJsonRefuseUnknown, refuse_unknown);
        bus_.write(kJsonRecordBytesMax, record_bytes_max);
        bus_.write(kJsonDepthMax, depth_max);
    }
    // A text for a parser: anywhere, whole records.
    void set_input(uint32_t parser, uint64_t address, uint32_t bytes) {
        write64(kJsonInput + parser * 0x20, address);
        bus_.write(kJsonInput + parser * 0x20 + 8, bytes);
    }
    // A buffer: a multiple of a beat, at a multiple of a beat.
    void set_buffer(uint32_t buffer, uint64_t address, uint32_t capacity) {
        write64(kJsonBuffer + buffer * 0x20, address);
        bus_.write(kJsonBuffer + buffer * 0x20 + 8, capacity);
    }
    void start() { bus_.write(kJsonControl, 1); }
    bool done() { return bus_.read(kJsonStatus) & 2; }
    // 0: memory did what it should; 1: it refused something; 2: a buffer was too small.
    uint32_t error() { return bus_.read(kJsonErrorCode); }
    uint64_t cycles() { return read64(kJsonCycles); }
    uint64_t starved() { return read64(kJsonStarved); }
    uint64_t blocked() { return read64(kJsonBlocked); }
    JsonAnswer answer(uint32_t parser) {
        const uint32_t at = kJsonInput + parser * 0x20;
        return {bus_.read(at + 0x0c), read64(at + 0x10), bus_.read(at + 0x18)};
    }

private:
    uint64_t read64(uint32_t address) {
        const uint64_t high = bus_.read(address + 4);
        return high << 32 | bus_.read(address);
    }
    void write64(uint32_t address, uint64_t value) {
        bus_.write(address, static_cast<uint32_t>(value));
        bus_.write(address + 4, static_cast<uint32_t>(value >> 32));
    }

    Bus& bus_;
};

}  // namespace arrowsmith
