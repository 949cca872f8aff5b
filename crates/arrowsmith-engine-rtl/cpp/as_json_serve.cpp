// SPDX-License-Identifier: Apache-2.0
// A process that runs a JSON circuit: reads texts from standard input, writes buffers to standard
// output, in the form of json/process.rs.
//
// Arguments: the fields of MemoryProfile, in order. An AXI violation, a stray access or a hanging
// circuit ends the process with a line on standard error and status 3; a closed pipe ends it
// silently.
#include <sys/mman.h>

#include <cstdio>
#include <vector>

#include "as_json_driver.hpp"
#include "as_pipes.hpp"
#ifdef ARROWSMITH_BLOCK_PROTOCOL
#include "settings.hpp"

#include "as_block_bus.hpp"
#endif

using namespace arrowsmith;

namespace {

// Memory that is committed on first write.
class Lazy {
public:
    uint8_t* reserve(uint64_t bytes) {
        if (bytes > bytes_) {
            if (host_ != nullptr) munmap(host_, bytes_);
            void* host = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
            if (host == MAP_FAILED) fail("no memory for a buffer");
            host_ = static_cast<uint8_t*>(host);
            bytes_ = bytes;
        }
        return host_;
    }

private:
    uint8_t* host_ = nullptr;
    uint64_t bytes_ = 0;
};

// Windows are far apart: first the text's, then those of the buffers.
constexpr uint64_t kText = uint64_t{1} << 40;
constexpr uint64_t buffer_address(uint32_t buffer) { return uint64_t{2 + buffer} << 40; }

}  // namespace

int main(int argc, char** argv) {
    MemoryProfile profile;
    if (!profile.parse(argc, argv)) return 2;
    MemoryModel model(profile);
#ifdef ARROWSMITH_BLOCK_PROTOCOL
    BlockBus bus(model);
    JsonDriver driver(bus);
#else
    JsonDriver driver(model);
#endif

    uint64_t hash = 0;
    if (!take(hash)) return 0;
    if (!driver.identify(hash)) fail("is not the circuit of this schema");
    const uint32_t parsers = driver.parsers();
    const uint32_t buffers = driver.buffers();
    give(parsers);
    give(buffers);
    std::fflush(stdout);

    std::vector<uint8_t> text;
    std::vector<Lazy> memory(buffers);
    for (uint32_t fresh = 0; take(fresh);) {
        uint32_t length = 0, refuse_unknown = 0, record_bytes_max = 0, depth_max = 0;
        if (fresh != 0) {
            if (!take(length)) return 0;
            text.assign(length + 2 * MemoryModel::kBeatBytes, 0xa5);
            if (!take(text.data(), length)) return 0;
        }
        if (!take(refuse_unknown) || !take(record_bytes_max) || !take(depth_max)) return 0;
        model.take_back_all();
        model.lend(kText, text.data(), text.size(), false);
        driver.set_options(refuse_unknown != 0, record_bytes_max, depth_max);
        uint64_t bytes = 0;
        for (uint32_t p = 0; p < parsers; p++) {
            uint32_t begin = 0, size = 0;
            if (!take(begin) || !take(size)) return 0;
            if (uint64_t{begin} + size > text.size()) fail("was asked to read past the text");
            driver.set_input(p, kText + begin, size);
            bytes += size;
        }
        for (uint32_t b = 0; b < buffers; b++) {
            uint32_t capacity = 0;
            if (!take(capacity)) return 0;
            model.lend(buffer_address(b), memory[b].reserve(capacity), capacity, true);
            driver.set_buffer(b, buffer_address(b), capacity);
        }
        const uint64_t bursts = model.write_bursts();
        driver.start();
        // A timeout: every circuit takes more than a byte per hundred cycles.
        const uint64_t patience = model.cycles() + 100 * bytes + 1'000'000;
        for (uint32_t wait = 8; !driver.done(); wait = wait < 512 ? wait * 2 : wait) {
            for (uint32_t i = 0; i < wait; i++) model.tick();
            if (model.cycles() > patience) fail("hangs");
        }
        check(model);
        give(driver.error());
        give(driver.cycles());
        give(driver.starved());
        give(driver.blocked());
        give(model.write_bursts() - bursts);
        for (uint32_t p = 0; p < parsers; p++) {
            const auto answer = driver.answer(p);
            give(answer.fault);
            give(answer.position);
            give(answer.rows);
        }
        for (uint32_t b = 0; b < buffers; b++) {
            const uint64_t written = model.written(buffer_address(b));
            give(written);
            std::fwrite(memory[b].reserve(0), 1, written, stdout);
        }
        std::fflush(stdout);
    }
    return 0;
}
