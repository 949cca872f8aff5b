// SPDX-License-Identifier: Apache-2.0
// Cap'n Proto: read in place; a pointer is checked when it is followed, so decoding alone checks
// only the root.
#include <capnp/message.h>
#include <capnp/serialize.h>

#include <optional>

#include "codec.hpp"
#include "expression.capnp.h"

namespace {

void chain(with_capnp::Node::Builder node, int index, int operations) {
    if (index == operations) {
        node.setLiteral(bench::literal(index));
        return;
    }
    auto made = node.initOperation();
    made.initLeft().setLiteral(bench::literal(index));
    made.setType(static_cast<std::uint8_t>(bench::operation(index)));
    chain(made.initRight(), index + 1, operations);
}

int evaluate_node(with_capnp::Node::Reader node) {
    if (node.isLiteral()) return node.getLiteral();
    const auto operation = node.getOperation();
    return bench::apply(operation.getType(), evaluate_node(operation.getLeft()), evaluate_node(operation.getRight()));
}

struct CapnProto : bench::Loops<CapnProto> {
    kj::Array<capnp::word> words;
    std::optional<capnp::FlatArrayMessageReader> reader;
    with_capnp::Node::Reader root;

    const char *name() const override { return "capnproto"; }
    const char *yields() const override { return "views"; }
    void encode(int operations) override {
        capnp::MallocMessageBuilder builder;
        chain(builder.initRoot<with_capnp::Node>(), 0, operations);
        words = capnp::messageToFlatArray(builder);
    }
    std::size_t bytes() const override { return words.asBytes().size(); }
    bool make() {
        capnp::ReaderOptions options;
        // The tree is deep.
        options.nestingLimit = 100000;
        reader.emplace(words.asPtr(), options);
        root = reader->getRoot<with_capnp::Node>();
        return true;
    }
    int evaluate() const { return evaluate_node(root); }
    void release() { reader.reset(); }
};

const bench::Enter<CapnProto> enter;

}  // namespace
