// SPDX-License-Identifier: Apache-2.0
//! The options of reading, as flags: made from the library's table, so that each is here.

use std::fmt;
use std::marker::PhantomData;

use arrowsmith::options::{Group, JSON, Kind, OptionInfo, PARQUET, Value};
use arrowsmith::{Chain, EngineOptions, Error, JsonReadOptions, ParquetReadOptions};
use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};

use crate::failure::{Failure, Outcome};
use crate::schema;

/// The values of `--format` that are no layout of JSON.
const OTHER_FORMATS: [(&str, Format, &str); 6] = [
    ("parquet", Format::Parquet, "Parquet files"),
    ("delta", Format::Delta, "a Delta table"),
    ("iceberg", Format::Iceberg, "an Iceberg table, or a file of its metadata"),
    ("arrow", Format::Arrow, "Arrow IPC files or a stream"),
    ("csv", Format::Csv { delimiter: b',' }, "comma-separated values with a header"),
    ("tsv", Format::Csv { delimiter: b'\t' }, "tab-separated values with a header"),
];

/// Which options a command has.
pub trait Uses {
    /// The heading of all; without it each has that of its group.
    const HEADING: Option<&str> = None;

    fn has(option: &OptionInfo) -> bool;
}

/// All of them.
pub struct Reading;

/// Those of inference.
pub struct Inferring;

/// Those of a server of JSON files.
pub struct Serving;

impl Uses for Reading {
    fn has(_: &OptionInfo) -> bool {
        true
    }
}

impl Uses for Inferring {
    fn has(option: &OptionInfo) -> bool {
        option.infers
    }
}

impl Uses for Serving {
    const HEADING: Option<&str> = Some("JSON files");

    fn has(option: &OptionInfo) -> bool {
        option.serves
    }
}

/// The options of reading that were given.
pub struct ReadArgs<U = Reading> {
    given: Vec<(&'static OptionInfo, Value)>,
    /// The value of `--format`.
    pub format: Format,
    uses: PhantomData<U>,
}

/// What `--format` says of the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// To be detected.
    Auto,
    Json,
    Parquet,
    /// Parquet files that a log names.
    Delta,
    /// Parquet files that manifests name.
    Iceberg,
    Arrow,
    Csv {
        delimiter: u8,
    },
}

impl<U: Uses> ReadArgs<U> {
    /// The options of this table that were given.
    fn of(&self, table: &[OptionInfo]) -> Outcome<Vec<(&'static str, Value)>> {
        let given = self.given.iter().filter(|(option, _)| has(table, option.name));
        given.map(|(option, value)| Ok((option.name, loaded(option.kind, value)?))).collect()
    }

    pub fn json(&self) -> Outcome<JsonReadOptions> {
        let mut options = JsonReadOptions::default();
        for (name, value) in self.of(JSON)? {
            options.set(name, value).map_err(Error::from)?;
        }
        Ok(options)
    }

    pub fn parquet(&self) -> Outcome<ParquetReadOptions> {
        let mut options = ParquetReadOptions::default();
        for (name, value) in self.of(PARQUET)? {
            options.set(name, value).map_err(Error::from)?;
        }
        Ok(options)
    }

    /// The flag of the first option that was given, if any was.
    pub fn first(&self) -> Option<String> {
        self.given.first().map(|(option, _)| option.flag())
    }

    /// Refuses the first option that has no meaning for JSON.
    pub fn refuse_for_json(&self) -> Outcome {
        self.refuse("Parquet", |option| !has(JSON, option.name))
    }

    /// Refuses the first option that has no meaning for Parquet.
    pub fn refuse_for_parquet(&self) -> Outcome {
        self.refuse("JSON", |option| !has(PARQUET, option.name) && !option.ignored)
    }

    /// Refuses the first option that does not apply.
    pub fn refuse_except(&self, format: &str, applies: impl Fn(&OptionInfo) -> bool) -> Outcome {
        let mut given = self.given.iter();
        match given.find(|(option, value)| !applies(option) && *value != option.default()) {
            Some((option, _)) => {
                Err(Failure::Usage(format!("--{} is not for {format} input", option.flag())))
            }
            None => Ok(()),
        }
    }

    fn refuse(&self, format: &str, is_foreign: impl Fn(&OptionInfo) -> bool) -> Outcome {
        let mut given = self.given.iter();
        match given.find(|(option, value)| is_foreign(option) && *value != option.default()) {
            Some((option, _)) => {
                let flag = option.flag();
                Err(Failure::Usage(format!("--{flag} is for {format} input only")))
            }
            None => Ok(()),
        }
    }
}

impl<U> fmt::Debug for ReadArgs<U> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map()
            .entries(self.given.iter().map(|(option, value)| (option.name, value)))
            .finish()
    }
}

/// Pinned memory in which a GPU may leave batches.
const PINNED_BYTES_MAX: u64 = 1 << 30;

/// The engine of the options. With `explain` it only has to answer who would decode what.
pub fn open_engine(name: &str, gpu_memory_bytes_max: u64, explain: bool) -> Outcome<Chain> {
    let options = EngineOptions::default()
        .with_explain(explain)
        .with_gpu_memory_bytes_max(gpu_memory_bytes_max)
        // The command does not fork.
        .with_gpu_pinned_bytes_max(PINNED_BYTES_MAX);
    Ok(arrowsmith::engines::open(name, &options)?)
}

fn has(table: &[OptionInfo], name: &str) -> bool {
    table.iter().any(|option| option.name == name)
}

/// A schema may be named by its workload, too.
fn loaded(kind: Kind, value: &Value) -> Outcome<Value> {
    match (kind, value) {
        (Kind::Schema, Value::Text(text)) => Ok(Value::Schema(schema::load(text)?)),
        _ => Ok(value.clone()),
    }
}

/// The options that are flags, by heading.
fn flags<U: Uses>() -> Vec<&'static OptionInfo> {
    let parquet = PARQUET.iter().filter(|option| !has(JSON, option.name));
    let all = JSON.iter().chain(parquet).filter(|option| U::has(option));
    let mut flags: Vec<_> = all.collect();
    flags.sort_by_key(|option| option.group);
    flags
}

fn flag(option: &'static OptionInfo) -> Arg {
    let mut help = option.help().to_owned();
    match option.name {
        "schema" => help.push_str(", or a workload's name"),
        "engine" => help.push_str(" (see --explain)"),
        "format" => help.push_str("; or another format"),
        "dictionary" => help.push_str(": `*`"),
        // This flag turns off what the option describes.
        "arrow_schema" => help = "Ignore the Arrow schema that is stored in the file".to_owned(),
        _ => {}
    }
    if let Some(unset) = option.unset {
        help.push_str(&format!(" [default: {unset}]"));
    }
    let arg = Arg::new(option.name).long(option.flag()).help(help);
    let arg = match option.group {
        Group::Columns => arg,
        group => arg.help_heading(group.title()),
    };
    let arg = if option.name == "schema" { arg.short('s') } else { arg };
    let arg = match option.kind {
        Kind::Flag => return arg.action(ArgAction::SetTrue),
        Kind::Choice(choices) => {
            let values = choices.all.iter().map(|choice| {
                let value = PossibleValue::new(choice.name).aliases(choice.aliases);
                if choice.help.is_empty() { value } else { value.help(choice.help) }
            });
            let other = OTHER_FORMATS.iter().filter(|_| option.name == "format");
            let other = other.map(|(name, _, help)| PossibleValue::new(*name).help(*help));
            arg.value_parser(PossibleValuesParser::new(values.chain(other)))
        }
        Kind::Engine => {
            let value = |entry: &arrowsmith::engines::Entry| {
                PossibleValue::new(entry.name).help(entry.about)
            };
            arg.value_parser(PossibleValuesParser::new(arrowsmith::ENGINES.iter().map(value)))
        }
        Kind::Paths | Kind::PathsOrAll | Kind::Numbers => {
            arg.action(ArgAction::Append).value_parser(|text: &str| option.kind.parse(text))
        }
        _ => arg.value_parser(|text: &str| option.kind.parse(text)),
    };
    let arg = arg.value_name(option.kind.metavar());
    match option.default_text() {
        // No columns.
        Some(default) if !matches!(option.kind, Kind::PathsOrAll) => arg.default_value(default),
        _ => arg,
    }
}

impl<U: Uses> Args for ReadArgs<U> {
    fn augment_args(command: Command) -> Command {
        command.args(flags::<U>().into_iter().map(|option| match U::HEADING {
            Some(heading) => flag(option).help_heading(heading),
            None => flag(option),
        }))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<U: Uses> FromArgMatches for ReadArgs<U> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut args = Self { given: Vec::new(), format: Format::Auto, uses: PhantomData };
        args.update_from_arg_matches(matches)?;
        Ok(args)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        for option in flags::<U>() {
            if matches.value_source(option.name) != Some(ValueSource::CommandLine) {
                continue;
            }
            let value = match option.kind {
                Kind::Flag => Value::Flag(option.default() != Value::Flag(true)),
                Kind::Choice(_) | Kind::Engine => {
                    let word = matches.get_one::<String>(option.name).cloned().unwrap_or_default();
                    if option.name == "format" {
                        let other = OTHER_FORMATS.iter().find(|(name, ..)| *name == word);
                        if let Some((_, format, _)) = other {
                            self.format = *format;
                            continue;
                        }
                        self.format = if word == "auto" { Format::Auto } else { Format::Json };
                    }
                    Value::Text(word)
                }
                _ => merged(matches.get_many::<Value>(option.name).unwrap_or_default().cloned()),
            };
            self.given.push((option, value));
        }
        Ok(())
    }
}

/// The lists of an option that was given several times, one after another; otherwise its value.
fn merged(values: impl Iterator<Item = Value>) -> Value {
    values
        .reduce(|first, next| match (first, next) {
            (Value::List(mut first), Value::List(next)) => {
                first.extend(next);
                Value::List(first)
            }
            // All columns, and some.
            (Value::Flag(all), _) | (_, Value::Flag(all)) => Value::Flag(all),
            (_, last) => last,
        })
        .unwrap_or(Value::Default)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Given<U: Uses> {
        #[command(flatten)]
        read: ReadArgs<U>,
    }

    fn given<U: Uses>(args: &[&str]) -> ReadArgs<U> {
        Given::parse_from([&["test"], args].concat()).read
    }

    /// Each option of the table is a flag, and what is given for it arrives.
    #[test]
    fn every_option_is_a_flag() {
        for (table, is_json) in [(JSON, true), (PARQUET, false)] {
            for option in table {
                let flag = format!("--{}", option.flag());
                for (text, value) in option.kind.examples() {
                    let args: Vec<&str> = match option.kind {
                        Kind::Flag if value == option.default() => continue,
                        Kind::Flag => vec![&flag],
                        _ => vec![&flag, &text],
                    };
                    let read: ReadArgs = given(&args);
                    let found = match is_json {
                        true => read.json().unwrap().get(option.name),
                        false => read.parquet().unwrap().get(option.name),
                    };
                    assert_eq!(found, Some(value), "{args:?}");
                    if option.infers {
                        given::<Inferring>(&args);
                    }
                    if option.serves {
                        given::<Serving>(&args);
                    }
                }
            }
        }
    }

    #[test]
    fn nothing_given_is_the_defaults() {
        let read: ReadArgs = given(&[]);
        assert_eq!(read.json().unwrap(), JsonReadOptions::default());
        assert_eq!(read.parquet().unwrap(), ParquetReadOptions::default());
    }

    #[test]
    fn lists_may_be_given_several_times() {
        let read: ReadArgs = given(&["--columns", "a,b.c", "--columns", "d"]);
        let columns = ["a", "b.c", "d"].map(str::to_owned).to_vec();
        assert_eq!(read.json().unwrap().columns, Some(columns));
        let read: ReadArgs = given(&["--dictionary-columns", "a", "--dictionary-columns", "*"]);
        assert_eq!(read.parquet().unwrap().dictionary, arrowsmith::parquet::Columns::All);
    }

    #[test]
    fn options_of_the_other_format_are_refused() {
        let refused = |args: &[&str]| {
            let read: ReadArgs = given(args);
            (read.refuse_for_json().is_err(), read.refuse_for_parquet().is_err())
        };
        assert_eq!(refused(&["--threads", "2"]), (false, false));
        assert_eq!(refused(&["--where", "a = 1"]), (false, false));
        assert_eq!(refused(&["--row-groups", "1"]), (true, false));
        assert_eq!(refused(&["--file-column", "f"]), (false, true));
        assert_eq!(refused(&["--on-error", "skip"]), (false, true));
        assert_eq!(refused(&["--on-error", "fail"]), (false, false));
        assert_eq!(refused(&["--unknown-keys", "error"]), (false, false));
        for option in JSON.iter().filter(|option| option.ignored) {
            assert!(!has(PARQUET, option.name), "{}", option.name);
        }
    }
}
