// SPDX-License-Identifier: Apache-2.0
// Counts what the kernels do in the emulation, for `tools/gpu predict`: the compiler calls a
// function at every basic block (-fsanitize-coverage=trace-pc) and at every access to memory
// (-fsanitize=thread, without its library); here those calls are counted instead.
//
// The lanes of a warp run one after another. What they do at the same place, the n-th time since
// the warp was last together, counts as one step of the warp, or as one request of it to memory,
// whose addresses are in this many sectors of 32 bytes: what a device would do if the compiler
// reconverges a warp wherever it can.
//
//   arrowsmith_count_mark(name)  what follows belongs to this workload
//   arrowsmith_count_write(path) writes the counts as CSV
#include "count.h"

#include <stdint.h>
#include <stdio.h>

#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace {

const uint32_t WARP = 32;

struct Totals {
    uint64_t launches = 0, blocks = 0, lane_steps = 0, warp_steps = 0, longest = 0, requests = 0, sectors = 0, bytes = 0;
    // Sectors that a launch touches, each once: what has to come from memory or go there.
    uint64_t read = 0, written = 0;
    // Accesses of lanes to shared memory or constants, and to their own stacks.
    uint64_t shared = 0, local = 0;
};

// A request of a warp: the sectors of its lanes.
struct Request {
    std::vector<uint64_t> sectors;
    bool write = false;
};

// A place in the code: in the current phase, how often each lane was there, and its requests.
struct Place {
    uint32_t times[WARP] = {};
    std::vector<uint32_t> requests;
    bool touched = false;
};

std::string workload = "none";
std::map<std::pair<std::string, std::string>, Totals> all;
Totals *now = nullptr;
bool on = false;
uint32_t lane = 0;
uint64_t stacks = 0, stacks_end = 0;
std::unordered_map<uint64_t, uint32_t> numbers;
std::vector<Place> places;
std::vector<uint32_t> touched;
std::vector<Request> requests;
size_t requests_used = 0;
std::unordered_set<uint64_t> sectors_read, sectors_written;
// Steps of each warp of the block so far, and of the longest of the launch.
std::map<uint32_t, uint64_t> steps;
uint64_t longest = 0;

void end_launch() {
    if (!now) return;
    now->read += sectors_read.size();
    now->written += sectors_written.size();
    now->longest += longest;
    sectors_read.clear();
    sectors_written.clear();
    longest = 0;
}

Place &place_of(uint64_t address) {
    auto found = numbers.find(address);
    if (found == numbers.end()) {
        found = numbers.emplace(address, (uint32_t)places.size()).first;
        places.emplace_back();
    }
    Place &place = places[found->second];
    if (!place.touched) {
        place.touched = true;
        touched.push_back(found->second);
    }
    return place;
}

void access(uint64_t at, uint64_t bytes, bool write, uint64_t place) {
    if (!on) return;
    if (at >= stacks && at < stacks_end) {
        now->local++;
        return;
    }
    on = false;
    const bool global = count_is_global(at);
    on = true;
    if (!global) {
        now->shared++;
        return;
    }
    Place &here = place_of(place);
    const uint32_t time = here.times[lane]++;
    if (time == here.requests.size()) {
        if (requests_used == requests.size()) requests.emplace_back();
        requests[requests_used].write = write;
        here.requests.push_back((uint32_t)requests_used++);
    }
    Request &request = requests[here.requests[time]];
    for (uint64_t sector = at / 32; sector <= (at + bytes - 1) / 32; sector++) request.sectors.push_back(sector);
    now->bytes += bytes;
}

} // namespace

extern "C" void count_launch(const char *kernel, unsigned long long grid) {
    end_launch();
    now = &all[{workload, kernel}];
    now->launches++;
    now->blocks += grid;
}

extern "C" void count_lane(unsigned int thread) {
    lane = thread % WARP;
    on = true;
}

extern "C" void count_pause() { on = false; }

extern "C" void count_phase(unsigned int warp) {
    on = false;
    uint64_t warp_steps = 0;
    for (uint32_t number : touched) {
        Place &place = places[number];
        uint32_t most = 0;
        for (uint32_t &times : place.times) {
            // A place is a step, or an access.
            if (place.requests.empty()) now->lane_steps += times;
            most = std::max(most, times);
            times = 0;
        }
        if (place.requests.empty()) warp_steps += most;
        place.requests.clear();
        place.touched = false;
    }
    touched.clear();
    now->warp_steps += warp_steps;
    steps[warp] += warp_steps;
    for (size_t i = 0; i < requests_used; i++) {
        auto &sectors = requests[i].sectors;
        std::sort(sectors.begin(), sectors.end());
        const auto end = std::unique(sectors.begin(), sectors.end());
        (requests[i].write ? sectors_written : sectors_read).insert(sectors.begin(), end);
        now->requests++;
        now->sectors += (uint64_t)(end - sectors.begin());
        sectors.clear();
    }
    requests_used = 0;
}

extern "C" void count_block() {
    for (auto &warp : steps) longest = std::max(longest, warp.second);
    steps.clear();
}

extern "C" void count_stacks(const void *at, unsigned long long bytes) {
    stacks = (uint64_t)at;
    stacks_end = stacks + bytes;
}

extern "C" __attribute__((visibility("default"))) void arrowsmith_count_mark(const char *name) {
    end_launch();
    now = nullptr;
    workload = name;
}

extern "C" __attribute__((visibility("default"))) int arrowsmith_count_write(const char *path) {
    end_launch();
    now = nullptr;
    FILE *file = fopen(path, "w");
    if (!file) return 1;
    fprintf(file, "workload,kernel,launches,blocks,lane_steps,warp_steps,longest,requests,sectors,bytes,read,written,shared,local\n");
    for (auto &entry : all) {
        const Totals &t = entry.second;
        const uint64_t columns[] = {t.launches, t.blocks, t.lane_steps, t.warp_steps, t.longest, t.requests,
                                    t.sectors,  t.bytes,  t.read,       t.written,    t.shared,  t.local};
        fprintf(file, "%s,%s", entry.first.first.c_str(), entry.first.second.c_str());
        for (uint64_t column : columns) fprintf(file, ",%llu", (unsigned long long)column);
        fprintf(file, "\n");
    }
    return fclose(file);
}

extern "C" void __sanitizer_cov_trace_pc() {
    if (!on) return;
    place_of((uint64_t)__builtin_return_address(0)).times[lane]++;
}

#define PLACE (uint64_t)__builtin_return_address(0)
#define ACCESS(name, size)                                                                                                 \
    extern "C" void __tsan_read##name(void *at) { access((uint64_t)at, size, false, PLACE); }                             \
    extern "C" void __tsan_write##name(void *at) { access((uint64_t)at, size, true, PLACE); }                             \
    extern "C" void __tsan_unaligned_read##name(void *at) { access((uint64_t)at, size, false, PLACE); }                   \
    extern "C" void __tsan_unaligned_write##name(void *at) { access((uint64_t)at, size, true, PLACE); }
ACCESS(1, 1)
ACCESS(2, 2)
ACCESS(4, 4)
ACCESS(8, 8)
ACCESS(16, 16)

extern "C" void __tsan_init() {}
extern "C" void __tsan_func_entry(void *) {}
extern "C" void __tsan_func_exit() {}
extern "C" void __tsan_vptr_update(void **, void *) {}
extern "C" void __tsan_vptr_read(void **) {}
extern "C" void __tsan_read_range(void *at, uint64_t bytes) { access((uint64_t)at, bytes, false, PLACE); }
extern "C" void __tsan_write_range(void *at, uint64_t bytes) { access((uint64_t)at, bytes, true, PLACE); }

#define ATOMIC(bits, name, built)                                                                                          \
    extern "C" uint##bits##_t __tsan_atomic##bits##_##name(volatile uint##bits##_t *at, uint##bits##_t by, int) {         \
        access((uint64_t)at, bits / 8, true, PLACE);                                                                       \
        return built(at, by, __ATOMIC_SEQ_CST);                                                                            \
    }
ATOMIC(32, fetch_add, __atomic_fetch_add)
ATOMIC(64, fetch_add, __atomic_fetch_add)
ATOMIC(32, fetch_or, __atomic_fetch_or)
ATOMIC(32, fetch_sub, __atomic_fetch_sub)
extern "C" uint8_t __tsan_atomic8_load(const volatile uint8_t *at, int) { return __atomic_load_n(at, __ATOMIC_SEQ_CST); }
extern "C" uint32_t __tsan_atomic32_load(const volatile uint32_t *at, int) { return __atomic_load_n(at, __ATOMIC_SEQ_CST); }
extern "C" uint64_t __tsan_atomic64_load(const volatile uint64_t *at, int) { return __atomic_load_n(at, __ATOMIC_SEQ_CST); }
