// SPDX-License-Identifier: Apache-2.0
// Trees for tests and measurements: n operations, n + 1 literals, as in the paper's Fig. 18.
#pragma once

#include "expression.hpp"

#include <deque>
#include <memory>
#include <vector>

// Owns the nodes of a tree; the plain classes do not.
class Tree {
public:
    Node *literal(int value) { return own(new Literal(value)); }
    Node *operation(Operation::OperationType type, Node *left, Node *right) { return own(new Operation(type, left, right)); }

    // Each operation has the operation before it on its left, a literal on its right.
    Node *chain(int operations) {
        Node *tree = literal(1);
        for (int i = 0; i < operations; ++i) {
            tree = operation(static_cast<Operation::OperationType>(i % 4), tree, literal(i + 2));
        }
        return tree;
    }

    // As even as it can be.
    Node *balanced(int operations) {
        std::deque<Node *> open;
        for (int i = 0; i <= operations; ++i) open.push_back(literal(i % 2 == 0 ? i + 1 : -i));
        for (int i = 0; i < operations; ++i) {
            Node *left = open.front();
            open.pop_front();
            Node *right = open.front();
            open.pop_front();
            open.push_back(operation(static_cast<Operation::OperationType>(i % 3), left, right));
        }
        return open.front();
    }

private:
    Node *own(Node *node) {
        nodes_.emplace_back(node);
        return node;
    }

    std::vector<std::unique_ptr<Node>> nodes_;
};
