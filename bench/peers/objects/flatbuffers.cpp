// SPDX-License-Identifier: Apache-2.0
// FlatBuffers: the buffer is verified, as bytes from a network must be, and read in place.
#include "codec.hpp"
#include "expression_generated.h"

namespace {

flatbuffers::Offset<with_flatbuffers::Node> chain(flatbuffers::FlatBufferBuilder &builder, int index, int operations) {
    using namespace with_flatbuffers;
    if (index == operations) return CreateNode(builder, Kind_Literal, CreateLiteral(builder, bench::literal(index)).Union());
    const auto right = chain(builder, index + 1, operations);
    const auto left = CreateNode(builder, Kind_Literal, CreateLiteral(builder, bench::literal(index)).Union());
    const auto type = static_cast<std::uint8_t>(bench::operation(index));
    return CreateNode(builder, Kind_Operation, CreateOperation(builder, left, right, type).Union());
}

int evaluate_node(const with_flatbuffers::Node *node) {
    if (const auto *literal = node->kind_as_Literal()) return literal->value();
    const auto *operation = node->kind_as_Operation();
    return bench::apply(operation->type(), evaluate_node(operation->left()), evaluate_node(operation->right()));
}

struct FlatBuffers : bench::Loops<FlatBuffers> {
    std::vector<std::uint8_t> buffer;
    const with_flatbuffers::Node *root = nullptr;

    const char *name() const override { return "flatbuffers"; }
    const char *yields() const override { return "views"; }
    void encode(int operations) override {
        flatbuffers::FlatBufferBuilder builder;
        builder.Finish(chain(builder, 0, operations));
        buffer.assign(builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize());
    }
    std::size_t bytes() const override { return buffer.size(); }
    bool make() {
        // The tree is deep.
        flatbuffers::Verifier verifier(buffer.data(), buffer.size(), 100000, 1000000);
        if (!with_flatbuffers::VerifyNodeBuffer(verifier)) return false;
        root = with_flatbuffers::GetNode(buffer.data());
        return true;
    }
    int evaluate() const { return evaluate_node(root); }
    void release() {}
};

const bench::Enter<FlatBuffers> enter;

}  // namespace
