// SPDX-License-Identifier: Apache-2.0
// Messages of an older or a newer program → messages of this one, for the layouts that a reader was
// generated to accept. Bytes become bytes: what is made is read, and so checked, as any other
// message; here only lengths are, and what is needed to find the members.
#pragma once

#include <arrowsmith/graph.hpp>

namespace arrowsmith::graph {

struct Moves;

// Where the value of a member is from: the number of the old member, -1 if there is none; and the
// members of an element, or of each alternative of the old choice.
struct Move {
    std::int32_t from;
    const Moves *inner;
};

// How a list of members becomes another one: `to` is the type id of the class, or the number of the
// alternative, -1 if there is none.
struct Moves {
    std::int32_t to;
    std::uint32_t from_count, to_count;
    const Member *from_members, *to_members;
    const Move *moves;
};

// A layout whose messages are accepted: its hash, and its classes.
struct Translation {
    std::uint64_t wire_hash;
    std::uint32_t class_count;
    const Moves *classes;
};

class Translator {
public:
    Translator(const Translation *list, std::size_t count) : list_(list), count_(count) {}

    // If a message has the header of one of these layouts, puts one of the program's own layout,
    // without a header, in its place; it is there until the next call. Positions of errors are
    // those in the message that was given.
    Status translate(const void *&message, std::size_t &bytes, Options &options) {
        begin_ = static_cast<const std::uint8_t *>(message);
        size_ = bytes;
        if (!options.header || size_ < header_bytes) return {};
        for (std::size_t i = 0; i < count_; ++i) {
            if (detail::load<std::uint64_t>(begin_ + 8) != list_[i].wire_hash) continue;
            Layout known{};
            known.wire_hash = list_[i].wire_hash;
            status_ = Reader::check_header(known, begin_, size_);
            if (!status_.ok() || !run(list_[i], options)) return status_;
            message = out_.data();
            bytes = out_.size();
            options.header = false;
            break;
        }
        return {};
    }

private:
    bool fail(Code code, std::size_t position) {
        status_ = {code, position};
        return false;
    }

    std::size_t left() const { return size_ - at_; }

    void put(std::uint64_t value, unsigned bytes) {
        std::uint8_t raw[8];
        detail::store(raw, value);
        out_.insert(out_.end(), raw, raw + bytes);
    }

    bool copy(std::size_t bytes) {
        if (left() < bytes) return fail(Code::truncated, at_);
        out_.insert(out_.end(), begin_ + at_, begin_ + at_ + bytes);
        at_ += bytes;
        return true;
    }

    bool run(const Translation &by, const Options &options) {
        out_.clear();
        starts_.clear();
        at_ = header_bytes;
        if (left() < 4) return fail(Code::truncated, at_);
        const std::size_t count = detail::load<std::uint32_t>(begin_ + at_);
        if (count == 0) return fail(Code::no_objects, at_);
        if (count > options.objects_max) return fail(Code::too_many_objects, at_);
        copy(4);
        const std::size_t types = at_;
        for (std::size_t i = 0; i < count; ++i, at_ += 4) {
            if (left() < 4) return fail(Code::truncated, at_);
            const std::uint32_t type = detail::load<std::uint32_t>(begin_ + at_);
            if (type >= by.class_count || by.classes[type].to < 0) return fail(Code::unknown_type, at_);
            put(static_cast<std::uint32_t>(by.classes[type].to), 4);
        }
        for (std::size_t i = 0; i < count; ++i) {
            if (!list(by.classes[detail::load<std::uint32_t>(begin_ + types + 4 * i)])) return false;
        }
        return at_ == size_ || fail(Code::trailing_bytes, at_);
    }

    // The members of an object, an element or an alternative: where each begins, then the new ones
    // in their order.
    bool list(const Moves &by) {
        const std::size_t base = starts_.size();
        for (std::uint32_t m = 0; m < by.from_count; ++m) {
            starts_.push_back(at_);
            if (!skip(by.from_members[m])) return false;
        }
        const std::size_t end = at_;
        for (std::uint32_t m = 0; m < by.to_count; ++m) {
            const Member &to = by.to_members[m];
            const Move &move = by.moves[m];
            if (move.from >= 0) at_ = starts_[base + static_cast<std::size_t>(move.from)];
            for (std::uint32_t i = 0; i < to.count; ++i) {
                if (move.from < 0) {
                    absent(to);
                } else if (!value(by.from_members[move.from], to, move.inner)) {
                    return false;
                }
            }
        }
        at_ = end;
        starts_.resize(base);
        return true;
    }

    bool skip(const Member &member) {
        for (std::uint32_t i = 0; i < member.count; ++i) {
            if (left() < member.wire_bytes) return fail(Code::truncated, at_);
            if (member.kind == Kind::choice) {
                const std::uint8_t which = begin_[at_];
                if (which >= member.high) return fail(Code::value_out_of_range, at_);
                ++at_;
                if (!skip(member.element[which])) return false;
                continue;
            }
            if (member.kind < Kind::string) {
                at_ += member.wire_bytes;
                continue;
            }
            const std::uint64_t length = detail::load<std::uint32_t>(begin_ + at_);
            const std::uint64_t least = member.kind == Kind::vector ? member.element->wire_bytes_min : 1;
            if (length * least > left() - 4) return fail(Code::length_out_of_range, at_);
            at_ += 4;
            if (member.kind != Kind::vector) {
                at_ += static_cast<std::size_t>(length);
                continue;
            }
            for (std::uint64_t e = 0; e < length; ++e) {
                if (!skip(*member.element)) return false;
            }
        }
        return true;
    }

    bool skip(const Element &of) {
        for (std::uint32_t m = 0; m < of.member_count; ++m) {
            if (!skip(of.members[m])) return false;
        }
        return true;
    }

    // The value of a member that the message does not have: zero, or what is next to it of the
    // valid values; null, empty, the first alternative.
    void absent(const Member &member) {
        if (member.kind == Kind::choice) {
            put(0, 1);
            for (std::uint32_t m = 0; m < member.element->member_count; ++m) {
                const Member &inner = member.element->members[m];
                for (std::uint32_t i = 0; i < inner.count; ++i) absent(inner);
            }
            return;
        }
        std::int64_t value = member.kind == Kind::pointer ? -1 : 0;
        if (member.ranged && member.low > value) value = member.low;
        if (member.ranged && member.high < value) value = member.high;
        put(static_cast<std::uint64_t>(value), member.wire_bytes);
    }

    // `skip` has checked that the value is there.
    bool value(const Member &from, const Member &to, const Moves *inner) {
        const std::size_t begin = at_;
        switch (from.kind) {
        case Kind::pointer: return copy(4);
        case Kind::string:
        case Kind::view: return copy(4 + std::size_t{detail::load<std::uint32_t>(begin_ + at_)});
        case Kind::real:
            if (from.bytes == to.bytes) return copy(from.bytes);
            return from.bytes == 4 ? widen() : narrow();
        case Kind::vector: {
            const std::uint32_t length = detail::load<std::uint32_t>(begin_ + at_);
            if (!copy(4)) return false;
            for (std::uint32_t i = 0; i < length; ++i) {
                if (!list(inner[0])) return false;
            }
            return true;
        }
        case Kind::choice: {
            const Moves &moves = inner[begin_[at_]];
            if (moves.to < 0) return fail(Code::value_out_of_range, begin);
            put(static_cast<std::uint64_t>(moves.to), 1);
            ++at_;
            return list(moves);
        }
        default: break;
        }
        std::uint64_t number = detail::load_bytes(begin_ + at_, from.wire_bytes);
        if (from.is_signed) number = detail::sign_extend(number, from.wire_bytes * 8U);
        const unsigned bits = to.wire_bytes * 8U;
        std::uint64_t back = bits == 64 ? number : number & ((std::uint64_t{1} << bits) - 1);
        if (to.is_signed) back = detail::sign_extend(back, bits);
        // Of another sign: both have to be small enough for either.
        const bool same = from.is_signed == to.is_signed || static_cast<std::int64_t>(number) >= 0;
        if (back != number || !same) return fail(Code::value_out_of_range, begin);
        put(number, to.wire_bytes);
        at_ += from.wire_bytes;
        return true;
    }

    bool widen() {
        put_real(static_cast<double>(detail::load<float>(begin_ + at_)));
        at_ += 4;
        return true;
    }

    // A number that is another one with fewer bits does not fit.
    bool narrow() {
        const double value = detail::load<double>(begin_ + at_);
        const auto small = static_cast<float>(value);
        if (static_cast<double>(small) != value && value == value) return fail(Code::value_out_of_range, at_);
        put_real(small);
        at_ += 8;
        return true;
    }

    template <typename Real> void put_real(Real value) {
        std::uint8_t raw[sizeof value];
        detail::store(raw, value);
        out_.insert(out_.end(), raw, raw + sizeof value);
    }

    const Translation *list_;
    std::size_t count_;
    const std::uint8_t *begin_ = nullptr;
    std::size_t size_ = 0, at_ = 0;
    std::vector<std::uint8_t> out_;
    std::vector<std::size_t> starts_;
    Status status_;
};

}  // namespace arrowsmith::graph
