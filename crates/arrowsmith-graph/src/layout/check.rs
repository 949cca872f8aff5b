// SPDX-License-Identifier: Apache-2.0
//! Validates a layout: all properties that readers and writers rely on are checked here, once, and
//! nowhere else.

use super::{
    CLASSES_MAX, Choice, Class, DEPTH_MAX, Element, FORMAT, Kind, Layout, LayoutError, MEMBERS_MAX,
    Member, OBJECT_BYTES_MAX, Reference, wire_bytes_min,
};

/// Maximum bytes of an object on the wire, without the content of its strings and vectors.
const WIRE_BYTES_MAX: u64 = 1 << 24;

type Result = std::result::Result<(), LayoutError>;

impl Layout {
    /// Checks that sizes, offsets and type ids agree and that no members overlap.
    ///
    /// # Errors
    ///
    /// The first inconsistency, by name.
    pub fn check(&self) -> Result {
        let invalid = |message: String| Err(LayoutError::new("", message));
        if self.format != FORMAT {
            return invalid(format!(
                "form {} of a layout is not known; this is {FORMAT}",
                self.format
            ));
        }
        if !matches!(self.target.pointer_bytes, 4 | 8) {
            return invalid(format!("a pointer has {} bytes", self.target.pointer_bytes));
        }
        if self.classes.is_empty() || self.classes.len() > CLASSES_MAX {
            return invalid(format!("{} classes; 1 to {CLASSES_MAX} can be", self.classes.len()));
        }
        let mut slot = 0;
        for (index, class) in self.classes.iter().enumerate() {
            if usize::try_from(class.type_id) != Ok(index) {
                return Err(fault(class, "", format!("type id {} at {index}", class.type_id)));
            }
            self.class_makes_sense(class, &mut slot)?;
        }
        self.reference("root", &self.root)
    }

    fn class_makes_sense(&self, class: &Class, slot: &mut u32) -> Result {
        if class.size == 0 || u64::from(class.size) > OBJECT_BYTES_MAX {
            return Err(fault(class, "", format!("has a size of {} bytes", class.size)));
        }
        if !class.align.is_power_of_two() || !class.size.is_multiple_of(class.align) {
            return Err(fault(class, "", format!("has an alignment of {}", class.align)));
        }
        let mut taken = Vec::new();
        for vptr in &class.vptrs {
            if vptr.slot != *slot {
                return Err(fault(class, "", format!("has slot {} for {slot}", vptr.slot)));
            }
            *slot += 1;
            taken.push(bits(
                vptr.offset,
                u64::from(self.target.pointer_bytes),
                class.size,
                || fault(class, "", "has a vtable pointer outside of it".into()),
            )?);
        }
        self.members(&class.name, &class.members, class.size, taken, 0)
    }

    fn members(
        &self,
        path: &str,
        members: &[Member],
        size: u32,
        mut taken: Vec<(u64, u64)>,
        depth: usize,
    ) -> Result {
        if members.len() > MEMBERS_MAX {
            return Err(LayoutError::new(path, format!("has more than {MEMBERS_MAX} members")));
        }
        if depth > DEPTH_MAX {
            return Err(LayoutError::new(path, format!("nests vectors deeper than {DEPTH_MAX}")));
        }
        let mut wire_bytes = 0_u64;
        for member in members {
            let path = format!("{path}::{}", member.name);
            let bad = |message: &str| LayoutError::new(path.as_str(), message);
            let single = matches!(member.kind, Kind::Bits(_)) || member.kind.is_variable();
            if member.count == 0 || (single && member.count != 1) {
                return Err(bad("has a count that cannot be"));
            }
            wire_bytes += u64::from(member.kind.wire_bytes()) * u64::from(member.count);
            if wire_bytes > WIRE_BYTES_MAX {
                return Err(bad("takes the object's size on the wire above the limit"));
            }
            let outside = || bad("is outside of the object");
            taken.push(match member.kind.bytes(self.target.pointer_bytes) {
                Some(bytes) => {
                    bits(member.offset, u64::from(bytes) * u64::from(member.count), size, outside)?
                }
                None => {
                    let Kind::Bits(field) = &member.kind else { return Err(outside()) };
                    let begin = u64::from(member.offset) * 8 + u64::from(field.bit_offset);
                    let end = begin + u64::from(field.bit_size);
                    if end > u64::from(size) * 8 {
                        return Err(outside());
                    }
                    (begin, end)
                }
            });
            self.kind(&path, &member.kind, depth)?;
        }
        taken.sort_unstable();
        match taken.windows(2).find(|pair| pair[0].1 > pair[1].0) {
            Some(pair) => {
                Err(LayoutError::new(path, format!("has two members at byte {}", pair[1].0 / 8)))
            }
            None => Ok(()),
        }
    }

    fn kind(&self, path: &str, kind: &Kind, depth: usize) -> Result {
        let width = |bytes: u32| matches!(bytes, 1 | 2 | 4 | 8);
        let ordered = |range: Option<[i64; 2]>| range.is_none_or(|[low, high]| low <= high);
        match kind {
            Kind::Integer(integer) => {
                let fits = integer.wire_bytes <= integer.bytes;
                if !width(integer.bytes) || !width(integer.wire_bytes) || !fits {
                    return Err(LayoutError::new(
                        path,
                        format!("{} bytes cannot be sent as {}", integer.bytes, integer.wire_bytes),
                    ));
                }
                if !ordered(integer.range) {
                    return Err(LayoutError::new(path, "has a range without values"));
                }
                Ok(())
            }
            Kind::Bits(field) => {
                let size = (1..=64).contains(&field.bit_size) && field.bit_offset < 8;
                if !size
                    || field.bit_offset + field.bit_size > 64
                    || !width(field.wire_bytes)
                    || field.wire_bytes * 8 < field.bit_size
                    || !ordered(field.range)
                {
                    return Err(LayoutError::new(path, "is a bit-field that cannot be"));
                }
                Ok(())
            }
            Kind::Float { bytes: 4 | 8 } | Kind::String | Kind::View => Ok(()),
            Kind::Choice(choice) => self.choice(path, choice, depth),
            Kind::Float { bytes } => {
                Err(LayoutError::new(path, format!("is a float of {bytes} bytes")))
            }
            Kind::Pointer(reference) => self.reference(path, reference),
            Kind::Vector(element) => self.element(path, element, depth),
        }
    }

    fn choice(&self, path: &str, choice: &Choice, depth: usize) -> Result {
        let bad = |message: &str| Err(LayoutError::new(path, message));
        if !(1..=255).contains(&choice.alternatives.len()) {
            return bad("has more alternatives than a byte can number, or none");
        }
        if choice.bytes == 0 || choice.tag_offset >= choice.bytes {
            return bad("has the number of its alternative outside of it");
        }
        let tag = u64::from(choice.tag_offset) * 8;
        for alternative in &choice.alternatives {
            let path = format!("{path}<{}>", alternative.name);
            let taken = vec![(tag, tag + 8)];
            self.members(&path, &alternative.members, choice.bytes, taken, depth + 1)?;
        }
        Ok(())
    }

    fn element(&self, path: &str, element: &Element, depth: usize) -> Result {
        let Element { size, align, members, .. } = element;
        let sized = *size > 0 && u64::from(*size) <= OBJECT_BYTES_MAX;
        if !sized || !align.is_power_of_two() || !size.is_multiple_of(*align) {
            return Err(LayoutError::new(path, "has elements of a size that cannot be"));
        }
        self.members(&format!("{path}[]"), members, *size, Vec::new(), depth + 1)?;
        if wire_bytes_min(members) == 0 {
            return Err(LayoutError::new(path, "has elements without members to send"));
        }
        element.check_form(path)
    }

    fn reference(&self, path: &str, reference: &Reference) -> Result {
        let ascending = reference.targets.windows(2).all(|pair| pair[0].type_id < pair[1].type_id);
        if reference.targets.is_empty() || !ascending {
            return Err(LayoutError::new(path, "has targets that are none, or not in order"));
        }
        for target in &reference.targets {
            let index = usize::try_from(target.type_id).unwrap_or(usize::MAX);
            let within = self.classes.get(index).is_some_and(|class| target.adjust < class.size);
            if !within {
                let message = format!("may not point into a class {}", target.type_id);
                return Err(LayoutError::new(path, message));
            }
        }
        Ok(())
    }
}

fn fault(class: &Class, member: &str, message: String) -> LayoutError {
    let path =
        if member.is_empty() { class.name.clone() } else { format!("{}::{member}", class.name) };
    LayoutError::new(path, message)
}

/// The bits that `bytes` at `offset` take, if they are within `size` bytes.
fn bits(
    offset: u32,
    bytes: u64,
    size: u32,
    outside: impl FnOnce() -> LayoutError,
) -> std::result::Result<(u64, u64), LayoutError> {
    let begin = u64::from(offset);
    match begin.checked_add(bytes) {
        Some(end) if end <= u64::from(size) => Ok((begin * 8, end * 8)),
        _ => Err(outside()),
    }
}
