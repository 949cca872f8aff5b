// SPDX-License-Identifier: Apache-2.0
// The expression tree of MSR-TR-2009-126 (Fig. 2) as plain C++ classes: nothing in them knows that
// they are sent. The comments that begin with "arrowsmith:" say what a compiler does not:
// docs/guide/objects.md.
#pragma once

class Object {
public:
    virtual ~Object() = default;
};

class Node : public Object {
public:
    virtual int evaluate() const = 0;

protected:
    Node() : m_left(nullptr), m_right(nullptr) {}
    Node(Node *left, Node *right) : m_left(left), m_right(right) {}
    const Node *left() const { return m_left; }
    const Node *right() const { return m_right; }

private:
    Node *m_left;
    Node *m_right;
};

// arrowsmith: type 0; transient m_left m_right
class Literal : public Node {
public:
    explicit Literal(int value) : m_value(value) {}
    int evaluate() const override;

private:
    int m_value;
};

// arrowsmith: type 1
class Operation : public Node {
public:
    enum OperationType { eAddition, eSubtraction, eMultiplication, eDivision };

    Operation(OperationType type, Node *left, Node *right) : Node(left, right), m_eType(type) {}
    int evaluate() const override;

private:
    OperationType m_eType;  // arrowsmith: wire 1
};
