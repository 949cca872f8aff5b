// SPDX-License-Identifier: Apache-2.0
//! Files that are read as they grow.
//!
//! The place up to where records are settled is kept in a file, so that a restart goes on there: a
//! record may come twice after `kill -9`, and never gets lost. A file is known by its number in the
//! file system, so that one that was renamed (rotated) is read to its end and not read again.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant, SystemTime};

use serde::{Deserialize, Serialize};
use tokio::time::sleep;

use super::lines::{Cut, Lines};
use super::{Common, Rate, stopped};
use crate::files::identity;
use crate::job::{Job, Progress, Sender, Ticket};
use crate::stream::Stream;

/// How often files are looked at.
const LOOK: Duration = Duration::from_millis(200);

/// A file that is followed.
struct Followed {
    path: PathBuf,
    file: File,
    sender: Arc<Sender>,
    progress: Arc<Progress>,
    lines: Lines,
    /// Offset at which this run began.
    from: u64,
    from_line: u64,
}

/// The places of files, by their numbers in the file system.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Places(HashMap<String, Place>);

#[derive(Debug, Default, Clone, Copy, Serialize, Deserialize, PartialEq, Eq)]
struct Place {
    offset: u64,
    line: u64,
}

/// Follows the files of a stream until the service ends.
pub(crate) async fn follow(common: Arc<Common>, stream: Arc<Stream>, state: PathBuf) {
    let mut places = load(&state);
    let mut files: HashMap<String, Followed> = HashMap::new();
    let mut rate = Rate::new(common.limits.rate_bytes_per_second.0);
    let stop = stopped(common.stop.clone());
    tokio::pin!(stop);
    loop {
        for path in paths(&stream.config.follow) {
            if let Err(error) = look(&common, &path, &places, &mut files) {
                tracing::warn!(path = %path.display(), %error, "a file cannot be followed");
            }
        }
        let mut idle = true;
        for followed in files.values_mut() {
            match read(&common, &stream, followed).await {
                Ok(0) => {}
                Ok(bytes) => {
                    idle = false;
                    rate.wait(bytes).await;
                }
                Err(error) => {
                    tracing::warn!(path = %followed.path.display(), %error, "a file cannot be read");
                }
            }
        }
        note(&state, &mut places, &files);
        // One that is gone and read to its end is not followed any more.
        files.retain(|_, followed| {
            let gone = fs::metadata(&followed.path).is_err();
            !(gone && idle && settled(followed) >= followed.lines.offset - followed.from)
        });
        tokio::select! {
            () = &mut stop => break,
            () = sleep(LOOK), if idle => {}
            () = std::future::ready(()), if !idle => {}
        }
    }
    // What was handed over is settled while the service ends.
    let until = Instant::now() + Duration::from_secs(60);
    while Instant::now() < until
        && files.values().any(|file| settled(file) < file.lines.offset - file.from)
    {
        sleep(Duration::from_millis(10)).await;
    }
    note(&state, &mut places, &files);
}

fn settled(followed: &Followed) -> u64 {
    followed.progress.bytes.load(Ordering::Acquire)
}

fn paths(patterns: &[String]) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = patterns
        .iter()
        .filter_map(|pattern| glob::glob(pattern).ok())
        .flat_map(Iterator::flatten)
        .filter(|path| path.is_file())
        .collect();
    paths.sort();
    paths
}

fn load(state: &Path) -> Places {
    match fs::read(state) {
        Ok(text) => serde_json::from_slice(&text).unwrap_or_else(|error| {
            tracing::error!(path = %state.display(), %error, "places are lost; reading from the start");
            Places::default()
        }),
        Err(_) => Places::default(),
    }
}

/// Opens a file that is not followed yet; begins anew with one that was cut.
fn look(
    common: &Common,
    path: &Path,
    places: &Places,
    files: &mut HashMap<String, Followed>,
) -> io::Result<()> {
    let meta = fs::metadata(path)?;
    let key = identity(path, &meta)?;
    if let Some(followed) = files.get_mut(&key) {
        followed.path = path.to_owned();
        if meta.len() >= followed.lines.offset {
            return Ok(());
        }
        tracing::info!(path = %path.display(), "the file was cut; reading from its start");
        files.remove(&key);
        return open(common, path, key, Place::default(), files);
    }
    let known = places.0.get(&key).copied().unwrap_or_default();
    let place = if known.offset <= meta.len() { known } else { Place::default() };
    open(common, path, key, place, files)
}

fn open(
    common: &Common,
    path: &Path,
    key: String,
    place: Place,
    files: &mut HashMap<String, Followed>,
) -> io::Result<()> {
    let mut lines = Lines::new(common.limits.record_bytes.0);
    lines.offset = place.offset;
    lines.line = place.line.max(1);
    let number = common.numbers.next();
    let name = format!("file:{}", path.display());
    let followed = Followed {
        path: path.to_owned(),
        file: File::open(path)?,
        sender: Arc::new(Sender { name: name.into(), number }),
        progress: Arc::default(),
        from: lines.offset,
        from_line: lines.line,
        lines,
    };
    files.insert(key, followed);
    Ok(())
}

/// Reads what is there; returns its bytes.
async fn read(
    common: &Arc<Common>,
    stream: &Arc<Stream>,
    followed: &mut Followed,
) -> io::Result<usize> {
    let len = followed.file.metadata()?.len();
    if len <= followed.lines.offset {
        return Ok(0);
    }
    let (start, received_at) = (Instant::now(), SystemTime::now());
    let Some(mut buffer) = common.memory.buffer().await else { return Ok(0) };
    followed.file.seek(SeekFrom::Start(followed.lines.offset))?;
    let mut overlong = None;
    loop {
        let room = buffer.room();
        let count = if room.is_empty() { 0 } else { followed.file.read(room)? };
        buffer.len += count;
        if followed.lines.is_passing() {
            let text = buffer.text().to_vec();
            let (used, reject) = followed.lines.pass_over(&text, false, &followed.sender);
            followed.progress.sent_bytes.fetch_add(used as u64, Ordering::AcqRel);
            if reject.is_none() {
                followed.progress.bytes.fetch_add(used as u64, Ordering::AcqRel);
                return Ok(used);
            }
            overlong = reject;
            followed.progress.bytes.fetch_add(used as u64, Ordering::AcqRel);
            buffer.len = 0;
            break;
        }
        match followed.lines.cut(buffer.text(), 0) {
            Cut::Whole(at) if count == 0 || buffer.room().is_empty() => {
                buffer.len = at;
                break;
            }
            Cut::Whole(_) => {}
            Cut::More if count == 0 && buffer.room().is_empty() => {
                let Some(grant) = common.memory.grant(buffer.capacity()).await else {
                    return Ok(0);
                };
                buffer.grow(grant);
            }
            // The line is still being written.
            Cut::More if count == 0 => return Ok(0),
            Cut::More => {}
            Cut::TooLong => {
                let text = buffer.text().to_vec();
                let (used, _) = followed.lines.pass_over(&text, false, &followed.sender);
                followed.progress.bytes.fetch_add(used as u64, Ordering::AcqRel);
                return Ok(used);
            }
        }
    }
    let bytes = buffer.len;
    let (offset, line) = (followed.lines.offset, followed.lines.line);
    let lines = followed.lines.advance(buffer.text());
    buffer.compact();
    let now = Instant::now();
    let job = Job {
        compiled: stream.compiled(),
        sender: Arc::clone(&followed.sender),
        buffer,
        offset,
        line,
        lines,
        received_at,
        start,
        receive: now.saturating_duration_since(start),
        queued: now,
        overlong,
        whole: false,
        ticket: Ticket::Progress(Arc::clone(&followed.progress)),
    };
    stream.submit(job).await;
    Ok(bytes.max(1))
}

/// Keeps the places up to where records are settled.
fn note(state: &Path, places: &mut Places, files: &HashMap<String, Followed>) {
    let mut changed = false;
    for (key, followed) in files {
        let settled = settled(followed);
        // Lines are exact when all is settled; in between the number is only that of the start.
        let all = settled >= followed.lines.offset - followed.from;
        let line = if all { followed.lines.line } else { followed.from_line };
        let place = Place { offset: followed.from + settled, line };
        changed |= places.0.insert(key.clone(), place) != Some(place);
    }
    if !changed {
        return;
    }
    let temporary = state.with_extension("tmp");
    let written = serde_json::to_vec(places)
        .map_err(io::Error::other)
        .and_then(|text| fs::write(&temporary, text))
        .and_then(|()| fs::rename(&temporary, state));
    if let Err(error) = written {
        tracing::error!(path = %state.display(), %error, "places cannot be kept");
    }
}
