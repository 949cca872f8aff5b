// SPDX-License-Identifier: Apache-2.0
// The paper's software reader (MSR-TR-2009-126, Sect. 5.1), written by hand as it is there: one
// allocation per object, a virtual read() per class, dynamic_cast for every reference. The baseline
// of the measurements. It has no region; what it refuses, and where, is
// docs/design/0004-object-graphs.md as for the others.
#pragma once

#include <arrowsmith/graph.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

namespace baseline {

using arrowsmith::graph::Code;
using arrowsmith::graph::Status;

class Serializer;

class Object {
public:
    virtual ~Object() = default;
    // Reads the members at `pos`; says what is wrong with them.
    virtual Status read(const std::uint8_t *buffer, std::size_t size, std::size_t *pos, const Serializer *s) = 0;
};

class Serializer {
public:
    // Makes the objects of a message; the first is the root.
    Status read(const std::uint8_t *buffer, std::size_t size) {
        objects_.clear();
        std::size_t pos = 0;
        if (size < 4) return {Code::truncated, 0};
        std::uint32_t count;
        std::memcpy(&count, buffer, 4);
        if (count == 0) return {Code::no_objects, 0};
        if (count > 1U << 24) return {Code::too_many_objects, 0};
        pos = 4;
        for (std::uint32_t i = 0; i < count; ++i) {
            if (size - pos < 4) return {Code::truncated, pos};
            std::uint32_t type;
            std::memcpy(&type, buffer + pos, 4);
            Object *object = make(type);
            if (object == nullptr) return {Code::unknown_type, pos};
            objects_.emplace_back(object);
            pos += 4;
        }
        for (const auto &object : objects_) {
            const Status status = object->read(buffer, size, &pos, this);
            if (!status.ok()) return status;
        }
        if (pos != size) return {Code::trailing_bytes, pos};
        return {};
    }

    Object *object(std::uint32_t id) const { return objects_[id].get(); }
    std::size_t size() const { return objects_.size(); }

private:
    static Object *make(std::uint32_t type);

    std::vector<std::unique_ptr<Object>> objects_;
};

class Node : public Object {
public:
    virtual int evaluate() const = 0;

protected:
    static Status reference(const std::uint8_t *buffer, std::size_t size, std::size_t *pos, const Serializer *s, Node **to) {
        if (size - *pos < 4) return {Code::truncated, *pos};
        std::uint32_t id;
        std::memcpy(&id, buffer + *pos, 4);
        *to = nullptr;
        if (id != arrowsmith::graph::null_id) {
            if (id >= s->size()) return {Code::id_out_of_range, *pos};
            *to = dynamic_cast<Node *>(s->object(id));
            if (*to == nullptr) return {Code::wrong_type, *pos};
        }
        *pos += 4;
        return {};
    }

    Node *m_left = nullptr;
    Node *m_right = nullptr;
};

class Literal : public Node {
public:
    int evaluate() const override { return m_value; }

    Status read(const std::uint8_t *buffer, std::size_t size, std::size_t *pos, const Serializer *) override {
        if (size - *pos < 4) return {Code::truncated, *pos};
        std::memcpy(&m_value, buffer + *pos, 4);
        *pos += 4;
        return {};
    }

private:
    int m_value = 0;
};

class Operation : public Node {
public:
    int evaluate() const override {
        const int a = m_left ? m_left->evaluate() : 0, b = m_right ? m_right->evaluate() : 0;
        const unsigned x = static_cast<unsigned>(a), y = static_cast<unsigned>(b);
        switch (m_eType) {
        case 0: return static_cast<int>(x + y);
        case 1: return static_cast<int>(x - y);
        case 2: return static_cast<int>(x * y);
        default: return b == 0 ? 0 : b == -1 ? static_cast<int>(0 - x) : a / b;
        }
    }

    Status read(const std::uint8_t *buffer, std::size_t size, std::size_t *pos, const Serializer *s) override {
        Status status = reference(buffer, size, pos, s, &m_left);
        if (status.ok()) status = reference(buffer, size, pos, s, &m_right);
        if (!status.ok()) return status;
        if (size - *pos < 1) return {Code::truncated, *pos};
        if (buffer[*pos] > 3) return {Code::value_out_of_range, *pos};
        m_eType = buffer[*pos];
        *pos += 1;
        return {};
    }

private:
    int m_eType = 0;
};

inline Object *Serializer::make(std::uint32_t type) {
    switch (type) {
    case 0: return new Literal;
    case 1: return new Operation;
    default: return nullptr;
    }
}

}  // namespace baseline
