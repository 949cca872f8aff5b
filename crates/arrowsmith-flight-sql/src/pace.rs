// SPDX-License-Identifier: Apache-2.0
//! Limits on operators whose output is larger than their input: joins repeat rows, lists become
//! rows, GROUPING SETS, CUBE and ROLLUP make groups of every row, and windows buffer everything.
//! DataFusion does not reserve memory for these, or only after a batch; here it is reserved, or
//! batches are split. Nor do they leave the thread to others, timers included, however much they
//! make of one batch; here they do, and conditions of joins and the input of sets look at the time.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::DataType;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryLimit, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{
    ColumnarValue, Expr, LogicalPlan, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility,
};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    ChildrenPropertiesMode, DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties,
    ReplaceChildrenOptions,
};
use futures_util::StreamExt;

use crate::budget::Budget;
use crate::growth::{leaves, payload};

/// Approximate maximum size of the output of a batch.
const REPEATED_BYTES: u64 = 256 << 20;

/// Maximum number of groups that an aggregation makes of a batch, and of bytes of their keys: it
/// reserves memory for them only afterwards.
const GROUPS: usize = 256 << 10;
const GROUPED_BYTES: u64 = 64 << 20;

/// The guarded operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Watch {
    /// Rows that a join repeats.
    Repeated,
    /// The same, of the side that a nested loop join keeps. It is executed once: without memory for
    /// it the join would execute it again, which not every operator can, and its results would have
    /// rows twice (as DataFusion's source says of outer joins).
    Built,
    /// Lists that become rows.
    Lists,
    /// Rows that belong to a group in each of this many sets.
    Sets(usize),
    /// Rows that a window keeps.
    Kept,
    /// Batches that are too long.
    Long,
}

/// Puts the watches where they are needed.
pub(crate) fn paced(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    plan.transform_up(|plan| {
        if let Some(sets) = sets(&plan) {
            return grouped(plan, sets).map(Transformed::yes);
        }
        let (below, above) = match plan.name() {
            "WindowAggExec" => (Watch::Kept, true),
            "UnnestExec" => (Watch::Lists, true),
            name if name.ends_with("JoinExec") => (Watch::Repeated, false),
            _ => return Ok(Transformed::no(plan)),
        };
        let nested = plan.name() == "NestedLoopJoinExec";
        let watched = |(at, input): (usize, &Arc<dyn ExecutionPlan>)| {
            Paced::over(Arc::clone(input), if nested && at == 0 { Watch::Built } else { below })
        };
        let inputs = plan.children().into_iter().enumerate().map(watched).collect();
        let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
        let plan = plan.replace_children(inputs, options)?;
        let plan = if above { Paced::over(plan, Watch::Long) } else { plan };
        Ok(Transformed::yes(Arc::new(CooperativeExec::new(plan)) as Arc<dyn ExecutionPlan>))
    })
    .map(|plan| plan.data)
}

/// The number of sets of an aggregation, if it has several.
fn sets(plan: &Arc<dyn ExecutionPlan>) -> Option<usize> {
    let aggregation = plan.downcast_ref::<AggregateExec>()?;
    Some(aggregation.group_expr().groups().len()).filter(|sets| *sets > 1)
}

/// The aggregation, with small batches for many sets.
fn grouped(plan: Arc<dyn ExecutionPlan>, sets: usize) -> Result<Arc<dyn ExecutionPlan>> {
    let watched = |input: &Arc<dyn ExecutionPlan>| {
        let input = Paced::over(Arc::clone(input), Watch::Sets(sets));
        Arc::new(CooperativeExec::new(input)) as Arc<dyn ExecutionPlan>
    };
    let inputs = plan.children().into_iter().map(watched).collect();
    plan.replace_children(inputs, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
}

/// The same plan, whose joins end with the query's time even while they find nothing.
pub(crate) fn timed(plan: LogicalPlan) -> Result<LogicalPlan> {
    plan.transform_up_with_subqueries(|plan| match plan {
        LogicalPlan::Join(mut join) if join.filter.is_some() => {
            join.filter = join.filter.map(|condition| {
                let signature = Signature::any(1, Volatility::Immutable);
                let timed = Arc::new(ScalarUDF::new_from_impl(Timed(signature)));
                Expr::ScalarFunction(ScalarFunction::new_udf(timed, vec![condition]))
            });
            Ok(Transformed::yes(LogicalPlan::Join(join)))
        }
        other => Ok(Transformed::no(other)),
    })
    .map(|plan| plan.data)
}

/// A condition, or an error once the query has to end.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Timed(Signature);

impl ScalarUDFImpl for Timed {
    fn name(&self) -> &'static str {
        "timed"
    }

    fn signature(&self) -> &Signature {
        &self.0
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Boolean)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        Budget::of(&args.config_options).check_time()?;
        let condition = args.args.into_iter().next();
        condition.ok_or_else(|| DataFusionError::Internal("a condition is one value".to_owned()))
    }
}

/// The same rows as its input's.
#[derive(Debug)]
struct Paced {
    input: Arc<dyn ExecutionPlan>,
    properties: Arc<PlanProperties>,
    watch: Watch,
    executed: AtomicBool,
}

impl Paced {
    fn over(input: Arc<dyn ExecutionPlan>, watch: Watch) -> Arc<dyn ExecutionPlan> {
        let properties = Arc::clone(input.properties());
        Arc::new(Self { input, properties, watch, executed: AtomicBool::new(false) })
    }
}

impl DisplayAs for Paced {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Paced: {:?}", self.watch)
    }
}

impl ExecutionPlan for Paced {
    fn name(&self) -> &'static str {
        "Paced"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        match children.pop() {
            Some(input) if children.is_empty() => Ok(Self::over(input, self.watch)),
            _ => Err(DataFusionError::Internal("Paced has one input".to_owned())),
        }
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let again = self.executed.swap(true, Ordering::Relaxed);
        if again && self.watch == Watch::Built {
            let limit = match context.memory_pool().memory_limit() {
                MemoryLimit::Finite(bytes) => format!("{bytes} bytes"),
                _ => "no limit".to_owned(),
            };
            return Err(DataFusionError::ResourcesExhausted(format!(
                "a join without equal columns keeps one side in memory; the query has {limit}"
            )));
        }
        let input = self.input.execute(partition, Arc::clone(&context))?;
        let rows = context.session_config().batch_size().max(1);
        let reservation = MemoryConsumer::new("a window").register(context.memory_pool());
        let (watch, schema) = (self.watch, input.schema());
        let budget = Budget::of(context.session_config().options());
        let batches = input.flat_map(move |batch| {
            let pieces = batch.and_then(|batch| pieces(&batch, watch, rows, &reservation));
            let pieces = match pieces {
                Ok(pieces) => pieces.into_iter().map(Ok).collect::<Vec<_>>(),
                Err(error) => vec![Err(error)],
            };
            let budget = budget.clone();
            let timed = move |piece| budget.check_time().and(piece);
            futures_util::stream::iter(pieces.into_iter().map(timed))
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, batches)))
    }
}

fn pieces(
    batch: &RecordBatch,
    watch: Watch,
    rows: usize,
    reservation: &MemoryReservation,
) -> Result<Vec<RecordBatch>> {
    match watch {
        Watch::Kept => {
            reservation.try_grow(batch.get_array_memory_size())?;
            Ok(vec![batch.clone()])
        }
        Watch::Long => Ok(slices(batch, rows)),
        Watch::Repeated | Watch::Built => {
            let widest = widest(batch, REPEATED_BYTES / rows as u64);
            if widest.saturating_mul(rows as u64) > REPEATED_BYTES {
                return Err(DataFusionError::ResourcesExhausted(format!(
                    "a row of {widest} bytes is too wide for a join, of {} at most",
                    REPEATED_BYTES / rows as u64
                )));
            }
            Ok(vec![batch.clone()])
        }
        Watch::Lists => lists(batch),
        Watch::Sets(sets) => in_sets(batch, sets),
    }
}

fn slices(batch: &RecordBatch, rows: usize) -> Vec<RecordBatch> {
    if batch.num_rows() <= rows {
        return vec![batch.clone()];
    }
    let starts = (0..batch.num_rows()).step_by(rows);
    starts.map(|at| batch.slice(at, rows.min(batch.num_rows() - at))).collect()
}

fn row_bytes(batch: &RecordBatch, row: usize) -> u64 {
    let values = batch.columns().iter().map(|column| payload(&column.slice(row, 1)));
    values.fold(0, u64::saturating_add)
}

/// Bytes of the widest row; where all rows together are below the limit, those.
fn widest(batch: &RecordBatch, limit: u64) -> u64 {
    let all = batch.columns().iter().map(payload).fold(0, u64::saturating_add);
    if all <= limit {
        return all;
    }
    (0..batch.num_rows()).map(|row| row_bytes(batch, row)).max().unwrap_or(0)
}

/// Elements that a row may become.
fn elements(column: &ArrayRef, row: usize) -> u64 {
    match column.data_type().is_nested() {
        true => leaves(&column.slice(row, 1)),
        false => 1,
    }
}

/// Splits a batch so that the rows of its lists stay within the limit.
fn lists(batch: &RecordBatch) -> Result<Vec<RecordBatch>> {
    let all = batch.columns().iter().map(payload).fold(0, u64::saturating_add);
    let longest = batch.columns().iter().map(leaves).max().unwrap_or(1);
    if all.saturating_mul(longest) <= REPEATED_BYTES {
        return Ok(vec![batch.clone()]);
    }
    split(batch, REPEATED_BYTES, |row| {
        let times = batch.columns().iter().map(|column| elements(column, row)).max().unwrap_or(1);
        // A list's own elements come once.
        let plain = batch.columns().iter().filter(|column| !column.data_type().is_nested());
        let width: u64 = plain.map(|column| payload(&column.slice(row, 1)).max(8)).sum();
        let its = times.saturating_mul(width).saturating_add(row_bytes(batch, row));
        if its > REPEATED_BYTES {
            return Err(DataFusionError::ResourcesExhausted(format!(
                "the lists of one row become {its} bytes, of {REPEATED_BYTES} at most"
            )));
        }
        Ok(its)
    })
}

/// Splits a batch so that its groups in this many sets stay within the limits.
fn in_sets(batch: &RecordBatch, sets: usize) -> Result<Vec<RecordBatch>> {
    let mut pieces = Vec::new();
    for piece in slices(batch, (GROUPS / sets).max(1)) {
        let all = piece.columns().iter().map(payload).fold(0, u64::saturating_add);
        if all.saturating_mul(sets as u64) <= GROUPED_BYTES {
            pieces.push(piece);
            continue;
        }
        pieces.extend(split(&piece, GROUPED_BYTES, |row| {
            let its = row_bytes(&piece, row).saturating_mul(sets as u64);
            if its > REPEATED_BYTES {
                return Err(DataFusionError::ResourcesExhausted(format!(
                    "the groups of one row in {sets} sets take {its} bytes, of {REPEATED_BYTES} at \
                     most"
                )));
            }
            Ok(its)
        })?);
    }
    Ok(pieces)
}

/// Splits a batch so that each piece counts at most `most` bytes, or is one row.
fn split(
    batch: &RecordBatch,
    most: u64,
    its: impl Fn(usize) -> Result<u64>,
) -> Result<Vec<RecordBatch>> {
    let (mut pieces, mut start, mut bytes) = (Vec::new(), 0, 0_u64);
    for row in 0..batch.num_rows() {
        let its = its(row)?;
        if bytes.saturating_add(its) > most && row > start {
            pieces.push(batch.slice(start, row - start));
            (start, bytes) = (row, 0);
        }
        bytes = bytes.saturating_add(its);
    }
    pieces.push(batch.slice(start, batch.num_rows() - start));
    Ok(pieces)
}

#[cfg(test)]
mod tests {
    use arrow_array::{Int64Array, StringArray};
    use datafusion::arrow::compute::concat_batches;

    use super::*;

    fn batch(texts: &[String]) -> RecordBatch {
        let rows = i64::try_from(texts.len()).unwrap();
        let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..rows));
        let texts: ArrayRef = Arc::new(StringArray::from_iter_values(texts));
        RecordBatch::try_from_iter([("n", numbers), ("t", texts)]).unwrap()
    }

    #[test]
    fn batches_for_many_sets_are_as_small_as_these_are_many() {
        let short = batch(&vec!["x".to_owned(); 8192]);
        let long = batch(&(0..100).map(|n| "y".repeat(n * 10_000)).collect::<Vec<_>>());
        for (batch, sets, rows) in
            [(&short, 2, 8192), (&short, 64, 4096), (&short, 4096, 64), (&long, 2, 100)]
        {
            let pieces = in_sets(batch, sets).unwrap();
            let most = pieces.iter().map(RecordBatch::num_rows).max();
            let bytes = |piece: &RecordBatch| piece.columns().iter().map(payload).sum::<u64>();
            let fits = |piece: &&RecordBatch| bytes(piece) * sets as u64 <= GROUPED_BYTES;
            assert!(pieces.iter().all(|piece| fits(&piece) || piece.num_rows() == 1), "{sets}");
            assert!(most <= Some(rows), "{sets}: {most:?}");
            assert_eq!(&concat_batches(&batch.schema(), &pieces).unwrap(), batch, "{sets}");
        }
        assert_eq!(in_sets(&short, 4096).unwrap().len(), 128);
        let error = in_sets(&long, 300).unwrap_err().to_string();
        assert!(error.contains("the groups of one row in 300 sets take"), "{error}");
    }
}
