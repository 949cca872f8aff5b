// SPDX-License-Identifier: Apache-2.0
// A generated circuit under Verilator, connected to a memory model: cycle by cycle, strict about
// AXI4, fast enough for megabytes.
//
// The user lends memory: windows of the circuit's address space, each over host memory. An access
// outside of them is refused and recorded in `stray()`; no other memory of this process is
// accessed. Latency, bandwidth and outstanding bursts come from a profile; random stalls on every
// channel come from a seed. AXI violations (an offered payload that changes, a burst over a 4 KiB
// boundary, a wrong `last`) are collected in `breaches()`.
//
// A Bus for the drivers: register accesses advance the clock.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "Vobjects.h"
#include "verilated.h"
#if VM_COVERAGE
#include <unistd.h>

#include "verilated_cov.h"
#endif

namespace arrowsmith {

// The memory profile: the fields of memory.rs, in that order.
struct MemoryProfile {
    uint64_t read_latency = 2;   // cycles from the address to the first beat
    uint64_t write_latency = 2;  // cycles from the last beat to the response
    uint64_t read_rate = 0;      // bytes of the link per 1000 cycles, 0 for no limit
    uint64_t write_rate = 0;
    uint64_t packet_bytes = 256;  // maximum bytes of data in a packet of the link
    uint64_t framing_bytes = 0;   // bytes of the link that a packet takes besides
    uint64_t unit_bytes = 1;      // data takes entire aligned units
    uint64_t outstanding = 64;   // outstanding bursts per direction and port
    uint64_t stall_percent = 0;  // percentage of cycles in which a channel pauses, at random
    uint64_t seed = 1;

    // From the arguments of a program; false if there are not as many.
    bool parse(int argc, char** argv) {
        uint64_t* const fields[] = {&read_latency, &write_latency, &read_rate, &write_rate, &packet_bytes, &framing_bytes,
                                    &unit_bytes, &outstanding, &stall_percent, &seed};
        if (argc != 1 + static_cast<int>(std::size(fields))) return false;
        for (size_t i = 0; i < std::size(fields); i++) *fields[i] = std::strtoull(argv[i + 1], nullptr, 10);
        return true;
    }
};

// Memory ports of the circuit, concatenated in its signals. They share the bandwidth.
#ifndef ARROWSMITH_PORTS
#define ARROWSMITH_PORTS 1
#endif

class MemoryModel {
public:
    static constexpr uint32_t kPorts = ARROWSMITH_PORTS;
    static constexpr uint32_t kBeatBytes = sizeof(Vobjects::mem_r_data_i) / kPorts;

    explicit MemoryModel(const MemoryProfile& profile = {})
        : profile_(profile), random_(profile.seed * 2 + 1), context_(std::make_unique<VerilatedContext>()),
          top_(std::make_unique<Vobjects>(context_.get())) {
        top_->rst_ni = 0;
        for (int i = 0; i < 4; i++) tick();
        top_->rst_ni = 1;
        tick();
    }
    ~MemoryModel() {
        keep_coverage();
        top_->final();
    }
    MemoryModel(const MemoryModel&) = delete;
    MemoryModel& operator=(const MemoryModel&) = delete;

    // Writes the line coverage of the circuit so far, if it was compiled with it: the parent may
    // end the process at any time.
    void keep_coverage() const {
#if VM_COVERAGE
        if (const char* const folder = std::getenv("ARROWSMITH_RTL_COVERAGE")) {
            context_->coveragep()->write((std::string(folder) + "/" + std::to_string(getpid()) + ".dat").c_str());
        }
#endif
    }

    // Lends the circuit `bytes` at `host`, as `address`. Windows must not overlap; an empty one is
    // ignored.
    void lend(uint64_t address, void* host, uint64_t bytes, bool writable) {
        if (bytes == 0) return;
        windows_.insert(window_after(address), {address, static_cast<uint8_t*>(host), bytes, 0, writable});
    }
    void take_back_all() { windows_.clear(); }
    // Bytes from the start of the window at `address` to the end of the last byte written.
    uint64_t written(uint64_t address) {
        const auto window = window_after(address);
        return window == windows_.end() || window->address != address ? 0 : window->written;
    }

    uint64_t cycles() const { return cycles_; }
    // The cycle of the last memory transfer on any channel.
    uint64_t last_transfer() const { return last_transfer_; }
    // Bursts that the circuit has written.
    uint64_t write_bursts() const { return write_bursts_; }
    const std::string& stray() const { return stray_; }
    const std::vector<std::string>& breaches() const { return breaches_; }

    void write(uint32_t address, uint32_t value) {
        top_->ctl_aw_valid_i = 1;
        top_->ctl_aw_addr_i = address;
        top_->ctl_w_valid_i = 1;
        top_->ctl_w_data_i = value;
        top_->ctl_w_strb_i = 0xf;
        top_->ctl_b_ready_i = 1;
        for (int i = 0; i < 64; i++) {
            settle();
            // Address and data are taken each on its own.
            const bool address_taken = top_->ctl_aw_ready_o;
            const bool data_taken = top_->ctl_w_ready_o;
            const bool answered = top_->ctl_b_valid_o;
            if (answered && top_->ctl_b_resp_o != 0) breach("a write of a register was refused");
            tick();
            if (answered) return;
            if (address_taken) top_->ctl_aw_valid_i = 0;
            if (data_taken) top_->ctl_w_valid_i = 0;
        }
        breach("the registers do not answer a write");
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
                if (top_->ctl_r_resp_o != 0) breach("a read of a register was refused");
                tick();
                return value;
            }
            tick();
        }
        breach("the registers do not answer a read");
        return 0;
    }

    // Whether the interrupt is raised, of a circuit that has one.
    template <class Top = Vobjects>
    bool interrupt() {
        settle();
        return static_cast<Top&>(*top_).interrupt_o != 0;
    }

    // One clock cycle.
    void tick() {
        drive();
        settle();
        sample();
        top_->clk_i = 1;
        top_->eval();
        top_->clk_i = 0;
        cycles_++;
    }

private:
    struct Window {
        uint64_t address;
        uint8_t* host;
        uint64_t bytes;
        uint64_t written;
        bool writable;
        uint64_t end() const { return address + bytes; }
    };
    struct Address {
        uint64_t address;
        uint8_t length;
        bool operator==(const Address&) const = default;
    };
    struct Burst {
        uint64_t address;
        uint32_t beats;
        uint64_t due;
        // Bytes of the current packet that are still to come.
        uint64_t packet = 0;
    };
    struct Answer {
        uint64_t due;
        bool refused;
    };
    struct Beat {
        std::array<uint8_t, kBeatBytes> data;
        std::array<uint8_t, (kBeatBytes + 7) / 8> strobe;
        bool last;
        bool set(uint32_t byte) const { return strobe[byte / 8] >> (byte % 8) & 1; }
        bool operator==(const Beat& other) const { return data == other.data && strobe == other.strobe && last == other.last; }
    };
    // The payload offered in the previous cycle and not taken, which must not change.
    template <class Payload>
    struct Offered {
        bool held = false;
        Payload payload{};
    };
    using Place = typename std::vector<Window>::iterator;
    // A port and its outstanding bursts.
    struct Port {
        std::deque<Burst> reads;
        std::deque<Burst> writes;
        std::deque<Beat> beats;
        std::deque<Answer> answers;
        bool read_offered = false;
        bool answer_offered = false;
        bool write_refused = false;
        Offered<Address> ar, aw;
        Offered<Beat> w;
    };
    // Beats that wait at a port for memory to take them.
    static constexpr size_t kBeatsMax = 64;

    void settle() { top_->eval(); }

    // splitmix64; stalls need no better.
    bool chance(uint64_t percent) {
        if (percent == 0) return false;
        random_ += 0x9e3779b97f4a7c15;
        uint64_t z = random_;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
        z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
        return (z ^ (z >> 31)) % 100 < percent;
    }

    // Bandwidth is a bucket of thousandths of bytes that is filled every cycle and holds at most
    // 4 KiB; a rate of 0 has none.
    static void fill(int64_t& bucket, uint64_t rate) {
        bucket = std::min(bucket + static_cast<int64_t>(rate), int64_t{4096} * 1000);
    }
    // Takes the next beat of a burst out of it, if it holds enough: with the first beat of a
    // packet, the entire packet.
    bool spend(int64_t& bucket, uint64_t rate, Burst& burst) const {
        if (rate == 0) return true;
        if (burst.packet == 0) {
            const uint64_t size = std::min(uint64_t{burst.beats} * kBeatBytes, std::max<uint64_t>(profile_.packet_bytes, kBeatBytes));
            const uint64_t unit = profile_.unit_bytes, end = burst.address + size;
            const auto cost = static_cast<int64_t>((end + unit - 1) / unit * unit - burst.address / unit * unit + profile_.framing_bytes) * 1000;
            if (bucket < cost) return false;
            bucket -= cost;
            burst.packet = size;
        }
        burst.packet -= kBeatBytes;
        return true;
    }

    // A field of a port in a signal that concatenates all ports, the first one lowest.
    template <class Field, class Signal>
    static Field get(const Signal& signal, uint32_t port) {
        Field field;
        std::memcpy(&field, reinterpret_cast<const uint8_t*>(&signal) + port * sizeof field, sizeof field);
        return field;
    }
    template <class Signal>
    static bool bit(const Signal& signal, uint32_t port) {
        return signal >> port & 1;
    }
    template <class Signal>
    static void set(Signal& signal, uint32_t port, uint32_t bits, uint32_t value) {
        const uint64_t mask = ((uint64_t{1} << bits) - 1) << (port * bits);
        signal = static_cast<Signal>((signal & ~mask) | uint64_t{value} << (port * bits));
    }

    // The first window that ends after an address: they are sorted.
    Place window_after(uint64_t address) {
        return std::upper_bound(windows_.begin(), windows_.end(), address,
                                [](uint64_t at, const Window& window) { return at < window.end(); });
    }

    // The memory's outputs of this cycle, which do not depend on the circuit's signals of this
    // cycle.
    void drive() {
        fill(read_bucket_, profile_.read_rate);
        fill(write_bucket_, profile_.write_rate);
        // The port after the last one served is first to get bandwidth.
        for (uint32_t i = 0, first = read_turn_; i < kPorts; i++) drive((first + i) % kPorts);
    }

    void drive(uint32_t number) {
        const uint64_t pause = profile_.stall_percent;
        Port& port = ports_[number];
        set(top_->mem_ar_ready_i, number, 1, port.reads.size() < profile_.outstanding && !chance(pause));
        set(top_->mem_aw_ready_i, number, 1,
            port.writes.size() + port.answers.size() < profile_.outstanding && !chance(pause));
        set(top_->mem_w_ready_i, number, 1, port.beats.size() < kBeatsMax && !chance(pause));
        // An offered response stays.
        if (!port.read_offered) {
            port.read_offered = !port.reads.empty() && port.reads.front().due <= cycles_ && !chance(pause) &&
                                spend(read_bucket_, profile_.read_rate, port.reads.front());
            if (port.read_offered) {
                fetch(number, port.reads.front().address);
                read_turn_ = (number + 1) % kPorts;
            }
        }
        set(top_->mem_r_valid_i, number, 1, port.read_offered);
        if (!port.answer_offered) {
            port.answer_offered = !port.answers.empty() && port.answers.front().due <= cycles_ && !chance(pause);
            if (port.answer_offered) set(top_->mem_b_resp_i, number, 2, port.answers.front().refused ? 2 : 0);
        }
        set(top_->mem_b_valid_i, number, 1, port.answer_offered);
    }

    void fetch(uint32_t number, uint64_t address) {
        std::array<uint8_t, kBeatBytes> beat;
        beat.fill(0xa5);
        bool any = false;
        for (Place from = window_after(address); from != windows_.end() && from->address < address + kBeatBytes; ++from) {
            const uint64_t begin = std::max(address, from->address);
            const uint64_t end = std::min(address + kBeatBytes, from->end());
            std::memcpy(beat.data() + (begin - address), from->host + (begin - from->address), end - begin);
            any = true;
        }
        // A beat entirely outside the windows is a stray access; the bytes around an unaligned
        // input are not.
        if (!any) stray("reads", address);
        std::memcpy(reinterpret_cast<uint8_t*>(&top_->mem_r_data_i) + number * kBeatBytes, beat.data(), kBeatBytes);
        set(top_->mem_r_resp_i, number, 2, any ? 0 : 2);
    }

    void sample() {
        if (!top_->rst_ni) return;
        for (uint32_t number = 0; number < kPorts; number++) sample(number);
        // One beat of each port in turn: no port waits while another has more than its share.
        for (bool any = true; any;) {
            any = false;
            for (uint32_t i = 0, first = write_turn_; i < kPorts; i++) any |= drain((first + i) % kPorts);
        }
    }

    void sample(uint32_t number) {
        Port& port = ports_[number];
        const Address ar{get<uint64_t>(top_->mem_ar_addr_o, number), get<uint8_t>(top_->mem_ar_len_o, number)};
        const Address aw{get<uint64_t>(top_->mem_aw_addr_o, number), get<uint8_t>(top_->mem_aw_len_o, number)};
        const bool ar_taken = hold(port.ar, bit(top_->mem_ar_valid_o, number), bit(top_->mem_ar_ready_i, number), [&] { return ar; }, "AR");
        const bool aw_taken = hold(port.aw, bit(top_->mem_aw_valid_o, number), bit(top_->mem_aw_ready_i, number), [&] { return aw; }, "AW");
        const bool w_taken =
            hold(port.w, bit(top_->mem_w_valid_o, number), bit(top_->mem_w_ready_i, number), [&] { return beat(number); }, "W");
        const bool r_taken = port.read_offered && bit(top_->mem_r_ready_o, number);
        if (ar_taken) {
            port.reads.push_back(burst(ar, cycles_ + profile_.read_latency));
            // The request goes before the data that is written, which pays for it.
            write_bucket_ -= static_cast<int64_t>(profile_.framing_bytes) * 1000;
        }
        if (r_taken) {
            port.read_offered = false;
            Burst& burst = port.reads.front();
            burst.address += kBeatBytes;
            if (--burst.beats == 0) port.reads.pop_front();
        }
        if (aw_taken) {
            port.writes.push_back(burst(aw, 0));
            write_bursts_++;
        }
        if (w_taken) port.beats.push_back(beat(number));
        if (ar_taken || r_taken || aw_taken || w_taken) last_transfer_ = cycles_;
        if (port.answer_offered && bit(top_->mem_b_ready_o, number)) {
            port.answer_offered = false;
            port.answers.pop_front();
        }
    }

    Beat beat(uint32_t number) const {
        Beat beat;
        beat.data = get<decltype(beat.data)>(top_->mem_w_data_o, number);
        beat.strobe = get<decltype(beat.strobe)>(top_->mem_w_strb_o, number);
        beat.last = bit(top_->mem_w_last_o, number);
        return beat;
    }

    // Writes a beat, if there is one. Beats may come before the address of their burst; both are
    // needed, and bandwidth.
    bool drain(uint32_t number) {
        Port& port = ports_[number];
        if (port.beats.empty() || port.writes.empty() || !spend(write_bucket_, profile_.write_rate, port.writes.front())) return false;
        const Beat& beat = port.beats.front();
        Burst& burst = port.writes.front();
        if (!store(burst.address, beat)) port.write_refused = true;
        burst.address += kBeatBytes;
        burst.beats--;
        if (beat.last != (burst.beats == 0)) breach("W: last is wrong");
        if (burst.beats == 0) {
            port.writes.pop_front();
            port.answers.push_back({cycles_ + profile_.write_latency, port.write_refused});
            port.write_refused = false;
        }
        port.beats.pop_front();
        write_turn_ = (number + 1) % kPorts;
        return true;
    }

    bool store(uint64_t address, const Beat& beat) {
        Place to = window_after(address);
        for (uint32_t i = 0; i < kBeatBytes; i++) {
            if (!beat.set(i)) continue;
            while (to != windows_.end() && to->end() <= address + i) ++to;
            if (to == windows_.end() || address + i < to->address || !to->writable) {
                stray("writes", address + i);
                return false;
            }
            const uint64_t offset = address + i - to->address;
            to->host[offset] = beat.data[i];
            to->written = std::max(to->written, offset + 1);
        }
        return true;
    }

    Burst burst(const Address& at, uint64_t due) {
        const uint32_t beats = at.length + 1u;
        if (at.address % kBeatBytes != 0) breach("a burst is not aligned");
        if ((at.address & 4095) + static_cast<uint64_t>(beats) * kBeatBytes > 4096) breach("a burst crosses 4 KiB");
        return {at.address, beats, due};
    }

    // Whether a channel's payload is taken now. Payloads are checked only where they must not
    // change.
    template <class Payload, class Look>
    bool hold(Offered<Payload>& offered, bool valid, bool ready, Look&& look, const char* channel) {
        if (offered.held && (!valid || !(look() == offered.payload))) breach(std::string(channel) + ": what was offered changed");
        offered.held = valid && !ready;
        if (offered.held) offered.payload = look();
        return valid && ready;
    }

    void stray(const char* does, uint64_t address) {
        if (stray_.empty()) stray_ = std::string(does) + " address " + std::to_string(address);
    }
    void breach(std::string what) {
        if (breaches_.size() < 16) breaches_.push_back(std::move(what) + ", cycle " + std::to_string(cycles_));
    }

    MemoryProfile profile_;
    uint64_t random_;
    std::unique_ptr<VerilatedContext> context_;
    std::unique_ptr<Vobjects> top_;
    uint64_t cycles_ = 0;
    uint64_t last_transfer_ = 0;
    uint64_t write_bursts_ = 0;
    int64_t read_bucket_ = 0;
    int64_t write_bucket_ = 0;
    uint32_t read_turn_ = 0;
    uint32_t write_turn_ = 0;
    std::vector<Window> windows_;
    std::array<Port, kPorts> ports_;
    std::string stray_;
    std::vector<std::string> breaches_;
};

}  // namespace arrowsmith
