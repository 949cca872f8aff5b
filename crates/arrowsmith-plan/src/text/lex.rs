// SPDX-License-Identifier: Apache-2.0
//! The tokens of the schema text: names, quoted names, punctuation, ends of lines.

use std::fmt;
use std::iter::Peekable;
use std::str::Chars;

use arrowsmith_core::{Error, Result};

/// A position in the text, for error messages: line and column count from 1, columns in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) line: usize,
    pub(super) column: usize,
}

impl Place {
    /// A schema error at this position.
    pub(super) fn error(self, message: impl fmt::Display) -> Error {
        Error::schema("", format!("line {}, column {}: {message}", self.line, self.column))
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    /// A bare name, a type, a number, `not`, ….
    Word(String),
    /// Text in quotes, unescaped.
    Quoted(String),
    /// One of [`PUNCTUATION`].
    Mark(char),
    /// The end of a line.
    Newline,
    /// The end of the text.
    End,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Word(word) => write!(f, "'{word}'"),
            Self::Quoted(text) => write!(f, "{text:?}"),
            Self::Mark(mark) => write!(f, "'{mark}'"),
            Self::Newline => f.write_str("end of line"),
            Self::End => f.write_str("end of text"),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) place: Place,
}

/// The characters that end a bare word, besides white space and `#`.
const PUNCTUATION: &str = ":,<>(){}[]='\"";

/// Whether a name is written without quotes. The parser accepts more names without quotes.
pub(super) fn is_plain(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Splits a text into tokens; the last one is [`Kind::End`].
///
/// # Errors
/// A quote that is not closed, an escape that JSON does not have.
pub(super) fn lex(text: &str) -> Result<Vec<Token>> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lexer = Lexer { chars: text.chars().peekable(), place: Place { line: 1, column: 1 } };
    let mut tokens = Vec::new();
    while let Some(token) = lexer.token()? {
        tokens.push(token);
    }
    tokens.push(Token { kind: Kind::End, place: lexer.place });
    Ok(tokens)
}

struct Lexer<'a> {
    chars: Peekable<Chars<'a>>,
    place: Place,
}

impl Lexer<'_> {
    fn bump(&mut self) -> Option<char> {
        let c = self.chars.next()?;
        if c == '\n' {
            self.place = Place { line: self.place.line + 1, column: 1 };
        } else {
            self.place.column += 1;
        }
        Some(c)
    }

    fn token(&mut self) -> Result<Option<Token>> {
        loop {
            let place = self.place;
            let Some(&c) = self.chars.peek() else { return Ok(None) };
            let kind = match c {
                '\n' => {
                    self.bump();
                    Kind::Newline
                }
                '#' => {
                    while self.chars.peek().is_some_and(|&c| c != '\n') {
                        self.bump();
                    }
                    continue;
                }
                '"' => {
                    self.bump();
                    Kind::Quoted(self.quoted(place)?)
                }
                c if c.is_whitespace() => {
                    self.bump();
                    continue;
                }
                c if PUNCTUATION.contains(c) => {
                    self.bump();
                    Kind::Mark(c)
                }
                _ => Kind::Word(self.word()),
            };
            return Ok(Some(Token { kind, place }));
        }
    }

    fn word(&mut self) -> String {
        let mut word = String::new();
        while let Some(&c) = self.chars.peek()
            && !c.is_whitespace()
            && c != '#'
            && !PUNCTUATION.contains(c)
        {
            word.push(c);
            self.bump();
        }
        word
    }

    /// Reads a quoted text whose opening quote was read already. Escapes are those of JSON.
    fn quoted(&mut self, open: Place) -> Result<String> {
        let mut text = String::new();
        loop {
            let place = self.place;
            match self.bump() {
                None | Some('\n') => return Err(open.error("expected a closing '\"' on this line")),
                Some('"') => return Ok(text),
                Some('\\') => text.push(self.escape(place)?),
                Some(c) => text.push(c),
            }
        }
    }

    fn escape(&mut self, place: Place) -> Result<char> {
        let unknown =
            || place.error("expected an escape of JSON: \\\" \\\\ \\/ \\b \\f \\n \\r \\t \\uXXXX");
        Ok(match self.bump() {
            Some(c @ ('"' | '\\' | '/')) => c,
            Some('b') => '\u{8}',
            Some('f') => '\u{c}',
            Some('n') => '\n',
            Some('r') => '\r',
            Some('t') => '\t',
            Some('u') => {
                let high = self.hex4().ok_or_else(unknown)?;
                let code = if (0xD800..0xDC00).contains(&high) {
                    let pair = (self.bump(), self.bump());
                    let low = self.hex4().filter(|low| (0xDC00..0xE000).contains(low));
                    match (pair, low) {
                        ((Some('\\'), Some('u')), Some(low)) => {
                            0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00)
                        }
                        _ => return Err(unknown()),
                    }
                } else {
                    high
                };
                char::from_u32(code).ok_or_else(unknown)?
            }
            _ => return Err(unknown()),
        })
    }

    fn hex4(&mut self) -> Option<u32> {
        let mut code = 0;
        for _ in 0..4 {
            code = code * 16 + self.bump()?.to_digit(16)?;
        }
        Some(code)
    }
}
