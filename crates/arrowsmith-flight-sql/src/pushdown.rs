// SPDX-License-Identifier: Apache-2.0
//! Which of DataFusion's conditions our readers can decide themselves, exactly.
//!
//! A condition that is not understood whole stays with DataFusion; nothing is approximated.

use arrow_array::Array as _;
use arrow_schema::{DataType, Schema};
use arrowsmith::parquet::{Comparison, Literal, Predicate};
use datafusion::logical_expr::{Expr, Operator};
use datafusion::scalar::ScalarValue;

/// Maximum depth of conditions.
const DEPTH_MAX: usize = 32;

/// The same condition for our readers; `None` for one that they do not know.
pub(crate) fn predicate(expr: &Expr, schema: &Schema) -> Option<Predicate> {
    of(expr, schema, DEPTH_MAX)
}

fn of(expr: &Expr, schema: &Schema, depth: usize) -> Option<Predicate> {
    let depth = depth.checked_sub(1)?;
    match expr {
        Expr::BinaryExpr(binary) => match binary.op {
            Operator::And => Some(Predicate::And(vec![
                of(&binary.left, schema, depth)?,
                of(&binary.right, schema, depth)?,
            ])),
            Operator::Or => Some(Predicate::Or(vec![
                of(&binary.left, schema, depth)?,
                of(&binary.right, schema, depth)?,
            ])),
            op => compare(&binary.left, op, &binary.right, schema),
        },
        Expr::Not(inner) => Some(Predicate::Not(Box::new(of(inner, schema, depth)?))),
        Expr::IsNull(inner) => Some(Predicate::IsNull(column(inner, schema)?.0)),
        Expr::IsNotNull(inner) => {
            Some(Predicate::Not(Box::new(Predicate::IsNull(column(inner, schema)?.0))))
        }
        Expr::Between(between) => {
            let low = compare(&between.expr, Operator::GtEq, &between.low, schema)?;
            let high = compare(&between.expr, Operator::LtEq, &between.high, schema)?;
            let both = Predicate::And(vec![low, high]);
            Some(if between.negated { Predicate::Not(Box::new(both)) } else { both })
        }
        Expr::InList(list) => {
            let (name, data_type) = column(&list.expr, schema)?;
            let values = list.list.iter().map(|value| literal(value, &data_type));
            let values = values.collect::<Option<Vec<_>>>()?;
            if values.is_empty() {
                return None;
            }
            let within = Predicate::In { column: name, values };
            Some(if list.negated { Predicate::Not(Box::new(within)) } else { within })
        }
        _ => None,
    }
}

fn compare(left: &Expr, op: Operator, right: &Expr, schema: &Schema) -> Option<Predicate> {
    let comparison = match op {
        Operator::Eq => Comparison::Equal,
        Operator::NotEq => Comparison::NotEqual,
        Operator::Lt => Comparison::Less,
        Operator::LtEq => Comparison::LessOrEqual,
        Operator::Gt => Comparison::Greater,
        Operator::GtEq => Comparison::GreaterOrEqual,
        _ => return None,
    };
    if let Some((name, data_type)) = column(left, schema) {
        return Some(Predicate::compare(name, comparison, literal(right, &data_type)?));
    }
    let turned = match comparison {
        Comparison::Less => Comparison::Greater,
        Comparison::LessOrEqual => Comparison::GreaterOrEqual,
        Comparison::Greater => Comparison::Less,
        Comparison::GreaterOrEqual => Comparison::LessOrEqual,
        same => same,
    };
    let (name, data_type) = column(right, schema)?;
    Some(Predicate::compare(name, turned, literal(left, &data_type)?))
}

/// A column of the table whose name is not a path, and its type.
fn column(expr: &Expr, schema: &Schema) -> Option<(String, DataType)> {
    let Expr::Column(column) = expr else { return None };
    let field = schema.field_with_name(&column.name).ok()?;
    (!column.name.contains('.')).then(|| (column.name.clone(), field.data_type().clone()))
}

/// A literal of the column's own type: DataFusion has brought both to one type before.
/// Floating-point values are left to DataFusion, whose order of NaN and of zeros is not that of
/// every statistic in a file.
fn literal(expr: &Expr, data_type: &DataType) -> Option<Literal> {
    let Expr::Literal(value, _) = expr else { return None };
    if value.is_null() || value.data_type() != *data_type {
        return None;
    }
    Some(match value {
        ScalarValue::Int8(Some(value)) => Literal::Number(value.to_string()),
        ScalarValue::Int16(Some(value)) => Literal::Number(value.to_string()),
        ScalarValue::Int32(Some(value)) => Literal::Number(value.to_string()),
        ScalarValue::Int64(Some(value)) => Literal::Number(value.to_string()),
        ScalarValue::UInt8(Some(value)) => Literal::Number(value.to_string()),
        ScalarValue::UInt16(Some(value)) => Literal::Number(value.to_string()),
        ScalarValue::UInt32(Some(value)) => Literal::Number(value.to_string()),
        ScalarValue::UInt64(Some(value)) => Literal::Number(value.to_string()),
        ScalarValue::Boolean(Some(value)) => Literal::Boolean(*value),
        ScalarValue::Utf8(Some(value)) | ScalarValue::LargeUtf8(Some(value)) => {
            Literal::Text(value.clone())
        }
        ScalarValue::Date32(Some(_))
        | ScalarValue::TimestampMicrosecond(Some(_), None)
        | ScalarValue::TimestampMillisecond(Some(_), None)
        | ScalarValue::TimestampNanosecond(Some(_), None)
        | ScalarValue::TimestampSecond(Some(_), None) => Literal::Text(text_of(value)?),
        _ => return None,
    })
}

/// A date or time as text that reads back as the same value.
fn text_of(value: &ScalarValue) -> Option<String> {
    let array = value.to_array().ok()?;
    let text = datafusion::arrow::compute::cast(&array, &DataType::Utf8).ok()?;
    let back = datafusion::arrow::compute::cast(&text, array.data_type()).ok()?;
    if back.as_ref() != array.as_ref() {
        return None;
    }
    let text = text.as_any().downcast_ref::<arrow_array::StringArray>()?;
    (text.len() == 1).then(|| text.value(0).to_owned())
}

#[cfg(test)]
mod tests {
    use arrow_schema::{Field, TimeUnit};
    use datafusion::logical_expr::{col, lit};

    use super::*;

    fn schema() -> Schema {
        Schema::new(vec![
            Field::new("a", DataType::Int64, true),
            Field::new("s", DataType::Utf8, true),
            Field::new("f", DataType::Float64, true),
            Field::new("t", DataType::Timestamp(TimeUnit::Microsecond, None), true),
        ])
    }

    #[test]
    fn what_is_understood_is_said_in_our_words() {
        let time = lit(ScalarValue::TimestampMicrosecond(Some(1_000_000), None));
        for (expr, expected) in [
            (col("a").gt(lit(1_i64)), Some("\"a\" > 1")),
            (lit(1_i64).lt(col("a")), Some("\"a\" > 1")),
            (col("s").eq(lit("it's")), Some("\"s\" = 'it''s'")),
            (col("a").is_not_null(), Some("not (\"a\" is null)")),
            (
                col("a").between(lit(1_i64), lit(2_i64)).or(col("s").is_null()),
                Some("((\"a\" >= 1 and \"a\" <= 2) or \"s\" is null)"),
            ),
            (col("a").in_list(vec![lit(1_i64), lit(2_i64)], true), Some("not (\"a\" in (1, 2))")),
            (col("t").gt(time), Some("\"t\" > '1970-01-01T00:00:01'")),
            (col("f").gt(lit(1.0)), None),
            (col("a").gt(lit(1_i32)), None),
            (col("a").gt(lit(ScalarValue::Int64(None))), None),
            ((col("a") + lit(1_i64)).gt(lit(1_i64)), None),
            (col("nowhere").gt(lit(1_i64)), None),
        ] {
            let found = predicate(&expr, &schema()).map(|predicate| predicate.to_string());
            assert_eq!(found.as_deref(), expected, "{expr}");
        }
    }
}
