// SPDX-License-Identifier: Apache-2.0
//! Acknowledgements of a connection: the number of its settled records, in lines that are never
//! torn.

use std::sync::atomic::Ordering;

use tokio::io::{AsyncWrite, AsyncWriteExt};

use crate::job::Progress;

/// The numbers that a sender is sent, one per line: a line that was started is completed before the
/// next.
#[derive(Default)]
pub(super) struct Acknowledged {
    line: Vec<u8>,
    /// Bytes of the line that were written.
    at: usize,
    last: u64,
    failed: bool,
}

impl Acknowledged {
    /// Writes what is left of the line. What was written is noted at once, so that this may be
    /// dropped at any time and begun again.
    async fn write<T: AsyncWrite + Unpin>(&mut self, output: &mut T) {
        while !self.failed && self.at < self.line.len() {
            match output.write(&self.line[self.at..]).await {
                Ok(0) | Err(_) => self.failed = true,
                Ok(bytes) => self.at += bytes,
            }
        }
    }

    async fn number<T: AsyncWrite + Unpin>(&mut self, number: u64, output: &mut T) {
        self.write(output).await;
        (self.line, self.at) = (format!("{number}\n").into_bytes(), 0);
        self.last = number;
        self.write(output).await;
    }

    /// The last number, and the end.
    pub(super) async fn end<T: AsyncWrite + Unpin>(&mut self, number: u64, output: &mut T) {
        self.number(number, output).await;
        if !self.failed {
            drop(output.shutdown().await);
        }
    }
}

/// Tells the number of settled records whenever it has grown.
pub(super) async fn acknowledge<T: AsyncWrite + Unpin>(
    progress: &Progress,
    output: &mut T,
    acknowledged: &mut Acknowledged,
) -> std::convert::Infallible {
    loop {
        let changed = progress.changed.notified();
        let records = progress.records.load(Ordering::Acquire);
        if records > acknowledged.last && !acknowledged.failed {
            acknowledged.number(records, output).await;
        } else {
            changed.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::task::Poll;

    use tokio::io::AsyncReadExt;

    use super::*;

    #[test]
    fn a_number_that_was_begun_is_ended_before_the_next() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            // Room for three bytes: the line stops in the middle.
            let (mut ours, mut theirs) = tokio::io::duplex(3);
            let mut acknowledged = Acknowledged::default();
            let mut begun = Box::pin(acknowledged.number(10_370, &mut ours));
            std::future::poll_fn(|context| {
                assert!(begun.as_mut().poll(context).is_pending());
                Poll::Ready(())
            })
            .await;
            drop(begun);
            let end = async {
                acknowledged.end(12_345, &mut ours).await;
                drop(ours);
            };
            let mut text = String::new();
            let (_, read) = tokio::join!(end, theirs.read_to_string(&mut text));
            read.unwrap();
            assert_eq!(text, "10370\n12345\n");
        });
    }
}
