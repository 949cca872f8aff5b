// SPDX-License-Identifier: Apache-2.0
//! The members of a class are flat in a layout (`boxes[0].lo.x`); here they become columns again as
//! the program declares them: structs of fields, lists of fixed length.
//!
//! The elements of an array share the columns of its first element, which is how Arrow stores lists
//! of fixed length: a message has them in the same order.

use std::collections::HashSet;

use crate::layout::Member;

/// A column, or several under one name. Numbers are indices of members.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shape {
    /// A member.
    Leaf(usize),
    /// A class by value.
    Struct(Vec<(String, Shape)>),
    /// An array of that many objects.
    Array(i32, Box<Shape>),
}

/// The shapes of a list of members, and for each member the one whose column has its values.
#[derive(Debug, Clone)]
pub struct Shapes {
    pub fields: Vec<(String, Shape)>,
    pub column_of: Vec<usize>,
}

/// A part of a member's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part<'a> {
    Field(&'a str),
    Index(i32),
}

type Named<'a> = (usize, Vec<Part<'a>>);

impl Shapes {
    /// Nests the members by their names. Names that do not nest stay as they are.
    pub fn new(members: &[Member], reserved: &[&str]) -> Self {
        let names: Option<Vec<Named<'_>>> = members
            .iter()
            .enumerate()
            .map(|(index, member)| parts(&member.name).map(|parts| (index, parts)))
            .collect();
        let mut column_of: Vec<usize> = (0..members.len()).collect();
        let nested = names.and_then(|names| fields(&names, members, &mut column_of));
        let mut fields = nested.unwrap_or_else(|| {
            column_of = (0..members.len()).collect();
            let flat =
                |(index, member): (usize, &Member)| (member.name.clone(), Shape::Leaf(index));
            members.iter().enumerate().map(flat).collect()
        });
        unique(&mut fields, reserved);
        Self { fields, column_of }
    }

    /// If there is a single field without a name, that is the item of a list itself.
    pub fn only(&self) -> Option<&Shape> {
        match self.fields.as_slice() {
            [(name, only)] if name.is_empty() => Some(only),
            _ => None,
        }
    }
}

/// Numbers names that are taken, as layouts do for members of several bases.
fn unique(fields: &mut [(String, Shape)], reserved: &[&str]) {
    let mut seen: HashSet<String> = reserved.iter().map(|name| (*name).to_owned()).collect();
    for (name, _) in fields {
        let (plain, mut number) = (name.clone(), 2);
        while !seen.insert(name.clone()) {
            *name = format!("{plain}#{number}");
            number += 1;
        }
    }
}

/// `boxes[0].lo.x` → boxes, 0, lo, x.
fn parts(name: &str) -> Option<Vec<Part<'_>>> {
    let mut found = Vec::new();
    for field in name.split('.') {
        let (plain, mut rest) = field.find('[').map_or((field, ""), |at| field.split_at(at));
        if !plain.is_empty() {
            found.push(Part::Field(plain));
        }
        while !rest.is_empty() {
            let (index, behind) = rest.strip_prefix('[')?.split_once(']')?;
            found.push(Part::Index(index.parse().ok()?));
            rest = behind;
        }
    }
    Some(found)
}

/// The fields of members whose names begin here; `None` if names are not in the order of a program.
fn fields<'a>(
    list: &[Named<'a>],
    members: &[Member],
    column_of: &mut [usize],
) -> Option<Vec<(String, Shape)>> {
    let mut found: Vec<(String, Shape)> = Vec::new();
    for group in list.chunk_by(|(_, a), (_, b)| same_start(a, b)) {
        let (name, inner) = match group.first()?.1.first() {
            Some(Part::Field(name)) => (*name, without_first(group)),
            _ => ("", group.to_vec()),
        };
        if found.iter().any(|(known, _)| known == name) {
            return None;
        }
        found.push((name.to_owned(), shape(&inner, members, column_of)?));
    }
    Some(found)
}

/// Whether two names begin with the same field, or are both elements of an array.
fn same_start(a: &[Part<'_>], b: &[Part<'_>]) -> bool {
    match (a.first(), b.first()) {
        (Some(Part::Index(_)), Some(Part::Index(_))) => true,
        (a, b) => a == b,
    }
}

fn without_first<'a>(list: &[Named<'a>]) -> Vec<Named<'a>> {
    list.iter()
        .map(|(index, parts)| (*index, parts.get(1..).unwrap_or_default().to_vec()))
        .collect()
}

fn shape(list: &[Named<'_>], members: &[Member], column_of: &mut [usize]) -> Option<Shape> {
    match list {
        [(index, parts)] if parts.is_empty() => return Some(Shape::Leaf(*index)),
        _ if list.iter().any(|(_, parts)| parts.is_empty()) => return None,
        _ => {}
    }
    if !matches!(list.first()?.1.first(), Some(Part::Index(_))) {
        return fields(list, members, column_of).map(Shape::Struct);
    }
    let mut elements = list.chunk_by(|(_, a), (_, b)| a.first() == b.first());
    let first = elements.next()?;
    let mut count = 1;
    for element in elements {
        let in_order = element.first()?.1.first() == Some(&Part::Index(count));
        if !in_order || element.len() != first.len() {
            return None;
        }
        for ((index, parts), (of, of_parts)) in element.iter().zip(first) {
            let (member, model) = (members.get(*index)?, members.get(*of)?);
            let same = parts.get(1..) == of_parts.get(1..);
            if !same || member.kind != model.kind || member.count != model.count {
                return None;
            }
        }
        count += 1;
    }
    if first.first()?.1.first() != Some(&Part::Index(0)) {
        return None;
    }
    let item = shape(&without_first(first), members, column_of)?;
    // Later elements use the columns of the first one, which may itself contain arrays.
    for element in list.chunk_by(|(_, a), (_, b)| a.first() == b.first()).skip(1) {
        for ((index, _), (of, _)) in element.iter().zip(first) {
            *column_of.get_mut(*index)? = *column_of.get(*of)?;
        }
    }
    Some(Shape::Array(count, Box::new(item)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::Kind;

    fn shapes(names: &[&str]) -> Shapes {
        let member = |name: &&str| Member {
            name: (*name).to_owned(),
            offset: 0,
            count: 1,
            kind: Kind::Float { bytes: 4 },
        };
        Shapes::new(&names.iter().map(member).collect::<Vec<_>>(), &["id"])
    }

    #[test]
    fn names_nest_as_the_program_declares_them() {
        let names = ["a[0].p.x", "a[0].p.y", "a[1].p.x", "a[1].p.y", "b", "id"];
        let made = shapes(&names);
        let point = Shape::Struct(vec![("x".into(), Shape::Leaf(0)), ("y".into(), Shape::Leaf(1))]);
        let item = Shape::Struct(vec![("p".into(), point)]);
        assert_eq!(made.fields[0], ("a".into(), Shape::Array(2, Box::new(item))));
        assert_eq!(made.fields[1], ("b".into(), Shape::Leaf(4)));
        assert_eq!(made.fields[2], ("id#2".into(), Shape::Leaf(5)));
        assert_eq!(made.column_of, [0, 1, 0, 1, 4, 5]);
    }

    #[test]
    fn names_that_do_not_nest_stay_flat() {
        for names in [["a", "a.b"], ["a[1]", "a[0]"], ["a[0].x", "a[1].y"], ["a[", "b"]] {
            let made = shapes(&names);
            assert_eq!(made.fields.len(), 2, "{names:?}");
            assert_eq!(made.fields[1], (names[1].into(), Shape::Leaf(1)));
            assert_eq!(made.column_of, [0, 1]);
        }
    }
}
