// SPDX-License-Identifier: Apache-2.0
//! `layout FILE ROOT [json]`: the layout of the classes reachable from a root, without the command
//! line.

use arrowsmith_graph::layout::{Options, Table, from_object};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, root, rest @ ..] = arguments.as_slice() else {
        return Err("usage: layout FILE ROOT [json]".into());
    };
    let options = Options { root: root.clone(), ..Options::default() };
    let extracted = from_object(&std::fs::read(file)?, &options)?;
    for note in &extracted.notes {
        eprintln!("note: {note}");
    }
    let layout = extracted.layout;
    if rest.is_empty() {
        print!("{}", Table(&layout));
    } else {
        print!("{}", layout.to_json());
    }
    Ok(())
}
