// SPDX-License-Identifier: Apache-2.0
//! Datasets as DataFusion's tables: each scan reads the state that the dataset has when the query
//! is planned.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow_schema::SchemaRef;
use arrowsmith::parquet::Predicate;
use arrowsmith_flight::catalog::Dataset;
use arrowsmith_flight::dataset::{Read, Snapshot};
use arrowsmith_flight::{Catalog, status_of};
use datafusion::catalog::{CatalogProvider, SchemaProvider, Session, TableProvider};
use datafusion::common::stats::Precision;
use datafusion::common::{Result, Statistics};
use datafusion::error::DataFusionError;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::stream::RecordBatchReceiverStreamBuilder;
use datafusion::physical_plan::streaming::{PartitionStream, StreamingTableExec};
use tokio::runtime::Handle;
use tonic::Code;

use crate::information::Information;
use crate::{INFORMATION, SCHEMA, pushdown};

/// Maximum number of batches of a partition that are read ahead.
const AHEAD_BATCHES: usize = 2;

/// Approximate size of a batch, in bytes: it fits a core's cache.
const BATCH_BYTES: usize = 1 << 20;

/// The catalog, as DataFusion sees it.
#[derive(Debug, Clone)]
pub(crate) struct Tables {
    pub(crate) catalog: Arc<Catalog>,
    /// Where datasets are read.
    pub(crate) readers: Handle,
}

impl CatalogProvider for Tables {
    fn schema_names(&self) -> Vec<String> {
        vec![SCHEMA.to_owned(), INFORMATION.to_owned()]
    }

    fn schema(&self, name: &str) -> Option<Arc<dyn SchemaProvider>> {
        match name {
            SCHEMA => Some(Arc::new(self.clone())),
            INFORMATION => Some(Arc::new(Information(Arc::clone(&self.catalog)))),
            _ => None,
        }
    }
}

/// Names and schemas of the tables; live streams never end, and are not among them.
pub(crate) fn tables(catalog: &Catalog) -> impl Iterator<Item = (&str, Arc<Snapshot>)> {
    let all = catalog.iter().map(|(name, dataset)| (name, dataset.current()));
    all.filter(|(_, snapshot)| !snapshot.schema.fields().is_empty())
}

#[tonic::async_trait]
impl SchemaProvider for Tables {
    fn table_names(&self) -> Vec<String> {
        tables(&self.catalog).map(|(name, _)| name.to_owned()).collect()
    }

    async fn table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        let found = tables(&self.catalog).find(|(table, _)| *table == name);
        Ok(found.map(|(_, snapshot)| {
            let dataset = self.catalog.get(name).map(Arc::clone);
            let readers = self.readers.clone();
            Arc::new(Table { snapshot, dataset, readers }) as Arc<dyn TableProvider>
        }))
    }

    fn table_exist(&self, name: &str) -> bool {
        tables(&self.catalog).any(|(table, _)| table == name)
    }
}

/// One state of a dataset.
#[derive(Debug)]
struct Table {
    snapshot: Arc<Snapshot>,
    dataset: Option<Arc<Dataset>>,
    readers: Handle,
}

#[tonic::async_trait]
impl TableProvider for Table {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.snapshot.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    fn supports_filters_pushdown(
        &self,
        filters: &[&Expr],
    ) -> Result<Vec<TableProviderFilterPushDown>> {
        let decide = |filter: &&Expr| match pushdown::predicate(filter, &self.snapshot.schema) {
            Some(_) => TableProviderFilterPushDown::Exact,
            None => TableProviderFilterPushDown::Unsupported,
        };
        Ok(filters.iter().map(decide).collect())
    }

    fn statistics(&self) -> Option<Statistics> {
        let rows = self.snapshot.rows.and_then(|rows| usize::try_from(rows).ok())?;
        let mut statistics = Statistics::new_unknown(&self.snapshot.schema);
        statistics.num_rows = Precision::Exact(rows);
        Some(statistics)
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let schema = match projection {
            Some(projection) => Arc::new(self.snapshot.schema.project(projection)?),
            None => Arc::clone(&self.snapshot.schema),
        };
        let columns = schema.fields().iter().map(|field| field.name().clone()).collect();
        let mut parts = Vec::new();
        for filter in filters {
            let predicate =
                pushdown::predicate(filter, &self.snapshot.schema).ok_or_else(|| {
                    DataFusionError::Internal(format!("a condition that was not taken: {filter}"))
                })?;
            parts.push(predicate);
        }
        let filter = match parts.len() {
            0 | 1 => parts.pop(),
            _ => Some(Predicate::And(parts)),
        };
        let wanted = state.config().target_partitions();
        let count = if limit.is_some() { 1 } else { self.snapshot.parts(wanted) };
        let scan = |part| {
            Arc::new(Scan {
                snapshot: Arc::clone(&self.snapshot),
                dataset: self.dataset.clone(),
                readers: self.readers.clone(),
                schema: Arc::clone(&schema),
                read: Read {
                    columns: Some(Vec::clone(&columns)),
                    filter: filter.clone(),
                    limit: limit.map(|limit| limit as u64),
                    part,
                    parts: count,
                    batch_bytes: BATCH_BYTES,
                    ..Read::default()
                },
            }) as Arc<dyn PartitionStream>
        };
        let partitions = (0..count).map(scan).collect();
        Ok(Arc::new(StreamingTableExec::try_new(schema, partitions, None, [], false, limit)?))
    }
}

/// A part of a scan.
struct Scan {
    snapshot: Arc<Snapshot>,
    dataset: Option<Arc<Dataset>>,
    readers: Handle,
    schema: SchemaRef,
    read: Read,
}

impl fmt::Debug for Scan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Scan {{ part: {} of {} }}", self.read.part, self.read.parts)
    }
}

impl PartitionStream for Scan {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, context: Arc<TaskContext>) -> SendableRecordBatchStream {
        let mut builder =
            RecordBatchReceiverStreamBuilder::new(Arc::clone(&self.schema), AHEAD_BATCHES);
        let sender = builder.tx();
        let snapshot = Arc::clone(&self.snapshot);
        // Of its own: a plan that is run twice is cancelled once.
        let cancel = Arc::new(AtomicBool::new(false));
        let ender = Ender(Arc::clone(&cancel));
        let read = Read { cancel, ..self.read.clone() };
        // The output of operators is bounded by the rows of a batch.
        let rows = context.session_config().batch_size().max(1);
        let (readers, dataset) = (self.readers.clone(), self.dataset.clone());
        builder.spawn(async move {
            let _ender = ender;
            let reading = readers.spawn_blocking(move || {
                let external = |error: arrowsmith::Error| {
                    let changed = status_of("sql", &error).code() == Code::FailedPrecondition;
                    if let Some(dataset) = dataset.as_ref().filter(|_| changed) {
                        // The next request gets the new state, and its errors.
                        let _ = dataset.refresh();
                    }
                    DataFusionError::External(Box::new(error))
                };
                for batch in snapshot.read(&read).map_err(external)? {
                    let batch = batch.map_err(external)?;
                    for at in (0..batch.num_rows().max(1)).step_by(rows) {
                        let part = batch.slice(at, rows.min(batch.num_rows() - at));
                        if sender.blocking_send(Ok(part)).is_err() {
                            return Ok(());
                        }
                    }
                }
                Ok(())
            });
            reading.await.map_err(|_| DataFusionError::Execution("a reader failed".to_owned()))?
        });
        builder.build()
    }
}

/// Ends a reader when its rows are not needed any more.
struct Ender(Arc<AtomicBool>);

impl Drop for Ender {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
