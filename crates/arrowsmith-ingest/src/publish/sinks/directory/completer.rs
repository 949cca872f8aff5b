// SPDX-License-Identifier: Apache-2.0
//! [`Completer`]: the thread that completes full parts, so that no message waits while the disk
//! writes them. Where that fails the part is left, and tried again later.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use super::complete::Files;
use super::part::Part;
use crate::panics;

/// Full parts that wait for their end, at most: then a disk that is too slow is felt.
const COMPLETE_MAX: usize = 2;

/// The thread that completes files. Dropping it waits until it has.
pub(super) struct Completer {
    parts: Option<SyncSender<Part>>,
    thread: Option<JoinHandle<()>>,
}

impl Completer {
    /// `None` where everything is to have one order.
    pub(super) fn start(files: Files, left: &Arc<Mutex<Vec<String>>>) -> io::Result<Option<Self>> {
        if !files.disk.has_threads() {
            return Ok(None);
        }
        let (parts, full) = sync_channel::<Part>(COMPLETE_MAX);
        let left = Arc::clone(left);
        let thread = thread::Builder::new().name("complete".to_owned()).spawn(move || {
            for part in full {
                let name = part.name.clone();
                let completed = AssertUnwindSafe(|| complete(part, &files, &left));
                if let Err(panic) = catch_unwind(completed) {
                    let why = panics::why(panic);
                    tracing::error!(name, why, "a file is not completed; it will be tried again");
                    left.lock().unwrap_or_else(PoisonError::into_inner).push(name);
                }
            }
        })?;
        Ok(Some(Self { parts: Some(parts), thread: Some(thread) }))
    }

    pub(super) fn complete(&self, part: Part) {
        if let Some(parts) = &self.parts
            && let Err(gone) = parts.send(part)
        {
            tracing::error!(name = gone.0.name, "a part is left for the next start");
        }
    }
}

pub(super) fn complete(part: Part, files: &Files, left: &Mutex<Vec<String>>) {
    let name = part.name.clone();
    if let Err(error) = part.complete() {
        // Everything in it is stored; it is completed later or at the next start.
        let folder = files.options.path.display();
        tracing::warn!(%folder, name, %error, "a file is not completed yet");
        left.lock().unwrap_or_else(PoisonError::into_inner).push(name);
    }
}

impl Drop for Completer {
    fn drop(&mut self) {
        drop(self.parts.take());
        if self.thread.take().is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("completing files failed; parts are left for the next start");
        }
    }
}
