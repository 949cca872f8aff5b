// SPDX-License-Identifier: Apache-2.0
// The software of the paper (Sect. 5.1), rewritten from its text: a virtual `read` per class,
// `dynamic_cast` for each reference, one allocation per object. It trusts its input, as the paper's
// does.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

namespace paper {

class Serializer;

class Object {
public:
    virtual ~Object() = default;
    virtual void read(const char *buffer, int *pos, const Serializer *s) = 0;
};

class Node : public Object {
public:
    virtual int evaluate() const = 0;

protected:
    Node *m_left = nullptr;
    Node *m_right = nullptr;
};

class Literal : public Node {
public:
    int evaluate() const override { return m_value; }
    void read(const char *buffer, int *pos, const Serializer *s) override;

private:
    int m_value = 0;
};

class Operation : public Node {
public:
    enum OperationType { eAddition, eSubtraction, eMultiplication, eDivision };
    int evaluate() const override;
    void read(const char *buffer, int *pos, const Serializer *s) override;

private:
    OperationType m_eType = eAddition;
};

// Makes the objects of a message; the first is the root.
class Serializer {
public:
    Node *deserialize(const char *buffer);
    void release();
    Object *getObject(int id) const { return objects_[static_cast<std::size_t>(id)]; }

private:
    std::vector<Object *> objects_;
};

}  // namespace paper
