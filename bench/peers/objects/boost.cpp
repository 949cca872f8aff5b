// SPDX-License-Identifier: Apache-2.0
// Boost.Serialization: binary archive without header, polymorphic pointers, as in its tutorial.
#include <boost/archive/binary_iarchive.hpp>
#include <boost/archive/binary_oarchive.hpp>
#include <boost/serialization/base_object.hpp>
#include <boost/serialization/export.hpp>
#include <boost/serialization/unique_ptr.hpp>
#include <sstream>
#include <streambuf>

#include "codec.hpp"

namespace with_boost {

struct Node {
    virtual ~Node() = default;
    virtual int evaluate() const = 0;
    template <class Archive> void serialize(Archive &, unsigned) {}
};

struct Literal : Node {
    int value = 0;
    int evaluate() const override { return value; }
    template <class Archive> void serialize(Archive &archive, unsigned) {
        archive &boost::serialization::base_object<Node>(*this);
        archive &value;
    }
};

struct Operation : Node {
    std::unique_ptr<Node> left, right;
    std::uint8_t type = 0;
    int evaluate() const override { return bench::apply(type, left->evaluate(), right->evaluate()); }
    template <class Archive> void serialize(Archive &archive, unsigned) {
        archive &boost::serialization::base_object<Node>(*this);
        archive &left &right &type;
    }
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

// A stream over memory, without a copy.
struct Memory : std::streambuf {
    explicit Memory(std::string &text) { setg(text.data(), text.data(), text.data() + text.size()); }
};

struct Boost : bench::Loops<Boost> {
    std::string text;
    std::unique_ptr<Node> root;

    const char *name() const override { return "boost-serialization"; }
    const char *yields() const override { return "objects"; }
    void encode(int operations) override {
        std::ostringstream out;
        const std::unique_ptr<Node> tree = chain(0, operations);
        boost::archive::binary_oarchive archive(out, boost::archive::no_header);
        archive << tree;
        text = out.str();
    }
    std::size_t bytes() const override { return text.size(); }
    bool make() {
        Memory memory(text);
        boost::archive::binary_iarchive archive(memory, boost::archive::no_header);
        archive >> root;
        return root != nullptr;
    }
    int evaluate() const { return root->evaluate(); }
    void release() { root.reset(); }
};

const bench::Enter<Boost> enter;

}  // namespace with_boost

BOOST_CLASS_EXPORT(with_boost::Literal)
BOOST_CLASS_EXPORT(with_boost::Operation)
