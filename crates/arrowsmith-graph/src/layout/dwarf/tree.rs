// SPDX-License-Identifier: Apache-2.0
//! The units of the debug information → [`Entry`]s, with the references between them resolved.

use std::collections::HashMap;
use std::path::PathBuf;

use gimli::{AttributeValue, DwAt, DwTag, EndianSlice, LittleEndian, UnitOffset};

use super::{Entry, file_error};
use crate::layout::{LayoutError, Target};

/// Maximum number of entries read.
const ENTRIES_MAX: usize = 1 << 25;

type Slice<'a> = EndianSlice<'a, LittleEndian>;

impl Entry {
    pub(super) fn new(tag: DwTag, parent: Option<usize>) -> Self {
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

/// Why units are not read.
pub(super) enum Failure {
    Dwarf(gimli::Error),
    Layout(LayoutError),
}

impl From<gimli::Error> for Failure {
    fn from(error: gimli::Error) -> Self {
        Self::Dwarf(error)
    }
}

/// The entries read so far.
#[derive(Default)]
pub(super) struct Tree {
    pub(super) entries: Vec<Entry>,
    pub(super) files: Vec<HashMap<u64, PathBuf>>,
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
    pub(super) fn read(
        &mut self,
        dwarf: &gimli::Dwarf<Slice<'_>>,
        target: &mut Target,
    ) -> Result<(), Failure> {
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
    ) -> Result<(), Failure> {
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
                // g++ writes negative values with a sign only, and others in as few bytes as they
                // need. An unsigned value above the range of i64 stays as its bits.
                entry.const_value = match value {
                    AttributeValue::Data1(value) => Some(value.into()),
                    AttributeValue::Data2(value) => Some(value.into()),
                    AttributeValue::Data4(value) => Some(value.into()),
                    AttributeValue::Data8(value) | AttributeValue::Udata(value) => {
                        Some(value.cast_signed())
                    }
                    other => other.sdata_value(),
                };
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
