// SPDX-License-Identifier: Apache-2.0
//! The kinds of option values, and the validation of a value.

use std::sync::Arc;

use arrowsmith_core::{Error, size};
use arrowsmith_pipeline::RecordsPath;
use arrowsmith_plan::Coercion;
use arrowsmith_plan::load::load_schema;

use super::value::Value;
use crate::parquet::Predicate;

/// The kind of an option's values.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    /// True or false.
    Flag,
    /// A whole number between these.
    Count {
        /// The minimum.
        min: u64,
        /// The maximum.
        max: u64,
    },
    /// A number of at least 1, or `all`.
    CountOrAll,
    /// A number of bytes, or text such as `64MiB` ([`arrowsmith_core::size`]).
    Bytes,
    /// One of some words.
    Choice(&'static Choices),
    /// The name of an engine ([`ENGINES`](crate::ENGINES)); another is an error once it is opened.
    Engine,
    /// A schema: its text form, or the name of a file with it.
    Schema,
    /// Types of some columns: a schema whose names are paths.
    Types,
    /// Coercions of columns, as text.
    Coercion,
    /// The name of a column.
    Name,
    /// A path to the records of a document: `data.items`, `/data/items`.
    RecordsPath,
    /// A condition on rows.
    Condition,
    /// A list of columns, as paths.
    Paths,
    /// A list of columns, as paths; true for all columns, false for none.
    PathsOrAll,
    /// A list of numbers.
    Numbers,
}

/// Words that an option accepts.
#[derive(Debug, Clone, Copy)]
pub struct Choices {
    /// What stands for one of them in a synopsis: `ACTION`.
    pub metavar: &'static str,
    /// The words.
    pub all: &'static [Choice],
}

/// A word that an option accepts.
#[derive(Debug, Clone, Copy)]
pub struct Choice {
    /// The word.
    pub name: &'static str,
    /// Other words for the same.
    pub aliases: &'static [&'static str],
    /// What it does, as Markdown; empty if the word says it.
    pub help: &'static str,
}

/// Why a value is refused: what was expected and found.
#[derive(Debug)]
pub(super) enum Wrong {
    /// It is of another type.
    Type(String),
    /// It is not allowed.
    Value(String),
    /// Loading or parsing it failed.
    Failed(Error),
}

impl Kind {
    /// What stands for a value in a synopsis: `SIZE`.
    #[must_use]
    pub fn metavar(&self) -> &'static str {
        match self {
            Self::Flag => "BOOL",
            Self::Count { .. } | Self::CountOrAll => "N",
            Self::Bytes => "SIZE",
            Self::Choice(choices) => choices.metavar,
            Self::Engine => "ENGINE",
            Self::Schema => "SCHEMA",
            Self::Types => "TYPES",
            Self::Coercion => "COERCIONS",
            Self::Name => "NAME",
            Self::RecordsPath => "PATH",
            Self::Condition => "CONDITION",
            Self::Paths | Self::PathsOrAll => "PATHS",
            Self::Numbers => "NUMBERS",
        }
    }

    /// The value that a text on the command line stands for. Lists are separated by commas; `*` is
    /// all columns. Schemas and conditions remain text, for errors of their own.
    ///
    /// # Errors
    /// What is expected instead, in words.
    pub fn parse(&self, text: &str) -> Result<Value, String> {
        let number = |text: &str| {
            text.parse().map(Value::Integer).map_err(|_| format!("{text:?} is not a number"))
        };
        let paths = || text.split(',').map(|path| Value::Text(path.to_owned())).collect();
        let value = match self {
            Self::Flag => Value::Flag(text.parse().map_err(|_| "expected true or false")?),
            Self::Count { .. } => number(text)?,
            Self::CountOrAll if text != "all" => {
                number(text).map_err(|_| format!("{text:?} is neither a number nor `all`"))?
            }
            Self::Paths => Value::List(paths()),
            Self::PathsOrAll if text.split(',').any(|path| path == "*") => Value::Flag(true),
            Self::PathsOrAll => Value::List(paths()),
            Self::Numbers => Value::List(text.split(',').map(number).collect::<Result<_, _>>()?),
            Self::Schema | Self::Types | Self::Coercion | Self::Condition => {
                return Ok(Value::Text(text.to_owned()));
            }
            Self::CountOrAll
            | Self::Bytes
            | Self::Choice(_)
            | Self::Engine
            | Self::Name
            | Self::RecordsPath => Value::Text(text.to_owned()),
        };
        self.check(value).map_err(|wrong| match wrong {
            Wrong::Type(text) | Wrong::Value(text) => text,
            Wrong::Failed(error) => error.to_string(),
        })
    }

    /// Texts that [`Kind::parse`] accepts, with the value that an option then has: for tests.
    #[doc(hidden)]
    #[must_use]
    pub fn examples(&self) -> Vec<(&'static str, Value)> {
        let texts = match self {
            Self::Flag => vec!["true", "false"],
            Self::Count { .. } => vec!["7"],
            Self::CountOrAll => vec!["7", "all"],
            Self::Bytes => vec!["3MiB", "65536"],
            Self::Choice(choices) => choices.all.iter().map(|choice| choice.name).collect(),
            Self::Engine => vec!["reference"],
            Self::Schema => vec!["a: int64"],
            Self::Types => vec!["a: int64, b.c: utf8"],
            Self::Coercion => vec!["scalars epoch ms nulls \"\" \"N/A\""],
            Self::Name => vec!["a"],
            Self::RecordsPath => vec!["a", "a.b", "/a~1b"],
            Self::Condition => vec!["a > 1"],
            Self::Paths => vec!["a", "a,b.c"],
            Self::PathsOrAll => vec!["*", "a,b.c"],
            Self::Numbers => vec!["0,3"],
        };
        let value = |text: &str| self.check(self.parse(text).ok()?).ok();
        texts.into_iter().filter_map(|text| Some((text, value(text)?))).collect()
    }

    /// A value as a user writes it; `None` for no value.
    pub(super) fn text(&self, value: &Value) -> Option<String> {
        let one = |value: &Value| self.text(value).unwrap_or_default();
        Some(match (self, value) {
            (_, Value::Default) => return None,
            (Self::Bytes, Value::Integer(bytes)) => in_units(*bytes),
            (_, Value::Integer(number)) => number.to_string(),
            (_, Value::Flag(flag)) => flag.to_string(),
            (_, Value::Text(text)) => text.clone(),
            (_, Value::List(list)) => list.iter().map(one).collect::<Vec<_>>().join(","),
            (_, other) => other.to_string(),
        })
    }

    /// A value as its field takes it: sizes as numbers, schemas and conditions parsed.
    pub(super) fn check(&self, value: Value) -> Result<Value, Wrong> {
        let wrong_type = |expected: &str, value: &Value| {
            Err(Wrong::Type(format!("expected {expected}, found {value}")))
        };
        let wrong = |expected: &str, value: &Value| {
            Err(Wrong::Value(format!("expected {expected}, found {value}")))
        };
        match (self, value) {
            (Self::Flag | Self::PathsOrAll, value @ Value::Flag(_))
            | (Self::Engine, value @ Value::Text(_))
            | (Self::Schema | Self::Types, value @ Value::Schema(_))
            | (Self::Condition, value @ Value::Condition(_)) => Ok(value),
            (Self::Flag, value) => wrong_type("true or false", &value),
            (Self::Count { min, max }, Value::Integer(number)) => {
                if (i128::from(*min)..=i128::from(*max)).contains(&number) {
                    return Ok(Value::Integer(number));
                }
                let expected = match *max {
                    u64::MAX => format!("{min} or more"),
                    max => format!("{min} to {max}"),
                };
                wrong(&expected, &Value::Integer(number))
            }
            (Self::Count { .. }, value) => wrong_type("a number", &value),
            (Self::CountOrAll, Value::Integer(number)) if number >= 1 => Ok(Value::Integer(number)),
            (Self::CountOrAll, value @ Value::Integer(_)) => wrong("1 or more, or \"all\"", &value),
            (Self::CountOrAll, Value::Text(text)) if text == "all" => Ok(Value::Text(text)),
            (Self::CountOrAll, value) => wrong_type("1 or more, or \"all\"", &value),
            (Self::Bytes, Value::Integer(bytes)) if bytes >= 0 => Ok(Value::Integer(bytes)),
            (Self::Bytes, value @ Value::Integer(_)) => wrong("0 or more", &value),
            (Self::Bytes, Value::Text(text)) => match size::parse(&text) {
                Ok(bytes) => Ok(Value::Integer(bytes.into())),
                Err(message) => Err(Wrong::Value(message)),
            },
            (Self::Bytes, value) => wrong_type("a number of bytes, or a size in text", &value),
            (Self::Choice(choices), Value::Text(text)) => match choices.find(&text) {
                Some(choice) => Ok(Value::Text(choice.name.to_owned())),
                None => wrong(&choices.names(), &Value::Text(text)),
            },
            (Self::Choice(choices), value) => wrong_type(&choices.names(), &value),
            (Self::Coercion, Value::Text(text)) => match text.parse::<Coercion>() {
                Ok(coercion) => Ok(Value::Text(coercion.to_string())),
                Err(error) => Err(Wrong::Failed(error)),
            },
            (Self::Coercion, value) => wrong_type("coercions, as text", &value),
            (Self::Name, Value::Text(text)) if text.is_empty() => {
                wrong("a name", &Value::Text(text))
            }
            (Self::Name, value @ Value::Text(_)) => Ok(value),
            (Self::Name, value) => wrong_type("a name", &value),
            (Self::RecordsPath, Value::Text(text)) => match text.parse::<RecordsPath>() {
                Ok(_) => Ok(Value::Text(text)),
                Err(error) => Err(Wrong::Failed(error)),
            },
            (Self::RecordsPath, value) => wrong_type("a path", &value),
            (Self::Engine, value) => wrong_type("the name of an engine", &value),
            (Self::Schema | Self::Types, Value::Text(text)) => match load_schema(&text) {
                Ok(schema) => Ok(Value::Schema(Arc::new(schema))),
                Err(error) => Err(Wrong::Failed(error)),
            },
            (Self::Schema, value) => wrong_type("a schema", &value),
            (Self::Types, value) => wrong_type("types by path", &value),
            (Self::Condition, Value::Text(text)) => match Predicate::parse(&text) {
                Ok(condition) => Ok(Value::Condition(Box::new(condition))),
                Err(error) => Err(Wrong::Failed(error)),
            },
            (Self::Condition, value) => wrong_type("a condition", &value),
            (Self::Paths | Self::PathsOrAll, Value::List(list)) => {
                match list.iter().find(|item| !matches!(item, Value::Text(_))) {
                    Some(item) => wrong_type("a list of names", item),
                    None => Ok(Value::List(list)),
                }
            }
            (Self::Paths, value) => wrong_type("a list of names", &value),
            (Self::PathsOrAll, value) => wrong_type("true, false or a list of names", &value),
            (Self::Numbers, Value::List(list)) => {
                match list.iter().find(|item| !matches!(item, Value::Integer(0..))) {
                    Some(item) => wrong_type("a list of numbers", item),
                    None => Ok(Value::List(list)),
                }
            }
            (Self::Numbers, value) => wrong_type("a list of numbers", &value),
        }
    }
}

impl Choices {
    /// The word, or the one that it is another word for.
    fn find(&self, text: &str) -> Option<&'static Choice> {
        self.all.iter().find(|choice| choice.name == text || choice.aliases.contains(&text))
    }

    /// All words, quoted.
    fn names(&self) -> String {
        let names: Vec<String> =
            self.all.iter().map(|choice| format!("{:?}", choice.name)).collect();
        names.join(", ")
    }
}

/// `128MiB`; bytes where no unit divides them.
fn in_units(bytes: i128) -> String {
    for (unit, scale) in [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)] {
        if bytes > 0 && bytes % scale == 0 {
            return format!("{}{unit}", bytes / scale);
        }
    }
    bytes.to_string()
}
