// SPDX-License-Identifier: Apache-2.0
//! Coercions: values that a column takes beyond those of its type, where that is exact.
//!
//! They are stored in a field's metadata, as text, so that a schema carries them through every
//! interface; [`Plan`](crate::Plan) moves them from the schema into its nodes, and the schema of
//! the decoded batches has none. `docs/design/0002-json-semantics.md` defines them.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt::{self, Write};
use std::str::FromStr;
use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, Fields, Schema, TimeUnit};
use arrowsmith_core::{Error, Result};
use arrowsmith_number::TimeFormat;

use crate::plan::{EXTENSION_NAME_KEY, JSON_EXTENSION_NAME, Node, Op, Plan};
use crate::text::{parse_coercion, quote, unit_name};

/// Field metadata key of a column's [`Coercion`], as text.
pub const COERCE_METADATA_KEY: &str = "arrowsmith:coerce";

/// Maximum length of a coercion's text: an option for all columns is in the metadata of each.
const TEXT_BYTES_MAX: usize = 16 << 10;

/// Which values a column takes beyond those of its type.
///
/// ```
/// use arrowsmith_plan::Coercion;
///
/// let coercion: Coercion = r#"scalars format "%d.%m.%Y" nulls "N/A" "-""#.parse()?;
/// assert!(coercion.scalars && coercion.nulls == ["N/A", "-"]);
/// assert_eq!(coercion.to_string().parse::<Coercion>()?, coercion);
/// # Ok::<(), arrowsmith_plan::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Coercion {
    /// Numbers and booleans in strings, strings of numbers and booleans, 0 and 1 as booleans,
    /// integers that are written with a fraction or an exponent.
    pub scalars: bool,
    /// The unit of numbers in a column of timestamps, in place of the column's own.
    pub epoch: Option<TimeUnit>,
    /// The forms of dates and times in strings, in place of ISO 8601: the first that matches.
    pub formats: Vec<TimeFormat>,
    /// Strings that are null.
    pub nulls: Vec<String>,
}

impl Coercion {
    /// Whether it changes nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Only the null words, which apply to every type.
    #[must_use]
    pub fn only_nulls(&self) -> Self {
        Self { nulls: self.nulls.clone(), ..Self::default() }
    }

    /// The parts of this coercion, and for those that it lacks the parts of another.
    fn or(mut self, other: &Self) -> Self {
        self.scalars |= other.scalars;
        self.epoch = self.epoch.or(other.epoch);
        if self.formats.is_empty() {
            self.formats.clone_from(&other.formats);
        }
        if self.nulls.is_empty() {
            self.nulls.clone_from(&other.nulls);
        }
        self
    }

    /// The parts that a type can have.
    fn applicable(&self, data_type: &DataType, is_json: bool) -> Self {
        use DataType as T;
        let values = match data_type {
            T::Dictionary(_, values) => values.as_ref(),
            other => other,
        };
        let temporal = matches!(
            values,
            T::Date32 | T::Date64 | T::Time32(_) | T::Time64(_) | T::Timestamp(..)
        );
        let scalar = temporal
            || values.is_numeric()
            || matches!(values, T::Boolean | T::Duration(_))
            || (matches!(values, T::Utf8 | T::LargeUtf8 | T::Utf8View) && !is_json);
        let date = !matches!(values, T::Time32(_) | T::Time64(_));
        let time = !matches!(values, T::Date32);
        let takes = |format: &&TimeFormat| {
            let zone = date || !format.has_offset();
            temporal && format.has_date() == date && (time || !format.has_time()) && zone
        };
        Self {
            scalars: self.scalars && scalar,
            epoch: self.epoch.filter(|_| matches!(values, T::Timestamp(..))),
            formats: self.formats.iter().filter(takes).cloned().collect(),
            nulls: self.nulls.clone(),
        }
    }

    /// The coercion of a field.
    fn of(field: &Field) -> Result<Option<Self>> {
        field.metadata().get(COERCE_METADATA_KEY).map(|text| text.parse()).transpose()
    }
}

impl fmt::Display for Coercion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        if self.scalars {
            text.push_str(" scalars");
        }
        if let Some(unit) = &self.epoch {
            write!(text, " epoch {}", unit_name(unit))?;
        }
        let formats: Vec<String> = self.formats.iter().map(TimeFormat::to_string).collect();
        for (word, all) in [(" format", &formats), (" nulls", &self.nulls)] {
            for (number, one) in all.iter().enumerate() {
                text.push_str(if number == 0 { word } else { "" });
                text.push(' ');
                quote(&mut text, one);
            }
        }
        f.write_str(text.trim_start())
    }
}

impl FromStr for Coercion {
    type Err = Error;

    /// # Errors
    /// [`Error::Schema`] for text that is malformed, or longer than 16 KiB.
    fn from_str(text: &str) -> Result<Self> {
        if text.len() > TEXT_BYTES_MAX {
            let message = format!(
                "the coercion has {} bytes, more than {TEXT_BYTES_MAX}: fewer null words or formats",
                text.len()
            );
            return Err(Error::schema("", message));
        }
        parse_coercion(text)
    }
}

/// A schema whose fields all have a coercion, those inside of others too: each the parts that its
/// type can have, and that the field's own coercion does not say.
///
/// # Errors
/// [`Error::Schema`] for a field whose own coercion is malformed.
pub fn with_coercion(schema: &Schema, all: &Coercion) -> Result<Schema> {
    let fields = coerced_fields(schema.fields(), all)?;
    Ok(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

fn coerced_fields(fields: &Fields, all: &Coercion) -> Result<Fields> {
    fields.iter().map(|field| coerced(field, all)).collect()
}

fn coerced(field: &FieldRef, all: &Coercion) -> Result<FieldRef> {
    let own = Coercion::of(field)?.unwrap_or_default();
    let coercion = own.or(&all.applicable(field.data_type(), is_json(field)));
    let data_type = children(field.data_type(), |child| coerced(child, all))?;
    let mut field = field.as_ref().clone().with_data_type(data_type);
    if !coercion.is_empty() {
        let mut metadata = field.metadata().clone();
        metadata.insert(COERCE_METADATA_KEY.to_owned(), coercion.to_string());
        field.set_metadata(metadata);
    }
    Ok(Arc::new(field))
}

/// A schema without coercions; `None` if it has none.
pub(crate) fn without(schema: &Schema) -> Option<Schema> {
    if !schema.fields().iter().any(has) {
        return None;
    }
    let fields: Fields = schema.fields().iter().map(bare).collect();
    Some(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

fn has(field: &FieldRef) -> bool {
    let mut found = field.metadata().contains_key(COERCE_METADATA_KEY);
    // The types that come back are of no interest.
    let _ = children(field.data_type(), |child| {
        found |= has(child);
        Ok(Arc::clone(child))
    });
    found
}

fn bare(field: &FieldRef) -> FieldRef {
    let data_type = children(field.data_type(), |child| Ok(bare(child)));
    let data_type = data_type.unwrap_or_else(|_| field.data_type().clone());
    let mut metadata = field.metadata().clone();
    metadata.remove(COERCE_METADATA_KEY);
    Arc::new(field.as_ref().clone().with_data_type(data_type).with_metadata(metadata))
}

/// A type with other fields inside; the keys of maps remain.
fn children(
    data_type: &DataType,
    mut to: impl FnMut(&FieldRef) -> Result<FieldRef>,
) -> Result<DataType> {
    use DataType as T;
    Ok(match data_type {
        T::Struct(fields) => T::Struct(fields.iter().map(to).collect::<Result<_>>()?),
        T::List(item) => T::List(to(item)?),
        T::LargeList(item) => T::LargeList(to(item)?),
        T::FixedSizeList(item, len) => T::FixedSizeList(to(item)?, *len),
        T::Map(entries, sorted) => match entries.data_type() {
            T::Struct(fields) if fields.len() == 2 => {
                let inner = T::Struct(vec![Arc::clone(&fields[0]), to(&fields[1])?].into());
                T::Map(Arc::new(entries.as_ref().clone().with_data_type(inner)), *sorted)
            }
            _ => data_type.clone(),
        },
        other => other.clone(),
    })
}

fn is_json(field: &Field) -> bool {
    field.metadata().get(EXTENSION_NAME_KEY).is_some_and(|name| name == JSON_EXTENSION_NAME)
}

/// Moves the coercions of a schema's fields into the plan of that schema without them.
///
/// # Errors
/// [`Error::Schema`] for a coercion that is malformed, or that the type cannot have.
pub(crate) fn attach(node: &mut Node, fields: &Fields, value_root: bool) -> Result<()> {
    let mut known = Known::new();
    match &mut node.op {
        _ if value_root => {
            fields.iter().try_for_each(|field| attach_field(node, field, "", &mut known))
        }
        Op::Struct(plans) => {
            let mut pairs = plans.iter_mut().zip(fields);
            pairs.try_for_each(|(plan, field)| attach_field(&mut plan.node, field, "", &mut known))
        }
        _ => Ok(()),
    }
}

/// Equal coercions are in memory once, however many fields have them.
type Known<'f> = HashMap<&'f str, Arc<Coercion>>;

fn attach_field<'f>(
    node: &mut Node,
    field: &'f Field,
    around: &str,
    known: &mut Known<'f>,
) -> Result<()> {
    let dot = if around.is_empty() { "" } else { "." };
    let path = format!("{around}{dot}{}", field.name());
    let named = |error: Error| match error {
        Error::Schema { message, .. } => Error::schema(path.clone(), message),
        other => other,
    };
    if let Some(text) = field.metadata().get(COERCE_METADATA_KEY) {
        let coercion = match known.entry(text) {
            Entry::Occupied(known) => Arc::clone(known.get()),
            Entry::Vacant(first) => {
                Arc::clone(first.insert(Arc::new(text.parse().map_err(named)?)))
            }
        };
        let possible = coercion.applicable(field.data_type(), is_json(field));
        if possible != *coercion {
            let what = if possible.scalars != coercion.scalars {
                "scalars".to_owned()
            } else if possible.epoch != coercion.epoch {
                "epoch (which is for timestamps)".to_owned()
            } else {
                let missing = coercion.formats.iter().find(|one| !possible.formats.contains(one));
                format!("the format {:?}", missing.map(TimeFormat::to_string).unwrap_or_default())
            };
            let message = format!("a column of type {} cannot have {what}", field.data_type());
            return Err(Error::schema(path, message));
        }
        node.coercion = Some(coercion).filter(|coercion| !coercion.is_empty());
    }
    match (&mut node.op, field.data_type()) {
        (Op::Struct(plans), DataType::Struct(fields)) => {
            let mut pairs = plans.iter_mut().zip(fields);
            pairs.try_for_each(|(plan, field)| attach_field(&mut plan.node, field, &path, known))
        }
        (
            Op::List(item) | Op::FixedSizeList(item, _),
            DataType::List(field) | DataType::LargeList(field) | DataType::FixedSizeList(field, _),
        ) => attach_field(item, field, &path, known),
        (Op::Map { value, .. }, DataType::Map(entries, _)) => match entries.data_type() {
            DataType::Struct(fields) if fields.len() == 2 => {
                attach_field(value, &fields[1], &path, known)
            }
            _ => Ok(()),
        },
        _ => Ok(()),
    }
}

impl Plan {
    /// Whether a column takes values beyond those of its type, for engines that cannot: the path
    /// of the first is not needed, as none of them decodes a part of a plan.
    pub fn has_coercions(&self) -> bool {
        fn of(node: &Node) -> bool {
            node.coercion.is_some()
                || match &node.op {
                    Op::Struct(fields) => fields.iter().any(|field| of(&field.node)),
                    Op::List(item) | Op::FixedSizeList(item, _) => of(item),
                    Op::Map { value, .. } => of(value),
                    _ => false,
                }
        }
        of(self.root())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::{format_schema, parse_schema};

    fn plan(text: &str) -> Result<Plan> {
        Plan::new(Arc::new(parse_schema(text)?))
    }

    #[test]
    fn plans_have_coercions_and_batches_do_not() {
        let text = "a: int64 scalars nulls \"-\", b: list<struct<c: date32 format \"%d.%m.%Y\">>";
        let plan = plan(text).unwrap();
        assert!(plan.has_coercions());
        assert_eq!(
            format_schema(plan.schema()),
            "a: int64\nb: list<struct<c: date32>>\n",
            "the metadata is that of the reader alone"
        );
        assert!(plan.to_string().contains("scalars nulls \"-\""), "{plan}");
    }

    #[test]
    fn for_all_columns_each_takes_what_its_type_can_have() {
        let schema = parse_schema(
            "a: int64, b: list<timestamp(us)>, c: date32(\"%Y\u{2d}%m-%d\"), d: json, e: time32(s)",
        );
        let all = "scalars epoch ms format \"%d.%m.%Y\" \"%H.%M\" nulls \"\"".parse().unwrap();
        let schema = with_coercion(&schema.unwrap(), &all).unwrap();
        let expected = "a: int64 scalars nulls \"\"\n\
            b: list<timestamp(us) scalars epoch ms format \"%d.%m.%Y\" nulls \"\"> nulls \"\"\n\
            c: date32 scalars format \"%Y-%m-%d\" nulls \"\"\n\
            d: json nulls \"\"\n\
            e: time32(s) scalars format \"%H.%M\" nulls \"\"\n";
        assert_eq!(format_schema(&schema), expected);
        assert!(Plan::new(Arc::new(schema)).is_ok());
    }

    #[test]
    fn equal_coercions_are_in_memory_once() {
        let text = "a: int64 nulls \"-\", b: utf8 nulls \"-\", c: utf8 nulls \"\"";
        let plan = plan(text).unwrap();
        let Op::Struct(fields) = &plan.root().op else { panic!("{plan}") };
        let of = |at: usize| fields[at].node.coercion.as_ref().unwrap();
        assert!(Arc::ptr_eq(of(0), of(1)));
        assert!(!Arc::ptr_eq(of(0), of(2)));
    }

    #[test]
    fn what_a_type_cannot_have_is_an_error() {
        for (schema, path) in [
            ("a: list<int64> scalars", "a"),
            ("a: struct<b: json scalars>", "a.b"),
            ("a: list<int64 epoch s>", "a.item"),
            ("a: date32 format \"%F %T\"", "a"),
            ("a: time64(us) format \"%F\"", "a"),
            ("a: time64(us) format \"%H:%M%z\"", "a"),
            ("a: timestamp(us) format \"%H:%M\"", "a"),
            ("a: utf8 metadata {\"arrowsmith:coerce\" = \"scalar\"}", "a"),
        ] {
            let error = plan(schema).unwrap_err();
            let Error::Schema { path: found, .. } = &error else { panic!("{error}") };
            assert_eq!(found, path, "{schema}: {error}");
        }
        for text in ["x", "scalars,", "format", "format \"%q\"", "nulls", "epoch h", "epoch"] {
            assert!(text.parse::<Coercion>().is_err(), "{text}");
        }
        let words = |count: usize| format!("nulls{}", " \"-\"".repeat(count));
        assert!(words(4_000).parse::<Coercion>().is_ok());
        let error = words(5_000).parse::<Coercion>().unwrap_err().to_string();
        assert!(error.contains("more than 16384"), "{error}");
    }
}
