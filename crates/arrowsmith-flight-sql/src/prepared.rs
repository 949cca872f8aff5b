// SPDX-License-Identifier: Apache-2.0
//! Prepared statements: their text and what was bound, kept until their client closes them, or
//! until there are too many.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use arrow_flight::FlightData;
use arrow_flight::error::FlightError;
use arrowsmith_flight::ipc::{Bounds, batches};
use datafusion::scalar::ScalarValue;
use futures_util::stream::{BoxStream, StreamExt, TryStreamExt};
use ring::rand::{SecureRandom, SystemRandom};
use tonic::Status;

use crate::engine::Parameters;

/// Maximum number of statements: the oldest is dropped.
const STATEMENTS_MAX: usize = 10_000;

/// Maximum size of all statements and their bound values, in bytes: the oldest are dropped.
const ALL_BYTES_MAX: usize = 256 << 20;

/// Maximum number of bound rows, and their bytes.
const ROWS_MAX: usize = 10_000;
const BYTES_MAX: usize = 16 << 20;

#[derive(Debug, Clone)]
pub(crate) struct Statement {
    pub(crate) sql: String,
    pub(crate) parameters: Vec<Parameters>,
}

#[derive(Default)]
struct State {
    /// By number, so that the first is the oldest.
    statements: BTreeMap<u64, ([u8; 16], Statement)>,
    next: u64,
    bytes: usize,
}

impl State {
    /// Lets the oldest go, until there are neither too many nor too large ones; the newest stays.
    fn shrink(&mut self) {
        while self.statements.len() > 1
            && (self.statements.len() > STATEMENTS_MAX || self.bytes > ALL_BYTES_MAX)
        {
            if let Some((_, (_, oldest))) = self.statements.pop_first() {
                self.bytes = self.bytes.saturating_sub(oldest.bytes());
            }
        }
    }
}

impl Statement {
    fn bytes(&self) -> usize {
        let values = self.parameters.iter().flat_map(|row| row.iter().map(ScalarValue::size));
        self.sql.len() + values.fold(0, usize::saturating_add)
    }
}

/// The statements of all clients. A handle is a number and sixteen random bytes, which cannot be
/// guessed.
#[derive(Default)]
pub(crate) struct Prepared(Mutex<State>);

impl Prepared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a statement; its handle.
    pub(crate) fn add(&self, sql: String) -> Result<Vec<u8>, Status> {
        let mut secret = [0; 16];
        SystemRandom::new()
            .fill(&mut secret)
            .map_err(|_| Status::internal("the system gives no random bytes"))?;
        let mut state = self.lock();
        let number = state.next;
        state.next += 1;
        let statement = Statement { sql, parameters: Vec::new() };
        state.bytes += statement.bytes();
        state.statements.insert(number, (secret, statement));
        state.shrink();
        Ok([&number.to_be_bytes()[..], &secret].concat())
    }

    /// The statement of a handle.
    pub(crate) fn get(&self, handle: &[u8]) -> Result<Statement, Status> {
        let mut state = self.lock();
        Ok(find(&mut state, handle)?.clone())
    }

    /// Binds rows of parameters, in place of those before.
    pub(crate) fn bind(&self, handle: &[u8], parameters: Vec<Parameters>) -> Result<(), Status> {
        let mut state = self.lock();
        let statement = find(&mut state, handle)?;
        let before = statement.bytes();
        statement.parameters = parameters;
        let after = statement.bytes();
        state.bytes = state.bytes.saturating_sub(before).saturating_add(after);
        state.shrink();
        Ok(())
    }

    /// Forgets a statement.
    pub(crate) fn close(&self, handle: &[u8]) {
        let mut state = self.lock();
        if find(&mut state, handle).is_ok()
            && let Some(number) = number(handle)
        {
            let gone = state.statements.remove(&number);
            let bytes = gone.map_or(0, |(_, statement)| statement.bytes());
            state.bytes = state.bytes.saturating_sub(bytes);
        }
    }
}

fn number(handle: &[u8]) -> Option<u64> {
    Some(u64::from_be_bytes(handle.get(..8)?.try_into().ok()?))
}

fn find<'a>(state: &'a mut State, handle: &[u8]) -> Result<&'a mut Statement, Status> {
    let unknown = || Status::not_found("this prepared statement is not known: it was closed");
    let number = number(handle).ok_or_else(unknown)?;
    let (secret, statement) = state.statements.get_mut(&number).ok_or_else(unknown)?;
    // Compared as a whole: the bytes are random, and the number is not secret.
    if handle.get(8..) != Some(&secret[..]) {
        return Err(unknown());
    }
    Ok(statement)
}

/// The rows of parameters in a stream of messages.
pub(crate) async fn parameters(
    messages: BoxStream<'static, Result<FlightData, Status>>,
) -> Result<Vec<Parameters>, Status> {
    let messages = messages.map_err(|status| FlightError::Tonic(Box::new(status))).boxed();
    // A few values: no driver compresses them, and so no declared size has to be trusted.
    let bounds = Bounds { decoded_bytes_max: BYTES_MAX as u64, compression: false };
    let mut batches = batches(messages, bounds);
    let (mut rows, mut bytes) = (Vec::new(), 0_usize);
    while let Some(batch) = batches.next().await {
        let batch = batch.map_err(|error| match error {
            FlightError::Tonic(status) => *status,
            other => Status::invalid_argument(other.to_string()),
        })?;
        bytes = bytes.saturating_add(batch.get_array_memory_size());
        let too_many = || {
            let reason = format!("parameters: more than {ROWS_MAX} rows or {BYTES_MAX} bytes");
            Status::resource_exhausted(reason)
        };
        if rows.len() + batch.num_rows() > ROWS_MAX || bytes > BYTES_MAX {
            return Err(too_many());
        }
        for row in 0..batch.num_rows() {
            let mut values = Vec::with_capacity(batch.num_columns());
            for column in batch.columns() {
                let value = value(column.as_ref(), row)?;
                // Of a dictionary, or of a view, every row has a copy.
                bytes = bytes.saturating_add(value.size());
                if bytes > BYTES_MAX {
                    return Err(too_many());
                }
                values.push(value);
            }
            rows.push(values);
        }
    }
    Ok(rows)
}

/// A value; that of a dense union, in which some drivers send parameters, is the value inside.
fn value(column: &dyn arrow_array::Array, row: usize) -> Result<ScalarValue, Status> {
    let union = column.as_any().downcast_ref::<arrow_array::UnionArray>();
    let value = match union {
        Some(union) => ScalarValue::try_from_array(&union.value(row), 0),
        None => ScalarValue::try_from_array(&column.slice(row, 1), 0),
    };
    value.map_err(|error| Status::invalid_argument(format!("parameters: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_finds_its_statement_until_it_is_closed() {
        let prepared = Prepared::default();
        let first = prepared.add("select 1".to_owned()).unwrap();
        let second = prepared.add("select 2".to_owned()).unwrap();
        assert_eq!(prepared.get(&second).unwrap().sql, "select 2");
        let mut guessed = first.clone();
        guessed[20] ^= 1;
        assert!(prepared.get(&guessed).is_err());
        prepared.close(&guessed);
        assert!(prepared.get(&first).is_ok());
        prepared.close(&first);
        for gone in [&first[..], &first[..7], b""] {
            assert_eq!(prepared.get(gone).unwrap_err().code(), tonic::Code::NotFound);
        }
    }

    #[test]
    fn there_are_never_too_many() {
        let prepared = Prepared::default();
        let first = prepared.add("select 1".to_owned()).unwrap();
        for _ in 0..STATEMENTS_MAX {
            prepared.add(String::new()).unwrap();
        }
        assert!(prepared.get(&first).is_err());
    }
}
