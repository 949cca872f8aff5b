// SPDX-License-Identifier: Apache-2.0
//! Uploads of sets to stores: by a thread of their own, in order, each again until it succeeds.
//!
//! What is to be uploaded is on the disk, also after a restart; nothing is noted in memory but that
//! there is something. The thread has the lock of the folder, so that no two upload the same.

use std::io::{self, BufReader};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use tokio::sync::oneshot;

use super::Lock;
use super::complete::{DIGITS, Files};
use super::set::{Set, SetFile};
use crate::disk::remove_if_there;
use crate::observe::metrics::Waiting;
use crate::panics;

/// Wait after the first failure, and the maximum. A store retries what is temporary by itself, too.
const RETRY: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(30)];

/// Files of a set that are uploaded at the same time, if they have at most [`SMALL_BYTES`]. Larger
/// ones are sent one after another, each in several parts at a time.
const UPLOADS_MAX: usize = 4;
const SMALL_BYTES: u64 = 16 << 20;

/// What the thread is told, and what waits for it.
#[derive(Debug, Default)]
pub(super) struct Uploads {
    pub(super) waiting: Waiting,
    told: Mutex<Told>,
    changed: Condvar,
}

#[derive(Debug, Default, Clone, Copy)]
struct Told {
    /// There may be sets that it has not seen.
    has_new: bool,
    /// No more will come: it ends when all are uploaded, or one fails.
    is_ending: bool,
    /// It ends after the current file.
    is_stopped: bool,
}

impl Uploads {
    pub(super) fn new(waiting: Waiting) -> Self {
        Self { waiting, ..Self::default() }
    }

    /// Counts files that wait from now on.
    pub(super) fn added(&self, bytes: impl Iterator<Item = u64>) {
        bytes.for_each(|bytes| self.waiting.add(bytes));
    }

    /// Has the thread look for sets.
    pub(super) fn wake(&self) {
        self.tell(|told| told.has_new = true);
    }

    fn told(&self) -> MutexGuard<'_, Told> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, change: impl FnOnce(&mut Told)) {
        change(&mut self.told());
        self.changed.notify_all();
    }

    fn is_stopped(&self) -> bool {
        self.told().is_stopped
    }

    /// Waits for something new, for the end, or for some time.
    fn wait(&self, time: Option<Duration>) {
        let told = self.told();
        let idle = |told: &mut Told| {
            let is_new = told.has_new && time.is_none();
            !(is_new || told.is_ending || told.is_stopped)
        };
        match time {
            None => drop(self.changed.wait_while(told, idle)),
            Some(time) => drop(self.changed.wait_timeout_while(told, time, idle)),
        }
    }
}

/// The thread that uploads. Dropping it has it end after the current file.
pub(super) struct Uploader {
    uploads: Arc<Uploads>,
    ended: Option<oneshot::Receiver<io::Result<()>>>,
}

impl Uploader {
    /// `None` where everything is to have one order.
    pub(super) fn start(files: Files, lock: Lock) -> io::Result<Option<Self>> {
        if !files.disk.has_threads() {
            return Ok(None);
        }
        let (sender, ended) = oneshot::channel();
        let uploads = Arc::clone(&files.uploads);
        thread::Builder::new().name("upload".to_owned()).spawn(move || {
            let result = run(&files);
            drop(lock);
            // No receiver is left if the end may not take longer.
            let _: Result<(), _> = sender.send(result);
        })?;
        Ok(Some(Self { uploads, ended: Some(ended) }))
    }

    /// Waits until everything is uploaded, or an upload fails: then the rest waits on the disk.
    pub(super) async fn end(mut self) -> io::Result<()> {
        self.uploads.tell(|told| told.is_ending = true);
        match self.ended.take() {
            Some(ended) => ended.await.unwrap_or_else(|_| Err(io::Error::other("it panicked"))),
            None => Ok(()),
        }
    }
}

impl Drop for Uploader {
    fn drop(&mut self) {
        self.uploads.tell(|told| told.is_stopped = true);
    }
}

fn run(files: &Files) -> io::Result<()> {
    let uploads = &files.uploads;
    let mut wait = RETRY[0];
    loop {
        let is_ending = uploads.told().is_ending;
        uploads.tell(|told| told.has_new = false);
        let uploaded = catch_unwind(AssertUnwindSafe(|| files.upload_all()))
            .unwrap_or_else(|panic| Err(io::Error::other(panics::why(panic))));
        if uploads.is_stopped() || is_ending {
            return uploaded;
        }
        match uploaded {
            Ok(()) => {
                wait = RETRY[0];
                uploads.wait(None);
            }
            Err(error) => {
                let (waiting, stream) = (uploads.waiting.files(), &files.stream);
                tracing::warn!(stream, %error, waiting, ?wait, "an upload failed; trying again");
                uploads.wait(Some(wait));
                wait = (wait * 2).min(RETRY[1]);
            }
        }
    }
}

impl Files {
    /// The names of the sets, in order.
    fn sets(&self) -> io::Result<Vec<String>> {
        let prefix = format!(".{}-", self.stream);
        let listed = self.disk.list(self.options.folder())?;
        let numbers = listed.iter().filter_map(|file| {
            let number = file.strip_prefix(&prefix)?.strip_suffix(".set")?;
            (number.len() == DIGITS && number.bytes().all(|c| c.is_ascii_digit())).then_some(number)
        });
        let mut names: Vec<String> =
            numbers.map(|number| format!("{}-{number}", self.stream)).collect();
        names.sort();
        Ok(names)
    }

    /// Counts what waits from an earlier process.
    pub(super) fn count_waiting(&self) -> io::Result<()> {
        self.uploads.waiting.clear();
        for name in self.sets()? {
            let set = self.set(&name)?.filter(|set| set.store.is_some());
            for (number, file) in set.iter().flat_map(|set| set.files.iter().enumerate()) {
                if self.disk.exists(&self.file(&name, number)) {
                    self.uploads.waiting.add(file.bytes);
                }
            }
        }
        Ok(())
    }

    /// Uploads the sets that there are, until one fails.
    pub(super) fn upload_all(&self) -> io::Result<()> {
        for name in self.sets()? {
            if let Some(set) = self.set(&name)?
                && let Some(store) = &set.store
            {
                self.upload(&name, &set, store)?;
            }
            if self.uploads.is_stopped() {
                break;
            }
        }
        Ok(())
    }

    fn upload(&self, name: &str, set: &Set, store: &str) -> io::Result<()> {
        // Whoever made the set may not have come so far. Without it, and with its part, the next
        // start would make another.
        self.sync_folder()?;
        self.remove_part(name)?;
        let files = set.files.iter().enumerate();
        let (small, large): (Vec<_>, Vec<_>) = files.partition(|(_, f)| f.bytes <= SMALL_BYTES);
        self.put_all(name, store, &small, UPLOADS_MAX)?;
        self.put_all(name, store, &large, 1)?;
        if self.uploads.is_stopped() {
            return Ok(());
        }
        tracing::debug!(name, store, files = set.files.len(), "a set is uploaded");
        self.remove_set(name)
    }

    /// Uploads some files of a set on this many threads, until one fails.
    fn put_all(
        &self,
        name: &str,
        store: &str,
        files: &[(usize, &SetFile)],
        threads: usize,
    ) -> io::Result<()> {
        let next = AtomicUsize::new(0);
        let work = || {
            while let Some((number, file)) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
                if self.uploads.is_stopped() {
                    break;
                }
                let put = self.put(name, store, *number, file);
                // The others end, too.
                put.inspect_err(|_| next.store(files.len(), Ordering::Relaxed))?;
            }
            Ok(())
        };
        let threads = threads.min(files.len());
        if threads <= 1 || !self.disk.has_threads() {
            return work();
        }
        thread::scope(|scope| {
            let all: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            let results = all.into_iter().map(|thread| {
                thread.join().unwrap_or_else(|panic| Err(io::Error::other(panics::why(panic))))
            });
            // All of them end before the first failure is reported.
            results.collect::<Vec<_>>().into_iter().collect()
        })
    }

    /// Uploads a file, unless it has been.
    fn put(&self, name: &str, store: &str, number: usize, file: &SetFile) -> io::Result<()> {
        let hidden = self.file(name, number);
        if !self.disk.exists(&hidden) {
            return Ok(());
        }
        let mut content = BufReader::new(self.disk.read(&hidden)?);
        self.stores.put(store, &file.path, &mut content)?;
        remove_if_there(&*self.disk, &hidden)?;
        self.uploads.waiting.remove(file.bytes);
        Ok(())
    }
}
