// SPDX-License-Identifier: Apache-2.0
//! Valid and refused layouts.

use proptest::prelude::*;

use super::*;

fn layout(text: &str) -> Layout {
    match Source::parse(text) {
        Ok(Source::Layout(layout)) => layout,
        other => panic!("{text}: {other:?}"),
    }
}

fn refused(text: &str) -> String {
    match Source::parse(text) {
        Err(error) => error.to_string(),
        Ok(found) => panic!("{text} was taken as {found:?}"),
    }
}

#[test]
fn the_papers_objects_have_their_sizes() {
    for (name, p, e) in [("small", 2, 16), ("medium", 8, 1024), ("large", 64, 480_000)] {
        let layout = Layout::named(name).unwrap();
        assert!(layout.is_exact_class(0));
        assert_eq!(layout.class_bytes(0), 4 * (p + e), "{name}");
    }
    assert!(Layout::named("huge").is_err());
}

#[test]
fn a_tree_narrows_by_one_a_level() {
    let tree =
        layout("tree: {width: 3, depth: 4, primitives: 2, arrays: 1, length: 5, type: long}");
    let widths: Vec<usize> = tree.classes.iter().map(|class| class.fields.len()).collect();
    assert_eq!(widths, [3, 2, 1, 3]);
    assert_eq!(tree.class_bytes(0), 3 * 2 * 8 * (2 + 5));
    assert_eq!(tree.vectors(), 3 + 3 * (2 + 2 * (1 + 2 + 2)));
}

#[test]
fn yaml_and_json_say_the_same() {
    let yaml = "root: B\nclasses:\n  A: {x: 'int[3]?'}\n  B:\n    s: string(7)?\n    a: A?[<=9]\n    d: double\n";
    let json = r#"{"root": "B", "classes": {"A": {"x": "int[3]?"}, "B": {"s": "string(7)?", "a": "A?[<=9]", "d": "double"}}}"#;
    let found = layout(yaml);
    assert_eq!(found, layout(json));
    assert_eq!(
        (found.root().java.as_str(), found.classes[1].binary.as_str()),
        ("layout.B", "layout/A")
    );
    assert_eq!(found.root().fields[0].ty, Type::String { chars_max: 7, nullable: true });
    let Type::Array { element, length: Length::Max(9), nullable: false } =
        &found.root().fields[1].ty
    else {
        panic!("{found:?}");
    };
    assert_eq!(**element, Type::Object { class: 1, nullable: true });
    assert!(!found.is_exact_class(0));
}

#[test]
fn objects_must_be_trees() {
    let message = refused("classes: {Node: {v: int, next: 'Node?'}}");
    assert_eq!(
        message,
        "layout: layout.Node.next: layout.Node holds itself; objects must be trees"
    );
    let message = refused("classes: {A: {b: 'B[]'}, B: {c: C}, C: {a: 'A?[3]'}}");
    assert_eq!(message, "layout: layout.A.b[].c.a[]: layout.A holds itself; objects must be trees");
}

#[test]
fn what_would_be_too_large_is_refused() {
    assert!(refused("leaf: {arrays: 1, length: 2147483647}").contains("is more than the limit"));
    assert!(refused("leaf: {arrays: 1, length: 4294967295}").contains("is more than the limit"));
    assert!(refused("leaf: {primitives: 513}").contains("number of fields"));
    assert!(refused("tree: {width: 2, depth: 129, primitives: 1}").contains("depth"));
    assert!(refused("tree: {width: 100, depth: 100, primitives: 1}").contains("fields"));
    let message = refused("tree: {width: 30, depth: 30, primitives: 1}");
    assert!(message.contains("the size of layout.Level0"), "{message}");
    assert!(refused("classes: {A: {x: 'long[2000000000][2000000000]'}}").contains("limit"));
    assert!(
        refused(&format!("classes: {{A: {{x: 'int{}'}}}}", "[1]".repeat(9))).contains("dimensions")
    );
    let deep: Vec<String> = (0..200).map(|at| format!("C{at}: {{n: C{}}}", at + 1)).collect();
    let text = format!("classes: {{{}, C200: {{v: int}}}}", deep.join(", "));
    assert!(refused(&text).contains("depth"));
    // A path that is short from one side and long from the other.
    let text = text.replace("C0: {n: C1}", "C0: {a: C100, n: C1}");
    assert!(refused(&text).contains("depth"));
    assert!(refused(&" ".repeat(TEXT_BYTES_MAX + 1)).contains("length of the text"));
}

#[test]
fn names_put_nothing_into_the_sources() {
    for name in [
        "a b",
        "a;b",
        "x\\u003b",
        "int",
        "class",
        "",
        "1a",
        "a-b",
        "a.b",
        "\"",
        "é",
        "true",
        "_",
        "a\nb",
        "a$b",
        "}} static { System.exit(1); } class X {",
    ] {
        let json = serde_json::json!({"classes": {"A": {name: "int"}}});
        let message = refused(&json.to_string());
        assert!(message.contains("identifier") || message.contains("word of Java"), "{message}");
        let json = serde_json::json!({"classes": {name: {"x": "int"}}});
        refused(&json.to_string());
        let json = serde_json::json!({"classes": {"A": {"x": name}}});
        if name != "int" {
            refused(&json.to_string());
        }
    }
    let long = "a".repeat(201);
    assert!(refused(&format!("classes: {{A: {{{long}: int}}}}")).contains("more than 200"));
    assert!(refused("classes: {java: {x: int}}").contains("begins with a capital"));
    assert!(refused("classes: {Ab: {x: int}, AB: {x: int}}").contains("one file"));
    // Contextual names of the language that are not reserved.
    layout("classes: {String: {java: int, o: string, String: int, r: 'byte[]', w: int, b: long}}");
}

#[test]
fn what_is_no_layout_is_refused() {
    for text in [
        "",
        "7",
        "[]",
        "classes: 1",
        "classes: {}",
        "classes: {A: {}}",
        "classes: {A: {x: }}",
        "classes: {A: {x: int, x: int}}",
        "classes: {A: {x: int}, A: {x: int}}",
        "more: 1",
        "classes: {A: {x: B}}",
        "classes: {A: {x: 'int?'}}",
        "classes: {A: {x: 'A??'}}",
        "classes: {A: {x: 'int['}}",
        "classes: {A: {x: 'int[-1]'}}",
        "classes: {A: {x: 'int[<=]'}}",
        "classes: {A: {x: 'string(9'}}",
        "classes: {A: {x: 'int(9)'}}",
        "root: B\nclasses: {A: {x: int}}",
        "leaf: {primitives: 1, depth: 2}",
        "leaf: {primitives: -1}",
        "leaf: {primitives: 1, type: string}",
        "leaf: {}",
        "tree: {depth: 0, primitives: 1}",
        "leaf: {primitives: 1}\nclass: A",
        "jars: [a.jar]",
        "records: true\nleaf: {primitives: 1}",
        "classes: {A: {b: B}, B: {}}",
    ] {
        refused(text);
    }
    // Text that expands when it is read.
    let mut bomb = String::from("a: &a [x,x,x,x,x,x,x,x]\n");
    for at in 'b'..='j' {
        let before = char::from(at as u8 - 1);
        bomb.push_str(&format!(
            "{at}: &{at} [*{before},*{before},*{before},*{before},*{before}]\n"
        ));
    }
    refused(&bomb);
    refused(&"[".repeat(100_000));
    refused(&format!("classes: {}", "{A: ".repeat(10_000)));
    assert!(refused("records: true\nclasses: {A: {hashCode: int}}").contains("component"));
    layout("classes: {A: {hashCode: int}}");
    let record = (0..128).map(|at| format!("x{at}: long")).collect::<Vec<_>>().join(", ");
    assert!(refused(&format!("records: true\nclasses: {{A: {{{record}}}}}")).contains("254"));
}

#[test]
fn classes_that_exist_are_named() {
    let found = Source::parse("class: com.example.Order\njars: [a.jar, b.jar]").unwrap();
    let Source::Existing(existing) = found else { panic!("{found:?}") };
    assert_eq!((existing.class.as_str(), existing.jars.len()), ("com.example.Order", 2));
}

proptest! {
    #[test]
    fn no_text_is_a_panic(text in "\\PC{0,200}") {
        let _ = Source::parse(&text);
        let _ = text::ty(&text, &["Line".to_owned()]);
    }

    #[test]
    fn no_shape_is_a_panic(width: u32, depth in 0..200_u32, primitives: u32, arrays: u32, length: u32) {
        let text = format!(
            "tree: {{width: {width}, depth: {depth}, primitives: {primitives}, arrays: {arrays}, length: {length}}}"
        );
        let _ = Source::parse(&text);
    }

    #[test]
    fn no_type_is_a_panic(text in "(int|string|Line|long)([?]|\\[(<=)?[0-9]{0,11}\\]|\\([0-9]{0,11}\\)){0,10}") {
        let json = serde_json::json!({"classes": {"A": {"x": text}, "Line": {"v": "int"}}});
        let _ = Source::parse(&json.to_string());
    }
}
