// SPDX-License-Identifier: Apache-2.0
//! Enumerations that both sides use: kinds of values, encodings, conversions.

use super::Word;

/// Defines enumerations: the name, the type of its numbers on both sides, the prefix in C++.
macro_rules! numbers {
    ($(
        $(#[doc = $about:literal])+
        enum $name:ident: $number:ident, $prefix:literal {
            $($(#[doc = $note:literal])* $variant:ident $(= $value:literal)?,)+
        }
    )+) => {
        $(
            $(#[doc = $about])+
            #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd)]
            #[repr($number)]
            pub enum $name {
                $($(#[doc = $note])* $variant $(= $value)?,)+
            }

            impl Word for $name {
                fn word(self) -> u64 {
                    self as u64
                }
            }
        )+

        /// The same in C++.
        #[cfg(test)]
        pub(super) fn numbers_in_cpp() -> String {
            let mut text = String::new();
            $(
                $(text += &format!("//{}\n", $about);)+
                text += &format!("enum {} : {} {{\n", stringify!($name), stringify!($number));
                $(
                    $(text += &format!("    //{}\n", $note);)*
                    let name = constant($prefix, stringify!($variant));
                    text += &format!("    {name} = {},\n", $name::$variant as u64);
                )+
                text += "};\n\n";
            )+
            text
        }
    };
}

/// `FixedBinary` as `K_FIXED_BINARY`.
#[cfg(test)]
fn constant(prefix: &str, variant: &str) -> String {
    let mut out = prefix.to_owned();
    for (index, c) in variant.char_indices() {
        if c.is_ascii_uppercase() && index > 0 {
            out.push('_');
        }
        out.push(c.to_ascii_uppercase());
    }
    out
}

numbers! {
    /// The kind of value that a node reads.
    enum Kind: u32, "K_" {
        Null,
        Bool,
        Int,
        Float,
        Decimal,
        Utf8,
        Json,
        Binary,
        FixedBinary,
        Date32,
        Date64,
        Time,
        Timestamp,
        Duration,
        List,
        FixedList,
        Struct,
        Map,
    }

    /// How the records of a piece are framed.
    enum Framed: u64, "F_" {
        Lines,
        Concatenated,
        Array,
        /// An array that continues in the next piece.
        ArrayPart,
    }

    /// How the values of a Parquet page are stored.
    enum PageEncoding: u64, "E_" {
        Plain,
        Dictionary,
        Runs,
        Delta,
        DeltaLength,
        DeltaStrings,
        Split,
    }

    /// What the elements of a chain are.
    enum ChainForm: u64, "C_" {
        Snappy,
        /// Blocks that the host has found.
        Zstd,
        Strings,
    }

    /// A part of a page that may be in runs.
    enum RunPart: u64, "R_" {
        Levels,
        Repeats,
        Values,
    }

    /// How a stored number of a Parquet page is converted to the Arrow type.
    enum Turn: u64, "T_" {
        Copy,
        Low,
        Extend,
        Multiply,
        Divide,
        Big,
        Int96,
        Key,
    }

    /// Parts at the start of a page of version 1: bits.
    enum Cut: u64, "CUT_" {
        Reps = 1,
        Levels = 2,
    }
}

impl Kind {
    /// Whether its values are inside brackets.
    pub fn is_nested(self) -> bool {
        self >= Self::List
    }

    /// Whether its values have variable length.
    pub fn is_text(self) -> bool {
        matches!(self, Self::Utf8 | Self::Json | Self::Binary | Self::FixedBinary)
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn names_of_constants() {
        assert_eq!(super::constant("K_", "FixedBinary"), "K_FIXED_BINARY");
        assert_eq!(super::constant("T_", "Int96"), "T_INT96");
    }
}
