// SPDX-License-Identifier: Apache-2.0
// What the emulation tells a counter of work (`count.cpp`), if it is compiled with one.
#ifndef ARROWSMITH_COUNT_H
#define ARROWSMITH_COUNT_H

#ifdef ARROWSMITH_COUNT
// A launch begins; a warp of a block runs until it waits for others, or ends; a thread of it runs.
extern "C" void count_launch(const char *kernel, unsigned long long grid);
extern "C" void count_lane(unsigned int thread);
extern "C" void count_pause();
extern "C" void count_phase(unsigned int warp);
extern "C" void count_block();
extern "C" void count_stacks(const void *at, unsigned long long bytes);
// Whether an address is in device memory.
extern "C" int count_is_global(unsigned long long at);
const bool COUNTED = true;
// The emulation's own code, which is not work of a kernel.
#define UNCOUNTED __attribute__((no_sanitize_coverage))
#else
inline void count_launch(const char *, unsigned long long) {}
inline void count_lane(unsigned int) {}
inline void count_pause() {}
inline void count_phase(unsigned int) {}
inline void count_block() {}
inline void count_stacks(const void *, unsigned long long) {}
const bool COUNTED = false;
#define UNCOUNTED
#endif

#endif
