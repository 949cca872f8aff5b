// SPDX-License-Identifier: Apache-2.0
// What every process that is a circuit needs: numbers and bytes from standard input and to standard output, and a way to stop that says
// why on standard error, with status 3. What they mean is said in the Rust module that speaks to the process.
#pragma once

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "as_memory_model.hpp"

namespace arrowsmith {

inline bool take(void* to, size_t bytes) { return std::fread(to, 1, bytes, stdin) == bytes; }

// False if the other side went away.
template <class T>
bool take(T& value) {
    return take(&value, sizeof value);
}

template <class T>
void give(const T& value) {
    std::fwrite(&value, sizeof value, 1, stdout);
}

[[noreturn]] inline void fail(const std::string& why) {
    std::fprintf(stderr, "circuit: %s\n", why.c_str());
    std::exit(3);
}

// Stops if the circuit broke a rule of AXI, or used memory that it was not lent.
inline void check(const MemoryModel& model) {
    model.keep_coverage();
    if (!model.breaches().empty()) fail(model.breaches().front());
    if (!model.stray().empty()) fail(model.stray());
}

}  // namespace arrowsmith
