// SPDX-License-Identifier: Apache-2.0
//! Text → schema, by recursive descent; errors have line, column, what was expected and what was
//! found.

mod data_type;

use std::collections::HashMap;
use std::str::FromStr;

use arrow_schema::{Field, Schema};
use arrowsmith_core::Result;
use arrowsmith_number::TimeFormat;

use self::data_type::Type;
use super::lex::{Kind, Place, Token, lex};
use super::types::UNITS;
use crate::coerce::{COERCE_METADATA_KEY, Coercion};
use crate::plan::{
    ENCODING_METADATA_KEY, EXTENSION_NAME_KEY, JSON_EXTENSION_NAME, ROOT_METADATA_KEY,
};

/// Maximum nesting of types that is parsed; a plan allows less.
const TYPE_DEPTH_MAX: usize = 128;

/// Reads a schema from its text form. `docs/guide/schema.md` has the grammar.
///
/// # Errors
/// [`Error::Schema`](arrowsmith_core::Error::Schema), whose message starts with line and column.
pub fn parse_schema(text: &str) -> Result<Schema> {
    let mut parser = Parser::new(text)?;
    let mut fields = Vec::new();
    let mut metadata = HashMap::new();
    loop {
        while matches!(parser.peek(), Kind::Newline | Kind::Mark(',')) {
            parser.at += 1;
        }
        if *parser.peek() == Kind::End {
            return Ok(Schema::new_with_metadata(fields, metadata));
        }
        if !parser.directive(&mut metadata)? {
            let name = parser.name("a column, 'name: type'")?;
            parser.need(':')?;
            fields.push(parser.field(name, true)?);
        }
        if !matches!(parser.peek(), Kind::Newline | Kind::Mark(',') | Kind::End) {
            return Err(parser.expected(
                "end of line, ',', 'not null', 'scalars', 'nulls', 'format', 'epoch', \
                 'encoding' or 'metadata'",
            ));
        }
    }
}

/// Reads a coercion from its text form: `scalars epoch ms format "%d.%m.%Y" nulls "N/A" "-"`.
///
/// # Errors
/// As [`parse_schema`].
pub(crate) fn parse_coercion(text: &str) -> Result<Coercion> {
    let mut parser = Parser::new(text)?;
    let mut coercion = Coercion::default();
    while parser.coercion(&mut coercion)? {}
    match parser.peek() {
        Kind::End => Ok(coercion),
        _ => Err(parser.expected("'scalars', 'epoch', 'format' or 'nulls'")),
    }
}

struct Parser {
    tokens: Vec<Token>,
    at: usize,
    depth: usize,
    /// Formats in the parentheses of the type that was read last.
    formats: Vec<TimeFormat>,
}

impl Parser {
    fn new(text: &str) -> Result<Self> {
        Ok(Self { tokens: lex(text)?, at: 0, depth: 0, formats: Vec::new() })
    }

    /// The token `ahead` places further; the last token is the end.
    fn token(&self, ahead: usize) -> &Token {
        &self.tokens[(self.at + ahead).min(self.tokens.len() - 1)]
    }

    fn peek(&self) -> &Kind {
        &self.token(0).kind
    }

    fn place(&self) -> Place {
        self.token(0).place
    }

    fn expected(&self, what: &str) -> arrowsmith_core::Error {
        self.place().error(format!("expected {what}, found {}", self.peek()))
    }

    /// Skips ends of lines, which are white space inside brackets.
    fn skip_newlines(&mut self) {
        while *self.peek() == Kind::Newline {
            self.at += 1;
        }
    }

    fn take(&mut self, mark: char) -> bool {
        let is_there = *self.peek() == Kind::Mark(mark);
        self.at += usize::from(is_there);
        is_there
    }

    fn need(&mut self, mark: char) -> Result<()> {
        if self.take(mark) { Ok(()) } else { Err(self.expected(&format!("'{mark}'"))) }
    }

    fn take_word(&mut self, word: &str) -> bool {
        let is_there = matches!(self.peek(), Kind::Word(found) if found == word);
        self.at += usize::from(is_there);
        is_there
    }

    fn word(&mut self, what: &str) -> Result<String> {
        match self.peek() {
            Kind::Word(word) => {
                let word = word.clone();
                self.at += 1;
                Ok(word)
            }
            _ => Err(self.expected(what)),
        }
    }

    fn quoted(&mut self, what: &str) -> Result<String> {
        match self.peek() {
            Kind::Quoted(text) => {
                let text = text.clone();
                self.at += 1;
                Ok(text)
            }
            _ => Err(self.expected(what)),
        }
    }

    /// A name, with or without quotes.
    fn name(&mut self, what: &str) -> Result<String> {
        match self.peek() {
            Kind::Word(name) | Kind::Quoted(name) => {
                let name = name.clone();
                self.at += 1;
                Ok(name)
            }
            _ => Err(self.expected(what)),
        }
    }

    fn number<T: FromStr>(&mut self, what: &str) -> Result<T> {
        let wrong = self.expected(what);
        self.word(what)?.parse().map_err(|_| wrong)
    }

    /// One of the names in a table.
    fn choice<T: Copy>(&mut self, what: &str, table: &[(&str, T)]) -> Result<T> {
        let names: Vec<&str> = table.iter().map(|(name, _)| *name).collect();
        let wrong = self.expected(&format!("{what}: {}", names.join(", ")));
        let found = self.word(what).ok();
        let chosen = table.iter().find(|(name, _)| found.as_deref() == Some(name));
        chosen.map(|(_, value)| *value).ok_or(wrong)
    }

    /// `root value`, or `metadata "key" = "value"`, for the schema as a whole.
    fn directive(&mut self, metadata: &mut HashMap<String, String>) -> Result<bool> {
        let is_field = self.token(1).kind == Kind::Mark(':');
        if !is_field && self.take_word("root") {
            if !self.take_word("value") {
                return Err(self.expected("'value' after 'root' (or ':' and a type)"));
            }
            metadata.insert(ROOT_METADATA_KEY.to_owned(), "value".to_owned());
        } else if !is_field && self.take_word("metadata") {
            let (key, value) = self.pair()?;
            metadata.insert(key, value);
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    /// `"key" = "value"`.
    fn pair(&mut self) -> Result<(String, String)> {
        let key = self.quoted("a key in quotes")?;
        self.need('=')?;
        Ok((key, self.quoted("a value in quotes")?))
    }

    /// The part of a field after its name and colon. `nullable` is the default if the text has no
    /// modifier for it.
    fn field(&mut self, name: String, nullable: bool) -> Result<Field> {
        let Type { data_type, json } = self.data_type()?;
        let mut field = Field::new(name, data_type, nullable);
        if json {
            let json = (EXTENSION_NAME_KEY.to_owned(), JSON_EXTENSION_NAME.to_owned());
            field.set_metadata(HashMap::from([json]));
        }
        self.modifiers(field)
    }

    /// A part of a coercion, if one is here.
    fn coercion(&mut self, coercion: &mut Coercion) -> Result<bool> {
        if self.take_word("scalars") {
            coercion.scalars = true;
        } else if self.take_word("epoch") {
            coercion.epoch = Some(self.choice("a unit", UNITS)?);
        } else if self.take_word("format") {
            coercion.formats.push(self.format()?);
            while matches!(self.peek(), Kind::Quoted(_)) {
                coercion.formats.push(self.format()?);
            }
        } else if self.take_word("nulls") {
            coercion.nulls.push(self.quoted("a word in quotes")?);
            while matches!(self.peek(), Kind::Quoted(_)) {
                coercion.nulls.push(self.quoted("a word in quotes")?);
            }
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    /// A format of dates or times.
    fn format(&mut self) -> Result<TimeFormat> {
        let place = self.place();
        let text = self.quoted("a format in quotes, such as \"%d.%m.%Y\"")?;
        TimeFormat::new(&text).map_err(|error| place.error(error))
    }

    /// The formats before the `)` of a type, of which the first follows.
    fn formats(&mut self) -> Result<()> {
        let first = self.format()?;
        self.formats.push(first);
        while self.take(',') {
            let next = self.format()?;
            self.formats.push(next);
        }
        Ok(())
    }

    /// `not null`, `null`, `encoding …`, `metadata {…}`, coercions, in any order.
    fn modifiers(&mut self, mut field: Field) -> Result<Field> {
        let mut metadata = field.metadata().clone();
        let formats = std::mem::take(&mut self.formats);
        let mut coercion = Coercion { formats, ..Coercion::default() };
        loop {
            if self.take_word("not") {
                if !self.take_word("null") {
                    return Err(self.expected("'null' after 'not'"));
                }
                field.set_nullable(false);
            } else if self.take_word("null") {
                field.set_nullable(true);
            } else if self.take_word("encoding") {
                let encodings = [("base64", "base64"), ("hex", "hex")];
                let encoding = self.choice("an encoding", &encodings)?;
                metadata.insert(ENCODING_METADATA_KEY.to_owned(), encoding.to_owned());
            } else if self.take_word("metadata") {
                self.need('{')?;
                self.skip_newlines();
                while !self.take('}') {
                    let (key, value) = self.pair()?;
                    metadata.insert(key, value);
                    self.skip_newlines();
                    if !self.take(',') && *self.peek() != Kind::Mark('}') {
                        return Err(self.expected("',' or '}'"));
                    }
                    self.skip_newlines();
                }
            } else if !self.coercion(&mut coercion)? {
                if !coercion.is_empty() {
                    metadata.insert(COERCE_METADATA_KEY.to_owned(), coercion.to_string());
                }
                field.set_metadata(metadata);
                return Ok(field);
            }
        }
    }
}
