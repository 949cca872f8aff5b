// SPDX-License-Identifier: Apache-2.0
//! The plan and the text of circuits, on layouts small enough to be checked by eye.

use arrowsmith_graph::Layout;

use super::*;

const EXPRESSION: &str = include_str!("../../../../examples/objects/expression/layout-i386.json");

fn expression() -> Layout {
    Layout::from_json(EXPRESSION).unwrap()
}

#[test]
fn the_papers_tree_is_one_step_a_class() {
    let design = generate(&expression(), &Options::default()).unwrap();
    let plan = &design.plan;
    assert_eq!((plan.beat_bytes, plan.step_bytes, plan.granule_bytes, plan.refs), (16, 9, 16, 2));
    assert_eq!(plan.steps(), 2);
    let operation = &plan.classes[1].pieces[0];
    assert_eq!((operation.begin, operation.end, operation.need, operation.take), (0, 16, 9, 9));
    assert_eq!(operation.vptr, Some((1, 0)));
    let wire: Vec<_> = operation.reads.iter().map(|read| (read.wire_at, read.at)).collect();
    assert_eq!(wire, [(0, 4), (4, 8), (8, 12)]);
}

#[test]
fn a_narrow_circuit_takes_more_steps_and_looks_once() {
    let text = include_str!("../../../../examples/objects/expression/layout-x86_64.json");
    let layout = Layout::from_json(text).unwrap();
    let narrow = Options { beat_bytes: Some(16), ..Options::default() };
    let plan = generate(&layout, &narrow).unwrap().plan;
    for class in &plan.classes {
        let mut end = 0;
        for piece in &class.pieces {
            assert_eq!(piece.begin, end);
            assert!(piece.end - piece.begin <= 16);
            end = piece.end;
        }
        assert_eq!(end, 32);
        let takes: u32 = class.pieces.iter().map(|piece| piece.take).sum();
        assert!(takes == 9 || takes == 4);
    }
    let wide = generate(&layout, &Options::default()).unwrap().plan;
    assert_eq!((wide.beat_bytes, wide.steps()), (32, 2));
}

#[test]
fn equal_layouts_give_equal_text() {
    let options = Options::default();
    assert_eq!(generate(&expression(), &options), generate(&expression(), &options));
}

#[test]
fn containers_are_refused_by_name() {
    let text = include_str!("../../../../examples/objects/catalog/layout-x86_64.json");
    let mut layout = Layout::from_json(text).unwrap();
    let containers = layout.class("Catalog").unwrap().members.clone();
    for member in containers {
        let name = member.name.clone();
        let class = layout.classes.iter_mut().find(|class| class.name == "Catalog").unwrap();
        class.members = vec![member];
        let mut only = layout.clone();
        only.classes.retain(|class| class.name == "Catalog");
        only.classes[0].type_id = 0;
        let error = generate(&only, &Options::default()).unwrap_err().to_string();
        assert!(error.contains(&format!("Catalog::{name}: strings and containers")), "{error}");
    }
}

#[test]
fn what_cannot_be_done_is_refused_by_name() {
    let text = EXPRESSION.replace(
        r#""kind": "integer",
          "bytes": 4,
          "wire_bytes": 4,
          "signed": true"#,
        r#""kind": "integer", "bytes": 4, "wire_bytes": 4, "signed": true }, { "name": "m_text", "offset": 16, "kind": "string""#,
    );
    let text = text.replacen("\"size\": 16", "\"size\": 40", 1);
    let layout = Layout::from_json(&text).unwrap();
    let refusal = generate(&layout, &Options::default()).unwrap_err();
    assert_eq!(refusal.path, "Literal::m_text");
    let named = |options: Options| generate(&expression(), &options).unwrap_err().path;
    assert_eq!(named(Options { objects_max: 100, ..Options::default() }), "objects");
    assert_eq!(named(Options { beat_bytes: Some(8), ..Options::default() }), "width");
    assert_eq!(named(Options { name: "Expr".into(), ..Options::default() }), "name");
}

/// The committed example; ARROWSMITH_UPDATE_SNAPSHOTS=1 rewrites it.
#[test]
fn the_example_is_fresh() {
    let options = Options { name: "expression".into(), ..Options::default() };
    let folder =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../hdl/examples/expression");
    for (name, text) in generate(&expression(), &options).unwrap().files {
        let path = folder.join(name);
        if std::env::var_os("ARROWSMITH_UPDATE_SNAPSHOTS").is_some() {
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(&path, text).unwrap();
        } else {
            assert_eq!(std::fs::read_to_string(&path).unwrap(), text, "{}", path.display());
        }
    }
}
