// SPDX-License-Identifier: Apache-2.0
// cereal: binary archive, polymorphic unique pointers, as in its documentation.
#include <cereal/archives/binary.hpp>
#include <cereal/types/base_class.hpp>
#include <cereal/types/memory.hpp>
#include <cereal/types/polymorphic.hpp>
#include <sstream>
#include <streambuf>

#include "codec.hpp"

namespace with_cereal {

struct Node {
    virtual ~Node() = default;
    virtual int evaluate() const = 0;
};

struct Literal : Node {
    int value = 0;
    int evaluate() const override { return value; }
    template <class Archive> void serialize(Archive &archive) { archive(value); }
};

struct Operation : Node {
    std::unique_ptr<Node> left, right;
    std::uint8_t type = 0;
    int evaluate() const override { return bench::apply(type, left->evaluate(), right->evaluate()); }
    template <class Archive> void serialize(Archive &archive) { archive(left, right, type); }
};

std::unique_ptr<Node> chain(int index, int operations) {
    if (index == operations) {
        auto last = std::make_unique<Literal>();
        last->value = bench::literal(index);
        return last;
    }
    auto made = std::make_unique<Operation>();
    auto left = std::make_unique<Literal>();
    left->value = bench::literal(index);
    made->left = std::move(left);
    made->right = chain(index + 1, operations);
    made->type = static_cast<std::uint8_t>(bench::operation(index));
    return made;
}

struct Memory : std::streambuf {
    explicit Memory(std::string &text) { setg(text.data(), text.data(), text.data() + text.size()); }
};

struct Cereal : bench::Loops<Cereal> {
    std::string text;
    std::unique_ptr<Node> root;

    const char *name() const override { return "cereal"; }
    const char *yields() const override { return "objects"; }
    void encode(int operations) override {
        std::ostringstream out;
        const std::unique_ptr<Node> tree = chain(0, operations);
        cereal::BinaryOutputArchive archive(out);
        archive(tree);
        text = out.str();
    }
    std::size_t bytes() const override { return text.size(); }
    bool make() {
        Memory memory(text);
        std::istream in(&memory);
        cereal::BinaryInputArchive archive(in);
        archive(root);
        return root != nullptr;
    }
    int evaluate() const { return root->evaluate(); }
    void release() { root.reset(); }
};

const bench::Enter<Cereal> enter;

}  // namespace with_cereal

CEREAL_REGISTER_TYPE(with_cereal::Literal)
CEREAL_REGISTER_TYPE(with_cereal::Operation)
CEREAL_REGISTER_POLYMORPHIC_RELATION(with_cereal::Node, with_cereal::Literal)
CEREAL_REGISTER_POLYMORPHIC_RELATION(with_cereal::Node, with_cereal::Operation)
