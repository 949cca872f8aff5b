// SPDX-License-Identifier: Apache-2.0
// Runtime of generated readers and writers of object graphs: C++17, header-only, no dependencies.
//
// docs/design/0004-object-graphs.md defines the messages and their errors. The generated code
// supplies tables of the classes (`Layout` below, made by `arrowsmith objects generate`); users
// call the generated functions, not these. No function here throws, except std::bad_alloc, and none
// calls a constructor or a virtual function of the classes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
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

// The tables of a layout. The fields have the meaning of those of the same name in the JSON form.
enum class Kind : std::uint8_t { integer, bits, real, pointer, string, vector };

struct Element;

struct Target {
    std::uint32_t type_id;
    std::uint32_t adjust;
    std::int32_t slot;  // of the vtable pointer there; -1: none
};

struct Reference {
    const Target *targets;
    std::uint32_t count;
    bool nullable;
    const std::int64_t *adjust_of;  // by type id; -1: not allowed
};

struct Member {
    Kind kind;
    std::uint8_t bytes;
    std::uint8_t wire_bytes;
    bool is_signed;
    bool ranged;
    std::uint8_t bit_offset;
    std::uint8_t bit_size;
    std::uint32_t offset;
    std::uint32_t count;
    std::int64_t low, high;
    const Reference *reference;
    const Element *element;
};

struct Element {
    std::uint32_t size, align, wire_bytes_min, member_count;
    const Member *members;
};

struct VtablePointer {
    std::uint32_t offset, slot;
};

struct Class {
    std::uint32_t size, align;
    std::uint32_t wire_bytes;  // 0xFFFFFFFF: not the same for all objects
    std::uint32_t vptr_count, member_count;
    const VtablePointer *vptrs;
    const Member *members;
};

struct Layout {
    std::uint32_t pointer_bytes, region_align, class_count, slot_count;
    std::uint64_t wire_hash;
    const Class *classes;
    Reference root;
    const std::uint64_t *slots;  // the values of vtable pointers
};

namespace detail {

template <typename T> inline T load(const std::uint8_t *at) {
    T value;
    std::memcpy(&value, at, sizeof value);
    return value;
}

template <typename T> inline void store(std::uint8_t *at, T value) { std::memcpy(at, &value, sizeof value); }

inline std::uint64_t load_bytes(const std::uint8_t *at, unsigned bytes) {
    switch (bytes) {
    case 1: return *at;
    case 2: return load<std::uint16_t>(at);
    case 4: return load<std::uint32_t>(at);
    default: return load<std::uint64_t>(at);
    }
}

inline void store_bytes(std::uint8_t *at, unsigned bytes, std::uint64_t value) {
    switch (bytes) {
    case 1: *at = static_cast<std::uint8_t>(value); break;
    case 2: store(at, static_cast<std::uint16_t>(value)); break;
    case 4: store(at, static_cast<std::uint32_t>(value)); break;
    default: store(at, value);
    }
}

inline std::uint64_t sign_extend(std::uint64_t value, unsigned bits) {
    if (bits >= 64) return value;
    const std::uint64_t sign = std::uint64_t{1} << (bits - 1);
    return (value ^ sign) - sign;
}

inline bool in_range(const Member &member, std::uint64_t value) {
    if (member.is_signed) {
        const auto number = static_cast<std::int64_t>(value);
        return number >= member.low && number <= member.high;
    }
    // For unsigned numbers, a negative upper bound allows none and a negative lower bound all.
    const std::uint64_t low = member.low < 0 ? 0 : static_cast<std::uint64_t>(member.low);
    return member.high >= 0 && value >= low && value <= static_cast<std::uint64_t>(member.high);
}

inline std::uint64_t align_up(std::uint64_t value, std::uint64_t align) { return (value + align - 1) & ~(align - 1); }

// The bits of a number at any position in memory, a byte at a time: bit-fields may end with their
// object.
inline std::uint64_t load_bits(const std::uint8_t *at, unsigned offset, unsigned size) {
    std::uint64_t value = 0;
    for (unsigned done = 0; done < size;) {
        const unsigned bit = offset + done, within = bit % 8;
        const unsigned take = size - done < 8 - within ? size - done : 8 - within;
        const std::uint64_t part = (at[bit / 8] >> within) & ((1U << take) - 1);
        value |= part << done;
        done += take;
    }
    return value;
}

inline void store_bits(std::uint8_t *at, unsigned offset, unsigned size, std::uint64_t value) {
    for (unsigned done = 0; done < size;) {
        const unsigned bit = offset + done, within = bit % 8;
        const unsigned take = size - done < 8 - within ? size - done : 8 - within;
        const unsigned mask = ((1U << take) - 1) << within;
        at[bit / 8] = static_cast<std::uint8_t>((at[bit / 8] & ~mask) | ((value >> done << within) & mask));
        done += take;
    }
}

}  // namespace detail

// Reads messages with the tables only: every layout, every error with its position. The generated
// code has faster paths for the common cases, and falls back to this one.
class Reader {
public:
    explicit Reader(const Layout &layout) : layout_(layout) {}

    // Makes the objects of a message. `root` is the address that the root pointer points to.
    Status read(const void *message, std::size_t bytes, const Region &region, const Options &options, std::uint64_t &root) {
        begin_ = static_cast<const std::uint8_t *>(message);
        size_ = bytes;
        at_ = 0;
        memory_ = static_cast<std::uint8_t *>(region.memory);
        capacity_ = region.capacity;
        address_ = region.address;
        status_ = Status{};
        if (!region_is_sound(layout_, region)) return {Code::bad_region, 0};
        if ((options.header && !header()) || !types(options) || !objects()) return status_;
        if (at_ != size_) return {Code::trailing_bytes, at_};
        root = address_ + static_cast<std::uint64_t>(layout_.root.adjust_of[type_of(0)]);
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
                default: good = number(member, place);
                }
                if (!good) return false;
            }
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

    bool vector(const Member &member, std::size_t place) {
        const Element &element = *member.element;
        const unsigned word = layout_.pointer_bytes;
        const std::uint64_t length = detail::load<std::uint32_t>(begin_ + at_);
        if (length * element.wire_bytes_min > left() - 4) return fail(Code::length_out_of_range, at_);
        if (length == 0) {
            at_ += 4;
            return true;
        }
        std::size_t content = 0;
        const std::uint64_t bytes = length * element.size;
        if (!take(bytes, element.align, content)) return false;
        at_ += 4;
        std::memset(memory_ + content, 0, static_cast<std::size_t>(bytes));
        const std::uint64_t first = address_ + content;
        detail::store_bytes(memory_ + place, word, first);
        detail::store_bytes(memory_ + place + word, word, first + bytes);
        detail::store_bytes(memory_ + place + 2 * word, word, first + bytes);
        for (std::uint64_t i = 0; i < length; ++i, content += element.size) {
            if (!members(element.members, element.member_count, content)) return false;
        }
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
class Writer {
public:
    explicit Writer(const Layout &layout) : layout_(layout) {}

    Status write(const void *root, std::vector<std::uint8_t> &out, const Options &options) {
        out_ = &out;
        objects_.clear();
        open_.clear();
        table_.assign(64, 0);
        status_ = Status{};
        out.clear();
        if (root == nullptr) return {Code::null_reference, 0};
        open_.push_back({root, &layout_.root});
        while (!open_.empty()) {
            const Pointer next = open_.back();
            open_.pop_back();
            if (!visit(next, options)) return status_;
        }
        if (options.header) {
            static constexpr std::uint8_t fixed[] = {'A', 'S', 'O', 'G', 1, 0, header_bytes, 0};
            out.insert(out.end(), fixed, fixed + sizeof fixed);
            put(layout_.wire_hash, 8);
            put(0, 4);
        }
        const std::size_t count = objects_.size();
        put(count, 4);
        for (std::size_t i = 0; i < count; ++i) put(objects_[i].type, 4);
        for (std::size_t i = 0; i < count; ++i) {
            const Class &of = layout_.classes[objects_[i].type];
            if (!members(of.members, of.member_count, objects_[i].address)) return status_;
        }
        const std::uint64_t body = out.size() - header_bytes;
        if (options.header) {
            if (body > 0xFFFFFFFFU) return {Code::too_large, count};
            detail::store(out.data() + 16, static_cast<std::uint32_t>(body));
        }
        return status_;
    }

private:
    struct Pointer {
        const void *to;
        const Reference *reference;
    };
    struct Found {
        const std::uint8_t *address;
        std::uint32_t type;
    };

    bool fail(Code code) {
        status_ = {code, objects_.size()};
        return false;
    }

    void put(std::uint64_t value, unsigned bytes) {
        for (unsigned i = 0; i < bytes; ++i) out_->push_back(static_cast<std::uint8_t>(value >> (8 * i)));
    }

    // The object that a pointer points into: the class of its vtable, the address of the complete
    // object.
    bool identify(const Pointer &pointer, Found &found) {
        const auto *to = static_cast<const std::uint8_t *>(pointer.to);
        const Reference &reference = *pointer.reference;
        for (std::uint32_t i = 0; i < reference.count; ++i) {
            const Target &target = reference.targets[i];
            if (target.slot < 0 ||
                detail::load_bytes(to, layout_.pointer_bytes) == layout_.slots[target.slot]) {
                found = {to - target.adjust, target.type_id};
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
        if (!identify(pointer, found)) return false;
        std::uint32_t &id = place(found);
        if (id != 0) return true;
        if (objects_.size() >= options.objects_max) return fail(Code::too_many_objects);
        objects_.push_back(found);
        id = static_cast<std::uint32_t>(objects_.size());
        if (2 * objects_.size() > table_.size()) {
            table_.assign(2 * table_.size(), 0);
            for (std::size_t i = 0; i < objects_.size(); ++i) place(objects_[i]) = static_cast<std::uint32_t>(i + 1);
        }
        // The last pointer is pushed first, so that objects are visited in prefix order.
        const Class &of = layout_.classes[found.type];
        const std::size_t first = open_.size();
        pointers(of.members, of.member_count, found.address);
        for (std::size_t i = first, j = open_.size(); i + 1 < j; ++i, --j) std::swap(open_[i], open_[j - 1]);
        return true;
    }

    const std::uint8_t *load_pointer(const std::uint8_t *at) const {
        return reinterpret_cast<const std::uint8_t *>(static_cast<std::uintptr_t>(detail::load_bytes(at, layout_.pointer_bytes)));
    }

    void pointers(const Member *list, std::uint32_t count, const std::uint8_t *object) {
        for (std::uint32_t m = 0; m < count; ++m) {
            const Member &member = list[m];
            const std::uint8_t *place = object + member.offset;
            if (member.kind == Kind::pointer) {
                for (std::uint32_t i = 0; i < member.count; ++i, place += member.bytes) {
                    const std::uint8_t *to = load_pointer(place);
                    if (to != nullptr) open_.push_back({to, member.reference});
                }
            } else if (member.kind == Kind::vector) {
                const std::uint8_t *end = load_pointer(place + layout_.pointer_bytes);
                for (const std::uint8_t *at = load_pointer(place); at != end; at += member.element->size) {
                    pointers(member.element->members, member.element->member_count, at);
                }
            }
        }
    }

    bool members(const Member *list, std::uint32_t count, const std::uint8_t *object) {
        for (std::uint32_t m = 0; m < count; ++m) {
            const Member &member = list[m];
            const std::uint8_t *place = object + member.offset;
            for (std::uint32_t i = 0; i < member.count; ++i, place += member.bytes) {
                if (!one(member, place)) return false;
            }
        }
        return true;
    }

    bool one(const Member &member, const std::uint8_t *place) {
        const unsigned word = layout_.pointer_bytes;
        switch (member.kind) {
        case Kind::pointer: {
            const std::uint8_t *to = load_pointer(place);
            Found found{};
            if (to == nullptr) {
                if (!member.reference->nullable) return fail(Code::null_reference);
                put(null_id, 4);
            } else {
                if (!identify({to, member.reference}, found)) return false;
                put(this->place(found) - 1, 4);
            }
            return true;
        }
        case Kind::string: {
            const std::uint64_t length = detail::load_bytes(place + word, word);
            if (length >= null_id) return fail(Code::too_large);
            put(length, 4);
            const std::uint8_t *content = load_pointer(place);
            out_->insert(out_->end(), content, content + length);
            return true;
        }
        case Kind::vector: {
            const std::uint8_t *begin = load_pointer(place), *end = load_pointer(place + word);
            const std::size_t length = static_cast<std::size_t>(end - begin) / member.element->size;
            if (length >= null_id) return fail(Code::too_large);
            put(length, 4);
            for (const std::uint8_t *at = begin; at != end; at += member.element->size) {
                if (!members(member.element->members, member.element->member_count, at)) return false;
            }
            return true;
        }
        case Kind::bits: {
            const std::uint64_t value = detail::load_bits(place, member.bit_offset, member.bit_size);
            put(member.is_signed ? detail::sign_extend(value, member.bit_size) : value, member.wire_bytes);
            return true;
        }
        default: return number(member, place);
        }
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
    std::vector<std::uint8_t> *out_ = nullptr;
    std::vector<Found> objects_;
    std::vector<Pointer> open_;
    std::vector<std::uint32_t> table_;
    Status status_;
};

}  // namespace arrowsmith::graph
