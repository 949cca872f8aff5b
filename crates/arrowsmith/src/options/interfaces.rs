// SPDX-License-Identifier: Apache-2.0
//! The options in other languages and documents, generated from the table: the test compares them
//! with the files, and writes these with `ARROWSMITH_UPDATE_SNAPSHOTS=1`.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use super::*;
use crate::ENGINES;

const MADE: &str = "Made from crates/arrowsmith/src/options/table.rs by its tests.";

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Compares a file, or the part between two of its lines, with a text.
fn hold(path: &str, between: Option<(&str, &str)>, text: &str) {
    let file = repository().join(path);
    let before = fs::read_to_string(&file).unwrap_or_default();
    let after = match between {
        None => text.to_owned(),
        Some((start, end)) => {
            let from = before.find(start).expect("the line before the options") + start.len();
            let to = before[from..].find(end).expect("the line after the options") + from;
            format!("{}{text}{}", &before[..from], &before[to..])
        }
    };
    if std::env::var_os("ARROWSMITH_UPDATE_SNAPSHOTS").is_some() {
        fs::write(&file, &after).unwrap();
        return;
    }
    assert!(
        before == after,
        "{path} does not have the options of the table: run this test with \
         ARROWSMITH_UPDATE_SNAPSHOTS=1"
    );
}

/// Breaks text into lines of at most `width` characters, each after `indent`.
fn wrapped(text: &str, indent: &str, width: usize) -> String {
    let mut out = String::new();
    let mut line = String::new();
    for word in text.split(' ') {
        if !line.is_empty() && indent.len() + line.chars().count() + 1 + word.len() > width {
            writeln!(out, "{indent}{line}").unwrap();
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    writeln!(out, "{indent}{line}").unwrap();
    out
}

/// Words with the first letter of each in upper case, or of all but the first word.
fn camel(name: &str, is_type: bool) -> String {
    let mut out = String::new();
    for (number, word) in name.split('_').enumerate() {
        let (first, rest) = word.split_at(1);
        let first = if is_type || number > 0 { first.to_uppercase() } else { first.to_owned() };
        out.push_str(&(first + rest));
    }
    out
}

/// Each kind of choice, once, with its words.
fn words() -> Vec<(String, Vec<&'static str>)> {
    let engines = ENGINES.iter().map(|entry| entry.name).collect();
    let mut words = vec![("Engine".to_owned(), engines)];
    for option in JSON.iter().chain(PARQUET) {
        if let Kind::Choice(choices) = option.kind {
            let all = choices.all.iter().map(|choice| choice.name).collect();
            words.push((camel(option.name, true), all));
        }
    }
    words
}

fn python_type(option: &OptionInfo) -> String {
    let is_optional = option.default() == Value::Default;
    let of = match option.kind {
        Kind::Flag => "bool".to_owned(),
        Kind::Count { .. } => "int".to_owned(),
        Kind::CountOrAll => "int | Literal[\"all\"]".to_owned(),
        Kind::Bytes => "int | str".to_owned(),
        Kind::Choice(_) | Kind::Engine => camel(option.name, true),
        Kind::Schema => "SchemaLike".to_owned(),
        Kind::Types => "TypesLike".to_owned(),
        Kind::Coercion | Kind::Name | Kind::RecordsPath => "str".to_owned(),
        Kind::Condition => "Filter".to_owned(),
        Kind::Paths => "Sequence[str]".to_owned(),
        Kind::PathsOrAll => "bool | Sequence[str]".to_owned(),
        Kind::Numbers => "Sequence[int]".to_owned(),
    };
    if is_optional { of + " | None" } else { of }
}

/// What an option does, its values and its default, with names set between `open` and `close`.
fn described(option: &OptionInfo, open: &str, close: &str) -> String {
    let code = |text: &str| format!("{open}{text}{close}");
    let mut parts = option.help().split('`').enumerate();
    let mut text = parts.by_ref().fold(String::new(), |text, (number, part)| {
        text + &if number % 2 == 1 { code(part) } else { part.to_owned() }
    });
    if let Kind::Choice(choices) = option.kind {
        let value = |choice: &Choice| {
            let help = choice.help;
            let lower = help.chars().next().map(|c| c.to_ascii_lowercase());
            let help: String = lower.into_iter().chain(help.chars().skip(1)).collect();
            let name = code(choice.name);
            if help.is_empty() { name } else { format!("{name} ({help})") }
        };
        let values: Vec<String> = choices.all.iter().map(value).collect();
        text += &format!(": {}", values.join(", "));
    }
    match (option.default_text(), option.unset) {
        (Some(_), _) if matches!(option.kind, Kind::Flag) => {}
        (Some(default), _) => text += &format!(". Default: {}", code(&default)),
        (None, Some(unset)) => text += &format!(". Default: {unset}"),
        (None, None) => {}
    }
    text + "."
}

fn typed_dict(name: &str, doc: &str, options: &[&OptionInfo], out: &mut String) {
    let (class, base) = name.split_once('(').unwrap_or((name, "TypedDict)"));
    let base = base.trim_end_matches(')');
    writeln!(out, "\n\nclass {class}({base}, total=False):\n    \"\"\"{doc}\"\"\"").unwrap();
    for option in options {
        writeln!(out, "\n    {}: {}", option.name, python_type(option)).unwrap();
        let doc = format!("\"\"\"{}\"\"\"", described(option, "``", "``"));
        out.push_str(&wrapped(&doc, "    ", 100));
    }
}

#[test]
fn python_has_every_option() {
    let mut out = format!(
        "# SPDX-License-Identifier: Apache-2.0\n\"\"\"The options. {MADE}\"\"\"\n\n\
         from collections.abc import Sequence\n\
         from typing import Literal, TypeAlias, TypedDict\n\n\
         from arrowsmith._types import Filter, SchemaLike, TypesLike\n\n"
    );
    for (name, words) in words() {
        let words: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
        writeln!(out, "{name}: TypeAlias = Literal[{}]", words.join(", ")).unwrap();
    }
    // The schema is an argument of its own.
    let (infers, reads): (Vec<&OptionInfo>, Vec<_>) =
        JSON.iter().filter(|option| option.name != "schema").partition(|option| option.infers);
    typed_dict("InferOptions", "How a schema is inferred from JSON.", &infers, &mut out);
    typed_dict("JsonReadOptions(InferOptions)", "How JSON is read.", &reads, &mut out);
    let parquet: Vec<&OptionInfo> = PARQUET.iter().collect();
    typed_dict("ParquetReadOptions", "How Parquet is read.", &parquet, &mut out);
    hold("python/python/arrowsmith/_options.py", None, &out);
}

/// The words of an option as an enum in Java.
fn java_enum(option: &OptionInfo, choices: &Choices, out: &mut String) {
    let (class, setter) = (camel(option.name, true), camel(option.name, false));
    writeln!(out, "  /** Values of {{@link #{setter}({class})}}. */").unwrap();
    writeln!(out, "  public enum {class} {{").unwrap();
    for (number, choice) in choices.all.iter().enumerate() {
        let end = if number + 1 == choices.all.len() { "" } else { "," };
        let help = match choice.help {
            "" => format!("{{@code {}}}", choice.name),
            help => help.replace('`', ""),
        };
        if help.len() + "    /** . */".len() <= 100 {
            writeln!(out, "    /** {help}. */").unwrap();
        } else {
            out.push_str("    /**\n");
            out.push_str(&wrapped(&(help + "."), "     * ", 100));
            out.push_str("     */\n");
        }
        writeln!(out, "    {}{end}", choice.name.to_uppercase()).unwrap();
    }
    out.push_str("  }\n\n");
}

/// A setter of a Java builder; two for options of two types, and an enum for one of words.
fn java_setters(class: &str, option: &OptionInfo, out: &mut String) {
    if let Kind::Choice(choices) = option.kind {
        java_enum(option, choices, out);
    }
    let name = camel(option.name, false);
    let mut setter = |method: &str, takes: &str, value: &str| {
        let help = described(option, "{@code ", "}");
        out.push_str("  /**\n");
        out.push_str(&wrapped(&help, "   * ", 100));
        writeln!(out, "   *\n   * @param {method} the value").unwrap();
        writeln!(
            out,
            "   * @return this\n   */\n  public {class} {method}(final {takes} {method}) {{\n    \
             options.set(\"{}\", {value});\n    return this;\n  }}\n",
            option.name
        )
        .unwrap();
    };
    match option.kind {
        Kind::Flag => setter(&name, "boolean", &name),
        // Counts of things in memory are not `long`.
        Kind::Count { max, .. } if max < u64::MAX || COUNTED_IN_MEMORY.contains(&option.name) => {
            setter(&name, "Integer", &name);
        }
        Kind::Count { .. } | Kind::CountOrAll | Kind::Bytes => setter(&name, "Long", &name),
        Kind::Choice(_) => {
            setter(&name, &camel(option.name, true), &name);
            setter(&name, "String", &name);
        }
        Kind::Engine
        | Kind::Schema
        | Kind::Types
        | Kind::Coercion
        | Kind::Name
        | Kind::RecordsPath
        | Kind::Condition => setter(&name, "String", &name),
        Kind::Paths => setter(&name, "String...", &name),
        Kind::PathsOrAll => {
            setter(&name, "boolean", &name);
            let columns = format!("{name}Columns");
            setter(&columns, "String...", &columns);
        }
        Kind::Numbers => {
            setter(&name, "int...", &name);
        }
    }
}

/// Counts that are an `Integer` in Java.
const COUNTED_IN_MEMORY: [&str; 3] = ["batch_rows", "depth_max", "fields_max"];

#[test]
fn java_has_every_option() {
    for (class, table) in [("JsonReader", JSON), ("ParquetReader", PARQUET)] {
        let mut out = "\n\n".to_owned();
        for option in table {
            java_setters(class, option, &mut out);
        }
        let start = format!("  // {MADE}");
        let path = format!("java/arrowsmith/src/main/java/io/arrowsmith/{class}.java");
        hold(&path, Some((&start, "  // End of what is made.")), &out);
    }
}

#[test]
fn the_c_header_names_every_option() {
    const OF_C: &str = "and rejects, count_before, refuse_lone_cr (see there)";
    let names = |table: &[OptionInfo]| {
        let names: Vec<&str> = table.iter().map(|option| option.name).collect();
        names.join(", ")
    };
    let text = format!(
        "\n{}{}",
        wrapped(&format!("JSON: {}, {OF_C}", names(JSON)), " *   ", 100),
        wrapped(&format!("Parquet: {}", names(PARQUET)), " *   ", 100),
    );
    let start = format!(" * {MADE}");
    hold("crates/arrowsmith-ffi/include/arrowsmith.h", Some((&start, " * The schema ")), &text);
}

fn values(option: &OptionInfo) -> String {
    match option.kind {
        Kind::Flag => "true, false".to_owned(),
        Kind::Count { min, max: u64::MAX } => format!("a number, from {min}"),
        Kind::Count { min, max } => format!("{min} to {max}"),
        Kind::CountOrAll => "a number, or `all`".to_owned(),
        Kind::Bytes => "bytes: `65536`, `64MiB`".to_owned(),
        Kind::Choice(choices) => {
            let names: Vec<_> = choices.all.iter().map(|c| format!("`{}`", c.name)).collect();
            names.join(", ")
        }
        Kind::Engine => {
            let names: Vec<_> = ENGINES.iter().map(|entry| format!("`{}`", entry.name)).collect();
            names.join(", ")
        }
        Kind::Schema => "a schema".to_owned(),
        Kind::Types => "types by path".to_owned(),
        Kind::Coercion => "coercions".to_owned(),
        Kind::Name => "a name".to_owned(),
        Kind::RecordsPath => "a path: `a.b`, `/a/b`".to_owned(),
        Kind::Condition => "a condition".to_owned(),
        Kind::Paths => "paths: `a,b.c`".to_owned(),
        Kind::PathsOrAll => "paths, or all: `*`".to_owned(),
        Kind::Numbers => "numbers: `0,3,5`".to_owned(),
    }
}

#[test]
fn the_guide_has_every_option() {
    let about = "These are the options of JSON and Parquet readers, the same in every interface: flags \
                 of `arrowsmith convert`, keyword arguments in Python, keys of the JSON text of the C \
                 ABI, methods in Java (`on_error` is `onError`), fields of `JsonReadOptions` and \
                 `ParquetReadOptions` in Rust. Sizes are a number of bytes, or text in every interface \
                 but Java's: `KiB`, `MiB`, `GiB` are powers of 1024.";
    let about = wrapped(about, "", 100);
    let mut out = format!("# Options of reading\n\n<!-- {MADE} -->\n\n{about}");
    let is_in = |table: &[OptionInfo], option: &OptionInfo| {
        table.iter().any(|other| other.name == option.name)
    };
    let parquet = PARQUET.iter().filter(|option| !is_in(JSON, option));
    let mut all: Vec<&OptionInfo> = JSON.iter().chain(parquet).collect();
    all.sort_by_key(|option| option.group);
    for group in all.chunk_by(|a, b| a.group == b.group) {
        writeln!(out, "\n## {}\n", group[0].group.title()).unwrap();
        out.push_str("| option | flag | for | values | default | what it does |\n");
        out.push_str("| -- | -- | -- | -- | -- | -- |\n");
        for option in group {
            let of = match (is_in(JSON, option), is_in(PARQUET, option)) {
                (true, true) => "both",
                (true, false) => "JSON",
                _ => "Parquet",
            };
            let unset = option.unset.unwrap_or("none").to_owned();
            let default = option.default_text().map_or(unset, |text| format!("`{text}`"));
            let (name, values, help) = (option.name, values(option), option.help());
            let off = if option.default() == Value::Flag(true) { " (off)" } else { "" };
            let flag = format!("`--{}`{off}", option.flag());
            writeln!(out, "| `{name}` | {flag} | {of} | {values} | {default} | {help} |").unwrap();
        }
    }
    out.push_str("\n## Words\n\n| option | word | what it does |\n| -- | -- | -- |\n");
    for option in all {
        if let Kind::Choice(choices) = option.kind {
            for choice in choices.all.iter().filter(|choice| !choice.help.is_empty()) {
                let name = option.name;
                writeln!(out, "| `{name}` | `{}` | {} |", choice.name, choice.help).unwrap();
            }
        }
    }
    hold("docs/guide/options.md", None, &out);
}
