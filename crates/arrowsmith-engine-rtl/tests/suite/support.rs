// SPDX-License-Identifier: Apache-2.0
//! Shared by the tests of circuits: a compiler, an oracle that follows
//! docs/design/0004-object-graphs.md literally, and messages.

#![allow(clippy::cast_possible_truncation, reason = "a test; what is cut is small or random")]

use std::path::{Path, PathBuf};

use arrowsmith_engine_rtl::Verilator;
use arrowsmith_engine_rtl::graph::Circuit;
use arrowsmith_graph::layout::{Class, Integer, Kind, Member};
use arrowsmith_graph::{Code, Layout, WireError};
use arrowsmith_rtlgen::graph::{Options, generate};
use arrowsmith_testkit::tools;
use arrowsmith_workload::SplitMix64;

pub const OBJECTS_MAX: u32 = 1024;

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Whether circuits can be compiled here; if not, Verilator is missing.
pub fn there() -> bool {
    match Verilator::find() {
        Ok(_) => true,
        Err(error) => {
            let remedy = "`tools/hdl install` and ARROWSMITH_VERILATOR=$(tools/hdl verilator)";
            tools::absent(&format!("Verilator ({error})"), remedy);
            false
        }
    }
}

/// The result of [`there`].
pub fn verilator() -> Verilator {
    Verilator::find().unwrap()
}

pub fn layout(path: &str) -> Layout {
    Layout::from_json(&std::fs::read_to_string(root().join(path)).unwrap()).unwrap()
}

pub fn circuit(layout: &Layout, beat_bytes: Option<u32>) -> Circuit {
    let options = Options { beat_bytes, objects_max: OBJECTS_MAX, ..Options::default() };
    verilator().circuit(&generate(layout, &options).unwrap(), layout).unwrap()
}

pub fn vtables(layout: &Layout) -> Vec<u64> {
    let mask = if layout.target.pointer_bytes == 4 { 0xffff_ffff } else { u64::MAX };
    (0..layout.slots() as u64).map(|slot| (0x5654_3210_0000_1000 + slot * 0x18) & mask).collect()
}

/// Reads a message, slowly, as the contract defines it: the oracle.
pub struct Oracle<'a> {
    pub layout: &'a Layout,
    pub vtables: &'a [u64],
    pub beat_bytes: u64,
}

impl Oracle<'_> {
    pub fn read(
        &self,
        message: &[u8],
        header: bool,
        region: u64,
        capacity: u32,
    ) -> Result<Vec<u8>, WireError> {
        let end = u128::from(region) + u128::from(capacity);
        let space = 1_u128 << (self.layout.target.pointer_bytes * 8);
        if !region.is_multiple_of(self.beat_bytes) || end >= space {
            return Err(WireError::new(Code::BadRegion, 0));
        }
        let mut at = Cursor { message, at: 0 };
        if header {
            self.header(&mut at)?;
        }
        let begin = at.at;
        let count = at.number(4)?;
        if count == 0 {
            return Err(WireError::new(Code::NoObjects, begin));
        }
        if count > u64::from(OBJECTS_MAX) {
            return Err(WireError::new(Code::TooManyObjects, begin));
        }
        let mut objects: Vec<(&Class, u64)> = Vec::new();
        let mut end = 0;
        for index in 0..count {
            let here = at.at;
            let id = at.number(4)?;
            let class = self.layout.classes.get(usize::try_from(id).unwrap());
            let class = class.ok_or(WireError::new(Code::UnknownType, here))?;
            if index == 0 && !self.layout.root.targets.iter().any(|t| t.type_id == class.type_id) {
                return Err(WireError::new(Code::WrongType, here));
            }
            let offset = u64::next_multiple_of(end, u64::from(class.align));
            end = offset + u64::from(class.size);
            if end > u64::from(capacity) {
                return Err(WireError::new(Code::RegionTooSmall, here));
            }
            objects.push((class, offset));
        }
        let mut memory = vec![0; usize::try_from(end).unwrap()];
        for (class, offset) in &objects {
            let object = &mut memory[usize::try_from(*offset).unwrap()..][..class.size as usize];
            for vptr in &class.vptrs {
                let value = self.vtables[vptr.slot as usize];
                put(object, vptr.offset, self.layout.target.pointer_bytes, value);
            }
            for member in &class.members {
                for index in 0..member.count {
                    self.member(&mut at, object, member, index, &objects, region)?;
                }
            }
        }
        if at.at < message.len() {
            return Err(WireError::new(Code::TrailingBytes, at.at));
        }
        Ok(memory)
    }

    fn header(&self, at: &mut Cursor<'_>) -> Result<(), WireError> {
        for (bytes, value, code) in [
            (4, 0x474f_5341, Code::BadHeader),
            (2, 1, Code::BadHeader),
            (2, 20, Code::BadHeader),
            (8, self.layout.wire_hash(), Code::WrongLayout),
        ] {
            let here = at.at;
            if at.number(bytes)? != value {
                return Err(WireError::new(code, here));
            }
        }
        let here = at.at;
        if at.number(4)? != (at.message.len() - at.at) as u64 {
            return Err(WireError::new(Code::BadHeader, here));
        }
        Ok(())
    }

    fn member(
        &self,
        at: &mut Cursor<'_>,
        object: &mut [u8],
        member: &Member,
        index: u32,
        objects: &[(&Class, u64)],
        region: u64,
    ) -> Result<(), WireError> {
        let here = at.at;
        let fault = |code| Err(WireError::new(code, here));
        let raw = at.number(member.kind.wire_bytes() as usize)?;
        let sent = i128::from(raw);
        let extended = |signed: bool, bytes: u32| {
            if signed && raw >> (bytes * 8 - 1) == 1 { sent - (1 << (bytes * 8)) } else { sent }
        };
        match &member.kind {
            Kind::Pointer(reference) => {
                let mut value = 0;
                if raw == 0xffff_ffff {
                    if !reference.nullable {
                        return fault(Code::NullReference);
                    }
                } else {
                    let Some((class, offset)) = objects.get(usize::try_from(raw).unwrap()) else {
                        return fault(Code::IdOutOfRange);
                    };
                    let target = reference.targets.iter().find(|t| t.type_id == class.type_id);
                    let Some(target) = target else { return fault(Code::WrongType) };
                    value = region + offset + u64::from(target.adjust);
                }
                let bytes = self.layout.target.pointer_bytes;
                put(object, member.offset + index * bytes, bytes, value);
            }
            Kind::Integer(Integer { bytes, wire_bytes, signed, range, .. }) => {
                let value = extended(*signed, *wire_bytes);
                if range.is_some_and(|[low, high]| value < low.into() || value > high.into()) {
                    return fault(Code::ValueOutOfRange);
                }
                put(object, member.offset + index * bytes, *bytes, value as u64);
            }
            Kind::Float { bytes } => put(object, member.offset + index * bytes, *bytes, raw),
            Kind::Bits(bits) => {
                let value = extended(bits.signed, bits.wire_bytes);
                let fit = if bits.signed {
                    let half = 1_i128 << (bits.bit_size - 1);
                    (-half, half - 1)
                } else {
                    (0, (1_i128 << bits.bit_size) - 1)
                };
                let (low, high) = bits.range.map_or(fit, |[low, high]| (low.into(), high.into()));
                if value < low || value > high {
                    return fault(Code::ValueOutOfRange);
                }
                for bit in 0..bits.bit_size {
                    let place = (member.offset * 8 + bits.bit_offset + bit) as usize;
                    object[place / 8] |= ((value >> bit & 1) as u8) << (place % 8);
                }
            }
            Kind::String | Kind::View | Kind::Choice(_) | Kind::Vector(_) => {
                unreachable!("circuits have none")
            }
        }
        Ok(())
    }
}

fn put(object: &mut [u8], at: u32, bytes: u32, value: u64) {
    object[at as usize..][..bytes as usize].copy_from_slice(&value.to_le_bytes()[..bytes as usize]);
}

struct Cursor<'a> {
    message: &'a [u8],
    at: usize,
}

impl Cursor<'_> {
    fn number(&mut self, bytes: usize) -> Result<u64, WireError> {
        let rest = &self.message[self.at..];
        if rest.len() < bytes {
            return Err(WireError::new(Code::Truncated, self.at));
        }
        let mut number = [0; 8];
        number[..bytes].copy_from_slice(&rest[..bytes]);
        self.at += bytes;
        Ok(u64::from_le_bytes(number))
    }
}

/// A valid message of `count` objects with random values.
pub fn message(layout: &Layout, count: u64, random: &mut SplitMix64) -> Vec<u8> {
    let mut types: Vec<u32> =
        (0..count).map(|_| random.below(layout.classes.len() as u64) as u32).collect();
    let roots = &layout.root.targets;
    types[0] = roots[random.below(roots.len() as u64) as usize].type_id;
    let mut bytes = u32::try_from(count).unwrap().to_le_bytes().to_vec();
    bytes.extend(types.iter().flat_map(|id| id.to_le_bytes()));
    for &id in &types {
        for member in &layout.classes[id as usize].members {
            for _ in 0..member.count {
                let value = value(&member.kind, &types, random);
                let wire_bytes = member.kind.wire_bytes() as usize;
                bytes.extend(&value.to_le_bytes()[..wire_bytes]);
            }
        }
    }
    bytes
}

fn value(kind: &Kind, types: &[u32], random: &mut SplitMix64) -> u64 {
    let between = |[low, high]: [i64; 2], random: &mut SplitMix64| {
        let span = (i128::from(high) - i128::from(low) + 1) as u128;
        (i128::from(low) + (u128::from(random.next_u64()) % span) as i128) as u64
    };
    match kind {
        Kind::Pointer(reference) => {
            // A few tries for an object of a class that is valid there.
            for _ in 0..64 {
                let id = random.below(types.len() as u64);
                let class = types[id as usize];
                if reference.targets.iter().any(|target| target.type_id == class) {
                    return id;
                }
            }
            0xffff_ffff
        }
        Kind::Integer(Integer { range: Some(range), .. }) => between(*range, random),
        Kind::Bits(bits) => {
            let fit = if bits.signed {
                [-(1 << (bits.bit_size - 1)), (1 << (bits.bit_size - 1)) - 1]
            } else {
                [0, (1 << bits.bit_size) - 1]
            };
            between(bits.range.unwrap_or(fit), random)
        }
        _ => random.next_u64(),
    }
}

/// Prepends the header of a layout to a message.
pub fn with_header(layout: &Layout, message: &[u8]) -> Vec<u8> {
    let mut bytes = b"ASOG\x01\x00\x14\x00".to_vec();
    bytes.extend(layout.wire_hash().to_le_bytes());
    bytes.extend(u32::try_from(message.len()).unwrap().to_le_bytes());
    bytes.extend(message);
    bytes
}

/// Makes a message invalid, or not, at random.
pub fn spoil(message: &mut Vec<u8>, random: &mut SplitMix64) {
    match random.below(6) {
        0 => message.truncate(random.below(message.len() as u64 + 1) as usize),
        1 => message.extend((0..=random.below(5)).map(|byte| byte as u8)),
        2 => {
            for _ in 0..=random.below(3) {
                let at = random.below(message.len() as u64) as usize;
                message[at] = random.next_u64() as u8;
            }
        }
        3 => {
            let at = random.below(message.len() as u64) as usize;
            message[at] ^= 1 << random.below(8);
        }
        4 => {
            // A four-byte number, slightly changed.
            let at = random.below(message.len() as u64 / 4) as usize * 4;
            if let Some(four) = message.get_mut(at..at + 4) {
                let old = u32::from_le_bytes([four[0], four[1], four[2], four[3]]);
                let new = old.wrapping_add(random.below(5) as u32).wrapping_sub(2);
                four.copy_from_slice(&new.to_le_bytes());
            }
        }
        _ => {}
    }
}
