// SPDX-License-Identifier: Apache-2.0
// A JSON circuit under Verilator, with a memory behind it: cycle by cycle, strict about the protocol, fast enough for megabytes.
//
// Memory is what the user lends: windows of the circuit's address space, each over host memory, found by the upper bits of an address.
// An access outside of them ends in `stray()`; nothing else of this process is touched. Latency, bandwidth and random stalls are
// those of a profile. Breaches of AXI (a payload that changes while it is offered, a burst over a 4 KiB border, a wrong `last`)
// are collected in `breaches()`.
#pragma once

#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "Vobjects.h"
#include "verilated.h"

namespace arrowsmith {

// How the memory behaves. A bandwidth of 0 is that of a beat a cycle.
struct JsonProfile {
    uint32_t read_latency = 2;    // cycles from the address to the first beat
    uint32_t write_latency = 2;   // cycles from the last beat to the answer
    uint32_t stall_percent = 0;   // of the cycles in which a channel pauses, each by chance
    uint64_t seed = 1;
    uint32_t read_millibytes = 0;   // thousandths of a byte a cycle
    uint32_t write_millibytes = 0;  // the same, for writes
};

class JsonModel {
public:
    static constexpr uint32_t kBeatBytes = sizeof(Vobjects::mem_r_data_i);
    static constexpr uint32_t kWindowShift = 40;

    explicit JsonModel(const JsonProfile& profile)
        : profile_(profile), random_(profile.seed * 2 + 1), context_(std::make_unique<VerilatedContext>()),
          top_(std::make_unique<Vobjects>(context_.get())) {
        top_->rst_ni = 0;
        for (int i = 0; i < 4; i++) tick();
        top_->rst_ni = 1;
        tick();
    }
    ~JsonModel() { top_->final(); }

    // Lends `bytes` at `host` as window `number`: addresses from number << 40 on. Windows are numbered from 1.
    void lend(uint32_t number, uint8_t* host, uint64_t bytes, bool writable) {
        if (windows_.size() <= number) windows_.resize(number + 1);
        windows_[number] = {host, bytes, 0, writable};
    }
    static uint64_t address(uint32_t number) { return static_cast<uint64_t>(number) << kWindowShift; }
    // Bytes from the window's begin to the end of the last write.
    uint64_t written(uint32_t number) const { return windows_[number].written; }

    uint64_t cycles() const { return cycles_; }
    const std::string& stray() const { return stray_; }
    const std::vector<std::string>& breaches() const { return breaches_; }

    void write(uint32_t address, uint32_t value) {
        top_->ctl_aw_valid_i = 1;
        top_->ctl_aw_addr_i = address;
        top_->ctl_w_valid_i = 1;
        top_->ctl_w_data_i = value;
        top_->ctl_b_ready_i = 1;
        bool taken = false;
        for (int i = 0; i < 64 && !taken; i++) {
            settle();
            taken = top_->ctl_aw_ready_o && top_->ctl_w_ready_o;
            tick();
        }
        top_->ctl_aw_valid_i = 0;
        top_->ctl_w_valid_i = 0;
        if (!taken) breach("the registers do not take a write");
        tick();
    }

    uint32_t read(uint32_t address) {
        top_->ctl_ar_valid_i = 1;
        top_->ctl_ar_addr_i = address;
        top_->ctl_r_ready_i = 1;
        bool taken = false;
        for (int i = 0; i < 64 && !taken; i++) {
            settle();
            taken = top_->ctl_ar_ready_o;
            tick();
        }
        top_->ctl_ar_valid_i = 0;
        for (int i = 0; i < 64; i++) {
            settle();
            if (top_->ctl_r_valid_o) {
                const uint32_t value = top_->ctl_r_data_o;
                tick();
                return value;
            }
            tick();
        }
        breach("the registers do not answer a read");
        return 0;
    }

    // One clock cycle.
    void tick() {
        drive();
        settle();
        sample();
        top_->clk_i = 1;
        top_->eval();
        top_->clk_i = 0;
        context_->timeInc(1);
        cycles_++;
    }

private:
    struct Window {
        uint8_t* host = nullptr;
        uint64_t bytes = 0;
        uint64_t written = 0;
        bool writable = false;
    };
    struct Burst {
        uint64_t address;
        uint32_t beats;
        uint64_t due;
    };
    struct Beat {
        uint8_t data[kBeatBytes];
        uint8_t strobe[kBeatBytes / 8];
        bool last;
    };
    // What was offered in the cycle before and not taken, and so must still be there.
    struct Offered {
        bool held = false;
        uint64_t payload = 0;
    };

    void settle() {
        top_->clk_i = 0;
        top_->eval();
    }

    // splitmix64; stalls need no better.
    bool chance(uint32_t percent) {
        if (percent == 0) return false;
        random_ += 0x9e3779b97f4a7c15;
        uint64_t z = random_;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
        z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
        return (z ^ (z >> 31)) % 100 < percent;
    }

    // Whether a channel of this bandwidth has a beat to give in this cycle.
    static bool afford(uint64_t& saved, uint32_t millibytes) {
        constexpr uint64_t kCost = uint64_t{kBeatBytes} * 1000;
        if (millibytes == 0) return true;
        if (saved < 4 * kCost) saved += millibytes;
        return saved >= kCost;
    }

    // The memory's outputs of this cycle, which depend on nothing that the circuit does in it.
    void drive() {
        const uint32_t pause = profile_.stall_percent;
        const bool can_read = afford(read_saved_, profile_.read_millibytes);
        const bool can_write = afford(write_saved_, profile_.write_millibytes);
        top_->mem_ar_ready_i = reads_.size() < 64 && !chance(pause);
        top_->mem_aw_ready_i = writes_.size() < 64 && !chance(pause);
        top_->mem_w_ready_i = can_write && !chance(pause);
        // An answer that is offered stays.
        if (!read_offered_) {
            read_offered_ = can_read && !reads_.empty() && reads_.front().due <= cycles_ && !chance(pause);
            if (read_offered_) fetch();
        }
        top_->mem_r_valid_i = read_offered_;
        if (!answer_offered_) answer_offered_ = !answers_.empty() && answers_.front() <= cycles_ && !chance(pause);
        top_->mem_b_valid_i = answer_offered_;
        top_->mem_b_resp_i = write_refused_ ? 2 : 0;
    }

    void fetch() {
        const Burst& burst = reads_.front();
        const uint64_t number = burst.address >> kWindowShift;
        const uint64_t offset = burst.address & ((uint64_t{1} << kWindowShift) - 1);
        uint8_t beat[kBeatBytes];
        std::memset(beat, 0xa5, kBeatBytes);
        const bool inside = number < windows_.size() && offset < windows_[number].bytes;
        if (inside) {
            const Window& window = windows_[number];
            const uint64_t rest = window.bytes - offset;
            std::memcpy(beat, window.host + offset, rest < kBeatBytes ? rest : kBeatBytes);
        } else {
            stray("reads", burst.address);
        }
        std::memcpy(&top_->mem_r_data_i, beat, kBeatBytes);
        top_->mem_r_resp_i = inside ? 0 : 2;
    }

    void sample() {
        if (!top_->rst_ni) return;
        hold(ar_, top_->mem_ar_valid_o, top_->mem_ar_ready_i, top_->mem_ar_addr_o * 256 + top_->mem_ar_len_o, "AR");
        hold(aw_, top_->mem_aw_valid_o, top_->mem_aw_ready_i, top_->mem_aw_addr_o * 256 + top_->mem_aw_len_o, "AW");
        hold(w_, top_->mem_w_valid_o, top_->mem_w_ready_i, beat_digest(), "W");
        if (top_->mem_ar_valid_o && top_->mem_ar_ready_i) {
            const uint32_t beats = top_->mem_ar_len_o + 1;
            check_burst(top_->mem_ar_addr_o, beats);
            reads_.push_back({top_->mem_ar_addr_o, beats, cycles_ + profile_.read_latency});
        }
        if (top_->mem_r_valid_i && top_->mem_r_ready_o) {
            read_offered_ = false;
            if (profile_.read_millibytes) read_saved_ -= uint64_t{kBeatBytes} * 1000;
            Burst& burst = reads_.front();
            burst.address += kBeatBytes;
            if (--burst.beats == 0) reads_.pop_front();
        }
        if (top_->mem_aw_valid_o && top_->mem_aw_ready_i) {
            const uint32_t beats = top_->mem_aw_len_o + 1;
            check_burst(top_->mem_aw_addr_o, beats);
            writes_.push_back({top_->mem_aw_addr_o, beats, 0});
        }
        if (top_->mem_w_valid_o && top_->mem_w_ready_i) {
            if (profile_.write_millibytes) write_saved_ -= uint64_t{kBeatBytes} * 1000;
            Beat beat;
            std::memcpy(beat.data, &top_->mem_w_data_o, kBeatBytes);
            std::memcpy(beat.strobe, &top_->mem_w_strb_o, kBeatBytes / 8);
            beat.last = top_->mem_w_last_o;
            beats_.push_back(beat);
        }
        drain();
        if (top_->mem_b_valid_i && top_->mem_b_ready_o) {
            answer_offered_ = false;
            write_refused_ = false;
            answers_.pop_front();
        }
    }

    // Beats may come before the address of their burst; both are needed.
    void drain() {
        while (!beats_.empty() && !writes_.empty()) {
            const Beat& beat = beats_.front();
            Burst& burst = writes_.front();
            const uint64_t number = burst.address >> kWindowShift;
            const uint64_t offset = burst.address & ((uint64_t{1} << kWindowShift) - 1);
            if (number < windows_.size() && windows_[number].writable && offset + kBeatBytes <= windows_[number].bytes) {
                Window& window = windows_[number];
                for (uint32_t i = 0; i < kBeatBytes; i++) {
                    if (beat.strobe[i / 8] >> (i % 8) & 1) window.host[offset + i] = beat.data[i];
                }
                if (window.written < offset + kBeatBytes) window.written = offset + kBeatBytes;
            } else {
                stray("writes", burst.address);
                write_refused_ = true;
            }
            burst.address += kBeatBytes;
            burst.beats--;
            if (beat.last != (burst.beats == 0)) breach("W: last is wrong");
            if (burst.beats == 0) {
                writes_.pop_front();
                answers_.push_back(cycles_ + profile_.write_latency);
            }
            beats_.pop_front();
        }
    }

    void check_burst(uint64_t address, uint32_t beats) {
        if (address % kBeatBytes != 0) breach("a burst is not aligned");
        if ((address & 4095) + static_cast<uint64_t>(beats) * kBeatBytes > 4096) breach("a burst crosses 4 KiB");
    }

    void hold(Offered& offered, bool valid, bool ready, uint64_t payload, const char* channel) {
        if (offered.held && (!valid || payload != offered.payload)) {
            breach(std::string(channel) + ": what was offered changed");
        }
        offered = {valid && !ready, payload};
    }

    uint64_t beat_digest() const {
        if (!top_->mem_w_valid_o || top_->mem_w_ready_i) {
            if (!w_.held) return 0;
        }
        uint64_t words[kBeatBytes / 8];
        std::memcpy(words, &top_->mem_w_data_o, kBeatBytes);
        uint64_t hash = top_->mem_w_last_o;
        for (uint64_t word : words) hash = (hash ^ word) * 0x100000001b3;
        return hash;
    }

    void stray(const char* does, uint64_t address) {
        if (stray_.empty()) stray_ = std::string(does) + " address " + std::to_string(address);
    }
    void breach(std::string what) {
        if (breaches_.size() < 16) breaches_.push_back(std::move(what) + ", cycle " + std::to_string(cycles_));
    }

    JsonProfile profile_;
    uint64_t random_;
    uint64_t read_saved_ = 0;
    uint64_t write_saved_ = 0;
    std::unique_ptr<VerilatedContext> context_;
    std::unique_ptr<Vobjects> top_;
    uint64_t cycles_ = 0;
    std::vector<Window> windows_;
    std::deque<Burst> reads_;
    std::deque<Burst> writes_;
    std::deque<Beat> beats_;
    std::deque<uint64_t> answers_;
    bool read_offered_ = false;
    bool answer_offered_ = false;
    bool write_refused_ = false;
    Offered ar_, aw_, w_;
    std::string stray_;
    std::vector<std::string> breaches_;
};

}  // namespace arrowsmith
