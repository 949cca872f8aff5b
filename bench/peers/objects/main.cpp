// SPDX-License-Identifier: Apache-2.0
// Times the linked contestants: `run ROUNDS MILLISECONDS N...`. All take turns in one process,
// round by round; prints a line of JSON for each contestant and size with the nanoseconds per
// message of every round. A wrong value makes `valid` false.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "codec.hpp"

namespace {

using Clock = std::chrono::steady_clock;

double seconds(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

// Nanoseconds per message, measured for approximately this long.
double time(bench::Codec &codec, bool use, double span_s, unsigned &times) {
    for (;;) {
        const auto begin = Clock::now();
        int value = 0;
        if (use) {
            codec.use(times, value);
        } else {
            codec.decode(times);
        }
        const double took = seconds(begin);
        if (took >= span_s / 2) return took * 1e9 / times;
        times = took <= 0 ? times * 16 : static_cast<unsigned>(times * std::min(16.0, 1.1 * span_s / took) + 1);
    }
}

void print(const char *name, const std::vector<double> &values) {
    std::printf(",\"%s\":[", name);
    for (std::size_t i = 0; i < values.size(); i++) std::printf("%s%.2f", i ? "," : "", values[i]);
    std::printf("]");
}

}  // namespace

int main(int argc, char **argv) {
    if (argc < 4) {
        std::fprintf(stderr, "usage: run ROUNDS MILLISECONDS N...\n");
        return 2;
    }
    const int rounds = std::atoi(argv[1]);
    const double span_s = std::atof(argv[2]) / 1e3;
    for (int a = 3; a < argc; a++) {
        const int operations = std::atoi(argv[a]);
        auto &codecs = bench::codecs();
        std::vector<std::vector<double>> decode(codecs.size()), use(codecs.size());
        std::vector<bool> valid(codecs.size());
        std::vector<unsigned> times(codecs.size(), 16), use_times(codecs.size(), 16);
        for (std::size_t c = 0; c < codecs.size(); c++) {
            codecs[c]->encode(operations);
            int value = 0;
            valid[c] = codecs[c]->use(3, value) && value == bench::expected(operations);
            time(*codecs[c], false, span_s, times[c]);
            time(*codecs[c], true, span_s, use_times[c]);
        }
        for (int round = 0; round < rounds; round++) {
            for (std::size_t c = 0; c < codecs.size(); c++) {
                decode[c].push_back(time(*codecs[c], false, span_s, times[c]));
                use[c].push_back(time(*codecs[c], true, span_s, use_times[c]));
            }
        }
        for (std::size_t c = 0; c < codecs.size(); c++) {
            std::printf("{\"operations\":%d,\"codec\":\"%s\",\"yields\":\"%s\",\"bytes\":%zu,\"valid\":%s", operations,
                        codecs[c]->name(), codecs[c]->yields(), codecs[c]->bytes(), valid[c] ? "true" : "false");
            print("decode_ns", decode[c]);
            print("use_ns", use[c]);
            std::printf("}\n");
        }
        std::fflush(stdout);
    }
    return 0;
}
