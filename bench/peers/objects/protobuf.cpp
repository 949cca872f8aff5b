// SPDX-License-Identifier: Apache-2.0
// Protocol Buffers: messages on an arena whose first block is reused, the fastest way in its
// documentation.
#include <google/protobuf/arena.h>
#include <google/protobuf/io/coded_stream.h>

#include <optional>

#include "codec.hpp"
#include "expression.pb.h"

namespace {

void chain(with_protobuf::Node *node, int index, int operations) {
    if (index == operations) {
        node->set_literal(bench::literal(index));
        return;
    }
    auto *made = node->mutable_operation();
    made->mutable_left()->set_literal(bench::literal(index));
    chain(made->mutable_right(), index + 1, operations);
    made->set_type(static_cast<std::uint32_t>(bench::operation(index)));
}

int evaluate_node(const with_protobuf::Node &node) {
    if (node.kind_case() == with_protobuf::Node::kLiteral) return node.literal();
    const auto &operation = node.operation();
    return bench::apply(static_cast<int>(operation.type()), evaluate_node(operation.left()), evaluate_node(operation.right()));
}

struct Protobuf : bench::Loops<Protobuf> {
    std::string text;
    std::vector<char> block = std::vector<char>(1 << 16);
    std::optional<google::protobuf::Arena> arena;
    with_protobuf::Node *root = nullptr;

    const char *name() const override { return "protobuf"; }
    const char *yields() const override { return "messages"; }
    void encode(int operations) override {
        with_protobuf::Node tree;
        chain(&tree, 0, operations);
        text = tree.SerializeAsString();
    }
    std::size_t bytes() const override { return text.size(); }
    bool make() {
        google::protobuf::ArenaOptions options;
        options.initial_block = block.data();
        options.initial_block_size = block.size();
        arena.emplace(options);
        root = google::protobuf::Arena::CreateMessage<with_protobuf::Node>(&*arena);
        google::protobuf::io::CodedInputStream in(reinterpret_cast<const std::uint8_t *>(text.data()), static_cast<int>(text.size()));
        // The tree is deep.
        in.SetRecursionLimit(10000);
        return root->ParseFromCodedStream(&in);
    }
    int evaluate() const { return evaluate_node(*root); }
    void release() { arena.reset(); }
};

const bench::Enter<Protobuf> enter;

}  // namespace
