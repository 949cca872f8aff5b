// SPDX-License-Identifier: Apache-2.0
//! Deserialization of a configuration's tables. Errors name the setting by its path, and speak of
//! TOML: a list, a table, a whole number. `toml` itself reports the types of Rust, and no path
//! below a setting that is deserialized in two steps.

use std::fmt::{self, Display};

use arrowsmith_core::Error;
use serde::de::value::StrDeserializer;
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, Error as _, Expected,
    IntoDeserializer, MapAccess, SeqAccess, Unexpected, VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;
use toml::Value;

/// What a value says.
///
/// # Errors
/// The path of the setting, and what is wrong with it.
pub(crate) fn value<T: DeserializeOwned>(value: Value) -> Result<T, Wrong> {
    T::deserialize(Reader(value))
}

/// A setting that is wrong.
#[derive(Debug)]
pub struct Wrong {
    /// From the outermost to it.
    path: Vec<String>,
    what: String,
    is_unknown: bool,
}

impl Wrong {
    /// Names further settings that there are, if the one found is none.
    pub(crate) fn or(mut self, others: &str) -> Self {
        if self.is_unknown && self.path.len() == 1 {
            self.what = format!("{}, {others}", self.what);
        }
        self
    }

    /// The same of a table's setting of this name, or of a list's element of this number.
    pub(crate) fn within(mut self, part: impl Into<String>) -> Self {
        self.path.insert(0, part.into());
        self
    }
}

impl Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.path.is_empty() {
            true => f.write_str(&self.what),
            false => write!(f, "{}: {}", self.path.join("."), self.what),
        }
    }
}

impl std::error::Error for Wrong {}

impl From<Wrong> for Error {
    fn from(wrong: Wrong) -> Self {
        Self::Config(wrong.to_string())
    }
}

impl serde::de::Error for Wrong {
    fn custom<T: Display>(what: T) -> Self {
        Self { path: Vec::new(), what: what.to_string(), is_unknown: false }
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::custom(format!("expected {}, found {}", wanted(expected), named(&found)))
    }

    fn invalid_value(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::invalid_type(found, expected)
    }

    fn invalid_length(length: usize, expected: &dyn Expected) -> Self {
        Self::custom(format!("expected {}, found {length} elements", wanted(expected)))
    }

    fn unknown_variant(found: &str, expected: &'static [&'static str]) -> Self {
        Self::custom(format!("expected {}, found \"{found}\"", choices(expected)))
    }

    fn unknown_field(found: &str, expected: &'static [&'static str]) -> Self {
        let known = expected.join(", ");
        let what = format!("no such setting; there are {known}");
        Self { path: vec![found.to_owned()], what, is_unknown: true }
    }

    fn missing_field(name: &'static str) -> Self {
        Self::custom("is needed").within(name)
    }
}

fn choices(of: &[&str]) -> String {
    let quoted: Vec<String> = of.iter().map(|one| format!("\"{one}\"")).collect();
    match quoted.split_last() {
        Some((last, first)) if !first.is_empty() => format!("{} or {last}", first.join(", ")),
        Some((last, _)) => last.clone(),
        None => "nothing".to_owned(),
    }
}

/// What a type of Rust is in TOML.
fn wanted(expected: &dyn Expected) -> String {
    let said = expected.to_string();
    let plain = match said.as_str() {
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number from 0",
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number",
        "f32" | "f64" => "a number",
        "a boolean" => "true or false",
        "a string" | "string" | "str" | "path string" => "text in quotes",
        "a sequence" => "a list",
        "a map" => "a table",
        other if other.starts_with("struct ") || other.contains(" enum ") => "a table",
        other => other,
    };
    plain.to_owned()
}

fn named(found: &Unexpected<'_>) -> String {
    match found {
        Unexpected::Bool(value) => value.to_string(),
        Unexpected::Signed(value) => value.to_string(),
        Unexpected::Unsigned(value) => value.to_string(),
        Unexpected::Float(value) => value.to_string(),
        Unexpected::Str(text) => format!("\"{text}\""),
        Unexpected::Seq => "a list".to_owned(),
        Unexpected::Map => "a table".to_owned(),
        other => other.to_string(),
    }
}

/// Reads a value.
struct Reader(Value);

impl<'de> Deserializer<'de> for Reader {
    type Error = Wrong;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        match self.0 {
            Value::String(text) => visitor.visit_string(text),
            Value::Integer(number) => visitor.visit_i64(number),
            Value::Float(number) => visitor.visit_f64(number),
            Value::Boolean(flag) => visitor.visit_bool(flag),
            Value::Datetime(time) => visitor.visit_string(time.to_string()),
            Value::Array(items) => visitor.visit_seq(Items(items.into_iter().enumerate())),
            Value::Table(table) => visitor.visit_map(Entries(table.into_iter(), None)),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Wrong> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Wrong> {
        match self.0 {
            Value::String(text) => visitor.visit_enum(Choice(text)),
            other => {
                let found = match &other {
                    Value::Array(_) => "a list".to_owned(),
                    Value::Table(_) => "a table".to_owned(),
                    value => value.to_string(),
                };
                Err(Wrong::custom(format!("expected {}, found {found}", choices(variants))))
            }
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

/// The elements of a list, with their numbers.
struct Items(std::iter::Enumerate<std::vec::IntoIter<Value>>);

impl<'de> SeqAccess<'de> for Items {
    type Error = Wrong;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Wrong> {
        let Some((number, item)) = self.0.next() else { return Ok(None) };
        let item = seed.deserialize(Reader(item));
        item.map(Some).map_err(|wrong| wrong.within(number.to_string()))
    }
}

/// The settings of a table, and the one whose name was read.
struct Entries(toml::map::IntoIter<String, Value>, Option<(String, Value)>);

impl<'de> MapAccess<'de> for Entries {
    type Error = Wrong;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Wrong> {
        let Some((name, value)) = self.0.next() else { return Ok(None) };
        let key: StrDeserializer<'_, Wrong> = name.as_str().into_deserializer();
        let key = seed.deserialize(key)?;
        self.1 = Some((name, value));
        Ok(Some(key))
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Wrong> {
        let Some((name, value)) = self.1.take() else {
            return Err(Wrong::custom("a value without a name"));
        };
        seed.deserialize(Reader(value)).map_err(|wrong| wrong.within(name))
    }
}

/// One of several words.
struct Choice(String);

impl<'de> EnumAccess<'de> for Choice {
    type Error = Wrong;
    type Variant = Self;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self), Wrong> {
        let word: StrDeserializer<'_, Wrong> = self.0.as_str().into_deserializer();
        Ok((seed.deserialize(word)?, self))
    }
}

impl<'de> VariantAccess<'de> for Choice {
    type Error = Wrong;

    fn unit_variant(self) -> Result<(), Wrong> {
        Ok(())
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, _: S) -> Result<S::Value, Wrong> {
        Err(Wrong::custom("expected a table"))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, _: V) -> Result<V::Value, Wrong> {
        Err(Wrong::custom("expected a table"))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Wrong> {
        Err(Wrong::custom("expected a table"))
    }
}
