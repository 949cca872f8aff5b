// SPDX-License-Identifier: Apache-2.0
//! CPU time of each stage: of its threads, as the system counts it, without the time in which a
//! thread waits for a sender, a disk or its turn.

use std::fs;
use std::path::Path;

use super::metrics::StageSeconds;

/// CPU seconds by stage; `None` where the system does not report them.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub(crate) struct CpuTime {
    pub(crate) receive: f64,
    pub(crate) parse: f64,
    pub(crate) resize: f64,
    pub(crate) serialize: f64,
    pub(crate) publish: f64,
}

impl CpuTime {
    /// Of the threads of this process until now. A parser's time is divided by the measured times
    /// of its stages.
    pub(crate) fn now(times: StageSeconds) -> Option<Self> {
        Self::of(Path::new("/proc/self/task"), times)
    }

    fn of(tasks: &Path, times: StageSeconds) -> Option<Self> {
        let mut this = Self::default();
        let mut parsers = 0.0;
        for task in fs::read_dir(tasks).ok()?.flatten() {
            // A thread that has ended meanwhile is skipped.
            let Some((name, seconds)) = thread(&task.path()) else { continue };
            match name.split('-').next() {
                Some("receive") => this.receive += seconds,
                Some("parse") => parsers += seconds,
                Some("order" | "sink" | "complete") => this.publish += seconds,
                _ => {}
            }
        }
        let all = times.parse + times.resize + times.serialize;
        if all > 0.0 {
            this.parse = parsers * times.parse / all;
            this.resize = parsers * times.resize / all;
            this.serialize = parsers * times.serialize / all;
        } else {
            this.parse = parsers;
        }
        Some(this)
    }
}

/// Name of a thread, and its CPU time in seconds.
fn thread(folder: &Path) -> Option<(String, f64)> {
    // Bounded: by procfs, a line each.
    let name = fs::read_to_string(folder.join("comm")).ok()?;
    let stat = fs::read_to_string(folder.join("schedstat")).ok()?;
    let nanoseconds: u64 = stat.split_whitespace().next()?.parse().ok()?;
    #[expect(clippy::cast_precision_loss, reason = "shown with three digits")]
    let seconds = nanoseconds as f64 / 1e9;
    Some((name.trim().to_owned(), seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_threads_goes_to_their_stages() {
        let folder = tempfile::tempdir().unwrap();
        let threads =
            [("receive", 3), ("receive", 1), ("parse-0", 6), ("sink-directory", 2), ("main", 9)];
        for (number, (name, seconds)) in threads.iter().enumerate() {
            let task = folder.path().join(number.to_string());
            fs::create_dir(&task).unwrap();
            fs::write(task.join("comm"), format!("{name}\n")).unwrap();
            fs::write(task.join("schedstat"), format!("{}000000000 5 6\n", seconds)).unwrap();
        }
        // One that ends while it is looked at.
        fs::create_dir(folder.path().join("gone")).unwrap();
        let times = StageSeconds { parse: 2.0, resize: 0.0, serialize: 1.0 };
        let work = CpuTime::of(folder.path(), times).unwrap();
        let expected =
            CpuTime { receive: 4.0, parse: 4.0, resize: 0.0, serialize: 2.0, publish: 2.0 };
        assert_eq!(work, expected);
        assert_eq!(CpuTime::of(&folder.path().join("none"), times), None);
    }
}
