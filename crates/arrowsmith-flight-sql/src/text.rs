// SPDX-License-Identifier: Apache-2.0
//! The text of statements and of errors: question marks as DataFusion reads them, and
//! errors as a user reads them.

use std::borrow::Cow;

use datafusion::error::DataFusionError;
use datafusion::sql::sqlparser::parser::ParserError;
use tonic::Status;

/// A statement with `$1`, `$2` for its question marks: JDBC writes these, DataFusion reads those.
/// Texts, quoted names and comments stay as they are.
pub(crate) fn numbered(sql: &str) -> String {
    let mut out = String::with_capacity(sql.len());
    let mut count = 0;
    let mut rest = sql;
    while let Some(first) = rest.chars().next() {
        let skip = match first {
            '\'' | '"' | '`' => {
                rest.get(1..).and_then(|after| after.find(first)).map_or(rest.len(), |at| at + 2)
            }
            '-' if rest.starts_with("--") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |at| at + 2),
            '?' => {
                count += 1;
                out.push_str(&format!("${count}"));
                rest = rest.get(1..).unwrap_or_default();
                continue;
            }
            // After a dot it is a column, such as many JSON records have, and no function of the
            // server's.
            'u' | 'U' if out.ends_with('.') => {
                let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_');
                let word = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
                if word.eq_ignore_ascii_case("user") {
                    out.push_str("\"user\"");
                    rest = rest.get(word.len()..).unwrap_or_default();
                    continue;
                }
                1
            }
            other => other.len_utf8(),
        };
        out.push_str(rest.get(..skip).unwrap_or(rest));
        rest = rest.get(skip..).unwrap_or_default();
    }
    out
}

/// A DataFusion error as clients see it.
pub(crate) fn status(error: &DataFusionError) -> Status {
    arrowsmith_flight::shortened(status_of(error))
}

fn status_of(error: &DataFusionError) -> Status {
    match error.find_root() {
        DataFusionError::ResourcesExhausted(reason) => {
            Status::resource_exhausted(format!("sql: {reason}"))
        }
        // A reader's: it may name files.
        DataFusionError::External(cause) => match cause.downcast_ref::<arrowsmith::Error>() {
            Some(cause) => arrowsmith_flight::status_of("sql", cause),
            None if cause.is::<std::io::Error>() => unreadable(error),
            // A function's, such as a regular expression that is none.
            None => Status::invalid_argument(format!("sql: {cause}")),
        },
        DataFusionError::IoError(_) | DataFusionError::ArrowError(..) if is_io(error) => {
            unreadable(error)
        }
        DataFusionError::SQL(fault, _) => Status::invalid_argument(match fault.as_ref() {
            ParserError::TokenizerError(what) | ParserError::ParserError(what) => {
                format!("sql: {what}")
            }
            ParserError::RecursionLimitExceeded => {
                "sql: parentheses or subqueries are too deep in one another".to_owned()
            }
        }),
        DataFusionError::Plan(what)
        | DataFusionError::NotImplemented(what)
        | DataFusionError::Execution(what)
        | DataFusionError::Configuration(what)
        | DataFusionError::Internal(what) => {
            Status::invalid_argument(format!("sql: {}", plain(what)))
        }
        root => Status::invalid_argument(format!("sql: {}", plain(&root.to_string()))),
    }
}

/// A reason without the insides of a program: some errors print their trees, advise on settings of
/// the planner, or ask for a report to its developers.
fn plain(what: &str) -> Cow<'_, str> {
    let rewritten = [unsuitable, unknown_path, unsupported, literal];
    if let Some(reason) = rewritten.into_iter().find_map(|rewrite| rewrite(what)) {
        return Cow::Owned(reason);
    }
    let what =
        what.split("This issue was likely caused by a bug").next().unwrap_or(what).trim_end();
    if let Some((before, setting)) = what.split_once(" or disable the datafusion.") {
        let after = setting.split_once("configuration").map_or("", |(_, after)| after);
        return Cow::Owned(format!("{before}{after}"));
    }
    let Some(inside) = what.find(" { ") else { return Cow::Borrowed(what) };
    let before = what.get(..inside).unwrap_or_default();
    let end = before.rfind(": ").or_else(|| before.rfind(' ')).unwrap_or(inside);
    Cow::Borrowed(before.get(..end).unwrap_or(before))
}

/// The reason of a function whose signatures all failed: the planner lists each, as an error inside
/// an internal error.
fn unsuitable(what: &str) -> Option<String> {
    let (function, errors) = what.split_once(" failed to match any signature, errors: ")?;
    let (_, function) = function.split_once("Function ")?;
    let Some((_, found)) = errors.split_once("(DataType: ") else {
        let (_, count) = errors.split_once(" but received ")?;
        let count: String = count.chars().take_while(char::is_ascii_digit).collect();
        return Some(format!("function {function} does not take {count} arguments"));
    };
    let (found, _) = found.split_once(").")?;
    Some(format!("function {function} takes no argument of type {found}: cast it"))
}

/// The reason of a path that is not a column, or a variable: the planner lists its names as Rust
/// would.
fn unknown_path(what: &str) -> Option<String> {
    let (before, names) = what.split_once("[\"")?;
    let (names, after) = names.rsplit_once("\"]")?;
    let names = names.replace("\", \"", ".");
    if before.starts_with("variable ") && after.starts_with(" has no type") {
        return Some(format!("there is no variable {names}"));
    }
    before.contains("compound identifier").then(|| format!("no column or field {names}"))
}

/// The reason of what this SQL does not have, where the planner says it in words of its own.
fn unsupported(what: &str) -> Option<String> {
    if what.contains("Inconsistent data length across values list") {
        return Some("the rows of `values` differ in their number of values".to_owned());
    }
    let is_literal = what.starts_with("Unsupported Value '") && what.contains("Literal(");
    is_literal.then(|| "a literal of this kind is not supported".to_owned())
}

/// A reason with the value in it as SQL has it, which the planner prints as it holds it.
fn literal(what: &str) -> Option<String> {
    let (before, rest) = what.split_once("Literal(")?;
    let (value, after) = rest.split_once(", None)")?;
    let value = value.split_once('(')?.1.strip_suffix(')')?.replace('"', "'");
    Some(format!("{before}{value}{after}"))
}

fn is_io(error: &DataFusionError) -> bool {
    use datafusion::arrow::error::ArrowError;
    match error.find_root() {
        DataFusionError::ArrowError(error, _) => matches!(**error, ArrowError::IoError(..)),
        _ => true,
    }
}

fn unreadable(error: &DataFusionError) -> Status {
    tracing::warn!(%error, "a query failed");
    Status::data_loss("sql: a dataset cannot be read; the server's log says why")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_those_of_the_statement() {
        for (what, expected) in [
            (
                "Internal error: Function 'median' failed to match any signature, errors: Error \
                 during planning: Function 'median' requires Decimal, but received String \
                 (DataType: Utf8).,Error during planning: Function 'median' requires Float, but \
                 received String (DataType: Utf8).",
                "function 'median' takes no argument of type Utf8: cast it",
            ),
            ("Cannot plan: Tree { a: 1 }", "Cannot plan"),
            ("compound identifier: [\"x\", \"y\", \"z\"]", "no column or field x.y.z"),
            ("variable [\"@@version\"] has no type information", "there is no variable @@version"),
            (
                "Internal error: Function 'f' failed to match any signature, errors: Error during \
                 planning: Function 'f' expects 2 arguments but received 1,Error during planning: \
                 Function 'f' expects 3 arguments but received 1.",
                "function 'f' does not take 1 arguments",
            ),
            (
                "Argument #2 must be an INTEGER or NULL, got Literal(Utf8(\"a\"), None)",
                "Argument #2 must be an INTEGER or NULL, got 'a'",
            ),
            (
                "Unsupported Value 'SingleQuotedByteStringLiteral(\"1\")'",
                "a literal of this kind is not supported",
            ),
            (
                "You can use double quotes to refer to the t.id column or disable the \
                 datafusion.sql_parser.enable_ident_normalization configuration.\nValid fields are \
                 t.id.",
                "You can use double quotes to refer to the t.id column.\nValid fields are t.id.",
            ),
            ("No field named b.", "No field named b."),
        ] {
            assert_eq!(plain(what), expected);
        }
    }

    #[test]
    fn question_marks_are_numbered() {
        for (sql, expected) in [
            ("select ? + ?", "select $1 + $2"),
            ("select '?', \"?\", ? -- ?\n, ?", "select '?', \"?\", $1 -- ?\n, $2"),
            ("select 'it''s ?' /* ? */ where a = ?", "select 'it''s ?' /* ? */ where a = $1"),
            ("select 'é?' || ?", "select 'é?' || $1"),
            ("select 'open ?", "select 'open ?"),
            (
                "select l.user['a'], l.User.b, l.users, user",
                "select l.\"user\"['a'], l.\"user\".b, l.users, user",
            ),
            ("", ""),
        ] {
            assert_eq!(numbered(sql), expected);
        }
    }
}
