// SPDX-License-Identifier: Apache-2.0
// A card behind the DMA bridge XDMA (or QDMA in its memory-mapped mode) of AMD, by the character
// devices of its Linux driver: PREFIX_user is the window of the circuit's registers, PREFIX_h2c_0
// and PREFIX_c2h_0 read and write the card's memory at the file's offset. Needs the generated
// settings of the circuit.
#pragma once

#include <sched.h>

#include <chrono>
#include <map>
#include <utility>
#include <vector>

#include "as_mapped_registers.hpp"

namespace arrowsmith {

class XdmaBoard {
public:
    static constexpr bool kMeasures = true;

    // `prefix` is /dev/xdma0, for one; the card's memory has `bytes` from `base`.
    XdmaBoard(const std::string& prefix, uint64_t base, uint64_t bytes)
        : user_(prefix + "_user", O_RDWR | O_SYNC), to_card_(prefix + "_h2c_0", O_WRONLY), from_card_(prefix + "_c2h_0", O_RDONLY), registers_(user_, 0),
          places_(base, bytes) {}

    uint8_t* memory(const Setting& address, uint32_t index, uint64_t bytes, bool input) {
        // The first input of a run frees the memory of the previous one.
        if (input && index == 0) {
            places_.clear();
            copies_.clear();
        }
        Copy& copy = copies_[{address.address, index}];
        copy.at = places_.take(bytes);
        copy.host.assign(bytes + 2 * kBeatBytes, 0);
        registers_.set(address, index, copy.at);
        return copy.host.data();
    }
    void send(const Setting& address, uint32_t index) {
        const Copy& copy = copies_.at({address.address, index});
        for (size_t done = 0; done < copy.host.size();) {
            const ssize_t moved = pwrite(to_card_.get(), copy.host.data() + done, copy.host.size() - done, static_cast<off_t>(copy.at + done));
            if (moved <= 0) refuse(to_card_.path());
            done += static_cast<size_t>(moved);
        }
    }
    void fetch(const Setting& address, uint32_t index) {
        Copy& copy = copies_.at({address.address, index});
        for (size_t done = 0; done < copy.host.size();) {
            const ssize_t moved = pread(from_card_.get(), copy.host.data() + done, copy.host.size() - done, static_cast<off_t>(copy.at + done));
            if (moved <= 0) refuse(from_card_.path());
            done += static_cast<size_t>(moved);
        }
    }
    void set(const Setting& setting, uint32_t index, uint64_t value) { registers_.set(setting, index, value); }
    void run() {
        registers_.start();
        const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(60);
        while (!registers_.done()) {
            if (std::chrono::steady_clock::now() > limit) throw std::runtime_error("the circuit has not ended after 60 s");
            sched_yield();
        }
    }
    uint32_t read(uint32_t address) { return registers_.read(address); }

private:
    struct Copy {
        uint64_t at = 0;
        std::vector<uint8_t> host;
    };

    Descriptor user_, to_card_, from_card_;
    MappedRegisters registers_;
    Places places_;
    std::map<std::pair<uint32_t, uint32_t>, Copy> copies_;
};

}  // namespace arrowsmith
