// SPDX-License-Identifier: Apache-2.0
//! Layouts of compiled programs: supported classes, and classes refused by name. Needs g++, like
//! other tests of the project that need a compiler.

use std::path::Path;

use arrowsmith_graph::Layout;
use arrowsmith_graph::generate;
use arrowsmith_graph::layout::{Annotations, Options, from_object};

use super::compile::Folder;

fn options(root: &str) -> Options {
    Options { root: root.into(), ..Options::default() }
}

#[test]
fn the_examples_give_the_layouts_that_are_kept() {
    let folder = Folder::new("examples");
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/objects");
    for (name, root) in [("expression", "Node"), ("scene", "Scene")] {
        let source = examples.join(name).join(format!("{name}.cpp"));
        let text = format!("#include \"{}\"\n", source.display());
        let extracted = from_object(&folder.compile(&text, &[]), &options(root)).unwrap();
        let kept = std::fs::read_to_string(examples.join(name).join("layout-x86_64.json")).unwrap();
        let mut kept = Layout::from_json(&kept).unwrap();
        kept.target.compiler.clone_from(&extracted.layout.target.compiler);
        if extracted.layout.target.arch == "x86_64" {
            assert_eq!(extracted.layout, kept);
        }
        assert_eq!(Layout::from_json(&extracted.layout.to_json()).unwrap(), extracted.layout);
        let generated = generate::Options { name: "x".into(), includes: Vec::new() };
        let files = generate::cpp(&extracted.layout, &generated).unwrap();
        assert_eq!(files, generate::cpp(&extracted.layout, &generated).unwrap());
        assert_eq!(files.len(), 3);
    }
}

#[test]
fn what_cannot_be_sent_is_refused_by_name() {
    let folder = Folder::new("refused");
    let cases = [
        ("union { int a; float b; } u;", "T::u: is a union"),
        ("int &r; T(int &r) : r(r) {}", "T::r: is a reference"),
        ("int *p;", "T::p: points to int"),
        ("void *p;", "T::p: points to an unknown type"),
        ("void (*f)();", "T::f: points to"),
        ("int T::*m;", "T::m: is of a kind"),
        ("long double d;", "T::d: is a long double"),
        ("__int128 i;", "T::i: is a __int128"),
        ("std::vector<bool> v;", "T::v: is a vector<bool>"),
        ("std::weak_ptr<T> s;", "T::s: is a std::weak_ptr<T>"),
        ("std::vector<int *> v;", "T::v[]: points to int"),
        (
            "struct Inner { std::wstring w; } inner;",
            "T::inner.w: is a std::__cxx11::basic_string<wchar_t",
        ),
        ("struct Other; Other *o;", "T::Other: is only declared"),
        ("typedef struct { int a; } U; U *u;", "(unnamed): is a class without a name"),
        ("int i; // arrowsmith: wire 8", "cannot be sent as 8"),
        ("int i; // arrowsmith: transent", "annotation `transent` is not known"),
        ("int i; // arrowsmith: not-null", "T::i: has an annotation that does not apply"),
    ];
    for (member, expected) in cases {
        let text = format!(
            "#include <memory>\n#include <string>\n#include <vector>\nstruct T {{\n{member}\n}};\nint f(T *t) {{ return sizeof *t; }}\n"
        );
        let error = from_object(&folder.compile(&text, &[]), &options("T")).unwrap_err();
        assert!(error.to_string().contains(expected), "{member}: {error}");
    }
    let virtual_base =
        "struct A { virtual ~A(); int a; }; struct T : virtual A { int t; }; A::~A() {} T t;";
    let error = from_object(&folder.compile(virtual_base, &[]), &options("T")).unwrap_err();
    assert!(error.to_string().contains("T: has the virtual base A"), "{error}");
    let hidden = "namespace { struct T { virtual ~T() {} int t; }; } T t; int f() { return t.t; }";
    let error = from_object(&folder.compile(hidden, &[]), &options("T")).unwrap_err();
    assert!(error.to_string().contains("for which other files have no name"), "{error}");
    let none = folder.compile("struct T {} t;", &["-g0"]);
    assert!(
        from_object(&none, &options("T")).unwrap_err().to_string().contains("compile it with -g")
    );
    assert!(from_object(b"MZ", &options("T")).is_err());
}

#[test]
fn packing_alignment_and_bit_fields_are_as_the_compiler_has_them() {
    let folder = Folder::new("packed");
    let text = "enum E : short { minus = -3, plus = 5 }; enum F { from = -3, to = 5 };\n\
                #pragma pack(push, 1)\nstruct P { char c; long long l; E e; };\n#pragma pack(pop)\n\
                struct alignas(32) T { P p[2]; unsigned a : 3, : 4, b : 30; bool f : 1; F e : 5; int m[2][3]; };\nT t;\n";
    let layout = from_object(&folder.compile(text, &[]), &options("T")).unwrap().layout;
    let class = layout.class("T").unwrap();
    assert_eq!((class.size % 32, class.align), (0, 32));
    let member = |name: &str| class.members.iter().find(|m| m.name == name).unwrap();
    assert_eq!(member("p[1].l").offset, 12);
    assert_eq!(member("m").count, 6);
    let json = layout.to_json();
    assert!(
        json.contains("\"bit_size\": 30")
            && json.contains("\"range\": [\n            -8,\n            7"),
        "{json}"
    );
}

#[test]
fn annotations_of_a_file_are_followed_and_checked() {
    let folder = Folder::new("annotations");
    let text = "struct N { virtual ~N(); N *next; int cache, kind; }; struct M : N { int m; };\n\
                N::~N() {} N n; M m;\n";
    let object = folder.compile(text, &[]);
    let read = |toml: &str| {
        let annotations = Annotations::from_toml(toml)?;
        from_object(&object, &Options { root: "N".into(), annotations, no_comments: true })
    };
    let toml = "[class.N]\ntransient = [\"cache\"]\ntype = 0\n[class.N.member.kind]\nwire = 1\nrange = [0, 9]\n\
                [class.N.member.next]\nnot-null = true\n[class.M]\nskip = true\n";
    let layout = read(toml).unwrap().layout;
    assert_eq!(layout.classes.len(), 1);
    assert_eq!(layout.wire_schema(), "root ref 0\nclass 0 N\n next 1 ref 0\n kind 1 int8 0..9\n");
    let fails = |toml: &str, expected: &str| {
        let error = read(toml).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    };
    fails(
        "[class.N]\ntransient = [\"none\"]",
        "none: is annotated as transient, but is not a member",
    );
    fails("[class.N]\ntype = 7", "ids must be below 2");
    fails("[class.N]\ntype = 0\n[class.M]\ntype = 0", "has type id 0, and so has");
    fails("[class.Gone]\nskip = true", "Gone: is annotated");
    fails("[class.N]\nskipp = true", "skipp");
    fails("[class.N]\nskip = true\n[class.M]\nskip = true", "no class with objects");
}

/// Broken files are errors, never panics or endless loops.
#[test]
fn broken_object_files_are_answered() {
    let folder = Folder::new("broken");
    let text = "#include <string>\n#include <vector>\nstruct A { virtual ~A(); int a[3]; }; struct B { virtual ~B(); std::string s; };\n\
                struct T : A, B { std::vector<A *> v; enum { x, y } e; unsigned b : 3; };\nA::~A() {} B::~B() {} T t;\n";
    let object = folder.compile(text, &[]);
    assert!(from_object(&object, &options("A")).is_ok());
    let mut state = 0x2545_F491_4F6C_DD1D_u64;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state >> 16).unwrap()
    };
    for _ in 0..600 {
        let mut broken = object.clone();
        for _ in 0..1 + next() % 8 {
            let at = next() % broken.len();
            broken[at] = next().to_le_bytes()[0];
        }
        if next() % 8 == 0 {
            broken.truncate(next() % broken.len());
        }
        let _ = from_object(&broken, &options("A"));
    }
}
