// SPDX-License-Identifier: Apache-2.0
//! Reads the hardware library's list of files, `hdl/Bender.yml`, and writes the table of their
//! paths and texts that `src/library.rs` includes: the folders of included files first, then the
//! modules in the order of the list.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let hdl = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join("hdl");
    println!("cargo::rerun-if-changed=hdl/Bender.yml");
    let list = fs::read_to_string(hdl.join("Bender.yml"))?;
    let (mut headers, mut sources) = (Vec::new(), Vec::new());
    for item in list.lines().filter_map(|line| line.trim().strip_prefix("- ")) {
        if item.ends_with(".sv") {
            sources.push(item.to_owned());
        } else {
            headers.extend(files_in(&hdl, item)?);
        }
    }
    let mut table = "&[\n".to_owned();
    for path in headers.into_iter().chain(sources) {
        let file = hdl.join(&path).display().to_string();
        writeln!(table, "    ({path:?}, include_str!({file:?})),")?;
    }
    table.push_str("]\n");
    fs::write(Path::new(&env::var("OUT_DIR")?).join("library.rs"), table)?;
    Ok(())
}

/// The files of a folder of included files, in the order of their names.
fn files_in(hdl: &Path, folder: &str) -> std::io::Result<Vec<String>> {
    let entries = fs::read_dir(hdl.join(folder))?.collect::<Result<Vec<_>, _>>()?;
    let mut names: Vec<_> =
        entries.iter().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    Ok(names.into_iter().map(|name| format!("{folder}/{name}")).collect())
}
