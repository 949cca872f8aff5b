// SPDX-License-Identifier: Apache-2.0
//! The position of every member of every class, in memory and on the wire.
//!
//! A [`Layout`] holds all that a reader or writer of messages needs: the classes of possible
//! objects, in the order of their type ids; for each its size, its vtable pointers and its members
//! in wire order, including those of bases and embedded structs; for each pointer the classes it
//! may point to. Its JSON form is the contract between `arrowsmith objects layout`, the C++
//! generator and the circuit's generator.

mod annotate;
mod build;
mod check;
mod classes;
mod dwarf;
mod forms;
mod names;
mod print;
mod wire_schema;

pub use annotate::Annotations;
pub use build::{Extracted, Options, from_object};
pub(crate) use forms::buckets;
pub use forms::{Form, Keys};
pub use names::Names;
pub use print::Table;

use serde::{Deserialize, Serialize};

/// The version of the JSON form.
pub const FORMAT: u32 = 1;

/// Maximum number of classes of a layout. Type ids are below it.
pub const CLASSES_MAX: usize = 4_096;

/// Maximum bytes of an object.
pub const OBJECT_BYTES_MAX: u64 = 1 << 24;

/// Maximum members of a class after bases and embedded structs are flattened.
pub const MEMBERS_MAX: usize = 65_536;

/// Maximum nesting depth of vectors.
pub const DEPTH_MAX: usize = 16;

/// The classes of a program whose objects are sent, and their memory layout.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Layout {
    /// [`FORMAT`].
    pub format: u32,
    /// The target the program was compiled for.
    pub target: Target,
    /// The possible classes of a message's first object.
    pub root: Reference,
    /// How the root's static class is declared.
    #[serde(default, skip_serializing_if = "Declaration::is_class")]
    pub root_declaration: Declaration,
    /// The classes of possible objects; the index is the type id.
    pub classes: Vec<Class>,
}

/// How C++ declares a class without its header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Declaration {
    /// As `class`.
    #[default]
    Class,
    /// As `struct`.
    Struct,
    /// It cannot be declared: it is in another class, or of a template.
    None,
}

impl Declaration {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
    const fn is_class(&self) -> bool {
        matches!(self, Self::Class)
    }
}

/// The target of a program. All targets are little-endian.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// `x86_64`, `i386` or `aarch64`.
    pub arch: String,
    /// Size of a pointer: 4 or 8.
    pub pointer_bytes: u32,
    /// The compiler's name and version; for people.
    pub compiler: String,
}

/// A class of possible objects.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Class {
    /// The number of the class on the wire, which is its index in [`Layout::classes`].
    pub type_id: u32,
    /// Qualified name, as C++ spells it.
    pub name: String,
    /// `sizeof`, in bytes.
    pub size: u32,
    /// `alignof`, in bytes; a power of two.
    pub align: u32,
    /// Base classes, direct and indirect, in the order they are laid out; for people.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bases: Vec<Base>,
    /// The vtable pointers of an object, by offset.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub vptrs: Vec<VtablePointer>,
    /// The members that are sent, in wire order. A reader zeroes the bytes that no member covers.
    pub members: Vec<Member>,
}

/// A base class.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Base {
    /// Qualified name.
    pub name: String,
    /// The offset of its subobject, in bytes from the start of the object.
    pub offset: u32,
}

/// A vtable pointer of a class.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VtablePointer {
    /// Its offset in the object.
    pub offset: u32,
    /// Number among all vtable pointers of the layout, classes in order: the index of the register
    /// or table entry that holds its value.
    pub slot: u32,
    /// The symbol of the class's vtable group.
    pub symbol: String,
    /// Its value is the symbol's address plus this.
    pub address_point: u32,
}

/// A member that is sent of an object, or of an element of a vector.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// Path from the class: `m_left`, `position.x`, `corners[2].y`.
    pub name: String,
    /// Its offset, in bytes from the start of the object or element.
    pub offset: u32,
    /// The number of consecutive values, in memory and on the wire: more than one for arrays of
    /// integers, floats and pointers.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub count: u32,
    /// Its kind.
    #[serde(flatten)]
    pub kind: Kind,
}

fn one() -> u32 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_one(count: &u32) -> bool {
    *count == 1
}

/// The kind of a member, in memory and on the wire.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Kind {
    /// An integer, boolean, character or enumerator.
    Integer(Integer),
    /// A bit-field.
    Bits(Bits),
    /// An IEEE number of 4 or 8 bytes, sent unchanged.
    Float {
        /// Width in memory and on the wire.
        bytes: u32,
    },
    /// A pointer, or a `std::unique_ptr`, to an object of its own; sent as its object id, 4 bytes.
    Pointer(Reference),
    /// A `std::string`; sent as its length in bytes (4 bytes), then its bytes.
    String,
    /// A `std::string_view`; sent as a string.
    View,
    /// A `std::optional` or `std::variant`; sent as the number of the alternative (1 byte), then
    /// its members.
    Choice(Choice),
    /// A `std::vector` or another container, which is its [`Form`]; sent as the number of its
    /// elements (4 bytes), then the elements.
    Vector(Box<Element>),
}

/// One of several alternatives, all at the same place in memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Choice {
    /// Size in memory.
    pub bytes: u32,
    /// The byte of it that holds the number of the alternative.
    pub tag_offset: u32,
    /// The alternatives; those of an optional are none, without members, and some.
    pub alternatives: Vec<Alternative>,
}

/// An alternative of a [`Choice`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Alternative {
    /// Its type, as C++ spells it.
    pub name: String,
    /// The members that are sent of it, at offsets from the place of the choice.
    pub members: Vec<Member>,
}

impl Choice {
    /// Whether it is an optional: nothing, or a value.
    pub fn is_optional(&self) -> bool {
        matches!(self.alternatives.as_slice(), [none, _] if none.name == OPTIONAL_NONE)
    }
}

/// The name of an optional's first alternative, which no type has.
pub const OPTIONAL_NONE: &str = "(none)";

/// An integer in memory and on the wire.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Integer {
    /// Width in memory: 1, 2, 4 or 8.
    pub bytes: u32,
    /// Width on the wire: 1, 2, 4 or 8, at most `bytes`.
    pub wire_bytes: u32,
    /// Whether it is sign-extended when read.
    pub signed: bool,
    /// The valid values, both ends included; absent if all of its wire width. Negative bounds are
    /// for signed integers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<[i64; 2]>,
    /// Its meaning in the program.
    #[serde(default, skip_serializing_if = "Meaning::is_number")]
    pub meaning: Meaning,
}

/// The meaning of an integer, which decides its Arrow type; it does not change the message.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Meaning {
    /// A number.
    #[default]
    Number,
    /// A `bool`.
    Boolean,
    /// A `char`; arrays of them are text.
    Character,
    /// An enumeration: its enumerators' names and values, in the order of declaration.
    Enumerators(Vec<(String, i64)>),
}

impl Meaning {
    const fn is_number(&self) -> bool {
        matches!(self, Self::Number)
    }
}

/// A bit-field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bits {
    /// Bits from the lowest bit of the byte at the member's offset: 0 to 7.
    pub bit_offset: u32,
    /// Width in memory: 1 to 64.
    pub bit_size: u32,
    /// Width on the wire: 1, 2, 4 or 8.
    pub wire_bytes: u32,
    /// Whether it is sign-extended.
    pub signed: bool,
    /// The valid values, both ends included; absent if all that fit in `bit_size`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<[i64; 2]>,
    /// Its meaning in the program.
    #[serde(default, skip_serializing_if = "Meaning::is_number")]
    pub meaning: Meaning,
}

/// The possible targets of a pointer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reference {
    /// The static class of the pointer.
    pub to: String,
    /// Whether it may be null (object id 0xFFFFFFFF).
    pub nullable: bool,
    /// Every class whose objects it may point to, by type id.
    pub targets: Vec<Subobject>,
}

/// A possible target class of a pointer, and the offset in its objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Subobject {
    /// The type id of the object.
    pub type_id: u32,
    /// Added to the object's address: the offset of the base that is pointed to.
    pub adjust: u32,
}

/// An element of a container.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Element {
    /// Distance of two elements in bytes.
    pub size: u32,
    /// Alignment of the elements, a power of two.
    pub align: u32,
    /// The members that are sent of an element; a scalar is one member with an empty name at offset
    /// 0.
    pub members: Vec<Member>,
    /// The container in memory.
    #[serde(default, skip_serializing_if = "Form::is_vector")]
    pub form: Form,
}

impl Bits {
    /// The valid values: its range, or those that fit; absent if every value of its wire width is
    /// valid.
    pub fn values(&self) -> Option<[i64; 2]> {
        let full = match (self.bit_size, self.signed) {
            (64, _) => None,
            (bits, false) => Some([0, i64::MAX >> (63 - bits)]),
            (bits, true) => Some([-(1 << (bits - 1)), i64::MAX >> (64 - bits)]),
        };
        let exact = self.bit_size == self.wire_bytes * 8;
        self.range.or(full.filter(|_| !exact))
    }
}

impl Kind {
    /// Width of one value in memory; `None` for a bit-field, which shares its bytes.
    pub fn bytes(&self, pointer_bytes: u32) -> Option<u32> {
        match self {
            Self::Integer(integer) => Some(integer.bytes),
            Self::Bits(_) => None,
            Self::Float { bytes } => Some(*bytes),
            Self::Pointer(_) => Some(pointer_bytes),
            Self::String => Some(if pointer_bytes == 8 { 32 } else { 24 }),
            Self::Vector(element) => Some(element.form.words() * pointer_bytes),
            Self::View => Some(2 * pointer_bytes),
            Self::Choice(choice) => Some(choice.bytes),
        }
    }

    /// Width of one value on the wire: of all of it, or of its length if a length precedes the
    /// content.
    pub const fn wire_bytes(&self) -> u32 {
        match self {
            Self::Integer(Integer { wire_bytes, .. }) | Self::Bits(Bits { wire_bytes, .. }) => {
                *wire_bytes
            }
            Self::Float { bytes } => *bytes,
            Self::Pointer(_) | Self::String | Self::View | Self::Vector(_) => 4,
            Self::Choice(_) => 1,
        }
    }

    /// Whether its width on the wire depends on its value.
    pub const fn is_variable(&self) -> bool {
        matches!(self, Self::String | Self::View | Self::Vector(_) | Self::Choice(_))
    }
}

impl Member {
    /// Width on the wire, of strings and vectors without their content. A checked layout does not
    /// overflow it.
    pub const fn wire_bytes(&self) -> u32 {
        self.kind.wire_bytes().saturating_mul(self.count)
    }
}

/// The smallest width on the wire of these members.
pub fn wire_bytes_min(members: &[Member]) -> u32 {
    members.iter().map(Member::wire_bytes).fold(0, u32::saturating_add)
}

impl Class {
    /// Width of an object on the wire, if it is the same for all objects of the class.
    pub fn wire_bytes_fixed(&self) -> Option<u32> {
        let fixed = !self.members.iter().any(|member| member.kind.is_variable());
        fixed.then(|| wire_bytes_min(&self.members))
    }
}

impl Layout {
    /// Reads the JSON form and checks it, so that readers and writers never see an inconsistent
    /// layout.
    ///
    /// # Errors
    ///
    /// Text that is not a layout, or one that contradicts itself.
    pub fn from_json(text: &str) -> Result<Self, LayoutError> {
        let layout: Self =
            serde_json::from_str(text).map_err(|error| LayoutError::new("", error.to_string()))?;
        layout.check()?;
        Ok(layout)
    }

    /// The JSON form. Equal layouts give equal text.
    pub fn to_json(&self) -> String {
        // Numbers, strings, and maps with string keys always serialize.
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }

    /// The required alignment of a region's address.
    pub fn region_align(&self) -> u32 {
        let members = self.classes.iter().flat_map(|class| &class.members);
        let classes = self.classes.iter().map(|class| class.align);
        let word = self.target.pointer_bytes;
        classes.chain(members.map(|member| deepest_align(member, word))).max().unwrap_or(1)
    }

    /// The number of vtable pointers: slots are below it.
    pub fn slots(&self) -> usize {
        self.classes.iter().map(|class| class.vptrs.len()).sum()
    }

    /// The class with this name.
    pub fn class(&self, name: &str) -> Option<&Class> {
        self.classes.iter().find(|class| class.name == name)
    }
}

fn deepest_align(member: &Member, word: u32) -> u32 {
    let deepest = |members: &[Member]| members.iter().map(|of| deepest_align(of, word)).max();
    match &member.kind {
        Kind::Vector(element) => {
            // Nodes and tables hold pointers.
            let own = if element.form.is_vector() { element.align } else { word };
            deepest(&element.members).unwrap_or(1).max(element.align).max(own)
        }
        Kind::Choice(choice) => {
            let members = choice.alternatives.iter().filter_map(|of| deepest(&of.members));
            members.max().unwrap_or(1)
        }
        _ => 1,
    }
}

/// An unsupported class, or an inconsistent layout: its name, and the reason.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{message}", at(path))]
pub struct LayoutError {
    /// The class or member, `Class::member`; empty for the layout as a whole.
    pub path: String,
    /// The error, in one sentence.
    pub message: String,
}

/// `PATH: `, unless it is the layout as a whole.
fn at(path: &str) -> String {
    if path.is_empty() { String::new() } else { format!("{path}: ") }
}

impl LayoutError {
    /// An error at a path.
    pub fn new(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self { path: path.into(), message: message.into() }
    }
}
