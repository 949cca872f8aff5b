// SPDX-License-Identifier: Apache-2.0
// Classes of a program, and `newer.hpp` a year later.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

enum class Grade : std::uint8_t { low, high };

struct Item {
    int id;
    float weight;
    std::string name;
    short removed[2];
};

struct Node {
    virtual ~Node() = default;
    std::uint16_t count = 0;
    std::vector<Item> items;
    std::vector<std::string> removed;
    std::map<int, Item> by_id;
    Node *next = nullptr;
    std::optional<int> maybe;
    std::variant<int, std::string> any;
    std::int64_t large = 0;
    Grade grade = Grade::low;
};

struct Leaf : Node {
    int leaf = 0;
};
