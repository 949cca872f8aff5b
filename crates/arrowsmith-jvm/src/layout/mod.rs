// SPDX-License-Identifier: Apache-2.0
//! Layouts: the classes whose objects are transferred, validated, as the generators need them.
//!
//! A layout is a tree: a class never contains itself, directly or indirectly (the paper, Sect. 3).
//! A validated layout is safe to print into Java and C: names are identifiers, sizes fit. No code
//! is generated here.

pub(crate) use check::{finish, identifier};

mod check;
#[cfg(test)]
mod tests;
mod text;

use crate::error::JvmError;

/// Maximum number of classes of a layout.
pub const CLASSES_MAX: usize = 512;
/// Maximum number of fields of a class: a method that takes them all stays below the JVM's limit.
pub const FIELDS_MAX: usize = 512;
/// Maximum number of fields of all classes together, for the same reason.
pub const FIELDS_ALL_MAX: usize = 2_048;
/// Maximum nesting depth of objects.
pub const DEPTH_MAX: usize = 128;
/// Maximum bytes of the primitives of one object, including nested objects.
pub const OBJECT_BYTES_MAX: u64 = 1 << 30;
/// Maximum bytes of the text of a layout.
pub const TEXT_BYTES_MAX: usize = 1 << 20;
/// Default maximum for elements of arrays and characters of strings.
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
    /// 16 bits, unsigned.
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

    /// Its name within other names: `Int` in `GetIntField`.
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

/// The number of elements of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Length {
    /// Always this many.
    Exact(u32),
    /// Any number; random data has at most this many.
    Max(u32),
}

impl Length {
    /// The most elements in random data.
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
        /// Maximum characters in random data.
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
        /// The number of elements.
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
    /// The class that declares it, as Java source writes it, if that is not the class itself.
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

/// The classes of an object, its root first; all are reachable from it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// The root is the first.
    pub classes: Vec<Class>,
    /// Whether the classes exist already and are not generated.
    pub existing: bool,
    /// Their jars and folders.
    pub classpath: Vec<std::path::PathBuf>,
}

/// An existing class, named in a layout; it must be read to become a layout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Existing {
    /// Its binary name: `com.example.Order$Line`.
    pub class: String,
    /// Jars and folders of it and its dependencies.
    pub jars: Vec<std::path::PathBuf>,
}

/// The content of a layout's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A layout.
    Layout(Layout),
    /// An existing class.
    Existing(Existing),
}

impl Source {
    /// Reads YAML or JSON text.
    ///
    /// # Errors
    /// If it is not a valid layout; the message gives the position.
    pub fn parse(text: &str) -> Result<Self, JvmError> {
        text::parse(text)
    }
}

impl Layout {
    /// A class whose only references are arrays: `p` primitives and `a` arrays of `e` elements, all
    /// of one type (the paper, Sect. 5).
    ///
    /// # Errors
    /// If it exceeds a limit.
    pub fn leaf(p: u32, a: u32, e: u32, types: &[Primitive]) -> Result<Self, JvmError> {
        Self::tree(&Tree { width: 1, depth: 1, primitives: p, arrays: a, length: e, types })
    }

    /// The paper's tree: `width` references at the root, one fewer at each level, at least one; the
    /// last level holds the data.
    ///
    /// # Errors
    /// If it exceeds a limit.
    pub fn tree(tree: &Tree<'_>) -> Result<Self, JvmError> {
        text::tree(tree)
    }

    /// The paper's small, medium and large objects (Fig. 4).
    ///
    /// # Errors
    /// For any name other than these three.
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

    /// Whether every object has the same size: no nulls, no variable lengths.
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

    /// Whether every object of a class has the same size.
    #[must_use]
    pub fn is_exact_class(&self, class: usize) -> bool {
        self.classes[class].fields.iter().all(|field| self.is_exact(&field.ty))
    }

    /// Number of columns of an object, including nested objects: classes that are used twice count
    /// twice.
    #[must_use]
    pub fn vectors(&self) -> usize {
        // From the leaves up: classes are trees, and each is visited once.
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

    /// Bytes of a written value: the maximum in random data.
    #[must_use]
    pub fn bytes(&self, ty: &Type) -> u64 {
        // Checked when the layout was made.
        check::bytes(self, ty).unwrap_or(u64::MAX)
    }

    /// Bytes of an object of a class: the maximum in random data.
    #[must_use]
    pub fn class_bytes(&self, class: usize) -> u64 {
        check::class_bytes(self, class).unwrap_or(u64::MAX)
    }
}

/// The parameters of the paper's tree of objects.
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
    /// Types of primitives and arrays, in rotation.
    pub types: &'a [Primitive],
}
