// SPDX-License-Identifier: Apache-2.0
// A process that is a JSON circuit: texts on standard input, buffers on standard output, in the form of json/process.rs.
//
// Arguments: read latency, write latency, per cent of stalls, seed, thousandths of a byte a cycle for reads and for writes. A breach of
// AXI, a stray access or a circuit that hangs ends the process with a line on standard error and status 3; the other side
// going away ends it quietly.
#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "as_json_driver.hpp"
#include "as_json_model.hpp"

namespace {

bool take(void* to, size_t bytes) { return std::fread(to, 1, bytes, stdin) == bytes; }

template <class T>
bool take(T& value) {
    return take(&value, sizeof value);
}

template <class T>
void give(const T& value) {
    std::fwrite(&value, sizeof value, 1, stdout);
}

[[noreturn]] void fail(const std::string& why) {
    std::fprintf(stderr, "circuit: %s\n", why.c_str());
    std::exit(3);
}

// Memory that is taken as it is written.
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

void check(const arrowsmith::JsonModel& model) {
    if (!model.breaches().empty()) fail(model.breaches().front());
    if (!model.stray().empty()) fail(model.stray());
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 7) {
        std::fprintf(stderr, "usage: serve READ_LATENCY WRITE_LATENCY STALL_PERCENT SEED READ_MILLIBYTES WRITE_MILLIBYTES\n");
        return 2;
    }
    const auto number = [&](int at) { return std::strtoull(argv[at], nullptr, 10); };
    const auto small = [&](int at) { return static_cast<uint32_t>(number(at)); };
    arrowsmith::JsonModel model({small(1), small(2), small(3), number(4), small(5), small(6)});
    arrowsmith::JsonDriver driver(model);

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
            text.assign(length + 2 * arrowsmith::JsonModel::kBeatBytes, 0xa5);
            if (!take(text.data(), length)) return 0;
        }
        if (!take(refuse_unknown) || !take(record_bytes_max) || !take(depth_max)) return 0;
        model.lend(1, text.data(), text.size(), false);
        driver.set_options(refuse_unknown != 0, record_bytes_max, depth_max);
        uint64_t bytes = 0;
        for (uint32_t p = 0; p < parsers; p++) {
            uint32_t begin = 0, size = 0;
            if (!take(begin) || !take(size)) return 0;
            if (uint64_t{begin} + size > text.size()) fail("was asked to read what is not there");
            driver.set_input(p, model.address(1) + begin, size);
            bytes += size;
        }
        for (uint32_t b = 0; b < buffers; b++) {
            uint32_t capacity = 0;
            if (!take(capacity)) return 0;
            model.lend(2 + b, memory[b].reserve(capacity), capacity, true);
            driver.set_buffer(b, model.address(2 + b), capacity);
        }
        driver.start();
        // A byte a hundred cycles is slower than anything.
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
        for (uint32_t p = 0; p < parsers; p++) {
            const auto answer = driver.answer(p);
            give(answer.fault);
            give(answer.position);
            give(answer.rows);
        }
        for (uint32_t b = 0; b < buffers; b++) {
            const uint64_t written = model.written(2 + b);
            give(written);
            std::fwrite(memory[b].reserve(0), 1, written, stdout);
        }
        std::fflush(stdout);
    }
    return 0;
}
