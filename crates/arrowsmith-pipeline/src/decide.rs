// SPDX-License-Identifier: Apache-2.0
//! A condition of which some tests have one result for all rows of a file: what is left of it,
//! exactly, with SQL's three values. It does not know why a test has a result.

use arrowsmith_core::Result;
use arrowsmith_parquet::Predicate;

/// The result of a test for all rows of a file, which may be unknown; `None` if rows differ.
pub(crate) type Known = Option<Option<bool>>;

/// What is left of a condition.
///
/// # Errors
/// Those of `known`, which is called for each test.
pub(crate) fn decide(
    predicate: &Predicate,
    known: &dyn Fn(&Predicate) -> Result<Known>,
) -> Result<Predicate> {
    within(predicate, true, known)
}

/// An unknown result becomes the one that excludes the row: it depends on the number of enclosing
/// `not`s, which is even if `positive`.
fn within(
    predicate: &Predicate,
    positive: bool,
    known: &dyn Fn(&Predicate) -> Result<Known>,
) -> Result<Predicate> {
    let all = |parts: &[Predicate]| -> Result<Vec<Predicate>> {
        parts.iter().map(|part| within(part, positive, known)).collect()
    };
    Ok(match predicate {
        Predicate::And(parts) => joined(all(parts)?, true),
        Predicate::Or(parts) => joined(all(parts)?, false),
        Predicate::Not(part) => {
            let part = within(part, !positive, known)?;
            if always(&part) || never(&part) {
                return Ok(constant(never(&part)));
            }
            Predicate::Not(Box::new(part))
        }
        test => match known(test)? {
            Some(result) => constant(result.unwrap_or(!positive)),
            None => test.clone(),
        },
    })
}

/// Parts joined by `and`, or by `or`.
fn joined(mut parts: Vec<Predicate>, by_and: bool) -> Predicate {
    if parts.contains(&constant(!by_and)) {
        return constant(!by_and);
    }
    parts.retain(|part| *part != constant(by_and));
    match parts.len() {
        1 => parts.remove(0),
        _ if by_and => Predicate::And(parts),
        _ => Predicate::Or(parts),
    }
}

/// A condition that holds for every row, or for none.
fn constant(value: bool) -> Predicate {
    if value { Predicate::And(Vec::new()) } else { Predicate::Or(Vec::new()) }
}

/// Whether the condition holds for every row.
pub(crate) fn always(predicate: &Predicate) -> bool {
    matches!(predicate, Predicate::And(parts) if parts.is_empty())
}

/// Whether the condition holds for no row.
pub(crate) fn never(predicate: &Predicate) -> bool {
    matches!(predicate, Predicate::Or(parts) if parts.is_empty())
}
