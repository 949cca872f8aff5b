// SPDX-License-Identifier: Apache-2.0
//! Entries of debug information → classes by name: which class derives from which, which is
//! abstract, where subobjects are.
//!
//! It answers queries about classes; [`super::build`] decides which of them a layout needs, and
//! which members are sent.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use gimli::constants as dw;

use super::dwarf::{Debug, Entry, spell};
use super::{Declaration, LayoutError};

type Result<T> = std::result::Result<T, LayoutError>;

/// Maximum nesting depth of bases, and of types: a cycle in broken debug information ends here.
pub const NESTING_MAX: usize = 128;

/// Maximum number of bases of a class, direct and indirect.
const SUBOBJECTS_MAX: usize = 4_096;

/// The classes of a program.
#[derive(Debug)]
pub struct Classes<'a> {
    pub debug: &'a Debug,
    /// Definitions, by qualified name in one spelling.
    pub by_name: BTreeMap<String, usize>,
    /// The classes that derive directly from each.
    derived: HashMap<String, BTreeSet<String>>,
}

/// A direct base of a class.
pub struct BaseOf {
    pub name: String,
    pub offset: u64,
}

impl<'a> Classes<'a> {
    /// Finds the definitions.
    pub fn new(debug: &'a Debug) -> Self {
        let mut by_name = BTreeMap::new();
        for (index, entry) in debug.entries.iter().enumerate() {
            let class = matches!(entry.tag, dw::DW_TAG_class_type | dw::DW_TAG_structure_type);
            if class && !entry.is_declaration && entry.byte_size.is_some() && entry.name.is_some() {
                by_name.entry(qualified(debug, index)).or_insert(index);
            }
        }
        let mut derived: HashMap<String, BTreeSet<String>> = HashMap::new();
        for (name, &index) in &by_name {
            for &child in &debug.entries[index].children {
                let child = &debug.entries[child];
                if child.tag == dw::DW_TAG_inheritance
                    && let Some(base) = child.ty.and_then(|ty| strip(debug, ty))
                {
                    derived.entry(qualified(debug, base)).or_default().insert(name.clone());
                }
            }
        }
        Self { debug, by_name, derived }
    }

    /// The definition of a class.
    pub fn entry(&self, name: &str) -> Result<&'a Entry> {
        match self.by_name.get(name) {
            Some(&index) => Ok(&self.debug.entries[index]),
            None if name.ends_with("(unnamed)") => {
                Err(LayoutError::new(name, "is a class without a name of its own; give it one"))
            }
            None => Err(LayoutError::new(
                name,
                "is only declared in this file; add the object file that defines it, link them, or with Clang compile \
                 with -fstandalone-debug",
            )),
        }
    }

    /// The class of a name: its qualified name, or the end of it if that is unambiguous.
    pub fn find(&self, wanted: &str) -> Result<String> {
        let wanted = spell(wanted);
        if self.by_name.contains_key(&wanted) {
            return Ok(wanted);
        }
        let end = format!("::{wanted}");
        let mut found = self.by_name.keys().filter(|name| name.ends_with(&end));
        match (found.next(), found.next()) {
            (Some(name), None) => Ok(name.clone()),
            (Some(one), Some(other)) => Err(LayoutError::new(
                wanted,
                format!("may be {one} or {other}; give the qualified name"),
            )),
            _ => Err(LayoutError::new(wanted, "is not a class that the debug information defines")),
        }
    }

    /// How the class can be declared without its definition.
    pub fn declaration(&self, name: &str) -> Result<Declaration> {
        let entry = self.entry(name)?;
        let mut outer = entry.parent;
        while let Some(parent) = outer.map(|index| &self.debug.entries[index]) {
            if parent.tag != dw::DW_TAG_namespace || parent.name.is_none() {
                return Ok(Declaration::None);
            }
            outer = parent.parent;
        }
        Ok(match entry.tag {
            _ if name.contains('<') => Declaration::None,
            dw::DW_TAG_structure_type => Declaration::Struct,
            _ => Declaration::Class,
        })
    }

    /// The children of a class.
    pub fn children(&self, entry: &'a Entry) -> impl Iterator<Item = &'a Entry> + use<'a> {
        let entries = &self.debug.entries;
        entry.children.iter().map(move |&child| &entries[child])
    }

    /// The direct bases, in order. Virtual bases are refused.
    pub fn bases(&self, name: &str) -> Result<Vec<BaseOf>> {
        let mut bases = Vec::new();
        for child in self.children(self.entry(name)?) {
            if child.tag != dw::DW_TAG_inheritance {
                continue;
            }
            let base = child.ty.and_then(|ty| strip(self.debug, ty));
            let Some(base) = base.map(|index| qualified(self.debug, index)) else {
                return Err(LayoutError::new(name, "has a base of an unknown kind"));
            };
            if child.virtuality != 0 {
                let message =
                    format!("has the virtual base {base}; virtual bases cannot be handled");
                return Err(LayoutError::new(name, message));
            }
            let Some(offset) = child.member_offset else {
                return Err(LayoutError::new(name, format!("has its base {base} at no offset")));
            };
            bases.push(BaseOf { name: base, offset });
        }
        Ok(bases)
    }

    /// The offsets of a class and all of its bases in an object of it, itself first.
    pub fn subobjects(&self, name: &str) -> Result<Vec<BaseOf>> {
        let mut found = Vec::new();
        self.add_subobjects(name, 0, 0, &mut found)?;
        Ok(found)
    }

    fn add_subobjects(
        &self,
        name: &str,
        offset: u64,
        depth: usize,
        found: &mut Vec<BaseOf>,
    ) -> Result<()> {
        if depth > NESTING_MAX || found.len() > SUBOBJECTS_MAX {
            return Err(LayoutError::new(name, "has too many bases in bases"));
        }
        found.push(BaseOf { name: name.to_owned(), offset });
        for base in self.bases(name)? {
            let offset = offset.saturating_add(base.offset);
            self.add_subobjects(&base.name, offset, depth + 1, found)?;
        }
        Ok(())
    }

    /// Whether objects of a class have a vtable pointer.
    pub fn is_polymorphic(&self, name: &str) -> Result<bool> {
        for part in self.subobjects(name)? {
            let entry = self.entry(&part.name)?;
            if self.children(entry).any(is_vptr) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// A class and all classes that derive from it, itself first, then by name.
    pub fn with_derived(&self, name: &str) -> Vec<String> {
        let mut found = BTreeSet::new();
        let mut open = vec![name.to_owned()];
        while let Some(class) = open.pop() {
            for derived in self.derived.get(&class).into_iter().flatten() {
                if found.insert(derived.clone()) {
                    open.push(derived.clone());
                }
            }
        }
        found.remove(name);
        std::iter::once(name.to_owned()).chain(found).collect()
    }

    /// Whether the class is abstract.
    pub fn is_abstract(&self, name: &str) -> Result<bool> {
        if self.debug.vtables.get(name).is_some_and(|vtable| vtable.is_abstract) {
            return Ok(true);
        }
        // Bounds the number of bases.
        self.subobjects(name)?;
        Ok(self.virtual_functions(name, 0)?.values().any(|pure| *pure))
    }

    /// Whether this file defines or uses the vtable of a class: otherwise its code makes and needs
    /// no objects of it.
    pub fn has_vtable(&self, name: &str) -> bool {
        self.debug.vtables.contains_key(name)
    }

    /// The virtual functions of a class by name and parameters, and whether they are pure.
    fn virtual_functions(&self, name: &str, depth: usize) -> Result<BTreeMap<String, bool>> {
        if depth > NESTING_MAX {
            return Err(LayoutError::new(name, "has too many bases in bases"));
        }
        let mut functions = BTreeMap::new();
        for base in self.bases(name)? {
            for (function, pure) in self.virtual_functions(&base.name, depth + 1)? {
                // An undeclared destructor is implicit.
                let pure = pure && !function.starts_with('~');
                functions.entry(function).and_modify(|known| *known |= pure).or_insert(pure);
            }
        }
        for child in self.children(self.entry(name)?) {
            if child.tag != dw::DW_TAG_subprogram {
                continue;
            }
            let function = self.signature(child);
            // An overriding function need not be declared `virtual`; compilers mark it in debug
            // information.
            if child.virtuality != 0 || functions.contains_key(&function) {
                let pure = child.virtuality == dw::DW_VIRTUALITY_pure_virtual.0;
                functions.insert(function, pure);
            }
        }
        Ok(functions)
    }

    fn signature(&self, function: &'a Entry) -> String {
        let name = function.name.as_deref().unwrap_or_default();
        if name.starts_with('~') {
            return "~".into();
        }
        let mut text = format!("{name}(");
        for parameter in self.children(function) {
            if parameter.tag != dw::DW_TAG_formal_parameter {
                continue;
            }
            // `this`: its class differs in each class, but its constness distinguishes functions.
            if parameter.is_artificial {
                let pointee = parameter.ty.map(|ty| &self.debug.entries[ty]);
                let pointee = pointee.map(|pointer| match pointer.tag {
                    dw::DW_TAG_const_type => pointer.ty.map(|ty| &self.debug.entries[ty]),
                    _ => Some(pointer),
                });
                let target =
                    pointee.flatten().and_then(|p| p.ty).map(|ty| self.debug.entries[ty].tag);
                text.push_str(if target == Some(dw::DW_TAG_const_type) { "const;" } else { ";" });
            } else {
                text.push_str(&self.type_name(parameter.ty, 0));
                text.push(',');
            }
        }
        text + ")"
    }

    /// A type as text, enough to distinguish two parameters.
    fn type_name(&self, ty: Option<usize>, depth: usize) -> String {
        let Some(index) = ty else { return "void".into() };
        if depth > NESTING_MAX {
            return "?".into();
        }
        let entry = &self.debug.entries[index];
        let inner = || self.type_name(entry.ty, depth + 1);
        match entry.tag {
            dw::DW_TAG_pointer_type => inner() + "*",
            dw::DW_TAG_reference_type => inner() + "&",
            dw::DW_TAG_rvalue_reference_type => inner() + "&&",
            dw::DW_TAG_const_type => inner() + " const",
            dw::DW_TAG_volatile_type => inner() + " volatile",
            dw::DW_TAG_typedef => inner(),
            _ => qualified(self.debug, index),
        }
    }
}

/// Whether an entry is a vtable pointer that a class adds.
pub fn is_vptr(entry: &Entry) -> bool {
    let named = entry.name.as_deref().is_some_and(|name| name.starts_with("_vptr"));
    entry.tag == dw::DW_TAG_member && entry.is_artificial && named
}

/// The type behind typedefs and qualifiers; `None` for `void` and for cycles.
pub fn strip(debug: &Debug, mut index: usize) -> Option<usize> {
    for _ in 0..NESTING_MAX {
        let entry = &debug.entries[index];
        match entry.tag {
            dw::DW_TAG_typedef
            | dw::DW_TAG_const_type
            | dw::DW_TAG_volatile_type
            | dw::DW_TAG_restrict_type
            | dw::DW_TAG_atomic_type => index = entry.ty?,
            // An entry that refers to a type unit.
            dw::DW_TAG_class_type | dw::DW_TAG_structure_type
                if entry.is_declaration && entry.ty.is_some() =>
            {
                index = entry.ty?;
            }
            _ => return Some(index),
        }
    }
    None
}

/// The name of an entry, qualified by its namespaces and classes.
pub fn qualified(debug: &Debug, index: usize) -> String {
    let mut parts = Vec::new();
    let mut at = Some(index);
    while let Some(index) = at {
        if parts.len() > NESTING_MAX {
            break;
        }
        let entry = &debug.entries[index];
        let part = match (entry.tag, &entry.name) {
            (dw::DW_TAG_subprogram | dw::DW_TAG_lexical_block, name) => {
                format!("{}()", name.as_deref().unwrap_or_default())
            }
            (_, Some(name)) => spell(name),
            (dw::DW_TAG_namespace, None) => "(anonymous namespace)".into(),
            (_, None) => "(unnamed)".into(),
        };
        parts.push(part);
        at = entry.parent;
    }
    parts.reverse();
    parts.join("::")
}
