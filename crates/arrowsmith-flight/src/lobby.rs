// SPDX-License-Identifier: Apache-2.0
//! Who has connected and has still to say who they are: apart from those who have, in number and in time.
//!
//! A socket costs a stranger nothing. So a connection takes one of the permits of clients with its first call that is
//! let in, and until then it is a newcomer: it has to begin in time, and where there are too many the oldest goes.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::{Notify, OnceCell, OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;
use tonic::Status;

use crate::options::Options;

/// Newcomers at a time, at least and at most.
const NEWCOMERS: std::ops::RangeInclusive<usize> = 64..=1024;

/// The permits of those who were let in, and how long others have.
#[derive(Debug)]
pub(crate) struct Lobby {
    clients: Arc<Semaphore>,
    time: Duration,
}

impl Lobby {
    pub(crate) fn new(options: &Options) -> Arc<Self> {
        let clients = options.connections_max.clamp(1, Semaphore::MAX_PERMITS);
        Arc::new(Self {
            clients: Arc::new(Semaphore::new(clients)),
            time: options.handshake_timeout,
        })
    }
}

/// One connection.
#[derive(Debug)]
pub(crate) struct Visitor {
    lobby: Arc<Lobby>,
    permit: OnceCell<OwnedSemaphorePermit>,
    pushed_out: Notify,
}

impl Visitor {
    pub(crate) fn new(lobby: Arc<Lobby>) -> Self {
        Self { lobby, permit: OnceCell::new(), pushed_out: Notify::new() }
    }

    /// A call was let in: from now on the connection is a client's. Where there are too many it waits for its turn,
    /// as long as newcomers may.
    pub(crate) async fn admit(&self) -> Result<(), Status> {
        let permit = self.permit.get_or_try_init(|| async {
            let permit = timeout(self.lobby.time, Arc::clone(&self.lobby.clients).acquire_owned());
            permit.await.ok().and_then(Result::ok).ok_or(())
        });
        permit.await.map(drop).map_err(|()| Status::resource_exhausted("too many connections"))
    }

    fn is_client(&self) -> bool {
        self.permit.initialized()
    }

    /// What a newcomer has to do in time; none if it did not, or had to make room.
    pub(crate) async fn in_time<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            done = timeout(self.lobby.time, work) => done.ok(),
            () = self.pushed_out.notified() => None,
        }
    }

    /// Waits until the time for the first call is over without one, or until it had to make room.
    pub(crate) async fn given_up(&self) {
        // A call that waits for its turn has as long again.
        let late = tokio::time::sleep(2 * self.lobby.time);
        tokio::select! {
            () = late => {}
            () = self.pushed_out.notified() => {}
        }
        if self.is_client() {
            std::future::pending::<()>().await;
        }
    }
}

/// The newcomers, the oldest first.
pub(crate) struct Newcomers {
    all: VecDeque<Weak<Visitor>>,
    most: usize,
}

impl Newcomers {
    pub(crate) fn new(options: &Options) -> Self {
        let most = (options.connections_max / 4).clamp(*NEWCOMERS.start(), *NEWCOMERS.end());
        Self { all: VecDeque::new(), most }
    }

    pub(crate) fn add(&mut self, visitor: &Arc<Visitor>) {
        if self.all.len() >= self.most {
            self.all.retain(|one| one.upgrade().is_some_and(|one| !one.is_client()));
        }
        while self.all.len() >= self.most {
            if let Some(oldest) = self.all.pop_front().and_then(|one| one.upgrade()) {
                oldest.pushed_out.notify_one();
            }
        }
        self.all.push_back(Arc::downgrade(visitor));
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
    async fn the_oldest_newcomer_makes_room_and_no_client_does() {
        let options = options(1000);
        let (lobby, mut newcomers) = (Lobby::new(&options), Newcomers::new(&options));
        let visitors: Vec<_> =
            (0..251).map(|_| Arc::new(Visitor::new(Arc::clone(&lobby)))).collect();
        visitors[0].admit().await.unwrap();
        for visitor in &visitors {
            newcomers.add(visitor);
        }
        // The first is a client; of the others there are as many as there may be.
        newcomers.add(&Arc::new(Visitor::new(lobby)));
        visitors[1].given_up().await;
        assert_eq!(visitors[2].in_time(std::future::ready(7)).await, Some(7));
    }

    #[tokio::test]
    async fn a_client_too_many_waits_and_is_told() {
        let options = Options { handshake_timeout: Duration::from_millis(1), ..options(1) };
        let lobby = Lobby::new(&options);
        let (first, second) = (Visitor::new(Arc::clone(&lobby)), Visitor::new(lobby));
        first.admit().await.unwrap();
        first.admit().await.unwrap();
        assert_eq!(second.admit().await.unwrap_err().code(), tonic::Code::ResourceExhausted);
        drop(first);
        second.admit().await.unwrap();
    }
}
