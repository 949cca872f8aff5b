// SPDX-License-Identifier: Apache-2.0
//! Classes of debug information and annotations → [`Layout`]: the classes reachable from the root,
//! their members flattened, type ids, and the possible targets of each pointer. Unsupported classes
//! and members are refused by name.

mod kinds;
mod notes;
mod references;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use gimli::constants as dw;

use self::kinds::alignment;
use self::notes::annotated;
use super::annotate::{Annotations, ClassNote, MemberNote, Sources};
use super::classes::{Classes, NESTING_MAX, is_vptr, qualified, strip};
use super::dwarf::{self, Debug, Entry};
use super::{
    Base, Class, FORMAT, Kind, Layout, LayoutError, MEMBERS_MAX, Member, Reference, VtablePointer,
};

type Result<T> = std::result::Result<T, LayoutError>;

/// Maximum number of classes and members visited for a layout, repeated visits included.
const STEPS_MAX: usize = 1 << 22;

/// Maximum number of refusals that are reported at once.
const REFUSALS_MAX: usize = 100;

/// Options of a layout.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The static class of the pointer to the first object.
    pub root: String,
    /// Annotations of a TOML file; they override those in comments.
    pub annotations: Annotations,
    /// Ignore comments in source files.
    pub no_comments: bool,
}

/// A layout, with notes for its user.
#[derive(Debug, Clone)]
pub struct Extracted {
    /// The layout, checked.
    pub layout: Layout,
    /// The classes that were left out, with the reason, one sentence each.
    pub notes: Vec<String>,
}

/// Reads the layout of the classes reachable from a root, from an object file, a shared library or
/// a program.
///
/// # Errors
///
/// A file without debug information, or all unsupported classes and members, by name.
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
        refusals: Vec::new(),
        aligns: HashMap::new(),
        steps: 0,
    };
    let layout = builder.run(root)?;
    if let Some(name) = options.annotations.classes.keys().find(|n| !builder.used.contains(*n)) {
        return Err(LayoutError::new(
            name.as_str(),
            "is annotated, but is not a class reachable from the root",
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
    /// Classes of possible objects, without type ids.
    made: BTreeMap<String, (Class, ClassNote)>,
    /// Static classes of pointers still to be visited.
    open: Vec<String>,
    /// The annotations used.
    used: BTreeSet<String>,
    notes: BTreeSet<String>,
    /// What cannot be sent: all of it is reported at once.
    refusals: Vec<LayoutError>,
    /// Memo of [`Self::natural_align`].
    aligns: HashMap<usize, u64>,
    /// Number of classes and members visited, so that the walk ends on broken debug information.
    steps: usize,
}

/// The walk's position in a class.
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

/// The result of walking a class.
#[derive(Default)]
struct Parts {
    members: Vec<Member>,
    /// Offset, the class whose vtable group it points into, the offset within an object of that
    /// class.
    vptrs: Vec<(u64, String, u64)>,
    align: u64,
    /// Transient paths, and whether such a member was found.
    transient: BTreeMap<String, bool>,
}

impl<'a> Builder<'a> {
    fn run(&mut self, root: String) -> Result<Layout> {
        self.open.push(root.clone());
        let mut seen = BTreeSet::new();
        while let Some(name) = self.open.pop() {
            if !seen.insert(name.clone()) {
                continue;
            }
            for class in self.candidates(&name).or_else(|error| self.refuse(error))? {
                if self.made.contains_key(&class) {
                    continue;
                }
                match self.class(&class) {
                    Ok(made) => {
                        self.made.insert(class, made);
                    }
                    Err(error) => self.refuse(error)?,
                }
            }
        }
        self.all_refusals()?;
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

    /// Keeps a refusal, so that the walk goes on and finds the others.
    fn refuse<T: Default>(&mut self, error: LayoutError) -> Result<T> {
        if self.refusals.len() >= REFUSALS_MAX {
            return Err(self.all_refusals().err().unwrap_or(error));
        }
        if !self.refusals.contains(&error) {
            self.refusals.push(error);
        }
        Ok(T::default())
    }

    /// All refusals as one error.
    fn all_refusals(&mut self) -> Result<()> {
        match self.refusals.as_slice() {
            [] => Ok(()),
            [only] => Err(only.clone()),
            several => {
                let lines: String = several.iter().map(|error| format!("\n  {error}")).collect();
                let message =
                    format!("{} members and classes cannot be sent:{lines}", several.len());
                Err(LayoutError::new("", message))
            }
        }
    }

    /// The classes of the objects that a pointer to `name` may point to.
    fn candidates(&mut self, name: &str) -> Result<Vec<String>> {
        if !self.classes.is_polymorphic(name)? {
            let derived = self.classes.with_derived(name).split_off(1);
            if !derived.is_empty() {
                self.notes.insert(format!(
                    "{name}: has no vtable, so a pointer to it is sent as a {name} even if it points \
                     to an object of a derived class ({}); a virtual destructor makes them known",
                    derived.join(", ")
                ));
            }
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
            return Err(place.error(path, "is annotated as transient, but is not a member"));
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

    /// Collects an object that is not a base: its vtable pointers are those of its own vtable
    /// group.
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
        // Before each address point are the offset to the top of the object, and the type
        // information.
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
        // Its only member finds the counter that shared pointers to this object share.
        if name.starts_with("std::enable_shared_from_this<") {
            parts.align = parts.align.max(u64::from(self.debug.target.pointer_bytes));
            return Ok(());
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
            self.member_or_refusal(name, child, place, parts)?;
        }
        Ok(())
    }

    fn member_or_refusal(
        &mut self,
        class: &str,
        entry: &Entry,
        place: &Place,
        parts: &mut Parts,
    ) -> Result<()> {
        let outcome = self.member(class, entry, place, parts);
        // Beyond these limits the walk itself ends.
        if place.depth > NESTING_MAX || self.steps > STEPS_MAX {
            return outcome;
        }
        outcome.or_else(|error| self.refuse(error))
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
        let path = path_of(class, &name, place);
        let note = self.member_note(class, &name, entry)?;
        let Some(ty) = entry.ty.and_then(|ty| strip(self.debug, ty)) else {
            return Err(place.error(&name, "has no type"));
        };
        let mut transient = note.transient;
        // An unnamed union is known by its members.
        let union = name.is_empty() && self.debug.entries[ty].tag == dw::DW_TAG_union_type;
        let alternatives = if union { self.alternatives(ty) } else { Vec::new() };
        if union {
            transient |= self.member_note(class, "", &self.debug.entries[ty])?.transient;
        }
        for (alternative, entry) in &alternatives {
            transient |= self.member_note(class, alternative, entry)?.transient;
        }
        let paths = alternatives.iter().map(|(name, _)| format!("{}{name}", place.prefix));
        for path in std::iter::once(path.clone()).chain(paths) {
            if let Some(met) = parts.transient.get_mut(&path) {
                *met = true;
                transient = true;
            }
        }
        parts.align = parts.align.max(entry.alignment.unwrap_or(1));
        if transient {
            parts.align = parts.align.max(self.natural_align(ty, place.depth));
            return Ok(());
        }
        if union {
            let message = "is a union, whose active member is unknown; make one of these names \
                           transient, which is for all of it";
            let names: Vec<&str> = alternatives.iter().map(|(name, _)| name.as_str()).collect();
            return Err(place.error(&format!("({})", names.join(", ")), message));
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

    /// Collects a value of a type at an offset; the place's prefix is its path.
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
                    parts.align = parts.align.max(self.natural_align(ty, place.depth));
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
                self.member_or_refusal("(unnamed)", child, place, parts)?;
            }
        }
        Ok(())
    }

    /// The members of an unnamed union, with their names.
    fn alternatives(&self, ty: usize) -> Vec<(String, &'a Entry)> {
        let debug = self.debug;
        let members = debug.entries[ty].children.iter().map(|&child| &debug.entries[child]);
        members
            .filter(|child| child.tag == dw::DW_TAG_member)
            .filter_map(|child| Some((child.name.clone()?, child)))
            .collect()
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
            return Err(place.error("", "is an array of length zero"));
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
}

/// The path of a member. The only member of a class of the standard library has the path of the
/// class, an element of a tuple its number.
fn path_of(class: &str, name: &str, place: &Place) -> String {
    let outer = place.prefix.strip_suffix('.').unwrap_or(&place.prefix);
    let element = class.strip_prefix("std::_Head_base<").and_then(|rest| rest.split_once(','));
    match (element, name) {
        (Some((number, _)), "_M_head_impl") => format!("{outer}.{number}"),
        (_, "_M_elems" | "_M_i" | "_M_base" | "_M_value" | "__r" | "__d")
            if class.starts_with("std::") =>
        {
            outer.to_owned()
        }
        _ => format!("{}{name}", place.prefix),
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

/// Numbers the members of the same name from several bases.
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

/// The symbol of the vtable group of a class that is not a template.
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
