// SPDX-License-Identifier: Apache-2.0
//! The text of a layout: YAML, and therefore JSON too.
//!
//! ```yaml
//! root: Order
//! classes:
//!   Order: {id: long, note: "string(40)?", lines: "Line[<=8]"}
//!   Line: {sku: string, prices: "double[4]"}
//! ```
//! or `leaf: {primitives: 2, arrays: 1, length: 16, type: int}`, or `tree:` with `width` and
//! `depth` besides, or `class: com.example.Order` with `jars: [app.jar]`.

use std::fmt;
use std::marker::PhantomData;
use std::path::PathBuf;

use serde::Deserialize;
use serde::de::{Error as _, MapAccess, Visitor};

use super::check::{class_name, finish, identifier, renumber};
use super::{
    Class, DEPTH_MAX, Existing, FIELDS_MAX, Field, LENGTH_MAX_DEFAULT, Layout, Length, Primitive,
    Source, TEXT_BYTES_MAX, Tree, Type,
};
use crate::error::JvmError;

/// Maximum elements of an array: the limit of Java's arrays.
const LENGTH_MAX: u32 = i32::MAX.cast_unsigned();

/// A map in the order of its text, without duplicate keys.
#[derive(Debug)]
struct Ordered<V>(Vec<(String, V)>);

impl<'de, V: Deserialize<'de>> Deserialize<'de> for Ordered<V> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visit<V>(PhantomData<V>);
        impl<'de, V: Deserialize<'de>> Visitor<'de> for Visit<V> {
            type Value = Ordered<V>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map of names")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut entries: Vec<(String, V)> = Vec::new();
                while let Some((name, value)) = map.next_entry::<String, V>()? {
                    if entries.iter().any(|(other, _)| *other == name) {
                        return Err(A::Error::custom(format!("{name:?} comes twice")));
                    }
                    entries.push((name, value));
                }
                Ok(Ordered(entries))
            }
        }
        deserializer.deserialize_map(Visit(PhantomData))
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    root: Option<String>,
    classes: Option<Ordered<Ordered<String>>>,
    #[serde(default)]
    records: bool,
    leaf: Option<Shape>,
    tree: Option<Shape>,
    class: Option<String>,
    #[serde(default)]
    jars: Vec<PathBuf>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Shape {
    #[serde(default)]
    primitives: u32,
    #[serde(default)]
    arrays: u32,
    #[serde(default)]
    length: u32,
    width: Option<u32>,
    depth: Option<u32>,
    #[serde(rename = "type")]
    ty: Option<String>,
    #[serde(default)]
    types: Vec<String>,
}

pub(super) fn parse(text: &str) -> Result<Source, JvmError> {
    if text.len() > TEXT_BYTES_MAX {
        let what = "the length of the text".to_owned();
        return Err(JvmError::TooLarge { what, limit: TEXT_BYTES_MAX as u64 });
    }
    let text: Text = serde_saphyr::from_str(text)
        .map_err(|error| JvmError::Layout(first_line(&error.to_string())))?;
    let lonely = |what: &str, with: &str| Err(JvmError::Layout(format!("{what} goes with {with}")));
    if text.class.is_none() && !text.jars.is_empty() {
        return lonely("jars", "class");
    }
    if text.classes.is_none() && (text.root.is_some() || text.records) {
        return lonely("root and records", "classes");
    }
    match (text.classes, text.leaf, text.tree, text.class) {
        (Some(classes), None, None, None) => {
            declared(text.root.as_deref(), text.records, classes).map(Source::Layout)
        }
        (None, Some(shape), None, None) if shape.width.is_some() || shape.depth.is_some() => {
            lonely("width and depth", "tree")
        }
        (None, Some(shape), None, None) | (None, None, Some(shape), None) => {
            shaped(shape).map(Source::Layout)
        }
        (None, None, None, Some(class)) => {
            Ok(Source::Existing(Existing { class, jars: text.jars }))
        }
        _ => Err(JvmError::Layout("one of classes, leaf, tree and class is needed".to_owned())),
    }
}

fn first_line(text: &str) -> String {
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or("no layout");
    line.chars().take(300).collect()
}

fn shaped(shape: Shape) -> Result<Layout, JvmError> {
    let mut types = Vec::new();
    for name in shape.ty.into_iter().chain(shape.types) {
        let found = Primitive::of(&name);
        let wrong = || JvmError::Layout(format!("{name:.60?} is not a primitive type"));
        types.push(found.ok_or_else(wrong)?);
    }
    if types.is_empty() {
        types.push(Primitive::Int);
    }
    tree(&Tree {
        width: shape.width.unwrap_or(1),
        depth: shape.depth.unwrap_or(1),
        primitives: shape.primitives,
        arrays: shape.arrays,
        length: shape.length,
        types: &types,
    })
}

fn declared(
    root: Option<&str>,
    record: bool,
    texts: Ordered<Ordered<String>>,
) -> Result<Layout, JvmError> {
    let names: Vec<String> = texts.0.iter().map(|(name, _)| name.clone()).collect();
    for (at, name) in names.iter().enumerate() {
        class_name(name).map_err(JvmError::Layout)?;
        if let Some(other) = names[..at].iter().find(|other| other.eq_ignore_ascii_case(name)) {
            let message = format!("{other} and {name} would be one file on some systems");
            return Err(JvmError::Layout(message));
        }
    }
    let none =
        |name: &str| JvmError::Layout(format!("the root {name:.60?} is none of the classes"));
    let root = match root {
        Some(name) => names.iter().position(|known| *known == name).ok_or_else(|| none(name))?,
        None if names.is_empty() => return Err(JvmError::Layout("there is no class".to_owned())),
        None => 0,
    };
    let mut classes = Vec::new();
    for (name, texts) in texts.0 {
        let mut fields = Vec::new();
        for (field, text) in texts.0 {
            let ty = identifier(&field).and_then(|()| ty(&text, &names));
            let path = || format!("{name}.{}", clip(&field));
            let ty = ty.map_err(|reason| JvmError::unsupported(path(), reason))?;
            fields.push(Field { name: field, ty, owner: None, public: true });
        }
        let (java, binary) = (format!("layout.{name}"), format!("layout/{name}"));
        classes.push(Class { java, binary, fields, record });
    }
    // The root first: all other classes are found from there.
    classes.swap(0, root);
    let swap = |class: usize| match class {
        0 => root,
        class if class == root => 0,
        class => class,
    };
    for class in &mut classes {
        class.fields.iter_mut().for_each(|field| renumber(&mut field.ty, &swap));
    }
    finish(Layout { classes, existing: false, classpath: Vec::new() })
}

/// `int`, `string(40)?`, `Line?[<=8]`: a base, then suffixes from the inside out.
pub(super) fn ty(text: &str, classes: &[String]) -> Result<Type, String> {
    let wrong = || {
        format!("{:?} is not a type: int, string(40), Line, with ?, [], [4] or [<=8]", clip(text))
    };
    let text = text.trim();
    let end = text.find(['?', '[', '(']).unwrap_or(text.len());
    let (base, mut rest) = text.split_at(end);
    let base = base.trim();
    let mut found = if let Some(primitive) = Primitive::of(base) {
        Type::Primitive(primitive)
    } else if base == "string" {
        let mut chars_max = LENGTH_MAX_DEFAULT;
        if let Some(inside) = rest.strip_prefix('(') {
            let (digits, after) = inside.split_once(')').ok_or_else(wrong)?;
            chars_max = number(digits).ok_or_else(wrong)?;
            rest = after;
        }
        Type::String { chars_max, nullable: false }
    } else if let Some(class) = classes.iter().position(|name| name == base) {
        Type::Object { class, nullable: false }
    } else {
        let base = clip(base);
        return Err(format!("{base:?} is neither a primitive type, nor string, nor a class"));
    };
    let mut dimensions = 0;
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix('?') {
            rest = after;
            match &mut found {
                Type::String { nullable, .. }
                | Type::Object { nullable, .. }
                | Type::Array { nullable, .. }
                    if !*nullable =>
                {
                    *nullable = true;
                }
                _ => return Err(wrong()),
            }
            continue;
        }
        let inside = rest.strip_prefix('[').ok_or_else(wrong)?;
        let (count, after) = inside.split_once(']').ok_or_else(wrong)?;
        let length = match (count.trim(), count.trim().strip_prefix("<=")) {
            ("", _) => Length::Max(LENGTH_MAX_DEFAULT),
            (_, Some(most)) => Length::Max(number(most).ok_or_else(wrong)?),
            (exact, None) => Length::Exact(number(exact).ok_or_else(wrong)?),
        };
        found = Type::Array { element: Box::new(found), length, nullable: false };
        dimensions += 1;
        rest = after;
    }
    if dimensions > 8 { Err("more than 8 dimensions".to_owned()) } else { Ok(found) }
}

fn clip(text: &str) -> String {
    text.chars().take(60).collect()
}

fn number(digits: &str) -> Option<u32> {
    digits.trim().parse().ok().filter(|number| *number <= LENGTH_MAX)
}

pub(super) fn tree(tree: &Tree<'_>) -> Result<Layout, JvmError> {
    let limit = |what: &str, limit: usize| JvmError::TooLarge {
        what: what.to_owned(),
        limit: limit as u64,
    };
    if tree.depth == 0 || tree.width == 0 || tree.types.is_empty() {
        return Err(JvmError::Layout("width, depth and types cannot be 0".to_owned()));
    }
    let depth = tree.depth as usize;
    if depth > DEPTH_MAX {
        return Err(limit("the depth", DEPTH_MAX));
    }
    let fields = u64::from(tree.primitives) + u64::from(tree.arrays);
    if fields.max(u64::from(tree.width)) > FIELDS_MAX as u64 {
        return Err(limit("the number of fields", FIELDS_MAX));
    }
    if tree.length > LENGTH_MAX {
        return Err(limit("the length", LENGTH_MAX as usize));
    }
    let class = |level: usize, fields: Vec<Field>| Class {
        java: format!("layout.Level{level}"),
        binary: format!("layout/Level{level}"),
        fields,
        record: false,
    };
    let field = |name: String, ty: Type| Field { name, ty, owner: None, public: true };
    let mut classes = Vec::new();
    for level in 0..depth - 1 {
        let width = (tree.width as usize).saturating_sub(level).max(1);
        let child = || Type::Object { class: level + 1, nullable: false };
        let fields = (0..width).map(|at| field(format!("r{at}"), child()));
        classes.push(class(level, fields.collect()));
    }
    let of = |at: u32| tree.types[at as usize % tree.types.len()];
    let mut fields: Vec<Field> =
        (0..tree.primitives).map(|at| field(format!("p{at}"), Type::Primitive(of(at)))).collect();
    for at in 0..tree.arrays {
        let element = Box::new(Type::Primitive(of(at)));
        let length = Length::Exact(tree.length);
        fields.push(field(format!("a{at}"), Type::Array { element, length, nullable: false }));
    }
    classes.push(class(depth - 1, fields));
    finish(Layout { classes, existing: false, classpath: Vec::new() })
}
