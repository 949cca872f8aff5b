// SPDX-License-Identifier: Apache-2.0
//! The size of a plan, without shared parts, and how deep it is.

use std::collections::HashMap;

use arrow_schema::DataType;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{DataFusionError, Result};
use datafusion::logical_expr::{Expr, LogicalPlan, Operator};
use datafusion::scalar::ScalarValue;

use super::{
    COLUMNS_MAX, COPIED_MAX, DEPTH_MAX, JOINS_DEEP_MAX, LEVELS_MAX, LOOKUPS_MAX, NODES_MAX,
    PART_BYTES, PATHS_MAX, PLANS_DEEP_MAX, STEPS_MAX, WRITTEN_MAX, value_bytes,
};
use crate::deadline;

/// The size of a part of a plan.
#[derive(Debug, Clone, Default)]
pub(super) struct Size {
    nodes: u64,
    deep: u32,
    plans_deep: u32,
    joins_deep: u32,
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
    /// Of one expression: steps in which it says whether it can be null, and what its field is.
    steps: Steps,
    /// By column: the size of its expression, with every name replaced.
    meanings: Vec<u64>,
}

impl Size {
    fn add(&mut self, other: &Self) {
        self.nodes = self.nodes.saturating_add(other.nodes);
        self.deep = self.deep.max(other.deep);
        self.plans_deep = self.plans_deep.max(other.plans_deep);
        self.joins_deep = self.joins_deep.max(other.joins_deep);
        self.columns = self.columns.saturating_add(other.columns);
        self.paths = self.paths.saturating_add(other.paths);
        self.lookups = self.lookups.saturating_add(other.lookups);
        self.written = self.written.saturating_add(other.written);
    }
}

/// What physical expressions do to describe themselves, in calls.
#[derive(Debug, Clone, Copy, Default)]
struct Steps {
    nullable: u64,
    field: u64,
}

impl Steps {
    fn add(self, other: Self) -> Self {
        let nullable = self.nullable.saturating_add(other.nullable);
        Self { nullable, field: self.field.saturating_add(other.field) }
    }

    /// Those of an expression, from the sum of those below it.
    fn of(expr: &Expr, below: Self) -> Self {
        let Self { nullable, field } = below;
        match expr {
            Expr::Cast(_) | Expr::TryCast(_) => Self {
                nullable: nullable.saturating_add(field).saturating_add(1),
                field: field.saturating_add(1),
            },
            // It has its field.
            Expr::ScalarFunction(_) => Self { nullable: 1, field: 1 },
            _ => Self { nullable: nullable.saturating_add(1), field: nullable.saturating_add(1) },
        }
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
        size.joins_deep += u32::from(matches!(plan, LogicalPlan::Join(_)));
        size.columns = size.columns.saturating_add(width as u64);
        check(&size)?;
        self.0.insert(address, size.clone());
        Ok(size)
    }

    fn expr(&mut self, expr: &Expr, scope: &Scope<'_>) -> Result<Size> {
        let names = u64::from(matches!(expr, Expr::Column(_)));
        let mut size = Size { nodes: 1, names, ..Size::default() };
        let mut means = (scope.meaning)(expr);
        let arms = copied_arms(expr);
        let (mut place, mut is_copied, mut below) = (0, false, Steps::default());
        expr.apply_children(|child| {
            let its = self.expr(child, scope)?;
            size.names = size.names.saturating_add(its.names);
            let part = its.meanings.first().copied().unwrap_or(1);
            let copies = copies(expr, arms, place);
            is_copied |= copies > 1;
            means = means.saturating_add(part.saturating_mul(copies));
            place += 1;
            below = below.add(its.steps);
            size.add(&its);
            Ok(TreeNodeRecursion::Continue)
        })?;
        size.steps = Steps::of(expr, below);
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
        let most = if is_copied { COPIED_MAX } else { NODES_MAX };
        if means > most {
            return Err(too_much(format!("{means} parts of an expression"), most));
        }
        size.meanings = vec![means];
        check(&size)?;
        Ok(size)
    }
}

/// How often rules write out a part of an expression, at its place among the parts. Such
/// expressions in one another grow by this factor each.
///
/// Of functions: those that become a CASE, or a match of a regular expression; of comparisons: with
/// a function that is one value for a range of its arguments.
fn copies(expr: &Expr, arms: usize, place: usize) -> u64 {
    match expr {
        Expr::Between(_) if place == 0 => 2,
        Expr::ScalarFunction(call) => match call.func.name() {
            "coalesce" | "nvl" => 2,
            "regexp_like" => ALTERNATIVES_MAX,
            _ => 1,
        },
        Expr::BinaryExpr(binary) => match binary.op {
            Operator::RegexMatch
            | Operator::RegexIMatch
            | Operator::RegexNotMatch
            | Operator::RegexNotIMatch => ALTERNATIVES_MAX,
            op if op.supports_propagation()
                && [&binary.left, &binary.right].into_iter().any(|side| is_range(side)) =>
            {
                2
            }
            _ => 1,
        },
        // A condition is in each arm after it, and in ELSE.
        Expr::Case(_) if place.is_multiple_of(2) => (arms.saturating_sub(place / 2) as u64).max(1),
        _ => 1,
    }
}

/// Alternatives of a regular expression for which the match becomes several, as the optimizer has
/// it.
const ALTERNATIVES_MAX: u64 = 4;

/// Whether a comparison with it becomes one with the ends of a range.
fn is_range(expr: &Expr) -> bool {
    matches!(expr, Expr::ScalarFunction(call) if ["date_part", "floor"].contains(&call.func.name()))
}

/// The number of arms of a CASE with the last, ELSE, if it may become AND and OR: where it has few
/// of them and none is a constant of another type, or each is a constant that may be a boolean. 0
/// of other expressions.
fn copied_arms(expr: &Expr) -> usize {
    let Expr::Case(case) = expr else { return 0 };
    let is_flag = |then: &Expr| match then {
        Expr::Literal(value, _) => matches!(value, ScalarValue::Boolean(_) | ScalarValue::Null),
        then => !then.any_column_refs(),
    };
    let is_other = |then: &Expr| matches!(then, Expr::Literal(..)) && !is_flag(then);
    let arms = &case.when_then_expr;
    let is_few = arms.len() < 3
        && !arms.iter().any(|(_, then)| is_other(then))
        && !case.else_expr.as_ref().is_some_and(|then| is_other(then));
    let becomes = is_few || arms.iter().all(|(_, then)| is_flag(then));
    if case.expr.is_none() && becomes { arms.len() + 1 } else { 0 }
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
    if size.joins_deep > JOINS_DEEP_MAX {
        let what = format!("{} joins in one another", size.joins_deep);
        return Err(too_much(what, JOINS_DEEP_MAX.into()));
    }
    if size.nodes > NODES_MAX {
        return Err(too_much(format!("{} parts", size.nodes), NODES_MAX));
    }
    let is_long = size.paths > PATHS_MAX || size.lookups > LOOKUPS_MAX;
    if is_long || size.steps.nullable > STEPS_MAX {
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
