// SPDX-License-Identifier: Apache-2.0
//! Containers of the library: the example that has them all, its reader and that of this crate on
//! the same messages; what is refused; and what they are in Arrow. `examples/objects/check.sh` does
//! the first with sanitizers, other compilers and word sizes.

use std::path::Path;
use std::process::Command;

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_schema::DataType;
use arrowsmith_graph::Code;
use arrowsmith_graph::arrow::{Batches, messages};
use arrowsmith_graph::generate;
use arrowsmith_graph::layout::{Annotations, Layout, Options, from_object};
use arrowsmith_graph::wire::{self, Graph, Reader, Value, WireError};

use super::compile::Folder;

fn options(root: &str) -> Options {
    Options { root: root.into(), ..Options::default() }
}

/// A message that the example has read: with the region's size, the answer, and a hash of what is
/// in the region.
struct Case {
    message: Vec<u8>,
    capacity: u64,
    code: u64,
    position: u64,
    root: u64,
    hash: u64,
}

/// The layout of the example, the address of its region, the values of its vtable pointers, and its
/// messages.
type Run = (Layout, u64, Vec<u64>, Vec<Case>);

fn run(count: usize) -> Run {
    let folder = Folder::new("catalog");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let example = root.join("examples/objects/catalog");
    let object = folder.0.join("catalog.o");
    let built = Command::new("g++")
        .args(["-g", "-std=c++17", "-c", "-o"])
        .arg(&object)
        .arg(example.join("catalog.cpp"))
        .status()
        .unwrap();
    assert!(built.success());
    let bytes = std::fs::read(&object).unwrap();
    let layout = from_object(&bytes, &options("Catalog")).unwrap().layout;
    let generated =
        generate::Options { name: "catalogs".into(), includes: vec!["catalog.hpp".into()] };
    for file in generate::cpp(&layout, &generated).unwrap() {
        std::fs::write(folder.0.join(file.name), file.text).unwrap();
    }
    let (program, cases) = (folder.0.join("run"), folder.0.join("cases"));
    let built = Command::new("g++")
        .args(["-std=c++17", "-Wall", "-Wextra", "-Werror", "-o"])
        .arg(&program)
        .arg(format!("-I{}", root.join("cpp/include").display()))
        .arg(format!("-I{}", folder.0.display()))
        .arg(format!("-I{}", example.display()))
        .args([example.join("main.cpp"), folder.0.join("catalogs.cpp"), object])
        .status()
        .unwrap();
    assert!(built.success());
    let ran = Command::new(&program).arg(count.to_string()).arg(&cases).status().unwrap();
    assert!(ran.success());
    let bytes = std::fs::read(cases).unwrap();
    let mut rest = bytes.as_slice();
    let mut word = || {
        let (word, behind) = rest.split_first_chunk().unwrap();
        rest = behind;
        u64::from_le_bytes(*word)
    };
    let (address, slots) = (word(), word());
    let slots = (0..slots).map(|_| word()).collect();
    let mut found = Vec::new();
    while !rest.is_empty() {
        let length = usize::try_from(take(&mut rest)).unwrap();
        let (message, behind) = rest.split_at(length);
        rest = behind;
        let [capacity, code, position, root, hash] = [(); 5].map(|()| take(&mut rest));
        found.push(Case { message: message.to_vec(), capacity, code, position, root, hash });
    }
    (layout, address, slots, found)
}

fn take(rest: &mut &[u8]) -> u64 {
    let (word, behind) = rest.split_first_chunk().unwrap();
    *rest = behind;
    u64::from_le_bytes(*word)
}

/// The reader of this crate gives the same answers, and every byte alike.
fn compare((layout, address, slots, cases): &Run) {
    let mut reader = Reader::new(layout.clone(), slots);
    let options = wire::Options::default();
    let mut accepted = 0;
    for (number, case) in cases.iter().enumerate() {
        let mut region = vec![0xAA; usize::try_from(case.capacity).unwrap()];
        let read = reader.read(&case.message, &mut region, *address, options);
        let ours = read.map_or_else(|e| (u64::from(e.code.number()), e.position), |_| (0, 0));
        assert_eq!(ours, (case.code, case.position), "case {number}");
        let Ok(made) = read else { continue };
        accepted += 1;
        let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
        let hash = region.iter().fold(0xcbf2_9ce4_8422_2325, step);
        assert_eq!((made.root, hash), (case.root, case.hash), "case {number}");
        if accepted > 60 {
            continue;
        }
        let graph = Graph::decode(layout, &case.message, options).unwrap();
        assert_eq!(graph.encode(layout, false).unwrap(), case.message);
        let mut batches = Batches::new(layout.clone());
        batches.push(&case.message, options).unwrap();
        let batches = batches.finish().unwrap();
        assert_eq!(messages(layout, &batches, false).unwrap(), std::slice::from_ref(&case.message));
    }
    assert!(accepted > 20, "{accepted}");
}

#[test]
fn containers_are_sent_and_attacked() {
    let run = run(4_000);
    compare(&run);
    let (layout, _, _, cases) = run;
    let mut batches = Batches::new(layout.clone());
    for case in cases.iter().take(10) {
        batches.push(&case.message, wire::Options::default()).unwrap();
    }
    let batches = batches.finish().unwrap();
    let catalog = layout.classes.iter().position(|class| class.name == "Catalog").unwrap();
    let column = |name: &str| batches[catalog].column_by_name(name).unwrap();
    // The eighth message has 15 products, their names in the order of their bytes.
    let rates = column("rates").as_map().value(7);
    assert_eq!(rates.len(), 15);
    let keys: Vec<i32> = rates.column(0).as_primitive::<Int32Type>().values().to_vec();
    assert!(keys.is_sorted_by(|a, b| a > b), "{keys:?}");
    assert_eq!(rates.column_names(), ["key", "value"]);
    for (name, map) in [
        ("by_name", true),
        ("index", true),
        ("nested", true),
        ("by_tag", false),
        ("words", false),
        ("places", false),
        ("hits", false),
        ("queue", false),
        ("lists", false),
    ] {
        let data_type = column(name).data_type();
        assert_eq!(matches!(data_type, DataType::Map(..)), map, "{name}: {data_type}");
        assert_eq!(matches!(data_type, DataType::List(_)), !map, "{name}: {data_type}");
    }
}

const SETS: &str = "#include <map>\n#include <set>\n#include <string>\n#include <unordered_set>\n\
    struct T { std::set<int> s; std::multiset<unsigned char> m; std::set<std::string> w;\n\
    std::unordered_set<long> u; std::set<double> d; };\nint f(T *t) { return sizeof *t; }\n";

/// A key that is there twice, or before a lesser one, is refused at its element; in a multiset only
/// the latter.
#[test]
fn keys_out_of_order_are_refused_where_they_are() {
    let folder = Folder::new("keys");
    let layout = from_object(&folder.compile(SETS, &[]), &options("T")).unwrap().layout;
    let set = |values: &[u64]| {
        let element = |value: &u64| vec![vec![Value::Number(*value)]];
        vec![Value::Vector(values.iter().map(element).collect())]
    };
    let texts = |values: &[&str]| {
        let element = |text: &&str| vec![vec![Value::String(text.as_bytes().to_vec())]];
        vec![Value::Vector(values.iter().map(element).collect())]
    };
    let good = || {
        let minus = (-7_i64).cast_unsigned();
        let reals = [-1.5_f64, 0.0, 2.0].map(f64::to_bits);
        vec![
            set(&[minus, 0, 1, 5]),
            set(&[1, 1, 200]),
            texts(&["", "a", "aa", "b", "\u{e9}"]),
            set(&[minus, 3]),
            set(&reals),
        ]
    };
    let answer = |member: usize, with: Vec<Value>| {
        let mut members = good();
        members[member] = with;
        let object = wire::Object { type_id: 0, members };
        Graph { objects: vec![object] }.encode(&layout, false).map_err(|error| error.to_string())
    };
    let message = answer(0, good().remove(0)).unwrap();
    let at = |position: u64| {
        Err(format!("object 0, T: would be refused: byte {position}: value-out-of-range"))
    };
    // After the number of objects, a type, and the number of elements.
    assert_eq!(answer(0, set(&[1, 1])), at(16));
    assert_eq!(answer(0, set(&[0, 5, 2, 9])), at(20));
    assert_eq!(answer(1, set(&[200, 1])), at(33));
    assert!(answer(1, set(&[1, 200, 200])).is_ok());
    assert!(answer(2, texts(&["b", "a"])).is_err() && answer(2, texts(&["ab", "a"])).is_err());
    assert!(answer(2, texts(&["a", "a"])).is_err());
    assert!(answer(3, set(&[4, 4])).is_err() && answer(3, set(&[5, 4])).is_err());
    let nan = f64::NAN.to_bits();
    assert!(answer(4, set(&[nan, nan])).is_err());
    assert!(answer(4, set(&[0, (-0.0_f64).to_bits()])).is_err());
    // A reader that makes memory says the same, and finds what comes before a key first.
    let mut reader = Reader::new(layout.clone(), &[]);
    let mut read = |message: &[u8]| {
        let made = reader.read(message, &mut vec![0; 4_096], 0, wire::Options::default());
        made.map(|_| ())
    };
    assert_eq!(read(&message), Ok(()));
    let mut twice = message.clone();
    twice[16..20].copy_from_slice(&[0xf9, 0xff, 0xff, 0xff]);
    assert_eq!(read(&twice), Err(WireError::new(Code::ValueOutOfRange, 16)));
    let mut long = message;
    long[8..12].copy_from_slice(&[0xff; 4]);
    assert_eq!(read(&long), Err(WireError::new(Code::LengthOutOfRange, 8)));
}

#[test]
fn layouts_whose_keys_have_no_order_or_hash_are_refused() {
    let folder = Folder::new("key-layouts");
    let layout = from_object(&folder.compile(SETS, &[]), &options("T")).unwrap().layout;
    let json = layout.to_json();
    assert_eq!(Layout::from_json(&json).unwrap(), layout);
    let changed = |from: &str, to: &str| {
        let at = json.find("\"u\"").unwrap();
        let (before, after) = json.split_at(at);
        let text = format!("{before}{}", after.replacen(from, to, 1));
        assert_ne!(text, json);
        Layout::from_json(&text).unwrap_err().to_string()
    };
    let error = changed("\"members\": [\n                0", "\"members\": [\n                1");
    assert!(error.contains("T::u: has a key that is not a member"), "{error}");
    let error = changed("\"unique\": true", "\"unique\": true, \"descending\": true");
    assert!(error.contains("T::u: has a key whose hash is unknown"), "{error}");
}

#[test]
fn what_has_no_order_that_a_reader_knows_is_refused_with_the_reason() {
    let folder = Folder::new("refused-keys");
    let text = "#include <functional>\n#include <map>\n#include <memory>\n#include <set>\n\
                #include <string>\n#include <unordered_map>\n#include <unordered_set>\n\
                struct K { int a; bool operator<(const K &o) const { return a < o.a; }\n\
                bool operator==(const K &o) const { return a == o.a; } };\n\
                enum E { one, two };\nenum class Own { a };\n\
                namespace std { template <> struct hash<Own> { size_t operator()(Own) const { return 1; } }; }\n\
                struct H { std::size_t operator()(const K &) const { return 0; } };\n\
                struct L { bool operator()(int a, int b) const { return a > b; } };\n\
                struct State { int by; bool operator()(int a, int b) const { return a % by < b % by; } };\n\
                struct T { std::set<K> own; std::map<T *, int> pointers; std::set<std::shared_ptr<T>> shared;\n\
                std::set<int, bool (*)(int, int)> function; std::map<int, int, State> state;\n\
                std::set<int, L> compare; std::unordered_map<K, int, H> hash;\n\
                std::unordered_set<double> real; std::unordered_set<T *> address;\n\
                std::unordered_set<E> fine; std::unordered_set<Own> special; std::set<int> plain; };\n\
                int f(T *t) { return t->fine.size() + t->special.size(); }\n";
    let object = folder.compile(text, &[]);
    let error = from_object(&object, &options("T")).unwrap_err().to_string();
    let unknown = "whose order only the program knows; annotated as `unchecked`";
    let addresses = "whose keys are addresses";
    let hash = "which depends on the program's hash function";
    for (member, expected) in [
        ("own", unknown),
        ("compare", unknown),
        ("pointers", addresses),
        ("shared", addresses),
        ("address", addresses),
        ("function", "whose comparison has a state"),
        ("state", "whose comparison has a state"),
        ("hash", hash),
        ("real", hash),
        ("special", hash),
    ] {
        let start = format!("T::{member}: is a ");
        let found = error.lines().find(|line| line.contains(&start));
        assert!(found.is_some_and(|line| line.contains(expected)), "{member}: {error}");
    }
    assert!(!error.contains("T::fine") && !error.contains("T::plain"), "{error}");
    let transient = "[class.T]\ntransient = [\"pointers\", \"shared\", \"address\", \"function\", \
                     \"state\", \"hash\", \"real\", \"special\"]\n";
    let unchecked =
        "[class.T.member.own]\nunchecked = true\n[class.T.member.compare]\nunchecked = true\n";
    let annotated = |notes: &str| {
        let annotations = Annotations::from_toml(&format!("{transient}{notes}")).unwrap();
        from_object(&object, &Options { annotations, ..options("T") })
    };
    let schema = annotated(unchecked).unwrap().layout.wire_schema();
    assert!(
        schema.contains(" own 1 vector\n") && schema.contains(" compare 1 vector\n"),
        "{schema}"
    );
    assert!(schema.contains(" fine 1 vector ascending 0 unique\n"), "{schema}");
    // It is for what cannot be checked.
    let notes = format!("{unchecked}[class.T.member.plain]\nunchecked = true\n");
    let error = annotated(&notes).unwrap_err().to_string();
    assert!(error.contains("T::plain: has an annotation that does not apply"), "{error}");
}

/// The same order on the wire, whatever the container: programs of either understand each other.
#[test]
fn containers_of_one_order_are_alike_on_the_wire() {
    let folder = Folder::new("alike");
    let schema = |ordered: &str, sequence: &str| {
        let text = format!(
            "#include <deque>\n#include <list>\n#include <map>\n#include <unordered_map>\n\
             #include <vector>\nstruct T {{ std::{ordered}<int, short> m; std::{sequence}<int> s; }};\n\
             int f(T *t) {{ return sizeof *t; }}\n"
        );
        from_object(&folder.compile(&text, &[]), &options("T")).unwrap().layout.wire_schema()
    };
    let first = schema("map", "vector");
    assert!(
        first.contains(" m 1 vector ascending 0 unique\n  first 1 int32\n  second 1 int16\n"),
        "{first}"
    );
    assert_eq!(schema("unordered_map", "deque"), first);
    assert_eq!(schema("map", "list"), first);
    assert_ne!(schema("multimap", "list"), first);
}
