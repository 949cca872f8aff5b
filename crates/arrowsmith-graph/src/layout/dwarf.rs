// SPDX-License-Identifier: Apache-2.0
//! Object files and shared libraries → the entries of their debug information that describe types,
//! and their vtables.
//!
//! The output is a plain tree with the few attributes that layouts need; DWARF 2 to 5, as GCC and
//! Clang write it, of relocatable and linked ELF files. Interpreting it is the task of
//! [`super::classes`].

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;

use gimli::{AttributeValue, DwAt, DwTag, EndianSlice, LittleEndian, UnitOffset};
use object::read::elf::{ElfFile, FileHeader};
use object::{
    CompressionFormat, Endianness, Object, ObjectKind, ObjectSection, ObjectSymbol,
    ObjectSymbolTable, RelocationKind, RelocationTarget,
};

use super::{LayoutError, Target};

/// Maximum number of entries read.
const ENTRIES_MAX: usize = 1 << 25;

/// Maximum length of a vtable group.
const VTABLE_BYTES_MAX: u64 = 1 << 20;

type Slice<'a> = EndianSlice<'a, LittleEndian>;
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

impl Entry {
    fn new(tag: DwTag, parent: Option<usize>) -> Self {
        Self {
            tag,
            parent,
            children: Vec::new(),
            name: None,
            ty: None,
            byte_size: None,
            alignment: None,
            member_offset: None,
            bit_size: None,
            data_bit_offset: None,
            bit_offset_msb: None,
            encoding: None,
            const_value: None,
            count: None,
            is_declaration: false,
            is_enum_class: false,
            is_artificial: false,
            is_static: false,
            virtuality: 0,
            place: None,
        }
    }
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

/// The bytes of a section, relocated if the file is not linked yet.
fn section<'a, E: FileHeader<Endian = Endianness>>(
    file: &ElfFile<'a, E>,
    name: &str,
) -> Result<Cow<'a, [u8]>> {
    let Some(section) = file.section_by_name(name) else { return Ok(Cow::Borrowed(&[])) };
    let format = section.compressed_file_range().map(|range| range.format);
    if format.is_ok_and(|format| format != CompressionFormat::None) {
        return Err(file_error(format!(
            "has the section {name} compressed; compile it without -gz, or expand it by `objcopy \
             --decompress-debug-sections`"
        )));
    }
    let mut data = section.uncompressed_data().map_err(|error| {
        file_error(format!("has a section {name} that cannot be read: {error}"))
    })?;
    if file.kind() != ObjectKind::Relocatable {
        return Ok(data);
    }
    for (offset, relocation) in section.relocations() {
        if relocation.kind() != RelocationKind::Absolute {
            continue;
        }
        let base = match relocation.target() {
            RelocationTarget::Symbol(index) => {
                file.symbol_by_index(index).map_or(0, |symbol| symbol.address())
            }
            _ => 0,
        };
        let width = usize::from(relocation.size() / 8);
        let place = usize::try_from(offset).ok().and_then(|begin| {
            begin.checked_add(width).and_then(|end| data.to_mut().get_mut(begin..end))
        });
        let (Some(place), 4 | 8) = (place, width) else { continue };
        let mut word = [0; 8];
        word[..width].copy_from_slice(place);
        let held = if relocation.has_implicit_addend() { u64::from_le_bytes(word) } else { 0 };
        let value = base.wrapping_add_signed(relocation.addend()).wrapping_add(held);
        place.copy_from_slice(&value.to_le_bytes()[..width]);
    }
    Ok(data)
}

/// The symbol in a vtable for a pure virtual function.
const PURE: &str = "__cxa_pure_virtual";

/// The vtable groups that the file defines or refers to, by class.
fn vtables<'a, E: FileHeader<Endian = Endianness>>(
    file: &ElfFile<'a, E>,
) -> BTreeMap<String, Vtable> {
    let mut found = BTreeMap::new();
    let width = if file.is_64() { 8 } else { 4 };
    let pure = pure_words(file);
    for symbol in file.symbols().chain(file.dynamic_symbols()) {
        let Ok(mangled) = symbol.name() else { continue };
        if !mangled.starts_with("_ZTV") {
            continue;
        }
        let Some(class) = class_of(mangled) else { continue };
        let words = words_of(file, &symbol, width);
        let entry = found.entry(class).or_insert_with(|| Vtable {
            symbol: mangled.to_owned(),
            is_global: symbol.is_global(),
            words: Vec::new(),
            is_abstract: false,
        });
        if entry.words.is_empty() && !words.is_empty() {
            entry.words = words;
            let section = if file.kind() == ObjectKind::Relocatable {
                symbol.section_index().map_or(0, |index| index.0)
            } else {
                0
            };
            let end = symbol.address().saturating_add(symbol.size());
            let begin = (section, symbol.address());
            entry.is_abstract = pure.range(begin..(section, end)).next().is_some();
        }
    }
    found
}

/// Where words hold the address of [`PURE`]: section (0 once linked) and address.
fn pure_words<'a, E: FileHeader<Endian = Endianness>>(
    file: &ElfFile<'a, E>,
) -> BTreeSet<(usize, u64)> {
    let mut found = BTreeSet::new();
    let named = |symbol: object::Result<object::read::elf::ElfSymbol<'_, '_, E>>| {
        symbol.and_then(|symbol| symbol.name().map(|name| name == PURE)).unwrap_or(false)
    };
    if file.kind() == ObjectKind::Relocatable {
        for section in file.sections() {
            let data =
                section.name().is_ok_and(|n| n.starts_with(".data") || n.starts_with(".rodata"));
            if !data {
                continue;
            }
            for (offset, relocation) in section.relocations() {
                if let RelocationTarget::Symbol(index) = relocation.target()
                    && named(file.symbol_by_index(index))
                {
                    found.insert((section.index().0, offset));
                }
            }
        }
        return found;
    }
    let dynamic = file.dynamic_symbol_table();
    for (address, relocation) in file.dynamic_relocations().into_iter().flatten() {
        if let (RelocationTarget::Symbol(index), Some(table)) = (relocation.target(), &dynamic)
            && named(table.symbol_by_index(index))
        {
            found.insert((0, address));
        }
    }
    found
}

fn class_of(mangled: &str) -> Option<String> {
    let text = cpp_demangle::Symbol::new(mangled).ok()?;
    let text = text.demangle(&cpp_demangle::DemangleOptions::new()).ok()?;
    text.strip_prefix("{vtable(").and_then(|rest| rest.strip_suffix(")}")).map(spell)
}

fn words_of<'a, E: FileHeader<Endian = Endianness>>(
    file: &ElfFile<'a, E>,
    symbol: &impl ObjectSymbol<'a>,
    width: usize,
) -> Vec<u64> {
    let size = symbol.size().min(VTABLE_BYTES_MAX);
    let section = symbol.section_index().and_then(|index| file.section_by_index(index).ok());
    let Some(Ok(Some(data))) = section.map(|s| s.data_range(symbol.address(), size)) else {
        return Vec::new();
    };
    let word = |bytes: &[u8]| {
        let mut word = [0; 8];
        word[..width].copy_from_slice(bytes);
        u64::from_le_bytes(word)
    };
    data.chunks_exact(width).map(word).collect()
}

/// A type's name in one spelling: compilers differ in the spaces between template arguments.
pub fn spell(name: &str) -> String {
    name.replace("> >", ">>").replace("> >", ">>").replace(", ", ",").replace(',', ", ")
}

enum Failure {
    Dwarf(gimli::Error),
    Layout(LayoutError),
}

impl From<gimli::Error> for Failure {
    fn from(error: gimli::Error) -> Self {
        Self::Dwarf(error)
    }
}

#[derive(Default)]
struct Tree {
    entries: Vec<Entry>,
    files: Vec<HashMap<u64, PathBuf>>,
    /// The offset of each entry in `.debug_info`.
    by_offset: HashMap<usize, usize>,
    by_signature: HashMap<u64, usize>,
    /// References that are resolved when all entries are known.
    pending: Vec<(usize, Pending)>,
}

#[derive(Clone, Copy)]
enum Pending {
    Offset(usize),
    Signature(u64),
}

/// Tags other than types that matter, because types are nested in them.
const TAGS: [DwTag; 27] = [
    gimli::DW_TAG_namespace,
    gimli::DW_TAG_class_type,
    gimli::DW_TAG_structure_type,
    gimli::DW_TAG_union_type,
    gimli::DW_TAG_enumeration_type,
    gimli::DW_TAG_enumerator,
    gimli::DW_TAG_member,
    gimli::DW_TAG_variable,
    gimli::DW_TAG_inheritance,
    gimli::DW_TAG_base_type,
    gimli::DW_TAG_unspecified_type,
    gimli::DW_TAG_pointer_type,
    gimli::DW_TAG_reference_type,
    gimli::DW_TAG_rvalue_reference_type,
    gimli::DW_TAG_ptr_to_member_type,
    gimli::DW_TAG_subroutine_type,
    gimli::DW_TAG_const_type,
    gimli::DW_TAG_volatile_type,
    gimli::DW_TAG_restrict_type,
    gimli::DW_TAG_atomic_type,
    gimli::DW_TAG_typedef,
    gimli::DW_TAG_array_type,
    gimli::DW_TAG_subrange_type,
    gimli::DW_TAG_subprogram,
    gimli::DW_TAG_formal_parameter,
    gimli::DW_TAG_template_type_parameter,
    gimli::DW_TAG_lexical_block,
];

impl Tree {
    fn read(
        &mut self,
        dwarf: &gimli::Dwarf<Slice<'_>>,
        target: &mut Target,
    ) -> std::result::Result<(), Failure> {
        let mut headers = dwarf.units();
        while let Some(header) = headers.next()? {
            self.unit(dwarf, header, target)?;
        }
        let mut headers = dwarf.type_units();
        while let Some(header) = headers.next()? {
            self.unit(dwarf, header, target)?;
        }
        for (entry, pending) in std::mem::take(&mut self.pending) {
            self.entries[entry].ty = match pending {
                Pending::Offset(offset) => self.by_offset.get(&offset).copied(),
                Pending::Signature(signature) => self.by_signature.get(&signature).copied(),
            };
        }
        Ok(())
    }

    fn unit(
        &mut self,
        dwarf: &gimli::Dwarf<Slice<'_>>,
        header: gimli::UnitHeader<Slice<'_>>,
        target: &mut Target,
    ) -> std::result::Result<(), Failure> {
        let unit = dwarf.unit(header)?;
        let files = self.files.len();
        self.files.push(source_files(dwarf, &unit));
        // `.debug_types` has offsets of its own; they must not collide with those of `.debug_info`.
        let unit_base = match header.offset() {
            gimli::UnitSectionOffset::DebugInfoOffset(offset) => offset.0,
            gimli::UnitSectionOffset::DebugTypesOffset(offset) => offset.0 + (1 << 48),
        };
        let signature = match header.type_() {
            gimli::UnitType::Type { type_signature, type_offset }
            | gimli::UnitType::SplitType { type_signature, type_offset } => {
                Some((type_signature.0, type_offset))
            }
            _ => None,
        };
        let mut cursor = unit.entries();
        let mut stack: Vec<Option<usize>> = Vec::new();
        let mut depth = 0_isize;
        while let Some((delta, die)) = cursor.next_dfs()? {
            depth += delta;
            stack.truncate(usize::try_from(depth).unwrap_or(0));
            let parent = stack.iter().rev().find_map(|entry| *entry);
            if matches!(die.tag(), gimli::DW_TAG_compile_unit | gimli::DW_TAG_skeleton_unit) {
                let split = die.attr_value(gimli::DW_AT_dwo_name)?.is_some()
                    || die.attr_value(gimli::DW_AT_GNU_dwo_name)?.is_some();
                if split {
                    return Err(Failure::Layout(file_error(
                        "keeps its debug information elsewhere; compile it without -gsplit-dwarf",
                    )));
                }
                if let (true, Some(producer)) =
                    (target.compiler.is_empty(), die.attr_value(gimli::DW_AT_producer)?)
                {
                    target.compiler = compiler(&text(dwarf, &unit, producer).unwrap_or_default());
                }
            }
            if !TAGS.contains(&die.tag()) {
                stack.push(None);
                continue;
            }
            if self.entries.len() >= ENTRIES_MAX {
                return Err(Failure::Layout(file_error(
                    "has more debug information than can be held",
                )));
            }
            let index = self.entries.len();
            self.entries.push(Entry::new(die.tag(), parent));
            if let Some(parent) = parent {
                self.entries[parent].children.push(index);
            }
            self.by_offset.insert(unit_base + die.offset().0, index);
            if let Some((signature, offset)) = signature
                && offset == die.offset()
            {
                self.by_signature.insert(signature, index);
            }
            let mut attributes = die.attrs();
            while let Some(attribute) = attributes.next()? {
                let value = attribute.value();
                self.attribute(dwarf, &unit, unit_base, files, index, attribute.name(), value);
            }
            stack.push(Some(index));
        }
        Ok(())
    }

    #[expect(clippy::too_many_arguments, reason = "what gimli needs to read one attribute")]
    fn attribute(
        &mut self,
        dwarf: &gimli::Dwarf<Slice<'_>>,
        unit: &gimli::Unit<Slice<'_>>,
        unit_base: usize,
        files: usize,
        index: usize,
        name: DwAt,
        value: AttributeValue<Slice<'_>>,
    ) {
        let entry = &mut self.entries[index];
        match name {
            gimli::DW_AT_name => entry.name = text(dwarf, unit, value),
            gimli::DW_AT_type => {
                let pending = match value {
                    AttributeValue::UnitRef(UnitOffset(offset)) => {
                        Some(Pending::Offset(unit_base + offset))
                    }
                    AttributeValue::DebugInfoRef(offset) => Some(Pending::Offset(offset.0)),
                    AttributeValue::DebugTypesRef(signature) => {
                        Some(Pending::Signature(signature.0))
                    }
                    _ => None,
                };
                self.pending.extend(pending.map(|pending| (index, pending)));
            }
            // An entry that refers to a type unit: it has the name, but not the content.
            gimli::DW_AT_signature => {
                if let AttributeValue::DebugTypesRef(signature) = value {
                    self.pending.push((index, Pending::Signature(signature.0)));
                    entry.is_declaration = true;
                }
            }
            gimli::DW_AT_byte_size => entry.byte_size = value.udata_value(),
            gimli::DW_AT_alignment => entry.alignment = value.udata_value(),
            gimli::DW_AT_data_member_location => entry.member_offset = offset(value, unit),
            gimli::DW_AT_bit_size => entry.bit_size = value.udata_value(),
            gimli::DW_AT_data_bit_offset => entry.data_bit_offset = value.udata_value(),
            gimli::DW_AT_bit_offset => entry.bit_offset_msb = value.udata_value(),
            gimli::DW_AT_encoding => {
                if let AttributeValue::Encoding(encoding) = value {
                    entry.encoding = Some(encoding);
                }
            }
            gimli::DW_AT_const_value => {
                // An unsigned value above the range of i64 stays as its bits; no ranges are made
                // from it.
                entry.const_value = value
                    .sdata_value()
                    .or_else(|| value.udata_value().and_then(|v| i64::try_from(v).ok()));
            }
            gimli::DW_AT_count => entry.count = value.udata_value(),
            gimli::DW_AT_upper_bound => {
                // An array of length zero has the upper bound −1.
                entry.count = match value.udata_value() {
                    Some(bound) => Some(bound.wrapping_add(1)),
                    None if value.sdata_value() == Some(-1) => Some(0),
                    None => None,
                };
            }
            gimli::DW_AT_declaration => entry.is_declaration = true,
            gimli::DW_AT_enum_class => entry.is_enum_class = true,
            gimli::DW_AT_artificial => entry.is_artificial = true,
            gimli::DW_AT_external => entry.is_static = true,
            gimli::DW_AT_virtuality => {
                if let AttributeValue::Virtuality(virtuality) = value {
                    entry.virtuality = virtuality.0;
                }
            }
            gimli::DW_AT_decl_file => {
                if let AttributeValue::FileIndex(file) = value {
                    let line = entry.place.map_or(0, |place| place.2);
                    entry.place = Some((files, file, line));
                }
            }
            gimli::DW_AT_decl_line => {
                let file = entry.place.map_or(0, |place| place.1);
                entry.place = value.udata_value().map(|line| (files, file, line));
            }
            _ => {}
        }
    }
}

/// A member's offset: a number, or an expression that adds one.
fn offset(value: AttributeValue<Slice<'_>>, unit: &gimli::Unit<Slice<'_>>) -> Option<u64> {
    if let AttributeValue::Exprloc(expression) = value {
        let mut operations = expression.operations(unit.encoding());
        return match (operations.next(), operations.next()) {
            (Ok(Some(gimli::Operation::PlusConstant { value })), Ok(None)) => Some(value),
            _ => None,
        };
    }
    value.udata_value()
}

fn text(
    dwarf: &gimli::Dwarf<Slice<'_>>,
    unit: &gimli::Unit<Slice<'_>>,
    value: AttributeValue<Slice<'_>>,
) -> Option<String> {
    let slice = dwarf.attr_string(unit, value).ok()?;
    Some(slice.to_string_lossy().into_owned())
}

/// The compiler's name and version, without its options.
fn compiler(producer: &str) -> String {
    producer.split(" -").next().unwrap_or_default().trim().to_owned()
}

fn source_files(
    dwarf: &gimli::Dwarf<Slice<'_>>,
    unit: &gimli::Unit<Slice<'_>>,
) -> HashMap<u64, PathBuf> {
    let mut files = HashMap::new();
    let Some(program) = &unit.line_program else { return files };
    let header = program.header();
    let first = u64::from(header.version() < 5);
    let folder = unit.comp_dir.map(|dir| dir.to_string_lossy().into_owned()).unwrap_or_default();
    for (number, file) in (first..).zip(header.file_names()) {
        let mut path = PathBuf::from(&folder);
        if let Some(directory) = file.directory(header).and_then(|value| text(dwarf, unit, value)) {
            path.push(directory);
        }
        if let Some(name) = text(dwarf, unit, file.path_name()) {
            path.push(name);
            files.insert(number, path);
        }
    }
    files
}
