// SPDX-License-Identifier: Apache-2.0
//! The containers of libstdc++: their elements, the order of those of maps and sets, and what
//! cannot be sent because only the program knows the order, or the hash.

use gimli::constants as dw;

use super::super::annotate::MemberNote;
use super::super::classes::{qualified, strip};
use super::super::{Element, Form, Keys, Kind, Member};
use super::kinds::alignment;
use super::{Builder, Parts, Place, Result, narrow, unique_names};

/// A template: its name, its arguments' number, and which of them orders the elements.
struct Template {
    name: &'static str,
    arguments: usize,
    order: Option<usize>,
    unique: bool,
    map: bool,
}

const fn template(name: &'static str, arguments: usize) -> Template {
    Template { name, arguments, order: None, unique: false, map: false }
}

const fn associative(name: &'static str, arguments: usize, unique: bool) -> Template {
    let map = arguments > 3;
    Template { name, arguments, order: Some(if map { 2 } else { 1 }), unique, map }
}

const fn unordered(name: &'static str, arguments: usize, unique: bool) -> Template {
    let map = arguments > 4;
    Template { name, arguments, order: Some(if map { 2 } else { 1 }), unique, map }
}

const TEMPLATES: [Template; 11] = [
    template("std::vector", 2),
    template("std::deque", 2),
    template("std::__cxx11::list", 2),
    associative("std::set", 3, true),
    associative("std::multiset", 3, false),
    associative("std::map", 4, true),
    associative("std::multimap", 4, false),
    unordered("std::unordered_set", 4, true),
    unordered("std::unordered_multiset", 4, false),
    unordered("std::unordered_map", 5, true),
    unordered("std::unordered_multimap", 5, false),
];

impl Builder<'_> {
    /// The kind of a container; `None` for other classes.
    pub(super) fn container(
        &mut self,
        class: &str,
        ty: usize,
        note: &MemberNote,
        place: &Place,
    ) -> Result<Option<Kind>> {
        let name = class.split('<').next().unwrap_or_default();
        let Some(of) = TEMPLATES.iter().find(|of| of.name == name) else { return Ok(None) };
        let stripped = self.arguments(ty).map(|ty| strip(self.debug, ty));
        let arguments: Option<Vec<usize>> = stripped.collect();
        let arguments = arguments.filter(|found| found.len() == of.arguments);
        let Some(arguments) = arguments else { return Err(only_declared(class, place)) };
        let ordered = of.order.and_then(|order| arguments.get(order));
        if ordered.is_some_and(|function| self.by_address(arguments[0], *function)) {
            let message = format!(
                "is a {class}, whose keys are addresses, which are others in a region; make it \
                 transient, or use a std::vector"
            );
            return Err(place.error("", message));
        }
        let (mut element, keys) = match of.map {
            true => self.pair(arguments[0], arguments[1], place)?,
            false => self.element(arguments[0], place)?,
        };
        element.form = match (of.order, name) {
            (None, "std::vector") => Form::Vector,
            (None, "std::deque") => Form::Deque,
            (None, _) => Form::List,
            (Some(order), _) => {
                let members = in_order(&element.members[..keys]);
                let keys = Keys { members, unique: of.unique, descending: false, map: of.map };
                let functions = &arguments[order..];
                match name.contains("unordered") {
                    true => self.hash(class, ty, arguments[0], functions, keys, place)?,
                    false => self.tree(class, arguments[0], functions[0], keys, note, place)?,
                }
            }
        };
        let word = self.debug.target.pointer_bytes;
        // i386 aligns a number of 8 bytes to 4 in a class, but not in a node of a hash table.
        let tag = self.debug.entries[arguments[0]].tag;
        let alone = matches!(tag, dw::DW_TAG_base_type | dw::DW_TAG_enumeration_type);
        if word == 4 && matches!(element.form, Form::Hash { .. }) && !of.map && alone {
            element.align = element.align.max(element.size.min(8));
        }
        let kind = Kind::Vector(Box::new(element));
        let expected = kind.bytes(word).unwrap_or(0);
        let bytes = self.debug.entries[ty].byte_size.unwrap_or(u64::from(expected));
        if bytes != u64::from(expected) {
            let message = format!("is a {class} of {bytes} bytes, not of {expected}");
            return Err(place.error("", message));
        }
        Ok(Some(kind))
    }

    /// The elements of a container, all of whose members may be the key.
    fn element(&mut self, ty: usize, place: &Place) -> Result<(Element, usize)> {
        let inner = Place {
            prefix: format!("{}[]", place.prefix),
            offset: 0,
            depth: place.depth + 1,
            ..place.clone()
        };
        let mut parts = Parts { align: 1, ..Parts::default() };
        self.held(ty, &inner, &inner.prefix, &mut parts)?;
        let bytes = self.size_of(ty);
        let align = alignment(parts.align, bytes);
        let members = unique_names(parts.members);
        let keys = members.len();
        Ok((self.made(members, bytes, align, place)?, keys))
    }

    /// The elements of a map: `std::pair<const K, V>`; and how many of the members are the key.
    fn pair(&mut self, key: usize, value: usize, place: &Place) -> Result<(Element, usize)> {
        let outer = format!("{}[]", place.prefix);
        let mut inner = Place {
            prefix: format!("{outer}.first"),
            offset: 0,
            depth: place.depth + 1,
            ..place.clone()
        };
        let mut parts = Parts { align: 1, ..Parts::default() };
        self.held(key, &inner, &outer, &mut parts)?;
        let keys = parts.members.len();
        let [size, other] = [self.size_of(key), self.size_of(value)];
        let align = alignment(self.natural_align(value, place.depth), other);
        inner.prefix = format!("{outer}.second");
        inner.offset = size.next_multiple_of(align);
        let align = align.max(alignment(self.natural_align(key, place.depth), size));
        self.held(value, &inner, &outer, &mut parts)?;
        let bytes = inner.offset.saturating_add(other).next_multiple_of(align);
        Ok((self.made(unique_names(parts.members), bytes, align, place)?, keys))
    }

    fn made(&self, members: Vec<Member>, bytes: u64, align: u64, place: &Place) -> Result<Element> {
        Ok(Element {
            size: narrow(&place.class, bytes)?,
            align: narrow(&place.class, align)?,
            members,
            form: Form::Vector,
        })
    }

    /// The order of a tree, which is that of the keys' members, or known to the program only.
    fn tree(
        &self,
        class: &str,
        key: usize,
        compare: usize,
        keys: Keys,
        note: &MemberNote,
        place: &Place,
    ) -> Result<Form> {
        let refuse = |reason: &str| Err(place.error("", format!("is a {class}, {reason}")));
        let function = qualified(self.debug, compare);
        let descending = function.starts_with("std::greater<");
        let natural = descending || function.starts_with("std::less<");
        if natural && !keys.members.is_empty() && self.has_order(key, 0) {
            return Ok(Form::Tree { keys: Keys { descending, ..keys } });
        }
        if !self.is_empty_class(compare) {
            return refuse("whose comparison has a state; make it transient");
        }
        if !note.unchecked {
            return refuse(
                "whose order only the program knows; annotated as `unchecked` it is read in the \
                 order of the message, whatever that is; or make it transient",
            );
        }
        Ok(Form::Tree { keys: Keys { members: Vec::new(), ..keys } })
    }

    /// A hash table whose hash is that of the library, which a reader computes.
    fn hash(
        &self,
        class: &str,
        ty: usize,
        key: usize,
        functions: &[usize],
        keys: Keys,
        place: &Place,
    ) -> Result<Form> {
        let refuse = |reason: &str| Err(place.error("", format!("is a {class}, {reason}")));
        let entry = &self.debug.entries[key];
        let base = |name: &str| {
            let entries = &self.debug.entries;
            let mut children = entries[functions[0]].children.iter().map(|&child| &entries[child]);
            children.any(|child| {
                child.tag == dw::DW_TAG_inheritance
                    && child.ty.is_some_and(|ty| qualified(self.debug, ty).starts_with(name))
            })
        };
        let hashed = match entry.tag {
            dw::DW_TAG_base_type => entry.encoding != Some(dw::DW_ATE_float),
            // A program may have a hash of its own for an enumeration.
            dw::DW_TAG_enumeration_type => base("std::__hash_enum<"),
            _ => is_text(&qualified(self.debug, key)),
        };
        let [function, equal] = [functions[0], functions[1]].map(|ty| qualified(self.debug, ty));
        let own = function.starts_with("std::hash<") && equal.starts_with("std::equal_to<");
        if !hashed || !own || keys.members.len() != 1 {
            return refuse(
                "which depends on the program's hash function: keys are integers, enumerations or \
                 strings, with std::hash; make it transient",
            );
        }
        let entries = &self.debug.entries;
        let mut members = entries[ty].children.iter().filter_map(|&child| entries[child].ty);
        let traits = members.find_map(|ty| {
            let name = entries[strip(self.debug, ty)?].name.as_deref()?;
            let (_, traits) = name.split_once("_Hashtable_traits<")?;
            Some(traits.starts_with("true"))
        });
        match traits {
            Some(cached) => Ok(Form::Hash { keys, cached }),
            None => refuse("which is of an unknown form"),
        }
    }

    /// Whether a type is ordered as its members are, one after another.
    fn has_order(&self, ty: usize, depth: usize) -> bool {
        let entry = &self.debug.entries[ty];
        match entry.tag {
            dw::DW_TAG_base_type | dw::DW_TAG_enumeration_type => true,
            dw::DW_TAG_class_type | dw::DW_TAG_structure_type => {
                let class = qualified(self.debug, ty);
                let is = |names: &[&str]| names.iter().any(|name| class.starts_with(name));
                let time = ["std::chrono::duration<", "std::chrono::time_point<"];
                let parts = ["std::pair<", "std::tuple<", "std::array<"];
                let mut arguments = self.arguments(ty).map(|ty| strip(self.debug, ty));
                is_text(&class)
                    || is(&time)
                    || (is(&parts)
                        && depth < 8
                        && arguments.all(|ty| ty.is_some_and(|ty| self.has_order(ty, depth + 1))))
            }
            _ => false,
        }
    }

    /// Whether keys are pointers, or smart ones, that the library compares or hashes.
    fn by_address(&self, key: usize, function: usize) -> bool {
        let class = qualified(self.debug, key);
        let address = self.debug.entries[key].tag == dw::DW_TAG_pointer_type
            || class.starts_with("std::shared_ptr<")
            || class.starts_with("std::unique_ptr<");
        let function = qualified(self.debug, function);
        let library = ["std::less<", "std::greater<", "std::hash<"];
        address && library.iter().any(|name| function.starts_with(name))
    }

    fn is_empty_class(&self, ty: usize) -> bool {
        let entry = &self.debug.entries[ty];
        let class = matches!(entry.tag, dw::DW_TAG_class_type | dw::DW_TAG_structure_type);
        let mut children = entry.children.iter().map(|&child| &self.debug.entries[child]);
        let state = children.any(|child| child.tag == dw::DW_TAG_member && !child.is_static);
        class && entry.byte_size == Some(1) && !state
    }

    /// The size of a type; Clang gives pointers none.
    pub(super) fn size_of(&self, ty: usize) -> u64 {
        let bytes = self.debug.entries[ty].byte_size;
        bytes.unwrap_or_else(|| self.debug.target.pointer_bytes.into())
    }
}

/// The refusal of a class without definition.
pub(super) fn only_declared(class: &str, place: &Place) -> super::LayoutError {
    let message =
        format!("is a {class} that is only declared; with Clang compile with -fstandalone-debug");
    place.error("", message)
}

/// Whether a class is a string or a view of one.
fn is_text(class: &str) -> bool {
    class.starts_with("std::__cxx11::basic_string<char, ")
        || class == "std::__cxx11::string"
        || class.starts_with("std::basic_string_view<char, ")
        || class == "std::string_view"
}

/// The members in the order in which C++ compares them: those of a tuple are last to first in
/// memory.
fn in_order(members: &[Member]) -> Vec<u32> {
    let mut order: Vec<u32> = (0_u32..).take(members.len()).collect();
    order.sort_by_key(|index| natural(&members[*index as usize].name));
    order
}

/// The parts of a name, numbers by their value: `first.2`, `[10].second`.
fn natural(name: &str) -> Vec<(u64, &str)> {
    let parts = name.split(['.', '[', ']']).filter(|part| !part.is_empty());
    parts.map(|part| part.parse().map_or((u64::MAX, part), |number| (number, ""))).collect()
}
