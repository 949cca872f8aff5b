// SPDX-License-Identifier: Apache-2.0
// The object-graph circuit under Verilator, with a memory behind it: cycle by cycle, and strict about the protocol.
//
// Memory is what the user lends: windows of the circuit's address space, each over host memory. An access outside of them is
// refused and remembered in `stray()`; nothing else of this process is ever touched. Latency and bandwidth are those of a
// profile; random stalls on every channel come from a seed. Breaches of AXI (a payload that changes while it is offered, a burst
// over a 4 KiB border, a wrong `last`) are collected in `breaches()`.
//
// A Bus for GraphDriver: reading and writing registers lets the clock run.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "Vobjects.h"
#include "verilated.h"

namespace arrowsmith {

// How the memory behaves.
struct MemoryProfile {
    uint32_t read_latency = 4;   // cycles from the address to the first beat
    uint32_t write_latency = 2;  // cycles from the last beat to the answer
    uint32_t stall_percent = 0;  // of the cycles in which a channel pauses, each by chance
    uint64_t seed = 1;
};

class GraphModel {
public:
    static constexpr uint32_t kBeatBytes = sizeof(Vobjects::mem_r_data_i);

    explicit GraphModel(const MemoryProfile& profile = {})
        : profile_(profile), random_(profile.seed * 2 + 1), context_(std::make_unique<VerilatedContext>()),
          top_(std::make_unique<Vobjects>(context_.get())) {
        top_->rst_ni = 0;
        for (int i = 0; i < 4; i++) tick();
        top_->rst_ni = 1;
        tick();
    }
    ~GraphModel() { top_->final(); }

    // Lends the circuit `bytes` at `host`, as `address`. Replaces nothing: windows must not overlap.
    void lend(uint64_t address, void* host, uint64_t bytes, bool writable) {
        windows_.push_back({address, static_cast<uint8_t*>(host), bytes, writable});
    }
    void take_back_all() { windows_.clear(); }

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
        uint64_t address;
        uint8_t* host;
        uint64_t bytes;
        bool writable;
    };
    struct Burst {
        uint64_t address;
        uint32_t beats;
        uint64_t due;
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

    // The memory's outputs of this cycle, which depend on nothing that the circuit does in it.
    void drive() {
        const uint32_t pause = profile_.stall_percent;
        top_->mem_ar_ready_i = reads_.size() < 16 && !chance(pause);
        top_->mem_aw_ready_i = writes_.size() < 16 && !chance(pause);
        top_->mem_w_ready_i = !chance(pause);
        // An answer that is offered stays.
        if (!read_offered_) {
            read_offered_ = !reads_.empty() && reads_.front().due <= cycles_ && !chance(pause);
            if (read_offered_) fetch();
        }
        top_->mem_r_valid_i = read_offered_;
        if (!answer_offered_) answer_offered_ = !answers_.empty() && answers_.front() <= cycles_ && !chance(pause);
        top_->mem_b_valid_i = answer_offered_;
        top_->mem_b_resp_i = write_refused_ ? 2 : 0;
    }

    void fetch() {
        const Burst& burst = reads_.front();
        std::array<uint8_t, kBeatBytes> beat;
        beat.fill(0xa5);
        bool any = false;
        for (uint32_t i = 0; i < kBeatBytes; i++) {
            if (const uint8_t* byte = find(burst.address + i, false)) {
                beat[i] = *byte;
                any = true;
            }
        }
        // A beat of which nothing was lent is a stray; bytes around a message that is not aligned are not.
        if (!any) stray("reads", burst.address);
        std::memcpy(&top_->mem_r_data_i, beat.data(), kBeatBytes);
        top_->mem_r_resp_i = any ? 0 : 2;
    }

    uint8_t* find(uint64_t address, bool writing) {
        for (const Window& window : windows_) {
            if (address - window.address < window.bytes && (window.writable || !writing)) {
                return window.host + (address - window.address);
            }
        }
        return nullptr;
    }

    void sample() {
        hold(ar_, top_->mem_ar_valid_o, top_->mem_ar_ready_i, top_->mem_ar_addr_o * 256 + top_->mem_ar_len_o, "AR");
        hold(aw_, top_->mem_aw_valid_o, top_->mem_aw_ready_i, top_->mem_aw_addr_o * 256 + top_->mem_aw_len_o, "AW");
        hold(w_, top_->mem_w_valid_o, top_->mem_w_ready_i, beat_digest(), "W");
        if (!top_->rst_ni) return;
        if (top_->mem_ar_valid_o && top_->mem_ar_ready_i) {
            const uint32_t beats = top_->mem_ar_len_o + 1;
            check_burst(top_->mem_ar_addr_o, beats);
            reads_.push_back({top_->mem_ar_addr_o, beats, cycles_ + profile_.read_latency});
        }
        if (top_->mem_r_valid_i && top_->mem_r_ready_o) {
            read_offered_ = false;
            Burst& burst = reads_.front();
            burst.address += kBeatBytes;
            if (--burst.beats == 0) reads_.pop_front();
        }
        if (top_->mem_aw_valid_o && top_->mem_aw_ready_i) {
            const uint32_t beats = top_->mem_aw_len_o + 1;
            check_burst(top_->mem_aw_addr_o, beats);
            writes_.push_back({top_->mem_aw_addr_o, beats, 0});
        }
        if (top_->mem_w_valid_o && top_->mem_w_ready_i) take_beat();
        drain();
        if (top_->mem_b_valid_i && top_->mem_b_ready_o) {
            answer_offered_ = false;
            write_refused_ = false;
            answers_.pop_front();
        }
    }

    void take_beat() {
        Beat beat;
        std::memcpy(beat.data.data(), &top_->mem_w_data_o, kBeatBytes);
        beat.strobe = static_cast<uint64_t>(top_->mem_w_strb_o);
        beat.last = top_->mem_w_last_o;
        beats_.push_back(beat);
    }

    // Beats may come before the address of their burst; both are needed.
    void drain() {
        while (!beats_.empty() && !writes_.empty()) {
            const Beat beat = beats_.front();
            beats_.pop_front();
            Burst& burst = writes_.front();
            for (uint32_t i = 0; i < kBeatBytes; i++) {
                if (!(beat.strobe >> i & 1)) continue;
                if (uint8_t* byte = find(burst.address + i, true)) {
                    *byte = beat.data[i];
                } else {
                    stray("writes", burst.address + i);
                    write_refused_ = true;
                }
            }
            burst.address += kBeatBytes;
            burst.beats--;
            if (beat.last != (burst.beats == 0)) breach("W: last is wrong");
            if (burst.beats == 0) {
                writes_.pop_front();
                answers_.push_back(cycles_ + profile_.write_latency);
            }
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
        offered = {valid && !ready && top_->rst_ni, payload};
    }

    uint64_t beat_digest() const {
        std::array<uint8_t, kBeatBytes> data;
        std::memcpy(data.data(), &top_->mem_w_data_o, kBeatBytes);
        uint64_t hash = static_cast<uint64_t>(top_->mem_w_strb_o) * 2 + top_->mem_w_last_o;
        for (uint8_t byte : data) hash = (hash ^ byte) * 0x100000001b3;
        return hash;
    }

    void stray(const char* does, uint64_t address) {
        if (stray_.empty()) stray_ = std::string(does) + " address " + std::to_string(address);
    }
    void breach(std::string what) {
        if (breaches_.size() < 16) breaches_.push_back(std::move(what) + ", cycle " + std::to_string(cycles_));
    }

    struct Beat {
        std::array<uint8_t, kBeatBytes> data;
        uint64_t strobe;
        bool last;
    };

    MemoryProfile profile_;
    uint64_t random_;
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
