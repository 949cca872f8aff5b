// SPDX-License-Identifier: Apache-2.0
//! Clauses that the parser knows and the planner does not look at. A statement with one of them
//! would be answered as if it were not there, so it is refused.

use std::ops::ControlFlow;

use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{Select, TableFactor, Visit, Visitor};
use tonic::Status;

use crate::bounds::refuse;

/// Refuses a statement with a clause that would not be followed.
pub(crate) fn clauses(statement: &Statement) -> Result<(), Status> {
    let found = match statement {
        Statement::Statement(inner) => inner.visit(&mut Unread),
        Statement::Explain(explain) => return clauses(&explain.statement),
        _ => ControlFlow::Continue(()),
    };
    match found {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(clause) => Err(refuse(format!("{clause} is not supported"))),
    }
}

struct Unread;

fn refused(clauses: &[(bool, &'static str)]) -> ControlFlow<&'static str> {
    match clauses.iter().find(|(found, _)| *found) {
        Some((_, clause)) => ControlFlow::Break(clause),
        None => ControlFlow::Continue(()),
    }
}

impl Visitor for Unread {
    type Break = &'static str;

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<Self::Break> {
        refused(&[
            (select.prewhere.is_some(), "PREWHERE"),
            (!select.connect_by.is_empty(), "CONNECT BY"),
            (select.value_table_mode.is_some(), "SELECT AS"),
            (select.exclude.is_some(), "EXCLUDE after the columns"),
        ])
    }

    fn pre_visit_table_factor(&mut self, table: &TableFactor) -> ControlFlow<Self::Break> {
        match table {
            TableFactor::Table {
                version, with_ordinality, partitions, json_path, sample, ..
            } => refused(&[
                (sample.is_some(), "TABLESAMPLE"),
                (version.is_some(), "a version of a table"),
                (*with_ordinality, "WITH ORDINALITY"),
                (!partitions.is_empty(), "PARTITION"),
                (json_path.is_some(), "a path in a table"),
            ]),
            TableFactor::Derived { sample, .. } => refused(&[(sample.is_some(), "TABLESAMPLE")]),
            _ => ControlFlow::Continue(()),
        }
    }
}
