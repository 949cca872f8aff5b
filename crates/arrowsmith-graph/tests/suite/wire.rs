// SPDX-License-Identifier: Apache-2.0
//! Messages of the examples: the paper's own, every code at its position, round trips of random
//! graphs, and arbitrary bytes.

use std::cmp::Ordering;

use arrowsmith_graph::arrow::{Batches, messages};
use arrowsmith_graph::layout::{Element, Kind, Layout, Member, Reference};
use arrowsmith_graph::wire::{Code, Graph, Made, Object, Options, Reader, Value, WireError};
use arrowsmith_workload::SplitMix64;

const EXPRESSION: &str = include_str!("../../../../examples/objects/expression/layout-i386.json");
const EXPRESSION_64: &str =
    include_str!("../../../../examples/objects/expression/layout-x86_64.json");
const SCENE: &str = include_str!("../../../../examples/objects/scene/layout-x86_64.json");
const CATALOG: &str = include_str!("../../../../examples/objects/catalog/layout-x86_64.json");

const HEADER: Options = Options { header: true, objects_max: 1 << 24 };

fn layout(text: &str) -> Layout {
    Layout::from_json(text).unwrap()
}

/// The message of the paper, Sect. 3.1: 3 + (5 * 4).
fn paper() -> Vec<u8> {
    let mut message = Vec::new();
    for word in [5_u32, 1, 0, 1, 0, 0, 1, 2] {
        message.extend(word.to_le_bytes());
    }
    message.push(0);
    message.extend(3_u32.to_le_bytes());
    message.extend(3_u32.to_le_bytes());
    message.extend(4_u32.to_le_bytes());
    message.push(2);
    message.extend(5_u32.to_le_bytes());
    message.extend(4_u32.to_le_bytes());
    message
}

/// Object layouts of the paper's Fig. 4, with pointers for the address.
#[test]
fn the_papers_message_becomes_the_papers_memory() {
    let mut reader = Reader::new(layout(EXPRESSION), &[0xAAAA_0000, 0xBBBB_0000]);
    let mut region = vec![0xFF; 100];
    let made = reader.read(&paper(), &mut region, 0x1000, Options::default()).unwrap();
    assert_eq!(made, Made { root: 0x1000, bytes: 80 });
    let words: Vec<u32> =
        region[..80].chunks(4).map(|b| u32::from_le_bytes(b.try_into().unwrap())).collect();
    let (literal, operation) = (0xAAAA_0000, 0xBBBB_0000);
    assert_eq!(words[..4], [operation, 0x1010, 0x1020, 0]);
    assert_eq!(words[4..8], [literal, 0, 0, 3]);
    assert_eq!(words[8..12], [operation, 0x1030, 0x1040, 2]);
    assert_eq!(words[12..], [literal, 0, 0, 5, literal, 0, 0, 4]);
    assert_eq!(region[80..], [0xFF; 20]);
}

#[test]
fn every_fault_has_its_code_and_place() {
    let mut reader = Reader::new(layout(EXPRESSION), &[]);
    let mut read = |message: &[u8], capacity: usize, address: u64| {
        reader.read(message, &mut vec![0; capacity], address, Options::default()).unwrap_err()
    };
    let with = |at: usize, bytes: &[u8]| {
        let mut message = paper();
        message[at..at + bytes.len()].copy_from_slice(bytes);
        message
    };
    let good = paper();
    let cases: Vec<(Vec<u8>, Code, usize)> = vec![
        (vec![], Code::Truncated, 0),
        (good[..3].to_vec(), Code::Truncated, 0),
        (good[..10].to_vec(), Code::Truncated, 8),
        (good[..24].to_vec(), Code::Truncated, 24),
        (good[..32].to_vec(), Code::Truncated, 32),
        (good[..53].to_vec(), Code::Truncated, 50),
        ([good.as_slice(), &[0]].concat(), Code::TrailingBytes, 54),
        (with(0, &[0; 4]), Code::NoObjects, 0),
        (with(0, &[1, 0, 0, 1]), Code::TooManyObjects, 0),
        (with(0, &[0, 0, 0, 1]), Code::UnknownType, 24 + 4),
        (with(8, &[2]), Code::UnknownType, 8),
        (with(24, &[5]), Code::IdOutOfRange, 24),
        (with(28, &[0xFE, 0xFF, 0xFF, 0xFF]), Code::IdOutOfRange, 28),
        (with(32, &[4]), Code::ValueOutOfRange, 32),
    ];
    for (message, code, position) in cases {
        // The second word of members is not a type id: the first error is reported.
        let error = read(&message, 4_096, 0);
        assert_eq!(error, WireError::new(code, position), "{message:?}");
    }
    assert_eq!(read(&good, 79, 0), WireError::new(Code::RegionTooSmall, 20));
    assert_eq!(read(&good, 15, 0), WireError::new(Code::RegionTooSmall, 4));
    assert_eq!(read(&good, 80, 2), WireError::new(Code::BadRegion, 0));
    assert_eq!(read(&good, 80, 0xFFFF_FFF0), WireError::new(Code::BadRegion, 0));
}

#[test]
fn references_of_the_wrong_class_and_lengths_are_refused() {
    let layout = layout(SCENE);
    let scene = |root: Value, title: u32| {
        let class = layout.class("scene::Scene").unwrap();
        let mut graph = Graph { objects: vec![blank(&layout, class.type_id), blank(&layout, 0)] };
        graph.objects[0].members[1] = vec![root];
        let mut message = graph.encode(&layout, false).unwrap_or_else(|error| {
            assert!(error.message.contains("wrong-type"), "{error}");
            graph.objects[0].members[1] = vec![Value::Reference(None)];
            let mut message = graph.encode(&layout, false).unwrap();
            message[16..20].copy_from_slice(&1_u32.to_le_bytes());
            message
        });
        message[12..16].copy_from_slice(&title.to_le_bytes());
        Graph::decode(&layout, &message, Options::default())
    };
    assert!(scene(Value::Reference(None), 0).is_ok());
    // Scene::root is a Group; object 1 is a Circle.
    let error = scene(Value::Reference(Some(1)), 0).unwrap_err();
    assert_eq!(error, WireError::new(Code::WrongType, 16));
    let error = scene(Value::Reference(None), u32::MAX).unwrap_err();
    assert_eq!(error, WireError::new(Code::LengthOutOfRange, 12));
    // The root must be a Scene.
    let graph = Graph { objects: vec![blank(&layout, 0)] };
    assert!(graph.encode(&layout, false).unwrap_err().message.contains("byte 4: wrong-type"));
}

#[test]
fn a_header_is_checked_field_by_field() {
    let layout = layout(EXPRESSION_64);
    let graph = Graph::decode(&layout, &paper(), Options::default()).unwrap();
    let message = graph.encode(&layout, true).unwrap();
    assert_eq!(message[20..], paper());
    assert_eq!(Graph::decode(&layout, &message, HEADER).unwrap(), graph);
    for (at, code, position) in [
        (0, Code::BadHeader, 0),
        (4, Code::BadHeader, 4),
        (6, Code::BadHeader, 6),
        (15, Code::WrongLayout, 8),
        (16, Code::BadHeader, 16),
    ] {
        let mut bad = message.clone();
        bad[at] ^= 1;
        let error = Graph::decode(&layout, &bad, HEADER).unwrap_err();
        assert_eq!(error, WireError::new(code, position));
    }
    for length in 0..message.len() {
        assert!(Graph::decode(&layout, &message[..length], HEADER).is_err());
    }
    // Programs of other word sizes with the same wire widths understand each other.
    assert_eq!(layout.wire_hash(), self::layout(EXPRESSION).wire_hash());
}

fn blank(layout: &Layout, type_id: u32) -> Object {
    let members = &layout.classes[type_id as usize].members;
    let zero = |member: &Member| match member.kind {
        Kind::Pointer(_) => Value::Reference(None),
        Kind::String => Value::String(Vec::new()),
        Kind::Vector(_) => Value::Vector(Vec::new()),
        _ => Value::Number(0),
    };
    let members = members.iter().map(|m| vec![zero(m); m.count as usize]).collect();
    Object { type_id, members }
}

fn fill(members: &[Member], types: &[u32], random: &mut SplitMix64) -> Vec<Vec<Value>> {
    let pointer = |reference: &Reference, random: &mut SplitMix64| {
        let allowed: Vec<u32> = (0_u32..)
            .zip(types)
            .filter(|(_, ty)| reference.targets.iter().any(|target| target.type_id == **ty))
            .map(|(id, _)| id)
            .collect();
        let null = allowed.is_empty() || random.index(4) == 0;
        Value::Reference((!null).then(|| allowed[random.index(allowed.len())]))
    };
    let value = |kind: &Kind, random: &mut SplitMix64| match kind {
        Kind::Pointer(reference) => pointer(reference, random),
        Kind::String | Kind::View => {
            let length = random.index(40);
            Value::String((0..length).map(|_| random.next_u64().to_le_bytes()[0]).collect())
        }
        Kind::Vector(element) => {
            let length = random.index(4);
            let elements = (0..length).map(|_| fill(&element.members, types, random));
            Value::Vector(ordered(element, elements.collect()))
        }
        Kind::Float { bytes } => Value::Number(random.next_u64() & (u64::MAX >> (64 - 8 * bytes))),
        Kind::Integer(of) => number(of.range, of.wire_bytes * 8, of.signed, random),
        Kind::Bits(of) => number(of.values(), of.wire_bytes * 8, of.signed, random),
        Kind::Choice(of) => {
            let which = random.index(of.alternatives.len());
            let members = fill(&of.alternatives[which].members, types, random);
            Value::Choice(u8::try_from(which).unwrap(), members)
        }
    };
    let values = |member: &Member, random: &mut SplitMix64| {
        (0..member.count).map(|_| value(&member.kind, random)).collect()
    };
    members.iter().map(|member| values(member, random)).collect()
}

/// The elements in an order that a map or set has.
fn ordered(element: &Element, mut elements: Vec<Vec<Vec<Value>>>) -> Vec<Vec<Vec<Value>>> {
    let Some(keys) = element.form.keys() else { return elements };
    let one = |member: &Member, a: &Value, b: &Value| match (&member.kind, a, b) {
        (Kind::Float { .. }, Value::Number(a), Value::Number(b)) => {
            f64::from_bits(*a).total_cmp(&f64::from_bits(*b))
        }
        (Kind::Integer(of), Value::Number(a), Value::Number(b)) if of.signed => {
            a.cast_signed().cmp(&b.cast_signed())
        }
        (_, Value::Number(a), Value::Number(b)) => a.cmp(b),
        (_, Value::String(a), Value::String(b)) => a.cmp(b),
        _ => panic!("{} has no order", member.name),
    };
    let order = |a: &Vec<Vec<Value>>, b: &Vec<Vec<Value>>| {
        let of = |key: &u32| {
            let key = *key as usize;
            let pairs = a[key].iter().zip(&b[key]);
            let order = pairs.map(|(a, b)| one(&element.members[key], a, b));
            order.fold(Ordering::Equal, Ordering::then)
        };
        let order = keys.members.iter().map(of).fold(Ordering::Equal, Ordering::then);
        if keys.descending { order.reverse() } else { order }
    };
    elements.sort_by(order);
    if keys.unique && !keys.members.is_empty() {
        elements.dedup_by(|a, b| order(a, b) == Ordering::Equal);
    }
    let is_number =
        |value: &Value| !matches!(value, Value::Number(bits) if f64::from_bits(*bits).is_nan());
    let is_float = |member: &Member| matches!(member.kind, Kind::Float { .. });
    if keys.members.iter().any(|key| is_float(&element.members[*key as usize])) {
        elements.retain(|element| element.iter().flatten().all(is_number));
    }
    elements
}

fn number(range: Option<[i64; 2]>, bits: u32, signed: bool, random: &mut SplitMix64) -> Value {
    if let Some([low, high]) = range {
        let width = u64::try_from(i128::from(high) - i128::from(low) + 1).unwrap();
        return Value::Number(low.wrapping_add_unsigned(random.next_u64() % width).cast_unsigned());
    }
    let shift = 64 - bits;
    let bits = random.next_u64() << shift;
    Value::Number(if signed {
        (bits.cast_signed() >> shift).cast_unsigned()
    } else {
        bits >> shift
    })
}

fn random_graph(layout: &Layout, random: &mut SplitMix64) -> Graph {
    let root = &layout.root.targets;
    let mut types = vec![root[random.index(root.len())].type_id];
    for _ in 0..random.index(20) {
        types.push(layout.classes[random.index(layout.classes.len())].type_id);
    }
    let object = |ty: &u32, random: &mut SplitMix64| Object {
        type_id: *ty,
        members: fill(&layout.classes[*ty as usize].members, &types, random),
    };
    Graph { objects: types.iter().map(|ty| object(ty, random)).collect() }
}

#[test]
fn graphs_go_over_the_wire_and_through_arrow_and_come_back() {
    let mut random = SplitMix64::new(0x1234_5678_9ABC_DEF1);
    for text in [EXPRESSION, EXPRESSION_64, SCENE, CATALOG] {
        let layout = layout(text);
        let graphs: Vec<Graph> = (0..100).map(|_| random_graph(&layout, &mut random)).collect();
        let sent: Vec<Vec<u8>> = graphs.iter().map(|g| g.encode(&layout, false).unwrap()).collect();
        let mut batches = Batches::new(layout.clone());
        for (graph, message) in graphs.iter().zip(&sent) {
            assert_eq!(Graph::decode(&layout, message, Options::default()).as_ref(), Ok(graph));
            batches.push(message, Options::default()).unwrap();
        }
        let batches = batches.finish().unwrap();
        assert_eq!(batches.len(), layout.classes.len());
        let rows: usize = batches.iter().map(|batch| batch.num_rows()).sum();
        assert_eq!(rows, graphs.iter().map(|graph| graph.objects.len()).sum::<usize>());
        assert_eq!(messages(&layout, &batches, false).unwrap(), sent);
    }
}

/// For all bytes: no panic, the same result from the reader that makes memory and the one that
/// makes a tree, and no write past the region's use.
#[test]
fn any_bytes_are_answered_alike() {
    let mut random = SplitMix64::new(0x0F0F_1234_5678_9ABC);
    for text in [EXPRESSION, SCENE, CATALOG] {
        let layout = layout(text);
        let mut reader = Reader::new(layout.clone(), &[]);
        for _ in 0..4_000 {
            let mut message = random_graph(&layout, &mut random).encode(&layout, false).unwrap();
            for _ in 0..random.index(4) {
                let at = random.index(message.len());
                match random.index(4) {
                    0 => message.truncate(at),
                    1 => message.insert(at, 0),
                    _ => {
                        let word = u32::try_from(random.index(24)).unwrap().to_le_bytes();
                        let end = message.len().min(at + 4);
                        message[at..end].copy_from_slice(&word[..end - at]);
                    }
                }
            }
            let mut region = vec![0; 1 << 18];
            let made = reader.read(&message, &mut region, 0x10000, Options::default());
            let tree = Graph::decode(&layout, &message, Options::default());
            match (made, tree) {
                (Ok(made), Ok(tree)) => {
                    let used = usize::try_from(made.bytes).unwrap();
                    assert!(region[used..].iter().all(|byte| *byte == 0));
                    assert_eq!(tree.encode(&layout, false).unwrap(), message);
                }
                // Only memory can be too small.
                (Err(made), _) if made.code == Code::RegionTooSmall => {}
                (made, tree) => assert_eq!(made.unwrap_err(), tree.unwrap_err()),
            }
        }
    }
}
