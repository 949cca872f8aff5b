// SPDX-License-Identifier: Apache-2.0
//! Datasets as DataFusion's tables: each scan reads the state that the dataset has when the query is planned.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow_schema::SchemaRef;
use arrowsmith::parquet::Predicate;
use arrowsmith_flight::Catalog;
use arrowsmith_flight::dataset::{Read, Snapshot};
use datafusion::catalog::{CatalogProvider, SchemaProvider, Session, TableProvider};
use datafusion::common::stats::Precision;
use datafusion::common::{Result, Statistics};
use datafusion::error::DataFusionError;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::stream::RecordBatchReceiverStreamBuilder;
use datafusion::physical_plan::streaming::{PartitionStream, StreamingTableExec};

use crate::{SCHEMA, pushdown};

/// Batches of a partition that are read ahead, at most.
const AHEAD_BATCHES: usize = 2;

/// Arrow bytes of a batch, about: what stays near a core.
const BATCH_BYTES: usize = 1 << 20;

/// The catalog, as DataFusion sees it.
#[derive(Debug)]
pub(crate) struct Tables(pub(crate) Arc<Catalog>);

impl CatalogProvider for Tables {
    fn schema_names(&self) -> Vec<String> {
        vec![SCHEMA.to_owned()]
    }

    fn schema(&self, name: &str) -> Option<Arc<dyn SchemaProvider>> {
        (name == SCHEMA).then(|| Arc::new(Self(Arc::clone(&self.0))) as Arc<dyn SchemaProvider>)
    }
}

/// Names and schemas of what can be asked: live streams have no end, and no place here.
pub(crate) fn tables(catalog: &Catalog) -> impl Iterator<Item = (&str, Arc<Snapshot>)> {
    let all = catalog.iter().map(|(name, dataset)| (name, dataset.current()));
    all.filter(|(_, snapshot)| !snapshot.schema.fields().is_empty())
}

#[tonic::async_trait]
impl SchemaProvider for Tables {
    fn table_names(&self) -> Vec<String> {
        tables(&self.0).map(|(name, _)| name.to_owned()).collect()
    }

    async fn table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        let found = tables(&self.0).find(|(table, _)| *table == name);
        Ok(found.map(|(_, snapshot)| Arc::new(Table { snapshot }) as Arc<dyn TableProvider>))
    }

    fn table_exist(&self, name: &str) -> bool {
        tables(&self.0).any(|(table, _)| table == name)
    }
}

/// One state of a dataset.
#[derive(Debug)]
struct Table {
    snapshot: Arc<Snapshot>,
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

    fn execute(&self, _: Arc<TaskContext>) -> SendableRecordBatchStream {
        let mut builder =
            RecordBatchReceiverStreamBuilder::new(Arc::clone(&self.schema), AHEAD_BATCHES);
        let sender = builder.tx();
        let snapshot = Arc::clone(&self.snapshot);
        // Of its own: a plan that is run twice is cancelled once.
        let cancel = Arc::new(AtomicBool::new(false));
        let read = Read { cancel: Arc::clone(&cancel), ..self.read.clone() };
        builder.spawn_blocking(move || {
            let external = |error: arrowsmith::Error| DataFusionError::External(Box::new(error));
            for batch in snapshot.read(&read).map_err(external)? {
                let failed = batch.is_err();
                if sender.blocking_send(batch.map_err(external)).is_err() || failed {
                    cancel.store(true, Ordering::Relaxed);
                    break;
                }
            }
            Ok(())
        });
        builder.build()
    }
}
