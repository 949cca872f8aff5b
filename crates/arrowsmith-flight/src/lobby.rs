// SPDX-License-Identifier: Apache-2.0
//! Who has connected and has still to say who they are: apart from those who have, in number and in time.
//!
//! A socket costs a stranger nothing. So a connection is known from its first call that is let in, and until then it
//! has to begin in time, and where there are too many strangers the oldest goes: [`Doors`] counts them. Here a client
//! too many is not refused at once, but waits for its turn.

use std::sync::Arc;
use std::time::Duration;

use arrowsmith_publish::{Doors, Visitor};
use tokio::sync::{OnceCell, OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;
use tonic::Status;

use crate::options::Options;

/// Strangers at a time, at most.
const STRANGERS_MAX: usize = 1024;

/// The places of connections, and how long one may take to become known.
#[derive(Debug)]
pub(crate) struct Lobby {
    doors: Arc<Doors>,
    /// One permit for each that is known: those wait here who are to be.
    turns: Arc<Semaphore>,
    time: Duration,
}

impl Lobby {
    pub(crate) fn new(options: &Options) -> Arc<Self> {
        let known = options.connections_max.clamp(1, Semaphore::MAX_PERMITS);
        Arc::new(Self {
            doors: Doors::with_strangers(known, (known / 4).min(STRANGERS_MAX)),
            turns: Arc::new(Semaphore::new(known)),
            time: options.handshake_timeout,
        })
    }

    /// Lets a connection in. The oldest stranger has to go when there are too many.
    pub(crate) fn enter(self: &Arc<Self>) -> Guest {
        Guest { visitor: self.doors.enter(), turn: OnceCell::new(), lobby: Arc::clone(self) }
    }

    /// Sends the oldest stranger away, where the system has no place for another connection.
    pub(crate) fn make_room(&self) {
        self.doors.make_room();
    }
}

/// One connection. Its place is free before its turn is another's.
#[derive(Debug)]
pub(crate) struct Guest {
    visitor: Visitor,
    turn: OnceCell<OwnedSemaphorePermit>,
    lobby: Arc<Lobby>,
}

impl Guest {
    /// A call was let in: from now on the connection is a client's. Where there are too many it waits for its turn,
    /// as long as strangers may.
    pub(crate) async fn admit(&self) -> Result<(), Status> {
        let full = || Status::resource_exhausted("too many connections");
        let turn = self.turn.get_or_try_init(|| async {
            let turn = timeout(self.lobby.time, Arc::clone(&self.lobby.turns).acquire_owned());
            turn.await.ok().and_then(Result::ok).ok_or_else(full)
        });
        turn.await?;
        self.visitor.admit().then_some(()).ok_or_else(full)
    }

    /// What a stranger has to do in time; none if it did not, or had to make room.
    pub(crate) async fn in_time<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            done = timeout(self.lobby.time, work) => done.ok(),
            () = self.visitor.sent_away() => None,
        }
    }

    /// Waits until the time for the first call is over without one, or until it had to make room.
    pub(crate) async fn given_up(&self) {
        // A call that waits for its turn has as long again.
        let late = tokio::time::sleep(2 * self.lobby.time);
        tokio::select! {
            () = late => {}
            () = self.visitor.sent_away() => {}
        }
        if self.visitor.is_known() {
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
    async fn the_oldest_stranger_makes_room_and_no_client_does() {
        let lobby = Lobby::new(&options(1000));
        let first = lobby.enter();
        first.admit().await.unwrap();
        let strangers: Vec<_> = (0..250).map(|_| lobby.enter()).collect();
        let _one_more = lobby.enter();
        strangers[0].given_up().await;
        assert!(strangers[0].admit().await.is_err());
        for stays in [&first, &strangers[1]] {
            assert_eq!(stays.in_time(std::future::ready(7)).await, Some(7));
        }
        lobby.make_room();
        strangers[1].given_up().await;
    }

    #[tokio::test]
    async fn a_client_too_many_waits_and_is_told() {
        let options = Options { handshake_timeout: Duration::from_millis(1), ..options(1) };
        let lobby = Lobby::new(&options);
        let (first, second) = (lobby.enter(), lobby.enter());
        first.admit().await.unwrap();
        first.admit().await.unwrap();
        assert_eq!(second.admit().await.unwrap_err().code(), tonic::Code::ResourceExhausted);
        drop(first);
        second.admit().await.unwrap();
    }
}
