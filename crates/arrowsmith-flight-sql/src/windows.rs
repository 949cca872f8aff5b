// SPDX-License-Identifier: Apache-2.0
//! A guard around every window function whose values are texts, lists or structs: each row has one
//! of its own, as long as its frame, and DataFusion reserves memory for none of them.
//!
//! What a partition's values take is reserved in the query's budget as they are made, so that
//! `array_agg(a) over (order by a)`, whose size is quadratic in the number of rows, is an error and
//! not the end of the process. The query's time is checked with each value, too: a partition is one
//! step for everything above it.

use std::hash::{Hash, Hasher};
use std::ops::Range;
use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_schema::{DataType, FieldRef, SortOptions};
use datafusion::common::Result;
use datafusion::execution::memory_pool::MemoryReservation;
use datafusion::logical_expr::expr::WindowFunctionParams;
use datafusion::logical_expr::function::{
    AccumulatorArgs, ExpressionArgs, PartitionEvaluatorArgs, StateFieldsArgs, WindowUDFFieldArgs,
};
use datafusion::logical_expr::window_state::WindowAggState;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, LimitEffect, PartitionEvaluator, Signature,
    WindowFunctionDefinition, WindowUDF, WindowUDFImpl,
};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Literal;
use datafusion::scalar::ScalarValue;

use crate::budget::Budget;
use crate::growth::payload;

/// The size up to which a value is part of its row and is not counted, in bytes.
const SMALL_BYTES: usize = 64 + size_of::<ScalarValue>();

/// The function, guarded.
pub(crate) fn guarded(fun: WindowFunctionDefinition, budget: Budget) -> WindowFunctionDefinition {
    match fun {
        WindowFunctionDefinition::AggregateUDF(inner) => {
            let guarded = AggregateUDF::new_from_impl(Guarded { inner, budget });
            WindowFunctionDefinition::AggregateUDF(Arc::new(guarded))
        }
        WindowFunctionDefinition::WindowUDF(inner) => {
            let guarded = WindowUDF::new_from_impl(Guarded { inner, budget });
            WindowFunctionDefinition::WindowUDF(Arc::new(guarded))
        }
    }
}

/// Whether a function has its guard.
pub(crate) fn is_guarded(fun: &WindowFunctionDefinition) -> bool {
    match fun {
        WindowFunctionDefinition::AggregateUDF(fun) => fun.inner().is::<Guarded<AggregateUDF>>(),
        WindowFunctionDefinition::WindowUDF(fun) => fun.inner().is::<Guarded<WindowUDF>>(),
    }
}

/// A function with its query's budget. It keeps its name.
#[derive(Debug)]
struct Guarded<F> {
    inner: Arc<F>,
    budget: Budget,
}

impl<F: PartialEq> PartialEq for Guarded<F> {
    fn eq(&self, other: &Self) -> bool {
        self.inner == other.inner
    }
}

impl<F: Eq> Eq for Guarded<F> {}

impl<F: Hash> Hash for Guarded<F> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.inner.hash(state);
    }
}

impl<F> Guarded<F> {
    fn values(&self, name: &str) -> Result<Values> {
        let reservation = self.budget.reserve(name, 0)?;
        Ok(Values { budget: self.budget.clone(), reservation, made: 0 })
    }
}

/// What the values of a partition take.
#[derive(Debug)]
struct Values {
    budget: Budget,
    reservation: MemoryReservation,
    made: usize,
}

impl Values {
    /// Reserves what was made so far, and the state of what makes it.
    fn hold(&self, state: usize) -> Result<()> {
        self.budget.check_time()?;
        self.reservation.try_resize(self.made.saturating_add(state))
    }

    fn add(&mut self, value: ScalarValue, state: usize) -> Result<ScalarValue> {
        self.made = self.made.saturating_add(value.size().saturating_sub(SMALL_BYTES));
        self.hold(state)?;
        Ok(value)
    }
}

impl AggregateUDFImpl for Guarded<AggregateUDF> {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn window_function_schema_name(&self, params: &WindowFunctionParams) -> Result<String> {
        self.inner.window_function_schema_name(params)
    }

    fn window_function_display_name(&self, params: &WindowFunctionParams) -> Result<String> {
        self.inner.window_function_display_name(params)
    }

    fn signature(&self) -> &Signature {
        self.inner.signature()
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        self.inner.return_type(types)
    }

    fn return_field(&self, fields: &[FieldRef]) -> Result<FieldRef> {
        self.inner.return_field(fields)
    }

    fn is_nullable(&self) -> bool {
        self.inner.is_nullable()
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        self.inner.coerce_types(types)
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        self.inner.state_fields(args)
    }

    fn default_value(&self, data_type: &DataType) -> Result<ScalarValue> {
        self.inner.default_value(data_type)
    }

    fn supports_null_handling_clause(&self) -> bool {
        self.inner.supports_null_handling_clause()
    }

    fn supports_within_group_clause(&self) -> bool {
        self.inner.supports_within_group_clause()
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        let values = self.values(self.name())?;
        Ok(Box::new(Accumulated { inner: self.inner.accumulator(args)?, values }))
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        let values = self.values(self.name())?;
        let inner = self.inner.create_sliding_accumulator(args)?;
        Ok(Box::new(Accumulated { inner, values }))
    }
}

#[derive(Debug)]
struct Accumulated {
    inner: Box<dyn Accumulator>,
    values: Values,
}

impl Accumulator for Accumulated {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.inner.update_batch(values)?;
        self.values.hold(self.inner.size())
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let value = self.inner.evaluate()?;
        self.values.add(value, self.inner.size())
    }

    fn size(&self) -> usize {
        self.inner.size()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.inner.state()
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.inner.merge_batch(states)
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.inner.retract_batch(values)
    }

    fn supports_retract_batch(&self) -> bool {
        self.inner.supports_retract_batch()
    }
}

impl WindowUDFImpl for Guarded<WindowUDF> {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn signature(&self) -> &Signature {
        self.inner.signature()
    }

    fn expressions(&self, args: ExpressionArgs) -> Vec<Arc<dyn PhysicalExpr>> {
        self.inner.expressions(args)
    }

    fn partition_evaluator(
        &self,
        args: PartitionEvaluatorArgs,
    ) -> Result<Box<dyn PartitionEvaluator>> {
        let literal = |expr: &Arc<dyn PhysicalExpr>| {
            let literal = expr.downcast_ref::<Literal>();
            literal.map_or(0, |literal| literal.value().size().saturating_sub(SMALL_BYTES) as u64)
        };
        let filler = args.input_exprs().iter().map(literal).sum();
        let values = self.values(self.name())?;
        let inner = self.inner.partition_evaluator_factory(args)?;
        Ok(Box::new(Evaluated { inner, values, filler }))
    }

    fn field(&self, args: WindowUDFFieldArgs) -> Result<FieldRef> {
        self.inner.field(args)
    }

    fn sort_options(&self) -> Option<SortOptions> {
        self.inner.sort_options()
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        self.inner.coerce_types(types)
    }

    fn limit_effect(&self, args: &[Arc<dyn PhysicalExpr>]) -> LimitEffect {
        self.inner.inner().limit_effect(args)
    }
}

#[derive(Debug)]
struct Evaluated {
    inner: Box<dyn PartitionEvaluator>,
    values: Values,
    /// Size of the values of the statement that may be in a row, in bytes.
    filler: u64,
}

impl PartitionEvaluator for Evaluated {
    fn memoize(&mut self, state: &mut WindowAggState) -> Result<()> {
        self.inner.memoize(state)
    }

    fn get_range(&self, row: usize, rows: usize) -> Result<Range<usize>> {
        self.inner.get_range(row, rows)
    }

    fn is_causal(&self) -> bool {
        self.inner.is_causal()
    }

    fn evaluate_all(&mut self, values: &[ArrayRef], rows: usize) -> Result<ArrayRef> {
        let fillers = self.filler.saturating_mul(rows as u64);
        let bytes = values.iter().map(payload).fold(fillers, u64::saturating_add);
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        self.values.made = self.values.made.saturating_add(bytes);
        self.values.hold(0)?;
        self.inner.evaluate_all(values, rows)
    }

    fn evaluate(&mut self, values: &[ArrayRef], range: &Range<usize>) -> Result<ScalarValue> {
        let value = self.inner.evaluate(values, range)?;
        self.values.add(value, 0)
    }

    fn evaluate_all_with_rank(&self, rows: usize, ranks: &[Range<usize>]) -> Result<ArrayRef> {
        self.inner.evaluate_all_with_rank(rows, ranks)
    }

    fn supports_bounded_execution(&self) -> bool {
        self.inner.supports_bounded_execution()
    }

    fn uses_window_frame(&self) -> bool {
        self.inner.uses_window_frame()
    }

    fn include_rank(&self) -> bool {
        self.inner.include_rank()
    }
}
