// SPDX-License-Identifier: Apache-2.0
//! A hash of the inputs of a check: a check that has passed with the same inputs need not run
//! again. The hashes of passed checks are stored in `target/passed`.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::shell;

/// Folders of build outputs, which are not inputs.
const BUILT: &[&str] = &[".venv", "__pycache__", "node_modules", "target"];

/// A hasher of inputs.
pub struct Inputs(DefaultHasher);

impl Inputs {
    /// A hasher without inputs.
    pub fn new() -> Self {
        Self(DefaultHasher::new())
    }

    /// Adds a text: a version, an argument.
    pub fn text(&mut self, text: &str) {
        text.hash(&mut self.0);
    }

    /// Adds a file, or all files of a folder, by name and content. A missing path is hashed as
    /// missing.
    pub fn path(&mut self, path: &Path) {
        let path = if path.is_absolute() { path.to_owned() } else { shell::root().join(path) };
        if !path.is_dir() {
            self.text(&path.display().to_string());
            return self.contents(&path);
        }
        let Ok(entries) = fs::read_dir(&path) else { return };
        let mut entries: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        entries.sort();
        for entry in entries {
            let name = entry.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if !BUILT.contains(&&*name) && !name.ends_with(".so") {
                self.path(&entry);
            }
        }
    }

    fn contents(&mut self, path: &Path) {
        let Ok(mut file) = fs::File::open(path) else { return self.0.write_u8(0) };
        let mut buffer = vec![0; 1 << 20];
        while let Ok(length @ 1..) = file.read(&mut buffer) {
            self.0.write(&buffer[..length]);
        }
    }

    /// The hash.
    pub fn key(&self) -> u64 {
        self.0.finish()
    }
}

fn stamp(name: &str, key: u64) -> PathBuf {
    let name = name.replace(|c: char| !c.is_ascii_alphanumeric(), "-");
    shell::target().join("passed").join(format!("{name}-{key:016x}"))
}

/// Whether a check has passed with these inputs.
pub fn passed(name: &str, key: u64) -> bool {
    stamp(name, key).exists()
}

/// Stores that a check has passed. If the file cannot be written, the check runs again next time.
pub fn store(name: &str, key: u64) {
    let stamp = stamp(name, key);
    let _ = fs::create_dir_all(stamp.parent().unwrap_or(Path::new(".")));
    let _ = fs::write(stamp, "");
}

/// Removes the stored result, before the check runs.
pub fn forget(name: &str, key: u64) {
    let _ = fs::remove_file(stamp(name, key));
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test")]
mod tests {
    use super::*;

    fn key(folder: &Path) -> u64 {
        let mut inputs = Inputs::new();
        inputs.path(folder);
        inputs.key()
    }

    #[test]
    fn a_folder_is_its_names_and_contents() {
        let folder = std::env::temp_dir().join(format!("arrowsmith-inputs-{}", std::process::id()));
        fs::create_dir_all(folder.join("a/target")).unwrap();
        fs::write(folder.join("a/one"), "1").unwrap();
        let first = key(&folder);
        fs::write(folder.join("a/target/built"), "").unwrap();
        fs::write(folder.join("a/one"), "1").unwrap();
        assert_eq!(key(&folder), first, "what is built, and times, do not count");
        fs::write(folder.join("a/one"), "2").unwrap();
        let second = key(&folder);
        assert_ne!(second, first);
        fs::rename(folder.join("a/one"), folder.join("a/two")).unwrap();
        assert_ne!(key(&folder), second);
        fs::remove_dir_all(folder).unwrap();
    }
}
