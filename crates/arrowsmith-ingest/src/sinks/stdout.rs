// SPDX-License-Identifier: Apache-2.0
//! Standard output as a sink: one Arrow IPC stream, for a pipe.

use std::io::Write;

use arrow_ipc::writer::{IpcWriteOptions, StreamWriter};
use arrow_schema::SchemaRef;
use arrowsmith_core::sink::Output;
use arrowsmith_message::{BoxFuture, Message, Publish, PublishError, Receipt, done};
use serde::Deserialize;

use crate::config::CompressionConfig;

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
    writer: Option<(SchemaRef, StreamWriter<Output>)>,
}

impl Stdout {
    pub(crate) fn open(options: StdoutOptions) -> Result<Self, PublishError> {
        Ok(Self { options, writer: None })
    }

    fn write(&mut self, message: &Message) -> Result<Receipt, PublishError> {
        let writer = match &mut self.writer {
            Some((schema, writer)) if **schema == *message.schema => writer,
            Some(_) => {
                return Err(PublishError::fatal("standard output cannot take another schema"));
            }
            empty => {
                let options = IpcWriteOptions::default();
                let codec = arrowsmith_message::Compression::from(self.options.compression).codec();
                let options = options.try_with_compression(codec).map_err(PublishError::fatal)?;
                let output = Output::create("-").map_err(PublishError::fatal)?;
                let writer = StreamWriter::try_new_with_options(output, &message.schema, options);
                &mut empty.insert((message.schema.clone(), writer.map_err(PublishError::fatal)?)).1
            }
        };
        writer.write(&message.batch).map_err(PublishError::fatal)?;
        writer.get_mut().flush().map_err(PublishError::fatal)?;
        Ok(done())
    }
}

impl Publish for Stdout {
    fn publish<'a>(
        &'a mut self,
        message: &'a Message,
    ) -> BoxFuture<'a, Result<Receipt, PublishError>> {
        Box::pin(async { self.write(message) })
    }

    fn close(mut self: Box<Self>) -> BoxFuture<'static, Result<(), PublishError>> {
        Box::pin(async move {
            match &mut self.writer {
                Some((_, writer)) => {
                    writer.finish().map_err(PublishError::fatal)?;
                    writer.get_mut().flush().map_err(PublishError::fatal)
                }
                None => Ok(()),
            }
        })
    }

    fn needs_payload(&self) -> bool {
        false
    }

    fn in_flight_max(&self) -> usize {
        1
    }
}
