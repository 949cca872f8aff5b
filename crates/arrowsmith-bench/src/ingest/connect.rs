// SPDX-License-Identifier: Apache-2.0
//! The peer: Redpanda Connect, from HTTP into Parquet files, configured as its documentation says.
//!
//! It has no Arrow output, so it writes the columnar format that it has. A request is answered when the
//! file with its records is written, which is what the sender measures. Dates stay text, because it
//! converts no dates: a little less work than the others do.

use std::path::Path;

use arrowsmith_workload::Workload;

use super::files::Format;
use super::process::{Launch, free_port};
use crate::BenchError;

/// Its name among the engines.
pub const NAME: &str = "redpanda-connect";

/// Columns as its Parquet encoder wants them; `None` for a workload that nobody wrote down.
fn columns(workload: Workload) -> Option<&'static [(&'static str, &'static str)]> {
    const LIST: &str = "INT64, repeated: true";
    Some(match workload.name() {
        "battery" => &[("voltage", LIST)],
        "trip" => &[
            ("timestamp", "UTF8"),
            ("timezone", "INT64"),
            ("odometer", "INT64"),
            ("hypermiling", "BOOLEAN"),
            ("avgspeed", "INT64"),
            ("sec_in_band", LIST),
            ("braking", LIST),
            ("accel", LIST),
            ("orientation", "BOOLEAN"),
            ("small_speed_var", LIST),
            ("large_speed_var", LIST),
        ],
        _ => return None,
    })
}

/// How to start it. The last line end goes first: a line without a record would make its encoder give up
/// the request, and the lines would be written as they came.
pub(super) fn launch(
    program: &Path,
    workload: Workload,
    threads: usize,
) -> Result<Launch, BenchError> {
    let columns = columns(workload).ok_or_else(|| BenchError::Service {
        message: format!("there is no schema of {} for it", workload.name()),
    })?;
    let (post, http) = (free_port()?, free_port()?);
    let columns: String = columns
        .iter()
        .map(|(name, kind)| format!("          - {{ name: {name}, type: {kind} }}\n"))
        .collect();
    let config = format!(
        "http: {{ address: '127.0.0.1:{http}' }}\n\
         logger: {{ level: ERROR }}\n\
         input:\n  http_server: {{ address: '127.0.0.1:{post}', path: /post, timeout: 120s }}\n\
         pipeline:\n  threads: {threads}\n  processors:\n\
         \x20   - mapping: 'root = content().string().trim_suffix(\"\\n\")'\n\
         \x20   - unarchive: {{ format: lines }}\n\
         \x20   - parquet_encode:\n        default_compression: uncompressed\n        schema:\n{columns}\
         output:\n  file: {{ path: 'out/${{! uuid_v4() }}.parquet', codec: all-bytes }}\n"
    );
    Ok(Launch {
        program: program.to_owned(),
        config: ("config.yaml", config),
        arguments: &["run", "config.yaml"],
        target: format!("http://127.0.0.1:{post}/post"),
        ready: (http, "/ready"),
        format: Format::Parquet,
    })
}
