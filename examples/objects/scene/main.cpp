// SPDX-License-Identifier: Apache-2.0
// A hierarchy that was not designed for it: written, read back, used through virtual functions of
// both bases; then attacked. Arguments: how many hostile messages [20000], and a file to write them
// to.
#include "scene.hpp"
#include "scenes.hpp"

#include "../common/attack.hpp"

#include <cstdio>

using attack::Bytes;
using attack::check;
using namespace scene;

namespace {

std::unique_ptr<Scene> make(int extra) {
    auto made = std::make_unique<Scene>();
    made->title = "a title that is too long for the string itself";
    made->revision = -7;
    made->draft = true;
    std::memcpy(made->code, "abcd", 4);
    made->root = std::make_unique<Group>("root");
    Group &root = *made->root;
    auto circle = std::make_unique<Circle>("c", Point{1, 2}, 3);
    circle->parent = &root;
    circle->place(17, -42, true);
    circle->m_opacity = 0.25F;
    circle->blend = Blend::screen;
    auto polygon = std::make_unique<Polygon>("a polygon with a name that is long");
    polygon->parent = &root;
    polygon->corners = {{0, 0}, {4, 0}, {4, 5}};
    polygon->tags = {"", "short", "a tag that does not fit in sixteen bytes"};
    polygon->dash[1] = 99;
    auto dial = std::make_unique<Dial<int>>("dial", 40);
    dial->history = {{1, 2, 3}, {}, {4}};
    auto gauge = std::make_unique<Dial<double>>("gauge", 2.5);
    gauge->history = {{0.5}};
    auto group = std::make_unique<Group>("inner");
    group->parent = &root;
    group->links[0] = &root;
    group->links[1] = polygon.get();
    for (int i = 0; i < extra; ++i) {
        group->members.push_back(std::make_unique<Circle>("extra " + std::to_string(i), Point{double(i), 0}, i));
        group->members.back()->parent = group.get();
    }
    group->members.push_back(nullptr);
    root.largest = circle.get();
    made->by_area = {circle.get(), polygon.get(), dial.get(), circle.get()};
    root.members.push_back(std::move(circle));
    root.members.push_back(std::move(polygon));
    root.members.push_back(std::move(dial));
    root.members.push_back(std::move(gauge));
    root.members.push_back(std::move(group));
    return made;
}

void same(const Scene &a, const Scene &b) {
    check(a.title == b.title && a.revision == b.revision && a.draft == b.draft, "the scene's own members");
    check(std::memcmp(a.code, b.code, 4) == 0, "an array of characters");
    check(a.root->describe() == b.root->describe(), "every virtual describe()");
    check(a.root->area() == b.root->area(), "every virtual area()");
    check(b.root->largest->area() == 27, "a call through the second base");
    check(b.by_area.size() == 4 && b.by_area[0] == b.by_area[3] && b.by_area[0] == b.root->largest, "shared objects stay shared");
    const Shape &circle = *b.root->members[0];
    check(dynamic_cast<const Circle *>(b.root->largest) == &circle, "dynamic_cast finds the whole object");
    check(circle.parent == b.root.get(), "a cycle is a cycle");
    check(circle.layer() == 17 && circle.depth() == -42 && circle.opacity() == 0, "bit-fields");
    check(circle.m_opacity == 0.25F && circle.blend == Blend::screen, "a float and an enumeration");
    check(circle.m_area_cache == 0, "what is transient is zero");
    const auto &polygon = dynamic_cast<const Polygon &>(*b.root->members[1]);
    check(polygon.corners.size() == 3 && polygon.corners[2].y == 5 && polygon.dash[1] == 99, "vectors of structs, arrays");
    check(polygon.tags[2].capacity() >= polygon.tags[2].size() && polygon.tags[1] == "short", "vectors of strings");
    const auto &dial = dynamic_cast<const Dial<int> &>(*b.root->members[2]);
    check(dial.value == 40 && dial.history.size() == 3 && dial.history[0][2] == 3 && dial.history[1].empty(), "vectors of vectors");
    const auto &group = dynamic_cast<const Group &>(*b.root->members[4]);
    check(group.links[0] == b.root.get() && group.links[1] == &polygon, "an array of pointers");
}

}  // namespace

int main(int argc, char **argv) {
    const std::size_t count = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 20000;
    constexpr std::size_t capacity = 32768;
    std::vector<Bytes> good;
    auto *memory = std::aligned_alloc(64, capacity);
    for (const int extra : {0, 1, 3, 20}) {
        const auto made = make(extra);
        Bytes message, again;
        check(scenes::write(made.get(), message).ok(), "the scene is written");
        Scene *root = nullptr;
        const auto status = scenes::read(message.data(), message.size(), {memory, capacity}, root);
        check(status.ok(), "the scene is read");
        same(*made, *root);
        check(scenes::write(root, again).ok() && again == message, "what was read is written as it was");
        good.push_back(message);
    }
    std::printf("%s\n", make(1)->root->describe().c_str());
    std::free(memory);
    const auto outcome = [](arrowsmith::graph::Status status, Scene *root) {
        return attack::Outcome{status, reinterpret_cast<std::uintptr_t>(root)};
    };
    const auto fast = [&](const Bytes &message, const attack::Region &region) {
        Scene *root = nullptr;
        const auto status = scenes::read(message.data(), message.size(), region, root);
        return outcome(status, root);
    };
    const auto tables = [&](const Bytes &message, const attack::Region &region) {
        Scene *root = nullptr;
        const auto status = scenes::read_by_tables(message.data(), message.size(), region, root);
        return outcome(status, root);
    };
    const auto use = [](std::uint64_t root) {
        Bytes again;
        check(scenes::write(reinterpret_cast<Scene *>(static_cast<std::uintptr_t>(root)), again).ok(), "what was taken can be used");
    };
    attack::run(scenes::layout(), good, count, capacity, fast, tables, nullptr, use, argc > 2 ? argv[2] : nullptr);
    return 0;
}
