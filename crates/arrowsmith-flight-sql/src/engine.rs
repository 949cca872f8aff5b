// SPDX-License-Identifier: Apache-2.0
//! Statements, planned and run by DataFusion on a runtime of its own, so that a long query keeps no connection waiting.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use arrowsmith::Error;
use arrowsmith_flight::Catalog;
use arrowsmith_flight::dataset::Batches;
use datafusion::common::ParamValues;
use datafusion::error::DataFusionError;
use datafusion::execution::context::SQLOptions;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::prelude::{DataFrame, SessionConfig, SessionContext};
use datafusion::scalar::ScalarValue;
use futures_util::StreamExt;
use tokio::runtime::Runtime;
use tokio::sync::mpsc;
use tonic::Status;

use crate::tables::Tables;
use crate::{CATALOG, SCHEMA, SqlOptions};

/// Text of a statement, in bytes, at most.
const STATEMENT_BYTES_MAX: usize = 1 << 20;

/// Batches of a result that nobody has taken, at most.
const AHEAD_BATCHES: usize = 2;

/// Plans and runs statements.
pub(crate) struct Engine {
    context: SessionContext,
    /// Taken out when the engine is dropped: a runtime must not end by a drop inside of another one.
    runtime: Option<Runtime>,
}

impl Drop for Engine {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// An error of DataFusion's as its caller is told.
pub(crate) fn status(error: DataFusionError) -> Status {
    match error.find_root() {
        DataFusionError::ResourcesExhausted(reason) => Status::resource_exhausted(reason.clone()),
        // A reader's: it may name files.
        DataFusionError::External(_) | DataFusionError::IoError(_) => {
            tracing::warn!(%error, "a query failed");
            Status::data_loss("sql: a dataset cannot be read; the server's log says why")
        }
        root => Status::invalid_argument(format!("sql: {root}")),
    }
}

/// Parameters as drivers give them.
pub(crate) type Parameters = Vec<ScalarValue>;

impl Engine {
    pub(crate) fn new(catalog: Arc<Catalog>, options: &SqlOptions) -> Result<Self, Error> {
        let refuse = |error: DataFusionError| Error::Config(error.to_string());
        let mut config = SessionConfig::new()
            .with_information_schema(true)
            .with_create_default_catalog_and_schema(false)
            .with_default_catalog_and_schema(CATALOG, SCHEMA)
            .with_target_partitions(options.threads.max(1));
        // Drivers of today do not all know view types.
        config.options_mut().sql_parser.map_string_types_to_utf8view = false;
        let runtime = RuntimeEnvBuilder::new()
            .with_memory_limit(options.memory_bytes_max, 1.0)
            .build_arc()
            .map_err(refuse)?;
        let context = SessionContext::new_with_config_rt(config, runtime);
        context.register_catalog(CATALOG, Arc::new(Tables(catalog)));
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(options.threads.max(1))
            .thread_name("arrowsmith-sql")
            .enable_all()
            .build()?;
        Ok(Self { context, runtime: Some(runtime) })
    }

    /// Plans a statement that reads; others are refused.
    pub(crate) async fn plan(&self, sql: &str) -> Result<DataFrame, Status> {
        if sql.len() > STATEMENT_BYTES_MAX {
            let reason = format!("sql: {} bytes are more than {STATEMENT_BYTES_MAX}", sql.len());
            return Err(Status::invalid_argument(reason));
        }
        // No CREATE EXTERNAL TABLE, no COPY TO, no SET: nothing that opens a file or changes the session.
        let reads = SQLOptions::new()
            .with_allow_ddl(false)
            .with_allow_dml(false)
            .with_allow_statements(false);
        let sql = numbered(sql);
        self.context.sql_with_options(&sql, reads).await.map_err(status)
    }

    /// The parameters of a plan: their fields, in the order of their numbers.
    pub(crate) fn parameters(&self, plan: &DataFrame) -> Result<Schema, Status> {
        let types = plan.logical_plan().get_parameter_types().map_err(status)?;
        let mut numbers = Vec::with_capacity(types.len());
        for (name, data_type) in types {
            let number = name.trim_start_matches('$').parse::<usize>();
            let number = number
                .map_err(|_| Status::invalid_argument(format!("sql: {name} is no ? and no $1")))?;
            numbers.push((number, name, data_type));
        }
        numbers.sort_by_key(|(number, ..)| *number);
        // What is compared with nothing has any type; text can be cast to most.
        let field = |(_, name, data_type): (usize, String, Option<DataType>)| {
            Field::new(name, data_type.unwrap_or(DataType::Utf8), true)
        };
        Ok(Schema::new(numbers.into_iter().map(field).collect::<Vec<_>>()))
    }

    /// The schema of a plan's result.
    pub(crate) fn schema(plan: &DataFrame) -> SchemaRef {
        let fields = plan.schema().fields().iter().map(|field| {
            let plain = plain(field.data_type());
            Arc::new(field.as_ref().clone().with_data_type(plain))
        });
        Arc::new(Schema::new(fields.collect::<Vec<_>>()))
    }

    /// Runs a plan once for each row of parameters; once, without any.
    pub(crate) fn run(
        &self,
        plan: DataFrame,
        parameters: Vec<Parameters>,
    ) -> Result<(SchemaRef, Batches), Status> {
        let schema = Self::schema(&plan);
        let plans = if parameters.is_empty() {
            vec![plan]
        } else {
            let bound = parameters.into_iter().map(|row| {
                let values = row.into_iter().map(Into::into).collect();
                plan.clone().with_param_values(ParamValues::List(values)).map_err(status)
            });
            bound.collect::<Result<Vec<_>, _>>()?
        };
        let (sender, mut receiver) = mpsc::channel::<Result<RecordBatch, Error>>(AHEAD_BATCHES);
        let runtime = self.runtime.as_ref().ok_or_else(|| Status::unavailable("ending"))?;
        let to = Arc::clone(&schema);
        let task = runtime.spawn(async move {
            for plan in plans {
                let mut batches = match plan.execute_stream().await {
                    Ok(batches) => batches,
                    Err(error) => {
                        // A receiver that is gone does not want to know; so below.
                        let _ =
                            sender.send(Err(Error::Config(status(error).message().into()))).await;
                        return;
                    }
                };
                while let Some(batch) = batches.next().await {
                    let batch = batch
                        .map_err(|error| Error::Config(status(error).message().to_owned()))
                        .and_then(|batch| conform(&batch, &to));
                    let failed = batch.is_err();
                    if sender.send(batch).await.is_err() || failed {
                        return;
                    }
                }
            }
        });
        // Dropping the batches ends the query.
        let guard = Abort(task.abort_handle());
        let batches = std::iter::from_fn(move || {
            let _running = &guard;
            receiver.blocking_recv()
        });
        Ok((schema, Box::new(batches)))
    }
}

struct Abort(tokio::task::AbortHandle);

impl Drop for Abort {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The type that drivers know for one that some do not.
fn plain(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Utf8View => DataType::Utf8,
        DataType::BinaryView => DataType::Binary,
        other => other.clone(),
    }
}

fn conform(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch, Error> {
    let columns = batch.columns().iter().zip(schema.fields()).map(|(column, field)| {
        match column.data_type() == field.data_type() {
            true => Ok(Arc::clone(column)),
            false => datafusion::arrow::compute::cast(column, field.data_type()),
        }
    });
    let columns = columns.collect::<Result<Vec<_>, _>>()?;
    let options = arrow_array::RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    Ok(RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)?)
}

/// A statement with `$1`, `$2` for its question marks: JDBC writes these, DataFusion reads those. Texts, quoted names
/// and comments stay as they are.
fn numbered(sql: &str) -> String {
    let mut out = String::with_capacity(sql.len());
    let mut count = 0;
    let mut rest = sql;
    while let Some(first) = rest.chars().next() {
        let skip = match first {
            '\'' | '"' | '`' => {
                rest.get(1..).and_then(|after| after.find(first)).map_or(rest.len(), |at| at + 2)
            }
            '-' if rest.starts_with("--") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |at| at + 2),
            '?' => {
                count += 1;
                out.push_str(&format!("${count}"));
                rest = rest.get(1..).unwrap_or_default();
                continue;
            }
            other => other.len_utf8(),
        };
        out.push_str(rest.get(..skip).unwrap_or(rest));
        rest = rest.get(skip..).unwrap_or_default();
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn question_marks_are_numbered() {
        for (sql, expected) in [
            ("select ? + ?", "select $1 + $2"),
            ("select '?', \"?\", ? -- ?\n, ?", "select '?', \"?\", $1 -- ?\n, $2"),
            ("select 'it''s ?' /* ? */ where a = ?", "select 'it''s ?' /* ? */ where a = $1"),
            ("select 'é?' || ?", "select 'é?' || $1"),
            ("select 'open ?", "select 'open ?"),
            ("", ""),
        ] {
            assert_eq!(numbered(sql), expected);
        }
    }
}
