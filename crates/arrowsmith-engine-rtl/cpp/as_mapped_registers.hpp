// SPDX-License-Identifier: Apache-2.0
// The registers of a circuit in a device file that can be mapped: the window of a PCIe bridge, or
// a UIO device. Linux. Every access is one load or store of 32 bits.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>

namespace arrowsmith {

[[noreturn]] inline void refuse(const std::string& what) { throw std::runtime_error(what + ": " + std::strerror(errno)); }

// A file descriptor, closed at the end.
class Descriptor {
public:
    Descriptor(const std::string& path, int flags) : path_(path), descriptor_(open(path.c_str(), flags | O_CLOEXEC)) {
        if (descriptor_ < 0) refuse(path);
    }
    ~Descriptor() { close(descriptor_); }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;

    int get() const { return descriptor_; }
    const std::string& path() const { return path_; }

private:
    std::string path_;
    int descriptor_;
};

// A mapping of a device, unmapped at the end.
class Mapping {
public:
    Mapping(const Descriptor& device, size_t bytes, off_t offset)
        : bytes_(bytes), address_(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, device.get(), offset)) {
        if (address_ == MAP_FAILED) refuse(device.path());
    }
    ~Mapping() { munmap(address_, bytes_); }
    Mapping(const Mapping&) = delete;
    Mapping& operator=(const Mapping&) = delete;

    uint8_t* get() const { return static_cast<uint8_t*>(address_); }
    size_t size() const { return bytes_; }

private:
    size_t bytes_;
    void* address_;
};

class MappedRegisters {
public:
    // The circuit's 64 KiB begin at `offset` of the device.
    MappedRegisters(const Descriptor& device, off_t offset) : mapping_(device, kBytes, offset) {}

    uint32_t read(uint32_t address) const { return *word(address); }
    void write(uint32_t address, uint32_t value) const { *word(address) = value; }
    void set(const Setting& setting, uint32_t index, uint64_t value) const {
        const uint32_t address = setting.address + index * kBlockBytes;
        write(address, static_cast<uint32_t>(value));
        if (setting.bytes == 8) write(address + 4, static_cast<uint32_t>(value >> 32));
    }
    void start() const { write(kControl, 1); }
    // Bit 0 of the state: busy; bit 1: done.
    bool done() const { return (read(kStatus) & 3) == 2; }

private:
    static constexpr size_t kBytes = 1 << 16;
    static constexpr uint32_t kControl = 0x18;
    static constexpr uint32_t kStatus = 0x1c;

    volatile uint32_t* word(uint32_t address) const {
        if (address % 4 != 0 || address > kBytes - 4) throw std::out_of_range("no register has this address");
        return reinterpret_cast<volatile uint32_t*>(mapping_.get() + address);
    }

    Mapping mapping_;
};

// Places for inputs and buffers in a range of memory, one after another, for one run.
class Places {
public:
    Places(uint64_t base, uint64_t bytes) : base_(base), bytes_(bytes) {}

    // The address of this many bytes, at a page.
    uint64_t take(uint64_t bytes) {
        const uint64_t size = (bytes + 2 * kBeatBytes + kPage - 1) / kPage * kPage;
        if (size > bytes_ - used_) throw std::runtime_error("the memory has " + std::to_string(bytes_) + " bytes, which is too little; use fewer copies");
        const uint64_t at = base_ + used_;
        used_ += size;
        return at;
    }
    void clear() { used_ = 0; }

private:
    static constexpr uint64_t kPage = 4096;

    uint64_t base_;
    uint64_t bytes_;
    uint64_t used_ = 0;
};

}  // namespace arrowsmith
