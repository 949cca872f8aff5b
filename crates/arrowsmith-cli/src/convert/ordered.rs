// SPDX-License-Identifier: Apache-2.0
//! Work on the items of an iterator on several threads, with the results in the order of the items.

use std::io;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// The results. Dropping it ends the threads, each after the item that it works on.
pub struct Ordered<R> {
    results: Receiver<Receiver<R>>,
}

/// The thread that was to give a result has panicked.
#[derive(Debug)]
pub struct Lost;

impl<R> Ordered<R> {
    /// Maximum number of items and results that are in memory: one is read, one waits for its
    /// place, and one was returned.
    pub const fn in_flight(threads: usize) -> usize {
        threads + 3
    }
}

impl<R: Send + 'static> Ordered<R> {
    /// The iterator has a thread of its own, and so has each of `threads` that work.
    ///
    /// # Errors
    /// A thread that does not start.
    pub fn new<T, I, W>(items: I, work: W, threads: usize) -> io::Result<Self>
    where
        T: Send + 'static,
        I: Iterator<Item = T> + Send + 'static,
        W: Fn(T) -> R + Clone + Send + 'static,
    {
        let (order, results) = mpsc::sync_channel(threads);
        // Bounded by the one above.
        let (jobs, queue) = mpsc::channel::<(T, SyncSender<R>)>();
        let queue = Arc::new(Mutex::new(queue));
        for number in 0..threads {
            let (queue, work) = (Arc::clone(&queue), work.clone());
            let next = move || queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
            let run = move || {
                while let Ok((item, result)) = next() {
                    // The receiver may be closed.
                    let _ = result.send(work(item));
                }
            };
            thread::Builder::new().name(format!("arrowsmith-work-{number}")).spawn(run)?;
        }
        let end = End { order, is_whole: false };
        let read = move || {
            let mut end = end;
            for item in items {
                let (result, place) = mpsc::sync_channel(1);
                if end.order.send(place).is_err() || jobs.send((item, result)).is_err() {
                    break;
                }
            }
            end.is_whole = true;
        };
        thread::Builder::new().name("arrowsmith-read".to_owned()).spawn(read)?;
        Ok(Self { results })
    }
}

impl<R> Iterator for Ordered<R> {
    type Item = Result<R, Lost>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(self.results.recv().ok()?.recv().map_err(|_| Lost))
    }
}

/// Says at the end whether all items were there: a panic is not their end.
struct End<R> {
    order: SyncSender<Receiver<R>>,
    is_whole: bool,
}

impl<R> Drop for End<R> {
    fn drop(&mut self) {
        if !self.is_whole {
            let (_, lost) = mpsc::sync_channel(1);
            let _ = self.order.send(lost);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_order_and_threads_that_are_gone_are_noticed() {
        for threads in 1..5 {
            let squares = Ordered::new(0..1000_u64, |n| n * n, threads).unwrap();
            let squares: Vec<u64> = squares.map(Result::unwrap).collect();
            assert_eq!(squares, (0..1000).map(|n| n * n).collect::<Vec<_>>());
            let fails = |n: u64| assert!(n != 7, "expected in this test");
            let done = Ordered::new(0..10, fails, threads).unwrap();
            assert!(done.take(8).any(|result| result.is_err()));
            let mut items =
                Ordered::new((0..10).inspect(move |n| fails(*n)), |n| n, threads).unwrap();
            assert!(items.by_ref().take(7).all(|result| result.is_ok()));
            assert!(items.next().is_some_and(|result| result.is_err()));
            assert!(items.next().is_none());
        }
        // Not all of them are worked on.
        let mut endless = Ordered::new(0_u64.., |n| n, 2).unwrap();
        assert!(endless.next().is_some_and(|first| first.is_ok_and(|first| first == 0)));
    }
}
