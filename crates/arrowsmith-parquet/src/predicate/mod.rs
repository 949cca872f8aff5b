// SPDX-License-Identifier: Apache-2.0
//! Conditions on rows: `fare > 10 and (zone = 'A' or zone is null)`.
//!
//! A condition is text or a tree, independent of a file. [`Filter`](crate::Filter) binds it to a
//! file's columns and types. Its logic has three values, as SQL's: a comparison with null is
//! neither true nor false, and a row is kept only where the whole condition is true.

mod parse;

use std::fmt;

use arrowsmith_core::Result;

/// How two values are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// `=`
    Equal,
    /// `!=`, `<>`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}

impl Comparison {
    /// The operator.
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Equal => "=",
            Self::NotEqual => "!=",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
        }
    }
}

/// A literal; the column determines its type.
#[derive(Debug, Clone, PartialEq)]
pub enum Literal {
    /// `12`, `-0.5`, `1e9`
    Number(String),
    /// `'text'`, and dates, times and timestamps: `'2024-05-01'`
    Text(String),
    /// `x'00ff'`
    Bytes(Vec<u8>),
    /// `true`, `false`
    Boolean(bool),
}

/// A condition.
#[derive(Debug, Clone, PartialEq)]
pub enum Predicate {
    /// `column < value`
    Compare {
        /// Path of the column, dotted.
        column: String,
        /// The operator.
        comparison: Comparison,
        /// The value.
        value: Literal,
    },
    /// `column in (value, …)`
    In {
        /// Path of the column, dotted.
        column: String,
        /// The values.
        values: Vec<Literal>,
    },
    /// `column is null`
    IsNull(String),
    /// All of them are true.
    And(Vec<Predicate>),
    /// One of them is true.
    Or(Vec<Predicate>),
    /// It is false.
    Not(Box<Predicate>),
}

impl Predicate {
    /// Reads a condition. Words are not case-sensitive: `and`, `or`, `not`, `in`, `between`, `is`,
    /// `null`, `true`, `false`. A column whose name is not a word is quoted with `"` or backquotes.
    ///
    /// # Errors
    /// Text that is not a condition; the message says where.
    pub fn parse(text: &str) -> Result<Self> {
        parse::parse(text)
    }

    /// `column comparison value`.
    pub fn compare(column: impl Into<String>, comparison: Comparison, value: Literal) -> Self {
        Self::Compare { column: column.into(), comparison, value }
    }

    /// Paths of the columns in the condition, each once, in order.
    pub fn columns(&self) -> Vec<&str> {
        let mut columns = Vec::new();
        self.collect(&mut columns);
        columns
    }

    fn collect<'a>(&'a self, columns: &mut Vec<&'a str>) {
        match self {
            Self::Compare { column, .. } | Self::In { column, .. } | Self::IsNull(column) => {
                if !columns.contains(&column.as_str()) {
                    columns.push(column);
                }
            }
            Self::And(parts) | Self::Or(parts) => {
                parts.iter().for_each(|part| part.collect(columns));
            }
            Self::Not(part) => part.collect(columns),
        }
    }
}

impl fmt::Display for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(text) => f.write_str(text),
            Self::Text(text) => write!(f, "'{}'", text.replace('\'', "''")),
            Self::Bytes(bytes) => {
                f.write_str("x'")?;
                bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
                f.write_str("'")
            }
            Self::Boolean(value) => value.fmt(f),
        }
    }
}

/// Writes the form that [`Predicate::parse`] reads.
impl fmt::Display for Predicate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |column: &str| format!("\"{}\"", column.replace('"', "\"\""));
        let join = |f: &mut fmt::Formatter<'_>, parts: &[Self], word: &str, empty: &str| {
            if parts.is_empty() {
                return f.write_str(empty);
            }
            f.write_str("(")?;
            for (index, part) in parts.iter().enumerate() {
                if index > 0 {
                    write!(f, " {word} ")?;
                }
                part.fmt(f)?;
            }
            f.write_str(")")
        };
        match self {
            Self::Compare { column, comparison, value } => {
                write!(f, "{} {} {value}", name(column), comparison.symbol())
            }
            Self::In { column, values } => {
                let values: Vec<String> = values.iter().map(Literal::to_string).collect();
                write!(f, "{} in ({})", name(column), values.join(", "))
            }
            Self::IsNull(column) => write!(f, "{} is null", name(column)),
            Self::And(parts) => join(f, parts, "and", "true"),
            Self::Or(parts) => join(f, parts, "or", "false"),
            Self::Not(part) => write!(f, "not ({part})"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        for (text, shown) in [
            ("a = 1", "\"a\" = 1"),
            ("a.b <> 'it''s'", "\"a.b\" != 'it''s'"),
            ("`x y`>=-1.5e3", "\"x y\" >= -1.5e3"),
            ("\"x\"\"y\" = true", "\"x\"\"y\" = true"),
            ("a IS NOT NULL and not b is null", "(not (\"a\" is null) and not (\"b\" is null))"),
            ("a=1 or b=2 and c=3", "(\"a\" = 1 or (\"b\" = 2 and \"c\" = 3))"),
            ("(a=1 or b=2) and c=3", "((\"a\" = 1 or \"b\" = 2) and \"c\" = 3)"),
            ("a in (1, 2)", "\"a\" in (1, 2)"),
            ("a not in ('x')", "not (\"a\" in ('x'))"),
            ("a between 1 and 2", "(\"a\" >= 1 and \"a\" <= 2)"),
            ("a == x'00fF'", "\"a\" = x'00ff'"),
            ("5 < a", "\"a\" > 5"),
            ("TRUE", "true"),
            ("not (false)", "not (false)"),
            ("a in () or true", "(\"a\" in () or true)"),
        ] {
            let predicate = Predicate::parse(text).unwrap();
            assert_eq!(predicate.to_string(), shown);
            assert_eq!(Predicate::parse(shown).unwrap(), predicate);
        }
    }

    #[test]
    fn what_is_no_condition_is_refused() {
        for text in [
            "",
            "a",
            "a =",
            "a = b",
            "= 1",
            "a = 1 b = 2",
            "(a = 1",
            "a = 1)",
            "a in (1",
            "a = 'x",
            "a = x'0'",
            "a = x'zz'",
            "a between 1",
            "a is",
            "a is 1",
            "a = null",
            "a ~ 1",
            "not",
            "a = 1 and",
            "\"a = 1",
            "1 = 1",
            "a = 1.2.3",
            "a = é",
        ] {
            let error = Predicate::parse(text).unwrap_err().to_string();
            assert!(error.starts_with("condition"), "{text}: {error}");
        }
        assert!(Predicate::parse(&"(".repeat(100_000)).is_err());
        assert!(Predicate::parse(&"not ".repeat(100_000)).is_err());
    }

    #[test]
    fn columns_are_named_once() {
        let predicate = Predicate::parse("b = 1 or (a = 2 and b is null)").unwrap();
        assert_eq!(predicate.columns(), ["b", "a"]);
    }
}
