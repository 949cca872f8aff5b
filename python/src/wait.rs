// SPDX-License-Identifier: Apache-2.0
//! Work that may take long, on a thread of its own: meanwhile the caller's thread, the only one on
//! which Python handles signals, answers Ctrl-C and calls back.

use std::convert::Infallible;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

use pyo3::prelude::*;

/// Time between two looks for signals.
const PERIOD: Duration = Duration::from_millis(50);

/// How long what was cancelled may take to end. After that it is blocked, in a pipe that has no
/// writer or by a server that does not answer, and ends by itself once it is not.
const GRACE: Duration = Duration::from_secs(1);

/// Where work runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// On the caller's thread: it takes less than a look for signals would have to wait.
    Here,
    /// On a thread that is not waited for if it does not end soon after it was cancelled.
    Apart,
    /// On a thread that is waited for in any case: it writes.
    ToTheEnd,
}

/// Ctrl-C only, as what is done now and then.
pub(crate) fn signals(py: Python<'_>) -> PyResult<()> {
    py.check_signals()
}

/// Runs `work` without the GIL. `turn` is called at the start and now and then; its exception sets
/// `cancel`, which `work` has to look at, and is returned.
pub(crate) fn attended<T: Send + 'static>(
    py: Python<'_>,
    place: Place,
    cancel: &AtomicBool,
    mut turn: impl FnMut(Python<'_>) -> PyResult<()>,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    turn(py)?;
    if place == Place::Here {
        return Ok(py.detach(work));
    }
    // It is closed when the thread is done, even by a panic.
    let (sender, mut closed) = sync_channel::<Infallible>(0);
    let thread = thread::Builder::new().name("arrowsmith-python".to_owned()).spawn(move || {
        let _closes = sender;
        work()
    })?;
    let mut failed = None;
    loop {
        let closed = &mut closed;
        let period = if failed.is_some() { GRACE } else { PERIOD };
        let waited = py.detach(move || closed.recv_timeout(period));
        if waited == Err(RecvTimeoutError::Disconnected) {
            break;
        }
        if let Some(error) = failed.take_if(|_| place == Place::Apart) {
            return Err(error);
        }
        if failed.is_none() {
            failed = turn(py).err();
            cancel.fetch_or(failed.is_some(), Ordering::SeqCst);
        }
    }
    let done = py.detach(move || thread.join()).unwrap_or_else(|panic| resume_unwind(panic));
    match failed {
        None => Ok(done),
        Some(error) => {
            // What is dropped may have threads that need the GIL.
            py.detach(move || drop(done));
            Err(error)
        }
    }
}
