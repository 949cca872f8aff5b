// SPDX-License-Identifier: Apache-2.0
//! How deep a statement nests what its parser reads more than once.
//!
//! sqlparser reads words such as CASE, `CAST(` and `ARRAY[` first as the expression that they begin
//! in the standard and, if that fails, as a name or a function; and `a.b[` as an index in two ways.
//! So each level of them doubles the work (`POSITION(` triples it) where something inside is not
//! SQL, or deeper than the parser goes: forty of them are a statement of 300 bytes that is read for
//! days. What is counted before it is read takes its length.

use datafusion::common::config::Dialect;
use datafusion::sql::sqlparser::dialect::{GenericDialect, dialect_from_str};
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer};
use tonic::Status;

/// Maximum levels: the innermost one is read some 16,000 times, or 400,000 times if it is an index.
/// That is less than half a second.
const LEVELS_MAX: usize = 14;

/// How many levels a bracket after this word is.
///
/// These are the words that `Parser::parse_expr_prefix_by_reserved_word` takes with a bracket, but
/// for EXISTS, whose second reading ends at once.
fn levels_of(word: Keyword) -> usize {
    use Keyword as K;
    match word {
        K::POSITION => 2,
        K::ARRAY
        | K::CAST
        | K::CEIL
        | K::CONVERT
        | K::CURRENT_CATALOG
        | K::CURRENT_DATE
        | K::CURRENT_TIME
        | K::CURRENT_TIMESTAMP
        | K::CURRENT_USER
        | K::EXTRACT
        | K::FLOOR
        | K::INTERVAL
        | K::LAMBDA
        | K::LOCALTIME
        | K::LOCALTIMESTAMP
        | K::MAP
        | K::MATCH
        | K::NOT
        | K::OVERLAY
        | K::PRIOR
        | K::SAFE_CAST
        | K::SESSION_USER
        | K::STRUCT
        | K::SUBSTR
        | K::SUBSTRING
        | K::TRIM
        | K::TRY_CAST
        | K::TRY_CONVERT
        | K::USER => 1,
        _ => 0,
    }
}

/// What is open.
enum Open {
    /// A bracket, and how many levels it is.
    Bracket(usize),
    Case,
}

impl Open {
    fn levels(&self) -> usize {
        match self {
            Self::Bracket(levels) => *levels,
            Self::Case => 1,
        }
    }
}

/// Refuses a statement that takes too long to be read. One that is not a sequence of tokens is left
/// to the parser.
pub(crate) fn check(sql: &str, dialect: Dialect) -> Result<(), Status> {
    let dialect = dialect_from_str(dialect).unwrap_or_else(|| Box::new(GenericDialect {}));
    let Ok(tokens) = Tokenizer::new(&*dialect, sql).tokenize() else { return Ok(()) };
    let mut open: Vec<Open> = Vec::new();
    let mut levels = 0;
    let mut before = Token::EOF;
    for token in tokens {
        let keyword = match &token {
            Token::Whitespace(_) => continue,
            Token::Word(word) => word.keyword,
            _ => Keyword::NoKeyword,
        };
        let opened = match (&token, &before) {
            (Token::LParen | Token::LBrace, Token::Word(word)) => {
                Some(Open::Bracket(levels_of(word.keyword)))
            }
            // Of what is before it.
            (Token::LBracket, Token::Word(_) | Token::RParen | Token::RBracket) => {
                Some(Open::Bracket(1))
            }
            (Token::LParen | Token::LBrace | Token::LBracket, _) => Some(Open::Bracket(0)),
            _ if keyword == Keyword::CASE => Some(Open::Case),
            _ => None,
        };
        if let Some(opened) = opened {
            levels += opened.levels();
            open.push(opened);
        } else if token == Token::Assignment {
            // A named argument, of which the value is read again as an expression.
            if let Some(Open::Bracket(own @ 0)) = open.last_mut() {
                *own = 1;
                levels += 1;
            }
        } else if keyword == Keyword::END {
            if matches!(open.last(), Some(Open::Case)) {
                levels -= open.pop().map_or(0, |case| case.levels());
            }
        } else if matches!(token, Token::RParen | Token::RBrace | Token::RBracket) {
            // With each CASE that was not ended.
            while let Some(closed) = open.pop() {
                levels -= closed.levels();
                if matches!(closed, Open::Bracket(_)) {
                    break;
                }
            }
        }
        if levels > LEVELS_MAX {
            return Err(Status::invalid_argument(format!(
                "sql: CASE, CAST, CEIL, FLOOR, SUBSTRING, POSITION and the like, and indices, are \
                 nested more than {LEVELS_MAX} deep"
            )));
        }
        before = token;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use datafusion::sql::parser::DFParserBuilder;

    use super::*;

    /// Forms that sqlparser was found to read again, of some 180, with something wrong inside; and
    /// some in which it is hidden.
    const FORMS: [(&str, &str); 23] = [
        ("cast(", " as int)"),
        ("Try_Cast /* a */ (", " as int)"),
        ("safe_cast(", " as int)"),
        ("ceil\n(", ")"),
        ("floor(", ")"),
        ("substring(", " from 1)"),
        ("substring(a, ", ")"),
        ("substr(", ", 1)"),
        ("position(", " in 'a')"),
        ("position(a, ", ")"),
        ("overlay(", " placing 1 from 1)"),
        ("convert(", ", int)"),
        ("current_date(", ")"),
        ("localtime(", ")"),
        ("array[", "]"),
        ("array [abs((", "))]"),
        ("a.b[", "]"),
        ("f(a)[", "]"),
        ("case when 1 then ", " end"),
        ("case (", ") when 1 then 2 end"),
        ("not(", ")"),
        ("f(b, a := ", ")"),
        ("(not (a or ", "))::boolean"),
    ];

    fn nested((open, close): (&str, &str), levels: usize) -> String {
        format!("select {}1 1{}", open.repeat(levels), close.repeat(levels))
    }

    #[test]
    fn what_would_be_read_for_days_is_refused() {
        for form in FORMS {
            for levels in [LEVELS_MAX + 1, 48, 10_000] {
                let error = check(&nested(form, levels), Dialect::Generic).unwrap_err();
                assert!(error.message().contains("nested more than 14 deep"), "{error}");
            }
            let most = nested(form, if form.0.contains("position") { 7 } else { LEVELS_MAX });
            check(&most, Dialect::Generic).unwrap();
            let read = DFParserBuilder::new(&*most).build().unwrap().parse_statements();
            assert!(read.is_err(), "{most}");
        }
    }

    #[test]
    fn what_is_not_nested_is_read() {
        let many = format!("select {}", vec!["cast(ceil(a) as int)"; 1_000].join(" + "));
        let texts = format!("select {}", vec!["'cast('"; 100].join(" || "));
        let others = format!("select {}a{}", "coalesce((".repeat(20), "))".repeat(20));
        let cases = format!("select {}", vec!["(case when a then (1) end)"; 1_000].join(" + "));
        // No CASE is open after its bracket.
        let open = format!("select {}", "(case when a)".repeat(20));
        for sql in [&*many, &*texts, &*others, &*cases, &*open, "select ))) 'a"] {
            check(sql, Dialect::Generic).unwrap();
        }
    }
}
