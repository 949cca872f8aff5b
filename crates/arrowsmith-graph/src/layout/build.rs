// SPDX-License-Identifier: Apache-2.0
//! Classes of debug information and annotations → [`Layout`]: which classes can be reached from the root, their members
//! spread out, type ids, and what each pointer may point to. What cannot be handled is refused by name.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use gimli::constants as dw;

use super::annotate::{Annotations, ClassNote, MemberNote, Sources};
use super::classes::{Classes, NESTING_MAX, is_vptr, qualified, strip};
use super::dwarf::{self, Debug, Entry};
use super::{
    Base, Bits, Class, Element, FORMAT, Integer, Kind, Layout, LayoutError, MEMBERS_MAX, Member,
    Reference, Subobject, VtablePointer,
};

type Result<T> = std::result::Result<T, LayoutError>;

/// Classes and members that a layout is made of, those met several times counted each time, at most.
const STEPS_MAX: usize = 1 << 22;

/// How a layout is made.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The class that the pointer to the first object points to.
    pub root: String,
    /// Annotations of a TOML file; they go before those in comments.
    pub annotations: Annotations,
    /// Not to look into source files for comments.
    pub no_comments: bool,
}

/// A layout, and what its user should know of it.
#[derive(Debug, Clone)]
pub struct Extracted {
    /// The layout, checked.
    pub layout: Layout,
    /// Classes that were left out, and why, a sentence each.
    pub notes: Vec<String>,
}

/// Reads the layout of the classes that can be reached from a root, out of an object file, a shared library or a program.
///
/// # Errors
///
/// A file without debug information, or a class or member that cannot be handled, by name.
pub fn from_object(bytes: &[u8], options: &Options) -> Result<Extracted> {
    let debug = dwarf::read(bytes)?;
    let classes = Classes::new(&debug);
    let root = classes.find(&options.root)?;
    let mut builder = Builder {
        classes: &classes,
        debug: &debug,
        options,
        sources: Sources::default(),
        made: BTreeMap::new(),
        open: Vec::new(),
        used: BTreeSet::new(),
        notes: BTreeSet::new(),
        aligns: HashMap::new(),
        steps: 0,
    };
    let layout = builder.run(root)?;
    if let Some(name) = options.annotations.classes.keys().find(|n| !builder.used.contains(*n)) {
        return Err(LayoutError::new(
            name.as_str(),
            "is annotated, but is no class that can be reached from the root",
        ));
    }
    layout.check()?;
    Ok(Extracted { layout, notes: builder.notes.into_iter().collect() })
}

struct Builder<'a> {
    classes: &'a Classes<'a>,
    debug: &'a Debug,
    options: &'a Options,
    sources: Sources,
    /// Classes that objects can be of, without type ids.
    made: BTreeMap<String, (Class, ClassNote)>,
    /// Static classes of pointers that are to be looked at.
    open: Vec<String>,
    /// Annotations that were of use.
    used: BTreeSet<String>,
    notes: BTreeSet<String>,
    /// What [`Self::natural_align`] has found.
    aligns: HashMap<usize, u64>,
    /// Classes and members met, so that broken debug information ends.
    steps: usize,
}

/// Where in a class the walk is.
#[derive(Clone)]
struct Place {
    /// For messages: the class that is laid out.
    class: String,
    prefix: String,
    offset: u64,
    depth: usize,
}

impl Place {
    fn error(&self, name: &str, message: impl Into<String>) -> LayoutError {
        LayoutError::new(format!("{}::{}{name}", self.class, self.prefix), message)
    }
}

/// What a class's walk collects.
#[derive(Default)]
struct Parts {
    members: Vec<Member>,
    /// Offset, the class whose vtable group it points into, the offset within an object of that class.
    vptrs: Vec<(u64, String, u64)>,
    align: u64,
    /// Paths that are not sent, and whether such a member was met.
    transient: BTreeMap<String, bool>,
}

impl Builder<'_> {
    fn run(&mut self, root: String) -> Result<Layout> {
        self.open.push(root.clone());
        let mut seen = BTreeSet::new();
        while let Some(name) = self.open.pop() {
            if !seen.insert(name.clone()) {
                continue;
            }
            for class in self.candidates(&name)? {
                if !self.made.contains_key(&class) {
                    let made = self.class(&class)?;
                    self.made.insert(class, made);
                }
            }
        }
        let order = self.type_ids()?;
        let mut slot = 0;
        let mut classes = Vec::new();
        for (index, name) in (0_u32..).zip(&order) {
            let Some((mut class, _)) = self.made.get(name).cloned() else { continue };
            class.type_id = index;
            for vptr in &mut class.vptrs {
                vptr.slot = slot;
                slot += 1;
            }
            self.resolve(name, &mut class.members, &order)?;
            classes.push(class);
        }
        let mut reference = Reference { to: root, nullable: false, targets: Vec::new() };
        self.targets("root", &mut reference, &order)?;
        Ok(Layout { format: FORMAT, target: self.debug.target.clone(), root: reference, classes })
    }

    /// The classes of which objects can be where a pointer to `name` points.
    fn candidates(&mut self, name: &str) -> Result<Vec<String>> {
        if !self.classes.is_polymorphic(name)? {
            return Ok(vec![name.to_owned()]);
        }
        let mut found = Vec::new();
        for class in self.classes.with_derived(name) {
            if self.class_note(&class)?.skip || self.classes.is_abstract(&class)? {
                continue;
            }
            if self.classes.has_vtable(&class) {
                found.push(class);
            } else {
                self.notes.insert(format!(
                    "{class}: this file makes no object of it (its vtable is not there), so none can be sent"
                ));
            }
        }
        Ok(found)
    }

    fn class(&mut self, name: &str) -> Result<(Class, ClassNote)> {
        let note = self.class_note(name)?;
        let entry = self.classes.entry(name)?;
        let size = entry.byte_size.unwrap_or(0);
        let size = u32::try_from(size)
            .map_err(|_| LayoutError::new(name, format!("has a size of {size} bytes")))?;
        let place = Place { class: name.to_owned(), prefix: String::new(), offset: 0, depth: 0 };
        let mut parts = Parts { align: 1, ..Parts::default() };
        self.complete_object(name, &place, &mut parts)?;
        if let Some((path, _)) = parts.transient.iter().find(|(_, met)| !**met) {
            return Err(place.error(path, "is said to be transient, but is no member"));
        }
        let mut vptrs = Vec::new();
        for (offset, group, within) in std::mem::take(&mut parts.vptrs) {
            vptrs.push(self.vtable_pointer(name, offset, &group, within)?);
        }
        vptrs.sort_by_key(|vptr| vptr.offset);
        let mut bases = Vec::new();
        for base in self.classes.subobjects(name)?.into_iter().skip(1) {
            bases.push(Base { name: base.name, offset: narrow(name, base.offset)? });
        }
        let align = narrow(name, alignment(parts.align, u64::from(size)))?;
        let members = unique_names(parts.members);
        Ok((Class { type_id: 0, name: name.to_owned(), size, align, bases, vptrs, members }, note))
    }

    /// Collects an object that is not a base: its vtable pointers are those of its own vtable group.
    fn complete_object(&mut self, name: &str, place: &Place, parts: &mut Parts) -> Result<()> {
        for part in self.classes.subobjects(name)? {
            let entry = self.classes.entry(&part.name)?;
            for vptr in self.classes.children(entry).filter(|child| is_vptr(child)) {
                let within = part.offset + vptr.member_offset.unwrap_or(0);
                parts.vptrs.push((place.offset + within, name.to_owned(), within));
                parts.align = parts.align.max(u64::from(self.debug.target.pointer_bytes));
            }
        }
        self.walk(name, place, parts)
    }

    fn vtable_pointer(
        &self,
        class: &str,
        offset: u64,
        group: &str,
        within: u64,
    ) -> Result<VtablePointer> {
        let bad = |message: String| Err(LayoutError::new(class, message));
        let local = group.contains("(anonymous namespace)") || group.contains("()");
        let vtable = self.debug.vtables.get(group);
        if local || vtable.is_some_and(|vtable| !vtable.is_global) {
            return bad(format!("needs the vtable of {group}, for which other files have no name"));
        }
        let symbol = match vtable {
            Some(vtable) => vtable.symbol.clone(),
            None => match mangled(group) {
                Some(symbol) => symbol,
                None => {
                    return bad(format!("needs the vtable of {group}, which is not in this file"));
                }
            },
        };
        let width = u64::from(self.debug.target.pointer_bytes);
        // Before each address point are the offset to the top of the object, and the type information.
        let point = if within == 0 {
            2 * width
        } else {
            let mask = if width == 8 { u64::MAX } else { u64::from(u32::MAX) };
            let to_top = 0_u64.wrapping_sub(within) & mask;
            let words = vtable.map(|vtable| vtable.words.as_slice()).unwrap_or_default();
            match words.iter().position(|word| *word == to_top) {
                Some(index) => (index as u64 + 2) * width,
                None => {
                    return bad(format!(
                        "has several bases, and the vtable of {group} is not in this file: add the object file that \
                         has it, or link them"
                    ));
                }
            }
        };
        let offset = narrow(class, offset)?;
        Ok(VtablePointer { offset, slot: 0, symbol, address_point: narrow(class, point)? })
    }

    /// Collects the members of a class, those of its bases first.
    fn walk(&mut self, name: &str, place: &Place, parts: &mut Parts) -> Result<()> {
        self.step(place)?;
        let entry = self.classes.entry(name)?;
        parts.align = parts.align.max(entry.alignment.unwrap_or(1));
        for transient in self.class_note(name)?.transient {
            parts.transient.entry(format!("{}{transient}", place.prefix)).or_insert(false);
        }
        for base in self.classes.bases(name)? {
            let inner = Place {
                offset: place.offset.saturating_add(base.offset),
                depth: place.depth + 1,
                ..place.clone()
            };
            self.walk(&base.name, &inner, parts)?;
        }
        for child in self.classes.children(entry) {
            let member = child.tag == dw::DW_TAG_member;
            if !member || child.is_static || child.is_declaration || is_vptr(child) {
                continue;
            }
            self.member(name, child, place, parts)?;
        }
        Ok(())
    }

    fn step(&mut self, place: &Place) -> Result<()> {
        self.steps += 1;
        if place.depth > NESTING_MAX || self.steps > STEPS_MAX {
            return Err(place.error("", "has too many types in types"));
        }
        Ok(())
    }

    fn member(
        &mut self,
        class: &str,
        entry: &Entry,
        place: &Place,
        parts: &mut Parts,
    ) -> Result<()> {
        let name = entry.name.clone().unwrap_or_default();
        let path = format!("{}{name}", place.prefix);
        let note = self.member_note(class, &name, entry)?;
        let listed = parts.transient.get_mut(&path);
        let transient = note.transient || listed.is_some();
        if let Some(met) = listed {
            *met = true;
        }
        let Some(ty) = entry.ty.and_then(|ty| strip(self.debug, ty)) else {
            return Err(place.error(&name, "has no type"));
        };
        parts.align = parts.align.max(entry.alignment.unwrap_or(1));
        if transient {
            parts.align = parts.align.max(self.natural_align(ty, place.depth));
            return Ok(());
        }
        if let Some(bit_size) = entry.bit_size {
            return self.bit_field(entry, ty, bit_size, &note, place, parts);
        }
        let Some(offset) = entry.member_offset else {
            return Err(place.error(&name, "has no offset"));
        };
        let offset = place.offset.saturating_add(offset);
        let unnamed = name.is_empty();
        let inner =
            Place { class: place.class.clone(), prefix: path, offset, depth: place.depth + 1 };
        self.value(ty, &note, &inner, unnamed, parts)
    }

    /// Collects a value of a type at a place; the place's prefix is its path.
    fn value(
        &mut self,
        ty: usize,
        note: &MemberNote,
        place: &Place,
        unnamed: bool,
        parts: &mut Parts,
    ) -> Result<()> {
        self.step(place)?;
        let entry = &self.debug.entries[ty];
        parts.align = parts.align.max(entry.alignment.unwrap_or(1));
        match entry.tag {
            dw::DW_TAG_array_type => self.array(ty, note, place, parts),
            dw::DW_TAG_class_type | dw::DW_TAG_structure_type => {
                let class = qualified(self.debug, ty);
                if let Some(kind) = self.library(&class, ty, place)? {
                    parts.align = parts.align.max(u64::from(self.debug.target.pointer_bytes));
                    return add(parts, place, 1, annotated(kind, note, place)?);
                }
                if *note != MemberNote::default() {
                    return Err(place.error("", "is a class; annotate its members"));
                }
                let mut inner = place.clone();
                if !unnamed {
                    inner.prefix.push('.');
                }
                if entry.name.is_none() {
                    return self.unnamed_struct(entry, &inner, parts);
                }
                self.complete_object(&class, &inner, parts)
            }
            _ => {
                let kind = self.scalar(ty, place)?;
                parts.align = parts.align.max(self.natural_align(ty, place.depth));
                add(parts, place, 1, annotated(kind, note, place)?)
            }
        }
    }

    fn unnamed_struct(&mut self, entry: &Entry, place: &Place, parts: &mut Parts) -> Result<()> {
        for &child in &entry.children {
            let child = &self.debug.entries[child];
            if child.tag == dw::DW_TAG_member && !child.is_static {
                self.member("(unnamed)", child, place, parts)?;
            }
        }
        Ok(())
    }

    fn array(
        &mut self,
        ty: usize,
        note: &MemberNote,
        place: &Place,
        parts: &mut Parts,
    ) -> Result<()> {
        let entry = &self.debug.entries[ty];
        let mut dimensions = Vec::new();
        for &child in &entry.children {
            let child = &self.debug.entries[child];
            if child.tag == dw::DW_TAG_subrange_type {
                dimensions.push(child.count.ok_or_else(|| {
                    place.error("", "is an array without a length; make it transient")
                })?);
            }
        }
        let Some(element) = entry.ty.and_then(|ty| strip(self.debug, ty)) else {
            return Err(place.error("", "is an array of nothing"));
        };
        let count = dimensions.iter().try_fold(1_u64, |product, n| product.checked_mul(*n));
        let Some(count) = count.and_then(|count| u32::try_from(count).ok()) else {
            return Err(place.error("", "is an array of too many elements"));
        };
        if count == 0 {
            return Ok(());
        }
        let inner = &self.debug.entries[element];
        let is_class = matches!(inner.tag, dw::DW_TAG_class_type | dw::DW_TAG_structure_type);
        if !is_class && inner.tag != dw::DW_TAG_array_type {
            let kind = self.scalar(element, place)?;
            parts.align = parts.align.max(self.natural_align(element, place.depth));
            return add(parts, place, count, annotated(kind, note, place)?);
        }
        let Some(stride) = inner.byte_size.filter(|_| (count as usize) <= MEMBERS_MAX) else {
            return Err(place.error("", "is an array of too many objects"));
        };
        for index in 0..u64::from(count) {
            let mut at = place.clone();
            at.offset = place.offset.saturating_add(index.saturating_mul(stride));
            at.prefix.push_str(&subscript(index, &dimensions));
            self.value(element, note, &at, false, parts)?;
        }
        Ok(())
    }

    /// What a number, an enumeration or a pointer is.
    fn scalar(&mut self, ty: usize, place: &Place) -> Result<Kind> {
        let entry = &self.debug.entries[ty];
        let bytes = entry.byte_size.unwrap_or(0);
        let name = || entry.name.clone().unwrap_or_else(|| "(unnamed)".into());
        match entry.tag {
            dw::DW_TAG_base_type => {
                let (signed, range) = match entry.encoding {
                    Some(dw::DW_ATE_float) if matches!(bytes, 4 | 8) => {
                        return Ok(Kind::Float { bytes: narrow(&place.class, bytes)? });
                    }
                    Some(dw::DW_ATE_boolean) => (false, Some([0, 1])),
                    Some(dw::DW_ATE_signed | dw::DW_ATE_signed_char) => (true, None),
                    Some(dw::DW_ATE_unsigned | dw::DW_ATE_unsigned_char | dw::DW_ATE_UTF) => {
                        (false, None)
                    }
                    _ => {
                        return Err(
                            place.error("", format!("is a {}, which cannot be sent", name()))
                        );
                    }
                };
                self.integer(bytes, signed, range, &name(), place)
            }
            dw::DW_TAG_enumeration_type => {
                let values: Vec<i64> = entry
                    .children
                    .iter()
                    .filter_map(|&child| self.debug.entries[child].const_value)
                    .collect();
                let underlying = entry.ty.and_then(|ty| strip(self.debug, ty));
                let underlying = underlying.and_then(|ty| self.debug.entries[ty].encoding);
                let signed = match underlying.or(entry.encoding) {
                    Some(encoding) => {
                        matches!(encoding, dw::DW_ATE_signed | dw::DW_ATE_signed_char)
                    }
                    None => values.iter().any(|value| *value < 0),
                };
                self.integer(bytes, signed, enumerators(&values), &name(), place)
            }
            dw::DW_TAG_pointer_type => {
                let pointee = entry.ty.and_then(|ty| strip(self.debug, ty));
                self.pointer(pointee, place)
            }
            dw::DW_TAG_union_type => Err(place
                .error("", "is a union, of which nobody knows what it holds; make it transient")),
            dw::DW_TAG_reference_type | dw::DW_TAG_rvalue_reference_type => {
                Err(place.error("", "is a reference; a pointer can be sent"))
            }
            _ => Err(place.error("", format!("is of a kind that cannot be sent ({})", entry.tag))),
        }
    }

    fn integer(
        &self,
        bytes: u64,
        signed: bool,
        range: Option<[i64; 2]>,
        name: &str,
        place: &Place,
    ) -> Result<Kind> {
        if !matches!(bytes, 1 | 2 | 4 | 8) {
            return Err(place.error("", format!("is a {name} of {bytes} bytes")));
        }
        let bytes = narrow(&place.class, bytes)?;
        Ok(Kind::Integer(Integer { bytes, wire_bytes: bytes, signed, range }))
    }

    fn pointer(&mut self, pointee: Option<usize>, place: &Place) -> Result<Kind> {
        let class = pointee.filter(|&index| {
            let tag = self.debug.entries[index].tag;
            matches!(tag, dw::DW_TAG_class_type | dw::DW_TAG_structure_type)
        });
        let Some(class) = class else {
            let what = pointee.map_or("nothing known".to_owned(), |p| qualified(self.debug, p));
            let message = format!("points to {what}; only pointers to objects can be sent");
            return Err(place.error("", message));
        };
        let to = qualified(self.debug, class);
        if to.starts_with("std::") {
            return Err(place.error("", format!("points to a {to}, which is no object of its own")));
        }
        self.open.push(to.clone());
        Ok(Kind::Pointer(Reference { to, nullable: true, targets: Vec::new() }))
    }

    /// What a class of the standard library is; `None` for classes that are their members.
    fn library(&mut self, class: &str, ty: usize, place: &Place) -> Result<Option<Kind>> {
        if !class.starts_with("std::") {
            return Ok(None);
        }
        let pointer_bytes = u64::from(self.debug.target.pointer_bytes);
        let bytes = self.debug.entries[ty].byte_size;
        let is = |name: &str| class.starts_with(name);
        let size_is = |expected: u64| match bytes {
            Some(bytes) if bytes != expected => {
                Err(place.error("", format!("is a {class} of {bytes} bytes, not of {expected}")))
            }
            _ => Ok(()),
        };
        if is("std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char>>")
            || class == "std::__cxx11::string"
        {
            size_is(if pointer_bytes == 8 { 32 } else { 24 })?;
            return Ok(Some(Kind::String));
        }
        if is("std::unique_ptr<") {
            size_is(pointer_bytes)?;
            let pointee = self.argument(ty, class, place)?;
            return self.pointer(Some(pointee), place).map(Some);
        }
        if is("std::vector<bool") {
            let message = "is a vector<bool>, whose elements are no objects";
            return Err(place.error("", message));
        }
        if is("std::vector<") {
            size_is(3 * pointer_bytes)?;
            let element = self.argument(ty, class, place)?;
            return self.vector(element, place).map(Some);
        }
        // These are no more than the members that debug information shows.
        let plain = [
            "array<",
            "pair<",
            "atomic<",
            "complex<",
            "bitset<",
            "chrono::",
            "__atomic_",
            "_Base_bitset<",
        ];
        if plain.iter().any(|name| class["std::".len()..].starts_with(name)) {
            return Ok(None);
        }
        Err(place.error("", format!("is a {class}, which cannot be sent; make it transient")))
    }

    /// The first template argument of a class.
    fn argument(&self, ty: usize, class: &str, place: &Place) -> Result<usize> {
        let children = self.debug.entries[ty].children.iter();
        let mut arguments = children
            .map(|&child| &self.debug.entries[child])
            .filter(|child| child.tag == dw::DW_TAG_template_type_parameter);
        let argument = arguments.next().and_then(|entry| entry.ty);
        argument.and_then(|ty| strip(self.debug, ty)).ok_or_else(|| {
            let message = format!(
                "is a {class} that is only declared; with Clang compile with -fstandalone-debug"
            );
            place.error("", message)
        })
    }

    fn vector(&mut self, ty: usize, place: &Place) -> Result<Kind> {
        let entry = &self.debug.entries[ty];
        let inner = Place {
            class: place.class.clone(),
            prefix: format!("{}[]", place.prefix),
            offset: 0,
            depth: place.depth + 1,
        };
        let mut parts = Parts { align: 1, ..Parts::default() };
        self.value(ty, &MemberNote::default(), &inner, false, &mut parts)?;
        if !parts.vptrs.is_empty() {
            return Err(inner.error("", "is an object with virtual functions held by value"));
        }
        for member in &mut parts.members {
            let name = member.name.strip_prefix(&inner.prefix).unwrap_or(&member.name);
            member.name = name.trim_start_matches('.').to_owned();
        }
        let bytes = match entry.byte_size {
            Some(bytes) => bytes,
            // Clang gives pointers no size.
            None => u64::from(self.debug.target.pointer_bytes),
        };
        Ok(Kind::Vector(Box::new(Element {
            size: narrow(&place.class, bytes)?,
            align: narrow(&place.class, alignment(parts.align, bytes))?,
            members: unique_names(parts.members),
        })))
    }

    fn bit_field(
        &mut self,
        entry: &Entry,
        ty: usize,
        bit_size: u64,
        note: &MemberNote,
        place: &Place,
        parts: &mut Parts,
    ) -> Result<()> {
        let name = entry.name.clone().unwrap_or_default();
        if name.is_empty() {
            // Only there to move what follows.
            return Ok(());
        }
        let inner = Place { prefix: format!("{}{name}", place.prefix), ..place.clone() };
        let Kind::Integer(integer) = self.scalar(ty, &inner)? else {
            return Err(inner.error("", "is a bit-field of no integer"));
        };
        let begin = match (entry.data_bit_offset, entry.bit_offset_msb) {
            (Some(bits), _) => Some(bits),
            (None, Some(msb)) => {
                let unit = entry.byte_size.unwrap_or(u64::from(integer.bytes)) * 8;
                let low = unit.checked_sub(msb.saturating_add(bit_size));
                low.map(|low| entry.member_offset.unwrap_or(0) * 8 + low)
            }
            (None, None) => entry.member_offset.map(|offset| offset * 8),
        };
        let Some(begin) = begin.filter(|_| (1..=64).contains(&bit_size)) else {
            return Err(inner.error("", "is a bit-field at no offset"));
        };
        let begin = place.offset * 8 + begin;
        parts.align = parts.align.max(self.natural_align(ty, place.depth));
        let full = if integer.signed {
            [-(1_i128 << (bit_size - 1)), (1_i128 << (bit_size - 1)) - 1]
        } else {
            [0, (1_i128 << bit_size) - 1]
        };
        let wanted = if note.unchecked { None } else { note.range.or(integer.range) };
        let range =
            wanted.filter(|[low, high]| i128::from(*low) > full[0] || i128::from(*high) < full[1]);
        if note.wire.is_some() || note.not_null {
            return Err(
                inner.error("", "is a bit-field; its width on the wire is the least that holds it")
            );
        }
        let bit_size = narrow(&place.class, bit_size)?;
        let wire_bytes = bit_size.div_ceil(8).next_power_of_two();
        let bits = Bits {
            bit_offset: narrow(&place.class, begin % 8)?,
            bit_size,
            wire_bytes,
            signed: integer.signed,
            range,
        };
        let at = Place { offset: begin / 8, ..inner };
        add(parts, &at, 1, Kind::Bits(bits))
    }

    /// The alignment that a type has by itself.
    fn natural_align(&mut self, ty: usize, depth: usize) -> u64 {
        if let Some(align) = self.aligns.get(&ty) {
            return *align;
        }
        // What a type that contains itself would find; it cannot be compiled.
        self.aligns.insert(ty, 1);
        let entry = &self.debug.entries[ty];
        let own = entry.alignment.unwrap_or(1);
        let word = u64::from(self.debug.target.pointer_bytes);
        let inner: Vec<usize> = match entry.tag {
            dw::DW_TAG_array_type => entry.ty.into_iter().collect(),
            dw::DW_TAG_class_type | dw::DW_TAG_structure_type | dw::DW_TAG_union_type => {
                let children = entry.children.iter().map(|&child| &self.debug.entries[child]);
                let parts = children.filter(|child| {
                    matches!(child.tag, dw::DW_TAG_member | dw::DW_TAG_inheritance)
                        && !child.is_static
                });
                parts.filter_map(|child| child.ty).collect()
            }
            _ => Vec::new(),
        };
        let mut align = match entry.tag {
            dw::DW_TAG_base_type | dw::DW_TAG_enumeration_type => {
                let bytes = entry.byte_size.unwrap_or(1);
                // i386 aligns numbers of 8 bytes in classes to 4.
                if word == 4 { bytes.min(4) } else { bytes.min(16) }
            }
            dw::DW_TAG_array_type
            | dw::DW_TAG_class_type
            | dw::DW_TAG_structure_type
            | dw::DW_TAG_union_type => 1,
            _ => word,
        };
        if depth < NESTING_MAX {
            for ty in inner {
                if let Some(ty) = strip(self.debug, ty) {
                    align = align.max(self.natural_align(ty, depth + 1));
                }
            }
        }
        align = align.max(own);
        self.aligns.insert(ty, align);
        align
    }

    fn class_note(&mut self, name: &str) -> Result<ClassNote> {
        let mut note = ClassNote::default();
        let template = name.split_once('<').map(|(template, _)| template);
        let mut keys = vec![name];
        keys.extend(template);
        if let Some(key) =
            keys.iter().find(|key| self.options.annotations.classes.contains_key(**key))
        {
            self.used.insert((*key).to_owned());
            note = self.options.annotations.classes[*key].clone();
        }
        let said = note.type_id;
        let entry = self.classes.entry(name)?;
        for text in self.comments(entry) {
            note.add(name, &text)?;
        }
        note.type_id = said.or(note.type_id);
        Ok(note)
    }

    fn member_note(&mut self, class: &str, name: &str, entry: &Entry) -> Result<MemberNote> {
        let mut note = MemberNote::default();
        for text in self.comments(entry) {
            note.add(&format!("{class}::{name}"), &text)?;
        }
        let file = self.options.annotations.classes.get(class).and_then(|c| c.members.get(name));
        Ok(file.cloned().unwrap_or(note))
    }

    fn comments(&mut self, entry: &Entry) -> Vec<String> {
        if self.options.no_comments {
            return Vec::new();
        }
        let Some((unit, number, line)) = entry.place else { return Vec::new() };
        match self.debug.files.get(unit).and_then(|files| files.get(&number)) {
            Some(file) => self.sources.at(file, line),
            None => Vec::new(),
        }
    }

    /// The classes in the order of their type ids: those that annotations give, the others by name in what is left.
    fn type_ids(&self) -> Result<Vec<String>> {
        let mut fixed: BTreeMap<u32, &String> = BTreeMap::new();
        for (name, (_, note)) in &self.made {
            let Some(id) = note.type_id else { continue };
            if let Some(other) = fixed.insert(id, name) {
                let message = format!("has type id {id}, and so has {other}");
                return Err(LayoutError::new(name.as_str(), message));
            }
        }
        if let Some((id, name)) = fixed.iter().next_back()
            && usize::try_from(*id).is_ok_and(|id| id >= self.made.len())
        {
            let message = format!(
                "has type id {id}; ids must be below {}, the number of classes",
                self.made.len()
            );
            return Err(LayoutError::new(name.as_str(), message));
        }
        let mut others = self.made.iter().filter(|(_, (_, note))| note.type_id.is_none());
        let mut order = Vec::new();
        for id in (0_u32..).take(self.made.len()) {
            let next = || others.next().map(|(name, _)| name);
            order.extend(fixed.get(&id).copied().or_else(next).cloned());
        }
        Ok(order)
    }

    fn resolve(&mut self, class: &str, members: &mut [Member], order: &[String]) -> Result<()> {
        for member in members {
            let path = format!("{class}::{}", member.name);
            match &mut member.kind {
                Kind::Pointer(reference) => self.targets(&path, reference, order)?,
                Kind::Vector(element) => self.resolve(&path, &mut element.members, order)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn targets(&mut self, path: &str, reference: &mut Reference, order: &[String]) -> Result<()> {
        let candidates: BTreeSet<String> = self.candidates(&reference.to)?.into_iter().collect();
        for (type_id, name) in (0_u32..).zip(order) {
            if !candidates.contains(name) {
                continue;
            }
            let parts = self.classes.subobjects(name)?;
            let mut at = parts.iter().filter(|part| part.name == reference.to);
            match (at.next(), at.next()) {
                (Some(part), None) => {
                    let adjust = narrow(path, part.offset)?;
                    reference.targets.push(Subobject { type_id, adjust });
                }
                _ => {
                    let message =
                        format!("may point to a {name}, which has several bases {}", reference.to);
                    return Err(LayoutError::new(path, message));
                }
            }
        }
        if reference.targets.is_empty() {
            let message =
                format!("points to {}, of which no class with objects is known", reference.to);
            return Err(LayoutError::new(path, message));
        }
        Ok(())
    }
}

fn add(parts: &mut Parts, place: &Place, count: u32, kind: Kind) -> Result<()> {
    if parts.members.len() >= MEMBERS_MAX {
        return Err(place.error("", "is one member too many"));
    }
    let offset = narrow(&place.class, place.offset)?;
    parts.members.push(Member { name: place.prefix.clone(), offset, count, kind });
    Ok(())
}

/// A kind with what annotations say of it.
fn annotated(kind: Kind, note: &MemberNote, place: &Place) -> Result<Kind> {
    let numeric = note.wire.is_some() || note.range.is_some() || note.unchecked;
    match kind {
        Kind::Integer(mut integer) if !note.not_null => {
            integer.wire_bytes = note.wire.unwrap_or(integer.wire_bytes);
            integer.range = if note.unchecked { None } else { note.range.or(integer.range) };
            // A width of which every value is in the range needs no check.
            let bits = integer.wire_bytes.saturating_mul(8).min(64);
            let full = if integer.signed {
                [-(1_i128 << (bits.max(1) - 1)), (1_i128 << (bits.max(1) - 1)) - 1]
            } else {
                [0, (1_i128 << bits) - 1]
            };
            integer.range = integer
                .range
                .filter(|[low, high]| i128::from(*low) > full[0] || i128::from(*high) < full[1]);
            Ok(Kind::Integer(integer))
        }
        Kind::Pointer(mut reference) if !numeric => {
            reference.nullable = !note.not_null;
            Ok(Kind::Pointer(reference))
        }
        other if !numeric && !note.not_null => Ok(other),
        _ => Err(place.error("", "has an annotation that makes no sense for what it is")),
    }
}

/// The values of an enumeration as C++ defines them where no type is fixed: those of the least bit-field that holds
/// every enumerator.
fn enumerators(values: &[i64]) -> Option<[i64; 2]> {
    let (low, high) = (*values.iter().min()?, *values.iter().max()?);
    let bits = |value: i64| 64 - (if value < 0 { !value } else { value }).leading_zeros();
    if low >= 0 {
        // At least one bit; 63 at most, as the values are of i64.
        let bits = bits(high).max(1);
        Some([0, i64::try_from((1_u64 << bits) - 1).unwrap_or(i64::MAX)])
    } else {
        let magnitude = bits(low).max(bits(high));
        let end = 1_i128 << magnitude;
        Some([i64::try_from(-end).ok()?, i64::try_from(end - 1).ok()?])
    }
}

/// An alignment that the size allows: packed classes have less than their members would have alone.
fn alignment(natural: u64, size: u64) -> u64 {
    let natural = natural.clamp(1, 4_096).next_power_of_two();
    if size == 0 { natural } else { natural.min(1 << size.trailing_zeros()) }
}

/// Gives members of the same name, from several bases, a number.
fn unique_names(mut members: Vec<Member>) -> Vec<Member> {
    let mut seen: BTreeSet<String> = BTreeSet::new();
    for member in &mut members {
        let mut number = 2;
        let plain = member.name.clone();
        while !seen.insert(member.name.clone()) {
            member.name = format!("{plain}#{number}");
            number += 1;
        }
    }
    members
}

fn subscript(mut index: u64, dimensions: &[u64]) -> String {
    let mut parts = Vec::new();
    for dimension in dimensions.iter().rev() {
        parts.push(format!("[{}]", index % dimension.max(&1)));
        index /= dimension.max(&1);
    }
    parts.reverse();
    parts.concat()
}

/// The symbol of the vtable group of a class that is no template.
fn mangled(class: &str) -> Option<String> {
    if class.contains(['<', '(']) || class.starts_with("std::") {
        return None;
    }
    let parts: Vec<&str> = class.split("::").collect();
    let text: String = parts.iter().map(|part| format!("{}{part}", part.len())).collect();
    Some(if parts.len() == 1 { format!("_ZTV{text}") } else { format!("_ZTVN{text}E") })
}

fn narrow(path: &str, value: u64) -> Result<u32> {
    u32::try_from(value).map_err(|_| LayoutError::new(path, format!("has {value} bytes")))
}
