// SPDX-License-Identifier: Apache-2.0
//! The cargo features of this build: `--version`, and errors that name a missing feature.

use std::sync::LazyLock;

use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::failure::Failure;

macro_rules! features {
    ($($name:literal),*) => {
        /// Names of the cargo features, and whether this build has them.
        const FEATURES: &[(&str, bool)] = &[$(($name, cfg!(feature = $name))),*];
    };
}

features!["bench", "gpu", "jvm", "objects", "pulsar", "rtl", "sql", "store"];

/// Subcommands that not every build has, and the feature of each.
const SUBCOMMANDS: &[(&str, &str)] = &[
    ("bench", "bench"),
    ("jvm", "jvm"),
    ("objects", "objects"),
    ("report", "bench"),
    ("rtl", "rtl"),
];

/// What `--version` prints: the version, the features of this build, and those that it lacks.
pub fn long_version() -> &'static str {
    static TEXT: LazyLock<String> = LazyLock::new(version_text);
    &TEXT
}

fn version_text() -> String {
    let list = |has: bool| {
        let names = FEATURES.iter().filter(|feature| feature.1 == has).map(|feature| feature.0);
        let names: Vec<&str> = names.collect();
        if names.is_empty() { "none".to_owned() } else { names.join(", ") }
    };
    let version = env!("CARGO_PKG_VERSION");
    format!("{version}\nfeatures: {}\nnot in this build: {}", list(true), list(false))
}

/// The failure for a feature that this build lacks.
pub fn lacking(feature: &str) -> Failure {
    Failure::Usage(format!(
        "this build has no `{feature}`: build the command with `--features {feature}` (or `full`)"
    ))
}

/// The failure for a subcommand that this build lacks, if that is why clap does not recognize it.
pub fn lacking_subcommand(error: &clap::Error) -> Option<Failure> {
    if error.kind() != ErrorKind::InvalidSubcommand {
        return None;
    }
    let Some(ContextValue::String(asked)) = error.get(ContextKind::InvalidSubcommand) else {
        return None;
    };
    let (_, feature) = SUBCOMMANDS.iter().find(|(name, _)| name == asked)?;
    let has = FEATURES.iter().any(|known| known == &(*feature, true));
    (!has).then(|| lacking(feature))
}

#[cfg(test)]
mod tests {
    use super::FEATURES;

    #[test]
    fn the_features_are_those_of_the_manifest() {
        let names: Vec<&str> = FEATURES.iter().map(|(name, _)| *name).collect();
        let full = format!("\nfull = {names:?}\n");
        assert!(include_str!("../Cargo.toml").contains(&full), "{full}");
    }
}
