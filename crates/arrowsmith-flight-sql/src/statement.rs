// SPDX-License-Identifier: Apache-2.0
//! The text of a statement → a plan that may run: only statements that read, within the bounds of
//! sizes.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, SchemaRef};
use arrowsmith_flight::Catalog;
use datafusion::common::ParamValues;
use datafusion::error::DataFusionError;
use datafusion::execution::context::SQLOptions;
use datafusion::execution::{SessionState, SessionStateBuilder, TaskContext};
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast;
use tonic::Status;

use crate::balance::shallow;
use crate::engine::Parameters;
use crate::pace::{paced, timed};
use crate::text::{numbered, status};
use crate::{aliases, bounds, counts, nesting, plain, unread};

/// Rows of a batch; of one that may be repeated by a join or made of lists.
pub(crate) const BATCH_ROWS: usize = 8192;
const JOINED_ROWS: usize = 1024;

/// Maximum size of a statement's own values, repeated in every row of a batch.
const REPEATED_BYTES: u64 = 64 << 20;

/// Maximum size of the values in a plan, in bytes.
const LITERAL_BYTES_MAX: u64 = 16 << 20;

/// A statement that has been read: it stays on the runtime's threads.
pub(crate) struct Read {
    pub(crate) state: SessionState,
    pub(crate) plan: LogicalPlan,
}

/// Reads a statement; others than those that read are refused.
pub(crate) async fn read(
    state: SessionState,
    catalog: &Catalog,
    sql: &str,
) -> Result<Read, Status> {
    let sql = numbered(sql);
    let dialect = state.config().options().sql_parser.dialect;
    nesting::check(&sql, dialect)?;
    let mut statement = state.sql_to_statement(&sql, &dialect).map_err(|error| status(&error))?;
    reads(&statement)?;
    unread::clauses(&statement)?;
    bounds::tables(&statement)?;
    counts::statement(&statement, catalog)?;
    aliases::resolve(&mut statement, &state);
    let plan = state.statement_to_plan(statement).await.and_then(shallow);
    let plan = plan.map_err(|error| status(&error))?;
    // No CREATE EXTERNAL TABLE, no COPY TO, no SET: nothing that opens a file or changes the
    // session.
    let only =
        SQLOptions::new().with_allow_ddl(false).with_allow_dml(false).with_allow_statements(false);
    bounds::plan(&plan).and_then(|()| only.verify_plan(&plan)).map_err(|error| status(&error))?;
    Ok(Read { state, plan })
}

/// Refuses statements that write, with a message of our own, before they are analysed further.
fn reads(statement: &Statement) -> Result<(), Status> {
    let Statement::Statement(inner) = statement else {
        return match statement {
            Statement::Explain(explain) => reads(&explain.statement),
            _ => Err(writes("this statement")),
        };
    };
    match inner.as_ref() {
        ast::Statement::Query(_)
        | ast::Statement::Explain { .. }
        | ast::Statement::ExplainTable { .. }
        | ast::Statement::ShowTables { .. }
        | ast::Statement::ShowColumns { .. } => Ok(()),
        ast::Statement::Insert(_) => Err(writes("INSERT")),
        ast::Statement::Update { .. } => Err(writes("UPDATE")),
        ast::Statement::Delete(_) => Err(writes("DELETE")),
        ast::Statement::CreateTable(_) | ast::Statement::CreateView { .. } => Err(writes("CREATE")),
        ast::Statement::Drop { .. } => Err(writes("DROP")),
        _ => Err(writes("this statement")),
    }
}

fn writes(what: &str) -> Status {
    Status::invalid_argument(format!(
        "sql: {what} is not served: datasets are read with SELECT and appended to with DoPut"
    ))
}

/// The plan as it runs, with one row of parameters.
pub(crate) async fn executable(
    read: &Read,
    row: Option<Parameters>,
) -> Result<(Arc<dyn ExecutionPlan>, Arc<TaskContext>), Status> {
    let refuse = |error: DataFusionError| status(&error);
    let plan = match row {
        None => read.plan.clone(),
        Some(row) => {
            // A value is copied to wherever its parameter is named.
            affordable(bounds::literals(&read.plan, &row).map_err(refuse)?)?;
            let values = ParamValues::List(row.into_iter().map(Into::into).collect());
            let plan = read.plan.clone().with_param_values(values).map_err(refuse)?;
            bounds::plan(&plan).map_err(refuse)?;
            plan
        }
    };
    let plan = read.state.optimize(&plan).map_err(refuse)?;
    bounds::plan(&plan).and_then(|()| bounds::sketches(&plan)).map_err(refuse)?;
    let literals = bounds::literals(&plan, &[]).map_err(refuse)?;
    affordable(literals)?;
    // A value of the statement may be repeated in every row of a batch.
    let rows = usize::try_from(REPEATED_BYTES / literals.max(1)).unwrap_or(BATCH_ROWS);
    let most = if bounds::repeats(&plan).map_err(refuse)? { JOINED_ROWS } else { BATCH_ROWS };
    let config = read.state.config().clone().with_batch_size(rows.clamp(1, most));
    let mut state =
        SessionStateBuilder::new_from_existing(read.state.clone()).with_config(config).build();
    // Functions of a physical plan have the configuration, and so the query's memory and time, from
    // here only.
    state.mark_start_execution();
    let plan = timed(plan).map_err(refuse)?;
    let planner = Arc::clone(state.query_planner());
    let plan = planner.create_physical_plan(&plan, &state).await.map_err(refuse)?;
    let plan = paced(plan).map_err(refuse)?;
    Ok((plan, state.task_ctx()))
}

/// Refuses values that come to too much.
fn affordable(bytes: u64) -> Result<(), Status> {
    if bytes > LITERAL_BYTES_MAX {
        let reason = format!("sql: values of {bytes} bytes, of {LITERAL_BYTES_MAX} at most");
        return Err(Status::resource_exhausted(reason));
    }
    Ok(())
}

/// The parameters of a plan: their fields, in the order of their numbers.
pub(crate) fn parameters(plan: &LogicalPlan) -> Result<Schema, Status> {
    let types = plan.get_parameter_types().map_err(|error| status(&error))?;
    let mut numbers = Vec::with_capacity(types.len());
    for (name, data_type) in types {
        let number = name.trim_start_matches('$').parse::<usize>();
        let number = number
            .map_err(|_| Status::invalid_argument(format!("sql: {name} is no ? and no $1")))?;
        numbers.push((number, name, data_type));
    }
    numbers.sort_by_key(|(number, ..)| *number);
    // A parameter that is compared with nothing has no known type; text can be cast to most.
    let field = |(_, name, data_type): (usize, String, Option<DataType>)| {
        let known = data_type.map_or(DataType::Utf8, |found| plain::data_type(&found));
        Field::new(name, known, true)
    };
    Ok(Schema::new(numbers.into_iter().map(field).collect::<Vec<_>>()))
}

/// The schema of a plan's result.
pub(crate) fn schema(plan: &LogicalPlan) -> SchemaRef {
    Arc::new(Schema::new(plain::fields(plan.schema().fields())))
}
