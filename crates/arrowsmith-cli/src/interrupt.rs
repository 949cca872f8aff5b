// SPDX-License-Identifier: Apache-2.0
//! Ctrl-C: stop the work, remove incomplete output, exit with 130.
//!
//! The first signal sets a flag; the work then stops with an error, whose usual path cleans up. If
//! the work does not notice, such as while it waits on a pipe without a writer, the process exits
//! after [`GRACE`], or at a second signal, and the cleanup is done here.

use std::fs;
use std::path::Path;
use std::process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// How long the work may take to stop.
const GRACE: Duration = Duration::from_secs(1);

/// The exit status of an interrupted command: 128 plus the number of SIGINT.
pub const STATUS: u8 = 130;

/// A cleanup to run when the process exits before the work has ended.
type Cleaner = Box<dyn FnOnce() + Send>;

/// Makes writing beyond the limit of file sizes (`ulimit -f`) an error, as on a full disk. By
/// default the system ends the process by a signal.
pub fn ignore_file_size_limit() {
    #[cfg(unix)]
    {
        /// SIGXFSZ on Linux and macOS.
        const FILE_SIZE_EXCEEDED: i32 = 25;
        use tokio::signal::unix::{SignalKind, signal};
        // The handler stays when the runtime ends.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build();
        let handled = runtime.and_then(|runtime| {
            let _context = runtime.enter();
            signal(SignalKind::from_raw(FILE_SIZE_EXCEEDED))
        });
        // Without it, the signal does what it always did.
        drop(handled);
    }
}

/// The handler of SIGINT, SIGTERM and SIGHUP.
#[derive(Clone, Default)]
pub struct Interrupt {
    stop: Arc<AtomicBool>,
    cleaners: Arc<Mutex<Vec<Cleaner>>>,
}

impl Interrupt {
    /// Installs the handlers. If this fails, which it does only where the system has no signals, an
    /// interrupt ends the process immediately and a temporary file may stay.
    pub fn install() -> Self {
        let interrupt = Self::default();
        let handler = interrupt.clone();
        let installed = ctrlc::set_handler(move || {
            if handler.stop.swap(true, Ordering::SeqCst) {
                handler.clean_and_exit();
            }
            let later = handler.clone();
            thread::spawn(move || {
                thread::sleep(GRACE);
                later.clean_and_exit();
            });
        });
        if let Err(error) = installed {
            eprintln!("warning: cannot handle signals: {error}");
        }
        interrupt
    }

    /// The flag that the work polls.
    pub fn stop(&self) -> &Arc<AtomicBool> {
        &self.stop
    }

    /// Registers a cleanup to run if the process exits before the work has ended.
    pub fn at_exit(&self, clean: impl FnOnce() + Send + 'static) {
        self.cleaners.lock().unwrap_or_else(PoisonError::into_inner).push(Box::new(clean));
    }

    /// Removes a temporary file if the process exits before the work has ended.
    pub fn remove_at_exit(&self, temporary: Option<&Path>) {
        if let Some(path) = temporary.map(Path::to_owned) {
            // It no longer exists if the work has just ended.
            self.at_exit(move || drop(fs::remove_file(path)));
        }
    }

    fn clean_and_exit(&self) -> ! {
        let mut cleaners = self.cleaners.lock().unwrap_or_else(PoisonError::into_inner);
        for clean in cleaners.drain(..) {
            clean();
        }
        eprintln!("interrupted");
        process::exit(i32::from(STATUS))
    }
}
