// SPDX-License-Identifier: Apache-2.0
//! Object files and shared libraries → the entries of their debug information that describe types,
//! and their vtables.
//!
//! The output is a plain tree with the few attributes that layouts need; DWARF 2 to 5, as GCC and
//! Clang write it, of relocatable and linked ELF files. Interpreting it is the task of
//! [`super::classes`].

mod elf;
mod tree;

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use gimli::{DwTag, EndianSlice, LittleEndian};
use object::read::elf::{ElfFile, FileHeader};
use object::{Endianness, Object, ObjectSection};

use self::elf::{section, vtables};
use self::tree::{Failure, Tree};
use super::{LayoutError, Target};

type Result<T> = std::result::Result<T, LayoutError>;

/// An entry of the debug information.
#[derive(Debug, Clone)]
pub struct Entry {
    pub tag: DwTag,
    /// Its parent; `None` for entries of a unit.
    pub parent: Option<usize>,
    pub children: Vec<usize>,
    pub name: Option<String>,
    /// The entry of its type.
    pub ty: Option<usize>,
    pub byte_size: Option<u64>,
    pub alignment: Option<u64>,
    pub member_offset: Option<u64>,
    pub bit_size: Option<u64>,
    /// Bits from the start of the object, as in DWARF 4 and later.
    pub data_bit_offset: Option<u64>,
    /// Bits from the most significant bit of the storage unit, as in DWARF 2 and 3.
    pub bit_offset_msb: Option<u64>,
    pub encoding: Option<gimli::DwAte>,
    pub const_value: Option<i64>,
    /// The number of elements of an array's dimension.
    pub count: Option<u64>,
    pub is_declaration: bool,
    /// `enum class`: its underlying type is fixed.
    pub is_enum_class: bool,
    pub is_artificial: bool,
    pub is_static: bool,
    pub virtuality: u8,
    /// The unit's file table, the file's number in it, the line.
    pub place: Option<(usize, u64, u64)>,
}

/// A group of vtables of a class.
#[derive(Debug, Clone)]
pub struct Vtable {
    pub symbol: String,
    /// Whether other files can refer to it.
    pub is_global: bool,
    /// Its words as far as they are in the file; relocated words have any value.
    pub words: Vec<u64>,
    /// Whether one of its functions is pure, so that no complete object has it. GCC's debug
    /// information does not contain this.
    pub is_abstract: bool,
}

/// The parts of a file that are read.
#[derive(Debug)]
pub struct Debug {
    pub target: Target,
    pub entries: Vec<Entry>,
    /// The source files of each unit, by number.
    pub files: Vec<HashMap<u64, PathBuf>>,
    /// By the demangled name of the class.
    pub vtables: BTreeMap<String, Vtable>,
}

/// Reads an ELF file.
///
/// # Errors
///
/// A file that is not ELF, is for another machine, or has no debug information.
pub fn read(bytes: &[u8]) -> Result<Debug> {
    match object::FileKind::parse(bytes) {
        Ok(object::FileKind::Elf32) => read_elf::<object::elf::FileHeader32<Endianness>>(bytes),
        Ok(object::FileKind::Elf64) => read_elf::<object::elf::FileHeader64<Endianness>>(bytes),
        _ if bytes.starts_with(b"BC\xC0\xDE") => Err(file_error(
            "is LLVM bitcode (-flto); compile it without -flto, or give the linked program",
        )),
        _ => Err(file_error("is not an ELF object file, shared library or program")),
    }
}

fn file_error(message: impl Into<String>) -> LayoutError {
    LayoutError::new("", message)
}

fn broken(error: impl std::fmt::Display) -> LayoutError {
    file_error(format!("cannot be read: {error}"))
}

fn read_elf<E: FileHeader<Endian = Endianness>>(bytes: &[u8]) -> Result<Debug> {
    let file = ElfFile::<E>::parse(bytes).map_err(broken)?;
    let (arch, pointer_bytes) = match file.architecture() {
        object::Architecture::X86_64 => ("x86_64", 8),
        object::Architecture::I386 => ("i386", 4),
        object::Architecture::Aarch64 => ("aarch64", 8),
        other => {
            return Err(file_error(format!(
                "is for {other:?}; x86-64, i386 and aarch64 are known"
            )));
        }
    };
    if !file.is_little_endian() {
        return Err(file_error("is big-endian"));
    }
    let load = |id: gimli::SectionId| section(&file, id.name());
    let sections = gimli::DwarfSections::load(load)?;
    let dwarf = sections.borrow(|data| EndianSlice::new(data, LittleEndian));
    let mut target = Target { arch: arch.into(), pointer_bytes, compiler: String::new() };
    let mut tree = Tree::default();
    tree.read(&dwarf, &mut target).map_err(|failure| match failure {
        Failure::Dwarf(error) => broken(error),
        Failure::Layout(error) => error,
    })?;
    if tree.entries.is_empty() {
        let lto = |section: &str| section.starts_with(".gnu.debuglto_");
        if file.sections().any(|section| section.name().is_ok_and(lto)) {
            return Err(file_error(
                "is for optimization at link time (-flto) and has no types yet; compile it without \
                 -flto, or give the linked program",
            ));
        }
        return Err(file_error("has no debug information; compile it with -g"));
    }
    Ok(Debug { target, entries: tree.entries, files: tree.files, vtables: vtables(&file) })
}

/// A type's name in one spelling: compilers differ in the spaces between template arguments.
pub fn spell(name: &str) -> String {
    name.replace("> >", ">>").replace("> >", ">>").replace(", ", ",").replace(',', ", ")
}
