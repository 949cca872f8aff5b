// SPDX-License-Identifier: Apache-2.0
//! Cuts classes into steps: the bytes of the message that a step reads, and the bytes of the object
//! that it makes.
//!
//! The members of a class are first cut at granule boundaries where everything before the cut is
//! also before everything after it in memory. The part between two cuts is a *group*: its bytes on
//! the wire are read in one window, so within a group the wire order may differ from memory order.
//! Adjacent groups are joined while they fit one step. A group makes one *piece* of memory per
//! cycle; the step of its last piece consumes its bytes of the message.

use arrowsmith_graph::Layout;
use arrowsmith_graph::layout::{Bits, Integer, Kind, Member, Reference};

use super::{Options, Refusal};

/// Preferred maximum of references per step: each costs a copy of the object table.
const REFS_GOAL: usize = 2;

/// Hard maximum of references per step.
const REFS_MAX: usize = 4;

/// Maximum number of steps of all classes together.
const STEPS_MAX: usize = 4_096;

/// All inputs of the map and the top.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Bytes of a beat.
    pub beat_bytes: u32,
    /// Maximum bytes of the message that a step reads.
    pub step_bytes: u32,
    /// The unit in which objects are placed, in bytes.
    pub granule_bytes: u32,
    /// Maximum references in a step; at least 1.
    pub refs: u32,
    /// Maximum objects in a message.
    pub objects_max: u32,
    /// Maximum granules between the end of an object and the start of the next one.
    pub skip_max: u32,
    /// The classes, by type id.
    pub classes: Vec<Class>,
}

/// A class as steps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Class {
    /// The number of its first step; steps are numbered through all classes.
    pub first: u32,
    /// Its pieces, one step each, by address.
    pub pieces: Vec<Piece>,
}

/// A step: a piece of the object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// First byte of the object that it makes.
    pub begin: u32,
    /// One past its last byte.
    pub end: u32,
    /// Slot and offset in the object of a vtable pointer that it contains, fully or in part.
    pub vptr: Option<(u32, u32)>,
    /// Bytes of the message that must be present.
    pub need: u32,
    /// Bytes of the message that it consumes: all that it needs, or none if further pieces read the
    /// same bytes.
    pub take: u32,
    /// The values of the message that it puts into the piece, fully or in part.
    pub reads: Vec<Read>,
    /// The checks, in message order; empty if an earlier piece has made them.
    pub checks: Vec<Check>,
}

/// A value on the wire and its place in the object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Read {
    /// Path of the member; elements of arrays with their index.
    pub name: String,
    /// Its offset in the step's window, in bytes.
    pub wire_at: u32,
    /// Its offset in the object, in bytes.
    pub at: u32,
    /// Its kind.
    pub kind: Kind,
    /// Its index among the references of the step, if it is one.
    pub reference: Option<u32>,
}

/// A value that must be present, and be valid.
pub type Check = Read;

impl Plan {
    /// Plans a circuit.
    ///
    /// # Errors
    ///
    /// As [`super::generate`].
    pub fn new(layout: &Layout, options: &Options) -> Result<Self, Refusal> {
        check_options(options)?;
        let widths: &[u32] = match options.beat_bytes {
            Some(16) => &[16],
            Some(32) => &[32],
            Some(64) => &[64],
            Some(_) => return Err(Refusal::new("width", "can be 16, 32 or 64 bytes")),
            None => &[16, 32, 64],
        };
        // The smallest width at which every class is one step, or else the largest supported.
        let mut best = None;
        for &beat_bytes in widths {
            let planned = plan(layout, options.objects_max, beat_bytes);
            let done =
                planned.as_ref().is_ok_and(|plan| plan.classes.iter().all(|c| c.pieces.len() == 1));
            if planned.is_ok() || best.is_none() {
                best = Some(planned);
            }
            if done {
                break;
            }
        }
        best.unwrap_or_else(|| Err(Refusal::new("width", "none is possible")))
    }

    /// Steps of all classes.
    pub fn steps(&self) -> usize {
        self.classes.iter().map(|class| class.pieces.len()).sum()
    }
}

fn check_options(options: &Options) -> Result<(), Refusal> {
    let mut letters = options.name.chars();
    let first = letters.next().is_some_and(|c| c.is_ascii_lowercase());
    if !first || !letters.all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_') {
        return Err(Refusal::new("name", "has to be lower_snake_case"));
    }
    if !options.objects_max.is_power_of_two() || !(64..=65_536).contains(&options.objects_max) {
        return Err(Refusal::new("objects", "has to be a power of two from 64 to 65,536"));
    }
    Ok(())
}

fn plan(layout: &Layout, objects_max: u32, beat_bytes: u32) -> Result<Plan, Refusal> {
    let region_align = layout.region_align();
    let sizes = layout.classes.iter().map(|class| class.size);
    let step_of_sizes = sizes.fold(0_u32, |all, size| all | size);
    let common = 1 << step_of_sizes.trailing_zeros().min(31);
    let least = layout.classes.iter().map(|class| class.align).min().unwrap_or(1);
    // If all sizes are multiples of the largest alignment, no object needs padding before it.
    let gapless = common >= region_align;
    let granule_bytes = if gapless { common } else { least }.min(beat_bytes);
    if region_align > beat_bytes {
        let what = format!("alignment of {region_align} bytes is more than a beat of {beat_bytes}");
        return Err(Refusal::new("width", what));
    }
    let skip_max = if gapless { 0 } else { region_align / granule_bytes - 1 };
    let mut made = Plan {
        beat_bytes,
        step_bytes: 1,
        granule_bytes,
        refs: 1,
        objects_max,
        skip_max,
        classes: Vec::new(),
    };
    let mut first = 0;
    for class in &layout.classes {
        let pieces = pieces(class, layout, &made)?;
        for piece in &pieces {
            made.step_bytes = made.step_bytes.max(piece.need);
            let refs = piece.checks.iter().filter_map(|check| check.reference).max();
            made.refs = made.refs.max(refs.map_or(1, |last| last + 1));
        }
        let steps = u32::try_from(pieces.len()).unwrap_or(u32::MAX);
        made.classes.push(Class { first, pieces });
        first += steps;
        if first as usize > STEPS_MAX {
            let reason = format!("brings the circuit to more than {STEPS_MAX} steps");
            return Err(Refusal::new(class.name.as_str(), reason));
        }
    }
    Ok(made)
}

/// A single value of a class, with arrays expanded.
struct Value {
    name: String,
    at: u32,
    end: u32,
    wire_bytes: u32,
    kind: Kind,
}

fn values(
    class: &arrowsmith_graph::layout::Class,
    pointer_bytes: u32,
) -> Result<Vec<Value>, Refusal> {
    let mut all = Vec::new();
    for member in &class.members {
        let path = || format!("{}::{}", class.name, member.name);
        if member.kind.is_variable() {
            return Err(Refusal::new(
                path(),
                "strings and containers have no fixed length; circuits make fixed objects only",
            ));
        }
        if member.count as usize > STEPS_MAX * 64 {
            return Err(Refusal::new(path(), format!("has {} elements", member.count)));
        }
        for index in 0..member.count {
            all.push(value(member, index, pointer_bytes));
        }
    }
    Ok(all)
}

fn value(member: &Member, index: u32, pointer_bytes: u32) -> Value {
    let name =
        if member.count == 1 { member.name.clone() } else { format!("{}[{index}]", member.name) };
    let bytes = match &member.kind {
        Kind::Bits(Bits { bit_offset, bit_size, .. }) => (bit_offset + bit_size).div_ceil(8),
        kind => kind.bytes(pointer_bytes).unwrap_or(0),
    };
    let at = member.offset + index * bytes;
    let wire_bytes = member.kind.wire_bytes();
    Value { name, at, end: at + bytes, wire_bytes, kind: member.kind.clone() }
}

/// Values from one cut to the next.
struct Group {
    values: std::ops::Range<usize>,
    begin: u32,
    end: u32,
    wire_bytes: u32,
    refs: usize,
}

fn pieces(
    class: &arrowsmith_graph::layout::Class,
    layout: &Layout,
    widths: &Plan,
) -> Result<Vec<Piece>, Refusal> {
    let values = values(class, layout.target.pointer_bytes)?;
    // The first piece of an object may have to share its beat with padding before the object.
    let first_bytes = widths.beat_bytes - widths.skip_max * widths.granule_bytes;
    let mut groups: Vec<Group> = Vec::new();
    for group in cut(&values, class.size, widths.granule_bytes) {
        let room = if groups.len() <= 1 { first_bytes } else { widths.beat_bytes };
        match groups.last_mut() {
            Some(last)
                if last.wire_bytes + group.wire_bytes <= widths.beat_bytes
                    && last.refs + group.refs <= REFS_GOAL
                    && group.end - last.begin <= room =>
            {
                last.values.end = group.values.end;
                last.end = group.end;
                last.wire_bytes += group.wire_bytes;
                last.refs += group.refs;
            }
            _ => groups.push(group),
        }
    }
    let mut pieces = Vec::new();
    for group in &groups {
        if group.wire_bytes > widths.beat_bytes || group.refs > REFS_MAX {
            let name = values.get(group.values.start).map_or("", |value| value.name.as_str());
            let reason = format!(
                "the members from here on that lie in memory in another order than on the wire have {} bytes and {} references; \
                 a step has at most {} and {REFS_MAX}",
                group.wire_bytes, group.refs, widths.beat_bytes
            );
            return Err(Refusal::new(format!("{}::{name}", class.name), reason));
        }
        let reads = reads(&values[group.values.clone()]);
        let mut begin = group.begin;
        while begin < group.end {
            let room = if begin == 0 { first_bytes } else { widths.beat_bytes };
            let end = piece_end(class, begin, group.end.min(begin + room), widths.granule_bytes);
            let last = end == group.end;
            let vptr = class.vptrs.iter().find(|vptr| {
                vptr.offset < end && vptr.offset + layout.target.pointer_bytes > begin
            });
            pieces.push(Piece {
                begin,
                end,
                vptr: vptr.map(|vptr| (vptr.slot, vptr.offset)),
                need: group.wire_bytes,
                take: if last { group.wire_bytes } else { 0 },
                checks: if begin == group.begin { reads.clone() } else { Vec::new() },
                reads: reads.clone(),
            });
            begin = end;
        }
    }
    Ok(pieces)
}

/// The end of a piece, such that it contains at most one vtable pointer.
fn piece_end(
    class: &arrowsmith_graph::layout::Class,
    begin: u32,
    end: u32,
    granule_bytes: u32,
) -> u32 {
    let mut within = class.vptrs.iter().filter(|vptr| vptr.offset >= begin && vptr.offset < end);
    match (within.next(), within.next()) {
        (Some(_), Some(second)) => {
            (second.offset / granule_bytes * granule_bytes).max(begin + granule_bytes)
        }
        _ => end,
    }
}

/// Values as reads of one window.
fn reads(values: &[Value]) -> Vec<Read> {
    let mut wire_at = 0;
    let mut references = 0;
    values
        .iter()
        .map(|value| {
            let reference = matches!(value.kind, Kind::Pointer(_)).then(|| {
                references += 1;
                references - 1
            });
            let read = Read {
                name: value.name.clone(),
                wire_at,
                at: value.at,
                kind: value.kind.clone(),
                reference,
            };
            wire_at += value.wire_bytes;
            read
        })
        .collect()
}

/// Cuts values into the smallest groups that are consecutive in memory.
fn cut(values: &[Value], size: u32, granule_bytes: u32) -> Vec<Group> {
    // The lowest offset of each value and all later ones.
    let mut lowest = vec![size; values.len() + 1];
    for index in (0..values.len()).rev() {
        lowest[index] = lowest[index + 1].min(values[index].at);
    }
    let mut groups = Vec::new();
    let mut start = 0;
    let mut begin = 0;
    let mut highest = 0;
    for index in 0..values.len() {
        highest = highest.max(values[index].end);
        let border = lowest[index + 1] / granule_bytes * granule_bytes;
        let is_last = index + 1 == values.len();
        if is_last || (border >= highest && border > begin) {
            let end = if is_last { size } else { border };
            let wire_bytes = values[start..=index].iter().map(|value| value.wire_bytes).sum();
            let refs =
                values[start..=index].iter().filter(|v| matches!(v.kind, Kind::Pointer(_))).count();
            groups.push(Group { values: start..index + 1, begin, end, wire_bytes, refs });
            start = index + 1;
            begin = end;
        }
    }
    if groups.is_empty() {
        groups.push(Group { values: 0..0, begin: 0, end: size, wire_bytes: 0, refs: 0 });
    }
    groups
}

impl Read {
    /// The reference that it is, if it is one.
    pub const fn pointer(&self) -> Option<&Reference> {
        match &self.kind {
            Kind::Pointer(reference) => Some(reference),
            _ => None,
        }
    }

    /// The valid values, whether they are signed, and the width on the wire; `None` if there is
    /// nothing to check.
    pub fn range(&self) -> Option<([i64; 2], bool, u32)> {
        match &self.kind {
            Kind::Integer(Integer { range: Some(range), signed, wire_bytes, .. }) => {
                Some((*range, *signed, *wire_bytes))
            }
            Kind::Bits(bits) => {
                let shift = bits.bit_size.clamp(1, 64);
                let fit = match (bits.signed, shift) {
                    (true, _) => [i64::MIN >> (64 - shift), i64::MAX >> (64 - shift)],
                    (false, 64) => return bits.range.map(|r| (r, false, bits.wire_bytes)),
                    (false, _) => [0, i64::MAX >> (63 - shift)],
                };
                Some((bits.range.unwrap_or(fit), bits.signed, bits.wire_bytes))
            }
            _ => None,
        }
    }
}
