// SPDX-License-Identifier: Apache-2.0
// A Zynq: the circuit's registers as a UIO device, whose interrupt it waits for, and memory that
// processor and circuit share, of the driver u-dma-buf, whose folder in sysfs has its physical
// address and size. The ports HP are not coherent: the memory is mapped without caches (O_SYNC).
// Needs the generated settings of the circuit.
#pragma once

#include <poll.h>
#include <sched.h>

#include <chrono>
#include <fstream>

#include "as_mapped_registers.hpp"

namespace arrowsmith {

// A number in a file of sysfs, decimal or with 0x.
inline uint64_t number_in(const std::string& path) {
    std::ifstream file(path);
    std::string text;
    if (!(file >> text)) throw std::runtime_error("cannot read " + path);
    return std::stoull(text, nullptr, 0);
}

class UioBoard {
public:
    static constexpr bool kMeasures = true;

    // `uio` is /dev/uio0, for one, `buffer` the name of the memory: udmabuf0.
    UioBoard(const std::string& uio, const std::string& buffer)
        : uio_(uio, O_RDWR | O_SYNC), shared_("/dev/" + buffer, O_RDWR | O_SYNC), registers_(uio_, 0), folder_("/sys/class/u-dma-buf/" + buffer),
          base_(number_in(folder_ + "/phys_addr")), memory_(shared_, number_in(folder_ + "/size"), 0), places_(base_, memory_.size()) {}

    uint8_t* memory(const Setting& address, uint32_t index, uint64_t bytes, bool input) {
        // The first input of a run frees the memory of the previous one.
        if (input && index == 0) places_.clear();
        const uint64_t at = places_.take(bytes);
        registers_.set(address, index, at);
        uint8_t* const host = memory_.get() + (at - base_);
        // Byte by byte: memory without caches is accessed as a device's is.
        for (uint64_t i = 0; i < bytes; i++) static_cast<volatile uint8_t*>(host)[i] = 0;
        return host;
    }
    void send(const Setting&, uint32_t) { __sync_synchronize(); }
    void fetch(const Setting&, uint32_t) { __sync_synchronize(); }
    void set(const Setting& setting, uint32_t index, uint64_t value) { registers_.set(setting, index, value); }
    void run() {
        __sync_synchronize();
        registers_.start();
        const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(60);
        while (!registers_.done()) {
            if (std::chrono::steady_clock::now() > limit) throw std::runtime_error("the circuit has not ended after 60 s");
            wait();
        }
    }
    uint32_t read(uint32_t address) { return registers_.read(address); }

private:
    // Until the next interrupt, or 100 ms; a device without one is polled. The interrupt is a
    // level, high from the end to the next start: it may come at once, and the caller looks again.
    void wait() {
        const uint32_t enable = 1;
        if (::write(uio_.get(), &enable, sizeof enable) != static_cast<ssize_t>(sizeof enable)) {
            sched_yield();
            return;
        }
        pollfd waited{uio_.get(), POLLIN, 0};
        if (poll(&waited, 1, 100) > 0) {
            uint32_t count = 0;
            if (::read(uio_.get(), &count, sizeof count) != static_cast<ssize_t>(sizeof count)) refuse(uio_.path());
        }
    }

    Descriptor uio_, shared_;
    MappedRegisters registers_;
    std::string folder_;
    uint64_t base_;
    Mapping memory_;
    Places places_;
};

}  // namespace arrowsmith
