// SPDX-License-Identifier: Apache-2.0
//! Error codes and positions, equal in Rust, C++ and the circuit.

/// The error of a message. The numbers are those of C++ and of the circuit's error register.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u32)]
#[non_exhaustive]
pub enum Code {
    /// The message ends before this value does. Position: the first byte of the value.
    Truncated = 1,
    /// Bytes follow the last member of the last object. Position: the first of them.
    TrailingBytes = 2,
    /// The number of objects is zero. Position: that number.
    NoObjects = 3,
    /// The number of objects is above the limit. Position: that number.
    TooManyObjects = 4,
    /// No class has this type id. Position: the type id.
    UnknownType = 5,
    /// A reference to an object (or the root) of a class that is not allowed there. Position: the
    /// object id; for the root its type id.
    WrongType = 6,
    /// An object id that is not below the number of objects. Position: the object id.
    IdOutOfRange = 7,
    /// A null in a non-null reference. Position: the object id.
    NullReference = 8,
    /// A boolean, an enumerator or a bit-field with an invalid value. Position: the value.
    ValueOutOfRange = 9,
    /// The objects need more memory than the region has. Position: the type id of the first object,
    /// or the length of the first string or vector, that does not fit.
    RegionTooSmall = 10,
    /// A string or a vector is longer than the rest of the message. Position: its length.
    LengthOutOfRange = 11,
    /// The header is not that of a message, or of an unknown version. Position: the field of the
    /// header.
    BadHeader = 12,
    /// The message was written for other classes. Position: the hash in the header.
    WrongLayout = 13,
    /// The region does not begin at a multiple of the layout's alignment, or its end is not an
    /// address. Position: 0. It is an error of the caller, and is found before the message is read.
    BadRegion = 14,
}

impl Code {
    /// Every code, in the order of their numbers, which start at 1.
    pub const ALL: [Self; 14] = [
        Self::Truncated,
        Self::TrailingBytes,
        Self::NoObjects,
        Self::TooManyObjects,
        Self::UnknownType,
        Self::WrongType,
        Self::IdOutOfRange,
        Self::NullReference,
        Self::ValueOutOfRange,
        Self::RegionTooSmall,
        Self::LengthOutOfRange,
        Self::BadHeader,
        Self::WrongLayout,
        Self::BadRegion,
    ];

    /// The number of the code in C++ and in the circuit.
    pub const fn number(self) -> u32 {
        self as u32
    }

    /// The name of the code as it is printed.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Truncated => "truncated",
            Self::TrailingBytes => "trailing-bytes",
            Self::NoObjects => "no-objects",
            Self::TooManyObjects => "too-many-objects",
            Self::UnknownType => "unknown-type",
            Self::WrongType => "wrong-type",
            Self::IdOutOfRange => "id-out-of-range",
            Self::NullReference => "null-reference",
            Self::ValueOutOfRange => "value-out-of-range",
            Self::RegionTooSmall => "region-too-small",
            Self::LengthOutOfRange => "length-out-of-range",
            Self::BadHeader => "bad-header",
            Self::WrongLayout => "wrong-layout",
            Self::BadRegion => "bad-region",
        }
    }
}

/// A refused message: the error, and its position.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
#[error("byte {position}: {}", code.name())]
pub struct WireError {
    /// The error.
    pub code: Code,
    /// Offset in bytes from the first byte of the message (of its header, if it has one).
    pub position: u64,
}

impl WireError {
    /// The error `code` at a position in bytes.
    pub const fn new(code: Code, position: usize) -> Self {
        Self { code, position: position as u64 }
    }
}
