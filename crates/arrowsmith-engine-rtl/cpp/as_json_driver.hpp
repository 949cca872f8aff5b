// SPDX-License-Identifier: Apache-2.0
// The host's side of a JSON circuit: writes its settings and reads its results.
//
// A Bus has `void write(uint32_t address, uint32_t value)` and `uint32_t read(uint32_t address)`
// for the registers' 64 KiB: a mapped PCIe window on a board, a simulated AXI4-Lite port in
// as_memory_model.hpp. The driver knows registers only: the caller owns the memory of texts and
// buffers; addresses are those that the circuit sees.
#pragma once

#include <cstdint>

#include "as_json_registers.hpp"

namespace arrowsmith {

struct JsonAnswer {
    uint32_t fault;     // 0: all records were taken
    uint64_t position;  // byte of the text, beginning with its memory beat
    uint32_t rows;      // records before the one that was not taken
};

template <class Bus>
class JsonDriver {
public:
    explicit JsonDriver(Bus& bus) : bus_(bus) {}

    // Whether the circuit is present and was generated for this schema.
    bool identify(uint64_t schema_hash) {
        return bus_.read(AS_JSON_IDENTITY) == AS_JSON_IDENTITY_VALUE && bus_.read(AS_JSON_VERSION) == AS_JSON_VERSION_VALUE &&
               read64(AS_JSON_SCHEMA_HASH) == schema_hash;
    }
    uint32_t parsers() { return bus_.read(AS_JSON_SHAPE) & 0xff; }
    uint32_t buffers() { return bus_.read(AS_JSON_COUNTS) >> 16; }

    void set_options(bool refuse_unknown, uint32_t record_bytes_max, uint32_t depth_max) {
        bus_.write(AS_JSON_REFUSE_UNKNOWN, refuse_unknown);
        bus_.write(AS_JSON_RECORD_BYTES_MAX, record_bytes_max);
        bus_.write(AS_JSON_DEPTH_MAX, depth_max);
    }
    // A text for a parser: any address, complete records.
    void set_input(uint32_t parser, uint64_t address, uint32_t bytes) {
        const uint32_t block = parser * AS_JSON_BLOCK_BYTES;
        write64(AS_JSON_INPUT_ADDRESS + block, address);
        bus_.write(AS_JSON_INPUT_LENGTH + block, bytes);
    }
    // A buffer: a multiple of a beat, at a multiple of a beat.
    void set_buffer(uint32_t buffer, uint64_t address, uint32_t capacity) {
        const uint32_t block = buffer * AS_JSON_BLOCK_BYTES;
        write64(AS_JSON_BUFFER_ADDRESS + block, address);
        bus_.write(AS_JSON_BUFFER_CAPACITY + block, capacity);
    }
    void start() { bus_.write(AS_JSON_CONTROL, AS_JSON_CONTROL_START); }
    bool done() { return bus_.read(AS_JSON_STATUS) & AS_JSON_STATUS_DONE; }
    // 0: success; 1: memory refused an access; 2: a buffer was too small.
    uint32_t error() { return bus_.read(AS_JSON_ERROR_CODE); }
    uint64_t cycles() { return read64(AS_JSON_CYCLES); }
    uint64_t starved() { return read64(AS_JSON_STARVED); }
    uint64_t blocked() { return read64(AS_JSON_BLOCKED); }
    JsonAnswer answer(uint32_t parser) {
        const uint32_t block = parser * AS_JSON_BLOCK_BYTES;
        return {bus_.read(AS_JSON_INPUT_FAULT + block), read64(AS_JSON_INPUT_POSITION + block), bus_.read(AS_JSON_INPUT_ROWS + block)};
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
