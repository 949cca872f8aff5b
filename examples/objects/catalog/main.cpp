// SPDX-License-Identifier: Apache-2.0
// Containers of every kind: written, read back, searched and compared; then attacked. Arguments:
// how many hostile messages [20000], and a file to write them to.
#include "catalog.hpp"
#include "catalogs.hpp"

#include "../common/attack.hpp"

#include <cstdio>

using attack::Bytes;
using attack::check;

namespace {

// Filled to `size` elements each, where that is possible.
std::unique_ptr<Catalog> make(int size) {
    auto made = std::make_unique<Catalog>();
    Catalog &c = *made;
    Product *last = nullptr;
    for (int i = 0; i < size; ++i) {
        const std::string name = (i % 2 == 0 ? "a product with a long name, number " : "p") + std::to_string(i * 37 % 101);
        std::unique_ptr<Product> product;
        if (i % 5 == 4) {
            auto bundle = std::make_unique<Bundle>();
            bundle->parts = {last, last};
            bundle->extras["card"] = std::make_unique<Product>();
            bundle->extras["card"]->price = 2;
            product = std::move(bundle);
        } else {
            product = std::make_unique<Product>();
        }
        product->name = name;
        product->price = i + 0.5;
        last = product.get();
        c.by_name[name] = std::move(product);
        c.rates[(i * 7919) % 1000 - 500] = i;
        c.stock[{name, -i}] = std::vector<int>(static_cast<std::size_t>(i % 4), i);
        c.marks[{static_cast<std::int16_t>(i % 3 - 1), name, static_cast<Color>(i % 3)}] = i % 2 == 0;
        c.wide[static_cast<std::uint8_t>(200 - i)] = {{1.0 * i, 2.0}};
        c.by_tag.emplace(i % 2 == 0 ? "even" : "odd", last);
        c.colors.insert(static_cast<Color>(i % 3));
        c.words.insert(name);
        c.prices.insert(i % 4 - 1.5);
        c.codes.insert({static_cast<char>('a' + i % 3), static_cast<char>(i), 'z'});
        c.places.insert({i % 4, i});
        auto shared = std::make_shared<Product>();
        shared->price = i;
        c.index[name] = shared;
        c.index["again " + name] = shared;
        c.nested[std::int64_t{-1} - i * 1000003LL] = {{1, "one"}, {static_cast<std::uint8_t>(2 + i), name}};
        c.numbers.insert(i * 96 - 5);
        c.large.insert(i * -1234567890123LL);
        c.views.insert(i % 2 == 0 ? "a view of text that is long enough" : "v");
        c.votes.insert(static_cast<Color>(i * i % 3));
        c.hits.emplace(i % 3 == 0 ? "third" : "other", i);
        c.queue.push_front(name);
        for (int k = 0; k < 30; ++k) c.letters.push_back(static_cast<char>(k + i));
        Page page{};
        page.text[0] = 'x';
        page.words = {i, i + 1, 7};
        if (i < 3) c.pages.push_back(page);
        c.lists.push_back(std::list<int>(static_cast<std::size_t>(i % 3), i));
        c.row.push_back({{0.25 * i, -1}});
        c.tables.push_back({{'a', true}, {static_cast<char>(i), false}});
    }
    if (size > 0) {
        c.maybe = {{size, 1}, {-size, 2}};
        if (size % 2 == 0) c.any = std::set<std::int16_t>{3, 1, 2};
        else c.any = std::deque<double>(200, 0.5);
    }
    return made;
}

// Every key is found, which it is not if the links are not those of the library.
template <typename Map> void search(const Map &map) {
    std::size_t count = 0;
    for (const auto &element : map) {
        ++count;
        if constexpr (std::is_same_v<typename Map::value_type, typename Map::key_type>) {
            check(map.find(element) != map.end() && map.count(element) > 0, "an element is found");
        } else {
            check(map.find(element.first) != map.end() && map.count(element.first) > 0, "a key is found");
        }
    }
    check(count == map.size(), "as many elements as the size says");
}

template <typename Sequence> void count(const Sequence &sequence) {
    std::size_t forward = 0, backward = 0;
    for (auto at = sequence.begin(); at != sequence.end(); ++at) ++forward;
    for (auto at = sequence.rbegin(); at != sequence.rend(); ++at) ++backward;
    check(forward == sequence.size() && backward == forward, "as many elements as the size says, both ways");
}

void search_all(const Catalog &c) {
    search(c.by_name), search(c.rates), search(c.stock), search(c.marks), search(c.wide), search(c.by_tag);
    search(c.colors), search(c.words), search(c.codes), search(c.index), search(c.nested);
    search(c.numbers), search(c.large), search(c.views), search(c.votes), search(c.hits);
    for (const auto &[key, inner] : c.nested) search(inner);
    for (const auto &table : c.tables) search(table);
    for (const auto &page : c.pages) search(page.words);
    if (c.maybe) search(*c.maybe);
    if (const auto *set = std::get_if<std::set<std::int16_t>>(&c.any)) search(*set);
    if (const auto *queue = std::get_if<std::deque<double>>(&c.any)) count(*queue);
    count(c.prices), count(c.places), count(c.queue), count(c.letters), count(c.pages), count(c.lists), count(c.row);
    for (std::size_t i = 0; i < c.letters.size(); ++i) check(&c.letters[i] == &*(c.letters.begin() + static_cast<std::ptrdiff_t>(i)), "elements by number");
}

template <typename Pointers> std::vector<double> totals(const Pointers &of) {
    std::vector<double> found;
    for (const auto &[key, product] : of) found.push_back(product->total());
    return found;
}

void same(const Catalog &a, const Catalog &b) {
    check(totals(a.by_name) == totals(b.by_name) && a.total() == b.total(), "a map of owned objects");
    check(totals(a.by_tag) == totals(b.by_tag), "a multimap of pointers");
    check(a.rates == b.rates && a.stock == b.stock && a.marks == b.marks && a.wide == b.wide, "maps");
    check(a.colors == b.colors && a.words == b.words && a.prices == b.prices && a.codes == b.codes, "sets");
    check(a.index.size() == b.index.size() && a.nested == b.nested, "maps by hash");
    for (const auto &[name, product] : a.index) check(b.index.at(name)->price == product->price, "what a hash finds");
    for (const auto &[name, product] : b.index) {
        if (name.compare(0, 6, "again ") == 0) check(b.index.at(name.substr(6)) == product, "what is shared stays shared");
    }
    check(a.numbers == b.numbers && a.large == b.large && a.views == b.views, "sets by hash");
    check(a.votes == b.votes && a.hits == b.hits, "sets by hash, with equal keys");
    check(a.queue == b.queue && a.letters == b.letters && a.lists == b.lists && a.row == b.row, "deques and lists");
    check(a.pages.size() == b.pages.size(), "a deque of large elements");
    for (std::size_t i = 0; i < a.pages.size(); ++i) check(a.pages[i].words == b.pages[i].words && b.pages[i].text[0] == 'x', "a large element");
    check(a.maybe == b.maybe && a.any == b.any && a.tables == b.tables, "containers in others");
    check(a.places.size() == b.places.size(), "the program's own order");
    for (const Place &place : a.places) check(b.places.count(place) == 1, "an element in the program's own order");
}

// Nodes of the program between those of the region, and away again: the tree is balanced as the
// library does it.
void rebalance(std::map<int, double, std::greater<int>> &map) {
    const auto before = map;
    for (int i = 0; i < 300; ++i) map.emplace(100000 + i * 7919 % 1000, i);
    for (int i = 0; i < 300; ++i) map.erase(100000 + i * 7919 % 1000);
    check(map == before, "a tree that grows and shrinks");
}

}  // namespace

int main(int argc, char **argv) {
    const std::size_t messages = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 20000;
    constexpr std::size_t capacity = 1 << 18;
    std::vector<Bytes> good;
    auto *memory = std::aligned_alloc(64, capacity);
    for (const int size : {0, 1, 2, 3, 4, 7, 8, 15, 16, 17, 35, 70}) {
        const auto made = make(size);
        Bytes message, again;
        check(catalogs::write(made.get(), message).ok(), "the catalog is written");
        Catalog *root = nullptr;
        std::uint64_t needed = 0;
        check(catalogs::region_bytes(message.data(), message.size(), needed).ok() && needed <= capacity, "it is measured");
        const auto room = static_cast<std::size_t>(needed);
        check(catalogs::read(message.data(), message.size(), {memory, room}, root).ok(), "the catalog is read");
        search_all(*root);
        same(*made, *root);
        check(catalogs::write(root, again).ok() && again == message, "what was read is written as it was");
        rebalance(root->rates);
        const auto less = catalogs::read(message.data(), message.size(), {memory, room - 1}, root);
        check(less.code == arrowsmith::graph::Code::region_too_small, "it needs no less");
        if (size <= 17) good.push_back(message);
    }
    std::free(memory);
    const auto outcome = [](arrowsmith::graph::Status status, Catalog *root) {
        return attack::Outcome{status, reinterpret_cast<std::uintptr_t>(root)};
    };
    const auto fast = [&](const Bytes &message, const attack::Region &region) {
        Catalog *root = nullptr;
        const auto status = catalogs::read(message.data(), message.size(), region, root);
        return outcome(status, root);
    };
    const auto tables = [&](const Bytes &message, const attack::Region &region) {
        Catalog *root = nullptr;
        const auto status = catalogs::read_by_tables(message.data(), message.size(), region, root);
        return outcome(status, root);
    };
    const auto use = [](std::uint64_t root) {
        Bytes again;
        const auto &catalog = *reinterpret_cast<const Catalog *>(static_cast<std::uintptr_t>(root));
        search_all(catalog);
        check(catalogs::write(&catalog, again).ok(), "what was taken can be used");
    };
    attack::run(catalogs::layout(), good, messages, 1 << 16, fast, tables, nullptr, use, argc > 2 ? argv[2] : nullptr);
    return 0;
}
