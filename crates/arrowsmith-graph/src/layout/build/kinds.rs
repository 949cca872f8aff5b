// SPDX-License-Identifier: Apache-2.0
//! The kind of a member, from its type: numbers, enumerations, pointers, vectors and strings of the
//! library, bit-fields; and the alignment of a type.
//!
//! The member's offset in its class is computed by the walk, one level up.

use gimli::constants as dw;

use super::super::annotate::MemberNote;
use super::super::classes::{NESTING_MAX, qualified, strip};
use super::super::dwarf::Entry;
use super::super::{
    Alternative, Bits, Choice, Integer, Kind, Meaning, Member, OPTIONAL_NONE, Reference,
};
use super::containers::only_declared;
use super::members::add;
use super::{Builder, Parts, Place, Result, narrow, unique_names};

impl Builder<'_> {
    /// The kind of a number, an enumeration or a pointer.
    pub(super) fn scalar(&mut self, ty: usize, place: &Place) -> Result<Kind> {
        let entry = &self.debug.entries[ty];
        let bytes = entry.byte_size.unwrap_or(0);
        let name = || entry.name.clone().unwrap_or_else(|| "(unnamed)".into());
        match entry.tag {
            dw::DW_TAG_base_type => {
                let (signed, range) = match entry.encoding {
                    Some(dw::DW_ATE_float) if matches!(bytes, 4 | 8) => {
                        return Ok(Kind::Float { bytes: narrow(&place.class, bytes)? });
                    }
                    Some(dw::DW_ATE_boolean) => (false, Some([0, 1])),
                    Some(dw::DW_ATE_signed | dw::DW_ATE_signed_char) => (true, None),
                    Some(dw::DW_ATE_unsigned | dw::DW_ATE_unsigned_char | dw::DW_ATE_UTF) => {
                        (false, None)
                    }
                    _ => {
                        return Err(
                            place.error("", format!("is a {}, which cannot be sent", name()))
                        );
                    }
                };
                let meaning = match (entry.encoding, entry.name.as_deref()) {
                    (Some(dw::DW_ATE_boolean), _) => Meaning::Boolean,
                    (_, Some("char")) => Meaning::Character,
                    _ => Meaning::Number,
                };
                self.integer(bytes, signed, range, meaning, &name(), place)
            }
            dw::DW_TAG_enumeration_type => {
                let values: Vec<i64> = entry
                    .children
                    .iter()
                    .filter_map(|&child| self.debug.entries[child].const_value)
                    .collect();
                let underlying = entry.ty.and_then(|ty| strip(self.debug, ty));
                let underlying = underlying.and_then(|ty| self.debug.entries[ty].encoding);
                let signed = match underlying.or(entry.encoding) {
                    Some(encoding) => {
                        matches!(encoding, dw::DW_ATE_signed | dw::DW_ATE_signed_char)
                    }
                    None => values.iter().any(|value| *value < 0),
                };
                // A fixed underlying type: every value of it is a value of the enumeration.
                let boolean = underlying == Some(dw::DW_ATE_boolean);
                let range = match self.has_fixed_type(entry, signed, &values) {
                    true => boolean.then_some([0, 1]),
                    // Beyond the range of i64, no range is made.
                    false if !signed && values.iter().any(|value| *value < 0) => None,
                    false => enumerators(&values),
                };
                let named = entry.children.iter().map(|&child| &self.debug.entries[child]);
                let named =
                    named.filter_map(|child| Some((child.name.clone()?, child.const_value?)));
                let meaning = Meaning::Enumerators(named.collect());
                self.integer(bytes, signed, range, meaning, &name(), place)
            }
            dw::DW_TAG_pointer_type => {
                let pointee = entry.ty.and_then(|ty| strip(self.debug, ty));
                self.pointer(pointee, place)
            }
            dw::DW_TAG_union_type => {
                Err(place
                    .error("", "is a union, whose active member is unknown; make it transient"))
            }
            dw::DW_TAG_reference_type | dw::DW_TAG_rvalue_reference_type => {
                Err(place.error("", "is a reference; a pointer can be sent"))
            }
            _ => Err(place.error("", format!("is of a kind that cannot be sent ({})", entry.tag))),
        }
    }

    /// Whether an enumeration is known to have a fixed underlying type. Compilers record a type for
    /// every enumeration; a typedef, or a type that they do not choose themselves, is a fixed one.
    /// Where both are possible, the type counts as not fixed: then a value beyond the bits of the
    /// enumerators is undefined behaviour.
    fn has_fixed_type(&self, entry: &Entry, signed: bool, values: &[i64]) -> bool {
        if entry.is_enum_class {
            return true;
        }
        let Some(ty) = entry.ty.map(|ty| &self.debug.entries[ty]) else { return false };
        if ty.tag != dw::DW_TAG_base_type {
            return true;
        }
        // Values of an unsigned type are negative here where i64 does not hold them.
        let small = match signed {
            true => values.iter().all(|value| i32::try_from(*value).is_ok()),
            false => values.iter().all(|value| u32::try_from(*value).is_ok()),
        };
        let wide = self.debug.target.pointer_bytes == 8;
        let chosen: &[&str] = match (small, signed, wide) {
            (true, true, _) => &["int"],
            (true, false, _) => &["unsigned int"],
            (false, true, true) => &["long int", "long"],
            (false, false, true) => &["long unsigned int", "unsigned long"],
            (false, true, false) => &["long long int", "long long"],
            (false, false, false) => &["long long unsigned int", "unsigned long long"],
        };
        let needed = !signed || values.iter().any(|value| *value < 0);
        !needed || !ty.name.as_deref().is_some_and(|name| chosen.contains(&name))
    }

    fn integer(
        &self,
        bytes: u64,
        signed: bool,
        range: Option<[i64; 2]>,
        meaning: Meaning,
        name: &str,
        place: &Place,
    ) -> Result<Kind> {
        if !matches!(bytes, 1 | 2 | 4 | 8) {
            return Err(place.error("", format!("is a {name} of {bytes} bytes")));
        }
        let bytes = narrow(&place.class, bytes)?;
        Ok(Kind::Integer(Integer { bytes, wire_bytes: bytes, signed, range, meaning }))
    }

    fn pointer(&mut self, pointee: Option<usize>, place: &Place) -> Result<Kind> {
        let class = pointee.filter(|&index| {
            let tag = self.debug.entries[index].tag;
            matches!(tag, dw::DW_TAG_class_type | dw::DW_TAG_structure_type)
        });
        let Some(class) = class else {
            let what = |p: usize| match self.debug.entries[p].tag {
                dw::DW_TAG_subroutine_type => "a function".to_owned(),
                _ => qualified(self.debug, p),
            };
            let what = pointee.map_or("an unknown type".to_owned(), what);
            let message = format!("points to {what}; only pointers to objects can be sent");
            return Err(place.error("", message));
        };
        let to = qualified(self.debug, class);
        if to.starts_with("std::") {
            return Err(
                place.error("", format!("points to a {to}, which is not an object of its own"))
            );
        }
        self.open.push(to.clone());
        Ok(Kind::Pointer(Reference { to, nullable: true, targets: Vec::new() }))
    }

    /// The kind of a class of the standard library; `None` for classes that are flattened to their
    /// members.
    pub(super) fn library(
        &mut self,
        class: &str,
        ty: usize,
        note: &MemberNote,
        place: &Place,
    ) -> Result<Option<Kind>> {
        if !class.starts_with("std::") {
            return Ok(None);
        }
        let pointer_bytes = u64::from(self.debug.target.pointer_bytes);
        let bytes = self.debug.entries[ty].byte_size;
        let is = |name: &str| class.starts_with(name);
        let size_is = |expected: u64| match bytes {
            Some(bytes) if bytes != expected => {
                Err(place.error("", format!("is a {class} of {bytes} bytes, not of {expected}")))
            }
            _ => Ok(()),
        };
        if is("std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char>>")
            || class == "std::__cxx11::string"
        {
            size_is(if pointer_bytes == 8 { 32 } else { 24 })?;
            return Ok(Some(Kind::String));
        }
        if is("std::unique_ptr<") {
            size_is(pointer_bytes)?;
            if self.element_of_array(ty) {
                let message = format!("is a {class}, whose length is unknown; use a std::vector");
                return Err(place.error("", message));
            }
            let pointee = self.argument(ty, class, place)?;
            return self.pointer(Some(pointee), place).map(Some);
        }
        if is("std::shared_ptr<") {
            // The pointer is the first word. A reader leaves the second one, the counter, null: the
            // region owns the object.
            size_is(2 * pointer_bytes)?;
            let pointee = self.argument(ty, class, place)?;
            return self.pointer(Some(pointee), place).map(Some);
        }
        if is("std::basic_string_view<char, ") || class == "std::string_view" {
            size_is(2 * pointer_bytes)?;
            return Ok(Some(Kind::View));
        }
        if is("std::optional<") || is("std::variant<") {
            return self.choice(class, ty, place).map(Some);
        }
        let reason = match class.split('<').next().unwrap_or_default() {
            "std::weak_ptr" => "owns nothing",
            "std::filesystem::path" | "std::filesystem::__cxx11::path" => "keeps its parsed parts",
            _ => "",
        };
        if !reason.is_empty() {
            let message = format!("is a {class}, which {reason}; make it transient");
            return Err(place.error("", message));
        }
        if is("std::vector<bool") {
            let message = "is a vector<bool>, whose elements are not objects";
            return Err(place.error("", message));
        }
        if let Some(kind) = self.container(class, ty, note, place)? {
            return Ok(Some(kind));
        }
        // These are exactly the members that debug information shows.
        let plain = [
            "array<",
            "pair<",
            "tuple<",
            "atomic<",
            "complex<",
            "bitset<",
            "chrono::",
            "__atomic_",
            "_Base_bitset<",
            "monostate",
        ];
        if plain.iter().any(|name| class["std::".len()..].starts_with(name)) {
            return Ok(None);
        }
        Err(place.error("", format!("is a {class}, which cannot be sent; make it transient")))
    }

    fn element_of_array(&self, ty: usize) -> bool {
        let mut arguments = self.arguments(ty);
        let first = arguments.next().and_then(|ty| strip(self.debug, ty));
        first.is_some_and(|ty| self.debug.entries[ty].tag == dw::DW_TAG_array_type)
    }

    /// The template arguments of a class that are types; those of a pack are among them.
    pub(super) fn arguments(&self, ty: usize) -> impl Iterator<Item = usize> + use<'_> {
        let children = self.debug.entries[ty].children.iter();
        children
            .map(|&child| &self.debug.entries[child])
            .filter(|child| child.tag == dw::DW_TAG_template_type_parameter)
            .filter_map(|child| child.ty)
    }

    /// An optional or a variant of libstdc++: the alternatives at its start, then the byte that
    /// says which.
    fn choice(&mut self, class: &str, ty: usize, place: &Place) -> Result<Kind> {
        let bytes = narrow(&place.class, self.debug.entries[ty].byte_size.unwrap_or(0))?;
        let types: Vec<usize> = self.arguments(ty).collect();
        let mut alternatives = Vec::new();
        let (mut end, mut align) = (0, 1);
        let mut refused = None;
        if class.starts_with("std::optional<") {
            alternatives.push(Alternative { name: OPTIONAL_NONE.into(), members: Vec::new() });
        }
        for ty in types {
            let Some(ty) = strip(self.debug, ty) else {
                return Err(place.error("", format!("is a {class} of an unknown type")));
            };
            let (members, size) = match self.by_value(ty, place) {
                Ok(of) => of,
                Err(error) => {
                    if let Some(before) = refused.replace(error) {
                        self.refuse::<()>(before)?;
                    }
                    continue;
                }
            };
            end = end.max(size);
            align = align.max(alignment(self.natural_align(ty, place.depth), size));
            alternatives.push(Alternative { name: qualified(self.debug, ty), members });
        }
        if let Some(error) = refused {
            return Err(error);
        }
        end = end.next_multiple_of(align);
        if alternatives.len() > 255 || end >= u64::from(bytes) {
            return Err(place.error("", format!("is a {class} of an unknown form")));
        }
        Ok(Kind::Choice(Choice { bytes, tag_offset: narrow(&place.class, end)?, alternatives }))
    }

    /// The members of a type by value, at offsets from its start, and its size.
    fn by_value(&mut self, ty: usize, place: &Place) -> Result<(Vec<Member>, u64)> {
        let inner = Place { offset: 0, depth: place.depth + 1, ..place.clone() };
        let size = self.size_of(ty);
        if qualified(self.debug, ty) == "std::monostate" {
            return Ok((Vec::new(), size));
        }
        let mut parts = Parts { align: 1, ..Parts::default() };
        self.held(ty, &inner, &inner.prefix, &mut parts)?;
        Ok((unique_names(parts.members), size))
    }

    /// Adds the members of a type that is held by value, named from a path that their place begins
    /// with.
    pub(super) fn held(
        &mut self,
        ty: usize,
        inner: &Place,
        from: &str,
        parts: &mut Parts,
    ) -> Result<()> {
        let before = parts.members.len();
        self.value(ty, &MemberNote::default(), inner, false, parts)?;
        if !parts.vptrs.is_empty() {
            return Err(inner.error("", "is an object with virtual functions held by value"));
        }
        for member in &mut parts.members[before..] {
            let name = member.name.strip_prefix(from).unwrap_or(&member.name);
            member.name = name.trim_start_matches('.').to_owned();
        }
        Ok(())
    }

    /// The first template argument of a class.
    fn argument(&self, ty: usize, class: &str, place: &Place) -> Result<usize> {
        let children = self.debug.entries[ty].children.iter();
        let mut arguments = children
            .map(|&child| &self.debug.entries[child])
            .filter(|child| child.tag == dw::DW_TAG_template_type_parameter);
        let argument = arguments.next().and_then(|entry| entry.ty);
        let argument = argument.and_then(|ty| strip(self.debug, ty));
        argument.ok_or_else(|| only_declared(class, place))
    }

    pub(super) fn bit_field(
        &mut self,
        entry: &Entry,
        ty: usize,
        bit_size: u64,
        note: &MemberNote,
        place: &Place,
        parts: &mut Parts,
    ) -> Result<()> {
        let name = entry.name.clone().unwrap_or_default();
        if name.is_empty() {
            // Unnamed bit-fields: only padding.
            return Ok(());
        }
        let inner = Place { prefix: format!("{}{name}", place.prefix), ..place.clone() };
        let Kind::Integer(integer) = self.scalar(ty, &inner)? else {
            return Err(inner.error("", "is a bit-field of no integer"));
        };
        if note.range.is_some_and(|[low, high]| low > high) {
            return Err(inner.error("", "has a range without values"));
        }
        let begin = match (entry.data_bit_offset, entry.bit_offset_msb) {
            (Some(bits), _) => Some(bits),
            (None, Some(msb)) => {
                let unit = entry.byte_size.unwrap_or(u64::from(integer.bytes)) * 8;
                let low = unit.checked_sub(msb.saturating_add(bit_size));
                low.map(|low| entry.member_offset.unwrap_or(0) * 8 + low)
            }
            (None, None) => entry.member_offset.map(|offset| offset * 8),
        };
        let Some(begin) = begin.filter(|_| (1..=64).contains(&bit_size)) else {
            return Err(inner.error("", "is a bit-field at no offset"));
        };
        let begin = place.offset * 8 + begin;
        parts.align = parts.align.max(self.natural_align(ty, place.depth));
        let full = if integer.signed {
            [-(1_i128 << (bit_size - 1)), (1_i128 << (bit_size - 1)) - 1]
        } else {
            [0, (1_i128 << bit_size) - 1]
        };
        let wanted = if note.unchecked { None } else { note.range.or(integer.range) };
        let range =
            wanted.filter(|[low, high]| i128::from(*low) > full[0] || i128::from(*high) < full[1]);
        if note.wire.is_some() || note.not_null {
            return Err(
                inner.error("", "is a bit-field; its width on the wire is the least that holds it")
            );
        }
        let bit_size = narrow(&place.class, bit_size)?;
        let wire_bytes = bit_size.div_ceil(8).next_power_of_two();
        let bits = Bits {
            bit_offset: narrow(&place.class, begin % 8)?,
            bit_size,
            wire_bytes,
            signed: integer.signed,
            range,
            meaning: integer.meaning,
        };
        let at = Place { offset: begin / 8, ..inner };
        add(parts, &at, 1, Kind::Bits(bits))
    }

    /// The natural alignment of a type.
    pub(super) fn natural_align(&mut self, ty: usize, depth: usize) -> u64 {
        if let Some(align) = self.aligns.get(&ty) {
            return *align;
        }
        // For a type that contains itself, which cannot be compiled.
        self.aligns.insert(ty, 1);
        let entry = &self.debug.entries[ty];
        let own = entry.alignment.unwrap_or(1);
        let word = u64::from(self.debug.target.pointer_bytes);
        let inner: Vec<usize> = match entry.tag {
            dw::DW_TAG_array_type => entry.ty.into_iter().collect(),
            dw::DW_TAG_class_type | dw::DW_TAG_structure_type | dw::DW_TAG_union_type => {
                let children = entry.children.iter().map(|&child| &self.debug.entries[child]);
                let parts = children.filter(|child| {
                    matches!(child.tag, dw::DW_TAG_member | dw::DW_TAG_inheritance)
                        && !child.is_static
                });
                parts.filter_map(|child| child.ty).collect()
            }
            _ => Vec::new(),
        };
        let mut align = match entry.tag {
            dw::DW_TAG_base_type | dw::DW_TAG_enumeration_type => {
                let bytes = entry.byte_size.unwrap_or(1);
                // i386 aligns numbers of 8 bytes in classes to 4.
                if word == 4 { bytes.min(4) } else { bytes.min(16) }
            }
            dw::DW_TAG_array_type
            | dw::DW_TAG_class_type
            | dw::DW_TAG_structure_type
            | dw::DW_TAG_union_type => 1,
            _ => word,
        };
        if depth < NESTING_MAX {
            for ty in inner {
                if let Some(ty) = strip(self.debug, ty) {
                    align = align.max(self.natural_align(ty, depth + 1));
                }
            }
        }
        align = align.max(own);
        self.aligns.insert(ty, align);
        align
    }
}

/// The values of an enumeration without a fixed type, as C++ defines them: those of the smallest
/// bit-field that holds every enumerator.
fn enumerators(values: &[i64]) -> Option<[i64; 2]> {
    let (low, high) = (*values.iter().min()?, *values.iter().max()?);
    let bits = |value: i64| 64 - (if value < 0 { !value } else { value }).leading_zeros();
    if low >= 0 {
        // At least one bit; at most 63, as the values are i64.
        let bits = bits(high).max(1);
        Some([0, i64::try_from((1_u64 << bits) - 1).unwrap_or(i64::MAX)])
    } else {
        let magnitude = bits(low).max(bits(high));
        let end = 1_i128 << magnitude;
        Some([i64::try_from(-end).ok()?, i64::try_from(end - 1).ok()?])
    }
}

/// An alignment that divides the size: packed classes have less than their members would have on
/// their own.
pub(super) fn alignment(natural: u64, size: u64) -> u64 {
    let natural = natural.clamp(1, 4_096).next_power_of_two();
    if size == 0 { natural } else { natural.min(1 << size.trailing_zeros()) }
}
