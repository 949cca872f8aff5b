// SPDX-License-Identifier: Apache-2.0
//! Queries of a dataset: columns, a condition, a number of rows; parsed from descriptors, and
//! checked.
//!
//! A descriptor is a path of one part, the dataset's name, or a command: a JSON object such as
//! `{"dataset": "taxi", "columns": ["fare"], "filter": "fare > 10", "limit": 100}`. Names are never
//! paths: only the catalog is searched.

use arrow_flight::FlightDescriptor;
use arrow_flight::flight_descriptor::DescriptorType;
use arrowsmith::parquet::Predicate;
use serde::{Deserialize, Serialize};
use tonic::Status;

/// Maximum size of a descriptor's command, in bytes.
pub const COMMAND_BYTES_MAX: usize = 64 << 10;

/// Maximum number of columns in a query.
pub const COLUMNS_MAX: usize = 10_000;

/// A query of a dataset.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Query {
    /// Name in the catalog.
    pub dataset: String,
    /// Top-level columns, in this order; all without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub columns: Option<Vec<String>>,
    /// Rows for which this condition holds, in the form that [`Predicate::parse`] reads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<String>,
    /// Rows, at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
}

impl Query {
    /// All of a dataset.
    pub fn all(dataset: impl Into<String>) -> Self {
        Self { dataset: dataset.into(), ..Self::default() }
    }

    /// Parses a descriptor.
    ///
    /// # Errors
    /// `invalid_argument` for one that is neither a name nor a command as above.
    pub fn of(descriptor: &FlightDescriptor) -> Result<Self, Status> {
        match (DescriptorType::try_from(descriptor.r#type), descriptor.path.as_slice()) {
            (Ok(DescriptorType::Path), [name]) => Ok(Self::all(name)),
            (Ok(DescriptorType::Path), _) => {
                Err(Status::invalid_argument("a path of one part is a dataset's name"))
            }
            (Ok(DescriptorType::Cmd), _) => Self::parse(&descriptor.cmd),
            _ => Err(Status::invalid_argument("a descriptor is a path or a command")),
        }
    }

    /// A command: a JSON object, or the name alone.
    ///
    /// # Errors
    /// `invalid_argument` with the error.
    pub fn parse(command: &[u8]) -> Result<Self, Status> {
        let refuse = |reason: String| Status::invalid_argument(format!("command: {reason}"));
        if command.len() > COMMAND_BYTES_MAX {
            return Err(refuse(format!(
                "{} bytes are more than {COMMAND_BYTES_MAX}",
                command.len()
            )));
        }
        let text = std::str::from_utf8(command).map_err(|error| refuse(error.to_string()))?;
        let query = if text.trim_start().starts_with('{') {
            serde_json::from_str(text).map_err(|error| refuse(error.to_string()))?
        } else {
            Self::all(text.trim())
        };
        query.predicate()?;
        if query.columns.as_ref().is_some_and(|columns| columns.len() > COLUMNS_MAX) {
            return Err(refuse(format!("more than {COLUMNS_MAX} columns")));
        }
        Ok(query)
    }

    /// The condition.
    ///
    /// # Errors
    /// `invalid_argument` for invalid text.
    pub fn predicate(&self) -> Result<Option<Predicate>, Status> {
        let parse = |text: &String| {
            Predicate::parse(text).map_err(|error| Status::invalid_argument(error.to_string()))
        };
        self.filter.as_ref().map(parse).transpose()
    }

    /// Whether it takes everything.
    pub fn is_all(&self) -> bool {
        self.columns.is_none() && self.filter.is_none() && self.limit.is_none()
    }

    /// The query as a command.
    pub fn command(&self) -> Vec<u8> {
        // Only strings and numbers, which JSON can always represent.
        serde_json::to_vec(self).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_name_what_is_requested() {
        let query = Query::parse(br#"{"dataset":"a","columns":["x"],"filter":"x > 1","limit":3}"#);
        let query = query.unwrap();
        assert_eq!(query.columns.as_deref(), Some(&["x".to_owned()][..]));
        assert_eq!(Query::parse(&query.command()).unwrap(), query);
        assert_eq!(Query::parse(b" taxi ").unwrap(), Query::all("taxi"));
        assert!(Query::all("taxi").is_all());
    }

    #[test]
    fn what_is_no_command_is_refused() {
        for bad in [
            &b"\xff"[..],
            b"{",
            br#"{"dataset":1}"#,
            br#"{"dataset":"a","filter":"x >"}"#,
            br#"{"dataset":"a","limit":-1}"#,
            br#"{"dataset":"a","path":"/etc/passwd"}"#,
            &[b'a'; COMMAND_BYTES_MAX + 1],
        ] {
            assert_eq!(Query::parse(bad).unwrap_err().code(), tonic::Code::InvalidArgument);
        }
    }
}
