// SPDX-License-Identifier: Apache-2.0
//! Layouts: the classes whose objects are handed over, checked, as the generators need them.
//!
//! A layout is a tree: a class never holds itself, on whatever way (the paper, Sect. 3). What comes
//! out of here is safe to print into Java and C: names are identifiers, sizes fit. Nothing is
//! generated here.

pub(crate) use check::{finish, identifier};

mod check;
#[cfg(test)]
mod tests;
mod text;

use crate::error::JvmError;

/// Most classes of a layout.
pub const CLASSES_MAX: usize = 512;
/// Most fields of a class: a method that takes them all stays below what the JVM allows.
pub const FIELDS_MAX: usize = 512;
/// Most fields of all classes together, for the same reason.
pub const FIELDS_ALL_MAX: usize = 2_048;
/// Deepest nesting of objects.
pub const DEPTH_MAX: usize = 128;
/// Most bytes of the primitives of one object, with all that it holds.
pub const OBJECT_BYTES_MAX: u64 = 1 << 30;
/// Most bytes of the text of a layout.
pub const TEXT_BYTES_MAX: usize = 1 << 20;
/// Most elements of arrays, and characters of strings, where a layout does not say.
pub const LENGTH_MAX_DEFAULT: u32 = 16;

/// One of the eight primitive types.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Primitive {
    /// One byte: 0 or 1.
    Boolean,
    /// 8 bits.
    Byte,
    /// 16 bits.
    Short,
    /// 16 bits without a sign.
    Char,
    /// 32 bits.
    Int,
    /// 64 bits.
    Long,
    /// 32 bits, IEEE 754.
    Float,
    /// 64 bits, IEEE 754.
    Double,
}

impl Primitive {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Boolean,
        Self::Byte,
        Self::Short,
        Self::Char,
        Self::Int,
        Self::Long,
        Self::Float,
        Self::Double,
    ];

    /// Its name in Java.
    #[must_use]
    pub fn java(self) -> &'static str {
        match self {
            Self::Boolean => "boolean",
            Self::Byte => "byte",
            Self::Short => "short",
            Self::Char => "char",
            Self::Int => "int",
            Self::Long => "long",
            Self::Float => "float",
            Self::Double => "double",
        }
    }

    /// Its name as part of names: `Int` in `GetIntField`.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Boolean => "Boolean",
            Self::Byte => "Byte",
            Self::Short => "Short",
            Self::Char => "Char",
            Self::Int => "Int",
            Self::Long => "Long",
            Self::Float => "Float",
            Self::Double => "Double",
        }
    }

    /// Bytes of a value.
    #[must_use]
    pub fn bytes(self) -> u32 {
        match self {
            Self::Boolean | Self::Byte => 1,
            Self::Short | Self::Char => 2,
            Self::Int | Self::Float => 4,
            Self::Long | Self::Double => 8,
        }
    }

    /// Its letter in descriptors.
    #[must_use]
    pub fn letter(self) -> char {
        match self {
            Self::Boolean => 'Z',
            Self::Byte => 'B',
            Self::Short => 'S',
            Self::Char => 'C',
            Self::Int => 'I',
            Self::Long => 'J',
            Self::Float => 'F',
            Self::Double => 'D',
        }
    }

    pub(crate) fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|primitive| primitive.java() == name)
    }
}

/// How many elements an array has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Length {
    /// So many, always.
    Exact(u32),
    /// Any number; random data has so many at most.
    Max(u32),
}

impl Length {
    /// The most elements that random data has.
    #[must_use]
    pub fn most(self) -> u32 {
        match self {
            Self::Exact(length) | Self::Max(length) => length,
        }
    }
}

/// Type of a field or an element.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Type {
    /// A primitive.
    Primitive(Primitive),
    /// `java.lang.String`.
    String {
        /// Most characters of random data.
        chars_max: u32,
        /// Whether it may be null.
        nullable: bool,
    },
    /// An object of a class of the layout.
    Object {
        /// Index of the class.
        class: usize,
        /// Whether it may be null.
        nullable: bool,
    },
    /// An array.
    Array {
        /// Type of its elements.
        element: Box<Type>,
        /// How many.
        length: Length,
        /// Whether it may be null.
        nullable: bool,
    },
}

/// A field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: Type,
    /// The class that declares it, as Java source writes it, where that is not the class itself.
    pub owner: Option<String>,
    /// Whether it is public in a public class; others are read by handles.
    pub public: bool,
}

/// A class.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Class {
    /// Its full name as Java source writes it: `layout.Order`.
    pub java: String,
    /// Its full name as class files write it: `layout/Order`.
    pub binary: String,
    /// Its fields, those of its ancestors first.
    pub fields: Vec<Field>,
    /// Whether it is a record.
    pub record: bool,
}

/// The classes of an object, its root first; all are reached from there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// The root is the first.
    pub classes: Vec<Class>,
    /// Whether the classes exist already, so that they are not generated.
    pub existing: bool,
    /// Jars and folders with those.
    pub classpath: Vec<std::path::PathBuf>,
}

/// A class that exists, named in a layout: it is read before it is a layout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Existing {
    /// Its binary name: `com.example.Order$Line`.
    pub class: String,
    /// Jars and folders where it and what it needs is.
    pub jars: Vec<std::path::PathBuf>,
}

/// What a text describes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A layout.
    Layout(Layout),
    /// A class that exists.
    Existing(Existing),
}

impl Source {
    /// Reads YAML or JSON text.
    ///
    /// # Errors
    /// When it is no layout, or one that is refused; the message says where.
    pub fn parse(text: &str) -> Result<Self, JvmError> {
        text::parse(text)
    }
}

impl Layout {
    /// A class without references except to arrays: `p` primitives and `a` arrays of `e` elements,
    /// all of one type (the paper, Sect. 5).
    ///
    /// # Errors
    /// When it would be too large.
    pub fn leaf(p: u32, a: u32, e: u32, types: &[Primitive]) -> Result<Self, JvmError> {
        Self::tree(&Tree { width: 1, depth: 1, primitives: p, arrays: a, length: e, types })
    }

    /// The paper's tree: `width` references at the root, one fewer at each level, at least one; the
    /// last level holds the data.
    ///
    /// # Errors
    /// When it would be too large.
    pub fn tree(tree: &Tree<'_>) -> Result<Self, JvmError> {
        text::tree(tree)
    }

    /// The paper's small, medium and large objects (Fig. 4).
    ///
    /// # Errors
    /// Never for these three names; for others, because they are none of them.
    pub fn named(name: &str) -> Result<Self, JvmError> {
        let int = [Primitive::Int];
        match name {
            "small" => Self::leaf(2, 1, 16, &int),
            "medium" => Self::leaf(8, 1, 1024, &int),
            "large" => Self::leaf(64, 1, 800 * 600, &int),
            other => Err(JvmError::Layout(format!("{other:?} is not small, medium or large"))),
        }
    }

    /// The root.
    #[must_use]
    pub fn root(&self) -> &Class {
        &self.classes[0]
    }

    /// Whether every object of a type takes the same bytes: nothing is null, no length varies.
    #[must_use]
    pub fn is_exact(&self, ty: &Type) -> bool {
        match ty {
            Type::Primitive(_) => true,
            Type::String { .. } => false,
            Type::Object { class, nullable } => !nullable && self.is_exact_class(*class),
            Type::Array { element, length, nullable } => {
                !nullable && matches!(length, Length::Exact(_)) && self.is_exact(element)
            }
        }
    }

    /// Whether every object of a class takes the same bytes.
    #[must_use]
    pub fn is_exact_class(&self, class: usize) -> bool {
        self.classes[class].fields.iter().all(|field| self.is_exact(&field.ty))
    }

    /// Columns that an object becomes, with those inside of others: classes that are used twice count twice.
    #[must_use]
    pub fn vectors(&self) -> usize {
        // From the leaves up: classes are trees, and each is looked at once.
        fn count(layout: &Layout, class: usize, known: &mut [Option<usize>]) -> usize {
            if let Some(count) = known[class] {
                return count;
            }
            let mut sum = 0_usize;
            for field in &layout.classes[class].fields {
                let mut ty = &field.ty;
                sum = sum.saturating_add(1);
                while let Type::Array { element, .. } = ty {
                    sum = sum.saturating_add(1);
                    ty = element;
                }
                if let Type::Object { class, .. } = ty {
                    sum = sum.saturating_add(count(layout, *class, known));
                }
            }
            known[class] = Some(sum);
            sum
        }
        count(self, 0, &mut vec![None; self.classes.len()])
    }

    /// Bytes of a value that is written: the most that random data has.
    #[must_use]
    pub fn bytes(&self, ty: &Type) -> u64 {
        // Checked when the layout was made.
        check::bytes(self, ty).unwrap_or(u64::MAX)
    }

    /// Bytes of an object of a class: the most that random data has.
    #[must_use]
    pub fn class_bytes(&self, class: usize) -> u64 {
        check::class_bytes(self, class).unwrap_or(u64::MAX)
    }
}

/// What the paper's tree of objects is made of.
#[derive(Debug, Clone, Copy)]
pub struct Tree<'a> {
    /// References at the root.
    pub width: u32,
    /// Levels; 1 is a leaf.
    pub depth: u32,
    /// Primitives of the last level.
    pub primitives: u32,
    /// Arrays of the last level.
    pub arrays: u32,
    /// Elements of each array.
    pub length: u32,
    /// Types of primitives and arrays, in turns.
    pub types: &'a [Primitive],
}
