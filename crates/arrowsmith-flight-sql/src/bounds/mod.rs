// SPDX-License-Identifier: Apache-2.0
//! Limits on the size and depth of a statement: its text before it is parsed, its plan before any
//! rule runs.
//!
//! The parser builds chains (`a + b + c`, `union all`, `x is null is null`) by a loop, and all
//! later code walks over them by recursion, up to the drop. So the links of all chains are counted
//! on the tokens; what nests in other ways (parentheses, subqueries, unary signs) is bounded by the
//! parser itself. A plan is limited by its size without shared parts, which is what optimizers make
//! of it.

mod measure;

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

use self::measure::Measure;

/// Maximum size of a statement's text, in bytes.
const STATEMENT_BYTES_MAX: usize = 1 << 20;

/// Maximum number of tokens: an IN list of a hundred thousand numbers.
const TOKENS_MAX: usize = 250_000;

/// Maximum number of operators, and of keywords that act as operators, in a statement.
const LINKS_MAX: usize = 4_000;

/// Maximum depth of brackets; the parser counts those of expressions, of 47 at most, but not those
/// of row patterns.
const BRACKETS_MAX: usize = 200;

/// Maximum number of INTERVAL in a row: the parser reads each as the value of the one before, and
/// does not count them.
const INTERVALS_MAX: usize = 8;

/// Maximum depth of expressions and plans.
const DEPTH_MAX: u32 = 1_200;

/// Maximum sum of the depths of all expressions: a chain of 2,000 operators other than AND and OR.
/// For each expression, rules compute the types of its whole subtree.
const PATHS_MAX: u64 = 4_000_000;

/// Maximum sum over column names of depth times the number of columns in scope.
const LOOKUPS_MAX: u64 = 50_000_000;

/// Maximum depth of plans: joins, unions, subqueries, tables of `with`.
const PLANS_DEEP_MAX: u32 = 150;

/// Maximum number of joins in one another. More than 128 never end: tokio lets a task take 128
/// steps at once, and one that continues begins with the outermost join.
const JOINS_DEEP_MAX: u32 = 120;

/// Maximum number of expressions and plans in a plan without shared parts.
const NODES_MAX: u64 = 500_000;

/// Maximum number of parts of an expression of which rules make copies, with the copies: each takes
/// the planner some 400 bytes.
const COPIED_MAX: u64 = 250_000;

/// Maximum number of steps in which a physical expression says whether it can be null: a cast asks
/// its input twice, of which each may have a cast below it.
const STEPS_MAX: u64 = 300_000;

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
    let (mut open, mut intervals) = (0_usize, 0_usize);
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
        intervals = match token {
            Token::Word(word) if word.keyword == Keyword::INTERVAL => intervals + 1,
            _ => 0,
        };
        open = match token {
            Token::LParen | Token::LBracket | Token::LBrace => open + 1,
            Token::RParen | Token::RBracket | Token::RBrace => open.saturating_sub(1),
            _ => open,
        };
        if open > BRACKETS_MAX {
            return Err(refuse(format!("more than {BRACKETS_MAX} brackets in one another")));
        }
        if intervals > INTERVALS_MAX {
            return Err(refuse(format!("more than {INTERVALS_MAX} INTERVAL in a row")));
        }
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

/// Refuses a plan that is too large or too deep.
pub(crate) fn plan(plan: &LogicalPlan) -> Result<()> {
    Measure::default().plan(plan).map(drop)
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
mod tests;
