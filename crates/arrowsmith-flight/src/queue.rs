// SPDX-License-Identifier: Apache-2.0
//! A bounded queue between the task that makes messages and the connection that sends them, which
//! the task can empty: a reader that has stalled must not keep memory.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

struct State<T> {
    items: VecDeque<T>,
    /// No more will come.
    ended: bool,
    /// The reader is gone.
    gone: bool,
}

struct Shared<T> {
    state: Mutex<State<T>>,
    items_max: usize,
    room: Notify,
    arrival: Notify,
}

impl<T> Shared<T> {
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The end where things go in. Dropping it ends the queue.
pub(crate) struct Sender<T>(Arc<Shared<T>>);

/// The end where things come out.
pub(crate) struct Receiver<T>(Arc<Shared<T>>);

/// A queue with a maximum length.
pub(crate) fn queue<T>(items_max: usize) -> (Sender<T>, Receiver<T>) {
    let state = State { items: VecDeque::new(), ended: false, gone: false };
    let shared = Arc::new(Shared {
        state: Mutex::new(state),
        items_max,
        room: Notify::new(),
        arrival: Notify::new(),
    });
    (Sender(Arc::clone(&shared)), Receiver(shared))
}

impl<T> Sender<T> {
    /// Waits for room; `false` when the reader is gone.
    pub(crate) async fn room(&self) -> bool {
        loop {
            // Before the look, so that nothing that comes after it is missed.
            let room = self.0.room.notified();
            {
                let state = self.0.lock();
                if state.gone {
                    return false;
                }
                if state.items.len() < self.0.items_max {
                    return true;
                }
            }
            room.await;
        }
    }

    /// Puts something in. The caller has waited for room.
    pub(crate) fn push(&self, item: T) {
        self.0.lock().items.push_back(item);
        self.0.arrival.notify_one();
    }

    /// Removes what was not taken.
    pub(crate) fn clear(&self) {
        self.0.lock().items.clear();
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        self.0.lock().ended = true;
        self.0.arrival.notify_one();
    }
}

impl<T> Receiver<T> {
    /// The next thing; `None` at the end.
    pub(crate) async fn next(&mut self) -> Option<T> {
        loop {
            let arrival = self.0.arrival.notified();
            {
                let mut state = self.0.lock();
                if let Some(item) = state.items.pop_front() {
                    drop(state);
                    self.0.room.notify_one();
                    return Some(item);
                }
                if state.ended {
                    return None;
                }
            }
            arrival.await;
        }
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.gone = true;
        state.items.clear();
        drop(state);
        self.0.room.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn everything_comes_out_in_order_and_then_the_end() {
        let (sender, mut receiver) = queue(2);
        let task = tokio::spawn(async move {
            for number in 0..100 {
                assert!(sender.room().await);
                sender.push(number);
            }
        });
        for number in 0..100 {
            assert_eq!(receiver.next().await, Some(number));
        }
        assert_eq!(receiver.next().await, None);
        task.await.unwrap();
    }

    #[tokio::test]
    async fn a_reader_that_goes_is_noticed() {
        let (sender, receiver) = queue(1);
        sender.push(1);
        let waiting = tokio::spawn(async move { sender.room().await });
        drop(receiver);
        assert!(!waiting.await.unwrap());
    }
}
