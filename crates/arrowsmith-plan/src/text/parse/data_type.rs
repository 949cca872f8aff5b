// SPDX-License-Identifier: Apache-2.0
//! Text → schema: types, and what is in their brackets.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Fields, UnionFields, UnionMode};
use arrowsmith_core::Result;

use super::{Parser, TYPE_DEPTH_MAX};
use crate::text::lex::Kind;
use crate::text::types::{INTERVALS, UNITS, elsewhere, json, precision_max, simple};

/// A type, and whether it is JSON text, which is stored in the field's metadata.
pub(super) struct Type {
    pub(super) data_type: DataType,
    pub(super) json: bool,
}

impl From<DataType> for Type {
    fn from(data_type: DataType) -> Self {
        Self { data_type, json: false }
    }
}

impl Parser {
    pub(super) fn data_type(&mut self) -> Result<Type> {
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
            let dates = matches!(data_type, DataType::Date32 | DataType::Date64);
            if dates && self.take('(') {
                self.formats()?;
                self.need(')')?;
            }
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
            "time32" => T::Time32(self.time(&UNITS[..2])?),
            "time64" => T::Time64(self.time(&UNITS[2..])?),
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
        let mut zone = None;
        let mut more = self.take(',');
        if more && !self.is_format() {
            zone = Some(self.quoted("a zone in quotes: \"UTC\", \"+02:00\", …")?.into());
            more = self.take(',');
        }
        if more {
            self.formats()?;
        }
        self.need(')')?;
        Ok(DataType::Timestamp(unit, zone))
    }

    /// Whether a text in quotes is here that is a format, not a zone.
    fn is_format(&self) -> bool {
        matches!(self.peek(), Kind::Quoted(text) if text.contains('%'))
    }

    /// The unit of a time of day, and maybe formats.
    fn time<T: Copy>(&mut self, units: &[(&str, T)]) -> Result<T> {
        self.need('(')?;
        let unit = self.choice("a unit", units)?;
        if self.take(',') {
            self.formats()?;
        }
        self.need(')')?;
        Ok(unit)
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
