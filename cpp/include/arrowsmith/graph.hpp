// SPDX-License-Identifier: Apache-2.0
// Runtime of generated readers and writers of object graphs: C++17, header-only, no dependencies.
//
// docs/design/0004-object-graphs.md defines the messages and their errors. The generated code
// supplies tables of the classes (`Layout` below, made by `arrowsmith objects generate`); users
// call the generated functions, not these. No function here throws, except std::bad_alloc, and none
// calls a constructor or a virtual function of the classes.
#pragma once

#include <arrowsmith/graph_containers.hpp>
#include <arrowsmith/graph_tables.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

namespace arrowsmith::graph {

// The error of a message. The numbers are those of arrowsmith_graph::Code and of the circuit.
enum class Code : std::uint32_t {
    ok = 0,
    truncated = 1,
    trailing_bytes = 2,
    no_objects = 3,
    too_many_objects = 4,
    unknown_type = 5,
    wrong_type = 6,
    id_out_of_range = 7,
    null_reference = 8,
    value_out_of_range = 9,
    region_too_small = 10,
    length_out_of_range = 11,
    bad_header = 12,
    wrong_layout = 13,
    bad_region = 14,
    // From writers only: an object of a class that is not in the layout, or more than a message can
    // hold. Position: its id.
    unknown_class = 15,
    too_large = 16,
};

// The result of reading or writing: a code, and the byte of the message that it refers to.
struct Status {
    Code code = Code::ok;
    std::uint64_t position = 0;
    bool ok() const { return code == Code::ok; }
};

// Memory for the objects of one message. `address` is where the program will use it; it differs
// from `memory` if the objects are made for another address, to be copied there.
struct Region {
    void *memory;
    std::size_t capacity;
    std::uint64_t address;
    Region(void *memory, std::size_t capacity)
        : memory(memory), capacity(capacity), address(reinterpret_cast<std::uintptr_t>(memory)) {}
    Region(void *memory, std::size_t capacity, std::uint64_t address)
        : memory(memory), capacity(capacity), address(address) {}
};

struct Options {
    bool header = false;
    std::uint32_t objects_max = 1U << 24;
};

constexpr std::uint32_t null_id = 0xFFFFFFFFU;
constexpr std::size_t header_bytes = 20;

// Reads messages with the tables only: every layout, every error with its position. The generated
// code has faster paths for the common cases, and falls back to this one.
class Reader {
public:
    explicit Reader(const Layout &layout) : layout_(layout) {}

    // Makes the objects of a message. `root` is the address that the root pointer points to.
    Status read(const void *message, std::size_t bytes, const Region &region, const Options &options, std::uint64_t &root) {
        start(message, bytes);
        memory_ = static_cast<std::uint8_t *>(region.memory);
        capacity_ = region.capacity;
        address_ = region.address;
        if (!region_is_sound(layout_, region)) return {Code::bad_region, 0};
        if ((options.header && !header()) || !types(options) || !objects()) return status_;
        if (at_ != size_) return {Code::trailing_bytes, at_};
        root = address_ + static_cast<std::uint64_t>(layout_.root.adjust_of[type_of(0)]);
        return status_;
    }

    // The bytes of a region that the objects of a message need. Only lengths and types are looked
    // at: a message that `read` accepts has them, but not the other way round.
    Status region_bytes(const void *message, std::size_t bytes, const Options &options, std::uint64_t &needed) {
        start(message, bytes);
        capacity_ = ~std::uint64_t{0};
        if ((options.header && !header()) || !types(options)) return status_;
        for (std::size_t i = 0; i < count_; ++i) {
            const Class &of = layout_.classes[type_of(i)];
            if (!pass(of.members, of.member_count)) return status_;
        }
        if (at_ != size_) return {Code::trailing_bytes, at_};
        needed = tail_;
        return status_;
    }

    static bool region_is_sound(const Layout &layout, const Region &region) {
        const std::uint64_t last = layout.pointer_bytes == 4 ? 0xFFFFFFFFU : ~std::uint64_t{0};
        return region.address % layout.region_align == 0 && region.address <= last && region.capacity <= last - region.address;
    }

    // Checks the header only; the position is that of the invalid field.
    static Status check_header(const Layout &layout, const std::uint8_t *message, std::size_t bytes) {
        static constexpr std::size_t fields[] = {0, 4, 6, 8, 16, header_bytes};
        for (int field = 0; field < 5; ++field) {
            const std::size_t at = fields[field];
            if (bytes < fields[field + 1]) return {Code::truncated, at};
            const std::uint8_t *here = message + at;
            switch (field) {
            case 0:
                if (std::memcmp(here, "ASOG", 4) != 0) return {Code::bad_header, at};
                break;
            case 1:
                if (detail::load<std::uint16_t>(here) != 1) return {Code::bad_header, at};
                break;
            case 2:
                if (detail::load<std::uint16_t>(here) != header_bytes) return {Code::bad_header, at};
                break;
            case 3:
                if (detail::load<std::uint64_t>(here) != layout.wire_hash) return {Code::wrong_layout, at};
                break;
            default:
                if (detail::load<std::uint32_t>(here) != bytes - header_bytes) return {Code::bad_header, at};
            }
        }
        return {};
    }

private:
    void start(const void *message, std::size_t bytes) {
        begin_ = static_cast<const std::uint8_t *>(message);
        size_ = bytes;
        at_ = 0;
        status_ = Status{};
    }

    bool fail(Code code, std::size_t position) {
        status_ = {code, position};
        return false;
    }

    bool header() {
        status_ = check_header(layout_, begin_, size_);
        at_ = header_bytes;
        return status_.ok();
    }

    std::size_t left() const { return size_ - at_; }
    std::uint32_t type_of(std::size_t object) const { return detail::load<std::uint32_t>(begin_ + types_ + 4 * object); }

    // The type list: the offset of each object.
    bool types(const Options &options) {
        if (left() < 4) return fail(Code::truncated, at_);
        count_ = detail::load<std::uint32_t>(begin_ + at_);
        if (count_ == 0) return fail(Code::no_objects, at_);
        if (count_ > options.objects_max) return fail(Code::too_many_objects, at_);
        at_ += 4;
        types_ = at_;
        const std::size_t there = left() / 4 < count_ ? left() / 4 : count_;
        offsets_.resize(there);
        std::uint64_t heap = 0;
        for (std::size_t i = 0; i < there; ++i, at_ += 4) {
            const std::uint32_t type = type_of(i);
            if (type >= layout_.class_count) return fail(Code::unknown_type, at_);
            if (i == 0 && layout_.root.adjust_of[type] < 0) return fail(Code::wrong_type, at_);
            const Class &of = layout_.classes[type];
            heap = detail::align_up(heap, of.align);
            if (heap + of.size > capacity_) return fail(Code::region_too_small, at_);
            offsets_[i] = static_cast<std::size_t>(heap);
            heap += of.size;
        }
        tail_ = heap;
        return there == count_ || fail(Code::truncated, at_);
    }

    bool objects() {
        for (std::size_t i = 0; i < count_; ++i) {
            const Class &of = layout_.classes[type_of(i)];
            std::uint8_t *object = memory_ + offsets_[i];
            std::memset(object, 0, of.size);
            for (std::uint32_t v = 0; v < of.vptr_count; ++v) {
                detail::store_bytes(object + of.vptrs[v].offset, layout_.pointer_bytes, layout_.slots[of.vptrs[v].slot]);
            }
            if (!members(of.members, of.member_count, offsets_[i])) return false;
        }
        return true;
    }

    bool members(const Member *list, std::uint32_t count, std::size_t base) {
        for (std::uint32_t m = 0; m < count; ++m) {
            const Member &member = list[m];
            std::size_t place = base + member.offset;
            for (std::uint32_t i = 0; i < member.count; ++i, place += member.bytes) {
                if (left() < member.wire_bytes) return fail(Code::truncated, at_);
                bool good = true;
                switch (member.kind) {
                case Kind::pointer: good = pointer(member, place); break;
                case Kind::string: good = string(place); break;
                case Kind::vector: good = vector(member, place); break;
                case Kind::view: good = view(place); break;
                case Kind::choice: good = choice(member, place); break;
                default: good = number(member, place);
                }
                if (!good) return false;
            }
        }
        return true;
    }

    // Passes members without making them, and allocates as if they were made.
    bool pass(const Member *list, std::uint32_t count) {
        for (std::uint32_t m = 0; m < count; ++m) {
            const Member &member = list[m];
            const std::size_t bytes = std::size_t{member.wire_bytes} * member.count;
            if (left() < bytes) return fail(Code::truncated, at_);
            if (is_variable(member)) {
                if (!pass_variable(member)) return false;
            } else {
                at_ += bytes;
            }
        }
        return true;
    }

    static bool is_variable(const Member &member) { return member.kind >= Kind::string; }

    bool pass_variable(const Member &member) {
        std::size_t place = 0;
        if (member.kind == Kind::choice) {
            const std::uint8_t which = begin_[at_];
            if (which >= member.high) return fail(Code::value_out_of_range, at_);
            ++at_;
            return pass(member.element[which].members, member.element[which].member_count);
        }
        const std::uint64_t length = detail::load<std::uint32_t>(begin_ + at_);
        if (member.kind != Kind::vector) {
            if (length > left() - 4) return fail(Code::length_out_of_range, at_);
            const std::uint64_t inside = member.kind == Kind::string ? 15 : 0;
            const std::uint64_t end = member.kind == Kind::string ? 1 : 0;
            if (length > inside && !take(length + end, 1, place)) return false;
            at_ += 4 + static_cast<std::size_t>(length);
            return true;
        }
        const Element &element = *member.element;
        if (length * element.wire_bytes_min > left() - 4) return fail(Code::length_out_of_range, at_);
        const detail::Content of = detail::content_of(element, length, layout_.pointer_bytes);
        if (of.bytes > 0 && !take(of.bytes, of.align, place)) return false;
        at_ += 4;
        bool variable = false;
        for (std::uint32_t m = 0; m < element.member_count; ++m) variable = variable || is_variable(element.members[m]);
        if (!variable) {
            at_ += static_cast<std::size_t>(length * element.wire_bytes_min);
            return true;
        }
        for (std::uint64_t i = 0; i < length; ++i) {
            if (!pass(element.members, element.member_count)) return false;
        }
        return true;
    }

    bool number(const Member &member, std::size_t place) {
        std::uint64_t value = detail::load_bytes(begin_ + at_, member.wire_bytes);
        if (member.is_signed) value = detail::sign_extend(value, member.wire_bytes * 8U);
        if (member.ranged && !detail::in_range(member, value)) return fail(Code::value_out_of_range, at_);
        if (member.kind == Kind::bits) {
            detail::store_bits(memory_ + place, member.bit_offset, member.bit_size, value);
        } else {
            detail::store_bytes(memory_ + place, member.bytes, value);
        }
        at_ += member.wire_bytes;
        return true;
    }

    bool pointer(const Member &member, std::size_t place) {
        const std::uint32_t id = detail::load<std::uint32_t>(begin_ + at_);
        std::uint64_t value = 0;
        if (id == null_id) {
            if (!member.reference->nullable) return fail(Code::null_reference, at_);
        } else {
            if (id >= count_) return fail(Code::id_out_of_range, at_);
            const std::int64_t adjust = member.reference->adjust_of[type_of(id)];
            if (adjust < 0) return fail(Code::wrong_type, at_);
            value = address_ + offsets_[id] + static_cast<std::uint64_t>(adjust);
        }
        detail::store_bytes(memory_ + place, layout_.pointer_bytes, value);
        at_ += 4;
        return true;
    }

    // Allocates `bytes` after the objects; the position of a failure is that of the length just
    // read.
    bool take(std::uint64_t bytes, std::uint64_t align, std::size_t &place) {
        const std::uint64_t begin = detail::align_up(tail_, align);
        if (begin > capacity_ || bytes > capacity_ - begin) return fail(Code::region_too_small, at_);
        place = static_cast<std::size_t>(begin);
        tail_ = begin + bytes;
        return true;
    }

    // libstdc++: pointer, length, then 16 bytes that hold a short string or the capacity.
    bool string(std::size_t place) {
        const unsigned word = layout_.pointer_bytes;
        const std::uint64_t length = detail::load<std::uint32_t>(begin_ + at_);
        if (length > left() - 4) return fail(Code::length_out_of_range, at_);
        std::size_t content = place + 2 * word;
        if (length > 15) {
            if (!take(length + 1, 1, content)) return false;
            detail::store_bytes(memory_ + place + 2 * word, word, length);
        }
        std::memcpy(memory_ + content, begin_ + at_ + 4, static_cast<std::size_t>(length));
        memory_[content + length] = 0;
        detail::store_bytes(memory_ + place, word, address_ + content);
        detail::store_bytes(memory_ + place + word, word, length);
        at_ += 4 + static_cast<std::size_t>(length);
        return true;
    }

    // libstdc++: length, pointer. The text is not ended by a zero.
    bool view(std::size_t place) {
        const unsigned word = layout_.pointer_bytes;
        const std::uint64_t length = detail::load<std::uint32_t>(begin_ + at_);
        if (length > left() - 4) return fail(Code::length_out_of_range, at_);
        if (length > 0) {
            std::size_t content = 0;
            if (!take(length, 1, content)) return false;
            std::memcpy(memory_ + content, begin_ + at_ + 4, static_cast<std::size_t>(length));
            detail::store_bytes(memory_ + place, word, length);
            detail::store_bytes(memory_ + place + word, word, address_ + content);
        }
        at_ += 4 + static_cast<std::size_t>(length);
        return true;
    }

    // The number of an alternative, then its members.
    bool choice(const Member &member, std::size_t place) {
        const std::uint8_t which = begin_[at_];
        if (which >= member.high) return fail(Code::value_out_of_range, at_);
        ++at_;
        memory_[place + static_cast<std::size_t>(member.low)] = which;
        const Element &of = member.element[which];
        return members(of.members, of.member_count, place);
    }

    // Of a map or set, an element's key must follow that of the one before it.
    bool vector(const Member &member, std::size_t place) {
        const Element &element = *member.element;
        const detail::Linker linker{memory_, address_, layout_.pointer_bytes};
        const std::uint64_t length = detail::load<std::uint32_t>(begin_ + at_);
        if (length * element.wire_bytes_min > left() - 4) return fail(Code::length_out_of_range, at_);
        const detail::Content of = detail::content_of(element, length, layout_.pointer_bytes);
        std::size_t content = 0;
        if (of.bytes > 0 && !take(of.bytes, of.align, content)) return false;
        at_ += 4;
        if (of.bytes > 0) std::memset(memory_ + content, 0, static_cast<std::size_t>(of.bytes));
        for (std::uint64_t i = 0; i < length; ++i) {
            const std::size_t begin = at_, item = content + static_cast<std::size_t>(of.first + i * of.stride);
            if (!members(element.members, element.member_count, item)) return false;
            if (element.key_count == 0 || i == 0) continue;
            const std::uint8_t *now = memory_ + item;
            if (!linker.follows(element, now - of.stride, now)) return fail(Code::value_out_of_range, begin);
        }
        linker.link(element, place, length, content);
        return true;
    }

    const Layout &layout_;
    const std::uint8_t *begin_ = nullptr;
    std::size_t size_ = 0, at_ = 0, types_ = 0;
    std::uint8_t *memory_ = nullptr;
    std::uint64_t capacity_ = 0, address_ = 0, tail_ = 0;
    std::uint32_t count_ = 0;
    Status status_;
    std::vector<std::size_t> offsets_;
};

// Writes the objects reachable from a root: the paper's two passes (Listing 1) with an explicit
// stack, so that long chains do not exhaust the program's stack. Only for objects of this process:
// `pointer_bytes` is that of the program.
//
// The first pass finds the objects and keeps the id of each pointer, in the order in which the
// second pass sends them, so that each is looked up once. Both passes run on `Plan`s: the tables
// with adjacent plain members joined to one copy, and without what a pass does not need.
class Writer {
public:
    explicit Writer(const Layout &layout) : layout_(layout) {
        for (std::uint32_t c = 0; c < layout.class_count; ++c) {
            plans_.push_back(plan_of(layout.classes[c].members, layout.classes[c].member_count));
        }
    }

    Status write(const void *root, std::vector<std::uint8_t> &out, const Options &options) {
        objects_.clear();
        open_.clear();
        ids_.clear();
        if (table_.size() > table_keep) table_.resize(table_min);
        if (table_.size() < table_min) table_.resize(table_min);
        std::memset(table_.data(), 0, table_.size() * sizeof table_[0]);
        status_ = Status{};
        out.clear();
        if (root == nullptr) return {Code::null_reference, 0};
        ids_.push_back(0);
        open_.push_back({static_cast<const std::uint8_t *>(root), &layout_.root, 0});
        while (!open_.empty()) {
            const Pointer next = open_.back();
            open_.pop_back();
            if (!visit(next, options)) return status_;
        }
        const std::size_t count = objects_.size(), header = options.header ? header_bytes : 0;
        out_ = &out;
        at_ = size_ = 0;
        room(header + 4 + 4 * count);
        if (options.header) {
            static constexpr std::uint8_t fixed[] = {'A', 'S', 'O', 'G', 1, 0, header_bytes, 0};
            std::memcpy(out.data(), fixed, sizeof fixed);
            detail::store(out.data() + 8, layout_.wire_hash);
            detail::store(out.data() + 16, std::uint32_t{0});
            at_ = header_bytes;
        }
        put(count, 4);
        for (std::size_t i = 0; i < count; ++i) put(objects_[i].type, 4);
        for (std::size_t i = 0; i < count; ++i) {
            const Found &found = objects_[i];
            next_ = found.first;
            if (!members(*plans_[found.type], found.address)) {
                out.clear();
                return status_;
            }
        }
        out.resize(at_);
        const std::uint64_t body = at_ - header;
        if (options.header) {
            if (body > 0xFFFFFFFFU) {
                out.clear();
                return {Code::too_large, count};
            }
            detail::store(out.data() + 16, static_cast<std::uint32_t>(body));
        }
        return status_;
    }

private:
    static constexpr std::size_t table_min = 64, table_keep = 1 << 16;

    struct Pointer {
        const std::uint8_t *to;
        const Reference *reference;
        std::size_t slot;  // of its id
    };
    struct Found {
        const std::uint8_t *address;
        std::uint32_t type;
        std::size_t first;  // the slot of its first pointer
    };
    struct Plan;
    // A member; `copy` bytes if it is sent as it is, together with those after it.
    struct Step {
        const Member *member;
        std::uint32_t offset, copy;
        std::vector<std::unique_ptr<Plan>> inner;  // of a vector's element, of a choice's alternatives
    };
    struct Plan {
        std::vector<Step> put;
        std::vector<Step> find;
        std::size_t bytes = 0;  // on the wire, without the content of strings, vectors and choices
    };

    std::unique_ptr<Plan> plan_of(const Member *list, std::uint32_t count) const {
        auto plan = std::make_unique<Plan>();
        for (std::uint32_t m = 0; m < count; ++m) {
            const Member &member = list[m];
            plan->bytes += std::size_t{member.wire_bytes} * member.count;
            const bool plain = member.kind == Kind::real ||
                               (member.kind == Kind::integer && !member.ranged && member.bytes == member.wire_bytes);
            const std::uint32_t copy = plain ? member.bytes * member.count : 0;
            if (copy != 0 && !plan->put.empty() && plan->put.back().copy != 0 &&
                plan->put.back().offset + plan->put.back().copy == member.offset) {
                plan->put.back().copy += copy;
                continue;
            }
            plan->put.push_back({&member, member.offset, copy, inner_of(member)});
            const bool points = member.kind == Kind::pointer || has_pointers(plan->put.back());
            if (points) plan->find.push_back({&member, member.offset, 0, inner_of(member)});
        }
        return plan;
    }

    std::vector<std::unique_ptr<Plan>> inner_of(const Member &member) const {
        std::vector<std::unique_ptr<Plan>> inner;
        const std::int64_t count = member.kind == Kind::choice ? member.high : member.kind == Kind::vector ? 1 : 0;
        for (std::int64_t i = 0; i < count; ++i) {
            inner.push_back(plan_of(member.element[i].members, member.element[i].member_count));
        }
        return inner;
    }

    static bool has_pointers(const Step &step) {
        for (const auto &plan : step.inner) {
            if (!plan->find.empty()) return true;
        }
        return false;
    }

    bool fail(Code code) {
        status_ = {code, objects_.size()};
        return false;
    }

    // Makes room for more bytes; vectors are filled with zeros, so it is done in large steps.
    void room(std::size_t bytes) {
        if (size_ - at_ < bytes) grow(bytes);
    }

    void grow(std::size_t bytes) {
        size_ = 2 * (at_ + bytes) + 256;
        out_->resize(size_);
        begin_ = out_->data();
    }

    // There must be room.
    void put(std::uint64_t value, unsigned bytes) {
        detail::store_bytes(begin_ + at_, bytes, value);
        at_ += bytes;
    }

    // The object that a pointer points into: the class of its vtable, the address of the complete
    // object.
    bool identify(const std::uint8_t *to, const Reference &reference, Found &found) {
        std::uint64_t vtable = 0;
        bool loaded = false;
        for (std::uint32_t i = 0; i < reference.count; ++i) {
            const Target &target = reference.targets[i];
            if (target.slot >= 0 && !loaded) {
                vtable = detail::load_bytes(to, layout_.pointer_bytes);
                loaded = true;
            }
            if (target.slot < 0 || vtable == layout_.slots[target.slot]) {
                found.address = to - target.adjust;
                found.type = target.type_id;
                return true;
            }
        }
        return fail(Code::unknown_class);
    }

    static std::size_t hash(const Found &found) {
        std::uint64_t key = reinterpret_cast<std::uintptr_t>(found.address) ^ (std::uint64_t{found.type} << 48);
        key *= 0x9E3779B97F4A7C15U;
        return static_cast<std::size_t>(key >> 32);
    }

    // The slot of an object in the table of ids: holds its id + 1, or 0.
    std::uint32_t &place(const Found &found) {
        const std::size_t mask = table_.size() - 1;
        std::size_t at = hash(found) & mask;
        while (table_[at] != 0) {
            const Found &other = objects_[table_[at] - 1];
            if (other.address == found.address && other.type == found.type) break;
            at = (at + 1) & mask;
        }
        return table_[at];
    }

    bool visit(const Pointer &pointer, const Options &options) {
        Found found{};
        if (!identify(pointer.to, *pointer.reference, found)) return false;
        std::uint32_t &id = place(found);
        if (id != 0) {
            ids_[pointer.slot] = id - 1;
            return true;
        }
        if (objects_.size() >= options.objects_max) return fail(Code::too_many_objects);
        found.first = ids_.size();
        ids_[pointer.slot] = static_cast<std::uint32_t>(objects_.size());
        objects_.push_back(found);
        id = static_cast<std::uint32_t>(objects_.size());
        if (2 * objects_.size() > table_.size()) {
            table_.assign(2 * table_.size(), 0);
            for (std::size_t i = 0; i < objects_.size(); ++i) place(objects_[i]) = static_cast<std::uint32_t>(i + 1);
        }
        // The last pointer is pushed first, so that objects are visited in prefix order.
        const std::size_t first = open_.size();
        if (!pointers(*plans_[found.type], found.address)) return false;
        for (std::size_t i = first, j = open_.size(); i + 1 < j; ++i, --j) std::swap(open_[i], open_[j - 1]);
        return true;
    }

    const std::uint8_t *load_pointer(const std::uint8_t *at) const {
        return reinterpret_cast<const std::uint8_t *>(static_cast<std::uintptr_t>(detail::load_bytes(at, layout_.pointer_bytes)));
    }

    // The alternative of a choice in memory: a `variant` may have none.
    const Plan *chosen(const Step &step, const std::uint8_t *place) {
        const std::uint8_t which = place[step.member->low];
        if (which < step.inner.size()) return step.inner[which].get();
        fail(Code::value_out_of_range);
        return nullptr;
    }

    bool pointers(const Plan &plan, const std::uint8_t *object) {
        for (const Step &step : plan.find) {
            const Member &member = *step.member;
            const std::uint8_t *place = object + step.offset;
            if (member.kind == Kind::pointer) {
                for (std::uint32_t i = 0; i < member.count; ++i, place += member.bytes) {
                    const std::uint8_t *to = load_pointer(place);
                    if (to != nullptr) open_.push_back({to, member.reference, ids_.size()});
                    ids_.push_back(null_id);
                }
            } else if (member.kind == Kind::vector && member.element->form != Form::vector) {
                for (const std::uint8_t *at : detail::elements_of(*member.element, place, layout_.pointer_bytes)) {
                    if (!pointers(*step.inner[0], at)) return false;
                }
            } else if (member.kind == Kind::vector) {
                const std::uint8_t *end = load_pointer(place + layout_.pointer_bytes);
                for (const std::uint8_t *at = load_pointer(place); at != end; at += member.element->size) {
                    if (!pointers(*step.inner[0], at)) return false;
                }
            } else {
                const Plan *plan_of_it = chosen(step, place);
                if (plan_of_it == nullptr || !pointers(*plan_of_it, place)) return false;
            }
        }
        return true;
    }

    bool members(const Plan &plan, const std::uint8_t *object) {
        room(plan.bytes);
        for (const Step &step : plan.put) {
            const std::uint8_t *place = object + step.offset;
            if (step.copy != 0) {
                copy(place, step.copy);
                continue;
            }
            const Member &member = *step.member;
            if (member.kind == Kind::pointer) {
                if (!ids(member)) return false;
                continue;
            }
            if (member.kind == Kind::bits) {
                const std::uint64_t value = detail::load_bits(place, member.bit_offset, member.bit_size);
                put(member.is_signed ? detail::sign_extend(value, member.bit_size) : value, member.wire_bytes);
                continue;
            }
            if (member.kind == Kind::integer) {
                for (std::uint32_t i = 0; i < member.count; ++i, place += member.bytes) {
                    if (!number(member, place)) return false;
                }
                continue;
            }
            if (!one(step, place)) return false;
            // The content of a string or vector took some of the room for what is after it.
            if (member.kind >= Kind::string) room(plan.bytes);
        }
        return true;
    }

    void copy(const std::uint8_t *from, std::uint32_t bytes) {
        std::uint8_t *to = begin_ + at_;
        switch (bytes) {
        case 4: std::memcpy(to, from, 4); break;
        case 8: std::memcpy(to, from, 8); break;
        case 16: std::memcpy(to, from, 16); break;
        default: std::memcpy(to, from, bytes);
        }
        at_ += bytes;
    }

    bool text(std::uint64_t length, const std::uint8_t *content) {
        if (length >= null_id) return fail(Code::too_large);
        room(4 + static_cast<std::size_t>(length));
        put(length, 4);
        if (length > 0) std::memcpy(begin_ + at_, content, static_cast<std::size_t>(length));
        at_ += static_cast<std::size_t>(length);
        return true;
    }

    // The ids of a member's pointers, which the first pass kept.
    bool ids(const Member &member) {
        for (std::uint32_t i = 0; i < member.count; ++i) {
            const std::uint32_t id = ids_[next_++];
            if (id == null_id && !member.reference->nullable) return fail(Code::null_reference);
            put(id, 4);
        }
        return true;
    }

    // A member whose width on the wire depends on its value.
    bool one(const Step &step, const std::uint8_t *place) {
        const Member &member = *step.member;
        const unsigned word = layout_.pointer_bytes;
        switch (member.kind) {
        case Kind::string: return text(detail::load_bytes(place + word, word), load_pointer(place));
        case Kind::view: return text(detail::load_bytes(place, word), load_pointer(place + word));
        case Kind::vector: {
            if (member.element->form != Form::vector) return container(step, place);
            const std::uint8_t *begin = load_pointer(place), *end = load_pointer(place + word);
            const std::size_t size = member.element->size, length = static_cast<std::size_t>(end - begin) / size;
            if (length >= null_id) return fail(Code::too_large);
            put(length, 4);
            const Plan &plan = *step.inner[0];
            // Elements that are plain and without gaps are one copy.
            if (plan.put.size() == 1 && plan.put[0].copy == size) {
                room(length * size);
                if (length > 0) std::memcpy(begin_ + at_, begin, length * size);
                at_ += length * size;
                return true;
            }
            if (plan.put.size() == 1 && plan.put[0].member->kind == Kind::pointer) {
                room(length * plan.bytes);
                for (std::size_t i = 0; i < length; ++i) {
                    if (!ids(*plan.put[0].member)) return false;
                }
                return true;
            }
            for (const std::uint8_t *at = begin; at != end; at += size) {
                if (!members(plan, at)) return false;
            }
            return true;
        }
        case Kind::choice: {
            const Plan *plan = chosen(step, place);
            if (plan == nullptr) return false;
            put(place[member.low], 1);
            return members(*plan, place);
        }
        // The kinds of fixed width are sent by the caller.
        default: return true;
        }
    }

    // A container that is not a vector. A map whose keys a reader would refuse is an error.
    bool container(const Step &step, const std::uint8_t *place) {
        const Element &element = *step.member->element;
        const detail::Linker memory{nullptr, 0, layout_.pointer_bytes};
        const std::vector<const std::uint8_t *> elements = detail::elements_of(element, place, layout_.pointer_bytes);
        if (elements.size() >= null_id) return fail(Code::too_large);
        put(elements.size(), 4);
        const std::uint8_t *before = nullptr;
        for (const std::uint8_t *at : elements) {
            if (before != nullptr && !memory.follows(element, before, at)) return fail(Code::value_out_of_range);
            if (!members(*step.inner[0], at)) return false;
            before = at;
        }
        return true;
    }

    // A value that does not fit its width on the wire, or that a reader would refuse, is an error.
    bool number(const Member &member, const std::uint8_t *place) {
        std::uint64_t value = detail::load_bytes(place, member.bytes);
        if (member.is_signed) value = detail::sign_extend(value, member.bytes * 8U);
        const unsigned bits = member.wire_bytes * 8U;
        const std::uint64_t low = bits == 64 ? value : value & ((std::uint64_t{1} << bits) - 1);
        const std::uint64_t back = member.is_signed ? detail::sign_extend(low, bits) : low;
        if (member.kind == Kind::integer && (back != value || (member.ranged && !detail::in_range(member, value)))) {
            return fail(Code::value_out_of_range);
        }
        put(value, member.wire_bytes);
        return true;
    }

    const Layout &layout_;
    std::vector<std::unique_ptr<Plan>> plans_;
    std::vector<std::uint8_t> *out_ = nullptr;
    std::uint8_t *begin_ = nullptr;
    std::size_t at_ = 0, size_ = 0, next_ = 0;
    std::vector<Found> objects_;
    std::vector<Pointer> open_;
    std::vector<std::uint32_t> ids_, table_;
    Status status_;
};

}  // namespace arrowsmith::graph
