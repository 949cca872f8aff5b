// SPDX-License-Identifier: Apache-2.0
// What a program keeps in containers: every one of the library that can be sent, with keys and
// elements of many kinds.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

enum class Color : std::uint8_t { red, green, blue };

// Ordered by the program.
struct Place {
    int row, shelf;
    bool operator<(const Place &other) const { return std::tie(shelf, row) < std::tie(other.shelf, other.row); }
};

class Product {
public:
    virtual ~Product() = default;
    virtual double total() const { return price; }
    std::string name;
    double price = 0;
};

class Bundle : public Product {
public:
    double total() const override;
    std::list<Product *> parts;
    std::map<std::string, std::unique_ptr<Product>> extras;
};

// Larger than a block of a deque.
struct Page {
    char text[600];
    std::set<int> words;
};

struct alignas(16) Wide {
    double at[2];
    bool operator==(const Wide &other) const { return at[0] == other.at[0] && at[1] == other.at[1]; }
};

struct Catalog {
    Catalog();
    ~Catalog();
    double total() const;

    std::map<std::string, std::unique_ptr<Product>> by_name;
    std::map<int, double, std::greater<int>> rates;
    std::map<std::pair<std::string, int>, std::vector<int>> stock;
    std::map<std::tuple<std::int16_t, std::string, Color>, bool> marks;
    std::map<std::uint8_t, Wide> wide;
    std::multimap<std::string_view, Product *> by_tag;
    std::set<Color> colors;
    std::set<std::string, std::less<>> words;
    std::multiset<double> prices;
    std::set<std::array<char, 3>> codes;
    std::set<Place> places; // arrowsmith: unchecked
    std::unordered_map<std::string, std::shared_ptr<Product>> index;
    std::unordered_map<std::int64_t, std::map<std::uint8_t, std::string>> nested;
    std::unordered_set<std::int32_t> numbers;
    std::unordered_set<long long> large;
    std::unordered_set<std::string_view> views;
    std::unordered_multiset<Color> votes;
    std::unordered_multimap<std::string, int> hits;
    std::deque<std::string> queue;
    std::deque<char> letters;
    std::deque<Page> pages;
    std::list<std::list<int>> lists;
    std::list<Wide> row;
    std::optional<std::map<int, int>> maybe;
    std::variant<int, std::set<std::int16_t>, std::deque<double>> any;
    std::vector<std::unordered_map<char, bool>> tables;
};
