// SPDX-License-Identifier: Apache-2.0
// A process that runs a converter's circuit: reads runs from standard input, writes outcomes to
// standard output, in the form of converter.rs.
//
// Arguments: the fields of MemoryProfile, in order. An AXI violation, a stray access or a hanging
// circuit ends the process with a line on standard error and status 3; a closed pipe ends it
// silently.
#include <cstdio>
#include <vector>

#include "as_converter_driver.hpp"
#include "as_pipes.hpp"

using namespace arrowsmith;

namespace {

// Cycles without a memory transfer after which the circuit is considered hung.
constexpr uint64_t kPatience = 100'000;

using Driver = ConverterDriver<MemoryModel>;

// Windows are far apart in the address space, each with this much for itself.
constexpr uint32_t kWindowBits = 40;

// One run; false if the pipe was closed.
bool run(MemoryModel& model, Driver& driver, uint32_t inputs) {
    model.take_back_all();
    uint64_t windows = 0;
    const auto lend = [&](std::vector<uint8_t>& host, bool writable, uint32_t misalignment) {
        const uint64_t address = (++windows << kWindowBits) + misalignment;
        model.lend(address, host.data(), host.size(), writable);
        return address;
    };
    if (inputs != driver.inputs()) fail("has another number of inputs");
    std::vector<std::vector<uint8_t>> input(inputs);
    for (uint32_t i = 0; i < inputs; i++) {
        uint64_t length = 0, items = 0;
        uint32_t misalignment = 0;
        if (!take(length) || !take(items) || !take(misalignment)) return false;
        input[i].resize(length);
        if (!take(input[i].data(), length)) return false;
        driver.set_input(i, lend(input[i], false, misalignment), length, items);
    }
    uint32_t buffers = 0;
    if (!take(buffers)) return false;
    if (buffers != driver.buffers()) fail("has another number of buffers");
    std::vector<std::vector<uint8_t>> buffer(buffers);
    for (uint32_t b = 0; b < buffers; b++) {
        uint64_t capacity = 0;
        if (!take(capacity)) return false;
        buffer[b].resize(capacity);
        driver.set_buffer(b, lend(buffer[b], true, 0), capacity);
    }
    driver.start();
    const uint64_t begin = model.cycles();
    while (!driver.done()) {
        for (int i = 0; i < 16; i++) model.tick();
        if (model.cycles() - std::max(begin, model.last_transfer()) > kPatience) fail("hangs");
    }
    check(model);
    give(driver.result());
    for (uint32_t i = 0; i < inputs; i++) give(driver.input_rows(i));
    for (uint32_t b = 0; b < buffers; b++) {
        const uint64_t length = driver.buffer_length(b);
        if (length > buffer[b].size()) fail("reports more bytes than the buffer has");
        give(length);
        std::fwrite(buffer[b].data(), 1, length, stdout);
    }
    std::fflush(stdout);
    return true;
}

}  // namespace

int main(int argc, char** argv) {
    MemoryProfile profile;
    if (!profile.parse(argc, argv)) return 2;
    MemoryModel model(profile);
    Driver driver(model);
    uint64_t hash = 0;
    if (!take(hash)) return 0;
    if (!driver.is_converter() || driver.schema_hash() != hash) fail("is not the circuit of this schema");
    for (uint32_t inputs = 0; take(inputs);) {
        if (!run(model, driver, inputs)) return 0;
    }
    return 0;
}
