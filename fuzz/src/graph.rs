// SPDX-License-Identifier: Apache-2.0
//! Bodies of the fuzz targets of object graphs: any message, any object file.

use arrowsmith_graph::Layout;
use arrowsmith_graph::arrow::{Batches, messages};
use arrowsmith_graph::layout::{self, from_object};
use arrowsmith_graph::wire::{Graph, Options, Reader};

const LAYOUTS: [&str; 4] = [
    include_str!("../../examples/objects/expression/layout-i386.json"),
    include_str!("../../examples/objects/expression/layout-x86_64.json"),
    include_str!("../../examples/objects/scene/layout-x86_64.json"),
    include_str!("../../examples/objects/catalog/layout-x86_64.json"),
];

/// Any bytes as a message: the readers of memory and of trees agree; valid messages make the round
/// trip through the tree and Arrow.
pub fn message(data: &[u8]) {
    let Some((choice, message)) = data.split_first() else { return };
    let text = LAYOUTS[usize::from(choice & 3) % LAYOUTS.len()];
    let layout = Layout::from_json(text).expect("the layouts are good");
    let options = Options { header: choice & 4 != 0, objects_max: 1 << 16 };
    let mut region = vec![0; 1 << 20];
    let made = Reader::new(layout.clone(), &[]).read(message, &mut region, 0x10000, options);
    let tree = Graph::decode(&layout, message, options);
    match (made, tree) {
        (Ok(_), Ok(tree)) => {
            assert_eq!(tree.encode(&layout, options.header).expect("it was read"), message);
            let mut batches = Batches::new(layout.clone());
            batches.push(message, options).expect("it was read");
            let batches = batches.finish().expect("it is short");
            let back = messages(&layout, &batches, options.header).expect("it was read");
            assert_eq!(back, [message]);
        }
        // Only memory can be too small.
        (Err(error), Ok(_)) => assert_eq!(error.code.name(), "region-too-small"),
        (made, tree) => {
            let (made, tree) = (made.map(|_| ()).unwrap_err(), tree.unwrap_err());
            assert!(made == tree || made.code.name() == "region-too-small");
        }
    }
}

/// Any bytes as an object file: a layout or an error, never a panic.
pub fn object(data: &[u8]) {
    let options = layout::Options { root: "T".into(), no_comments: true, ..Default::default() };
    if let Ok(extracted) = from_object(data, &options) {
        let layout = Layout::from_json(&extracted.layout.to_json());
        assert_eq!(layout.as_ref(), Ok(&extracted.layout));
    }
}
