// SPDX-License-Identifier: Apache-2.0
//! The hardware library: the files of `hdl/rtl`, and which of them a circuit uses.

use std::collections::BTreeSet;

/// The files: path below `hdl/rtl` and text, in the order of `hdl/rtl/Bender.yml`, which is the one
/// list of them: included macros, then packages and modules, dependencies first.
pub const LIBRARY: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/library.rs"));

/// Folder of a circuit for its sources.
const FOLDER: &str = "rtl";

/// The sources of a circuit, path and text, dependencies first: the files of the library that its
/// generated files use, directly or through others, then these.
pub fn with_library(generated: &[(String, String)]) -> Vec<(String, String)> {
    let mut used = BTreeSet::new();
    let mut left: Vec<&str> = generated.iter().map(|(_, text)| text.as_str()).collect();
    while let Some(text) = left.pop() {
        let named: BTreeSet<&str> = names(text).collect();
        let new = LIBRARY.iter().filter(|(path, _)| named.contains(module(path)));
        left.extend(new.filter(|(path, _)| used.insert(*path)).map(|(_, text)| *text));
    }
    let library = LIBRARY.iter().filter(|(path, _)| used.contains(path));
    let library = library.map(|(path, text)| (*path, *text));
    let generated = generated.iter().map(|(path, text)| (path.as_str(), text.as_str()));
    let all = library.chain(generated);
    all.map(|(path, text)| (format!("{FOLDER}/{path}"), text.to_owned())).collect()
}

/// Whether a file is included by others: no tool reads it as a source.
pub fn is_header(path: &str) -> bool {
    path.ends_with(".svh")
}

/// The folders of included files, each once.
pub fn include_folders<'a>(paths: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let headers = paths.filter(|path| is_header(path));
    let folders: BTreeSet<_> =
        headers.filter_map(|path| path.rsplit_once('/').map(|(folder, _)| folder)).collect();
    folders.into_iter().collect()
}

/// The text of `files.f`, as Verilator, slang and others read it: include folders, then sources.
pub fn file_list<'a>(paths: impl Iterator<Item = &'a str> + Clone) -> String {
    let folders = include_folders(paths.clone()).into_iter();
    let folders = folders.map(|folder| format!("+incdir+{folder}\n"));
    let sources = paths.filter(|path| !is_header(path)).map(|path| format!("{path}\n"));
    folders.chain(sources).collect()
}

/// The name of the module, package or file of macros in a file.
fn module(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.split('.').next().unwrap_or(name)
}

/// The words with the library's prefix in a source, comments aside.
fn names(text: &str) -> impl Iterator<Item = &str> {
    let code = text.lines().map(|line| line.split("//").next().unwrap_or_default());
    code.flat_map(|line| line.split(|c: char| !c.is_ascii_alphanumeric() && c != '_'))
        .filter(|word| word.starts_with("as_"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(source: &str) -> Vec<String> {
        let generated = [("top.sv".to_owned(), source.to_owned())];
        with_library(&generated).into_iter().map(|(path, _)| path).collect()
    }

    #[test]
    fn a_circuit_has_what_it_uses_dependencies_first() {
        let found = paths("// as_ram\nmodule top; as_fifo i_fifo (); endmodule\n");
        let wanted = ["include/as_assertions.svh", "stream/as_stream_pkg.sv", "prim/as_fifo.sv"];
        let mut wanted: Vec<_> = wanted.iter().map(|path| format!("rtl/{path}")).collect();
        wanted.push("rtl/top.sv".to_owned());
        assert_eq!(found, wanted);
        assert_eq!(paths("module top; endmodule"), ["rtl/top.sv"]);
    }

    #[test]
    fn a_file_uses_only_those_before_it() {
        for (at, (path, text)) in LIBRARY.iter().enumerate() {
            for name in names(text).filter(|name| *name != module(path)) {
                let used = LIBRARY.iter().position(|(other, _)| module(other) == name);
                assert!(used.is_none_or(|used| used < at), "{path} uses {name}, listed after it");
            }
        }
    }

    #[test]
    fn the_list_has_every_file() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("hdl");
        let mut found = 0;
        for folder in std::fs::read_dir(&root).unwrap().flatten().filter(|e| e.path().is_dir()) {
            for file in std::fs::read_dir(folder.path()).unwrap().flatten() {
                let path = file.path();
                let path = path.strip_prefix(&root).unwrap().to_str().unwrap();
                assert!(LIBRARY.iter().any(|(listed, _)| *listed == path), "{path}");
                found += 1;
            }
        }
        assert_eq!(found, LIBRARY.len());
    }

    #[test]
    fn lists_of_files_name_folders_of_headers() {
        let paths = ["rtl/include/a.svh", "rtl/include/b.svh", "rtl/x.sv"];
        assert_eq!(file_list(paths.into_iter()), "+incdir+rtl/include\nrtl/x.sv\n");
    }
}
