// SPDX-License-Identifier: Apache-2.0
//! The text of a condition → its tree. A hand-written recursive descent: the grammar has a dozen
//! words.

use std::borrow::Cow;

use arrowsmith_core::{Error, Result};

use super::{Comparison, Literal, Predicate};

/// Maximum nesting of parentheses and `not`.
const DEPTH_MAX: usize = 64;

#[derive(Debug, Clone, PartialEq)]
enum Token {
    /// A word that is not quoted: a keyword or a column.
    Word(String),
    /// A column in quotes.
    Name(String),
    Value(Literal),
    Compare(Comparison),
    Open,
    Close,
    Comma,
}

pub(super) fn parse(text: &str) -> Result<Predicate> {
    let tokens = tokens(text)?;
    let mut parser = Parser { text, tokens, at: 0 };
    let predicate = parser.either(0)?;
    match parser.tokens.get(parser.at) {
        None => Ok(predicate),
        Some(_) => Err(parser.expected("the end, and or or")),
    }
}

fn error(text: &str, at: usize, message: &str) -> Error {
    Error::Config(format!("condition {:?}, byte {at}: {message}", excerpt(text, at)))
}

/// A condition, or what is around the byte of a long one: errors travel in headers.
fn excerpt(text: &str, at: usize) -> Cow<'_, str> {
    const AROUND: usize = 200;
    if text.len() <= 2 * AROUND {
        return Cow::Borrowed(text);
    }
    let from = text.floor_char_boundary(at.saturating_sub(AROUND));
    let to = text.ceil_char_boundary(at.saturating_add(AROUND).min(text.len()));
    let around = text.get(from..to).unwrap_or_default();
    let (before, after) = (if from > 0 { "…" } else { "" }, if to < text.len() { "…" } else { "" });
    Cow::Owned([before, around, after].concat())
}

fn tokens(text: &str) -> Result<Vec<(usize, Token)>> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        let start = at;
        let rest = &text[start..];
        let two = rest.get(..2).unwrap_or_default();
        let (token, bytes) = match first {
            _ if first.is_whitespace() => {
                at += first.len_utf8();
                continue;
            }
            '(' => (Token::Open, 1),
            ')' => (Token::Close, 1),
            ',' => (Token::Comma, 1),
            '=' => (Token::Compare(Comparison::Equal), if two == "==" { 2 } else { 1 }),
            '!' if two == "!=" => (Token::Compare(Comparison::NotEqual), 2),
            '<' if two == "<>" => (Token::Compare(Comparison::NotEqual), 2),
            '<' if two == "<=" => (Token::Compare(Comparison::LessOrEqual), 2),
            '<' => (Token::Compare(Comparison::Less), 1),
            '>' if two == ">=" => (Token::Compare(Comparison::GreaterOrEqual), 2),
            '>' => (Token::Compare(Comparison::Greater), 1),
            '\'' => {
                let (value, bytes) = quoted(text, start, '\'')?;
                (Token::Value(Literal::Text(value)), bytes)
            }
            '"' | '`' => {
                let (name, bytes) = quoted(text, start, first)?;
                (Token::Name(name), bytes)
            }
            'x' | 'X' if rest[1..].starts_with('\'') => {
                let (digits, bytes) = quoted(text, start + 1, '\'')?;
                let value = hexadecimal(&digits)
                    .ok_or_else(|| error(text, start, "expected pairs of hexadecimal digits"))?;
                (Token::Value(Literal::Bytes(value)), bytes + 1)
            }
            '0'..='9' | '-' | '+' | '.' => {
                let bytes = number_bytes(rest);
                let number = &rest[..bytes];
                if number.parse::<f64>().is_err() {
                    return Err(error(text, start, "expected a number"));
                }
                (Token::Value(Literal::Number(number.to_owned())), bytes)
            }
            _ if first.is_alphabetic() || first == '_' => {
                let end = |c: char| !(c.is_alphanumeric() || c == '_' || c == '.');
                let bytes = rest.find(end).unwrap_or(rest.len());
                (Token::Word(rest[..bytes].to_owned()), bytes)
            }
            _ => return Err(error(text, start, "a character that no condition has")),
        };
        tokens.push((start, token));
        at += bytes;
    }
    Ok(tokens)
}

/// Bytes of a number, taken greedily; a sign is allowed only at its start or after an `e`.
fn number_bytes(text: &str) -> usize {
    let mut before = ' ';
    text.char_indices()
        .find(|(index, c)| {
            let sign = matches!(c, '-' | '+') && (*index == 0 || matches!(before, 'e' | 'E'));
            before = *c;
            !(sign || c.is_ascii_alphanumeric() || *c == '.')
        })
        .map_or(text.len(), |(index, _)| index)
}

/// The text between quotes, of which one inside is doubled, and its bytes with the quotes.
fn quoted(text: &str, start: usize, quote: char) -> Result<(String, usize)> {
    let mut value = String::new();
    let mut chars = text[start + 1..].char_indices().peekable();
    while let Some((index, c)) = chars.next() {
        if c != quote {
            value.push(c);
        } else if chars.next_if(|(_, next)| *next == quote).is_some() {
            value.push(quote);
        } else {
            return Ok((value, index + 2));
        }
    }
    Err(error(text, start, "an unterminated quote"))
}

fn hexadecimal(digits: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let pairs = digits.as_bytes().chunks(2);
    pairs.map(|pair| Some(digit(*pair.first()?)? << 4 | digit(*pair.get(1)?)?)).collect()
}

struct Parser<'a> {
    text: &'a str,
    tokens: Vec<(usize, Token)>,
    at: usize,
}

impl Parser<'_> {
    fn expected(&self, what: &str) -> Error {
        let at = self.tokens.get(self.at).map_or(self.text.len(), |(at, _)| *at);
        error(self.text, at, &format!("expected {what}"))
    }

    fn next(&mut self) -> Option<Token> {
        let token = self.tokens.get(self.at).map(|(_, token)| token.clone());
        self.at += usize::from(token.is_some());
        token
    }

    fn take(&mut self, wanted: &Token) -> bool {
        let found = self.tokens.get(self.at).is_some_and(|(_, token)| token == wanted);
        self.at += usize::from(found);
        found
    }

    fn word(&mut self, wanted: &str) -> bool {
        let found = matches!(self.tokens.get(self.at),
            Some((_, Token::Word(word))) if word.eq_ignore_ascii_case(wanted));
        self.at += usize::from(found);
        found
    }

    fn either(&mut self, depth: usize) -> Result<Predicate> {
        let mut parts = vec![self.both(depth)?];
        while self.word("or") {
            parts.push(self.both(depth)?);
        }
        Ok(if parts.len() == 1 { parts.swap_remove(0) } else { Predicate::Or(parts) })
    }

    fn both(&mut self, depth: usize) -> Result<Predicate> {
        let mut parts = vec![self.one(depth)?];
        while self.word("and") {
            parts.push(self.one(depth)?);
        }
        Ok(if parts.len() == 1 { parts.swap_remove(0) } else { Predicate::And(parts) })
    }

    fn one(&mut self, depth: usize) -> Result<Predicate> {
        if depth > DEPTH_MAX {
            return Err(self.expected("less nesting"));
        }
        if self.word("not") {
            return Ok(Predicate::Not(Box::new(self.one(depth + 1)?)));
        }
        if self.take(&Token::Open) {
            let inside = self.either(depth + 1)?;
            if !self.take(&Token::Close) {
                return Err(self.expected(")"));
            }
            return Ok(inside);
        }
        self.condition()
    }

    fn condition(&mut self) -> Result<Predicate> {
        let start = self.at;
        // All, and none, of no conditions.
        if self.word("true") {
            return Ok(Predicate::And(Vec::new()));
        }
        if self.word("false") {
            return Ok(Predicate::Or(Vec::new()));
        }
        let column = match self.next() {
            Some(Token::Value(value)) => return self.turned(value),
            Some(Token::Name(name)) => name,
            Some(Token::Word(word)) if !is_keyword(&word) => word,
            _ => {
                self.at = start;
                return Err(self.expected("a column"));
            }
        };
        if self.word("is") {
            let not = self.word("not");
            if !self.word("null") {
                return Err(self.expected("null"));
            }
            return Ok(negated(Predicate::IsNull(column), not));
        }
        let not = self.word("not");
        if self.word("in") {
            return Ok(negated(self.within(column)?, not));
        }
        if self.word("between") {
            let low = self.value()?;
            if !self.word("and") {
                return Err(self.expected("and"));
            }
            let high = self.value()?;
            let range = Predicate::And(vec![
                Predicate::compare(column.clone(), Comparison::GreaterOrEqual, low),
                Predicate::compare(column, Comparison::LessOrEqual, high),
            ]);
            return Ok(negated(range, not));
        }
        match self.tokens.get(self.at) {
            Some((_, Token::Compare(comparison))) if !not => {
                let comparison = *comparison;
                self.at += 1;
                Ok(Predicate::compare(column, comparison, self.value()?))
            }
            _ if not => Err(self.expected("in or between")),
            _ => Err(self.expected("a comparison")),
        }
    }

    /// `value < column`.
    fn turned(&mut self, value: Literal) -> Result<Predicate> {
        let comparison = match self.next() {
            Some(Token::Compare(Comparison::Less)) => Comparison::Greater,
            Some(Token::Compare(Comparison::LessOrEqual)) => Comparison::GreaterOrEqual,
            Some(Token::Compare(Comparison::Greater)) => Comparison::Less,
            Some(Token::Compare(Comparison::GreaterOrEqual)) => Comparison::LessOrEqual,
            Some(Token::Compare(same)) => same,
            _ => return Err(self.expected("a comparison")),
        };
        match self.next() {
            Some(Token::Name(column)) => Ok(Predicate::compare(column, comparison, value)),
            Some(Token::Word(column)) if !is_keyword(&column) => {
                Ok(Predicate::compare(column, comparison, value))
            }
            _ => Err(self.expected("a column")),
        }
    }

    fn within(&mut self, column: String) -> Result<Predicate> {
        if !self.take(&Token::Open) {
            return Err(self.expected("("));
        }
        if self.take(&Token::Close) {
            return Ok(Predicate::In { column, values: Vec::new() });
        }
        let mut values = vec![self.value()?];
        while self.take(&Token::Comma) {
            values.push(self.value()?);
        }
        if !self.take(&Token::Close) {
            return Err(self.expected(")"));
        }
        Ok(Predicate::In { column, values })
    }

    fn value(&mut self) -> Result<Literal> {
        if self.word("true") {
            return Ok(Literal::Boolean(true));
        }
        if self.word("false") {
            return Ok(Literal::Boolean(false));
        }
        match self.tokens.get(self.at) {
            Some((_, Token::Value(value))) => {
                let value = value.clone();
                self.at += 1;
                Ok(value)
            }
            _ => Err(self.expected("a value: a number, 'text', true or false (is null for null)")),
        }
    }
}

fn is_keyword(word: &str) -> bool {
    ["and", "or", "not", "in", "is", "between", "null", "true", "false"]
        .iter()
        .any(|keyword| word.eq_ignore_ascii_case(keyword))
}

fn negated(predicate: Predicate, not: bool) -> Predicate {
    if not { Predicate::Not(Box::new(predicate)) } else { predicate }
}
