// SPDX-License-Identifier: Apache-2.0
//! The Arrow columns of classes as people write them: structs, lists of fixed length, booleans,
//! names of enumerators, texts; and back to the same message.

use std::collections::HashMap;

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, Schema};
use arrowsmith_graph::Layout;
use arrowsmith_graph::arrow::{Batches, messages, schema};
use arrowsmith_graph::layout::{Options, from_object};
use arrowsmith_graph::wire::{self, Graph, Object, Value};

use super::compile::Folder;

const PROGRAM: &str = "#include <array>\n#include <chrono>\n#include <tuple>\n#include <vector>\n\
    enum class Colour : unsigned char { red, green, blue = 7 };\n\
    struct Point { double x, y; }; struct Box { Point lo, hi; char tag[8]; };\n\
    struct T { long id; int message; bool on; bool b : 1; Colour colour : 3; char name[8];\n\
      std::array<Box, 2> boxes; std::tuple<int, char, float> t; std::chrono::milliseconds ms;\n\
      std::vector<Box> more; std::vector<std::array<bool, 2>> pairs; Colour palette[2]; };\n\
    T t;\n";

fn layout(name: &str) -> Layout {
    let folder = Folder::new(name);
    let options = Options { root: "T".into(), ..Options::default() };
    from_object(&folder.compile(PROGRAM, &[]), &options).unwrap().layout
}

fn text(of: &str) -> Vec<Value> {
    let bytes = of.bytes().chain(std::iter::repeat(0)).take(8);
    bytes.map(|byte| Value::Number(u64::from(byte))).collect()
}

fn one(number: u64) -> Vec<Value> {
    vec![Value::Number(number)]
}

#[test]
fn columns_are_what_the_program_declares() {
    let layout = layout("columns");
    let class = &layout.classes[0];
    let float = |value: f64| one(value.to_bits());
    let boxed = |at: f64, tag: &str| {
        vec![float(at), float(at + 1.0), float(at + 2.0), float(at + 3.0), text(tag)]
    };
    let mut members = vec![one(7), one(9), one(1), one(0), one(2), text("a name")];
    members.extend(boxed(10.0, "first"));
    members.extend(boxed(20.0, ""));
    members.extend([one(u64::from(1.5_f32.to_bits())), one(65), one(3), one(1_500)]);
    members.push(vec![Value::Vector(vec![boxed(30.0, "x"), boxed(40.0, "12345678")])]);
    let pair = |a, b| vec![vec![Value::Number(a), Value::Number(b)]];
    members.push(vec![Value::Vector(vec![pair(0, 1), pair(1, 1), pair(0, 0)])]);
    members.push(vec![Value::Number(7), Value::Number(1)]);
    let graph = Graph { objects: vec![Object { type_id: 0, members }; 2] };
    let message = graph.encode(&layout, false).unwrap();
    let mut batches = Batches::new(layout.clone());
    batches.push(&message, wire::Options::default()).unwrap();
    let batches = batches.finish().unwrap();
    let names: Vec<&str> =
        batches[0].schema_ref().fields().iter().map(|field| field.name().as_str()).collect();
    let expected = [
        "message",
        "id",
        "id#2",
        "message#2",
        "on",
        "b",
        "colour",
        "name",
        "boxes",
        "t",
        "ms",
        "more",
        "pairs",
        "palette",
    ];
    assert_eq!(names, expected);
    let column = |name: &str| batches[0].column_by_name(name).unwrap();
    assert_eq!(column("on").data_type(), &DataType::Boolean);
    assert!(column("on").as_boolean().value(1) && !column("b").as_boolean().value(1));
    let colour = column("colour").as_dictionary::<Int32Type>();
    let word = |row: usize| {
        let key = usize::try_from(colour.keys().value(row)).unwrap();
        colour.values().as_string::<i32>().value(key).to_owned()
    };
    // No enumerator has this value.
    assert_eq!(word(1), "2");
    assert_eq!(column("name").as_binary::<i32>().value(1), b"a name");
    let boxes = column("boxes").as_fixed_size_list().value(1);
    let boxes = boxes.as_struct();
    let hi = boxes.column_by_name("hi").unwrap().as_struct();
    let y = hi.column_by_name("y").unwrap().as_primitive::<arrow_array::types::Float64Type>();
    assert_eq!([y.value(0), y.value(1)], [13.0, 23.0]);
    assert_eq!(boxes.column_by_name("tag").unwrap().as_binary::<i32>().value(0), b"first");
    assert_eq!(column("pairs").as_list::<i32>().value(1).len(), 3);
    assert_eq!(schema(class).fields(), batches[0].schema_ref().fields());
    assert_eq!(messages(&layout, &batches, false).unwrap(), std::slice::from_ref(&message));
    // Rows in another order, of slices: the same message.
    let parts = [batches[0].slice(1, 1), batches[0].slice(0, 1)];
    assert_eq!(messages(&layout, &parts, false).unwrap(), [message]);
}

#[test]
fn errors_name_the_class() {
    let layout = layout("class-names");
    let mut batches = Batches::new(layout.clone());
    let empty = batches.finish().unwrap().remove(0);
    let plain = Schema::new(empty.schema_ref().fields().clone()).with_metadata(HashMap::new());
    let batch = RecordBatch::try_new(plain.into(), empty.columns().to_vec()).unwrap();
    let error = messages(&layout, &[batch], false).unwrap_err().to_string();
    assert!(error.contains("a batch: has no class in its metadata"), "{error}");
    let mut message = vec![1, 0, 0, 0, 0, 0, 0, 0];
    message.extend([0; 12]);
    message.push(2);
    message.extend([0; 300]);
    let error = batches.push(&message, wire::Options::default()).unwrap_err().to_string();
    assert!(error.contains("message 0, object 0, T: byte 20"), "{error}");
}
