// SPDX-License-Identifier: Apache-2.0
//! Comparisons of a timestamp with an instant that is finer than its unit, made exact.
//!
//! DataFusion converts both to one unit, and truncates: in a column of milliseconds it finds
//! 00:00:00.002 for `t = timestamp '… 00:00:00.0025'`. Conditions outside of SQL find nothing, and
//! so do statements: before type coercion the instant is rounded here, and the comparison adapted.

use arrow_schema::{DataType, TimeUnit};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::expr::{Between, InList};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{BinaryExpr, Expr, ExprSchemable, LogicalPlan, Operator, lit};
use datafusion::optimizer::AnalyzerRule;
use datafusion::scalar::ScalarValue;

/// Makes them exact.
#[derive(Debug)]
pub(crate) struct ExactInstants;

impl AnalyzerRule for ExactInstants {
    fn name(&self) -> &'static str {
        "exact_instants"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        plan.transform_up_with_subqueries(|plan| {
            let schema = merge_schema(&plan.inputs());
            let names = NamePreserver::new(&plan);
            plan.map_expressions(|expr| {
                let name = names.save(&expr);
                let exact = expr.transform_up(|expr| Ok(exact(expr, &schema)))?;
                Ok(exact.update_data(|expr| name.restore(expr)))
            })
        })
        .map(|plan| plan.data)
    }
}

fn exact(expr: Expr, schema: &DFSchema) -> Transformed<Expr> {
    let found = match &expr {
        Expr::BinaryExpr(binary) => compare(&binary.left, binary.op, &binary.right, schema)
            .or_else(|| compare(&binary.right, binary.op.swap()?, &binary.left, schema)),
        Expr::Between(between) => self::between(between, schema),
        Expr::InList(list) => within(list, schema),
        _ => None,
    };
    found.map_or_else(|| Transformed::no(expr), Transformed::yes)
}

fn unit_nanos(unit: TimeUnit) -> i128 {
    match unit {
        TimeUnit::Second => 1_000_000_000,
        TimeUnit::Millisecond => 1_000_000,
        TimeUnit::Microsecond => 1_000,
        TimeUnit::Nanosecond => 1,
    }
}

/// Whether an instant without a zone is one in this zone.
fn is_utc(zone: Option<&str>) -> bool {
    matches!(zone, None | Some("UTC" | "Z" | "+00:00" | "Etc/UTC"))
}

/// Nanoseconds of an instant literal; `None` for other expressions.
fn nanos(expr: &Expr, zone: Option<&str>) -> Option<i128> {
    let finest = DataType::Timestamp(TimeUnit::Nanosecond, zone.map(Into::into));
    let value = match expr {
        Expr::Literal(
            value @ (ScalarValue::Utf8(Some(_)) | ScalarValue::LargeUtf8(Some(_))),
            _,
        ) => value.cast_to(&finest).ok()?,
        Expr::Literal(value, _) => value.clone(),
        Expr::Cast(cast) => match &*cast.expr {
            Expr::Literal(value, _)
                if matches!(cast.field.data_type(), DataType::Timestamp(..)) =>
            {
                value.cast_to(cast.field.data_type()).ok()?
            }
            _ => return None,
        },
        _ => return None,
    };
    let (value, unit, its) = match value {
        ScalarValue::TimestampSecond(value, its) => (value?, TimeUnit::Second, its),
        ScalarValue::TimestampMillisecond(value, its) => (value?, TimeUnit::Millisecond, its),
        ScalarValue::TimestampMicrosecond(value, its) => (value?, TimeUnit::Microsecond, its),
        ScalarValue::TimestampNanosecond(value, its) => (value?, TimeUnit::Nanosecond, its),
        _ => return None,
    };
    let same = its.as_deref() == zone || (is_utc(its.as_deref()) && is_utc(zone));
    same.then(|| i128::from(value) * unit_nanos(unit))
}

/// The last multiple of a timestamp's unit before an instant that is not a multiple; `None` for one
/// that is.
fn before(time: &Expr, instant: &Expr, schema: &DFSchema) -> Option<Expr> {
    if !matches!(instant, Expr::Literal(..) | Expr::Cast(_)) {
        return None;
    }
    let DataType::Timestamp(unit, zone) = time.get_type(schema).ok()? else { return None };
    let nanos = nanos(instant, zone.as_deref())?;
    if nanos.rem_euclid(unit_nanos(unit)) == 0 {
        return None;
    }
    let cut = Some(i64::try_from(nanos.div_euclid(unit_nanos(unit))).ok()?);
    Some(lit(match unit {
        TimeUnit::Second => ScalarValue::TimestampSecond(cut, zone),
        TimeUnit::Millisecond => ScalarValue::TimestampMillisecond(cut, zone),
        TimeUnit::Microsecond => ScalarValue::TimestampMicrosecond(cut, zone),
        TimeUnit::Nanosecond => ScalarValue::TimestampNanosecond(cut, zone),
    }))
}

fn binary(left: Expr, op: Operator, right: Expr) -> Expr {
    Expr::BinaryExpr(BinaryExpr::new(Box::new(left), op, Box::new(right)))
}

/// A condition that is true, or false, for every time; null for null.
fn always(time: &Expr, cut: Expr, is: bool) -> Expr {
    let upto = binary(time.clone(), Operator::LtEq, cut.clone());
    let after = binary(time.clone(), Operator::Gt, cut);
    binary(upto, if is { Operator::Or } else { Operator::And }, after)
}

fn compare(time: &Expr, op: Operator, instant: &Expr, schema: &DFSchema) -> Option<Expr> {
    let cut = before(time, instant, schema)?;
    Some(match op {
        Operator::Eq => always(time, cut, false),
        Operator::NotEq => always(time, cut, true),
        Operator::Lt | Operator::LtEq => binary(time.clone(), Operator::LtEq, cut),
        Operator::Gt | Operator::GtEq => binary(time.clone(), Operator::Gt, cut),
        Operator::IsDistinctFrom => lit(true),
        Operator::IsNotDistinctFrom => lit(false),
        _ => return None,
    })
}

fn between(between: &Between, schema: &DFSchema) -> Option<Expr> {
    let side = |op, bound: &Expr| compare(&between.expr, op, bound, schema);
    let (low, high) = (side(Operator::GtEq, &between.low), side(Operator::LtEq, &between.high));
    if low.is_none() && high.is_none() {
        return None;
    }
    let plain = |op, bound: &Expr| binary((*between.expr).clone(), op, bound.clone());
    let low = low.unwrap_or_else(|| plain(Operator::GtEq, &between.low));
    let high = high.unwrap_or_else(|| plain(Operator::LtEq, &between.high));
    let both = binary(low, Operator::And, high);
    Some(if between.negated { Expr::Not(Box::new(both)) } else { both })
}

fn within(list: &InList, schema: &DFSchema) -> Option<Expr> {
    // Lists are long, and most do not contain times.
    if !matches!(list.expr.get_type(schema), Ok(DataType::Timestamp(..))) {
        return None;
    }
    let mut cut = None;
    let mut kept = Vec::with_capacity(list.list.len());
    for item in &list.list {
        match before(&list.expr, item, schema) {
            Some(last) => cut = Some(last),
            None => kept.push(item.clone()),
        }
    }
    let cut = cut?;
    if kept.is_empty() {
        return Some(always(&list.expr, cut, list.negated));
    }
    Some(Expr::InList(InList::new(list.expr.clone(), kept, list.negated)))
}
