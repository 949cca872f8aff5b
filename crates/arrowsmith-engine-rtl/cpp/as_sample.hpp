// SPDX-License-Identifier: Apache-2.0
// The sample of a generated circuit and the buffers that are expected of it: for the bench and for
// the programs that try a board.
//
// expected.txt has for each input a line with its bytes of the sample and its rows, followed by a
// line for each of its buffers: the expected first bytes, in hexadecimal.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace arrowsmith {

// The part of the sample for one input.
struct Part {
    uint32_t bytes = 0;
    uint32_t rows = 0;
    std::vector<std::vector<uint8_t>> buffers;
};

[[noreturn]] inline void fail(const std::string& what) {
    std::printf("FAIL: %s\n", what.c_str());
    std::exit(1);
}

inline std::string read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) fail("cannot read " + path);
    return std::string((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
}

inline std::vector<uint8_t> bytes_of(const std::string& hex) {
    std::vector<uint8_t> bytes;
    for (size_t i = 0; i + 1 < hex.size(); i += 2) bytes.push_back(static_cast<uint8_t>(std::stoul(hex.substr(i, 2), nullptr, 16)));
    return bytes;
}

// `buffers` has the number of buffers of each input.
inline std::vector<Part> read_parts(const std::string& path, const std::vector<uint32_t>& buffers) {
    std::ifstream file(path);
    std::vector<Part> parts;
    for (Part part; parts.size() < buffers.size() && file >> part.bytes >> part.rows; parts.push_back(part)) {
        std::string line;
        std::getline(file, line);
        part.buffers.clear();
        for (uint32_t b = 0; b < buffers[parts.size()]; b++) {
            if (!std::getline(file, line)) fail(path + " is cut");
            part.buffers.push_back(bytes_of(line));
        }
    }
    if (parts.size() != buffers.size()) fail(path + " is not of this circuit");
    return parts;
}

}  // namespace arrowsmith
