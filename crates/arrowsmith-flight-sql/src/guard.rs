// SPDX-License-Identifier: Apache-2.0
//! A guard around every function that makes text, bytes or lists: it reserves memory before the
//! function runs.
//!
//! A function allocates what its arguments demand, and a failed allocation ends the process: it
//! cannot be caught. So the size of each result is bounded beforehand (`growth`) and reserved in
//! the query's budget (`budget`). The guard is added after type coercion and before constant
//! folding, so that it holds for planning and execution, also for functions that no name brought
//! in: `||`, `[…]`, `x[1]`.

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_schema::{DataType, FieldRef};
use datafusion::arrow::compute::cast;
use datafusion::arrow::compute::kernels::concat_elements::concat_elements_dyn;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, DataFusionError, Result};
use datafusion::logical_expr::binary::BinaryTypeCoercer;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{
    BinaryExpr, ColumnarValue, Expr, ExprSchemable, LogicalPlan, Operator, ReturnFieldArgs,
    ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::optimizer::AnalyzerRule;

use crate::budget::{Budget, hold};
use crate::deadline;
use crate::growth::{self, Call};
use crate::windows;

/// Maximum size of a single value that a function makes, in bytes: it may be repeated in every row.
const VALUE_BYTES_MAX: usize = 1 << 20;

/// Maximum size of the result of one call, in bytes: half of what 32-bit offsets can address.
const CALL_BYTES_MAX: u64 = 1 << 30;

/// Maximum number of steps of one call of a function that takes more than one for each byte: about
/// a second.
const CALL_STEPS_MAX: u64 = 1 << 30;

/// Maximum width of a value of a fixed-size type, in bytes or elements.
const WIDTH_MAX: i32 = 64 << 10;

/// Maximum length of the text of a type, in bytes.
const TYPE_TEXT_BYTES_MAX: usize = 16 << 10;

/// Functions that the optimizer knows by their types, or makes others of, none of which makes
/// anything.
const PLAIN: [&str; 15] = [
    "arrow_cast",
    "arrow_try_cast",
    "cast_to_type",
    "try_cast_to_type",
    "with_metadata",
    "get_field",
    "named_struct",
    "struct",
    "arrow_typeof",
    "arrow_metadata",
    "arrow_field",
    "coalesce",
    "nvl",
    "nvl2",
    "nullif",
];

/// Puts the guards on.
#[derive(Debug)]
pub(crate) struct GuardFunctions;

impl AnalyzerRule for GuardFunctions {
    fn name(&self) -> &'static str {
        "guard_functions"
    }

    fn analyze(&self, plan: LogicalPlan, options: &ConfigOptions) -> Result<LogicalPlan> {
        let budget = Budget::of(options);
        plan.transform_up_with_subqueries(|plan| {
            let mut schema = merge_schema(&plan.inputs());
            if let LogicalPlan::TableScan(scan) = &plan {
                schema.merge(&scan.projected_schema);
            }
            let names = NamePreserver::new(&plan);
            deadline::check()?;
            plan.map_expressions(|expr| {
                let name = names.save(&expr);
                let guarded = expr.transform_up(|expr| guard(expr, &schema, &budget))?;
                Ok(guarded.update_data(|expr| name.restore(expr)))
            })
        })
        .map(|plan| plan.data)
    }
}

fn guard(expr: Expr, schema: &DFSchema, budget: &Budget) -> Result<Transformed<Expr>> {
    match expr {
        Expr::ScalarFunction(call) => {
            if call.func.inner().is::<Guarded>() {
                return Ok(Transformed::no(Expr::ScalarFunction(call)));
            }
            let expr = Expr::ScalarFunction(call);
            let made = expr.get_type(schema).ok();
            if let Some(made) = &made {
                check_width(made)?;
            }
            let Expr::ScalarFunction(call) = expr else { return Ok(Transformed::no(expr)) };
            if call.func.name() == "arrow_typeof" {
                check_text_of_type(call.args.first(), schema)?;
            }
            // A result of fixed width cannot grow; its arguments are guarded themselves.
            let narrow = made.is_some_and(|made| is_narrow(&made));
            let plain = PLAIN.contains(&call.func.name());
            if plain || (narrow && call.func.name() != "levenshtein") {
                return Ok(Transformed::no(Expr::ScalarFunction(call)));
            }
            let guarded = ScalarUDF::new_from_impl(Guarded { inner: call.func });
            let call = ScalarFunction::new_udf(Arc::new(guarded), call.args);
            Ok(Transformed::yes(Expr::ScalarFunction(call)))
        }
        Expr::WindowFunction(call) => {
            if windows::is_guarded(&call.fun) {
                return Ok(Transformed::no(Expr::WindowFunction(call)));
            }
            let expr = Expr::WindowFunction(call);
            let narrow = expr.get_type(schema).is_ok_and(|made| is_narrow(&made));
            let Expr::WindowFunction(mut call) = expr else { return Ok(Transformed::no(expr)) };
            if narrow {
                return Ok(Transformed::no(Expr::WindowFunction(call)));
            }
            call.fun = windows::guarded(call.fun, budget.clone());
            Ok(Transformed::yes(Expr::WindowFunction(call)))
        }
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::StringConcat, right }) => {
            joined(*left, *right, schema).map(Transformed::yes)
        }
        Expr::Cast(cast) => {
            check_width(cast.field.data_type())?;
            Ok(Transformed::no(Expr::Cast(cast)))
        }
        Expr::TryCast(cast) => {
            check_width(cast.field.data_type())?;
            Ok(Transformed::no(Expr::TryCast(cast)))
        }
        other => Ok(Transformed::no(other)),
    }
}

/// Whether values of a type have one width.
fn is_narrow(data_type: &DataType) -> bool {
    data_type.is_primitive() || *data_type == DataType::Boolean
}

/// `a || b` as a call; a chain of them is one call with many parts, or its depth would be computed
/// at every link.
fn joined(left: Expr, right: Expr, schema: &DFSchema) -> Result<Expr> {
    let (mut parts, made) = parts(left, schema)?;
    let (others, other) = self::parts(right, schema)?;
    parts.extend(others);
    let to = BinaryTypeCoercer::new(&made, &Operator::StringConcat, &other).get_result_type()?;
    let join = ScalarUDF::new_from_impl(Join::new(to, parts.len()));
    let guarded = ScalarUDF::new_from_impl(Guarded { inner: Arc::new(join) });
    Ok(Expr::ScalarFunction(ScalarFunction::new_udf(Arc::new(guarded), parts)))
}

/// The parts of a side of `||`, and the type of the whole.
fn parts(side: Expr, schema: &DFSchema) -> Result<(Vec<Expr>, DataType)> {
    let made = match &side {
        Expr::ScalarFunction(call) => {
            let guarded = call.func.inner().downcast_ref::<Guarded>();
            let join = guarded.and_then(|guarded| guarded.inner.inner().downcast_ref::<Join>());
            join.map(|join| join.to.clone())
        }
        _ => None,
    };
    match (side, made) {
        (Expr::ScalarFunction(call), Some(made)) => Ok((call.args, made)),
        (side, _) => {
            let made = side.get_type(schema)?;
            Ok((vec![side], made))
        }
    }
}

/// Refuses types of which one value is too wide: nulls of them take as much as values.
fn check_width(data_type: &DataType) -> Result<()> {
    if arrowsmith_flight::ipc::width(data_type) > u64::from(WIDTH_MAX.unsigned_abs()) {
        let reason = format!("a value of {data_type} is wider than {WIDTH_MAX}");
        return Err(DataFusionError::Plan(reason));
    }
    Ok(())
}

/// Refuses the text of a type that is long: it is repeated in every row.
fn check_text_of_type(argument: Option<&Expr>, schema: &DFSchema) -> Result<()> {
    let Some(Ok(of)) = argument.map(|argument| argument.get_type(schema)) else { return Ok(()) };
    if of.to_string().len() > TYPE_TEXT_BYTES_MAX {
        let reason = format!("a type of more than {TYPE_TEXT_BYTES_MAX} bytes of text");
        return Err(DataFusionError::Plan(reason));
    }
    Ok(())
}

/// A function, and the guard in front of it. It keeps its name.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Guarded {
    inner: Arc<ScalarUDF>,
}

impl ScalarUDFImpl for Guarded {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        self.inner.schema_name(args)
    }

    fn signature(&self) -> &Signature {
        self.inner.signature()
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        self.inner.return_type(types)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        self.inner.return_field_from_args(args)
    }

    fn short_circuits(&self) -> bool {
        self.inner.short_circuits()
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        self.inner.coerce_types(types)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let call = Call { args: &args.args, rows: args.number_rows };
        let (bytes, steps) =
            (growth::bytes(self.name(), &call)?, growth::steps(self.name(), &call));
        let folded = args.args.iter().all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
        let limit = if folded { CALL_BYTES_MAX / 16 } else { CALL_BYTES_MAX };
        if bytes > limit {
            return Err(DataFusionError::ResourcesExhausted(format!(
                "{} would make up to {bytes} bytes in one call, of {limit} that it may",
                self.name()
            )));
        }
        if steps > CALL_STEPS_MAX {
            return Err(DataFusionError::ResourcesExhausted(format!(
                "{} would take up to {steps} steps in one call, of {CALL_STEPS_MAX} that it may",
                self.name()
            )));
        }
        let budget = Budget::of(&args.config_options);
        budget.check_time()?;
        let reservation = budget.reserve(self.name(), bytes)?;
        match self.inner.invoke_with_args(args)? {
            ColumnarValue::Array(array) => Ok(ColumnarValue::Array(hold(array, reservation)?)),
            ColumnarValue::Scalar(value) if value.size() > VALUE_BYTES_MAX => {
                Err(DataFusionError::ResourcesExhausted(format!(
                    "{} makes a value of {} bytes, of {VALUE_BYTES_MAX} that one may have",
                    self.name(),
                    value.size()
                )))
            }
            value => Ok(value),
        }
    }
}

/// `||`, as a function of all parts of a chain.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Join {
    to: DataType,
    signature: Signature,
}

impl Join {
    fn new(to: DataType, parts: usize) -> Self {
        Self { to, signature: Signature::any(parts, Volatility::Immutable) }
    }
}

impl ScalarUDFImpl for Join {
    fn name(&self) -> &'static str {
        "||"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(self.to.clone())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let folded = args.args.iter().all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
        let sides = args.args.iter().map(|side| {
            let side = side.to_array(args.number_rows)?;
            Ok(cast(&side, &self.to)?)
        });
        let sides = sides.collect::<Result<Vec<ArrayRef>>>()?;
        // Neighbours first: each part is copied a logarithmic number of times.
        let mut sides = sides;
        while sides.len() > 1 {
            let pairs = sides.chunks(2).map(|pair| match pair {
                [left, right] => Ok(concat_elements_dyn(left.as_ref(), right.as_ref())?),
                [one] => Ok(Arc::clone(one)),
                _ => Err(DataFusionError::Internal("a pair has two sides".to_owned())),
            });
            sides = pairs.collect::<Result<Vec<ArrayRef>>>()?;
        }
        let joined = sides.pop();
        let joined =
            joined.ok_or_else(|| DataFusionError::Internal("|| has two sides".to_owned()))?;
        Ok(match folded {
            true => {
                ColumnarValue::Scalar(datafusion::scalar::ScalarValue::try_from_array(&joined, 0)?)
            }
            false => ColumnarValue::Array(joined),
        })
    }
}
