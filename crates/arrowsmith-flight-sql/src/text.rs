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

/// A reason without the insides of a program: some errors print their trees.
fn plain(what: &str) -> Cow<'_, str> {
    if let Some(reason) = unsuitable(what).or_else(|| unknown_path(what)) {
        return Cow::Owned(reason);
    }
    if what.contains("Inconsistent data length across values list") {
        return Cow::Borrowed("the rows of `values` differ in their number of values");
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
    let (_, found) = errors.split_once("(DataType: ")?;
    let (found, _) = found.split_once(").")?;
    Some(format!("function {function} takes no argument of type {found}: cast it"))
}

/// The reason of a path that is no column: the planner lists its names as Rust would.
fn unknown_path(what: &str) -> Option<String> {
    let (_, names) = what.split_once("compound identifier")?;
    let (_, names) = names.split_once("[\"")?;
    let (names, _) = names.rsplit_once("\"]")?;
    Some(format!("no column or field {}", names.replace("\", \"", ".")))
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
