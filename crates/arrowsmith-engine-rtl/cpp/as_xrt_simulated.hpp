// SPDX-License-Identifier: Apache-2.0
// NOT the Xilinx Runtime: a stub of the part of its native C++ API that as_xrt_board.hpp uses, over
// a simulation of the kernel. Names and signatures are those that the API documents; behind them,
// the kernel runs under Verilator, on the memory model of the bench.
//
// It does to the kernel what the runtime and its driver do: it takes numbers, addresses and sizes
// of the arguments from kernel.xml, writes every word from 0x10 to the last argument, writes
// ap_start, and waits for the interrupt or, in every second run, polls ap_done. Where the kernel
// does not keep to the protocol the program ends.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "as_memory_model.hpp"
#include "as_sample.hpp"

enum xclBOSyncDirection { XCL_BO_SYNC_BO_TO_DEVICE = 0, XCL_BO_SYNC_BO_FROM_DEVICE };
enum ert_cmd_state { ERT_CMD_STATE_NEW = 1, ERT_CMD_STATE_COMPLETED = 4 };

namespace arrowsmith {

// An argument of kernel.xml.
struct XmlArgument {
    std::string name;
    uint32_t offset = 0;
    uint32_t bytes = 0;
    int group = -1;  // the memory of a pointer: the number of its port
};

// The value of an attribute in the text of an element.
inline std::string attribute(const std::string& element, const std::string& name) {
    const size_t at = element.find(" " + name + "=\"");
    if (at == std::string::npos) fail("kernel.xml: no " + name + " in " + element);
    const size_t begin = at + name.size() + 3;
    return element.substr(begin, element.find('"', begin) - begin);
}

inline uint32_t number(const std::string& element, const std::string& name) {
    return static_cast<uint32_t>(std::stoul(attribute(element, name), nullptr, 0));
}

// The simulated device: the kernel and its memory.
class Simulated {
public:
    explicit Simulated(const std::string& kernel_xml) : model_(profile()) {
        const std::string text = read_file(kernel_xml);
        for (size_t at = 0; (at = text.find("<", at)) != std::string::npos; at++) {
            const std::string element = text.substr(at, text.find('>', at) - at);
            if (element.rfind("<kernel ", 0) == 0) {
                name_ = attribute(element, "name");
                if (attribute(element, "hwControlProtocol") != "ap_ctrl_hs") fail("kernel.xml: another protocol");
            } else if (element.rfind("<port ", 0) == 0) {
                if (attribute(element, "mode") == "slave") {
                    range_ = number(element, "range");
                } else {
                    masters_[attribute(element, "name")] = static_cast<int>(masters_.size());
                    if (number(element, "dataWidth") != MemoryModel::kBeatBytes * 8) fail("kernel.xml: another width");
                }
            } else if (element.rfind("<arg ", 0) == 0) {
                XmlArgument argument;
                argument.name = attribute(element, "name");
                argument.offset = number(element, "offset");
                argument.bytes = number(element, "size");
                if (number(element, "addressQualifier") == 1) argument.group = masters_.at(attribute(element, "port"));
                if (number(element, "id") != arguments_.size()) fail("kernel.xml: arguments are not in order");
                if (argument.offset != end_) fail("kernel.xml: a gap before " + argument.name);
                end_ = argument.offset + argument.bytes;
                arguments_.push_back(argument);
            }
        }
        if (masters_.size() != MemoryModel::kPorts) fail("kernel.xml: another number of memory ports");
        model_.write(0x04, 1);
        model_.write(0x08, 1);
        if (control() != 4) fail("the kernel is not idle after its reset");
    }

    const std::string& name() const { return name_; }
    const XmlArgument& argument(int id) const { return arguments_.at(static_cast<size_t>(id)); }
    size_t arguments() const { return arguments_.size(); }
    uint32_t end() const { return end_; }
    uint32_t read(uint32_t offset) {
        if (offset % 4 != 0 || offset + 4 > range_) throw std::out_of_range("Cannot read or write outside kernel register space");
        return model_.read(offset);
    }
    uint64_t lend(void* host, uint64_t bytes) {
        const uint64_t address = ++objects_ << 34;
        model_.lend(address, host, bytes, true);
        return address;
    }
    // A start with these words from 0x10, and the wait for its end.
    void run(const std::vector<uint32_t>& words) {
        for (size_t word = 0; word < words.size(); word++) model_.write(static_cast<uint32_t>(0x10 + word * 4), words[word]);
        const bool poll = runs_++ % 2 == 1;
        model_.write(0x08, poll ? 0 : 1);
        model_.write(0x00, 1);
        const uint64_t patience = model_.cycles() + 200'000'000;
        if (poll) {
            while (true) {
                const uint32_t control = this->control();
                if ((control & 2) != 0) break;
                if (control != 1) fail("the kernel shows " + std::to_string(control) + " while it runs");
                for (int i = 0; i < 16; i++) model_.tick();
                if (model_.cycles() > patience) fail("the kernel hangs");
            }
            if (model_.interrupt()) fail("an interrupt that is not enabled");
        } else {
            while (!model_.interrupt()) {
                model_.tick();
                if (model_.cycles() > patience) fail("the kernel hangs");
            }
            // As the driver does: what is set is written back, which toggles it.
            const uint32_t status = model_.read(0x0c);
            if (status != 1) fail("the kernel's interrupt has status " + std::to_string(status));
            model_.write(0x0c, status);
            if (control() != 0xe) fail("the kernel has not ended with its interrupt");
            if (model_.read(0x0c) != 0 || model_.interrupt()) fail("the interrupt is not cleared");
        }
        if (control() != 4) fail("ap_done is not cleared by a read");
        if (!model_.stray().empty()) fail(model_.stray());
        if (!model_.breaches().empty()) fail(model_.breaches().front());
    }

    // The device: the first one opened has the description of the kernel.
    static std::unique_ptr<Simulated>& device() {
        static std::unique_ptr<Simulated> device;
        return device;
    }

private:
    static MemoryProfile profile() {
        MemoryProfile profile;
        profile.read_latency = 60;
        profile.write_latency = 20;
        profile.stall_percent = 10;
        return profile;
    }
    uint32_t control() { return model_.read(0x00); }

    MemoryModel model_;
    std::string name_;
    uint32_t range_ = 0;
    uint32_t end_ = 0x10;
    std::map<std::string, int> masters_;
    std::vector<XmlArgument> arguments_;
    uint64_t objects_ = 0;
    uint64_t runs_ = 0;
};

}  // namespace arrowsmith

namespace xrt {

class uuid {};

class device {
public:
    explicit device(unsigned int) {}
    // In place of an xclbin: the file kernel.xml.
    uuid load_xclbin(const std::string& file) {
        arrowsmith::Simulated::device() = std::make_unique<arrowsmith::Simulated>(file);
        return {};
    }
};

using memory_group = uint32_t;

class kernel {
public:
    enum class cu_access_mode : uint8_t { exclusive = 0, shared = 1, none = 2 };

    kernel(const device&, const uuid&, const std::string& name, cu_access_mode mode = cu_access_mode::shared) : mode_(mode) {
        if (name != arrowsmith::Simulated::device()->name()) throw std::runtime_error("No such kernel '" + name + "'");
    }
    int group_id(int argno) const {
        const int group = arrowsmith::Simulated::device()->argument(argno).group;
        if (group < 0) throw std::runtime_error("a scalar has no group id");
        return group;
    }
    uint32_t offset(int argno) const { return arrowsmith::Simulated::device()->argument(argno).offset; }
    uint32_t read_register(uint32_t offset) const {
        if (mode_ != cu_access_mode::exclusive) throw std::runtime_error("Cannot read or write kernel with shared access");
        return arrowsmith::Simulated::device()->read(offset);
    }

private:
    cu_access_mode mode_;
};

// A buffer object: the device has a copy of its own, as on a card.
class bo {
public:
    bo() = default;
    bo(const device&, size_t size, memory_group group) : object_(std::make_shared<Object>()) {
        object_->host.resize(size);
        object_->device.assign(size, 0xee);
        object_->group = static_cast<int>(group);
        object_->address = arrowsmith::Simulated::device()->lend(object_->device.data(), size);
    }
    size_t size() const { return object_->host.size(); }
    uint64_t address() const { return object_->address; }
    int group() const { return object_->group; }
    template <typename MapType>
    MapType map() {
        return reinterpret_cast<MapType>(object_->host.data());
    }
    void sync(xclBOSyncDirection direction) {
        const bool there = direction == XCL_BO_SYNC_BO_TO_DEVICE;
        std::memcpy(there ? object_->device.data() : object_->host.data(), there ? object_->host.data() : object_->device.data(), size());
    }

private:
    struct Object {
        std::vector<uint8_t> host, device;
        uint64_t address = 0;
        int group = 0;
    };
    std::shared_ptr<Object> object_;
};

class run {
public:
    explicit run(const kernel&) : words_((arrowsmith::Simulated::device()->end() - 0x10) / 4), set_(arrowsmith::Simulated::device()->arguments()) {}

    template <typename ArgType>
    void set_arg(int index, ArgType&& value) {
        const auto& argument = arrowsmith::Simulated::device()->argument(index);
        if (argument.group >= 0) throw std::runtime_error(argument.name + " needs a buffer object");
        if (sizeof value != argument.bytes) throw std::runtime_error(argument.name + " has another size");
        put(index, &value, sizeof value);
    }
    void set_arg(int index, bo& object) {
        const auto& argument = arrowsmith::Simulated::device()->argument(index);
        if (argument.group != object.group()) throw std::runtime_error(argument.name + " is in another memory");
        const uint64_t address = object.address();
        put(index, &address, sizeof address);
    }
    void start() {
        const auto missing = std::find(set_.begin(), set_.end(), false);
        if (missing != set_.end()) throw std::runtime_error("an argument is not set");
        arrowsmith::Simulated::device()->run(words_);
    }
    ert_cmd_state wait() const { return ERT_CMD_STATE_COMPLETED; }

private:
    void put(int index, const void* value, size_t bytes) {
        const auto& argument = arrowsmith::Simulated::device()->argument(index);
        std::memcpy(words_.data() + (argument.offset - 0x10) / 4, value, bytes);
        set_[static_cast<size_t>(index)] = true;
    }

    std::vector<uint32_t> words_;
    std::vector<bool> set_;
};

}  // namespace xrt
