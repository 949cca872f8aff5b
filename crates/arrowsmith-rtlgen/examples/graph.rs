// SPDX-License-Identifier: Apache-2.0
//! Writes a layout's circuit and the library it needs to a folder: `graph LAYOUT.json FOLDER
//! [BEAT_BYTES]`.

use std::error::Error;
use std::fs;
use std::path::Path;

use arrowsmith_graph::Layout;
use arrowsmith_rtlgen::graph::{Options, generate};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [layout, folder, rest @ ..] = arguments.as_slice() else {
        return Err("usage: graph LAYOUT.json FOLDER [BEAT_BYTES]".into());
    };
    let layout = Layout::from_json(&fs::read_to_string(layout)?)?;
    let beat_bytes = rest.first().map(|text| text.parse()).transpose()?;
    let design = generate(&layout, &Options { beat_bytes, ..Options::default() })?;
    let folder = Path::new(folder);
    let mut list = String::new();
    for (path, text) in arrowsmith_rtlgen::LIBRARY
        .iter()
        .map(|(path, text)| (format!("rtl/{path}"), (*text).to_owned()))
        .chain(design.files)
    {
        let file = folder.join(&path);
        fs::create_dir_all(file.parent().unwrap_or(folder))?;
        fs::write(file, text)?;
        list.push_str(&format!("{path}\n"));
    }
    fs::write(folder.join("files.f"), list)?;
    println!(
        "{}: {} steps, {} bytes a beat",
        design.top,
        design.plan.steps(),
        design.plan.beat_bytes
    );
    Ok(())
}
