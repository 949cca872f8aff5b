// SPDX-License-Identifier: Apache-2.0
//! Long lines: each is collected separately, within a limit that all connections share, until its
//! end has come or it exceeds the maximum size of a record.

use std::time::{Duration, Instant, SystemTime};

use arrowsmith_core::PADDING_BYTES;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::time::timeout;

use super::super::lines::Cut;
use super::{Closed, Receiver, SMALL_BYTES};
use crate::memory::{Buffer, Grant};

/// Maximum wait for memory for a long line: if all of it is held by lines that do not end, one is
/// dropped.
const GROW_WAIT: Duration = Duration::from_secs(10);

impl Receiver {
    pub(super) async fn too_long(
        &mut self,
        text: &[u8],
        since: (Instant, SystemTime),
    ) -> Result<(), Closed> {
        if self.submitter.has_overlong() {
            // The line before was too long, too, and its reject waits for a job.
            self.send_long(Vec::new(), Some(since)).await?;
        }
        self.carry_since = Some(since);
        // It has no line end, or it would have been split there.
        self.submitter.pass_over(text, false);
        Ok(())
    }

    pub(super) async fn grant_carry(&mut self) -> Result<(), Closed> {
        self.carry_grant = None;
        if self.carry.len() > SMALL_BYTES {
            self.carry.reserve_exact(self.carry.len());
            self.carry_grant = Some(self.grow_grant(self.carry.capacity()).await?);
        }
        Ok(())
    }

    pub(super) async fn grow_grant(&self, bytes: usize) -> Result<Grant, Closed> {
        let grant = timeout(GROW_WAIT, self.common.growing.grant(bytes)).await;
        grant.ok().flatten().ok_or(Closed::Memory)
    }

    /// Reads more of a long line.
    pub(super) async fn read_long<T: AsyncRead + Unpin>(
        &mut self,
        input: &mut T,
    ) -> Result<usize, Closed> {
        if self.carry.capacity() - self.carry.len() < SMALL_BYTES {
            let more = self.carry.capacity().max(SMALL_BYTES);
            let grant = self.grow_grant(more).await?;
            match &mut self.carry_grant {
                Some(known) => known.merge(grant),
                none => *none = Some(grant),
            }
            // Bounded: by the grant.
            self.carry.reserve_exact(more);
        }
        input.read_buf(&mut self.carry).await.map_err(|_| Closed::Error)
    }

    pub(super) async fn take_long(&mut self, count: usize) -> Result<usize, Closed> {
        let known = self.carry.len() - count;
        match self.submitter.lines.cut(&self.carry, known) {
            Cut::More => {}
            Cut::Whole(len) => {
                let rest = self.carry.split_off(len);
                let text = std::mem::replace(&mut self.carry, rest);
                let since = self.carry_since.take();
                self.waited = Duration::ZERO;
                self.send_long(text, since).await?;
                if !self.carry.is_empty() {
                    self.carry_since = Some((Instant::now(), SystemTime::now()));
                    self.grant_carry().await?;
                }
            }
            Cut::TooLong => {
                let text = std::mem::take(&mut self.carry);
                self.carry_grant = None;
                let since = self.carry_since.unwrap_or((Instant::now(), SystemTime::now()));
                self.too_long(&text, since).await?;
            }
        }
        Ok(count)
    }

    pub(super) async fn send_long(
        &mut self,
        text: Vec<u8>,
        since: Option<(Instant, SystemTime)>,
    ) -> Result<(), Closed> {
        let grant = self.common.memory.grant(text.len() + PADDING_BYTES).await;
        let grant = grant.ok_or(Closed::Memory)?;
        self.carry_grant = None;
        let since = since.unwrap_or((Instant::now(), SystemTime::now()));
        Ok(self.submitter.over(Buffer::of(text, grant), since).await?)
    }

    /// Hands over the rest if the sender ended in order: the last line needs no line end. After any
    /// other end the rest may be incomplete, so it is not a record: `12` may be the start of
    /// `12345`.
    pub(super) async fn last(&mut self, closed: Closed) {
        let mut text = std::mem::take(&mut self.carry);
        if closed == Closed::End {
            self.pass_over(&mut &b""[..], true);
        } else if !text.is_empty() || self.submitter.lines.is_passing() {
            let (sender, why) = (&*self.submitter.sender.name, closed.name());
            tracing::warn!(
                sender,
                why,
                bytes = text.len(),
                "cut off within a line, which is discarded"
            );
            self.stream.metrics.cut_lines.inc();
            text.clear();
        }
        if text.is_empty() && !self.submitter.has_overlong() {
            return;
        }
        let since = self.carry_since.take();
        // What cannot be handed over now was never acknowledged.
        let _ = self.send_long(text, since).await;
    }
}
