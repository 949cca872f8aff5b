// SPDX-License-Identifier: Apache-2.0
//! Options, from JSON text: names, values and defaults are those of the library's table, which
//! rejects unknown ones.

use std::collections::BTreeMap;

use arrowsmith::options::{Refused, Value};
use arrowsmith::{Error, JsonReadOptions, ParquetReadOptions, Result};

/// The option for records that were skipped or changed.
const REJECTS: &str = "rejects";

/// The option for positions in a byte range.
const COUNT_BEFORE: &str = "count_before";

/// The option for carriage returns within a line.
const REFUSE_LONE_CR: &str = "refuse_lone_cr";

/// Which rejects are kept until they are requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rejects {
    None,
    /// The latest.
    Some,
    /// All: the caller takes them when it is told to.
    All,
    /// All, with the white space around the record.
    Lines,
}

/// Options that only this interface has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Own {
    pub(crate) rejects: Rejects,
    /// Whether positions in a byte range are those of the whole file.
    pub(crate) count_before: bool,
    /// Whether a carriage return without a line feed ends the reading.
    pub(crate) refuse_lone_cr: bool,
}

/// The options of the JSON reader.
pub(crate) fn json(text: &[u8]) -> Result<(JsonReadOptions, Own)> {
    let mut given = parse(text)?;
    let rejects = match given.remove(REJECTS) {
        Some(Value::Flag(true)) => Rejects::Some,
        Some(Value::Flag(false) | Value::Default) | None => Rejects::None,
        Some(Value::Text(text)) if text == "all" => Rejects::All,
        Some(Value::Text(text)) if text == "lines" => Rejects::Lines,
        Some(other) => {
            let expected = "true, false, \"all\" or \"lines\"";
            return Err(refused(format!("{REJECTS}: expected {expected}, found {other}")));
        }
    };
    let mut flag = |name: &str, default: bool| match given.remove(name) {
        Some(Value::Flag(flag)) => Ok(flag),
        Some(Value::Default) | None => Ok(default),
        Some(other) => Err(refused(format!("{name}: expected true or false, found {other}"))),
    };
    let count_before = flag(COUNT_BEFORE, true)?;
    let refuse_lone_cr = flag(REFUSE_LONE_CR, false)?;
    let mut options = JsonReadOptions::default();
    set(given, |name, value| options.set(name, value))?;
    Ok((options, Own { rejects, count_before, refuse_lone_cr }))
}

/// The options of the Parquet reader.
pub(crate) fn parquet(text: &[u8]) -> Result<ParquetReadOptions> {
    let mut options = ParquetReadOptions::default();
    set(parse(text)?, |name, value| options.set(name, value))?;
    Ok(options)
}

/// The options in a text; no text is none.
fn parse(text: &[u8]) -> Result<BTreeMap<String, Value>> {
    let text = if text.is_empty() { b"{}" } else { text };
    serde_json::from_slice(text).map_err(|error| refused(error.to_string()))
}

fn set(
    given: BTreeMap<String, Value>,
    mut set: impl FnMut(&str, Value) -> Result<(), Refused>,
) -> Result<()> {
    for (name, value) in given {
        set(&name, value).map_err(|why| match why {
            Refused::Failed(error) => error,
            why => refused(why.to_string()),
        })?;
    }
    Ok(())
}

fn refused(why: String) -> Error {
    Error::Config(format!("options: {why}"))
}

#[cfg(test)]
mod tests {
    use arrowsmith::options::{JSON, Kind, OptionInfo, PARQUET};
    use serde_json::json;

    use super::*;

    /// Every value of a table that an interface can write, as JSON text, with the value that it
    /// sets.
    fn examples(table: &[OptionInfo]) -> Vec<(&'static str, String, Value)> {
        let mut examples = Vec::new();
        for option in table {
            for (text, value) in option.kind.examples() {
                let written = match &value {
                    Value::Flag(flag) => json!(flag),
                    Value::Integer(number) => json!(u64::try_from(*number).unwrap()),
                    Value::List(_) if matches!(option.kind, Kind::Numbers) => json!([0, 3]),
                    Value::List(_) => json!(text.split(',').collect::<Vec<_>>()),
                    _ => json!(text),
                };
                examples.push((option.name, json!({ option.name: written }).to_string(), value));
            }
        }
        examples
    }

    #[test]
    fn every_option_is_accepted_and_arrives() {
        for (name, text, value) in examples(JSON) {
            assert_eq!(json(text.as_bytes()).unwrap().0.get(name), Some(value), "{text}");
        }
        for (name, text, value) in examples(PARQUET) {
            assert_eq!(parquet(text.as_bytes()).unwrap().get(name), Some(value), "{text}");
        }
        for option in JSON.iter().chain(PARQUET) {
            let text = json!({ option.name: null }).to_string();
            let found = match JSON.iter().any(|json| json.name == option.name) {
                true => json(text.as_bytes()).unwrap().0.get(option.name),
                false => parquet(text.as_bytes()).unwrap().get(option.name),
            };
            assert_eq!(found, Some(option.default()), "{text}");
        }
    }

    #[test]
    fn what_is_refused_is_named() {
        for (text, expected) in [
            (r#"{"thread":1}"#, "there is no option \"thread\" (did you mean \"threads\"?)"),
            (r#"{"batchRows":1}"#, "did you mean \"batch_rows\"?"),
            (r#"{"threads":0}"#, "threads: expected 1 to 65535, found 0"),
            (r#"{"threads":"2"}"#, "threads: expected a number, found \"2\""),
            (r#"{"on_error":"stop"}"#, "on_error: expected \"fail\", \"null\", \"skip\""),
            (r#"{"trust":1}"#, "trust: expected true or false, found 1"),
            (r#"{"depth_max":1.5}"#, "depth_max: expected a number, found 1.5"),
            (r#"{"columns":{}}"#, "columns: expected a list of names, found an object"),
            (r#"{"columns":[1]}"#, "columns: expected a list of names, found 1"),
            (r#"{"rejects":1}"#, "rejects: expected true, false, \"all\" or \"lines\", found 1"),
            (r#"{"count_before":1}"#, "count_before: expected true or false, found 1"),
            (r#"{"memory_bytes_max":"much"}"#, "\"much\" is not a size"),
            (r#"{"row_groups":[1]}"#, "there is no option \"row_groups\""),
            ("[]", "options: invalid type: sequence, expected a map"),
            ("{", "options: EOF"),
        ] {
            let error = json(text.as_bytes()).map(|_| ()).unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
        assert!(json(br#"{"schema":"a: int65"}"#).is_err());
        assert!(parquet(br#"{"filter":"a >"}"#).is_err());
        assert!(json(b"").unwrap().0 == JsonReadOptions::default());
        let own = json(br#"{"rejects":"all","memory_bytes_max":"1GiB"}"#).unwrap().1;
        assert_eq!(own, Own { rejects: Rejects::All, count_before: true, refuse_lone_cr: false });
        let own =
            json(br#"{"rejects":true,"count_before":false,"refuse_lone_cr":true}"#).unwrap().1;
        assert_eq!(own, Own { rejects: Rejects::Some, count_before: false, refuse_lone_cr: true });
    }
}
