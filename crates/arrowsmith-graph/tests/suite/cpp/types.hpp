// SPDX-License-Identifier: Apache-2.0
// The types of the standard library that people use in their classes.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

struct Point {
    double x, y;
};

struct Name {
    char text[9];
};

struct Leaf : std::enable_shared_from_this<Leaf> {
    virtual ~Leaf() = default;
    int value = 0;
    std::optional<std::string> label;
};

struct Big : Leaf {
    std::vector<std::optional<std::int16_t>> gaps;
};

// Any value of the type that is written.
enum Flags : std::uint8_t { first = 1, second = 2 };

struct Types {
    Flags flags;
    std::optional<int> count;
    std::optional<std::string> name;
    std::optional<Point> at;
    std::optional<Leaf *> leaf;
    std::optional<std::optional<bool>> nested;
    std::variant<std::monostate, std::int64_t, Name, std::string, std::shared_ptr<Leaf>, Point> any;
    std::vector<std::variant<bool, std::string_view>> words;
    std::shared_ptr<Leaf> a, b;
    std::string_view view;
    std::tuple<char, std::string, float> tuple;
    std::pair<std::uint8_t, std::optional<double>> pair;
    std::array<Point, 2> corners;
    std::chrono::nanoseconds elapsed;
    std::chrono::system_clock::time_point since;
};
