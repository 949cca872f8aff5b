// SPDX-License-Identifier: Apache-2.0
// A simulated board: the circuit under its shell's wrapper, compiled by Verilator, on the memory
// model of the bench. Its registers are the circuit's own. Needs the generated settings of the
// circuit.
#pragma once

#include <cstring>
#include <map>
#include <utility>
#include <vector>

#include "as_memory_model.hpp"
#include "as_sample.hpp"

namespace arrowsmith {

class SimulatedBoard {
public:
    static constexpr bool kMeasures = false;

    SimulatedBoard() : model_(profile()) {}

    uint8_t* memory(const Setting& address, uint32_t index, uint64_t bytes, bool) {
        // Old memory stays: no window of the model may lose its host memory.
        memory_.emplace_back(bytes + 2 * kBeatBytes);
        const uint64_t at = static_cast<uint64_t>(memory_.size()) << 34;
        model_.lend(at, memory_.back().data(), memory_.back().size(), true);
        set(address, index, at);
        return memory_.back().data();
    }
    void send(const Setting&, uint32_t) {}
    void fetch(const Setting&, uint32_t) {}
    void set(const Setting& setting, uint32_t index, uint64_t value) {
        const uint32_t address = setting.address + index * kBlockBytes;
        model_.write(address, static_cast<uint32_t>(value));
        if (setting.bytes == 8) model_.write(address + 4, static_cast<uint32_t>(value >> 32));
    }
    void run() {
        model_.write(kControl, 1);
        const uint64_t patience = model_.cycles() + 200'000'000;
        while (!model_.interrupt()) {
            model_.tick();
            if (model_.cycles() > patience) fail("the circuit hangs");
        }
        // Bit 1: done; bit 0: busy.
        if ((model_.read(kStatus) & 3) != 2) fail("an interrupt before the end");
        if (!model_.stray().empty()) fail(model_.stray());
        if (!model_.breaches().empty()) fail(model_.breaches().front());
    }
    uint32_t read(uint32_t address) { return model_.read(address); }

private:
    static constexpr uint32_t kControl = 0x18;
    static constexpr uint32_t kStatus = 0x1c;

    static MemoryProfile profile() {
        MemoryProfile profile;
        profile.read_latency = 60;
        profile.write_latency = 20;
        profile.stall_percent = 10;
        return profile;
    }

    MemoryModel model_;
    std::vector<std::vector<uint8_t>> memory_;
};

}  // namespace arrowsmith
