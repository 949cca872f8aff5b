// SPDX-License-Identifier: Apache-2.0
// A board under XRT's native C++ API: a kernel with ap_ctrl_hs, started by the runtime, whose
// results are registers.
//
// The kernel is opened exclusively: only then the runtime reads its registers. Every input and
// buffer is a buffer object in the memory of its argument. Needs the generated settings of the
// circuit, and C++17.
#pragma once

#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "xrt/xrt_bo.h"
#include "xrt/xrt_device.h"
#include "xrt/xrt_kernel.h"

namespace arrowsmith {

class XrtBoard {
public:
    // Whether a run's wall-clock time means something.
#ifdef ARROWSMITH_SIMULATED
    static constexpr bool kMeasures = false;
#else
    static constexpr bool kMeasures = true;
#endif

    XrtBoard(unsigned int device, const std::string& xclbin, const std::string& kernel)
        : device_(device), kernel_(device_, device_.load_xclbin(xclbin), kernel, xrt::kernel::cu_access_mode::exclusive), run_(kernel_) {}

    uint8_t* memory(const Setting& address, uint32_t index, uint64_t bytes, bool input) {
        const int argument = address.argument + static_cast<int>(index) * address.step;
        if (objects_.size() <= static_cast<size_t>(argument)) objects_.resize(static_cast<size_t>(argument) + 1);
        // The circuit reads whole beats; objects begin at pages.
        const uint64_t size = (bytes + kPage) / kPage * kPage;
        xrt::bo object(device_, size, kernel_.group_id(argument));
        auto* const host = object.map<uint8_t*>();
        std::memset(host, 0, size);
        if (!input) object.sync(XCL_BO_SYNC_BO_TO_DEVICE);
        run_.set_arg(argument, object);
        objects_[static_cast<size_t>(argument)] = object;
        return host;
    }
    void send(const Setting& address, uint32_t index) { object(address, index).sync(XCL_BO_SYNC_BO_TO_DEVICE); }
    void fetch(const Setting& address, uint32_t index) { object(address, index).sync(XCL_BO_SYNC_BO_FROM_DEVICE); }
    void set(const Setting& setting, uint32_t index, uint64_t value) {
        const int argument = setting.argument + static_cast<int>(index) * setting.step;
        if (setting.bytes == 8) {
            run_.set_arg(argument, value);
        } else {
            run_.set_arg(argument, static_cast<uint32_t>(value));
        }
    }
    void run() {
        run_.start();
        const auto state = run_.wait();
        if (state != ERT_CMD_STATE_COMPLETED) throw std::runtime_error("the run ended in state " + std::to_string(state));
    }
    // The circuit's first registers are at 0xf000: the kernel's first ones are the protocol's.
    uint32_t read(uint32_t address) { return kernel_.read_register(address < 0x1000 ? 0xf000 + address : address); }

private:
    static constexpr uint64_t kPage = 4096;

    xrt::bo& object(const Setting& address, uint32_t index) {
        return objects_.at(static_cast<size_t>(address.argument) + index * static_cast<size_t>(address.step));
    }

    xrt::device device_;
    xrt::kernel kernel_;
    xrt::run run_;
    std::vector<xrt::bo> objects_;
};

}  // namespace arrowsmith
