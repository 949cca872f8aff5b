// SPDX-License-Identifier: Apache-2.0
//! The times of each message as CSV, in nanoseconds, as the paper's program wrote them.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arrowsmith_publish::Message;

/// The columns.
const HEADER: &str = "stream,sink,sequence,connection,first,last,rows,bytes,receive_ns,parse_queue_ns,\
                      parse_ns,resize_ns,serialize_ns,publish_queue_ns,publish_ns,total_ns\n";

/// The file; clones write to the same one.
#[derive(Clone)]
pub(crate) struct Latency(Arc<Mutex<BufWriter<File>>>);

impl Latency {
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        let mut file = BufWriter::new(File::create(path)?);
        file.write_all(HEADER.as_bytes())?;
        Ok(Self(Arc::new(Mutex::new(file))))
    }

    /// Notes a message. If the file cannot be written, a row is missing; the service continues.
    pub(crate) fn note(
        &mut self,
        sink: &str,
        message: &Message,
        bytes: usize,
        queue: Duration,
        publish: Duration,
    ) {
        let times = &message.times;
        let (first, last) = (message.origins.first(), message.origins.last());
        let row = format!(
            "{},{sink},{},{},{},{},{},{bytes},{},{},{},{},{},{},{},{}\n",
            message.stream,
            message.sequence,
            first.map_or(0, |origin| origin.connection),
            first.map_or(0, |origin| origin.first),
            last.map_or(0, |origin| origin.last),
            message.rows(),
            times.receive.as_nanos(),
            times.parse_queue.as_nanos(),
            times.parse.as_nanos(),
            times.resize.as_nanos(),
            times.serialize.as_nanos(),
            queue.as_nanos(),
            publish.as_nanos(),
            times.start.elapsed().as_nanos(),
        );
        let written =
            self.0.lock().unwrap_or_else(PoisonError::into_inner).write_all(row.as_bytes());
        if let Err(error) = written {
            tracing::warn!(%error, "the record of latencies has a gap");
        }
    }

    pub(crate) fn flush(&mut self) {
        // The next row reports an error.
        drop(self.0.lock().unwrap_or_else(PoisonError::into_inner).flush());
    }
}
