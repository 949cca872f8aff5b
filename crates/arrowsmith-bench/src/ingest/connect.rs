// SPDX-License-Identifier: Apache-2.0
//! The peer: Redpanda Connect, from HTTP into Parquet files, configured as in its documentation.
//!
//! It has no Arrow output, so it writes its columnar format, Parquet. A request is answered when
//! the file with its records is written, which is what the sender measures. Dates stay text,
//! because it cannot convert them: slightly less work than for the others.

use std::path::Path;

use arrowsmith_workload::Workload;

use super::files::Format;
use super::process::{Launch, free_port};
use crate::BenchError;

/// Its name among the engines.
pub const NAME: &str = "redpanda-connect";

/// The columns for its Parquet encoder; `None` for workloads without a definition here.
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

/// Its command line. The last line end is removed first: an empty line would make its encoder fail
/// the request, and the lines would be written unconverted.
pub(super) fn launch(
    program: &Path,
    workload: Workload,
    threads: usize,
) -> Result<Launch, BenchError> {
    let columns = columns(workload).ok_or_else(|| BenchError::Service {
        message: format!("it has no schema for {}", workload.name()),
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
