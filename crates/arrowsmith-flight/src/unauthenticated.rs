// SPDX-License-Identifier: Apache-2.0
//! Connections that have not authenticated yet: limited in number and time, apart from those that
//! have.
//!
//! A silent socket costs its client nothing. So a connection is admitted with its first authorized
//! call; until then it has a time limit, and if there are too many the oldest is evicted: [`Slots`]
//! counts them. An admitted client above the limit is not refused at once, but waits for its turn.

use std::sync::Arc;
use std::time::Duration;

use arrowsmith_publish::{Slot, Slots};
use tokio::sync::{OnceCell, OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;
use tonic::Status;

use crate::options::Options;

/// Maximum number of unauthenticated connections.
const UNAUTHENTICATED_MAX: usize = 1024;

/// The slots of connections, and the time limit of authentication.
#[derive(Debug)]
pub(crate) struct ConnectionLimits {
    slots: Arc<Slots>,
    /// One permit for each admitted connection; others wait here.
    turns: Arc<Semaphore>,
    time: Duration,
}

impl ConnectionLimits {
    pub(crate) fn new(options: &Options) -> Arc<Self> {
        let known = options.connections_max.clamp(1, Semaphore::MAX_PERMITS);
        Arc::new(Self {
            slots: Slots::with_unauthenticated(known, (known / 4).min(UNAUTHENTICATED_MAX)),
            turns: Arc::new(Semaphore::new(known)),
            time: options.handshake_timeout,
        })
    }

    /// Takes a slot. The oldest unauthenticated connection is evicted if there are too many.
    pub(crate) fn enter(self: &Arc<Self>) -> ClientConnection {
        ClientConnection {
            slot: self.slots.enter(),
            turn: OnceCell::new(),
            limits: Arc::clone(self),
        }
    }

    /// Evicts the oldest unauthenticated connection, when the system cannot open another one.
    pub(crate) fn evict_oldest(&self) {
        self.slots.evict_oldest();
    }
}

/// One connection. Its slot is released before its permit.
#[derive(Debug)]
pub(crate) struct ClientConnection {
    slot: Slot,
    turn: OnceCell<OwnedSemaphorePermit>,
    limits: Arc<ConnectionLimits>,
}

impl ClientConnection {
    /// Admits the connection, after an authorized call. If there are too many it waits for its
    /// turn, up to the time limit of authentication.
    pub(crate) async fn admit(&self) -> Result<(), Status> {
        let full = || Status::resource_exhausted("too many connections");
        let turn = self.turn.get_or_try_init(|| async {
            let turn = timeout(self.limits.time, Arc::clone(&self.limits.turns).acquire_owned());
            turn.await.ok().and_then(Result::ok).ok_or_else(full)
        });
        turn.await?;
        self.slot.admit().then_some(()).ok_or_else(full)
    }

    /// Runs a step of authentication within the time limit; `None` if it was too slow, or was
    /// evicted.
    pub(crate) async fn in_time<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            done = timeout(self.limits.time, work) => done.ok(),
            () = self.slot.evicted() => None,
        }
    }

    /// Waits until the time limit of the first call is over without one, or until it is evicted.
    pub(crate) async fn given_up(&self) {
        // A call that waits for its turn has the same time again.
        let late = tokio::time::sleep(2 * self.limits.time);
        tokio::select! {
            () = late => {}
            () = self.slot.evicted() => {}
        }
        if self.slot.is_admitted() {
            std::future::pending::<()>().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(connections: usize) -> Options {
        Options {
            connections_max: connections,
            handshake_timeout: Duration::from_secs(3600),
            ..Options::default()
        }
    }

    #[tokio::test]
    async fn the_oldest_unauthenticated_connection_is_evicted_and_no_client() {
        let limits = ConnectionLimits::new(&options(1000));
        let first = limits.enter();
        first.admit().await.unwrap();
        let silent: Vec<_> = (0..250).map(|_| limits.enter()).collect();
        let _one_more = limits.enter();
        silent[0].given_up().await;
        assert!(silent[0].admit().await.is_err());
        for stays in [&first, &silent[1]] {
            assert_eq!(stays.in_time(std::future::ready(7)).await, Some(7));
        }
        limits.evict_oldest();
        silent[1].given_up().await;
    }

    #[tokio::test]
    async fn a_client_too_many_waits_and_is_told() {
        let options = Options { handshake_timeout: Duration::from_millis(1), ..options(1) };
        let limits = ConnectionLimits::new(&options);
        let (first, second) = (limits.enter(), limits.enter());
        first.admit().await.unwrap();
        first.admit().await.unwrap();
        assert_eq!(second.admit().await.unwrap_err().code(), tonic::Code::ResourceExhausted);
        drop(first);
        second.admit().await.unwrap();
    }
}
