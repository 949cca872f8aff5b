// SPDX-License-Identifier: Apache-2.0
//! Ctrl-C: stop the work, take away what is half done, exit with 130.
//!
//! The first signal asks the work to stop, and the ordinary path of an error then cleans up. Work
//! that does not notice (it waits for a pipe that nobody writes to) is ended after a moment, or by
//! a second signal, and then the cleaning is done here.

use std::fs;
use std::path::Path;
use std::process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// How long the work may take to stop by itself.
const GRACE: Duration = Duration::from_secs(1);

/// The exit status of a command that a signal ended: 128 and the number of SIGINT.
pub const STATUS: u8 = 130;

/// What is left to do when the process ends in the middle of the work.
type Cleaner = Box<dyn FnOnce() + Send>;

/// The handler of SIGINT, SIGTERM and SIGHUP.
#[derive(Clone, Default)]
pub struct Interrupt {
    stop: Arc<AtomicBool>,
    cleaners: Arc<Mutex<Vec<Cleaner>>>,
}

impl Interrupt {
    /// Takes the signals over. Without this (it fails only where the system has no signals) they
    /// end the process at once, and a temporary file may stay.
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

    /// The flag that the work looks at.
    pub fn stop(&self) -> &Arc<AtomicBool> {
        &self.stop
    }

    /// What is to be done when the process has to end in the middle of the work.
    pub fn at_exit(&self, clean: impl FnOnce() + Send + 'static) {
        self.cleaners.lock().unwrap_or_else(PoisonError::into_inner).push(Box::new(clean));
    }

    /// Removes a temporary file when the process has to end in the middle of the work.
    pub fn remove_at_exit(&self, temporary: Option<&Path>) {
        if let Some(path) = temporary.map(Path::to_owned) {
            // Gone already if the work was quicker.
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
