// SPDX-License-Identifier: Apache-2.0
//! The layers of a configuration: file, then environment, then flags.
//!
//! The environment's names are `ARROWSMITH_INGEST_` and the path of the setting with `__` between
//! its parts, in any case: `ARROWSMITH_INGEST_STREAM__EVENTS__SCHEMA=trip`. Flags are
//! `path.of.setting=value`. A value that is TOML is taken as such, anything else as text.

use std::path::Path;

use arrowsmith_core::{Error, Result, whole};
use toml::{Table, Value};

/// What the environment's names begin with.
pub const PREFIX: &str = "ARROWSMITH_INGEST_";

/// The merged tables.
///
/// # Errors
/// [`Error::Config`] for what cannot be read or is not TOML, and for settings without a place.
pub fn read(
    file: Option<&Path>,
    environment: impl Iterator<Item = (String, String)>,
    settings: &[String],
) -> Result<Table> {
    let mut table = Table::new();
    if let Some(path) = file {
        let text = whole::read_text(path).map_err(|error| Error::io(path, error))?;
        table = text.parse().map_err(|error: toml::de::Error| {
            Error::Config(format!("{}: {}", path.display(), error.to_string().trim()))
        })?;
    }
    let mut variables: Vec<_> = environment.filter(|(key, _)| key.starts_with(PREFIX)).collect();
    variables.sort();
    for (key, text) in &variables {
        let path: Vec<String> =
            key[PREFIX.len()..].split("__").map(str::to_ascii_lowercase).collect();
        set(&mut table, &path, text).map_err(|why| Error::Config(format!("{key}: {why}")))?;
    }
    for setting in settings {
        let (key, text) = setting
            .split_once('=')
            .ok_or_else(|| Error::Config(format!("{setting:?} is not key=value")))?;
        let path: Vec<String> = key.split('.').map(str::to_owned).collect();
        set(&mut table, &path, text).map_err(|why| Error::Config(format!("{key}: {why}")))?;
    }
    Ok(table)
}

/// Puts a value at its place; a number in the path is an element of a list, `sink.0.path`.
fn set(table: &mut Table, path: &[String], text: &str) -> std::result::Result<(), String> {
    let Some((first, rest)) = path.split_first() else { return Err("names nothing".to_owned()) };
    if path.iter().any(String::is_empty) {
        return Err("names nothing".to_owned());
    }
    if rest.is_empty() {
        table.insert(first.clone(), value(text));
        return Ok(());
    }
    let list = rest.first().is_some_and(|part| part.parse::<usize>().is_ok());
    let empty = if list { Value::Array(Vec::new()) } else { Value::Table(Table::new()) };
    match table.entry(first.clone()).or_insert(empty) {
        Value::Table(inner) => set(inner, rest, text),
        Value::Array(items) => element(items, rest, text),
        _ => Err(format!("{first} is a value, and holds no others")),
    }
}

fn element(items: &mut Vec<Value>, path: &[String], text: &str) -> std::result::Result<(), String> {
    let Some((first, rest)) = path.split_first() else { return Err("names nothing".to_owned()) };
    let number =
        first.parse::<usize>().map_err(|_| format!("{first} is not the number of an element"))?;
    if number > items.len() {
        return Err(format!("there is no element {} before {number}", items.len()));
    }
    if rest.is_empty() {
        items.truncate(number.saturating_add(1).max(items.len()));
        match items.get_mut(number) {
            Some(item) => *item = value(text),
            None => items.push(value(text)),
        }
        return Ok(());
    }
    if number == items.len() {
        items.push(Value::Table(Table::new()));
    }
    match items.get_mut(number) {
        Some(Value::Table(inner)) => set(inner, rest, text),
        _ => Err(format!("element {number} is a value, and holds no others")),
    }
}

fn value(text: &str) -> Value {
    let parsed = format!("v = {text}")
        .parse::<Table>()
        .ok()
        .and_then(|mut table| if table.len() == 1 { table.remove("v") } else { None });
    parsed.unwrap_or_else(|| Value::String(text.to_owned()))
}
