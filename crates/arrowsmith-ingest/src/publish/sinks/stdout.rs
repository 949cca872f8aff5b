// SPDX-License-Identifier: Apache-2.0
//! Standard output as a sink: one Arrow IPC stream, for a pipe.
//!
//! A message is made in memory and then written: where a write fails in its middle, as on a disk
//! that is full, the next try goes on there, so that no half of a message is in the stream, and
//! none twice.

use std::io::{self, Write};

use arrow_ipc::writer::{IpcWriteOptions, StreamWriter};
use arrow_schema::SchemaRef;
use arrowsmith_core::sink::Output;
use arrowsmith_publish::{BoxFuture, Message, Publish, PublishError, Receipt, done};
use serde::Deserialize;

use crate::units::CompressionConfig;

/// Options of standard output.
#[derive(Debug, Clone, Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub struct StdoutOptions {
    /// Compression of the buffers.
    pub compression: CompressionConfig,
}

/// Writes batches to standard output.
pub(crate) struct Stdout {
    options: StdoutOptions,
    writer: Option<(SchemaRef, StreamWriter<Vec<u8>>)>,
    /// Number of the message that was made last: it may not be written yet.
    last: Option<u64>,
    /// Gone while a write does not come back.
    pipe: Option<Pipe>,
}

/// Where bytes go, and those that are not there yet.
struct Pipe {
    output: Box<dyn Write + Send>,
    bytes: Vec<u8>,
    written: usize,
}

impl Pipe {
    fn write(&mut self) -> io::Result<()> {
        while let Some(rest) = self.bytes.get(self.written..).filter(|rest| !rest.is_empty()) {
            match self.output.write(rest) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => self.written += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.bytes.clear();
        self.written = 0;
        self.output.flush()
    }
}

impl Stdout {
    pub(crate) fn open(options: StdoutOptions) -> Result<Self, PublishError> {
        let output = Output::create("-").map_err(PublishError::fatal)?;
        Ok(Self::to(Box::new(output), options))
    }

    fn to(output: Box<dyn Write + Send>, options: StdoutOptions) -> Self {
        let pipe = Pipe { output, bytes: Vec::new(), written: 0 };
        Self { options, writer: None, last: None, pipe: Some(pipe) }
    }

    /// The bytes of a message.
    fn encode(&mut self, message: &Message) -> Result<Vec<u8>, PublishError> {
        let writer = match &mut self.writer {
            Some((schema, writer)) if **schema == *message.schema => writer,
            Some(_) => {
                return Err(PublishError::fatal("standard output cannot take another schema"));
            }
            empty => {
                let options = IpcWriteOptions::default();
                let codec = arrowsmith_publish::Compression::from(self.options.compression).codec();
                let options = options.try_with_compression(codec).map_err(PublishError::fatal)?;
                let writer =
                    StreamWriter::try_new_with_options(Vec::new(), &message.schema, options);
                &mut empty.insert((message.schema.clone(), writer.map_err(PublishError::fatal)?)).1
            }
        };
        let before = writer.get_ref().len();
        if let Err(error) = writer.write(&message.batch) {
            writer.get_mut().truncate(before);
            return Err(PublishError::fatal(error));
        }
        Ok(std::mem::take(writer.get_mut()))
    }

    /// Writes all that is not written yet, in a thread where whoever reads the pipe may make it
    /// wait.
    async fn write(&mut self) -> Result<(), PublishError> {
        let mut pipe = self.pipe.take().ok_or_else(stuck)?;
        let writing = tokio::task::spawn_blocking(move || {
            let result = pipe.write();
            (pipe, result)
        });
        let (pipe, result) = writing.await.map_err(PublishError::fatal)?;
        self.pipe = Some(pipe);
        result.map_err(|error| match error.kind() {
            io::ErrorKind::BrokenPipe => PublishError::fatal(error),
            _ => PublishError::retry(error),
        })
    }
}

fn stuck() -> PublishError {
    PublishError::fatal("standard output has not taken what was written before")
}

impl Publish for Stdout {
    fn publish<'a>(
        &'a mut self,
        message: &'a Message,
    ) -> BoxFuture<'a, Result<Receipt, PublishError>> {
        Box::pin(async {
            if self.last != Some(message.sequence) {
                let bytes = self.encode(message)?;
                self.pipe.as_mut().ok_or_else(stuck)?.bytes.extend(bytes);
                self.last = Some(message.sequence);
            }
            self.write().await.map(|()| done())
        })
    }

    fn close(mut self: Box<Self>) -> BoxFuture<'static, Result<(), PublishError>> {
        Box::pin(async move {
            let Some((_, mut writer)) = self.writer.take() else { return Ok(()) };
            writer.finish().map_err(PublishError::fatal)?;
            let end = std::mem::take(writer.get_mut());
            self.pipe.as_mut().ok_or_else(stuck)?.bytes.extend(end);
            self.write().await
        })
    }

    fn needs_payload(&self) -> bool {
        false
    }

    fn in_flight_max(&self) -> usize {
        1
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use arrow_array::cast::AsArray;
    use arrow_array::types::UInt64Type;
    use arrow_array::{ArrayRef, RecordBatch, UInt64Array};
    use arrow_ipc::reader::StreamReader;

    use super::*;

    /// Takes some bytes, then fails once, and so on.
    #[derive(Clone, Default)]
    struct Full(Arc<Mutex<(Vec<u8>, usize)>>);

    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let (taken, calls) = &mut *self.0.lock().unwrap();
            *calls += 1;
            if *calls % 2 == 0 {
                return Err(io::ErrorKind::StorageFull.into());
            }
            let count = bytes.len().min(100);
            taken.extend_from_slice(&bytes[..count]);
            Ok(count)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn message(sequence: u64) -> Message {
        let numbers: ArrayRef = Arc::new(UInt64Array::from(vec![sequence; 100]));
        let batch = RecordBatch::try_from_iter([("n", numbers)]).unwrap();
        Message::new("s", sequence, batch)
    }

    #[test]
    fn a_message_that_is_half_written_is_gone_on_with() {
        let full = Full::default();
        let mut sink = Stdout::to(Box::new(full.clone()), StdoutOptions::default());
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let mut failures = 0;
        for sequence in 1..=5 {
            while let Err(error) = runtime.block_on(sink.publish(&message(sequence))) {
                assert!(matches!(error, PublishError::Retry { .. }), "{error}");
                failures += 1;
            }
        }
        assert!(failures > 10, "{failures}");
        let (bytes, _) = std::mem::take(&mut *full.0.lock().unwrap());
        let reader = StreamReader::try_new(io::Cursor::new(bytes), None).unwrap();
        let rows =
            |batch: RecordBatch| batch.column(0).as_primitive::<UInt64Type>().values().to_vec();
        let rows: Vec<u64> = reader.flat_map(|batch| rows(batch.unwrap())).collect();
        let sent: Vec<u64> = (1..=5).flat_map(|sequence| vec![sequence; 100]).collect();
        assert_eq!(rows, sent);
    }
}
