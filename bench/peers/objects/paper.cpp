// SPDX-License-Identifier: Apache-2.0
// The paper's software as a contestant.
#include "paper.hpp"

#include "codec.hpp"

namespace paper {

namespace {
int integer(const char *at) {
    int value;
    std::memcpy(&value, at, sizeof value);
    return value;
}
}  // namespace

void Literal::read(const char *buffer, int *pos, const Serializer *) {
    m_value = integer(buffer + *pos);
    *pos += 4;
}

void Operation::read(const char *buffer, int *pos, const Serializer *s) {
    const int left = integer(buffer + *pos);
    *pos += 4;
    const int right = integer(buffer + *pos);
    *pos += 4;
    m_left = dynamic_cast<Node *>(s->getObject(left));
    m_right = dynamic_cast<Node *>(s->getObject(right));
    m_eType = static_cast<OperationType>(buffer[*pos]);
    (*pos)++;
}

int Operation::evaluate() const {
    const int a = m_left->evaluate(), b = m_right->evaluate();
    switch (m_eType) {
    case eAddition: return a + b;
    case eSubtraction: return a - b;
    case eMultiplication: return a * b;
    case eDivision: return b == 0 ? 0 : a / b;
    }
    return 0;
}

Node *Serializer::deserialize(const char *buffer) {
    int pos = 4;
    const int count = integer(buffer);
    objects_.reserve(static_cast<std::size_t>(count));
    for (int i = 0; i < count; i++, pos += 4) {
        Object *object = integer(buffer + pos) == 0 ? static_cast<Object *>(new Literal) : new Operation;
        objects_.push_back(object);
    }
    for (int i = 0; i < count; i++) objects_[static_cast<std::size_t>(i)]->read(buffer, &pos, this);
    return dynamic_cast<Node *>(objects_[0]);
}

void Serializer::release() {
    for (Object *object : objects_) delete object;
    objects_.clear();
}

}  // namespace paper

namespace {

struct Paper : bench::Loops<Paper> {
    std::vector<std::uint8_t> message;
    paper::Serializer serializer;
    paper::Node *root = nullptr;

    const char *name() const override { return "paper-software"; }
    const char *yields() const override { return "objects"; }
    void encode(int operations) override { message = bench::message(operations); }
    std::size_t bytes() const override { return message.size(); }
    bool make() {
        root = serializer.deserialize(reinterpret_cast<const char *>(message.data()));
        return true;
    }
    int evaluate() const { return root->evaluate(); }
    void release() { serializer.release(); }
};

const bench::Enter<Paper> enter;

}  // namespace
