// SPDX-License-Identifier: Apache-2.0
//! Other names of functions, such as `length` for `character_length`.
//!
//! The planner keeps such a name for the column of the result, as an alias with the text of the
//! call, and the text of an alias has that of its expression twice: forty calls of `length` in one
//! another have a text of terabytes. So calls deep inside others are written with the functions'
//! own names before planning. Those outside keep theirs: expressions are compared with these names,
//! such as those of SELECT with those of GROUP BY.

use std::convert::Infallible;
use std::ops::ControlFlow;

use datafusion::execution::SessionState;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    Expr, Function, Ident, ObjectName, ObjectNamePart, Query, VisitMut, VisitorMut,
};

/// Calls in one another that keep their names.
const KEPT: usize = 4;

/// Writes calls deep inside others with the functions' own names.
pub(crate) fn resolve(statement: &mut Statement, state: &SessionState) {
    match statement {
        Statement::Statement(inner) => {
            let _: ControlFlow<Infallible> = inner.visit(&mut Resolve { state, around: vec![0] });
        }
        Statement::Explain(explain) => resolve(&mut explain.statement, state),
        _ => {}
    }
}

struct Resolve<'a> {
    state: &'a SessionState,
    /// By query: how many calls that keep another name are around an expression.
    around: Vec<usize>,
}

impl Resolve<'_> {
    /// The function's own name, if the call has another one.
    fn own_name(&self, call: &Function) -> Option<&str> {
        let [ObjectNamePart::Identifier(name)] = call.name.0.as_slice() else { return None };
        let name = match name.quote_style {
            Some(_) => name.value.clone(),
            None => name.value.to_ascii_lowercase(),
        };
        let scalar = self.state.scalar_functions().get(&name).map(|function| function.name());
        let own = scalar
            .or_else(|| self.state.window_functions().get(&name).map(|function| function.name()))
            .or_else(|| self.state.aggregate_functions().get(&name).map(|called| called.name()))?;
        (own != name).then_some(own)
    }
}

impl VisitorMut for Resolve<'_> {
    type Break = Infallible;

    /// The names of a subquery's columns may be referred to; texts have no subqueries.
    fn pre_visit_query(&mut self, _: &mut Query) -> ControlFlow<Infallible> {
        self.around.push(0);
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<Infallible> {
        self.around.pop();
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Infallible> {
        let Expr::Function(call) = expr else { return ControlFlow::Continue(()) };
        let Some(own) = self.own_name(call) else { return ControlFlow::Continue(()) };
        let own = ObjectName::from(vec![Ident::new(own)]);
        match self.around.last_mut() {
            Some(around) if *around < KEPT => *around += 1,
            _ => call.name = own,
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Infallible> {
        if let Expr::Function(call) = expr
            && self.own_name(call).is_some()
            && let Some(around) = self.around.last_mut()
        {
            *around -= 1;
        }
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use datafusion::execution::SessionStateBuilder;

    use super::*;

    #[test]
    fn calls_deep_inside_others_have_the_functions_own_names() {
        let state = SessionStateBuilder::new().with_default_features().build();
        let dialect = state.config().options().sql_parser.dialect;
        let deep = |call: &str| format!("POW(pow(pow(pow({call}, 1), 2), 3), 4)");
        for (call, expected) in [
            ("length(a)", "character_length(a)"),
            ("f(LENGTH(ifnull(length(a), 1)))", "f(character_length(nvl(character_length(a), 1)))"),
            ("\"LENGTH\"(a) + \"length\"(b)", "\"LENGTH\"(a) + character_length(b)"),
            ("upper(a)", "upper(a)"),
            ("(SELECT length(b) FROM t)", "(SELECT length(b) FROM t)"),
        ] {
            let sql = format!("SELECT {}, {}, pow(length(c), 1)", deep(call), deep("pow(b, 1)"));
            let expected =
                format!("SELECT {}, {}, pow(length(c), 1)", deep(expected), deep("power(b, 1)"));
            for (sql, expected) in [
                (sql.clone(), expected.clone()),
                (format!("EXPLAIN {sql}"), format!("EXPLAIN {expected}")),
            ] {
                let mut statement = state.sql_to_statement(&sql, &dialect).unwrap();
                resolve(&mut statement, &state);
                assert_eq!(statement.to_string(), expected);
            }
        }
    }
}
