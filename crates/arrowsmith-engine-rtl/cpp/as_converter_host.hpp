// SPDX-License-Identifier: Apache-2.0
// Tries a circuit for Parquet's columns on a board: sends the sample's column chunks through it,
// compares every buffer with the expected bytes, then runs it many times and measures.
//
// A Board is as in as_json_host.hpp.
#pragma once

#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <cstring>
#include <sstream>

#include "as_converter_driver.hpp"
#include "as_sample.hpp"

namespace arrowsmith {

// The program: `folder` has sample.txt, a line in hexadecimal for each column chunk, and
// expected.txt.
template <class Board>
int try_circuit(Board& board, const std::string& folder, uint32_t copies) {
    ConverterDriver<Board> driver(board);
    if (!driver.is_converter() || driver.schema_hash() != kSchemaHash) fail("this is not the circuit of these columns");
    const auto parts = read_parts(folder + "/expected.txt", {kBuffersOfInput, kBuffersOfInput + kInputs});
    std::istringstream sample(read_file(folder + "/sample.txt"));
    std::vector<uint8_t*> memory;
    uint64_t bytes = 0;
    uint32_t number = 0;
    for (uint32_t i = 0; i < kInputs; i++) {
        std::string line;
        std::getline(sample, line);
        const auto chunk = bytes_of(line);
        if (chunk.size() != parts[i].bytes) fail("sample and expected buffers do not belong together");
        uint8_t* const input = board.memory(kInputAddress, i, chunk.size(), true);
        std::memcpy(input, chunk.data(), chunk.size());
        board.send(kInputAddress, i);
        board.set(kInputLength, i, chunk.size());
        board.set(kInputItems, i, parts[i].rows);
        bytes += chunk.size();
        for (const auto& expected : parts[i].buffers) {
            const uint64_t capacity = (expected.size() / kBeatBytes + 2) * kBeatBytes;
            memory.push_back(board.memory(kBufferAddress, number, capacity, false));
            board.set(kBufferCapacity, number, capacity);
            number++;
        }
    }
    const auto begin = std::chrono::steady_clock::now();
    for (uint32_t run = 0; run < std::max(copies, 1u); run++) board.run();
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    const ConverterResult result = driver.result();
    if (result.code != 0) fail("error " + std::to_string(result.code) + " of column " + std::to_string(result.unit) + " at byte " + std::to_string(result.position));
    number = 0;
    for (uint32_t i = 0; i < kInputs; i++) {
        const std::string who = "column " + std::to_string(i);
        if (driver.input_rows(i) != parts[i].rows) fail(who + ": " + std::to_string(driver.input_rows(i)) + " rows");
        for (size_t b = 0; b < parts[i].buffers.size(); b++, number++) {
            const auto& expected = parts[i].buffers[b];
            // Bits are written in groups of 64.
            const uint64_t length = driver.buffer_length(number);
            if (length != expected.size() && length != (expected.size() + 7) / 8 * 8) {
                fail(who + ", buffer " + std::to_string(b) + ": " + std::to_string(length) + " bytes, not " + std::to_string(expected.size()));
            }
            board.fetch(kBufferAddress, number);
            const auto differs = std::mismatch(expected.begin(), expected.end(), memory[number]);
            if (differs.first != expected.end()) {
                fail(who + ", buffer " + std::to_string(b) + ": byte " + std::to_string(differs.first - expected.begin()) + " differs");
            }
        }
    }
    std::printf("%u column chunks, %" PRIu64 " bytes in %" PRIu64 " cycles", kInputs, bytes, result.cycles);
    if (Board::kMeasures) std::printf("; %u runs, %.1f us each with the start and the wait for the end", copies, seconds.count() * 1e6 / std::max(copies, 1u));
    std::printf("; all buffers as expected\nPASS\n");
    return 0;
}

}  // namespace arrowsmith
