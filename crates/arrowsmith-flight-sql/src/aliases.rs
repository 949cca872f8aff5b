// SPDX-License-Identifier: Apache-2.0
//! Other names of functions, such as `length` for `character_length`.
//!
//! The planner keeps such a name for the column of the result, as an alias with the text of the
//! call, and the text of an alias has that of its expression twice: forty calls of `length` in one
//! another have a text of terabytes. So calls inside others are written with the functions' own
//! names before planning; only the outermost keeps its name.

use std::convert::Infallible;
use std::ops::ControlFlow;

use datafusion::execution::SessionState;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    Expr, Function, Ident, ObjectName, ObjectNamePart, Query, VisitMut, VisitorMut,
};

/// Writes calls inside others with the functions' own names.
pub(crate) fn resolve(statement: &mut Statement, state: &SessionState) {
    match statement {
        Statement::Statement(inner) => {
            let _: ControlFlow<Infallible> =
                inner.visit(&mut Resolve { state, inside: vec![false] });
        }
        Statement::Explain(explain) => resolve(&mut explain.statement, state),
        _ => {}
    }
}

struct Resolve<'a> {
    state: &'a SessionState,
    /// By query: whether a call with another name is around an expression.
    inside: Vec<bool>,
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
        self.inside.push(false);
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<Infallible> {
        self.inside.pop();
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Infallible> {
        let Expr::Function(call) = expr else { return ControlFlow::Continue(()) };
        let Some(own) = self.own_name(call) else { return ControlFlow::Continue(()) };
        let own = ObjectName::from(vec![Ident::new(own)]);
        match self.inside.last_mut() {
            Some(inside @ false) => *inside = true,
            _ => call.name = own,
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Infallible> {
        if let Expr::Function(call) = expr
            && self.own_name(call).is_some()
            && let Some(inside) = self.inside.last_mut()
        {
            *inside = false;
        }
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use datafusion::execution::SessionStateBuilder;

    use super::*;

    #[test]
    fn calls_inside_others_have_the_functions_own_names() {
        let state = SessionStateBuilder::new().with_default_features().build();
        let dialect = state.config().options().sql_parser.dialect;
        for (sql, expected) in [
            ("SELECT length(a), mean(b)", "SELECT length(a), mean(b)"),
            (
                "SELECT LENGTH(IFNULL(length(a), ifnull(b, 1))) + ifnull(c, length(d))",
                "SELECT LENGTH(nvl(character_length(a), nvl(b, 1))) + ifnull(c, character_length(d))",
            ),
            (
                "SELECT upper(length(replace(length(a), 'b', 'c')))",
                "SELECT upper(length(replace(character_length(a), 'b', 'c')))",
            ),
            (
                "SELECT length((SELECT length(b) FROM t WHERE pow(pow(c, 1), 2) = 1))",
                "SELECT length((SELECT length(b) FROM t WHERE pow(power(c, 1), 2) = 1))",
            ),
            (
                "SELECT pow(\"POW\"(a, 1), f(pow(b, 1)))",
                "SELECT pow(\"POW\"(a, 1), f(power(b, 1)))",
            ),
            ("EXPLAIN SELECT pow(pow(a, 1), 2)", "EXPLAIN SELECT pow(power(a, 1), 2)"),
        ] {
            let mut statement = state.sql_to_statement(sql, &dialect).unwrap();
            resolve(&mut statement, &state);
            assert_eq!(statement.to_string(), expected);
        }
    }
}
