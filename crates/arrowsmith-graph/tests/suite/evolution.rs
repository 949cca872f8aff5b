// SPDX-License-Identifier: Apache-2.0
//! A program and what it has become: each reads the messages of the other one, in C++ and here.

use std::path::Path;
use std::process::Command;

use arrowsmith_graph::arrow::Batches;
use arrowsmith_graph::generate;
use arrowsmith_graph::layout::{Layout, Options, from_object};
use arrowsmith_graph::wire::{self, Code, Graph, HEADER_BYTES, Translation, WireError};

use super::compile::Folder;

const HEADER: wire::Options = wire::Options { header: true, objects_max: 1 << 20 };

fn layout(folder: &Folder, text: &str, root: &str) -> Layout {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/cpp");
    let include = format!("-I{}", here.display());
    let options = Options { root: root.into(), ..Options::default() };
    from_object(&folder.compile(text, &[&include]), &options).unwrap().layout
}

/// The messages in a file.
fn split(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut rest = bytes;
    let mut found = Vec::new();
    while !rest.is_empty() {
        let length = u32::from_le_bytes(*rest[16..].first_chunk().unwrap());
        let (message, behind) = rest.split_at(HEADER_BYTES + usize::try_from(length).unwrap());
        found.push(message.to_vec());
        rest = behind;
    }
    found
}

#[test]
fn each_version_reads_the_messages_of_the_other() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/cpp");
    let folder = Folder::new("evolution");
    let versions = ["older", "newer"];
    let layouts = versions.map(|version| {
        let added = if version == "newer" { "Added added;" } else { "" };
        let text = format!("#include \"{version}.hpp\"\nNode node; Leaf leaf; {added}\n");
        let made = layout(&folder, &text, "Node");
        std::fs::rename(folder.0.join("t.o"), folder.0.join(format!("{version}.o"))).unwrap();
        made
    });
    for (index, version) in versions.iter().enumerate() {
        let options =
            generate::Options { name: "evolving".into(), includes: vec![format!("{version}.hpp")] };
        let other = std::slice::from_ref(&layouts[1 - index]);
        let inner = folder.0.join(version);
        std::fs::create_dir_all(&inner).unwrap();
        for file in generate::cpp_accepting(&layouts[index], &options, other).unwrap() {
            std::fs::write(inner.join(file.name), file.text).unwrap();
        }
        let built = Command::new("g++")
            .args(["-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror", "-Wno-maybe-uninitialized"])
            .args(["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-o"])
            .arg(folder.0.join(format!("run-{version}")))
            .args((index == 1).then_some("-DNEWER"))
            .arg(format!("-I{}", here.display()))
            .arg(format!("-I{}", here.join("../../../../../cpp/include").display()))
            .arg(format!("-I{}", inner.display()))
            .args([here.join("evolve.cpp"), inner.join("evolving.cpp")])
            .arg(folder.0.join(format!("{version}.o")))
            .status()
            .unwrap();
        assert!(built.success(), "{version}");
        let mut write = Command::new(folder.0.join(format!("run-{version}")));
        assert!(
            write.arg("write").arg(folder.0.join(version).join("own")).status().unwrap().success()
        );
    }
    for (index, version) in versions.iter().enumerate() {
        let other = versions[1 - index];
        let (theirs, ours) = (folder.0.join(other).join("own"), folder.0.join("read"));
        let mut read = Command::new(folder.0.join(format!("run-{version}")));
        assert!(read.arg("read").arg(&theirs).arg(&ours).status().unwrap().success(), "{version}");
        // What this crate makes of the other's messages is what the program writes again.
        let [from, to] = [1 - index, index].map(|at| layouts[at].clone());
        let mut translation = Translation::new(from, to.clone()).unwrap();
        let theirs = split(&std::fs::read(theirs).unwrap());
        let ours = split(&std::fs::read(ours).unwrap());
        let mut batches = Batches::new(to.clone());
        for (theirs, ours) in theirs.iter().zip(&ours) {
            assert_eq!(translation.message(theirs, HEADER).unwrap(), *ours);
            let body = wire::Options { header: false, ..HEADER };
            let bare = translation.message(&theirs[HEADER_BYTES..], body).unwrap();
            assert_eq!(bare, ours[HEADER_BYTES..]);
            batches.push(ours, HEADER).unwrap();
        }
        assert_eq!(ours.len(), 6);
        assert_eq!(batches.finish().unwrap().len(), to.classes.len());
        // A message that its own program would refuse is refused at the same byte.
        let mut bad = theirs[3].clone();
        *bad.last_mut().unwrap() ^= 0xff;
        bad.pop();
        assert_eq!(translation.message(&bad, HEADER), Err(WireError::new(Code::BadHeader, 16)));
    }
}

#[test]
fn what_has_become_something_else_is_refused_by_name() {
    let folder = Folder::new("other-members");
    let with = |members: &str| {
        let text = format!(
            "#include <map>\n#include <set>\n#include <string>\n#include <vector>\n\
             struct T {{ int id; {members} }};\nT t;\n"
        );
        layout(&folder, &text, "T")
    };
    for (old, new, expected) in [
        ("int a;", "std::string a;", "T::a: is of another kind"),
        ("int a[2];", "int a[3];", "T::a: is an array of another length"),
        ("std::vector<int> a;", "std::set<int> a;", "T::a: is a container of another order"),
        ("std::multimap<int, int> a;", "std::map<int, int> a;", "of another order"),
        (
            "std::vector<int> a;",
            "struct I { int i; }; std::vector<I> a;",
            "T::a[]: has elements of another kind",
        ),
        ("", "\nT *p; // arrowsmith: not-null\n", "T::p: is new, and a pointer that is never null"),
    ] {
        let error = Translation::new(with(old), with(new)).unwrap_err().to_string();
        assert!(error.contains(expected), "{old} {new}: {error}");
    }
    assert!(
        Translation::new(with("std::map<int, int> a;"), with("std::multimap<long, int> a;"))
            .is_ok()
    );
}

/// A number that does not fit, an alternative and a class that are gone: at their byte.
#[test]
fn values_that_the_other_version_cannot_have_are_refused_where_they_are() {
    let folder = Folder::new("other-values");
    let old = "#include <variant>\nstruct T { virtual ~T() {} long a; unsigned b; std::variant<int, char> v; T *p; };\n\
               struct Gone : T { int g; };\nT t; Gone g;\n";
    let new = "#include <variant>\nstruct T { virtual ~T() {} short a; int b; std::variant<int> v; T *p; };\nT t;\n";
    let [old, new] = [old, new].map(|text| layout(&folder, text, "T"));
    let class = old.class("T").unwrap().type_id;
    let message = |types: &[u32], a: i64, b: u32, v: &[u8]| {
        let mut bytes = u32::try_from(types.len()).unwrap().to_le_bytes().to_vec();
        for of in types {
            bytes.extend(of.to_le_bytes());
            assert_eq!(*of == class, types.len() == 1 || of == &types[0]);
        }
        bytes.extend(a.to_le_bytes());
        bytes.extend(b.to_le_bytes());
        bytes.extend(v);
        bytes.extend([0xff; 4]);
        if types.len() == 2 {
            bytes.extend(0_i64.to_le_bytes());
            bytes.extend([0; 4]);
            bytes.extend([0; 5]);
            bytes.extend([0xff; 4]);
            bytes.extend([0; 4]);
        }
        bytes
    };
    let mut translation = Translation::new(old, new.clone()).unwrap();
    let mut try_it = |message: Vec<u8>| translation.message(&message, wire::Options::default());
    let int = [0, 1, 0, 0, 0];
    let made = try_it(message(&[class], -5, 7, &int)).unwrap();
    assert_eq!(made.len(), 4 + 4 + 2 + 4 + 5 + 4);
    assert!(Graph::decode(&new, &made, wire::Options::default()).is_ok());
    let refused = |position: usize| Err(WireError::new(Code::ValueOutOfRange, position));
    assert_eq!(try_it(message(&[class], 40_000, 7, &int)), refused(8));
    assert_eq!(try_it(message(&[class], 4, u32::MAX, &int)), refused(16));
    assert_eq!(try_it(message(&[class], 4, 4, &[1, 65])), refused(20));
    let unknown = Err(WireError::new(Code::UnknownType, 8));
    assert_eq!(try_it(message(&[class, 1 - class], 4, 4, &int)), unknown);
}
