// SPDX-License-Identifier: Apache-2.0
//! Progress on standard error: bytes done, speed, time left.
//!
//! A bar when standard error is a terminal; one line per second when it is not and `--progress
//! always` is given. It never writes to standard output.

use std::io::{IsTerminal, stderr};
use std::time::{Duration, Instant};

use clap::ValueEnum;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::size;

/// When progress is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum When {
    /// Show a bar if standard error is a terminal
    Auto,
    /// Without a terminal, print one line per second
    Always,
    /// Show no progress
    Never,
}

/// Progress over a total number of bytes, which may be unknown.
pub enum Progress {
    Hidden,
    Bar(ProgressBar),
    Lines(Lines),
}

const KNOWN: &str = "{bar:32} {percent:>3}% {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left";
const UNKNOWN: &str = "{spinner} {bytes}, {bytes_per_sec}, {elapsed}";

/// Redraws of the bar per second.
const REDRAWS_PER_SECOND: u8 = 10;

/// Time between lines where there is no bar.
const LINE_PERIOD: Duration = Duration::from_secs(1);

impl Progress {
    /// Progress over `bytes_total`, if known; hidden or shown as `when` requires.
    pub fn new(when: When, bytes_total: Option<u64>) -> Self {
        match (when, stderr().is_terminal()) {
            (When::Never, _) | (When::Auto, false) => Self::Hidden,
            (When::Auto | When::Always, true) => Self::Bar(bar(bytes_total)),
            (When::Always, false) => Self::Lines(Lines::new(bytes_total)),
        }
    }

    /// Bytes done so far.
    pub fn set(&mut self, bytes: u64) {
        match self {
            Self::Hidden => {}
            Self::Bar(bar) => bar.set_position(bytes),
            Self::Lines(lines) => lines.set(bytes),
        }
    }
}

impl Drop for Progress {
    /// Removes the bar from the terminal, so that later output starts on a line of its own.
    fn drop(&mut self) {
        match self {
            Self::Hidden => {}
            Self::Bar(bar) => bar.finish_and_clear(),
            Self::Lines(lines) => lines.write(),
        }
    }
}

fn bar(bytes_total: Option<u64>) -> ProgressBar {
    let template = if bytes_total.is_some() { KNOWN } else { UNKNOWN };
    let bar = match bytes_total {
        Some(bytes) => ProgressBar::new(bytes),
        None => ProgressBar::no_length(),
    };
    let style = ProgressStyle::with_template(template);
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(REDRAWS_PER_SECOND));
    bar
}

/// Progress as log lines: one per [`LINE_PERIOD`], and one at the end.
pub struct Lines {
    bytes_total: Option<u64>,
    bytes: u64,
    started: Instant,
    written: Instant,
}

impl Lines {
    fn new(bytes_total: Option<u64>) -> Self {
        let now = Instant::now();
        Self { bytes_total, bytes: 0, started: now, written: now }
    }

    fn set(&mut self, bytes: u64) {
        self.bytes = bytes;
        if self.written.elapsed() >= LINE_PERIOD {
            self.write();
            self.written = Instant::now();
        }
    }

    fn write(&self) {
        let seconds = self.started.elapsed().as_secs_f64();
        let done = size::display(self.bytes);
        match self.bytes_total {
            Some(total) => {
                let percent = self.bytes.min(total) * 100 / total.max(1);
                let total = size::display(total);
                eprintln!("progress: {percent}%, {done} of {total}, {seconds:.1} s");
            }
            None => eprintln!("progress: {done}, {seconds:.1} s"),
        }
    }
}
