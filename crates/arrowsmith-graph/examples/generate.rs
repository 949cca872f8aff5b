// SPDX-License-Identifier: Apache-2.0
//! `generate FILE ROOT NAME FOLDER [INCLUDE]...`: the C++ of a layout, without the command line.

use arrowsmith_graph::{generate, layout};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, root, name, folder, includes @ ..] = arguments.as_slice() else {
        return Err("usage: generate FILE ROOT NAME FOLDER [INCLUDE]...".into());
    };
    let options = layout::Options { root: root.clone(), ..layout::Options::default() };
    let layout::Extracted { layout, names, .. } =
        layout::from_object(&std::fs::read(file)?, &options)?;
    generate::check_name(name, &names)?;
    let options = generate::Options { name: name.clone(), includes: includes.to_vec() };
    std::fs::create_dir_all(folder)?;
    for file in generate::cpp(&layout, &options)? {
        std::fs::write(std::path::Path::new(folder).join(file.name), file.text)?;
    }
    Ok(())
}
