// SPDX-License-Identifier: Apache-2.0
// A class hierarchy that was not designed for sending: several bases, strings, vectors, owned and
// shared objects, cycles, bit-fields, arrays, a class template. Nothing in it knows that it is
// sent.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace scene {

struct Point {
    double x = 0, y = 0;
};

enum class Blend : std::uint8_t { normal, multiply, screen };

class Group;

// What has a name.
class Named {
public:
    virtual ~Named() = default;
    virtual std::string describe() const = 0;
    const std::string &name() const { return m_name; }

protected:
    explicit Named(std::string name) : m_name(std::move(name)) {}

private:
    std::string m_name;
};

// What can be seen.
class Visible {
public:
    virtual ~Visible() = default;
    virtual double area() const = 0;
    virtual double opacity() const { return m_hidden ? 0.0 : m_opacity; }
    float m_opacity = 1.0F;

protected:
    Visible() : m_layer(0), m_hidden(false), m_depth(0) {}

private:
    std::uint16_t m_layer : 5;
    bool m_hidden : 1;
    std::int32_t m_depth : 7;

public:
    void place(unsigned layer, int depth, bool hidden);
    unsigned layer() const { return m_layer; }
    int depth() const { return m_depth; }
};

// What others watch; its second vtable pointer makes this-adjustment necessary.
class Shape : public Named, public Visible {
public:
    Group *parent = nullptr;  // a cycle: the parent owns this
    Blend blend = Blend::normal;
    mutable double m_area_cache = -1;  // arrowsmith: transient

protected:
    explicit Shape(std::string name) : Named(std::move(name)) {}
};

class Circle : public Shape {
public:
    Circle(std::string name, Point center, double radius);
    std::string describe() const override;
    double area() const override;

    Point center;
    double radius;
};

class Polygon final : public Shape {
public:
    explicit Polygon(std::string name) : Shape(std::move(name)) {}
    std::string describe() const override;
    double area() const override;

    std::vector<Point> corners;
    std::vector<std::string> tags;
    std::uint32_t dash[3] = {1, 2, 3};
};

// A template, and a class below another that is itself made.
template <typename T> class Dial : public Circle {
public:
    Dial(std::string name, T value) : Circle(std::move(name), Point{}, 1), value(value) {}
    std::string describe() const override { return Circle::describe() + " showing " + std::to_string(value); }

    T value;
    std::vector<std::vector<T>> history;
};

class Group : public Shape {
public:
    explicit Group(std::string name) : Shape(std::move(name)) {}
    std::string describe() const override;
    double area() const override;

    std::vector<std::unique_ptr<Shape>> members;
    Visible *largest = nullptr;   // shared: one of the members, by its second base
    Named *links[2] = {nullptr, nullptr};
};

// What a program starts from.
class Scene {
public:
    std::string title;
    std::unique_ptr<Group> root;
    std::vector<const Visible *> by_area;
    long revision = 0;
    bool draft = false;
    char code[4] = {};
};

}  // namespace scene
