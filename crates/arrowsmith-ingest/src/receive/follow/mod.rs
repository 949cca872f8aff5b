// SPDX-License-Identifier: Apache-2.0
//! Files that are read as they grow.
//!
//! The place up to where records are settled is kept in a file, so that a restart goes on there: a
//! record may be read twice after `kill -9`, and is never lost. A file is identified by its inode
//! number, so that one that was renamed (rotated) is read to its end and not read again, and by its
//! content ([`place`]), so that another file that reuses the number is read.

pub(crate) mod place;

use std::collections::{HashMap, VecDeque};
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant, SystemTime};

use arrowsmith_core::PADDING_BYTES;
use futures_util::FutureExt;
use tokio::time::sleep;

use self::place::{Known, Place, Places};
use super::lines::{Cut, Lines};
use super::submit::Submitter;
use super::{Common, Rate, stopped};
use crate::files::identity;
use crate::job::Sender;
use crate::memory::{Buffer, CHUNK_BYTES};
use crate::panics;
use crate::stream::Stream;

/// How often files are checked.
const LOOK: Duration = Duration::from_millis(200);

/// How long a file is still read after it was renamed or removed: its writer may switch to the new
/// file late.
const GONE: Duration = Duration::from_secs(30);

/// A file that is followed.
struct Followed {
    path: PathBuf,
    file: File,
    submitter: Submitter,
    known: Known,
    /// The place up to where all is settled, and later ones by the bytes handed over before them.
    settled: Place,
    ahead: VecDeque<(u64, Place)>,
    /// Length and time of the last change when all of it had been read.
    read_to: Option<(u64, Option<SystemTime>)>,
    /// Since when it is renamed or removed, without having grown.
    gone: Option<Instant>,
}

impl Followed {
    /// Begins at a place of a file that is known by it.
    fn begin(
        common: &Arc<Common>,
        stream: &Arc<Stream>,
        path: &Path,
        file: File,
        (place, known): (Place, Known),
    ) -> Self {
        let mut lines = Lines::new(common.limits.record_bytes.0);
        (lines.offset, lines.line) = (place.offset, place.next_line());
        let name = format!("file:{}", path.display());
        let sender = Sender { name: name.into(), number: common.numbers.next() };
        let progress = Some(Arc::default());
        Self {
            path: path.to_owned(),
            file,
            submitter: Submitter::new(
                Arc::clone(common),
                Arc::clone(stream),
                sender,
                progress,
                lines,
            ),
            known,
            settled: place,
            ahead: VecDeque::new(),
            read_to: None,
            gone: None,
        }
    }

    /// Starts again with a file whose content has changed.
    fn restart(&mut self) -> io::Result<()> {
        tracing::warn!(path = %self.path.display(), "the file has another text; reading from its start");
        let (common, stream) =
            (Arc::clone(&self.submitter.common), Arc::clone(&self.submitter.stream));
        let (path, file) = (self.path.clone(), self.file.try_clone()?);
        *self = Self::begin(&common, &stream, &path, file, Default::default());
        Ok(())
    }

    /// Goes back to where all is settled, when a buffer was lost.
    fn go_back(&mut self) -> io::Result<()> {
        self.settle();
        let path = self.path.display();
        tracing::error!(%path, offset = self.settled.offset, "a buffer was lost; reading it again");
        let known = Known::by(&self.settled, &mut self.file)?;
        let place = known.map(|known| (self.settled.clone(), known)).unwrap_or_default();
        let (common, stream) =
            (Arc::clone(&self.submitter.common), Arc::clone(&self.submitter.stream));
        let (path, file) = (self.path.clone(), self.file.try_clone()?);
        *self = Self::begin(&common, &stream, &path, file, place);
        Ok(())
    }

    /// Whether all that was handed over is settled; notes up to where it is.
    fn settle(&mut self) -> bool {
        let progress = self.submitter.progress.as_ref();
        let settled = progress.map_or(0, |progress| progress.bytes.load(Ordering::Acquire));
        while self.ahead.front().is_some_and(|(bytes, _)| *bytes <= settled) {
            self.settled = self.ahead.pop_front().map_or_else(Place::default, |(_, place)| place);
        }
        self.ahead.is_empty()
    }

    /// Notes that all that was read has been handed over.
    fn handed(&mut self) -> io::Result<()> {
        let progress = self.submitter.progress.as_ref();
        let sent = progress.map_or(0, |progress| progress.sent_bytes.load(Ordering::Acquire));
        let meta = self.file.metadata()?;
        self.ahead
            .push_back((sent, self.known.place(self.submitter.lines.line, &self.path, &meta)));
        Ok(())
    }

    /// Reads what is there; returns its bytes.
    async fn read(&mut self) -> io::Result<usize> {
        if self.submitter.progress.as_ref().is_some_and(|progress| progress.is_lost()) {
            self.go_back()?;
        }
        let meta = self.file.metadata()?;
        let now = (meta.len(), meta.modified().ok());
        if self.read_to == Some(now) {
            return Ok(0);
        }
        self.gone = None;
        let offset = self.submitter.lines.offset;
        if meta.len() < offset || !self.known.is_in(&mut self.file)? {
            self.restart()?;
            return Ok(1);
        }
        let since = (Instant::now(), SystemTime::now());
        let mut room = CHUNK_BYTES;
        let (mut buffer, cut) = loop {
            let Some(mut buffer) = self.buffer(room).await else { return Ok(0) };
            self.file.seek(SeekFrom::Start(offset))?;
            loop {
                let count = self.file.read(buffer.room())?;
                if count == 0 {
                    break;
                }
                buffer.len += count;
            }
            // It may have been rewritten while it was read.
            if !self.known.is_in(&mut self.file)? {
                self.restart()?;
                return Ok(1);
            }
            if self.submitter.lines.is_passing() {
                break (buffer, Cut::TooLong);
            }
            match self.submitter.lines.cut(buffer.text(), 0) {
                // Its memory is released before more is requested, so that no two readers deadlock.
                Cut::More if buffer.room().is_empty() => {
                    room = (room * 2).min(self.submitter.common.limits.record_bytes.0 + 1);
                }
                // The line is still being written.
                Cut::More => {
                    self.read_to = Some(now);
                    return Ok(0);
                }
                cut => break (buffer, cut),
            }
        };
        let used = match cut {
            Cut::Whole(at) => {
                self.known.add(&buffer.text()[..at]);
                buffer.len = at;
                at
            }
            _ => {
                let used = self.submitter.pass_over(buffer.text(), false);
                self.known.add(&buffer.text()[..used]);
                buffer.len = 0;
                used
            }
        };
        if buffer.len > 0 || self.submitter.has_overlong() {
            if self.submitter.over(buffer, since).await.is_err() {
                return Ok(0);
            }
            self.handed()?;
        }
        Ok(used)
    }

    async fn buffer(&self, room: usize) -> Option<Buffer> {
        let memory = &self.submitter.common.memory;
        if room <= CHUNK_BYTES {
            return memory.buffer().await;
        }
        let grant = memory.grant(room + PADDING_BYTES).await?;
        Some(Buffer::with_room(room, grant))
    }

    /// Whether it was renamed or removed long ago, and all of it is settled.
    fn is_over(&mut self, key: &str) -> bool {
        let is_there = fs::metadata(&self.path)
            .and_then(|meta| identity(&self.path, &meta))
            .is_ok_and(|found| found == key);
        if is_there {
            self.gone = None;
            return false;
        }
        let gone = *self.gone.get_or_insert_with(Instant::now);
        gone.elapsed() >= GONE && self.settle()
    }
}

/// Follows the files of a stream until the service ends, whatever one of them does.
pub(crate) async fn keep_following(common: &Arc<Common>, stream: &Arc<Stream>, state: &Path) {
    loop {
        let follow = follow(Arc::clone(common), Arc::clone(stream), state.to_owned());
        let Err(panic) = AssertUnwindSafe(follow).catch_unwind().await else { return };
        let why = panics::why(panic);
        tracing::error!(stream = &*stream.name, why, "following files failed; beginning again");
        tokio::select! {
            () = sleep(GONE) => {}
            () = stopped(common.stop.clone()) => return,
        }
    }
}

/// Follows the files of a stream until the service ends.
async fn follow(common: Arc<Common>, stream: Arc<Stream>, state: PathBuf) {
    let mut places = Places::load(&state);
    let mut files: HashMap<String, Followed> = HashMap::new();
    let mut rate = Rate::new(common.limits.rate_bytes_per_second.0);
    let stop = stopped(common.stop.clone());
    tokio::pin!(stop);
    loop {
        for path in paths(&stream.config.follow) {
            if let Err(error) = look(&common, &stream, &path, &places, &mut files) {
                tracing::warn!(path = %path.display(), %error, "a file cannot be followed");
            }
        }
        let mut idle = true;
        for followed in files.values_mut() {
            match followed.read().await {
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
        files.retain(|key, followed| !followed.is_over(key));
        note(&state, &mut places, &mut files);
        tokio::select! {
            () = &mut stop => break,
            () = sleep(LOOK), if idle => {}
            () = std::future::ready(()), if !idle => {}
        }
    }
    // What was handed over is settled while the service ends.
    let until = Instant::now() + Duration::from_secs(60);
    while Instant::now() < until && files.values_mut().any(|file| !file.settle()) {
        sleep(Duration::from_millis(10)).await;
    }
    note(&state, &mut places, &mut files);
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

/// Opens a file that is not followed yet.
fn look(
    common: &Arc<Common>,
    stream: &Arc<Stream>,
    path: &Path,
    places: &Places,
    files: &mut HashMap<String, Followed>,
) -> io::Result<()> {
    let key = identity(path, &fs::metadata(path)?)?;
    if let Some(followed) = files.get_mut(&key) {
        path.clone_into(&mut followed.path);
        return Ok(());
    }
    let mut file = File::open(path)?;
    // Of the file that is open: the name may be that of another by now.
    let meta = file.metadata()?;
    let key = identity(path, &meta)?;
    if files.contains_key(&key) {
        return Ok(());
    }
    let mut begin = None;
    if let Some(place) = places.0.get(&key) {
        if place.may_be_of(&meta) {
            begin = Known::by(place, &mut file)?.map(|known| (place.clone(), known));
        }
        if begin.is_none() {
            tracing::info!(path = %path.display(), "another file had this number; reading from its start");
        }
    }
    let followed = Followed::begin(common, stream, path, file, begin.unwrap_or_default());
    files.insert(key, followed);
    Ok(())
}

/// Keeps the places up to where records are settled, of files that are still there.
fn note(state: &Path, places: &mut Places, files: &mut HashMap<String, Followed>) {
    let before = places.0.len();
    places.0.retain(|key, place| files.contains_key(key) || !place.is_gone(key));
    let mut changed = places.0.len() != before;
    for (key, followed) in files {
        followed.settle();
        changed |= places.0.insert(key.clone(), followed.settled.clone()).as_ref()
            != Some(&followed.settled);
    }
    if changed {
        places.store(state);
    }
}
