// SPDX-License-Identifier: Apache-2.0
// A process that runs the circuit: reads requests from standard input, writes answers to standard
// output, in the form of graph/process.rs.
//
// Arguments: the fields of MemoryProfile, in order. Regions are filled with a pattern before each
// request, and the bytes after the objects must be unchanged afterwards. An AXI violation, a stray
// access or a changed byte ends the process with a line on standard error and status 3; a closed
// pipe ends it silently.
#include <cstdio>
#include <vector>

#include "as_graph_driver.hpp"
#include "as_pipes.hpp"

using namespace arrowsmith;

namespace {

constexpr uint8_t kPattern = 0xcd;
// Cycles without an answer after which the circuit is considered hung.
constexpr uint64_t kPatience = 20'000'000;

struct Job {
    GraphRequest request;
    std::vector<uint8_t> message;
    std::vector<uint8_t> region;
};

bool take_job(Job& job, uint32_t index) {
    // Messages are far apart in the circuit's address space, each at the requested alignment.
    uint32_t header = 0, misalignment = 0;
    auto& request = job.request;
    if (!take(request.length) || !take(header) || !take(misalignment) || !take(request.region) || !take(request.capacity)) {
        return false;
    }
    request.header = header != 0;
    request.message = (uint64_t{1} << 62) + (static_cast<uint64_t>(index) << 40) + misalignment;
    request.tag = index;
    job.message.resize(request.length);
    job.region.assign(request.capacity, kPattern);
    return take(job.message.data(), request.length);
}

}  // namespace

int main(int argc, char** argv) {
    MemoryProfile profile;
    if (!profile.parse(argc, argv)) return 2;
    MemoryModel model(profile);
    GraphDriver driver(model);

    uint64_t hash = 0;
    uint32_t slots = 0;
    if (!take(hash) || !take(slots)) return 0;
    if (!driver.identify(hash)) fail("is not the circuit of this layout");
    for (uint32_t slot = 0; slot < slots; slot++) {
        uint64_t value = 0;
        if (!take(value)) return 0;
        driver.set_vtable(slot, value);
    }
    for (uint32_t count = 0; take(count);) {
        std::vector<Job> jobs(count);
        model.take_back_all();
        for (uint32_t i = 0; i < count; i++) {
            if (!take_job(jobs[i], i)) return 0;
            auto& job = jobs[i];
            model.lend(job.request.message, job.message.data(), job.request.length, false);
            model.lend(job.request.region, job.region.data(), job.request.capacity, true);
        }
        std::vector<GraphAnswer> answers;
        const uint64_t begin = model.cycles();
        uint64_t heard = begin;
        for (size_t next = 0; answers.size() < count;) {
            if (next < count && driver.submit(jobs[next].request)) next++;
            if (const auto answer = driver.poll()) {
                answers.push_back(*answer);
                heard = model.cycles();
            } else if (model.cycles() - heard > kPatience) {
                fail("hangs");
            }
        }
        const uint64_t cycles = model.cycles() - begin;
        check(model);
        give(cycles);
        for (uint32_t i = 0; i < count; i++) {
            const auto& answer = answers[i];
            if (answer.tag != i) fail("answers in another order");
            const uint32_t bytes = answer.code == 0 ? answer.bytes : 0;
            const auto& region = jobs[i].region;
            if (bytes > region.size()) fail("reports more bytes than the region has");
            for (size_t at = bytes; at < region.size() && answer.code == 0; at++) {
                if (region[at] != kPattern) fail("wrote past the objects");
            }
            give(answer);
            std::fwrite(region.data(), 1, bytes, stdout);
        }
        std::fflush(stdout);
    }
    return 0;
}
