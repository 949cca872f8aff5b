// SPDX-License-Identifier: Apache-2.0
//! Some of the columns of a schema.

use arrow_schema::{DataType, Fields};
use arrowsmith_plan::Plan;

use super::Rng;

/// The plan of one to three fields, at any depth, of the schema of a plan; none if it has no field
/// that a path can name.
pub fn some_columns(rng: &mut Rng, plan: &Plan) -> Option<Plan> {
    let mut all = Vec::new();
    add_paths(plan.schema().fields(), "", &mut all);
    if all.is_empty() {
        return None;
    }
    let columns: Vec<&String> = (0..=rng.below(3)).map(|_| rng.pick(&all)).collect();
    Plan::with_columns(plan.schema(), &columns).ok()
}

fn add_paths(fields: &Fields, before: &str, all: &mut Vec<String>) {
    // A quote has no form in a path.
    for field in fields.iter().filter(|field| !field.name().contains('"')) {
        let path = format!("{before}\"{}\"", field.name());
        if let Some(below) = children(field.data_type()) {
            add_paths(below, &format!("{path}."), all);
        }
        all.push(path);
    }
}

fn children(data_type: &DataType) -> Option<&Fields> {
    match data_type {
        DataType::Struct(fields) => Some(fields),
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
            children(item.data_type())
        }
        _ => None,
    }
}
