// SPDX-License-Identifier: Apache-2.0
//! How many parts of each kind a statement may have, counted before it is planned.
//!
//! The time of planning is linear in most parts, such as the values of an IN list; for some it is
//! quadratic (columns against columns, tables against tables) or exponential (CUBE), in steps that
//! cannot be interrupted. So each kind has a limit of its own, far above what people and tools
//! write: the longest step takes seconds.

use std::collections::HashMap;
use std::ops::ControlFlow;

use arrowsmith_flight::Catalog;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, Function, FunctionArgumentClause, FunctionArguments, GroupByExpr,
    NamedWindowExpr, ObjectName, OrderByKind, Query, Select, SetExpr, Visit, Visitor, WindowSpec,
    WindowType, visit_expressions,
};
use tonic::Status;

use crate::bounds::{LEVELS_MAX, refuse};

/// Maximum number of columns of a SELECT, and of VALUES.
const COLUMNS_MAX: usize = 2_000;
const VALUES_WIDTH_MAX: usize = 500;

/// Maximum number of columns of all of them together.
const COLUMNS_ALL_MAX: usize = 10_000;

/// Maximum number of expressions of a GROUP BY.
const GROUPS_MAX: usize = 500;

/// Maximum number of sets of GROUPING SETS, CUBE and ROLLUP.
const SETS_MAX: usize = 4_096;

/// Maximum number of expressions of an ORDER BY.
const KEYS_MAX: usize = 100;

/// Maximum number of window calls (OVER) in a statement; of expressions of PARTITION BY and ORDER
/// BY of one of them, and of all.
const WINDOWS_MAX: usize = 100;
const WINDOW_KEYS_MAX: usize = 50;
const WINDOW_KEYS_ALL_MAX: usize = 500;

/// Maximum depth of calls with WITHIN GROUP, whose key the planner writes twice.
const GROUPED_DEEP_MAX: usize = 4;

/// Maximum number of arguments of a function.
const ARGUMENTS_MAX: usize = 2_000;

/// Maximum number of tables of a FROM.
const TABLES_MAX: usize = 64;

/// Maximum number of queries in a statement: subqueries, tables of WITH, itself.
const QUERIES_MAX: usize = 500;

/// Maximum number of UNION, EXCEPT and INTERSECT in one another: as deep as a plan may be.
const LINKS_MAX: usize = 150;

/// Maximum number of columns of all tables in a statement, if there is more than one.
const WIDTH_MAX: usize = 20_000;

/// Maximum depth of expressions, without those joined by AND and OR, whose chains are balanced.
const DEPTH_MAX: usize = 1_200;

/// Refuses a statement with too many parts of a kind.
pub(crate) fn statement(statement: &Statement, catalog: &Catalog) -> Result<(), Status> {
    let mut counts = Counts::of(catalog);
    let found = match statement {
        Statement::Statement(inner) => inner.visit(&mut counts),
        Statement::Explain(explain) => return self::statement(&explain.statement, catalog),
        _ => ControlFlow::Continue(()),
    };
    match found {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break((what, count, most)) => {
            Err(refuse(format!("{count} {what} are more than {most}")))
        }
    }
}

/// The exceeded limit: its subject, the count, and the maximum.
type TooMany = (&'static str, usize, usize);

fn limit(what: &'static str, count: usize, most: usize) -> ControlFlow<TooMany> {
    match count > most {
        true => ControlFlow::Break((what, count, most)),
        false => ControlFlow::Continue(()),
    }
}

struct Counts<'a> {
    catalog: &'a Catalog,
    depth: usize,
    grouped: usize,
    columns: usize,
    windows: usize,
    window_keys: usize,
    queries: usize,
    /// Columns of the tables named so far.
    width: usize,
    /// By name: columns of tables, which are looked up once.
    widths: HashMap<String, usize>,
}

impl<'a> Counts<'a> {
    fn of(catalog: &'a Catalog) -> Self {
        Self {
            catalog,
            depth: 0,
            grouped: 0,
            columns: 0,
            windows: 0,
            window_keys: 0,
            queries: 0,
            width: 0,
            widths: HashMap::new(),
        }
    }

    fn columns(&mut self, what: &'static str, count: usize) -> ControlFlow<TooMany> {
        limit(what, count, COLUMNS_MAX)?;
        self.columns = self.columns.saturating_add(count);
        limit("columns of all queries", self.columns, COLUMNS_ALL_MAX)
    }

    /// Before it is planned, a table of WITH is assumed to have as many columns as the widest
    /// table.
    fn width_of(&mut self, name: &str) -> usize {
        if let Some(width) = self.widths.get(name) {
            return *width;
        }
        let width = match self.catalog.get(name) {
            Some(dataset) => dataset.current().schema.fields().len(),
            None => return self.widths.values().copied().max().unwrap_or(1),
        };
        self.widths.insert(name.to_owned(), width);
        width
    }

    fn window(&mut self, window: &WindowSpec) -> ControlFlow<TooMany> {
        self.windows += 1;
        limit("windows", self.windows, WINDOWS_MAX)?;
        let keys = window.partition_by.len() + window.order_by.len();
        limit("keys of a window", keys, WINDOW_KEYS_MAX)?;
        self.window_keys += keys;
        limit("keys of windows", self.window_keys, WINDOW_KEYS_ALL_MAX)
    }

    fn function(&mut self, function: &Function) -> ControlFlow<TooMany> {
        if let FunctionArguments::List(list) = &function.args {
            limit("arguments of a function", list.args.len(), ARGUMENTS_MAX)?;
            if names_type(function) {
                visit_expressions(&list.args, |expr| match expr {
                    Expr::Value(value) => {
                        let text = value.value.clone().into_string().unwrap_or_default();
                        limit("levels of a type", levels(&text), LEVELS_MAX)
                    }
                    _ => ControlFlow::Continue(()),
                })?;
            }
            for clause in &list.clauses {
                if let FunctionArgumentClause::OrderBy(keys) = clause {
                    limit("keys of a function", keys.len(), KEYS_MAX)?;
                }
            }
        }
        match &function.over {
            Some(WindowType::WindowSpec(window)) => self.window(window),
            Some(WindowType::NamedWindow(_)) => {
                self.windows += 1;
                limit("windows", self.windows, WINDOWS_MAX)
            }
            None => ControlFlow::Continue(()),
        }
    }
}

/// Whether an argument of a function names an Arrow type, which is parsed by recursion.
fn names_type(function: &Function) -> bool {
    let name = function.name.0.last().and_then(|part| part.as_ident());
    name.is_some_and(|name| {
        ["arrow_cast", "arrow_try_cast"].iter().any(|known| name.value.eq_ignore_ascii_case(known))
    })
}

/// Maximum depth of the parentheses in a text.
fn levels(text: &str) -> usize {
    let mut open = 0_usize;
    let depths = text.bytes().map(|byte| {
        match byte {
            b'(' => open += 1,
            b')' => open = open.saturating_sub(1),
            _ => {}
        }
        open
    });
    depths.max().unwrap_or(0)
}

/// Sets that one expression of GROUP BY comes to.
fn sets(expr: &Expr) -> usize {
    match expr {
        Expr::Cube(keys) => u32::try_from(keys.len())
            .ok()
            .and_then(|keys| 1_usize.checked_shl(keys))
            .unwrap_or(usize::MAX),
        Expr::Rollup(keys) => keys.len() + 1,
        Expr::GroupingSets(all) => all.len(),
        _ => 1,
    }
}

/// Maximum depth of the set operations of a query: the parser makes a chain of them by a loop.
fn links(body: &SetExpr) -> usize {
    let (mut deepest, mut open) = (0, vec![(body, 0)]);
    while let Some((body, depth)) = open.pop() {
        deepest = deepest.max(depth);
        if let SetExpr::SetOperation { left, right, .. } = body {
            open.extend([(&**left, depth + 1), (&**right, depth + 1)]);
        }
    }
    deepest
}

/// Expressions in one expression of GROUP BY.
fn keys(expr: &Expr) -> usize {
    match expr {
        Expr::Cube(keys) | Expr::Rollup(keys) | Expr::GroupingSets(keys) => {
            keys.iter().map(Vec::len).sum()
        }
        _ => 1,
    }
}

impl Visitor for Counts<'_> {
    type Break = TooMany;

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<TooMany> {
        self.queries += 1;
        limit("queries", self.queries, QUERIES_MAX)?;
        limit("UNION, EXCEPT or INTERSECT in a row", links(&query.body), LINKS_MAX)?;
        if let Some(order) = &query.order_by
            && let OrderByKind::Expressions(keys) = &order.kind
        {
            limit("expressions of ORDER BY", keys.len(), KEYS_MAX)?;
        }
        if let SetExpr::Values(values) = &*query.body {
            let widest = values.rows.iter().map(|row| row.content.len()).max().unwrap_or(0);
            limit("columns of VALUES", widest, VALUES_WIDTH_MAX)?;
            self.columns("columns", widest)?;
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<TooMany> {
        self.columns("columns", select.projection.len())?;
        let tables = select.from.iter().map(|from| 1 + from.joins.len()).sum();
        limit("tables of FROM", tables, TABLES_MAX)?;
        for window in &select.named_window {
            if let NamedWindowExpr::WindowSpec(window) = &window.1 {
                self.window(window)?;
            }
        }
        limit("expressions of SORT BY", select.sort_by.len(), KEYS_MAX)?;
        if let GroupByExpr::Expressions(exprs, _) = &select.group_by {
            limit("expressions of GROUP BY", exprs.iter().map(keys).sum(), GROUPS_MAX)?;
            let all = exprs.iter().map(sets).fold(1, usize::saturating_mul);
            limit("sets of GROUP BY", all, SETS_MAX)?;
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_relation(&mut self, relation: &ObjectName) -> ControlFlow<TooMany> {
        let name = relation.0.last().and_then(|part| part.as_ident());
        let its = name.map_or(1, |name| self.width_of(&name.value));
        let before = self.width;
        self.width = before.saturating_add(its);
        match before {
            0 => ControlFlow::Continue(()),
            _ => limit("columns of tables", self.width, WIDTH_MAX),
        }
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<TooMany> {
        self.depth += usize::from(!is_condition(expr));
        limit("expressions in one another", self.depth, DEPTH_MAX)?;
        self.grouped += usize::from(is_grouped(expr));
        limit("WITHIN GROUP in one another", self.grouped, GROUPED_DEEP_MAX)?;
        match expr {
            Expr::Function(function) => self.function(function),
            Expr::Cube(_) => limit("sets of GROUP BY", sets(expr), SETS_MAX),
            _ => ControlFlow::Continue(()),
        }
    }

    fn post_visit_expr(&mut self, expr: &Expr) -> ControlFlow<TooMany> {
        self.depth -= usize::from(!is_condition(expr));
        self.grouped -= usize::from(is_grouped(expr));
        ControlFlow::Continue(())
    }
}

fn is_grouped(expr: &Expr) -> bool {
    matches!(expr, Expr::Function(call) if !call.within_group.is_empty())
}

/// Whether it joins conditions.
fn is_condition(expr: &Expr) -> bool {
    matches!(expr, Expr::BinaryOp { op: BinaryOperator::And | BinaryOperator::Or, .. })
}
