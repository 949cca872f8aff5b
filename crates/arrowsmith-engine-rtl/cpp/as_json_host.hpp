// SPDX-License-Identifier: Apache-2.0
// Tries a JSON circuit on a board: sends the sample through it, compares every buffer with the
// expected bytes, then measures the throughput on many copies of the sample.
//
// A Board has the memory and starts the circuit:
//   uint8_t* memory(const Setting& address, uint32_t index, uint64_t bytes, bool input)
//       memory for an input or a buffer, whose address is set; valid until the next call for it
//   void send(const Setting& address, uint32_t index), void fetch(...): to the board, and back
//   void set(const Setting& setting, uint32_t index, uint64_t value)
//   void run(): starts the circuit, and returns when it has ended
//   uint32_t read(uint32_t address): a register of the circuit
//   const char* clock(): what `run` is measured in: "s" or, in a simulation, "simulated"
#pragma once

#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <cstring>

#include "as_json_driver.hpp"
#include "as_sample.hpp"

namespace arrowsmith {

// One run over this many copies of the sample.
template <class Board>
void run_copies(Board& board, const std::string& text, const std::vector<Part>& parts, uint32_t copies) {
    JsonDriver<Board> driver(board);
    board.set(kRefuseUnknown, 0, 0);
    board.set(kRecordBytesMax, 0, UINT32_MAX);
    board.set(kDepthMax, 0, 32);
    std::vector<uint8_t*> memory;
    uint64_t at = 0, bytes = 0, rows = 0;
    uint32_t number = 0;
    for (uint32_t p = 0; p < kInputs; p++) {
        const uint64_t length = uint64_t{parts[p].bytes} * copies;
        if (length > UINT32_MAX / 2) fail("the copies are more than 2 GiB of text for a parser");
        uint8_t* const input = board.memory(kInputAddress, p, length, true);
        for (uint32_t copy = 0; copy < copies; copy++) std::memcpy(input + uint64_t{copy} * parts[p].bytes, text.data() + at, parts[p].bytes);
        board.send(kInputAddress, p);
        board.set(kInputLength, p, length);
        at += parts[p].bytes;
        bytes += length;
        rows += uint64_t{parts[p].rows} * copies;
        for (const auto& expected : parts[p].buffers) {
            const uint64_t beats = (expected.size() * copies + kOverrunBytes) / kBeatBytes + 2;
            memory.push_back(board.memory(kBufferAddress, number, beats * kBeatBytes, false));
            board.set(kBufferCapacity, number, beats * kBeatBytes);
            number++;
        }
    }
    const auto begin = std::chrono::steady_clock::now();
    board.run();
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    if (driver.error() != 0) fail("error " + std::to_string(driver.error()));
    number = 0;
    for (uint32_t p = 0; p < kInputs; p++) {
        const std::string who = "parser " + std::to_string(p);
        const auto answer = driver.answer(p);
        if (answer.fault != 0) fail(who + ": fault " + std::to_string(answer.fault) + " at byte " + std::to_string(answer.position));
        if (answer.rows != uint64_t{parts[p].rows} * copies) fail(who + ": " + std::to_string(answer.rows) + " rows");
        for (size_t b = 0; b < parts[p].buffers.size(); b++, number++) {
            board.fetch(kBufferAddress, number);
            // The last byte of bits goes on with the next copy.
            const auto& expected = parts[p].buffers[b];
            const size_t compared = copies == 1 || expected.empty() ? expected.size() : expected.size() - 1;
            const auto differs = std::mismatch(expected.begin(), expected.begin() + static_cast<ptrdiff_t>(compared), memory[number]);
            if (differs.first != expected.begin() + static_cast<ptrdiff_t>(compared)) {
                fail(who + ", buffer " + std::to_string(b) + ": byte " + std::to_string(differs.first - expected.begin()) + " differs");
            }
        }
    }
    const uint64_t cycles = driver.cycles();
    std::printf("%" PRIu64 " rows, %" PRIu64 " bytes of JSON in %" PRIu64 " cycles: %.2f bytes per cycle", rows, bytes, cycles,
                static_cast<double>(bytes) / static_cast<double>(std::max<uint64_t>(cycles, 1)));
    if (Board::kMeasures) std::printf(", %.3f GB/s with the start and the wait for the end", static_cast<double>(bytes) / seconds.count() / 1e9);
    std::printf("; %s\n", copies == 1 ? "all buffers as expected" : "rows and the first copy as expected");
}

// The program: `folder` has sample.jsonl and expected.txt.
template <class Board>
int try_circuit(Board& board, const std::string& folder, uint32_t copies) {
    JsonDriver<Board> driver(board);
    if (!driver.identify(kSchemaHash)) fail("this is not the circuit of this schema");
    const auto parts = read_parts(folder + "/expected.txt", {kBuffersOfInput, kBuffersOfInput + kInputs});
    const std::string text = read_file(folder + "/sample.jsonl");
    uint64_t bytes = 0;
    for (const Part& part : parts) bytes += part.bytes;
    if (bytes != text.size()) fail("sample and expected buffers do not belong together");
    run_copies(board, text, parts, 1);
    if (copies > 1) run_copies(board, text, parts, copies);
    std::printf("PASS\n");
    return 0;
}

}  // namespace arrowsmith
