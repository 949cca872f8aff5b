// SPDX-License-Identifier: Apache-2.0
//! Java that walks objects: one method per class, one file per approach.
//!
//! All approaches walk in the same order (fields in order, depth first) and differ in what they do
//! with a value: [`Style`]. The output is the wire form that `native.rs` reads: primitives packed
//! in the machine's byte order, arrays of exact length bare, other arrays and strings after a count
//! (-1 is null), nullable references after a byte.

use std::fmt::Write;

use crate::layout::{Field, Layout, Length, Primitive, Type};

/// The action on each value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    /// Adds up all primitives: the expected result of every approach.
    Sum,
    /// Counts the bytes of the wire form.
    Size,
    /// Counts the bytes of primitives and of UTF-8 only.
    Payload,
    /// Writes to a `ByteBuffer`, value by value.
    Buffer,
    /// Writes to a direct `ByteBuffer` through view `VarHandle`s.
    VarHandle,
    /// Writes to off-heap memory with `sun.misc.Unsafe`.
    Unsafe,
    /// Writes to a `MemorySegment`.
    Segment,
}

impl Style {
    fn signature(self) -> (&'static str, &'static str) {
        match self {
            Self::Sum | Self::Size | Self::Payload => ("long", ""),
            Self::Buffer => ("void", ", java.nio.ByteBuffer b"),
            Self::VarHandle => ("int", ", java.nio.ByteBuffer b, int at"),
            Self::Unsafe => ("long", ", long at, long end"),
            Self::Segment => ("long", ", java.lang.foreign.MemorySegment m, long at"),
        }
    }

    fn first(self) -> &'static str {
        match self {
            Self::Sum | Self::Size | Self::Payload => "long s = 0;\n",
            _ => "",
        }
    }

    fn last(self) -> &'static str {
        match self {
            Self::Sum | Self::Size | Self::Payload => "return s;\n",
            Self::Buffer => "",
            Self::VarHandle | Self::Unsafe | Self::Segment => "return at;\n",
        }
    }

    fn call(self, class: usize, value: &str) -> String {
        match self {
            Self::Sum | Self::Size | Self::Payload => format!("s += c{class}({value});\n"),
            Self::Buffer => format!("c{class}({value}, b);\n"),
            Self::VarHandle => format!("at = c{class}({value}, b, at);\n"),
            Self::Unsafe => format!("at = c{class}({value}, at, end);\n"),
            Self::Segment => format!("at = c{class}({value}, m, at);\n"),
        }
    }

    fn primitive(self, primitive: Primitive, value: &str) -> String {
        let bytes = primitive.bytes();
        let flag = primitive == Primitive::Boolean;
        let title = if flag { "Byte" } else { primitive.title() };
        let stored = if flag { format!("(byte) ({value} ? 1 : 0)") } else { value.to_owned() };
        match self {
            Self::Sum => match primitive {
                Primitive::Boolean => format!("s += {value} ? 1 : 0;\n"),
                Primitive::Float => format!("s += Float.floatToRawIntBits({value});\n"),
                Primitive::Double => format!("s += Double.doubleToRawLongBits({value});\n"),
                _ => format!("s += {value};\n"),
            },
            Self::Size | Self::Payload => format!("s += {bytes};\n"),
            Self::Buffer if bytes == 1 => format!("b.put({stored});\n"),
            Self::Buffer => format!("b.put{title}({stored});\n"),
            Self::VarHandle if bytes == 1 => format!("b.put(at, {stored}); at += 1;\n"),
            Self::VarHandle => {
                format!("Views.{}.set(b, at, {stored}); at += {bytes};\n", title.to_uppercase())
            }
            Self::Unsafe => format!("Memory.U.put{title}(at, {stored}); at += {bytes};\n"),
            Self::Segment => {
                format!("m.set(Segments.{}, at, {stored}); at += {bytes};\n", title.to_uppercase())
            }
        }
    }

    /// The elements of an array of primitives.
    fn elements(self, primitive: Primitive, array: &str, counted: bool) -> String {
        let bytes = primitive.bytes();
        match self {
            Self::Sum => format!("s += Sums.of({array});\n"),
            Self::Size | Self::Payload => format!("s += {bytes}L * {array}.length;\n"),
            Self::Buffer => format!("Buffers.put(b, {array});\n"),
            Self::VarHandle => format!("at = Views.put(b, at, {array});\n"),
            Self::Unsafe if counted => format!("at = Memory.put(at, end, {array});\n"),
            Self::Unsafe => format!("at = Memory.put(at, {array});\n"),
            Self::Segment => format!("at = Segments.put(m, at, {array});\n"),
        }
    }

    /// A count before the counted elements.
    fn count(self, value: &str) -> String {
        match self {
            Self::Sum | Self::Payload => String::new(),
            Self::Unsafe => {
                format!("Memory.need(at, end, 4); {}", self.primitive(Primitive::Int, value))
            }
            _ => self.primitive(Primitive::Int, value),
        }
    }

    /// Whether a reference is non-null.
    fn presence(self, there: bool) -> String {
        let value = format!("(byte) {}", u8::from(there));
        match self {
            Self::Sum | Self::Payload => String::new(),
            Self::Unsafe => {
                format!("Memory.need(at, end, 1); {}", self.primitive(Primitive::Byte, &value))
            }
            _ => self.primitive(Primitive::Byte, &value),
        }
    }
}

/// The body of a file: every class's method. Objects of exact layouts need no space checks.
pub(super) fn methods(layout: &Layout, style: Style) -> String {
    let mut text = String::new();
    for (index, class) in layout.classes.iter().enumerate() {
        let (gives, takes) = style.signature();
        let _ = writeln!(text, "    static {gives} c{index}({} o{takes}) {{", class.java);
        let mut body = String::from(style.first());
        let checked = style == Style::Unsafe && !layout.is_exact_class(0);
        let mut walk = Walk { layout, style, checked, names: 0 };
        for (at, field) in class.fields.iter().enumerate() {
            let value = read(layout, index, at, field);
            body.push_str(&walk.value(&field.ty, &value));
        }
        body.push_str(style.last());
        indent(&mut text, &body);
        text.push_str("    }\n\n");
    }
    text
}

/// How a field is read: directly, or by a handle if Java does not allow access.
pub(super) fn read(layout: &Layout, class: usize, at: usize, field: &Field) -> String {
    if field.public {
        let call = if layout.classes[class].record { "()" } else { "" };
        return format!("o.{}{call}", field.name);
    }
    format!("(({}) Handles.c{class}_{at}.get(o))", java_type(layout, &field.ty))
}

/// Java's name of a type.
pub(super) fn java_type(layout: &Layout, ty: &Type) -> String {
    match ty {
        Type::Primitive(primitive) => primitive.java().to_owned(),
        Type::String { .. } => "java.lang.String".to_owned(),
        Type::Object { class, .. } => layout.classes[*class].java.clone(),
        Type::Array { element, .. } => format!("{}[]", java_type(layout, element)),
    }
}

/// Lines with braces, indented by them.
pub(super) fn indent(text: &mut String, body: &str) {
    let mut depth = 2_usize;
    for line in body.lines() {
        if line.starts_with('}') {
            depth = depth.saturating_sub(1);
        }
        let _ = writeln!(text, "{:width$}{line}", "", width = depth * 4);
        if line.ends_with('{') {
            depth += 1;
        }
    }
}

struct Walk<'a> {
    layout: &'a Layout,
    style: Style,
    checked: bool,
    names: usize,
}

impl Walk<'_> {
    fn name(&mut self) -> String {
        self.names += 1;
        format!("v{}", self.names)
    }

    fn value(&mut self, ty: &Type, value: &str) -> String {
        match ty {
            Type::Primitive(primitive) if self.checked => {
                let write = self.style.primitive(*primitive, value);
                format!("Memory.need(at, end, {}); {write}", primitive.bytes())
            }
            Type::Primitive(primitive) => self.style.primitive(*primitive, value),
            Type::String { .. } => self.string(value),
            Type::Object { class, nullable: false } => self.style.call(*class, value),
            Type::Object { class, nullable: true } => {
                let name = self.name();
                let ty = java_type(self.layout, ty);
                format!(
                    "{ty} {name} = {value};\nif ({name} == null) {{\n{}}} else {{\n{}{}}}\n",
                    self.style.presence(false),
                    self.style.presence(true),
                    self.style.call(*class, &name)
                )
            }
            Type::Array { element, length, nullable } => {
                self.array(ty, element, *length, *nullable, value)
            }
        }
    }

    fn string(&mut self, value: &str) -> String {
        let name = self.name();
        let style = self.style;
        match style {
            Style::Sum => return format!("s += Sums.utf8({value});\n"),
            Style::Payload => return format!("s += Sums.bytes({value});\n"),
            Style::Size => return format!("s += 4 + Sums.bytes({value});\n"),
            _ => {}
        }
        format!(
            "byte[] {name} = Sums.encode({value});\nif ({name} == null) {{\n{}}} else {{\n{}{}}}\n",
            style.count("-1"),
            style.count(&format!("{name}.length")),
            style.elements(Primitive::Byte, &name, true)
        )
    }

    fn array(
        &mut self,
        ty: &Type,
        element: &Type,
        length: Length,
        nullable: bool,
        value: &str,
    ) -> String {
        let name = self.name();
        let ty = java_type(self.layout, ty);
        let mut text = format!("{ty} {name} = {value};\n");
        let bare = match length {
            Length::Exact(length) if !nullable => Some(length),
            _ => None,
        };
        let mut inside = match bare {
            Some(length) => format!("Sums.length({name}.length, {length});\n"),
            None => self.style.count(&format!("{name}.length")),
        };
        if let (Length::Exact(length), None) = (length, bare) {
            inside.insert_str(0, &format!("Sums.length({name}.length, {length});\n"));
        }
        if let Type::Primitive(primitive) = element {
            inside.push_str(&self.style.elements(*primitive, &name, self.checked));
        } else {
            let at = self.name();
            let each = self.value(element, &format!("{name}[{at}]"));
            let _ =
                write!(inside, "for (int {at} = 0; {at} < {name}.length; {at}++) {{\n{each}}}\n");
        }
        // A null in a non-null field is a NullPointerException, from Java itself.
        if nullable {
            let _ = write!(
                text,
                "if ({name} == null) {{\n{}}} else {{\n{inside}}}\n",
                self.style.count("-1")
            );
        } else {
            text.push_str(&inside);
        }
        text
    }
}
