// SPDX-License-Identifier: Apache-2.0
// Shared by every process that runs a circuit: numbers and bytes from standard input and to
// standard output, and a function that stops with the reason on standard error and status 3. The
// Rust module at the other end of the pipe documents the protocol.
#pragma once

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "as_memory_model.hpp"

namespace arrowsmith {

inline bool take(void* to, size_t bytes) { return std::fread(to, 1, bytes, stdin) == bytes; }

// False if the pipe was closed.
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

// Stops if the circuit violated AXI, or accessed memory that it was not lent.
inline void check(const MemoryModel& model) {
    model.keep_coverage();
    if (!model.breaches().empty()) fail(model.breaches().front());
    if (!model.stray().empty()) fail(model.stray());
}

}  // namespace arrowsmith
