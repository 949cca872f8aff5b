// SPDX-License-Identifier: Apache-2.0
//! Programs as people write them: what is refused is listed at once, what is lost is said, and the
//! generated names meet none of the program's.

use std::path::Path;
use std::process::Command;

use arrowsmith_graph::generate::{self, default_name};
use arrowsmith_graph::layout::{Annotations, Kind, Layout, Member, Options, from_object};

use super::compile::{Folder, compilers, has};

fn options(root: &str) -> Options {
    Options { root: root.into(), ..Options::default() }
}

fn layout(folder: &Folder, text: &str, root: &str) -> Layout {
    from_object(&folder.compile(text, &[]), &options(root)).unwrap().layout
}

#[test]
fn all_refusals_are_listed_in_one_run() {
    let folder = Folder::new("all-refusals");
    let text = "struct In { int &a; In(int &r) : a(r) {} };\n\
                struct B { void *p; };\n\
                struct T { long double d; int ok; In in; B *b; union { int x; float y; }; };\n\
                int f(T *t) { return sizeof *t; }\n";
    let error = from_object(&folder.compile(text, &[]), &options("T")).unwrap_err().to_string();
    assert!(error.starts_with("4 members and classes cannot be sent:\n"), "{error}");
    for expected in ["T::d: is a long double", "T::in.a: is a reference", "B::p: points to"] {
        assert!(error.contains(expected), "{error}");
    }
    assert!(error.contains("T::(x, y): is a union"), "{error}");
}

/// What comes after a refused class, member or alternative is refused in the same run.
#[test]
fn refusals_do_not_hide_others() {
    let folder = Folder::new("hidden-refusals");
    let text = "#include <variant>\nstruct V { virtual ~V(); int a; }; V::~V() {}\n\
                struct Shared : virtual V { void *x; };\n\
                struct Base { int &r; Base(int &q) : r(q) {} };\n\
                struct Derived : Base { long double d; Derived(int &q) : Base(q) {} };\n\
                struct One : V { int b; }; struct Two : V { int c; }; struct Both : One, Two { int d; };\n\
                struct T { V *v; std::variant<int *, long double, char> any; Derived *derived;\n\
                int i; // arrowsmith: wire 3\nint j; // arrowsmith: range 5..2\n\
                int k; // arrowsmith: one; two\nunsigned l : 3; // arrowsmith: range 5..2\n\
                void (*call)(); };\n\
                int f(T *t, Derived *d) { return sizeof *t + sizeof *d; } Shared s; Both b; One o; Two w;\n";
    let notes = "[class.T]\ntransient = [\"y\", \"z\"]\n[class.Gone]\nskip = true\n\
                 [class.One]\ntype = 1\n[class.Two]\ntype = 1\n[class.T.member.ii]\nwire = 1\n";
    let annotations = Annotations::from_toml(notes).unwrap();
    let object = folder.compile(text, &[]);
    let options = Options { annotations, ..options("T") };
    let error = from_object(&object, &options).unwrap_err().to_string();
    let expected = [
        "Shared: has the virtual base V",
        "Shared::x: points to an unknown type",
        "Derived::r: is a reference",
        "Derived::d: is a long double",
        "T::v: may point to a Both, which has several bases V",
        "T::any: points to int",
        "T::any: is a long double",
        "T::i: 4 bytes cannot be sent as 3",
        "T::j: has a range without values",
        "T::k: annotation `one` is not known",
        "T::k: annotation `two` is not known",
        "T::l: has a range without values",
        "T::call: points to a function",
        "T::y: is annotated as transient, but is not a member",
        "T::z: is annotated as transient, but is not a member",
        "T::ii: is annotated, but is not a member",
        "Gone: is annotated, but is not a class that the debug information defines",
        "Two: has type id 1, and so has One",
    ];
    for line in expected {
        assert!(error.contains(&format!("\n  {line}")), "{line}: {error}");
    }
    assert!(error.starts_with(&format!("{} members and classes", expected.len())), "{error}");
}

/// `[class.Box.member.a]` annotates the member of every instance of the template `Box`.
#[test]
fn members_of_templates_are_annotated_once() {
    let folder = Folder::new("template-notes");
    let text = "template <typename A> struct Box { A a; int b; };\n\
                struct T { Box<short> s; Box<int> i; }; T t;\n";
    let annotations = Annotations::from_toml("[class.Box.member.b]\nwire = 1\n").unwrap();
    let options = Options { annotations, ..options("T") };
    let made = from_object(&folder.compile(text, &[]), &options).unwrap().layout;
    let widths: Vec<u32> = made.classes[0].members.iter().map(Member::wire_bytes).collect();
    assert_eq!(widths, [2, 1, 4, 1]);
}

#[test]
fn an_unnamed_union_is_made_transient_by_a_member_or_a_comment() {
    let folder = Folder::new("unnamed-union");
    let unions = "union { int x; double y; };\nint n; };\nT t;\n";
    let object = folder.compile(&format!("struct T {{ int m; {unions}"), &[]);
    let notes = "[class.T]\ntransient = [\"y\"]\n";
    let annotations = Annotations::from_toml(notes).unwrap();
    let made = from_object(&object, &Options { annotations, ..options("T") }).unwrap().layout;
    assert_eq!(made.wire_schema(), "root ref 0\nclass 0 T\n m 1 int32\n n 1 int32\n");
    assert_eq!((made.classes[0].size, made.classes[0].align), (24, 8));
    let text = format!("struct T {{ int m;\n// arrowsmith: transient\n{unions}");
    assert_eq!(layout(&folder, &text, "T").classes[0].members, made.classes[0].members);
    let absent = Annotations::from_toml("[class.T]\ntransient = [\"z\"]\n").unwrap();
    assert!(from_object(&object, &Options { annotations: absent, ..options("T") }).is_err());
}

#[test]
fn slicing_by_a_base_without_vtable_is_said() {
    let folder = Folder::new("slicing");
    let text = "struct Base { int a; }; struct More : Base { int b; };\n\
                struct T { Base *p; }; T t; More m;\n";
    let notes = from_object(&folder.compile(text, &[]), &options("T")).unwrap().notes;
    let said = |note: &String| note.starts_with("Base: has no vtable") && note.contains("(More)");
    assert!(notes.len() == 1 && notes.iter().all(said), "{notes:?}");
}

/// Every value of a fixed underlying type is one of the enumeration: flags combine.
#[test]
fn scoped_enumerations_have_the_values_of_their_type() {
    let folder = Folder::new("scoped");
    let text = "enum class Flags : unsigned char { a = 1, b = 2 }; enum class On : bool { no, yes };\n\
                enum Plain { p = 5 }; struct T { Flags f; On o; Plain p; Flags g : 3; }; T t;\n";
    let made = layout(&folder, text, "T");
    let ranges = made.classes[0].members.iter().map(|member| match &member.kind {
        Kind::Integer(integer) => integer.range,
        Kind::Bits(bits) => bits.range,
        _ => panic!("an enumeration is an integer"),
    });
    assert_eq!(ranges.collect::<Vec<_>>(), [None, Some([0, 1]), Some([0, 7]), None]);
}

/// Without `class`, a type that compilers do not choose themselves must have been written.
#[test]
fn enumerations_with_a_written_type_have_all_of_its_values() {
    let folder = Folder::new("fixed");
    let text = "#include <cstdint>\nenum Byte : std::uint8_t { a = 1 }; enum Short : short { b };\n\
                enum Sized : std::uint32_t { c }; enum Long : long long { d };\n\
                enum Signed : int { e }; enum Text : char32_t { f }; enum On : bool { g };\n\
                enum Plain { h = 5 }; enum Minus { i = -1 }; enum Wide { j = 1LL << 40 };\n\
                enum Same : unsigned { k = 5 }; enum Huge { l = 0xffffffffffffffff };\n\
                struct T { Byte a; Short b; Sized c; Long d; Signed e; Text f; On g; Plain h; Minus i;\n\
                Wide j; Same k; Huge l; }; T t;\n";
    let m32 = has("m32").then_some(("g++", &["-m32"][..]));
    let clang = has("clang").then_some(("clang++", &[][..]));
    let compilers = [("g++", &[][..]), ("g++", &["-gdwarf-4"])].into_iter().chain(m32).chain(clang);
    for (compiler, flags) in compilers {
        let object = folder.compile_with(compiler, text, flags);
        let made = from_object(&object, &options("T")).unwrap().layout;
        let ranges = made.classes[0].members.iter().map(|member| match &member.kind {
            Kind::Integer(integer) => integer.range,
            _ => panic!("an enumeration is an integer"),
        });
        let ranges: Vec<Option<[i64; 2]>> = ranges.collect();
        assert_eq!(ranges[..7], [None, None, None, None, None, None, Some([0, 1])]);
        // As the compiler would have chosen, so perhaps not written: the enumerators decide.
        let held = [Some([0, 7]), Some([-1, 0]), Some([0, (2 << 40) - 1]), Some([0, 7]), None];
        assert_eq!(ranges[7..], held, "{compiler} {flags:?}");
    }
}

#[test]
fn names_of_the_program_are_not_generated_again() {
    let folder = Folder::new("names");
    let text = "namespace app { struct Message { int a; }; } struct Root { app::Message m, *p; };\n\
                Root r;\n";
    let made = layout(&folder, text, "Root");
    let fails = |name: &str, includes: &[&str], expected: &str| {
        let includes = includes.iter().map(|&include| include.to_owned()).collect();
        let options = generate::Options { name: name.into(), includes };
        let error = generate::cpp(&made, &options).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    };
    fails("app", &[], "is the namespace of the program's app::Message");
    fails("Root", &[], "is the name of a class");
    fails("foo", &["src/foo.hpp"], "the name of src/foo.hpp");
    fails("class", &[], "is a word of C++");
    fails("a-b", &[], "is not a name of C++");
    let chosen = |stem: &str| default_name(stem, &made, &["foo.hpp".to_owned()]);
    let names = ["app", "foo", "class", "x-y", "3d"].map(chosen);
    let expected = ["app", "foo", "class", "x_y", "_3d"].map(|stem| format!("{stem}_messages"));
    assert_eq!(names, expected);
    // Where those are names of the program, too.
    let header = ["src/foo_messages.hpp".to_owned(), "foo_messages_2.hpp".to_owned()];
    assert_eq!(default_name("foo", &made, &header), "foo_messages_3");
    for name in names {
        let options = generate::Options { name, includes: Vec::new() };
        assert!(generate::cpp(&made, &options).is_ok());
    }
}

/// Writes the generated files for a header of `tests/suite/cpp`, and compiles them with every
/// compiler that is there.
fn generated_compiles(folder: &Folder, header: &str, objects: &str, root: &str, name: &str) {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/cpp");
    let include = format!("-I{}", here.display());
    let text = format!("#include \"{header}\"\n{objects}\n");
    let made = from_object(&folder.compile(&text, &[&include]), &options(root)).unwrap().layout;
    let options = generate::Options { name: name.into(), includes: vec![header.into()] };
    for file in generate::cpp(&made, &options).unwrap() {
        std::fs::write(folder.0.join(file.name), file.text).unwrap();
    }
    for (compiler, language) in compilers() {
        let built = Command::new(compiler)
            .args(["-Wall", "-Wextra", "-Werror", "-fsyntax-only", language, &include])
            .arg(format!("-I{}", here.join("../../../../../cpp/include").display()))
            .arg(folder.0.join(format!("{name}.cpp")))
            .status()
            .unwrap();
        assert!(built.success(), "{compiler} {language}");
    }
}

#[test]
fn classes_may_have_the_names_of_the_runtime() {
    let objects = "Names names; Named<Message> named; Kind kind;";
    generated_compiles(&Folder::new("runtime-names"), "names.hpp", objects, "Names", "messages");
}

/// The default name is neither that of a function of the C library nor that of the program's
/// header, which the generated one then includes, or is found in place of.
#[test]
fn default_names_meet_none_of_the_program_or_the_library() {
    let folder = Folder::new("default-name");
    let object = folder.compile("struct index { int a; } i;", &[]);
    let made = from_object(&object, &options("index")).unwrap().layout;
    for stem in ["time", "index"] {
        let name = default_name(stem, &made, &[]);
        generated_compiles(&folder, "time.hpp", "struct index i;", "index", &name);
        assert!(!folder.0.join("time.hpp").exists());
    }
}

/// Without `--include` the root is declared as the program declares it, before or after.
#[test]
fn the_root_is_declared_as_in_the_program() {
    let folder = Folder::new("declared");
    let text = "#pragma once\nstruct A { int a; };\nclass B { public: int b; };\n\
                namespace n { struct C { int c; }; }\nstruct Outer { struct D { int d; } d; };\n\
                template <typename V> struct E { V e; };\n";
    std::fs::write(folder.0.join("own.hpp"), text).unwrap();
    let objects = format!("{text}A a; B b; n::C c; Outer o; E<int> e;\n");
    let object = folder.compile(&objects, &[]);
    let cpp_include = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../cpp/include");
    for (root, class) in
        [("A", "A"), ("B", "B"), ("n::C", "n::C"), ("Outer::D", "void"), ("E<int>", "void")]
    {
        let made = from_object(&object, &options(root)).unwrap().layout;
        let options = generate::Options { name: "root".into(), includes: Vec::new() };
        for file in generate::cpp(&made, &options).unwrap() {
            std::fs::write(folder.0.join(file.name), file.text).unwrap();
        }
        for (compiler, language) in compilers().into_iter().step_by(2) {
            for order in [["own.hpp", "root.hpp"], ["root.hpp", "own.hpp"]] {
                let user = folder.0.join("user.cpp");
                let [first, second] = order.map(|header| format!("#include \"{header}\"\n"));
                let uses = format!("static_assert(sizeof(root::Root *) == sizeof({class} *));\n");
                std::fs::write(&user, first + &second + &uses).unwrap();
                let built = Command::new(compiler)
                    .args(["-Wall", "-Wextra", "-Werror", "-fsyntax-only", language])
                    .arg(format!("-I{}", cpp_include.display()))
                    .args([user, folder.0.join("root.cpp")])
                    .status()
                    .unwrap();
                assert!(built.success(), "{root}: {compiler} {language}");
            }
        }
    }
}

/// A chosen name is compared with all that the program names, and headers that no include gives.
#[test]
fn chosen_names_are_those_of_no_function_and_no_header() {
    let folder = Folder::new("chosen-name");
    std::fs::write(folder.0.join("shop.hpp"), "struct Shop { int a; };\n").unwrap();
    let before = format!("{}struct Order {{ int a; }};\n", generate::GENERATED);
    std::fs::write(folder.0.join("made.hpp"), before).unwrap();
    let text = "#include \"shop.hpp\"\n#include \"made.hpp\"\n#include <ctime>\n\
                namespace inner { int hidden; } int counter; using Money = int; enum { red };\n\
                enum class Scoped { blue }; static Scoped s;\n\
                struct T { Shop shop; Order order; Money m; }; T t;\n\
                int sum(int local) { return t.m + inner::hidden + counter + red + int(s) + local; }\n";
    let names = from_object(&folder.compile(text, &[]), &options("T")).unwrap().names;
    for taken in ["time", "sum", "counter", "Money", "red", "Scoped", "T", "shop"] {
        let error = generate::check_name(taken, &names).unwrap_err().to_string();
        let expected = if taken == "shop" { "shop.hpp" } else { "is a name of the program" };
        assert!(error.contains(expected) && error.contains("--name"), "{taken}: {error}");
    }
    for free in ["made", "hidden", "blue", "local", "shop_messages"] {
        assert!(generate::check_name(free, &names).is_ok(), "{free}");
    }
}

#[test]
fn other_forms_of_debug_information_are_named() {
    let folder = Folder::new("forms");
    let text = "struct T { int a; }; T t; int main() { return t.a; }\n";
    for (flags, expected) in [
        (&["-gz"][..], "compile it without -gz"),
        (&["-gsplit-dwarf", "-gdwarf-5"], "without -gsplit-dwarf"),
        (&["-gsplit-dwarf", "-gdwarf-4"], "without -gsplit-dwarf"),
        (&["-flto", "-fno-fat-lto-objects"], "-flto"),
    ] {
        let error = from_object(&folder.compile(text, flags), &options("T")).unwrap_err();
        assert!(error.to_string().contains(expected), "{flags:?}: {error}");
    }
    let error = from_object(b"BC\xC0\xDE\0\0\0\0", &options("T")).unwrap_err();
    assert!(error.to_string().contains("LLVM bitcode (-flto)"), "{error}");
}
