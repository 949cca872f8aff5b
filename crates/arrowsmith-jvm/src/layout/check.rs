// SPDX-License-Identifier: Apache-2.0
//! Validation: invalid names, cycles, and sizes beyond the limits are refused.

use super::{
    CLASSES_MAX, Class, DEPTH_MAX, FIELDS_ALL_MAX, FIELDS_MAX, Layout, Length, OBJECT_BYTES_MAX,
    Type,
};
use crate::error::JvmError;

/// Java's reserved words.
const RESERVED: &str = " abstract assert boolean break byte case catch char class const continue \
    default do double else enum extends final finally float for goto if implements import instanceof \
    int interface long native new package private protected public return short static strictfp super \
    switch synchronized this throw throws transient try void volatile while true false null _ ";

/// Names of the methods that every object has.
const NO_COMPONENTS: [&str; 8] =
    ["clone", "finalize", "getClass", "hashCode", "notify", "notifyAll", "toString", "wait"];

/// Maximum bytes of a name.
const NAME_BYTES_MAX: usize = 200;

/// An identifier of ASCII letters, digits and `_` that is not a reserved word of Java.
pub(crate) fn identifier(name: &str) -> Result<(), String> {
    let mut bytes = name.bytes();
    let first = bytes.next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_');
    if !first || !bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
        return Err(format!("{name:.60?} is not a Java identifier of ASCII letters, digits and _"));
    }
    if name.len() > NAME_BYTES_MAX {
        return Err(format!("the name {name:.20}… has more than {NAME_BYTES_MAX} characters"));
    }
    if RESERVED.contains(&format!(" {name} ")) {
        return Err(format!("{name:?} is a word of Java"));
    }
    Ok(())
}

/// The name of a generated class: an identifier that begins with a capital, so that it cannot hide
/// a package.
pub(super) fn class_name(name: &str) -> Result<(), String> {
    identifier(name)?;
    if name.starts_with(|first: char| first.is_ascii_uppercase()) {
        Ok(())
    } else {
        Err(format!("the name of a class begins with a capital, {name:?} does not"))
    }
}

/// Checks all of a layout: counts, cycles, depth, sizes; drops classes that are unreachable from
/// the root.
pub(crate) fn finish(layout: Layout) -> Result<Layout, JvmError> {
    let too_many = |what: &str, limit: usize| JvmError::TooLarge {
        what: what.to_owned(),
        limit: limit as u64,
    };
    if layout.classes.len() > CLASSES_MAX {
        return Err(too_many("the number of classes", CLASSES_MAX));
    }
    for class in &layout.classes {
        if class.fields.len() > FIELDS_MAX {
            return Err(too_many(&format!("the number of fields of {}", class.java), FIELDS_MAX));
        }
        for (at, field) in class.fields.iter().enumerate() {
            if class.fields[..at].iter().any(|other| other.name == field.name) {
                return Err(JvmError::unsupported(
                    format!("{}.{}", class.java, field.name),
                    "there are two fields of this name",
                ));
            }
        }
    }
    let mut state = vec![State::Unseen; layout.classes.len()];
    let mut order = Vec::new();
    let name = layout.root().java.clone();
    visit(&layout, 0, &name, 1, &mut state, &mut order)?;
    let layout = reached(layout, &order);
    let fields: usize = layout.classes.iter().map(|class| class.fields.len()).sum();
    if fields > FIELDS_ALL_MAX {
        return Err(too_many("the number of all fields", FIELDS_ALL_MAX));
    }
    // A constructor takes 255 words, of which a long or a double is two.
    if let Some(class) = layout.classes.iter().find(|class| class.record && words(class) > 254) {
        return Err(too_many(&format!("the components of the record {}", class.java), 254));
    }
    for class in layout.classes.iter().filter(|class| class.record) {
        if let Some(field) = class.fields.iter().find(|field| NO_COMPONENTS.contains(&&*field.name))
        {
            let path = format!("{}.{}", class.java, field.name);
            return Err(JvmError::unsupported(path, "no component of a record may be called so"));
        }
    }
    match class_bytes(&layout, 0) {
        Some(bytes) if bytes <= OBJECT_BYTES_MAX => {}
        _ => {
            return Err(JvmError::TooLarge {
                what: format!("the size of {}, with all that it holds,", layout.root().java),
                limit: OBJECT_BYTES_MAX,
            });
        }
    }
    if !layout.classes.iter().any(|class| class.fields.iter().any(|field| has_data(&field.ty))) {
        let path = layout.root().java.clone();
        return Err(JvmError::unsupported(path, "there is no primitive and no string in it"));
    }
    Ok(layout)
}

fn words(class: &Class) -> usize {
    let of = |field: &super::Field| match field.ty {
        Type::Primitive(primitive) if primitive.bytes() == 8 => 2,
        _ => 1,
    };
    class.fields.iter().map(of).sum()
}

fn has_data(ty: &Type) -> bool {
    match ty {
        Type::Primitive(_) | Type::String { .. } => true,
        Type::Object { .. } => false,
        Type::Array { element, .. } => has_data(element),
    }
}

/// The state of a class in the traversal. Each is visited once: a tree of classes can have
/// exponentially many paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Unseen,
    /// On the path from the root.
    Open,
    /// With the depth of its nested objects.
    Done(usize),
}

/// Depth first; returns the depth of the class including its nested objects.
fn visit(
    layout: &Layout,
    class: usize,
    path: &str,
    depth: usize,
    state: &mut [State],
    order: &mut Vec<usize>,
) -> Result<usize, JvmError> {
    let too_deep = || JvmError::TooLarge {
        what: "the depth of objects in objects".to_owned(),
        limit: DEPTH_MAX as u64,
    };
    if depth > DEPTH_MAX {
        return Err(too_deep());
    }
    state[class] = State::Open;
    order.push(class);
    let mut below = 0;
    for field in &layout.classes[class].fields {
        let mut ty = &field.ty;
        let mut path = format!("{path}.{}", field.name);
        while let Type::Array { element, .. } = ty {
            path.push_str("[]");
            ty = element;
        }
        let Type::Object { class: child, .. } = ty else { continue };
        let deep = match state[*child] {
            State::Open => {
                let reason =
                    format!("{} holds itself; objects must be trees", layout.classes[*child].java);
                return Err(JvmError::unsupported(path, reason));
            }
            State::Done(deep) if depth + deep > DEPTH_MAX => return Err(too_deep()),
            State::Done(deep) => deep,
            State::Unseen => visit(layout, *child, &path, depth + 1, state, order)?,
        };
        below = below.max(deep);
    }
    state[class] = State::Done(below + 1);
    Ok(below + 1)
}

/// Keeps only the classes of an order, renumbered.
fn reached(layout: Layout, order: &[usize]) -> Layout {
    let place = |class: usize| order.iter().position(|found| *found == class).unwrap_or(0);
    let classes = order.iter().map(|class| {
        let mut class: Class = layout.classes[*class].clone();
        class.fields.iter_mut().for_each(|field| renumber(&mut field.ty, &place));
        class
    });
    Layout { classes: classes.collect(), ..layout }
}

/// Renumbers the classes that a type names.
pub(super) fn renumber(ty: &mut Type, place: &impl Fn(usize) -> usize) {
    match ty {
        Type::Object { class, .. } => *class = place(*class),
        Type::Array { element, .. } => renumber(element, place),
        Type::Primitive(_) | Type::String { .. } => {}
    }
}

/// Bytes of the largest object of a class, each class visited once.
fn sized(layout: &Layout, class: usize, known: &mut [Option<u64>]) -> Option<u64> {
    if let Some(bytes) = known[class] {
        return Some(bytes);
    }
    let mut sum = 0_u64;
    for field in &layout.classes[class].fields {
        sum = sum.checked_add(value(layout, &field.ty, known)?)?;
    }
    known[class] = Some(sum);
    Some(sum)
}

fn value(layout: &Layout, ty: &Type, known: &mut [Option<u64>]) -> Option<u64> {
    match ty {
        Type::Primitive(primitive) => Some(u64::from(primitive.bytes())),
        // A character is at most three bytes of UTF-8, or half of a four-byte one.
        Type::String { chars_max, .. } => u64::from(*chars_max).checked_mul(3)?.checked_add(4),
        Type::Object { class, nullable } => {
            sized(layout, *class, known)?.checked_add(u64::from(*nullable))
        }
        Type::Array { element, length, nullable } => {
            let exact = matches!(length, Length::Exact(_)) && !nullable;
            let all = value(layout, element, known)?.checked_mul(u64::from(length.most()))?;
            all.checked_add(if exact { 0 } else { 4 })
        }
    }
}

/// Bytes of a written value, `None` on overflow.
pub(super) fn bytes(layout: &Layout, ty: &Type) -> Option<u64> {
    value(layout, ty, &mut vec![None; layout.classes.len()])
}

/// Bytes of a written object, `None` on overflow.
pub(super) fn class_bytes(layout: &Layout, class: usize) -> Option<u64> {
    sized(layout, class, &mut vec![None; layout.classes.len()])
}
