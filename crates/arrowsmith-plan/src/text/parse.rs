// SPDX-License-Identifier: Apache-2.0
//! Text → schema, by recursive descent; errors have line, column, what was expected and what was
//! found.

use std::collections::HashMap;
use std::str::FromStr;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Fields, Schema, UnionFields, UnionMode};
use arrowsmith_core::Result;

use super::lex::{Kind, Place, Token, lex};
use super::types::{INTERVALS, UNITS, elsewhere, json, precision_max, simple};
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
    let mut parser = Parser { tokens: lex(text)?, at: 0, depth: 0 };
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
            return Err(parser.expected("end of line, ',', 'not null', 'encoding' or 'metadata'"));
        }
    }
}

struct Parser {
    tokens: Vec<Token>,
    at: usize,
    depth: usize,
}

/// A type, and whether it is JSON text, which is stored in the field's metadata.
struct Type {
    data_type: DataType,
    json: bool,
}

impl From<DataType> for Type {
    fn from(data_type: DataType) -> Self {
        Self { data_type, json: false }
    }
}

impl Parser {
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

    /// `not null`, `null`, `encoding …`, `metadata {…}`, in any order.
    fn modifiers(&mut self, mut field: Field) -> Result<Field> {
        let mut metadata = field.metadata().clone();
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
            } else {
                field.set_metadata(metadata);
                return Ok(field);
            }
        }
    }

    fn data_type(&mut self) -> Result<Type> {
        let place = self.place();
        if self.depth == TYPE_DEPTH_MAX {
            return Err(place.error(format!("types are nested deeper than {TYPE_DEPTH_MAX}")));
        }
        self.depth += 1;
        let wrong = self.expected("a type");
        let Kind::Word(word) = self.peek().clone() else { return Err(wrong) };
        self.at += 1;
        let name = word.to_ascii_lowercase();
        let found = if let Some(data_type) = json(&name) {
            Some(Type { data_type, json: true })
        } else if let Some(data_type) = simple(&name) {
            Some(data_type.into())
        } else {
            self.compound(&name)?
        };
        self.depth -= 1;
        found.ok_or_else(|| match name.as_str() {
            "float" | "real" => place.error(format!(
                "expected a type, found '{word}', which is float32 to some and float64 to others"
            )),
            "decimal" | "numeric" => {
                place.error(format!("expected a type, found '{word}': decimal128 or decimal256?"))
            }
            other if elsewhere(other).is_some() => place.error(format!(
                "expected a type, found '{word}': it is called {} here",
                elsewhere(other).unwrap_or_default()
            )),
            _ => place.error(format!(
                "expected a type (int64, float64, utf8, bool, timestamp(us), list<…>, struct<…>, \
                 json, …), found '{word}'"
            )),
        })
    }

    /// A type with arguments, whose name was read already; `None` if there is no such type.
    fn compound(&mut self, name: &str) -> Result<Option<Type>> {
        use DataType as T;
        if let Some(precision_max) = precision_max(name) {
            return self.decimal(name, precision_max).map(Some);
        }
        let data_type = match name {
            "fixed_size_binary" => {
                self.need('(')?;
                let len = self.len()?;
                self.need(')')?;
                T::FixedSizeBinary(len)
            }
            "time32" => T::Time32(self.in_parens("a unit", &UNITS[..2])?),
            "time64" => T::Time64(self.in_parens("a unit", &UNITS[2..])?),
            "duration" => T::Duration(self.in_parens("a unit", UNITS)?),
            "interval" => T::Interval(self.in_parens("a unit", INTERVALS)?),
            "timestamp" => self.timestamp()?,
            // As pandas writes them.
            "datetime64" => self.datetime64()?,
            "timedelta64" => {
                self.need('[')?;
                let unit = self.choice("a unit", UNITS)?;
                self.need(']')?;
                T::Duration(unit)
            }
            "list" => T::List(self.item()?),
            "large_list" => T::LargeList(self.item()?),
            "list_view" => T::ListView(self.item()?),
            "large_list_view" => T::LargeListView(self.item()?),
            "fixed_size_list" => {
                self.open()?;
                let item = self.inner(Field::LIST_FIELD_DEFAULT_NAME, true)?;
                self.comma()?;
                let len = self.len()?;
                self.close()?;
                T::FixedSizeList(Arc::new(item), len)
            }
            "struct" => {
                let mut fields = Vec::new();
                self.each(|this| {
                    fields.push(this.named()?);
                    Ok(())
                })?;
                T::Struct(Fields::from(fields))
            }
            "map" => self.map()?,
            "dictionary" => return self.dictionary().map(Some),
            "run_end_encoded" => {
                self.open()?;
                let run_ends = self.named()?;
                self.comma()?;
                let values = self.named()?;
                self.close()?;
                T::RunEndEncoded(Arc::new(run_ends), Arc::new(values))
            }
            "sparse_union" => T::Union(self.union()?, UnionMode::Sparse),
            "dense_union" => T::Union(self.union()?, UnionMode::Dense),
            _ => return Ok(None),
        };
        Ok(Some(data_type.into()))
    }

    fn len(&mut self) -> Result<i32> {
        let place = self.place();
        let len = self.number::<i32>("a length")?;
        if len < 0 {
            Err(place.error("expected a length, found a negative number"))
        } else {
            Ok(len)
        }
    }

    fn decimal(&mut self, name: &str, precision_max: u8) -> Result<Type> {
        self.need('(')?;
        let place = self.place();
        let precision = self.number::<u8>("a precision, in digits")?;
        if precision == 0 || precision > precision_max {
            let range = format!("expected 1 to {precision_max} digits in all, found {precision}");
            return Err(place.error(range));
        }
        self.need(',')?;
        let place = self.place();
        let scale = self.number::<i8>("a scale, in digits")?;
        if i16::from(scale) > i16::from(precision) {
            let range =
                format!("expected at most {precision} digits after the point, found {scale}");
            return Err(place.error(range));
        }
        self.need(')')?;
        let data_type = match name {
            "decimal32" => DataType::Decimal32(precision, scale),
            "decimal64" => DataType::Decimal64(precision, scale),
            "decimal128" => DataType::Decimal128(precision, scale),
            _ => DataType::Decimal256(precision, scale),
        };
        Ok(data_type.into())
    }

    fn in_parens<T: Copy>(&mut self, what: &str, table: &[(&str, T)]) -> Result<T> {
        self.need('(')?;
        let value = self.choice(what, table)?;
        self.need(')')?;
        Ok(value)
    }

    fn timestamp(&mut self) -> Result<DataType> {
        self.need('(')?;
        let unit = self.choice("a unit", UNITS)?;
        let zone = if self.take(',') {
            Some(self.quoted("a zone in quotes: \"UTC\", \"+02:00\", …")?.into())
        } else {
            None
        };
        self.need(')')?;
        Ok(DataType::Timestamp(unit, zone))
    }

    /// `[us]`, or `[us, UTC]` with a zone that is quoted or not.
    fn datetime64(&mut self) -> Result<DataType> {
        self.need('[')?;
        let unit = self.choice("a unit", UNITS)?;
        let zone = match self.take(',') {
            true => Some(self.name("a zone: UTC, Europe/Berlin, \"+02:00\", …")?.into()),
            false => None,
        };
        self.need(']')?;
        Ok(DataType::Timestamp(unit, zone))
    }

    fn open(&mut self) -> Result<()> {
        self.need('<')?;
        self.skip_newlines();
        Ok(())
    }

    fn comma(&mut self) -> Result<()> {
        self.skip_newlines();
        self.need(',')?;
        self.skip_newlines();
        Ok(())
    }

    fn close(&mut self) -> Result<()> {
        self.skip_newlines();
        self.need('>')
    }

    /// `<`, any number of things separated by commas, `>`.
    fn each(&mut self, mut thing: impl FnMut(&mut Self) -> Result<()>) -> Result<()> {
        self.open()?;
        while !self.take('>') {
            thing(self)?;
            self.skip_newlines();
            if !self.take(',') && *self.peek() != Kind::Mark('>') {
                return Err(self.expected("',' or '>'"));
            }
            self.skip_newlines();
        }
        Ok(())
    }

    /// `name: type …` inside a type.
    fn named(&mut self) -> Result<Field> {
        let name = self.name("a field, 'name: type'")?;
        self.need(':')?;
        self.skip_newlines();
        self.field(name, true)
    }

    /// `type …`, or `name: type …` if the name is not the usual one.
    fn inner(&mut self, usual: &str, nullable: bool) -> Result<Field> {
        let mut name = usual.to_owned();
        if self.token(1).kind == Kind::Mark(':') {
            name = self.name("a name")?;
            self.need(':')?;
        }
        self.field(name, nullable)
    }

    fn item(&mut self) -> Result<Arc<Field>> {
        self.open()?;
        let item = self.inner(Field::LIST_FIELD_DEFAULT_NAME, true)?;
        self.close()?;
        Ok(Arc::new(item))
    }

    fn map(&mut self) -> Result<DataType> {
        self.open()?;
        let key = self.inner("key", false)?;
        self.comma()?;
        let value = self.inner("value", true)?;
        let mut entries = Field::new_struct("entries", vec![key, value], false);
        let mut sorted = false;
        self.skip_newlines();
        while self.take(',') {
            self.skip_newlines();
            if self.take_word("sorted") {
                sorted = true;
            } else if self.take_word("entries") {
                entries = entries.with_name(self.name("the name of the entries")?);
                entries = self.modifiers(entries)?;
            } else {
                return Err(self.expected("'sorted' or 'entries'"));
            }
            self.skip_newlines();
        }
        self.close()?;
        Ok(DataType::Map(Arc::new(entries), sorted))
    }

    fn dictionary(&mut self) -> Result<Type> {
        self.open()?;
        let place = self.place();
        let keys = self.data_type()?.data_type;
        if !keys.is_dictionary_key_type() {
            return Err(place.error("expected an integer type for the keys of a dictionary"));
        }
        self.comma()?;
        let Type { data_type: values, json } = self.data_type()?;
        self.close()?;
        Ok(Type { data_type: DataType::Dictionary(Box::new(keys), Box::new(values)), json })
    }

    /// `<id name: type …, …>`.
    fn union(&mut self) -> Result<UnionFields> {
        let place = self.place();
        let (mut ids, mut fields) = (Vec::new(), Vec::new());
        self.each(|this| {
            ids.push(this.number::<i8>("the number of a type")?);
            fields.push(this.named()?);
            Ok(())
        })?;
        UnionFields::try_new(ids, fields).map_err(|error| place.error(error))
    }
}
