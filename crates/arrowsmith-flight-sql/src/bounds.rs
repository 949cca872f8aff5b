// SPDX-License-Identifier: Apache-2.0
//! Limits on the size and depth of a statement: its text before it is parsed, its plan before any
//! rule runs.
//!
//! The parser builds chains (`a + b + c`, `union all`, `x is null is null`) by a loop, and all
//! later code walks over them by recursion, up to the drop. So the links of all chains are counted
//! on the tokens; what nests in other ways (parentheses, subqueries, unary signs) is bounded by the
//! parser itself. A plan is limited by its size without shared parts, which is what optimizers make
//! of it.

use std::collections::HashMap;
use std::ops::ControlFlow;

use arrow_schema::DataType;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{DataFusionError, Result};
use datafusion::logical_expr::{Expr, LogicalPlan};
use datafusion::scalar::ScalarValue;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{self, Visit, Visitor};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer};
use tonic::Status;

use crate::deadline;

/// Maximum size of a statement's text, in bytes.
const STATEMENT_BYTES_MAX: usize = 1 << 20;

/// Maximum number of tokens: an IN list of a hundred thousand numbers.
const TOKENS_MAX: usize = 250_000;

/// Maximum number of operators, and of keywords that act as operators, in a statement.
const LINKS_MAX: usize = 4_000;

/// Maximum depth of expressions and plans.
const DEPTH_MAX: u32 = 1_200;

/// Maximum sum of the depths of all expressions: a chain of 2,000 operators other than AND and OR.
/// For each expression, rules compute the types of its whole subtree.
const PATHS_MAX: u64 = 4_000_000;

/// Maximum sum over column names of depth times the number of columns in scope.
const LOOKUPS_MAX: u64 = 50_000_000;

/// Maximum depth of plans: joins, unions, subqueries, tables of `with`.
const PLANS_DEEP_MAX: u32 = 150;

/// Maximum number of expressions and plans in a plan without shared parts.
const NODES_MAX: u64 = 500_000;

/// Bytes of a value in a statement that count as one more part of it.
const PART_BYTES: u64 = 128;

/// Maximum size of all expressions of a plan together, with every name replaced by its expression.
const WRITTEN_MAX: u64 = 2 * NODES_MAX;

/// Maximum depth of a type: that of the schemas which Arrow's C++ libraries read. Other code than
/// the planner's, on threads with smaller stacks, walks over types by recursion.
pub(crate) const LEVELS_MAX: usize = 64;

/// Maximum size of a sketch of quantiles; the default is 100.
const CENTROIDS_MAX: i64 = 1_000;

/// Maximum number of columns of all plans of a plan together.
const COLUMNS_MAX: u64 = 1_000_000;

pub(crate) fn refuse(what: String) -> Status {
    Status::invalid_argument(format!("sql: {what}"))
}

/// Refuses a text that is too large, or whose expressions would be too deep.
pub(crate) fn text(sql: &str) -> Result<(), Status> {
    if sql.len() > STATEMENT_BYTES_MAX {
        return Err(refuse(format!("{} bytes are more than {STATEMENT_BYTES_MAX}", sql.len())));
    }
    let tokens = Tokenizer::new(&GenericDialect {}, sql).tokenize();
    let tokens = tokens.map_err(|error| refuse(error.to_string()))?;
    let (mut count, mut links) = (0_usize, 0_usize);
    // A sign after one of these belongs to a number, as in lists of them.
    let mut signs = true;
    for token in &tokens {
        if matches!(token, Token::Whitespace(_)) {
            continue;
        }
        count += 1;
        let sign = matches!(token, Token::Plus | Token::Minus);
        links += usize::from(is_link(token) && !(sign && signs));
        signs = matches!(token, Token::Comma | Token::LParen);
    }
    if count > TOKENS_MAX {
        return Err(refuse(format!("{count} words and signs are more than {TOKENS_MAX}")));
    }
    if links > LINKS_MAX {
        return Err(refuse(format!(
            "{links} operators are more than {LINKS_MAX}: use IN for a list"
        )));
    }
    Ok(())
}

/// Whether a token can make an expression or a query one deeper. Tokens that are not known to be
/// flat can.
fn is_link(token: &Token) -> bool {
    match token {
        Token::EOF
        | Token::Number(..)
        | Token::SingleQuotedString(_)
        | Token::DoubleQuotedString(_)
        | Token::HexStringLiteral(_)
        | Token::NationalStringLiteral(_)
        | Token::EscapedStringLiteral(_)
        | Token::DollarQuotedString(_)
        | Token::Placeholder(_)
        | Token::Comma
        | Token::Period
        | Token::SemiColon
        | Token::LParen
        | Token::RParen
        | Token::RBracket
        | Token::LBrace
        | Token::RBrace => false,
        Token::Word(word) => !matches!(
            word.keyword,
            Keyword::NoKeyword
                | Keyword::SELECT
                | Keyword::FROM
                | Keyword::WHERE
                | Keyword::AS
                | Keyword::WHEN
                | Keyword::THEN
                | Keyword::NULL
                | Keyword::TRUE
                | Keyword::FALSE
                | Keyword::DATE
                | Keyword::TIMESTAMP
                | Keyword::INTERVAL
                | Keyword::ASC
                | Keyword::DESC
        ),
        _ => true,
    }
}

/// Maximum number of tables that a table of `with` expands to.
const TABLES_MAX: u64 = 1_000;

/// Refuses tables of `with` that name those before them again and again: the planner writes them
/// out.
pub(crate) fn tables(statement: &Statement) -> Result<(), Status> {
    let found = match statement {
        Statement::Statement(inner) => inner.visit(&mut Written::default()),
        Statement::Explain(explain) => return tables(&explain.statement),
        _ => ControlFlow::Continue(()),
    };
    match found {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(count) => Err(refuse(format!(
            "a table of WITH stands for {count} tables or more, of {TABLES_MAX} at most"
        ))),
    }
}

/// By name: the number of tables that it expands to. Of several with one name the largest counts.
#[derive(Default)]
struct Written(HashMap<String, u64>);

impl Visitor for Written {
    type Break = u64;

    /// Queries inside come first.
    fn post_visit_query(&mut self, query: &ast::Query) -> ControlFlow<u64> {
        for table in query.with.iter().flat_map(|with| &with.cte_tables) {
            let mut count = 1_u64;
            let _: ControlFlow<()> = ast::visit_relations(&table.query, |name| {
                let last = name.0.last().and_then(|part| part.as_ident());
                let known = last.and_then(|last| self.0.get(&last.value.to_lowercase()));
                count = count.saturating_add(known.copied().unwrap_or(1));
                ControlFlow::Continue(())
            });
            if count > TABLES_MAX {
                return ControlFlow::Break(count);
            }
            let name = table.alias.name.value.to_lowercase();
            let before = self.0.entry(name).or_default();
            *before = (*before).max(count);
        }
        ControlFlow::Continue(())
    }
}

/// The size of a part of a plan.
#[derive(Debug, Clone, Default)]
struct Size {
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

/// Refuses a plan that is too large or too deep.
pub(crate) fn plan(plan: &LogicalPlan) -> Result<()> {
    Measure::default().plan(plan).map(drop)
}

/// The columns that the expressions of a plan refer to.
struct Scope<'a> {
    meaning: &'a dyn Fn(&Expr) -> u64,
    /// The columns of its inputs.
    among: u64,
}

/// Sizes by address: shared plans are visited once.
#[derive(Default)]
struct Measure(HashMap<usize, Size>);

impl Measure {
    fn plan(&mut self, plan: &LogicalPlan) -> Result<Size> {
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

/// Bytes of a value beside itself. A null of a fixed size takes as much as a value.
fn value_bytes(value: &ScalarValue) -> u64 {
    let size = value.size().saturating_sub(size_of_val(value)) as u64;
    match arrowsmith_flight::ipc::width(&value.data_type()) {
        0 | 1 => size,
        width => size.max(width),
    }
}

/// Bytes of the values that a plan holds: those in its text, those that folding made, and those of
/// its parameters, as often as these are named.
pub(crate) fn literals(plan: &LogicalPlan, parameters: &[ScalarValue]) -> Result<u64> {
    let sizes: Vec<u64> = parameters.iter().map(value_bytes).collect();
    let mut bytes = 0_u64;
    plan.apply_with_subqueries(|plan| {
        plan.apply_expressions(|expr| {
            expr.apply(|expr| {
                let its = match expr {
                    Expr::Literal(value, _) => value_bytes(value),
                    Expr::Placeholder(placeholder) => {
                        let number = placeholder.id.trim_start_matches('$').parse::<usize>();
                        let place = number.ok().and_then(|number| number.checked_sub(1));
                        place.and_then(|place| sizes.get(place).copied()).unwrap_or(0)
                    }
                    _ => 0,
                };
                bytes = bytes.saturating_add(its);
                Ok(TreeNodeRecursion::Continue)
            })
        })
    })?;
    Ok(bytes)
}

/// Refuses sketches of quantiles that are too large: each group has one, and its size, an argument,
/// is allocated at once. For a plan that is optimized, where that argument is a value.
pub(crate) fn sketches(plan: &LogicalPlan) -> Result<()> {
    plan.apply_with_subqueries(|plan| {
        plan.apply_expressions(|expr| {
            expr.apply(|expr| {
                match expr {
                    Expr::AggregateFunction(call) => sketch(call.func.name(), &call.params.args)?,
                    Expr::WindowFunction(call) => sketch(call.fun.name(), &call.params.args)?,
                    _ => {}
                }
                Ok(TreeNodeRecursion::Continue)
            })
        })
    })
    .map(drop)
}

fn sketch(function: &str, args: &[Expr]) -> Result<()> {
    let size = match function {
        "approx_percentile_cont" => args.get(2),
        "approx_percentile_cont_with_weight" => args.get(3),
        _ => None,
    };
    let Some(size) = size else { return Ok(()) };
    let centroids = match size {
        Expr::Literal(value, _) => match value.cast_to(&DataType::Int64) {
            Ok(ScalarValue::Int64(Some(centroids))) => centroids,
            _ => i64::MAX,
        },
        _ => i64::MAX,
    };
    if centroids > CENTROIDS_MAX {
        let reason = format!("{function}: more than {CENTROIDS_MAX} centroids");
        return Err(DataFusionError::Plan(reason));
    }
    Ok(())
}

/// Whether a plan repeats the rows of its inputs: joins do, and lists that become rows.
pub(crate) fn repeats(plan: &LogicalPlan) -> Result<bool> {
    let mut found = false;
    plan.apply_with_subqueries(|plan| {
        found |= matches!(plan, LogicalPlan::Join(_) | LogicalPlan::Unnest(_));
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_are_counted_before_they_are_parsed() {
        let long =
            |first: &str, link: &str| format!("select {first}{}", link.repeat(LINKS_MAX + 1));
        for (first, link) in [
            ("1", "+1"),
            ("1", " + 1"),
            ("true", " or true"),
            ("1", " is null"),
            ("1", "::int"),
            ("1", " union all select 1"),
            ("1", " between 0 and 1"),
            ("a", "[1]"),
            ("a", " collate b"),
            ("", "not "),
            ("", "- "),
            ("'a'", "||'a'"),
            ("1 from a", " join a"),
            ("a", "->a"),
            ("a", " at time zone 'utc'"),
        ] {
            let refused = text(&long(first, link)).unwrap_err();
            assert!(refused.message().contains("operators"), "{}", refused.message());
        }
    }

    #[test]
    fn lists_are_flat() {
        let numbers = "-1, ".repeat(50_000);
        assert!(text(&format!("select * from a where b in ({numbers} 1)")).is_ok());
        let rows = "(1, 'a'), ".repeat(20_000);
        assert!(text(&format!("select * from (values {rows} (1, 'b'))")).is_ok());
        let list = " or a = 1".repeat(1_000);
        assert!(text(&format!("select * from b where a = 0{list}")).is_ok());
        assert!(text(&"x".repeat(STATEMENT_BYTES_MAX + 1)).is_err());
        assert!(text(&"x ".repeat(TOKENS_MAX + 1)).is_err());
    }
}
