// SPDX-License-Identifier: Apache-2.0
// The driver of a converter, over any Bus that reads and writes its registers: for a board and for
// the simulation.
//
// A Bus has `void write(uint32_t address, uint32_t value)` and `uint32_t read(uint32_t address)`.
// Addresses are those of the generated header. It owns no memory, never waits and never throws.
#pragma once

#include <cstdint>

#include "as_converter_registers.hpp"

namespace arrowsmith {

struct ConverterResult {
    uint32_t code;
    uint32_t unit;
    uint64_t position;
    uint64_t rows;
    uint64_t cycles;
    uint64_t stall_input;
    uint64_t stall_output;
};

template <class Bus>
class ConverterDriver {
public:
    explicit ConverterDriver(Bus& bus) : bus_(bus) {}

    bool is_converter() {
        return bus_.read(AS_CONVERTER_IDENTITY) == AS_CONVERTER_IDENTITY_VALUE && bus_.read(AS_CONVERTER_VERSION) == AS_CONVERTER_VERSION_VALUE;
    }
    uint64_t schema_hash() { return read64(AS_CONVERTER_SCHEMA_HASH); }
    uint32_t inputs() { return bus_.read(AS_CONVERTER_COUNTS) & 0xffff; }
    uint32_t buffers() { return bus_.read(AS_CONVERTER_COUNTS) >> 16; }

    void set_input(uint32_t index, uint64_t address, uint64_t length, uint64_t items) {
        const uint32_t block = index * AS_CONVERTER_BLOCK_BYTES;
        write64(AS_CONVERTER_INPUT_ADDRESS + block, address);
        write64(AS_CONVERTER_INPUT_LENGTH + block, length);
        write64(AS_CONVERTER_INPUT_ITEMS + block, items);
    }
    void set_buffer(uint32_t index, uint64_t address, uint64_t capacity) {
        const uint32_t block = index * AS_CONVERTER_BLOCK_BYTES;
        write64(AS_CONVERTER_BUFFER_ADDRESS + block, address);
        write64(AS_CONVERTER_BUFFER_CAPACITY + block, capacity);
    }
    void start() { bus_.write(AS_CONVERTER_CONTROL, AS_CONVERTER_CONTROL_START); }
    void abort() { bus_.write(AS_CONVERTER_CONTROL, AS_CONVERTER_CONTROL_ABORT); }
    bool done() {
        const uint32_t status = bus_.read(AS_CONVERTER_STATUS);
        return (status & AS_CONVERTER_STATUS_DONE) != 0 && (status & AS_CONVERTER_STATUS_BUSY) == 0;
    }
    ConverterResult result() {
        ConverterResult result;
        result.code = bus_.read(AS_CONVERTER_ERROR_CODE);
        result.unit = bus_.read(AS_CONVERTER_ERROR_UNIT);
        result.position = read64(AS_CONVERTER_ERROR_POSITION);
        result.rows = read64(AS_CONVERTER_ROWS);
        result.cycles = read64(AS_CONVERTER_CYCLES);
        result.stall_input = read64(AS_CONVERTER_STALL_INPUT);
        result.stall_output = read64(AS_CONVERTER_STALL_OUTPUT);
        return result;
    }
    uint64_t input_rows(uint32_t index) { return read64(AS_CONVERTER_INPUT_ROWS + index * AS_CONVERTER_BLOCK_BYTES); }
    uint64_t buffer_length(uint32_t index) { return read64(AS_CONVERTER_BUFFER_LENGTH + index * AS_CONVERTER_BLOCK_BYTES); }

private:
    void write64(uint32_t address, uint64_t value) {
        bus_.write(address, static_cast<uint32_t>(value));
        bus_.write(address + 4, static_cast<uint32_t>(value >> 32));
    }
    uint64_t read64(uint32_t address) {
        const uint64_t low = bus_.read(address);
        return low | static_cast<uint64_t>(bus_.read(address + 4)) << 32;
    }

    Bus& bus_;
};

}  // namespace arrowsmith
