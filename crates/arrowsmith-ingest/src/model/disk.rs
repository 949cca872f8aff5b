// SPDX-License-Identifier: Apache-2.0
//! A disk that fails, tears and forgets, as far as POSIX lets it.
//!
//! A file has what the system shows and what is on the medium. A sync that succeeds makes pages
//! written since the last one the same on both; one that fails leaves any of them as they were on
//! the medium and takes all for written. A name is on the medium when its folder was synced, or
//! when chance has it. After a loss of power pages and lengths that were not synced are there or
//! not, each by itself; names come back as a beginning of what was done, or as any part of it. The
//! end of the process alone loses nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::simulated::Chance;
use crate::disk::{Disk, DiskFile, OpenFile};

/// What is written or lost together, in bytes: small, so that much is torn.
const PAGE_BYTES: usize = 64;

const EIO: i32 = 5;
const ENOSPC: i32 = 28;

/// A disk under simulation; clones are the same one.
#[derive(Clone)]
pub(super) struct SimulatedDisk(Arc<Mutex<State>>);

/// A name, and the number of its file; none where it was removed.
type Name = (PathBuf, Option<u64>);

struct State {
    chance: Chance,
    files: BTreeMap<u64, Content>,
    next: u64,
    names: BTreeMap<PathBuf, u64>,
    names_kept: BTreeMap<PathBuf, u64>,
    /// What was done to names since their folder was synced: each all at once or not at all.
    changes: Vec<(PathBuf, Vec<Name>)>,
    locks: BTreeSet<PathBuf>,
    /// Calls until the process ends in the midst of one.
    calls_left: Option<u64>,
    crashed: bool,
    /// One of this many calls fails; 0 for none.
    faults: u64,
    syncs_fail: bool,
}

#[derive(Default, Clone)]
struct Content {
    shown: Vec<u8>,
    kept: Vec<u8>,
    dirty: BTreeSet<usize>,
    length_is_dirty: bool,
}

impl Content {
    fn touch(&mut self, from: usize, to: usize) {
        self.dirty.extend(from / PAGE_BYTES..to.div_ceil(PAGE_BYTES));
    }

    /// Brings a page to the medium.
    fn keep(&mut self, page: usize) {
        let start = page * PAGE_BYTES;
        let end = (start + PAGE_BYTES).min(self.shown.len());
        if start >= end {
            return;
        }
        if self.kept.len() < end {
            self.kept.resize(end, 0);
        }
        self.kept[start..end].copy_from_slice(&self.shown[start..end]);
    }

    fn keep_some(&mut self, chance: &mut Chance) {
        let all = chance.one_of(3);
        for page in std::mem::take(&mut self.dirty) {
            if all || chance.one_of(2) {
                self.keep(page);
            }
        }
        if std::mem::take(&mut self.length_is_dirty) && chance.one_of(2) {
            self.kept.resize(self.shown.len(), 0);
        }
    }

    fn sync(&mut self) {
        for page in std::mem::take(&mut self.dirty) {
            self.keep(page);
        }
        self.length_is_dirty = false;
        self.kept.resize(self.shown.len(), 0);
    }
}

impl State {
    /// Counts a call: it may fail, or be the last.
    fn call(&mut self) -> io::Result<()> {
        if self.crashed {
            return Err(io::Error::from_raw_os_error(EIO));
        }
        if let Some(left) = &mut self.calls_left {
            if *left == 0 {
                self.crashed = true;
                return Err(io::Error::from_raw_os_error(EIO));
            }
            *left -= 1;
        }
        if self.faults > 0 && self.chance.one_of(self.faults) {
            let code = if self.chance.one_of(2) { EIO } else { ENOSPC };
            return Err(io::Error::from_raw_os_error(code));
        }
        Ok(())
    }

    fn change(&mut self, change: Vec<(PathBuf, Option<u64>)>) {
        let folder = change[0].0.parent().unwrap().to_owned();
        for (path, file) in &change {
            match file {
                Some(file) => self.names.insert(path.clone(), *file),
                None => self.names.remove(path),
            };
        }
        self.changes.push((folder, change));
    }

    fn lose_power(&mut self) {
        let mut chance = self.chance.clone();
        let changes = std::mem::take(&mut self.changes);
        let prefix = chance.one_of(2).then(|| chance.below(changes.len() as u64 + 1));
        for (at, (_, change)) in changes.into_iter().enumerate() {
            let kept = prefix.map_or_else(|| chance.one_of(2), |prefix| (at as u64) < prefix);
            for (path, file) in change.into_iter().filter(|_| kept) {
                match file {
                    Some(file) => self.names_kept.insert(path, file),
                    None => self.names_kept.remove(&path),
                };
            }
        }
        self.names = self.names_kept.clone();
        for content in self.files.values_mut() {
            content.keep_some(&mut chance);
            content.shown = content.kept.clone();
        }
        self.chance = chance;
    }
}

impl fmt::Debug for SimulatedDisk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SimulatedDisk")
    }
}

impl SimulatedDisk {
    pub(super) fn new(chance: Chance) -> Self {
        Self(Arc::new(Mutex::new(State {
            chance,
            files: BTreeMap::new(),
            next: 0,
            names: BTreeMap::new(),
            names_kept: BTreeMap::new(),
            changes: Vec::new(),
            locks: BTreeSet::new(),
            calls_left: None,
            crashed: false,
            faults: 0,
            syncs_fail: false,
        })))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Which calls fail: one of this many, and whether syncs fail more often; and after how many
    /// the process ends.
    pub(super) fn set(&self, faults: u64, syncs_fail: bool, calls_left: Option<u64>) {
        let mut state = self.state();
        (state.faults, state.syncs_fail, state.calls_left) = (faults, syncs_fail, calls_left);
    }

    pub(super) fn has_crashed(&self) -> bool {
        self.state().crashed
    }

    /// After the end of the process, and of the power if that is what ended it.
    pub(super) fn restart(&self, power_was_lost: bool) {
        let mut state = self.state();
        if power_was_lost {
            state.lose_power();
        }
        state.locks.clear();
        (state.crashed, state.calls_left, state.faults) = (false, None, 0);
    }

    /// The files in a folder and in those below it.
    pub(super) fn below(&self, folder: &Path) -> Vec<PathBuf> {
        let state = self.state();
        state.names.keys().filter(|path| path.starts_with(folder)).cloned().collect()
    }

    fn open(&self, file: u64, at_end: bool) -> OpenFile {
        Box::new(SimulatedFile { disk: self.clone(), file, at: 0, at_end })
    }
}

impl Disk for SimulatedDisk {
    fn make_folder(&self, _folder: &Path) -> io::Result<()> {
        self.state().call()
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.call()?;
        if state.syncs_fail && state.chance.one_of(20) {
            return Err(io::Error::from_raw_os_error(EIO));
        }
        let changes = std::mem::take(&mut state.changes);
        for (of, change) in changes {
            if of != folder {
                state.changes.push((of, change));
                continue;
            }
            for (path, file) in change {
                match file {
                    Some(file) => state.names_kept.insert(path, file),
                    None => state.names_kept.remove(&path),
                };
            }
        }
        Ok(())
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<String>> {
        let mut state = self.state();
        state.call()?;
        let inside = state.names.keys().filter(|path| path.parent() == Some(folder));
        Ok(inside.map(|path| path.file_name().unwrap().to_str().unwrap().to_owned()).collect())
    }

    fn lock(&self, path: &Path) -> io::Result<Option<Box<dyn Send>>> {
        let mut state = self.state();
        state.call()?;
        Ok(state.locks.insert(path.to_owned()).then(|| Box::new(()) as Box<dyn Send>))
    }

    fn create_new(&self, path: &Path) -> io::Result<OpenFile> {
        let mut state = self.state();
        state.call()?;
        if state.names.contains_key(path) {
            return Err(io::Error::from(io::ErrorKind::AlreadyExists));
        }
        let file = state.next;
        state.next += 1;
        state.files.insert(file, Content::default());
        state.change(vec![(path.to_owned(), Some(file))]);
        drop(state);
        Ok(self.open(file, true))
    }

    fn append(&self, path: &Path) -> io::Result<OpenFile> {
        let known = self.state().names.get(path).copied();
        match known {
            Some(file) => {
                self.state().call()?;
                Ok(self.open(file, true))
            }
            None => self.create_new(path),
        }
    }

    fn read(&self, path: &Path) -> io::Result<OpenFile> {
        let mut state = self.state();
        state.call()?;
        let file = state.names.get(path).copied();
        drop(state);
        Ok(self.open(file.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?, false))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.call()?;
        let Some(&file) = state.names.get(from) else {
            return Err(io::Error::from(io::ErrorKind::NotFound));
        };
        state.change(vec![(to.to_owned(), Some(file)), (from.to_owned(), None)]);
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.call()?;
        if !state.names.contains_key(path) {
            return Err(io::Error::from(io::ErrorKind::NotFound));
        }
        state.change(vec![(path.to_owned(), None)]);
        Ok(())
    }

    fn exists(&self, path: &Path) -> bool {
        self.state().names.contains_key(path)
    }

    fn has_threads(&self) -> bool {
        false
    }
}

struct SimulatedFile {
    disk: SimulatedDisk,
    file: u64,
    at: usize,
    at_end: bool,
}

impl Read for SimulatedFile {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let mut state = self.disk.state();
        state.call()?;
        let content = state.files.get(&self.file).unwrap();
        let rest = content.shown.get(self.at..).unwrap_or_default();
        let len = rest.len().min(bytes.len());
        bytes[..len].copy_from_slice(&rest[..len]);
        self.at += len;
        Ok(len)
    }
}

impl Write for SimulatedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        assert!(self.at_end, "a file that is open for reading is not written to");
        let mut state = self.disk.state();
        let called = state.call();
        let mut len = bytes.len();
        // A call may write less than it was given; one that is the last, or fails, some of it.
        if called.is_err() || state.chance.one_of(8) {
            len = usize::try_from(state.chance.below(len as u64 + 1)).unwrap();
        }
        let is_over = state.crashed && state.calls_left.is_none();
        if is_over {
            return called.map(|()| 0);
        }
        if state.crashed {
            // The last write of all happens once.
            state.calls_left = None;
        }
        if called.is_ok() {
            len = len.max(1.min(bytes.len()));
        }
        let content = state.files.get_mut(&self.file).unwrap();
        let start = content.shown.len();
        content.shown.extend_from_slice(&bytes[..len]);
        content.touch(start, start + len);
        content.length_is_dirty = true;
        called.map(|()| len)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for SimulatedFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let len = self.disk.state().files.get(&self.file).unwrap().shown.len();
        let (from, by) = match to {
            SeekFrom::Start(at) => (0, i64::try_from(at).unwrap()),
            SeekFrom::Current(by) => (self.at, by),
            SeekFrom::End(by) => (len, by),
        };
        self.at = usize::try_from(i64::try_from(from).unwrap() + by).unwrap();
        Ok(self.at as u64)
    }
}

impl DiskFile for SimulatedFile {
    fn sync(&self) -> io::Result<()> {
        let mut state = self.disk.state();
        let mut called = state.call();
        if state.crashed {
            return called;
        }
        if called.is_ok() && state.syncs_fail && state.chance.one_of(10) {
            called = Err(io::Error::from_raw_os_error(EIO));
        }
        let State { files, chance, .. } = &mut *state;
        let content = files.get_mut(&self.file).unwrap();
        if called.is_err() {
            content.keep_some(chance);
        } else {
            content.sync();
        }
        called
    }

    fn cut(&self, bytes: u64) -> io::Result<()> {
        let mut state = self.disk.state();
        state.call()?;
        let content = state.files.get_mut(&self.file).unwrap();
        let bytes = usize::try_from(bytes).unwrap();
        let before = content.shown.len();
        content.shown.resize(bytes, 0);
        content.touch(bytes.min(before), bytes.max(before));
        content.length_is_dirty = true;
        Ok(())
    }

    fn size(&self) -> io::Result<u64> {
        let mut state = self.disk.state();
        state.call()?;
        Ok(state.files.get(&self.file).unwrap().shown.len() as u64)
    }
}
