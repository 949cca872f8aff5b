// SPDX-License-Identifier: Apache-2.0
// The bench of a generated JSON circuit: runs the records of sample.jsonl through it and compares
// its output with expected.txt, on an ideal memory, on a slow one with random stalls, and with an
// invalid record at the end.
//
// The argument is the folder of these files (set by `make`). Ends with status 1 at the first
// difference.
#include <cstdio>
#include <string>
#include <vector>

#include "as_json_driver.hpp"
#include "as_memory_model.hpp"
#include "as_sample.hpp"

using namespace arrowsmith;

namespace {

// Windows are far apart: first the text's, then those of the buffers.
constexpr uint64_t kText = uint64_t{1} << 40;
constexpr uint64_t buffer_address(uint32_t buffer) { return uint64_t{2 + buffer} << 40; }

// With `broken`, an invalid record follows the last parser's records.
void run(const char* name, const MemoryProfile& profile, std::string text, std::vector<Part> parts, bool broken) {
    MemoryModel model(profile);
    JsonDriver driver(model);
    if (!driver.identify(ARROWSMITH_HASH)) fail("is not the circuit of this schema");
    const std::string where = std::string(name) + ": ";
    if (broken) {
        text += "]\n";
        parts.back().bytes += 2;
    }
    const size_t bytes = text.size();
    text.resize(bytes + 2 * MemoryModel::kBeatBytes);
    model.lend(kText, text.data(), text.size(), false);
    uint64_t at = kText;
    uint32_t rows = 0, number = 0;
    std::vector<std::vector<uint8_t>> memory;
    for (const Part& part : parts) {
        for (const auto& buffer : part.buffers) {
            memory.emplace_back((buffer.size() / MemoryModel::kBeatBytes + 2) * MemoryModel::kBeatBytes);
        }
    }
    for (uint32_t p = 0; p < parts.size(); p++) {
        driver.set_input(p, at, parts[p].bytes);
        at += parts[p].bytes;
        rows += parts[p].rows;
    }
    for (auto& buffer : memory) {
        model.lend(buffer_address(number), buffer.data(), buffer.size(), true);
        driver.set_buffer(number, buffer_address(number), static_cast<uint32_t>(buffer.size()));
        number++;
    }
    driver.set_options(false, UINT32_MAX, 32);
    driver.start();
    const uint64_t patience = model.cycles() + 1000 * bytes + 1'000'000;
    while (!driver.done()) {
        for (int i = 0; i < 64; i++) model.tick();
        if (model.cycles() > patience) fail(where + "hangs");
    }
    if (!model.stray().empty()) fail(where + model.stray());
    if (!model.breaches().empty()) fail(where + model.breaches().front());
    if (driver.error() != 0) fail(where + "error " + std::to_string(driver.error()));
    number = 0;
    for (uint32_t p = 0; p < parts.size(); p++) {
        const std::string who = where + "parser " + std::to_string(p);
        const auto answer = driver.answer(p);
        const bool stops = broken && p + 1 == parts.size();
        if ((answer.fault != 0) != stops) fail(who + ": fault " + std::to_string(answer.fault));
        if (answer.rows != parts[p].rows) fail(who + ": " + std::to_string(answer.rows) + " rows, not " + std::to_string(parts[p].rows));
        for (size_t b = 0; b < parts[p].buffers.size(); b++, number++) {
            const auto& expected = parts[p].buffers[b];
            for (size_t i = 0; i < expected.size(); i++) {
                if (memory[number][i] != expected[i]) fail(who + ", buffer " + std::to_string(b) + ": byte " + std::to_string(i) + " differs");
            }
        }
    }
    std::printf("%s: %u rows, %zu bytes of JSON in %llu cycles, all buffers as expected\n", name, rows, bytes,
                static_cast<unsigned long long>(driver.cycles()));
}

}  // namespace

int main(int argc, char** argv) {
    const std::string folder = argc > 1 ? argv[1] : ".";
    const std::string text = read_file(folder + "/sample.jsonl");
    uint32_t parsers = 0, buffers = 0;
    {
        MemoryModel model;
        JsonDriver driver(model);
        parsers = driver.parsers();
        buffers = driver.buffers();
    }
    if (parsers == 0) fail("the circuit has no parser");
    const auto parts = read_parts(folder + "/expected.txt", std::vector<uint32_t>(parsers, buffers / parsers));
    size_t bytes = 0;
    for (const Part& part : parts) bytes += part.bytes;
    if (bytes != text.size()) fail("sample and circuit do not belong together");
    MemoryProfile slow;
    slow.read_latency = 100;
    slow.stall_percent = 30;
    run("ideal memory", MemoryProfile{}, text, parts, false);
    run("slow memory", slow, text, parts, false);
    run("a record that is none", slow, text, parts, true);
    std::printf("PASS\n");
    return 0;
}
