// SPDX-License-Identifier: Apache-2.0
//! Types of the standard library: a program that uses them all, its generated reader under
//! sanitizers, the reader of this crate on the same messages, and Arrow.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch, StructArray, make_array};
use arrow_buffer::NullBuffer;
use arrow_schema::{Fields, Schema};
use arrowsmith_graph::arrow::{Batches, messages};
use arrowsmith_graph::generate;
use arrowsmith_graph::layout::{Layout, Options, from_object};
use arrowsmith_graph::wire::{self, Graph, Reader};

use super::compile::{Folder, has};

/// Builds the program with a compiler, runs it, and returns its layout and messages with the code
/// and position of each.
fn run(compiler: &str, flags: &[&str]) -> (Layout, Vec<(Vec<u8>, u64, u64)>) {
    let folder = Folder::new(&format!("types-{compiler}-{}", flags.len()));
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/cpp");
    let text = "#include \"types.hpp\"\nTypes types; Big big;\n";
    let include = format!("-I{}", here.display());
    let plain = flags.iter().copied().filter(|flag| !flag.contains("sanitize"));
    let plain: Vec<&str> = plain.chain([include.as_str()]).collect();
    let object = folder.compile_with(compiler, text, &plain);
    let options = Options { root: "Types".into(), ..Options::default() };
    let layout = from_object(&object, &options).unwrap().layout;
    let options =
        generate::Options { name: "wire_types".into(), includes: vec!["types.hpp".into()] };
    for file in generate::cpp(&layout, &options).unwrap() {
        std::fs::write(folder.0.join(file.name), file.text).unwrap();
    }
    let headers = here.join("../../../../../cpp/include");
    let (program, cases) = (folder.0.join("run"), folder.0.join("cases"));
    let built = Command::new(compiler)
        .args(["-std=c++17", "-Wall", "-Wextra", "-Werror", "-Wno-unknown-warning-option", "-o"])
        .arg(&program)
        // What the compiler takes for uninitialized is the payload of an empty optional.
        .arg("-Wno-maybe-uninitialized")
        .args(flags)
        .arg(&include)
        .arg(format!("-I{}", headers.display()))
        .arg(format!("-I{}", folder.0.display()))
        .args([here.join("types.cpp"), folder.0.join("wire_types.cpp"), folder.0.join("t.o")])
        .status()
        .unwrap();
    assert!(built.success());
    assert!(Command::new(&program).arg(&cases).status().unwrap().success());
    let bytes = std::fs::read(cases).unwrap();
    let mut rest = bytes.as_slice();
    let mut found = Vec::new();
    while !rest.is_empty() {
        let mut word = || {
            let (word, behind) = rest.split_first_chunk().unwrap();
            rest = behind;
            u64::from_le_bytes(*word)
        };
        let (length, code, position) = (word(), word(), word());
        let (message, behind) = rest.split_at(usize::try_from(length).unwrap());
        rest = behind;
        found.push((message.to_vec(), code, position));
    }
    (layout, found)
}

fn compare(layout: &Layout, cases: &[(Vec<u8>, u64, u64)]) {
    let mut reader = Reader::new(layout.clone(), &[]);
    let options = wire::Options::default();
    let mut accepted = 0;
    for (message, code, position) in cases {
        let read = reader.read(message, &mut vec![0; 8_192], 0x10000, options);
        let ours = read.map_or_else(|e| (u64::from(e.code.number()), e.position), |_| (0, 0));
        assert_eq!(ours, (*code, *position), "{message:?}");
        if *code == 0 && accepted < 500 {
            accepted += 1;
            let graph = Graph::decode(layout, message, options).unwrap();
            assert_eq!(graph.encode(layout, false).unwrap(), *message);
            let mut batches = Batches::new(layout.clone());
            batches.push(message, options).unwrap();
            let batches = batches.finish().unwrap();
            assert_eq!(messages(layout, &batches, false).unwrap(), std::slice::from_ref(message));
        }
    }
    assert!(accepted > 100);
}

#[test]
fn types_of_the_library_are_sent_and_attacked() {
    let sanitized = ["-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"];
    let (layout, cases) = run("g++", &sanitized);
    compare(&layout, &cases);
    // An optional is nullable, a variant a struct with the number of its alternative.
    let mut batches = Batches::new(layout.clone());
    for (message, code, _) in cases.iter().take(5) {
        assert_eq!(*code, 0);
        batches.push(message, wire::Options::default()).unwrap();
    }
    let batches = batches.finish().unwrap();
    let types = layout.classes.iter().position(|class| class.name == "Types").unwrap();
    let column = |name: &str| batches[types].column_by_name(name).unwrap();
    assert_eq!(column("count").data_type(), &arrow_schema::DataType::Int32);
    assert!(column("count").null_count() < 5);
    let any = column("any").as_struct();
    assert_eq!(any.column_names()[..2], ["which", "0: std::monostate"]);
    assert!(column("tuple").as_struct().column_by_name("2").is_some());
    // Nulls where no message has any, with values below them.
    let without = |array: &ArrayRef| {
        let nulls = NullBuffer::new_null(array.len());
        make_array(array.to_data().into_builder().nulls(Some(nulls)).build().unwrap())
    };
    let nullable = |fields: &Fields| -> Fields {
        fields.iter().map(|field| field.as_ref().clone().with_nullable(true)).collect()
    };
    let refused = |name: &str, with: ArrayRef| {
        let mut changed = batches.clone();
        let fields = nullable(changed[types].schema().fields());
        let schema = changed[types].schema().as_ref().clone();
        let schema = Arc::new(Schema::new_with_metadata(fields, schema.metadata));
        let mut columns = changed[types].columns().to_vec();
        columns[schema.index_of(name).unwrap()] = with;
        changed[types] = RecordBatch::try_new(schema, columns).unwrap();
        messages(&layout, &changed, false).unwrap_err().to_string()
    };
    let alternatives = any.columns().iter().enumerate();
    let alternatives = alternatives.map(|(at, array)| match at {
        0 => Arc::clone(array),
        _ => without(array),
    });
    let nothing = StructArray::new(any.fields().clone(), alternatives.collect(), None);
    let error = refused("any", Arc::new(nothing));
    assert!(error.contains("has a variant whose alternative is null"), "{error}");
    for name in ["message", "id"] {
        let error = refused(name, without(column(name)));
        assert!(error.contains("has rows without a message or an id"), "{error}");
    }
}

#[test]
fn types_of_the_library_are_sent_with_other_word_sizes_and_compilers() {
    let m32 = ["-m32", "-O1", "-idirafter", "/usr/include/x86_64-linux-gnu"];
    for (compiler, flags, part) in [("g++", &m32[..], "m32"), ("clang++", &["-O2"], "clang")] {
        if !has(part) {
            continue;
        }
        let (layout, cases) = run(compiler, flags);
        compare(&layout, &cases);
    }
}

/// g++ writes these as numbers of as few bytes as they need, clang++ with their signs.
#[test]
fn enumerators_have_the_values_that_the_program_gives_them() {
    let text = "enum A { none = 1, admin = 128 };\nenum B { low = -1, high = 127 };\n\
                enum class C : unsigned char { last = 200 };\nenum D : short { from = -300 };\n\
                enum class E : unsigned { all = 0xffffffff };\n\
                struct T { A a; B b; C c; D d; E e; };\nint f(T *t) { return sizeof *t; }\n";
    let folder = Folder::new("enumerators");
    let mut schemas = Vec::new();
    for compiler in ["g++", "clang++"] {
        if compiler == "clang++" && !has("clang") {
            continue;
        }
        let object = folder.compile_with(compiler, text, &[]);
        let options = Options { root: "T".into(), ..Options::default() };
        let layout = from_object(&object, &options).unwrap().layout;
        let json = layout.to_json();
        for named in ["\"admin\"", "128", "200", "4294967295", "-300", "-1"] {
            assert!(json.contains(named), "{named} of {compiler}: {json}");
        }
        schemas.push(layout.wire_schema());
    }
    assert!(schemas[0].contains(" a 1 uint32 0..255\n"), "{}", schemas[0]);
    assert!(schemas[0].contains(" b 1 int32 -128..127\n"), "{}", schemas[0]);
    assert!(schemas.iter().all(|schema| *schema == schemas[0]), "{schemas:?}");
}

#[test]
fn what_is_not_sent_of_the_library_is_refused_with_the_reason() {
    let folder = Folder::new("refused-types");
    let text = "#include <filesystem>\n#include <memory>\n#include <variant>\n\
                struct V { virtual ~V() {} int a; };\n\
                struct T { std::weak_ptr<T> w; std::filesystem::path p; std::unique_ptr<T[]> a;\n\
                std::variant<int, V> v; };\nint f(T *t) { return sizeof *t; }\n";
    let options = Options { root: "T".into(), ..Options::default() };
    let error = from_object(&folder.compile(text, &[]), &options).unwrap_err().to_string();
    for expected in [
        "T::w: is a std::weak_ptr<T>, which owns nothing",
        "T::p: is a std::filesystem::__cxx11::path, which keeps its parsed parts",
        "T::a: is a std::unique_ptr<T [], ",
        "T::v: is an object with virtual functions held by value",
    ] {
        assert!(error.contains(expected), "{expected}: {error}");
    }
}
