// SPDX-License-Identifier: Apache-2.0
//! Statements, planned and run by DataFusion on a runtime of its own, so that a long query keeps no
//! connection waiting.
//!
//! Plans are trees, and all code walks them by recursion, including their drop. So a plan never
//! leaves the runtime's threads, whose stacks are large enough for what `bounds` admits.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use arrow_array::RecordBatch;
use arrow_schema::{Schema, SchemaRef};
use arrowsmith::Error;
use arrowsmith_flight::dataset::Batches;
use arrowsmith_flight::{Catalog, carried};
use datafusion::error::DataFusionError;
use datafusion::execution::memory_pool::{GreedyMemoryPool, MemoryPool};
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};
use datafusion::execution::{FunctionRegistry as _, SessionState, SessionStateBuilder};
use datafusion::physical_plan::execute_stream;
use datafusion::prelude::{SessionConfig, SessionContext};
use datafusion::scalar::ScalarValue;
use futures_util::{FutureExt, StreamExt};
use tokio::runtime::{Handle, Runtime};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;
use tonic::Status;

use crate::balance::BalanceChains;
use crate::budget::{Budget, QueryPool};
use crate::clock::{Clock, Ends, Planners, unplanned};
use crate::deadline::{self, TimedOperators};
use crate::guard::GuardFunctions;
use crate::instants::ExactInstants;
use crate::statement::{BATCH_ROWS, executable, parameters, read, schema};
use crate::tables::Tables;
use crate::text::status;
use crate::{CATALOG, SCHEMA, SqlOptions, bounds, plain};

/// Maximum number of batches of a result in the queue.
const AHEAD_BATCHES: usize = 2;

/// How often a wait for batches looks whether anybody still wants them.
const CANCEL_POLL: Duration = Duration::from_millis(200);

/// Stack size of threads that handle plans. Only what is used of it takes memory.
const STACK_BYTES: usize = 64 << 20;

/// Plans and runs statements.
pub(crate) struct QueryEngine {
    catalog: Arc<Catalog>,
    base: SessionState,
    pool: Arc<dyn MemoryPool>,
    environment: Arc<RuntimeEnv>,
    query_bytes_max: usize,
    query_time: Option<Duration>,
    planners: Planners,
    /// Taken out when the engine is dropped: a runtime must not end by a drop inside of another
    /// one.
    runtime: Option<Runtime>,
    /// Reads datasets, on stacks of the common size: a query has many such threads.
    readers: Option<Runtime>,
}

impl Drop for QueryEngine {
    fn drop(&mut self) {
        for runtime in [self.runtime.take(), self.readers.take()].into_iter().flatten() {
            runtime.shutdown_background();
        }
    }
}

/// Parameters as drivers send them.
pub(crate) type Parameters = Vec<ScalarValue>;

/// The description of a statement, without running it.
pub(crate) struct Described {
    /// The columns of its result.
    pub(crate) schema: SchemaRef,
    /// Its parameters: their fields, in the order of their numbers.
    pub(crate) parameters: Schema,
}

impl QueryEngine {
    pub(crate) fn new(catalog: Arc<Catalog>, options: &SqlOptions) -> Result<Self, Error> {
        let refuse = |error: DataFusionError| Error::Config(error.to_string());
        let threads = options.threads.max(1);
        let mut config = SessionConfig::new()
            .with_information_schema(false)
            .with_create_default_catalog_and_schema(false)
            .with_default_catalog_and_schema(CATALOG, SCHEMA)
            .with_batch_size(BATCH_ROWS)
            .with_target_partitions(threads);
        // Drivers of today do not all know view types.
        config.options_mut().sql_parser.map_string_types_to_utf8view = false;
        let pool: Arc<dyn MemoryPool> = Arc::new(GreedyMemoryPool::new(options.memory_bytes_max));
        let environment = RuntimeEnvBuilder::new()
            .with_memory_pool(Arc::clone(&pool))
            .build_arc()
            .map_err(refuse)?;
        let base = SessionStateBuilder::new()
            .with_config(config)
            .with_runtime_env(Arc::clone(&environment))
            .with_default_features()
            // Higher-order functions: the size of their results cannot be bounded.
            .with_higher_order_functions(Vec::new())
            .with_analyzer_rules(deadline::analyzer_rules(
                Arc::new(ExactInstants),
                Arc::new(GuardFunctions),
            ))
            .with_optimizer_rules(deadline::optimizer_rules(Arc::new(BalanceChains)))
            .with_physical_optimizer_rules(deadline::physical_rules())
            .build();
        let mut base = base;
        base.register_expr_planner(Arc::new(TimedOperators)).map_err(refuse)?;
        let readers = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("arrowsmith-sql-read")
            .build()?;
        let tables = Tables { catalog: Arc::clone(&catalog), readers: readers.handle().clone() };
        let context = SessionContext::new_with_state(base);
        context.register_catalog(CATALOG, Arc::new(tables));
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(threads)
            .thread_stack_size(STACK_BYTES)
            .thread_name("arrowsmith-sql")
            .enable_all()
            .build()?;
        Ok(Self {
            catalog,
            base: context.state(),
            pool,
            environment,
            query_bytes_max: options.query_bytes_max,
            query_time: options.query_time,
            planners: Planners::new(threads),
            runtime: Some(runtime),
            readers: Some(readers),
        })
    }

    fn runtime(&self) -> Result<&Runtime, Status> {
        self.runtime.as_ref().ok_or_else(|| Status::unavailable("ending"))
    }

    /// A session of its own for one query: with its share of the memory, and functions that reserve
    /// it.
    fn session(&self, ends: Ends) -> Result<SessionState, Status> {
        let pool = QueryPool::new(Arc::clone(&self.pool), self.query_bytes_max);
        let pool: Arc<dyn MemoryPool> = Arc::new(pool);
        let environment = RuntimeEnvBuilder::from_runtime_env(&self.environment)
            .with_memory_pool(Arc::clone(&pool))
            .build_arc()
            .map_err(|error| status(&error))?;
        let config = self.base.config().clone().with_option_extension(Budget::new(pool, ends));
        Ok(SessionStateBuilder::new_from_existing(self.base.clone())
            .with_config(config)
            .with_runtime_env(environment)
            .build())
    }

    /// A task of a query on the runtime.
    fn task(&self) -> Result<Task, Status> {
        let clock = Clock::new(self.query_time);
        Ok(Task {
            catalog: Arc::clone(&self.catalog),
            session: self.session(clock.ends())?,
            clock,
            planners: self.planners.clone(),
        })
    }

    /// Analyses a statement.
    pub(crate) async fn describe(&self, sql: &str) -> Result<Described, Status> {
        let _waits = self.planners.waits(sql)?;
        bounds::text(sql)?;
        let (task, sql) = (self.task()?, sql.to_owned());
        let mut described = self.runtime()?.spawn(async move {
            let Task { catalog, session, mut clock, planners } = task;
            let described = clock.planned(&planners, async move {
                let read = read(session, &catalog, &sql).await?;
                Ok(Described { schema: schema(&read.plan), parameters: parameters(&read.plan)? })
            });
            described.await
        });
        // A caller that is gone ends it.
        let _guard = Abort(described.abort_handle());
        (&mut described).await.map_err(|_| unplanned())?
    }

    /// Plans a statement on this thread, its parameters all null; the number of its columns.
    #[cfg(feature = "fuzzing")]
    pub(crate) fn plan_here(&self, sql: &str) -> Result<usize, Status> {
        bounds::text(sql)?;
        let session = self.session(Ends::default())?;
        let (deadline, _waiting) = crate::clock::deadline();
        let runtime = self.runtime()?;
        deadline.run(|| {
            runtime.block_on(async {
                let read = read(session, &self.catalog, sql).await?;
                let count = parameters(&read.plan)?.fields().len();
                let row = (count > 0).then(|| vec![ScalarValue::Null; count]);
                let (plan, _) = executable(&read, row).await?;
                Ok(plan.schema().fields().len())
            })
        })
    }

    /// Runs a statement once for each row of parameters; once, without any. The batches end soon
    /// after `cancel` is set, even while none comes.
    pub(crate) async fn run(
        &self,
        sql: String,
        parameters: Vec<Parameters>,
        cancel: Arc<AtomicBool>,
    ) -> Result<(SchemaRef, Batches), Status> {
        let waits = self.planners.waits(&sql)?;
        bounds::text(&sql)?;
        let task = self.task()?;
        let (send_schema, schema) = oneshot::channel();
        let (sender, mut receiver) = mpsc::channel::<Result<RecordBatch, Error>>(AHEAD_BATCHES);
        let has_ended = Arc::<AtomicBool>::default();
        let ended = Arc::clone(&has_ended);
        let task = self.runtime()?.spawn(async move {
            let run =
                AssertUnwindSafe(task.run(sql, parameters, send_schema, &sender)).catch_unwind();
            // An unexpected end must not look like the end of the rows.
            let failed = match run.await {
                Ok(result) => result.err(),
                Err(_) => Some(Status::internal("sql: the query failed")),
            };
            if let Some(status) = failed {
                // A receiver that is gone does not want to know.
                let _ = sender.send(Err(carried(status))).await;
            }
            ended.store(true, Ordering::Release);
        });
        // Dropping the batches ends the query.
        let guard = Abort(task.abort_handle());
        let schema = schema.await;
        drop(waits);
        let schema = match schema {
            Ok(schema) => schema,
            Err(_) => {
                return Err(match receiver.recv().await {
                    Some(Err(error)) => arrowsmith_flight::status_of("sql", &error),
                    _ => unplanned(),
                });
            }
        };
        let batches = std::iter::from_fn(move || {
            let _running = &guard;
            // That of the server, which ends after its streams.
            let runtime = Handle::current();
            loop {
                match runtime.block_on(async { timeout(CANCEL_POLL, receiver.recv()).await }) {
                    Ok(Some(next)) => return Some(next),
                    Ok(None) if has_ended.load(Ordering::Acquire) => return None,
                    Ok(None) => return Some(Err(carried(Status::unavailable("ending")))),
                    Err(_) if cancel.load(Ordering::Relaxed) => return Some(Err(Error::Cancelled)),
                    Err(_) => {}
                }
            }
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

/// A query on its way.
struct Task {
    catalog: Arc<Catalog>,
    session: SessionState,
    clock: Clock,
    planners: Planners,
}

impl Task {
    async fn run(
        self,
        sql: String,
        parameters: Vec<Parameters>,
        tell: oneshot::Sender<SchemaRef>,
        sender: &mpsc::Sender<Result<RecordBatch, Error>>,
    ) -> Result<(), Status> {
        let Self { catalog, session, mut clock, planners } = self;
        let budget = Budget::of(session.config_options());
        let read = clock.planned(&planners, async move { read(session, &catalog, &sql).await });
        let read = read.await?;
        let schema = schema(&read.plan);
        if tell.send(Arc::clone(&schema)).is_err() {
            return Ok(());
        }
        let read = Arc::new(read);
        let rows = if parameters.is_empty() {
            vec![None]
        } else {
            parameters.into_iter().map(Some).collect()
        };
        for row in rows {
            let read = Arc::clone(&read);
            let plan = clock.planned(&planners, async move { executable(&read, row).await });
            let (plan, context) = plan.await?;
            let mut batches = execute_stream(plan, context).map_err(|error| status(&error))?;
            while let Some(batch) = clock.count(batches.next()).await? {
                let batch = batch.map_err(|error| status(&error))?;
                for part in plain::parts(batch, Arc::clone(&schema), budget.clone()) {
                    let part = part.map_err(|error| status(&error))?;
                    if sender.send(Ok(part)).await.is_err() {
                        return Ok(());
                    }
                }
            }
        }
        Ok(())
    }
}
