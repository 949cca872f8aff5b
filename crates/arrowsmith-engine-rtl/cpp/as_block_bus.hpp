// SPDX-License-Identifier: Apache-2.0
// A Bus for the drivers over a kernel that speaks the block protocol of Vitis: settings become
// arguments, a start becomes ap_start, the end is ap_done. Needs the generated settings of the
// circuit.
#pragma once

#include <cstdint>
#include <iterator>

namespace arrowsmith {

template <class Model>
class BlockBus {
public:
    explicit BlockBus(Model& model) : model_(model) {}

    void write(uint32_t address, uint32_t value) {
        if (address == kControl) {
            ended_ = false;
            model_.write(0, 1);
            return;
        }
        for (const ArgumentWord& word : kArgumentWords) {
            if (word.address == address) return model_.write(word.offset, value);
        }
        model_.write(elsewhere(address), value);
    }
    uint32_t read(uint32_t address) {
        if (address != kStatus) return model_.read(elsewhere(address));
        // A read clears ap_done.
        ended_ = ended_ || (model_.read(0) & 2) != 0;
        return ended_ ? kDone : kBusy;
    }

private:
    static constexpr uint32_t kControl = 0x18;
    static constexpr uint32_t kStatus = 0x1c;
    static constexpr uint32_t kBusy = 1;
    static constexpr uint32_t kDone = 2;

    static uint32_t elsewhere(uint32_t address) { return address < 0x1000 ? 0xf000 + address : address; }

    Model& model_;
    bool ended_ = false;
};

}  // namespace arrowsmith
