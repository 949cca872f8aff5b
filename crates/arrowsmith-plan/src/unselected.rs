// SPDX-License-Identifier: Apache-2.0
//! Keys that a schema has and a plan of some of its columns does not decode: they are known.

use arrow_schema::{DataType, Fields};

use crate::plan::{Node, Op, Plan};

/// Notes in the plan of some columns which other keys the whole type has.
pub(crate) fn attach(node: &mut Node, whole: &DataType) {
    match (&mut node.op, whole) {
        (Op::Struct(_), DataType::Struct(fields)) => attach_keys(node, fields),
        (
            Op::List(item) | Op::FixedSizeList(item, _),
            DataType::List(field) | DataType::LargeList(field) | DataType::FixedSizeList(field, _),
        ) => attach(item, field.data_type()),
        _ => {}
    }
}

/// The fields of a plan are in the order of those of the schema.
fn attach_keys(node: &mut Node, fields: &Fields) {
    let Op::Struct(plans) = &mut node.op else { return };
    let mut selected = plans.iter_mut().peekable();
    for field in fields {
        match selected.next_if(|plan| plan.key == *field.name()) {
            Some(plan) => attach(&mut plan.node, field.data_type()),
            None => node.unselected.push(field.name().clone()),
        }
    }
}

impl Plan {
    /// Whether the schema has keys that are not decoded, for engines that cannot tell them from
    /// unknown ones.
    pub fn has_unselected(&self) -> bool {
        fn of(node: &Node) -> bool {
            !node.unselected.is_empty()
                || match &node.op {
                    Op::Struct(fields) => fields.iter().any(|field| of(&field.node)),
                    Op::List(item) | Op::FixedSizeList(item, _) => of(item),
                    _ => false,
                }
        }
        of(self.root())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::text::parse_schema;

    fn plan(schema: &str, columns: &[&str]) -> Plan {
        Plan::with_columns(&Arc::new(parse_schema(schema).unwrap()), columns).unwrap()
    }

    #[test]
    fn keys_that_are_not_selected_are_known_at_every_depth() {
        let schema = "a: int8, b: list<struct<c: int8, d: struct<e: int8>>>, f: fixed_size_list<\
                      struct<g: int8, h: int8>, 2>";
        let selected = plan(schema, &["f.h", "b.d"]);
        assert_eq!(selected.root().unselected, ["a"]);
        let Op::Struct(fields) = &selected.root().op else { panic!("columns") };
        let (Op::List(b), Op::FixedSizeList(f, 2)) = (&fields[0].node.op, &fields[1].node.op)
        else {
            panic!("lists")
        };
        assert_eq!(
            (&b.unselected[..], &f.unselected[..]),
            (&["c".to_owned()][..], &["g".into()][..])
        );
        assert!(selected.has_unselected());
        assert!(!plan(schema, &["a", "b", "f"]).has_unselected());
        assert_eq!(plan(schema, &[]).root().unselected, ["a", "b", "f"]);
    }

    #[test]
    fn a_record_that_is_a_value_has_keys_inside() {
        let selected = plan("root value, value: list<struct<a: int8, b: int8>>", &["value.b"]);
        let Op::List(item) = &selected.root().op else { panic!("a list") };
        assert_eq!(item.unselected, ["a"]);
    }
}
