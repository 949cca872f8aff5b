// SPDX-License-Identifier: Apache-2.0
// A class with the name of a function of the C library, in a header with that of another.
#pragma once

#include <ctime>
#include <memory>
#include <strings.h>

struct index {
    struct index *next;
    std::time_t at;
};
