// SPDX-License-Identifier: Apache-2.0
//! Writes a layout's circuit and the library it needs to a folder: `graph LAYOUT.json FOLDER
//! [BEAT_BYTES]`.

use std::error::Error;
use std::fs;
use std::path::Path;

use arrowsmith_graph::Layout;
use arrowsmith_rtlgen::graph::{Options, generate};
use arrowsmith_rtlgen::library::{file_list, with_library};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [layout, folder, rest @ ..] = arguments.as_slice() else {
        return Err("usage: graph LAYOUT.json FOLDER [BEAT_BYTES]".into());
    };
    let layout = Layout::from_json(&fs::read_to_string(layout)?)?;
    let beat_bytes = rest.first().map(|text| text.parse()).transpose()?;
    let design = generate(&layout, &Options { beat_bytes, ..Options::default() })?;
    let folder = Path::new(folder);
    let sources = with_library(&design.files);
    for (path, text) in &sources {
        let file = folder.join(path);
        fs::create_dir_all(file.parent().unwrap_or(folder))?;
        fs::write(file, text)?;
    }
    let list = file_list(sources.iter().map(|(path, _)| path.as_str()));
    fs::write(folder.join("files.f"), list)?;
    println!(
        "{}: {} steps, {} bytes a beat",
        design.top,
        design.plan.steps(),
        design.plan.beat_bytes
    );
    Ok(())
}
