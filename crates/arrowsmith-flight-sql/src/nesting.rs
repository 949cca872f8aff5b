// SPDX-License-Identifier: Apache-2.0
//! How deep a statement nests what its parser reads more than once.
//!
//! sqlparser reads some words with a bracket first as the expression that they begin in the
//! standard (`CAST(`, `CEIL(`, `ARRAY[`) and, if that fails, as a function. So each level of them
//! doubles the work (`POSITION(` triples it) where something inside is not SQL, or deeper than the
//! parser goes: forty of them are a statement of 300 bytes that is read for days. What is counted
//! before it is read takes its length.

use datafusion::sql::sqlparser::dialect::Dialect;
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer};
use tonic::Status;

/// Maximum levels: some 60,000 readings of the innermost one.
const LEVELS_MAX: usize = 10;

/// Whether a word with a bracket is read more than once.
fn is_read_again(word: Keyword) -> bool {
    use Keyword as K;
    matches!(
        word,
        K::ARRAY
            | K::CAST
            | K::CEIL
            | K::CONVERT
            | K::FLOOR
            | K::OVERLAY
            | K::POSITION
            | K::SAFE_CAST
            | K::SUBSTR
            | K::SUBSTRING
            | K::TRY_CAST
            | K::TRY_CONVERT
    )
}

/// Refuses a statement that takes too long to be read. One that is no sequence of tokens is left to
/// the parser.
pub(crate) fn check(sql: &str, dialect: &dyn Dialect) -> Result<(), Status> {
    let Ok(tokens) = Tokenizer::new(dialect, sql).tokenize() else { return Ok(()) };
    // Of each open bracket, whether what it belongs to is read again.
    let mut open = Vec::new();
    let (mut levels, mut again) = (0, false);
    for token in tokens {
        match token {
            Token::Whitespace(_) => continue,
            Token::LParen | Token::LBracket | Token::LBrace => {
                open.push(again);
                levels += usize::from(again);
                if levels > LEVELS_MAX {
                    return Err(Status::invalid_argument(format!(
                        "sql: CAST, CEIL, FLOOR, SUBSTRING, POSITION, OVERLAY, CONVERT and ARRAY \
                         are nested more than {LEVELS_MAX} deep"
                    )));
                }
            }
            Token::RParen | Token::RBracket | Token::RBrace => {
                levels -= usize::from(open.pop().unwrap_or(false));
            }
            _ => {}
        }
        again = matches!(&token, Token::Word(word) if is_read_again(word.keyword));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use datafusion::sql::parser::DFParserBuilder;
    use datafusion::sql::sqlparser::dialect::GenericDialect;

    use super::*;

    /// Every form that sqlparser was found to read again, with something inside that is wrong.
    const FORMS: [(&str, &str); 12] = [
        ("cast(", " as int)"),
        ("Try_Cast /* a */ (", " as int)"),
        ("safe_cast(", " as int)"),
        ("ceil\n(", ")"),
        ("floor(", ")"),
        ("substring(", " from 1)"),
        ("substr(", ", 1)"),
        ("position(", " in 'a')"),
        ("overlay(", " placing 1 from 1)"),
        ("convert(", ", int)"),
        ("array[", "]"),
        ("array [abs((", "))]"),
    ];

    fn nested((open, close): (&str, &str), levels: usize) -> String {
        format!("select {}1 1{}", open.repeat(levels), close.repeat(levels))
    }

    #[test]
    fn what_would_be_read_for_days_is_refused() {
        for form in FORMS {
            for levels in [LEVELS_MAX + 1, 48, 10_000] {
                let error = check(&nested(form, levels), &GenericDialect {}).unwrap_err();
                assert!(error.message().contains("nested more than 10 deep"), "{error}");
            }
            let most = nested(form, LEVELS_MAX);
            check(&most, &GenericDialect {}).unwrap();
            let read = DFParserBuilder::new(&*most).build().unwrap().parse_statements();
            assert!(read.is_err(), "{most}");
        }
    }

    #[test]
    fn what_is_not_nested_is_read() {
        let many = format!("select {}", vec!["cast(ceil(a) as int)"; 1_000].join(" + "));
        let texts = format!("select {}", vec!["'cast('"; 100].join(" || "));
        let others = format!("select {}a{}", "coalesce((".repeat(20), "))".repeat(20));
        for sql in [&*many, &*texts, &*others, "select ))) 'a"] {
            check(sql, &GenericDialect {}).unwrap();
        }
    }
}
