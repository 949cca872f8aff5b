// SPDX-License-Identifier: Apache-2.0
//! Long chains of AND and of OR, balanced: code that inspects the subtree at every link takes half
//! a million steps for a chain of a thousand, and ten thousand for a tree of ten levels.
//!
//! The parts stay in their order, and AND and OR are associative, with nulls too.

use std::sync::Arc;

use arrow_schema::DataType;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DataFusionError, Result};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{
    BinaryExpr, ColumnarValue, Expr, LogicalPlan, Operator, ScalarFunctionArgs, ScalarUDF,
    ScalarUDFImpl, Signature, Volatility,
};
use datafusion::optimizer::optimizer::ApplyOrder;
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};

/// Shorter chains are left as they are written.
const PARTS_MIN: usize = 16;

/// Maximum number of conditions joined by AND for which DataFusion may compute ranges: it compares
/// each of their expressions with all others in full.
const RANGES_MAX: usize = 64;

/// The same plan with balanced chains, before any rule has run.
pub(crate) fn shallow(plan: LogicalPlan) -> Result<LogicalPlan> {
    plan.transform_up_with_subqueries(balanced).map(|plan| plan.data)
}

/// The same once more, after the optimizer has split conditions and put them together.
#[derive(Debug)]
pub(crate) struct BalanceChains;

impl OptimizerRule for BalanceChains {
    fn name(&self) -> &'static str {
        "balance_chains"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::TopDown)
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        _: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        let shallow = balanced(plan)?;
        let LogicalPlan::Filter(mut filter) = shallow.data else { return Ok(shallow) };
        let found = filter.predicate.exists(|expr| Ok(is_hidden(expr)))?;
        let hides = !found && extent(&filter.predicate, Operator::And).1 > RANGES_MAX;
        if hides {
            filter.predicate = hidden(filter.predicate);
        }
        let plan = LogicalPlan::Filter(filter);
        Ok(Transformed::new(plan, shallow.transformed || hides, shallow.tnr))
    }
}

/// The same condition, opaque to the optimizer.
fn hidden(expr: Expr) -> Expr {
    let hide = Arc::new(ScalarUDF::new_from_impl(Hide(Signature::any(1, Volatility::Immutable))));
    Expr::ScalarFunction(ScalarFunction::new_udf(hide, vec![expr]))
}

fn is_hidden(expr: &Expr) -> bool {
    matches!(expr, Expr::ScalarFunction(call) if call.func.inner().is::<Hide>())
}

/// Its argument.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Hide(Signature);

impl ScalarUDFImpl for Hide {
    fn name(&self) -> &'static str {
        "condition"
    }

    fn signature(&self) -> &Signature {
        &self.0
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        Ok(types.first().cloned().unwrap_or(DataType::Boolean))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let none = || DataFusionError::Internal("a condition has one part".to_owned());
        args.args.into_iter().next().ok_or_else(none)
    }
}

fn balanced(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let names = NamePreserver::new(&plan);
    plan.map_expressions(|expr| {
        let name = names.save(&expr);
        let balanced = expr.transform_down(|expr| Ok(balance(expr)))?;
        Ok(balanced.update_data(|expr| name.restore(expr)))
    })
}

fn operator(expr: &Expr) -> Option<Operator> {
    match expr {
        Expr::BinaryExpr(binary) if matches!(binary.op, Operator::And | Operator::Or) => {
            Some(binary.op)
        }
        _ => None,
    }
}

/// How deep the links of one operator are, and how many parts they join.
fn extent(expr: &Expr, op: Operator) -> (usize, usize) {
    let (mut deepest, mut parts) = (0, 0);
    let mut open = vec![(expr, 1)];
    while let Some((expr, depth)) = open.pop() {
        deepest = deepest.max(depth);
        match expr {
            Expr::BinaryExpr(binary) if binary.op == op => {
                open.extend([(&*binary.left, depth + 1), (&*binary.right, depth + 1)]);
            }
            _ => parts += 1,
        }
    }
    (deepest, parts)
}

fn balance(expr: Expr) -> Transformed<Expr> {
    let Some(op) = operator(&expr) else { return Transformed::no(expr) };
    let (depth, count) = extent(&expr, op);
    // One level for the parts, as many as it takes to join them, and one to spare.
    if count < PARTS_MIN || depth <= 2 + count.ilog2() as usize + 1 {
        return Transformed::no(expr);
    }
    let mut parts = Vec::with_capacity(count);
    let mut open = vec![expr];
    while let Some(expr) = open.pop() {
        match expr {
            Expr::BinaryExpr(binary) if binary.op == op => {
                open.extend([*binary.right, *binary.left]);
            }
            part => parts.push(part),
        }
    }
    // Neighbours are joined until there is one.
    while parts.len() > 1 {
        let mut joined = Vec::with_capacity(parts.len().div_ceil(2));
        let mut rest = parts.into_iter();
        while let Some(left) = rest.next() {
            joined.push(match rest.next() {
                Some(right) => {
                    Expr::BinaryExpr(BinaryExpr::new(Box::new(left), op, Box::new(right)))
                }
                None => left,
            });
        }
        parts = joined;
    }
    parts.pop().map_or_else(|| Transformed::no(Expr::default()), Transformed::yes)
}

#[cfg(test)]
mod tests {
    use datafusion::logical_expr::{col, lit};

    use super::*;

    fn chain(count: i64, op: Operator) -> Expr {
        let part = |n: i64| col("a").not_eq(lit(n));
        (1..count).fold(part(0), |all, n| {
            Expr::BinaryExpr(BinaryExpr::new(Box::new(all), op, Box::new(part(n))))
        })
    }

    fn words(expr: &Expr) -> Vec<String> {
        let text = expr.to_string();
        text.split(" AND ").flat_map(|part| part.split(" OR ")).map(str::to_owned).collect()
    }

    #[test]
    fn a_chain_becomes_shallow_and_keeps_its_order() {
        for op in [Operator::And, Operator::Or] {
            for count in [16_u32, 17, 100, 333] {
                let long = chain(count.into(), op);
                let short = long.clone().transform_down(|expr| Ok(balance(expr))).unwrap().data;
                let (depth, parts) = extent(&short, op);
                assert_eq!(parts, count as usize);
                assert!(depth <= 2 + count.ilog2() as usize, "{count}: {depth}");
                assert_eq!(words(&short), words(&long));
                assert!(!balance(short).transformed);
            }
            assert!(!balance(chain(15, op)).transformed);
        }
    }
}
