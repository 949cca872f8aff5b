// SPDX-License-Identifier: Apache-2.0
//! The parts of an ELF file: its sections, relocated, and its vtables.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use object::read::elf::{ElfFile, FileHeader};
use object::{
    CompressionFormat, Endianness, Object, ObjectKind, ObjectSection, ObjectSymbol,
    ObjectSymbolTable, RelocationKind, RelocationTarget,
};

use super::{Result, Vtable, file_error, spell};

/// Maximum length of a vtable group.
const VTABLE_BYTES_MAX: u64 = 1 << 20;

/// The bytes of a section, relocated if the file is not linked yet.
pub(super) fn section<'a, E: FileHeader<Endian = Endianness>>(
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
pub(super) fn vtables<'a, E: FileHeader<Endian = Endianness>>(
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
