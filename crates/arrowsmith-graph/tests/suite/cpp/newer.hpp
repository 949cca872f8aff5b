// SPDX-License-Identifier: Apache-2.0
// The classes of `older.hpp`, with members added, removed, widened and in another order.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

enum class Grade : std::uint8_t { low, high };
enum Level { first = 3, last = 5 };

struct Item {
    std::string name;
    std::vector<int> added;
    long long id;
    double weight;
};

struct Added {
    virtual ~Added() = default;
    int value = 0;
};

struct Node {
    virtual ~Node() = default;
    std::set<std::string> words;
    Grade grade = Grade::low;
    std::uint32_t count = 0;
    std::list<Item> items;
    std::unordered_map<int, Item> by_id;
    Node *next = nullptr;
    Node *other = nullptr;
    Added *added = nullptr;
    std::optional<long long> maybe;
    std::variant<std::string, double, int> any;
    std::variant<short, std::string> some;
    std::int32_t large = 0;
    std::string note;
    Level level = first; // arrowsmith: range 3..5
};

struct Leaf : Node {
    int leaf = 0;
    double more = 0;
};
