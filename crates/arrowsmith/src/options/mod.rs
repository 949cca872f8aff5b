// SPDX-License-Identifier: Apache-2.0
//! The options of reading: one table, from which every interface takes names, types, defaults and
//! descriptions.
//!
//! [`JsonReadOptions`] and [`ParquetReadOptions`] are the options in Rust. [`JSON`] and [`PARQUET`]
//! are the same for programs: the command generates its flags from them; the C ABI, Java, Python
//! and the ingest service set options by name. All of it is declared in `table`, where an option is
//! added; `docs/design/0016` describes how it gets from there to every interface. Inputs are not
//! options, nor is what only one interface has, such as `--explain`.
//!
//! ```
//! use arrowsmith::options::{JsonReadOptions, Value};
//! use arrowsmith::{OnError, json};
//!
//! let mut options = JsonReadOptions { threads: Some(1), ..JsonReadOptions::default() };
//! options.set("on_error", Value::Text("skip".to_owned()))?;
//! assert_eq!(options.on_error, OnError::Skip);
//! let reader = json::ReaderBuilder::new().options(options);
//! # Ok::<(), arrowsmith::Error>(())
//! ```

mod kind;
#[cfg(feature = "serde")]
mod serial;
mod table;
mod value;

use std::fmt;

use arrowsmith_core::Error;

pub use kind::{Choice, Choices, Kind};
pub use table::{JSON, JsonReadOptions, PARQUET, ParquetReadOptions};
pub use value::{Format, InferRecords, LateKeys, Value};

/// An option, for programs.
#[derive(Debug, Clone, Copy)]
pub struct OptionInfo {
    /// Its name, as in Python, the C ABI and configurations: `on_error`.
    pub name: &'static str,
    /// What it does, as Markdown.
    help: &'static str,
    /// What its values are.
    pub kind: Kind,
    /// What it is about.
    pub group: Group,
    /// The command's flag, where it is not the name with hyphens.
    flag: Option<&'static str>,
    /// Whether it applies to inferring a schema by itself.
    pub infers: bool,
    /// Whether it applies to records that a service receives: to the plan and the decoder, not to
    /// inputs, batches and inference.
    pub receives: bool,
    /// Whether it applies to a server of JSON files: to their schema, records and values.
    pub serves: bool,
    /// Whether it applies to Arrow input of the command.
    pub arrow: bool,
    /// Whether it applies to CSV input of the command.
    pub csv: bool,
    /// Whether it is accepted for Parquet input without effect, because scripts give it whatever
    /// the input is. Every other option that only JSON has is an error there.
    pub ignored: bool,
    /// Whether it is an error where batches stay on the device.
    pub host_only: bool,
    /// What applies without a value, in words.
    pub unset: Option<&'static str>,
    default: fn() -> Value,
}

impl OptionInfo {
    /// The command's flag, without the hyphens before it: `on-error`. That of a [`Kind::Flag`]
    /// which is on by default turns it off.
    #[must_use]
    pub fn flag(&self) -> String {
        self.flag.map_or_else(|| self.name.replace('_', "-"), str::to_owned)
    }

    /// What it does, as Markdown, without a period.
    #[must_use]
    pub fn help(&self) -> &'static str {
        let help = self.help.trim();
        help.strip_suffix('.').unwrap_or(help)
    }

    /// The default; [`Value::Default`] where that is not a value.
    #[must_use]
    pub fn default(&self) -> Value {
        (self.default)()
    }

    /// The default as a user writes it: `128MiB`.
    #[must_use]
    pub fn default_text(&self) -> Option<String> {
        self.kind.text(&self.default())
    }
}

/// What an option is about: a heading of help texts and documents, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    /// Which columns, of which types.
    Columns,
    /// Which rows, and where they are from.
    Rows,
    /// How the input is laid out, and limits on it.
    Input,
    /// The engine and its resources.
    Engine,
    /// Records that do not match the schema.
    BadInput,
    /// What only Parquet files have.
    Parquet,
    /// The batches.
    Batches,
    /// Inference of a schema.
    Inference,
}

impl Group {
    /// The heading.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Columns => "Columns",
            Self::Rows => "Rows and folders",
            Self::Input => "Input",
            Self::Engine => "Engine",
            Self::BadInput => "Bad input",
            Self::Parquet => "Parquet input",
            Self::Batches => "Batches",
            Self::Inference => "Inference",
        }
    }
}

/// Why an option was not set. The texts name it.
#[derive(Debug)]
pub enum Refused {
    /// There is no such option.
    Unknown(String),
    /// A value of another type.
    Type(String),
    /// A value that is not allowed.
    Value(String),
    /// A schema that cannot be loaded, a condition that cannot be parsed.
    Failed(Error),
}

impl Refused {
    fn unknown(name: &str, table: &[OptionInfo]) -> Self {
        let known: Vec<&str> = table.iter().map(|option| option.name).collect();
        let meant = nearest(name, &known);
        let meant = meant.map(|known| format!(" (did you mean {known:?}?)")).unwrap_or_default();
        let known = known.join(", ");
        Self::Unknown(format!("there is no option {name:?}{meant}; there are: {known}"))
    }
}

impl From<Refused> for Error {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Unknown(text) | Refused::Type(text) | Refused::Value(text) => {
                Self::Config(text)
            }
            Refused::Failed(error) => error,
        }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(text) | Self::Type(text) | Self::Value(text) => f.write_str(text),
            Self::Failed(error) => error.fmt(f),
        }
    }
}

/// The name that is likely to be meant: at most a third of its letters differ.
fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let mut snake = String::new();
    for c in name.chars().take(64) {
        match c {
            '-' => snake.push('_'),
            c if c.is_ascii_uppercase() => snake.extend(['_', c.to_ascii_lowercase()]),
            c => snake.push(c),
        }
    }
    let distances = known.iter().map(|known| (distance(&snake, known), *known));
    let (distance, known) = distances.min()?;
    (distance <= known.len() / 3).then_some(known)
}

/// The Levenshtein distance, in letters.
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.chars().count()).collect();
    for (i, a) in a.chars().enumerate() {
        let mut before = i;
        let mut left = i + 1;
        for (b, cell) in b.chars().zip(row.iter_mut().skip(1)) {
            let replaced = before + usize::from(a != b);
            before = *cell;
            left = replaced.min(before + 1).min(left + 1);
            *cell = left;
        }
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod interfaces;
#[cfg(test)]
mod tests;
