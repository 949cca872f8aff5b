// SPDX-License-Identifier: Apache-2.0
// A program with the names that the generated code and its runtime have, and the C library's.
#pragma once

#include <ctime>
#include <memory>
#include <strings.h>
#include <vector>

// clang-format off
struct Layout { int a; };
struct Region { int a; };
struct Status { int a; };
struct Member { int a; };
struct Target { int a; };
struct Reference { int a; };
struct Options { int a; };
struct Code { int a; };
struct Class { int a; };
struct Kind { virtual ~Kind() = default; int a = 0; };
struct Element { int a; };
struct VtablePointer { int a; };
struct Reader { int a; };
struct Writer { int a; };
struct State { int a; };
struct Classes { int a; };
struct Message { int a; };
struct Root { int a; };
// clang-format on
namespace fast {
struct State {
    int a;
};
}  // namespace fast
namespace graph {
struct Region {
    int a;
};
}  // namespace graph
namespace detail {
enum class Code : unsigned char { ok };
}
extern int class_table, root_reference, members_1, element_1, vptrs_0, reference_0, targets_of_reference_0;
extern int vtable_0, null_id, header_bytes, region_align;
int vtable_pointers();
int layout();
int state();
int read(int);
int write(int);
int region_bytes();

template <typename T> struct Named {
    T value;
};

struct Names {
    Layout layout;
    Region region;
    Status status;
    Member member;
    Target target;
    Reference reference;
    Options options;
    Code code;
    Class of;
    Element element;
    VtablePointer pointer;
    Reader reader;
    Writer writer;
    State state;
    Classes classes;
    Message message;
    fast::State fast;
    graph::Region there;
    detail::Code which;
    std::unique_ptr<Kind> kind;
    std::vector<Status> list;
    Root *root;
    Layout *to;
    Named<Message> *named;
};
