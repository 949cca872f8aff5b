// SPDX-License-Identifier: Apache-2.0
//! The size of a plan, without shared parts, and how deep it is.

use std::collections::HashMap;

use arrow_schema::DataType;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{DataFusionError, Result};
use datafusion::logical_expr::{Expr, LogicalPlan};

use super::{
    COLUMNS_MAX, DEPTH_MAX, LEVELS_MAX, LOOKUPS_MAX, NODES_MAX, PART_BYTES, PATHS_MAX,
    PLANS_DEEP_MAX, WRITTEN_MAX, value_bytes,
};
use crate::deadline;

/// The size of a part of a plan.
#[derive(Debug, Clone, Default)]
pub(super) struct Size {
    nodes: u64,
    deep: u32,
    plans_deep: u32,
    columns: u64,
    /// Expressions, each as often as there are others around it.
    paths: u64,
    /// Names of columns in an expression.
    names: u64,
    /// Names, each as often as there are expressions around it, times the columns among which it is
    /// looked up.
    lookups: u64,
    /// Size of all expressions, with every name replaced by its expression.
    written: u64,
    /// By column: the size of its expression, with every name replaced.
    meanings: Vec<u64>,
}

impl Size {
    fn add(&mut self, other: &Self) {
        self.nodes = self.nodes.saturating_add(other.nodes);
        self.deep = self.deep.max(other.deep);
        self.plans_deep = self.plans_deep.max(other.plans_deep);
        self.columns = self.columns.saturating_add(other.columns);
        self.paths = self.paths.saturating_add(other.paths);
        self.lookups = self.lookups.saturating_add(other.lookups);
        self.written = self.written.saturating_add(other.written);
    }
}

/// The columns that the expressions of a plan refer to.
struct Scope<'a> {
    meaning: &'a dyn Fn(&Expr) -> u64,
    /// The columns of its inputs.
    among: u64,
}

/// Sizes by address: shared plans are visited once.
#[derive(Default)]
pub(super) struct Measure(HashMap<usize, Size>);

impl Measure {
    pub(super) fn plan(&mut self, plan: &LogicalPlan) -> Result<Size> {
        let address = std::ptr::from_ref(plan).addr();
        if let Some(known) = self.0.get(&address) {
            return Ok(known.clone());
        }
        deadline::check()?;
        let mut size = Size::default();
        let mut inputs = Vec::new();
        for input in plan.inputs() {
            let its = self.plan(input)?;
            size.add(&its);
            inputs.push((input, its.meanings));
        }
        let meaning = |expr: &Expr| {
            let column = match expr {
                Expr::Column(column) => column,
                Expr::Literal(value, _) => return 1 + value_bytes(value) / PART_BYTES,
                _ => return 1,
            };
            let found = inputs.iter().find_map(|(input, meanings)| {
                let place = input.schema().maybe_index_of_column(column)?;
                meanings.get(place).copied()
            });
            found.unwrap_or(1)
        };
        let among = inputs.iter().map(|(input, _)| input.schema().fields().len() as u64);
        let scope = Scope { meaning: &meaning, among: among.sum() };
        let mut meanings = Vec::new();
        plan.apply_expressions(|expr| {
            let its = self.expr(expr, &scope)?;
            let means = its.meanings.first().copied().unwrap_or(1);
            size.written = size.written.saturating_add(means);
            meanings.push(means);
            size.add(&its);
            Ok(TreeNodeRecursion::Continue)
        })?;
        let width = plan.schema().fields().len();
        for field in plan.schema().fields() {
            let levels = levels(field.data_type());
            if levels > LEVELS_MAX {
                return Err(too_much(format!("{levels} levels of a type"), LEVELS_MAX as u64));
            }
        }
        size.meanings = match plan {
            LogicalPlan::Projection(_) => meanings,
            LogicalPlan::Aggregate(_) => meanings,
            LogicalPlan::Union(_) => {
                let widest = |place| {
                    let of = inputs.iter().filter_map(|(_, its): &(_, Vec<u64>)| its.get(place));
                    of.copied().max().unwrap_or(1)
                };
                (0..width).map(widest).collect()
            }
            // A window function's own columns come after those of its input.
            _ => inputs.iter().flat_map(|(_, its)| its.iter().copied()).collect(),
        };
        size.meanings.resize(width, 1);
        size.nodes = size.nodes.saturating_add(1);
        size.deep += 1;
        size.plans_deep += 1;
        size.columns = size.columns.saturating_add(width as u64);
        check(&size)?;
        self.0.insert(address, size.clone());
        Ok(size)
    }

    fn expr(&mut self, expr: &Expr, scope: &Scope<'_>) -> Result<Size> {
        let names = u64::from(matches!(expr, Expr::Column(_)));
        let mut size = Size { nodes: 1, names, ..Size::default() };
        let mut means = (scope.meaning)(expr);
        expr.apply_children(|child| {
            let its = self.expr(child, scope)?;
            size.names = size.names.saturating_add(its.names);
            means = means.saturating_add(its.meanings.first().copied().unwrap_or(1));
            size.add(&its);
            Ok(TreeNodeRecursion::Continue)
        })?;
        size.paths = size.paths.saturating_add(size.nodes);
        size.lookups = size.lookups.saturating_add(size.names.saturating_mul(scope.among));
        let inside = match expr {
            Expr::ScalarSubquery(subquery) => Some(subquery),
            Expr::Exists(exists) => Some(&exists.subquery),
            Expr::InSubquery(within) => Some(&within.subquery),
            Expr::SetComparison(comparison) => Some(&comparison.subquery),
            _ => None,
        };
        if let Some(subquery) = inside {
            let its = self.plan(&subquery.subquery)?;
            size.add(&its);
        }
        size.deep += 1;
        // The meaning is a number of nodes of an expression that an optimizer may write out.
        if means > NODES_MAX {
            return Err(too_much(format!("{means} parts of an expression"), NODES_MAX));
        }
        size.meanings = vec![means];
        check(&size)?;
        Ok(size)
    }
}

/// The depth of a type: 1 without others inside.
fn levels(data_type: &DataType) -> usize {
    let below = match data_type {
        DataType::List(field)
        | DataType::LargeList(field)
        | DataType::ListView(field)
        | DataType::LargeListView(field)
        | DataType::FixedSizeList(field, _)
        | DataType::Map(field, _) => levels(field.data_type()),
        DataType::Struct(fields) => {
            fields.iter().map(|field| levels(field.data_type())).max().unwrap_or(0)
        }
        DataType::Union(fields, _) => {
            fields.iter().map(|(_, field)| levels(field.data_type())).max().unwrap_or(0)
        }
        DataType::Dictionary(_, values) => levels(values),
        DataType::RunEndEncoded(_, values) => levels(values.data_type()),
        _ => 0,
    };
    1 + below
}

fn too_much(what: String, limit: u64) -> DataFusionError {
    DataFusionError::Plan(format!("the statement is too large: {what}, of {limit} at most"))
}

fn check(size: &Size) -> Result<()> {
    if size.deep > DEPTH_MAX {
        return Err(too_much(
            format!("{} expressions in one another", size.deep),
            DEPTH_MAX.into(),
        ));
    }
    if size.plans_deep > PLANS_DEEP_MAX {
        let what = format!("{} queries or joins in one another", size.plans_deep);
        return Err(too_much(what, PLANS_DEEP_MAX.into()));
    }
    if size.nodes > NODES_MAX {
        return Err(too_much(format!("{} parts", size.nodes), NODES_MAX));
    }
    if size.paths > PATHS_MAX || size.lookups > LOOKUPS_MAX {
        let reason = "the statement's expressions are too long and too deep; write them in parts";
        return Err(DataFusionError::Plan(reason.to_owned()));
    }
    if size.written > WRITTEN_MAX {
        return Err(too_much(format!("{} parts written out", size.written), WRITTEN_MAX));
    }
    if size.columns > COLUMNS_MAX {
        return Err(too_much(format!("{} columns", size.columns), COLUMNS_MAX));
    }
    Ok(())
}
