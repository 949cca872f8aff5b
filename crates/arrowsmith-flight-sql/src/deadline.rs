// SPDX-License-Identifier: Apache-2.0
//! The deadline of planning: DataFusion's rules check it before each step, our own rules within.
//!
//! Planning runs on a thread that cannot be stopped from outside. So the thread has a deadline, and
//! knows whether its result is still awaited; every rule, at every node where rules are applied one
//! by one, checks that first. What cannot check it, the making of the first plan and each single
//! step, is bounded by `counts`.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DataFusionError, Result};
use datafusion::logical_expr::LogicalPlan;
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr};
use datafusion::optimizer::optimizer::ApplyOrder;
use datafusion::optimizer::{Analyzer, AnalyzerRule, Optimizer, OptimizerConfig, OptimizerRule};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::optimizer::PhysicalOptimizer;
use datafusion::physical_plan::ExecutionPlan;

/// Until when a thread may work on a plan.
#[derive(Debug, Clone)]
pub(crate) struct Deadline {
    ends: Option<Instant>,
    given_up: Arc<AtomicBool>,
}

/// The waiter for a plan; dropping it cancels planning.
pub(crate) struct Waiting(Arc<AtomicBool>);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

thread_local! {
    /// That of the work which runs on this thread.
    static CURRENT: RefCell<Option<Deadline>> = const { RefCell::new(None) };
}

/// Takes the deadline off its thread, also when the work panics.
struct Running;

impl Drop for Running {
    fn drop(&mut self) {
        CURRENT.with_borrow_mut(Option::take);
    }
}

impl Deadline {
    /// A deadline at that time, if any, or when the returned waiter is dropped.
    pub(crate) fn new(ends: Option<Instant>) -> (Self, Waiting) {
        let given_up = Arc::new(AtomicBool::new(false));
        (Self { ends, given_up: Arc::clone(&given_up) }, Waiting(given_up))
    }

    /// Runs work on this thread that has to be done by then.
    pub(crate) fn run<T>(self, work: impl FnOnce() -> T) -> T {
        CURRENT.with_borrow_mut(|current| *current = Some(self));
        let _running = Running;
        work()
    }
}

/// An error once the work of this thread has to end.
pub(crate) fn check() -> Result<()> {
    CURRENT.with_borrow(|current| {
        let Some(deadline) = current else { return Ok(()) };
        let late = deadline.ends.is_some_and(|ends| Instant::now() >= ends);
        if late || deadline.given_up.load(Ordering::Relaxed) {
            let reason = "the statement takes too long to plan".to_owned();
            return Err(DataFusionError::ResourcesExhausted(reason));
        }
        Ok(())
    })
}

/// A rule that checks the deadline first.
#[derive(Debug)]
pub(crate) struct Timed<R: ?Sized>(Arc<R>);

impl AnalyzerRule for Timed<dyn AnalyzerRule + Send + Sync> {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn analyze(&self, plan: LogicalPlan, config: &ConfigOptions) -> Result<LogicalPlan> {
        check()?;
        self.0.analyze(plan, config)
    }
}

impl OptimizerRule for Timed<dyn OptimizerRule + Send + Sync> {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        self.0.apply_order()
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        config: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        check()?;
        self.0.rewrite(plan, config)
    }
}

impl PhysicalOptimizerRule for Timed<dyn PhysicalOptimizerRule + Send + Sync> {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn schema_check(&self) -> bool {
        self.0.schema_check()
    }

    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        check()?;
        self.0.optimize(plan, config)
    }
}

/// Checks the deadline at every operator that is planned.
#[derive(Debug)]
pub(crate) struct TimedOperators;

impl ExprPlanner for TimedOperators {
    fn plan_binary_op(
        &self,
        expr: RawBinaryExpr,
        _: &datafusion::common::DFSchema,
    ) -> Result<PlannerResult<RawBinaryExpr>> {
        check()?;
        Ok(PlannerResult::Original(expr))
    }
}

/// The rules that there are by default, and further ones, all of them timed.
pub(crate) fn analyzer_rules(
    first: Arc<dyn AnalyzerRule + Send + Sync>,
    last: Arc<dyn AnalyzerRule + Send + Sync>,
) -> Vec<Arc<dyn AnalyzerRule + Send + Sync>> {
    let all = std::iter::once(first).chain(Analyzer::new().rules).chain([last]);
    all.map(|rule| Arc::new(Timed(rule)) as Arc<dyn AnalyzerRule + Send + Sync>).collect()
}

/// As [`analyzer_rules`].
pub(crate) fn optimizer_rules(
    last: Arc<dyn OptimizerRule + Send + Sync>,
) -> Vec<Arc<dyn OptimizerRule + Send + Sync>> {
    let all = Optimizer::new().rules.into_iter().chain([last]);
    all.map(|rule| Arc::new(Timed(rule)) as Arc<dyn OptimizerRule + Send + Sync>).collect()
}

/// As [`analyzer_rules`].
pub(crate) fn physical_rules() -> Vec<Arc<dyn PhysicalOptimizerRule + Send + Sync>> {
    let all = PhysicalOptimizer::new().rules.into_iter();
    all.map(|rule| Arc::new(Timed(rule)) as Arc<dyn PhysicalOptimizerRule + Send + Sync>).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_ends_when_it_is_late_or_cancelled() {
        assert!(check().is_ok());
        let (late, _waiting) = Deadline::new(Some(Instant::now()));
        assert!(late.run(check).is_err());
        let (endless, waiting) = Deadline::new(None);
        assert!(endless.clone().run(check).is_ok());
        drop(waiting);
        assert!(endless.run(check).is_err());
        // It is that of the work, not of the thread.
        assert!(check().is_ok());
    }
}
