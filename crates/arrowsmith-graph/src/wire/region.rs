// SPDX-License-Identifier: Apache-2.0
//! Messages → objects in a region, as the compiler laid them out: a program can use them once the
//! bytes are at the address that they were made for.
//!
//! The region is plain bytes here; this crate never accesses them as objects.

use super::link::Container;
use super::walk::{self, Options, Sink, Tables};
use super::{Code, WireError};
use crate::layout::{Bits, Choice, Element, Kind, Layout};

/// Reads messages of one layout into regions.
#[derive(Debug)]
pub struct Reader {
    tables: Tables,
    classes: Vec<ObjectTemplate>,
}

/// An object of a class before its members are set.
#[derive(Debug)]
struct ObjectTemplate {
    size: usize,
    /// Offset and value of each vtable pointer.
    vptrs: Vec<(u32, u64)>,
}

/// The result of reading a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Made {
    /// The address that the root pointer points to.
    pub root: u64,
    /// Bytes of the region in use.
    pub bytes: u64,
}

impl Reader {
    /// A reader of a layout; `vtable_pointers` are the values of the layout's slots in the program
    /// that will use the objects. Missing ones are zero.
    pub fn new(layout: Layout, vtable_pointers: &[u64]) -> Self {
        let value = |slot: u32| vtable_pointers.get(slot as usize).copied().unwrap_or(0);
        let classes = layout.classes.iter().map(|class| ObjectTemplate {
            size: class.size as usize,
            vptrs: class.vptrs.iter().map(|vptr| (vptr.offset, value(vptr.slot))).collect(),
        });
        let classes = classes.collect();
        Self { tables: Tables::new(layout), classes }
    }

    /// The layout.
    pub fn layout(&self) -> &Layout {
        &self.tables.layout
    }

    /// Makes the objects of a message in `region`, for the future address of its first byte.
    ///
    /// # Errors
    ///
    /// The first error of the message; the content of the region is then undefined.
    pub fn read(
        &mut self,
        message: &[u8],
        region: &mut [u8],
        address: u64,
        options: Options,
    ) -> Result<Made, WireError> {
        let layout = &self.tables.layout;
        let last = if layout.target.pointer_bytes == 4 { u64::from(u32::MAX) } else { u64::MAX };
        let capacity = region.len() as u64;
        let aligned = address.is_multiple_of(u64::from(layout.region_align()));
        if !aligned || address > last || capacity > last - address {
            return Err(WireError::new(Code::BadRegion, 0));
        }
        let word = layout.target.pointer_bytes as usize;
        let mut sink = Region { bytes: region, address, word, classes: &self.classes };
        let (root, bytes) = self.tables.walk(message, capacity, options, &mut sink)?;
        Ok(Made { root: address + root, bytes })
    }
}

pub(super) struct Region<'a> {
    bytes: &'a mut [u8],
    address: u64,
    word: usize,
    classes: &'a [ObjectTemplate],
}

impl Region<'_> {
    /// The bytes of a pointer.
    pub fn word(&self) -> u64 {
        self.word as u64
    }

    /// The address of an offset.
    pub fn address_of(&self, place: u64) -> u64 {
        self.address + place
    }

    /// The offset of an address that was stored.
    pub fn place_of(&self, address: u64) -> u64 {
        address.wrapping_sub(self.address)
    }

    pub fn bytes_at(&self, place: u64, bytes: u64) -> &[u8] {
        let begin = usize::try_from(place).unwrap_or(usize::MAX);
        let end = begin.saturating_add(usize::try_from(bytes).unwrap_or(usize::MAX));
        self.bytes.get(begin..end).unwrap_or_default()
    }

    pub fn load(&self, place: u64, bytes: usize) -> u64 {
        walk::load(self.bytes, usize::try_from(place).unwrap_or(usize::MAX), bytes)
    }

    pub fn load_word(&self, place: u64) -> u64 {
        self.load(place, self.word)
    }

    /// Offsets were checked against the region when they were allocated.
    fn at(&mut self, place: u64, bytes: usize) -> &mut [u8] {
        let begin = usize::try_from(place).unwrap_or(usize::MAX);
        let end = begin.saturating_add(bytes);
        self.bytes.get_mut(begin..end).unwrap_or_default()
    }

    pub fn store(&mut self, place: u64, bytes: usize, value: u64) {
        let value = value.to_le_bytes();
        let place = self.at(place, bytes);
        let length = place.len();
        place.copy_from_slice(&value[..length]);
    }

    pub fn store_word(&mut self, place: u64, value: u64) {
        self.store(place, self.word, value);
    }
}

impl Sink for Region<'_> {
    fn object(&mut self, type_id: u32, _id: u32, place: u64) {
        let class = &self.classes[type_id as usize];
        self.at(place, class.size).fill(0);
        for &(offset, value) in &class.vptrs {
            self.store_word(place + u64::from(offset), value);
        }
    }

    fn number(&mut self, _member: usize, kind: &Kind, place: u64, bits: u64) {
        match kind {
            Kind::Bits(field) => {
                let bytes = (field.bit_offset + field.bit_size).div_ceil(8) as usize;
                store_bits(self.at(place, bytes), field, bits);
            }
            _ => self.store(place, kind.bytes(0).unwrap_or(0) as usize, bits),
        }
    }

    fn pointer(&mut self, _member: usize, place: u64, target: Option<(u32, u64)>) {
        let value = target.map_or(0, |(_, to)| self.address + to);
        self.store_word(place, value);
    }

    fn string(&mut self, _member: usize, place: u64, bytes: &[u8], content: Option<u64>) {
        let word = self.word as u64;
        let length = bytes.len() as u64;
        let to = content.unwrap_or(place + 2 * word);
        if content.is_some() {
            self.store_word(place + 2 * word, length);
        }
        let room = self.at(to, bytes.len() + 1);
        if let Some((zero, text)) = room.split_last_mut() {
            text.copy_from_slice(bytes);
            *zero = 0;
        }
        self.store_word(place, self.address + to);
        self.store_word(place + word, length);
    }

    fn view(&mut self, _member: usize, place: u64, bytes: &[u8], content: Option<u64>) {
        if let Some(to) = content {
            self.at(to, bytes.len()).copy_from_slice(bytes);
            self.store_word(place, bytes.len() as u64);
            self.store_word(place + self.word as u64, self.address + to);
        }
    }

    fn choice(&mut self, _member: usize, place: u64, choice: &Choice, alternative: u8) {
        self.store(place + u64::from(choice.tag_offset), 1, u64::from(alternative));
    }

    fn vector(&mut self, _member: usize, element: &Element, length: u32, content: u64) {
        let bytes = element.content(length.into(), self.word()).bytes;
        self.at(content, usize::try_from(bytes).unwrap_or(usize::MAX)).fill(0);
    }

    fn vector_end(&mut self, element: &Element, place: u64, length: u32, content: u64) {
        Container { element, place, length: length.into(), content }.link(self);
    }
}

fn store_bits(bytes: &mut [u8], field: &Bits, value: u64) {
    let mut done = 0;
    while done < field.bit_size {
        let bit = field.bit_offset + done;
        let within = bit % 8;
        let take = (field.bit_size - done).min(8 - within);
        let mask = ((1_u32 << take) - 1) << within;
        let part = u32::try_from((value >> done) & 0xff).unwrap_or(0) << within;
        let byte = &mut bytes[(bit / 8) as usize];
        let [low, ..] = ((u32::from(*byte) & !mask) | (part & mask)).to_le_bytes();
        *byte = low;
        done += take;
    }
}
