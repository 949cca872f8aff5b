// SPDX-License-Identifier: Apache-2.0
// The functions of scene.hpp. Compiled with -g, its object file is what the layout is read from.
#include "scene.hpp"

namespace scene {

void Visible::place(unsigned layer, int depth, bool hidden) {
    m_layer = layer & 31U;
    m_depth = depth;
    m_hidden = hidden;
}

Circle::Circle(std::string name, Point center, double radius)
    : Shape(std::move(name)), center(center), radius(radius) {}

std::string Circle::describe() const { return "circle " + name(); }

double Circle::area() const { return 3.0 * radius * radius; }

std::string Polygon::describe() const {
    std::string text = "polygon " + name() + " of " + std::to_string(corners.size());
    for (const auto &tag : tags) text += " #" + tag;
    return text;
}

double Polygon::area() const {
    double twice = 0;
    for (std::size_t i = 0; i < corners.size(); ++i) {
        const Point &a = corners[i], &b = corners[(i + 1) % corners.size()];
        twice += a.x * b.y - b.x * a.y;
    }
    return twice / 2;
}

std::string Group::describe() const {
    std::string text = "group " + name() + " (";
    for (const auto &member : members) text += (member ? member->describe() : "nothing") + "; ";
    return text + ")";
}

double Group::area() const {
    double sum = 0;
    for (const auto &member : members) sum += member ? member->area() : 0;
    return sum;
}

// The instances of Dial that this program uses, and an object of the root class: debug information
// only has what is used.
template class Dial<double>;
template class Dial<int>;

const Scene &empty_scene() {
    static const Scene scene;
    return scene;
}

}  // namespace scene
