// SPDX-License-Identifier: Apache-2.0
//! The datasets by name. A name is looked up and never joined to a path: only datasets of the
//! catalog are served.

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use arrowsmith::{Error, JsonReadOptions, Result};

use crate::dataset::{Content, FileAccess, Format, Snapshot, version_of};
use crate::live::Upstream;

/// States of a dataset that are kept for the tickets that were given out for them.
const SNAPSHOTS_MAX: usize = 8;

/// Maximum length of a dataset's name, in bytes.
const NAME_BYTES_MAX: usize = 128;

/// Where a dataset comes from.
#[derive(Debug, Clone)]
pub enum Origin {
    /// Files, patterns and folders.
    Files {
        /// They, as they were given.
        paths: Vec<PathBuf>,
        /// What they are.
        format: Format,
    },
    /// A stream of another endpoint.
    Live(Upstream),
}

/// A dataset as requested.
#[derive(Debug, Clone)]
pub struct Spec {
    /// Its name.
    pub name: String,
    /// Its place.
    pub origin: Origin,
    /// How JSON is read. Without a schema it is inferred; columns, rows, threads and batches are
    /// those of each request.
    pub json: JsonReadOptions,
    /// Whether clients may append to it.
    pub writable: bool,
    /// How the bytes of its files are come by.
    pub access: FileAccess,
}

impl Spec {
    /// Reads `PATH`, `NAME=PATH` or `NAME=grpc://host:port/stream`.
    ///
    /// # Errors
    /// [`Error::Config`] for invalid names, and paths of unknown format.
    pub fn parse(argument: &str, format: Option<Format>) -> Result<Self> {
        let refuse = |reason: String| Error::Config(format!("{argument}: {reason}"));
        // A path may hold a `=` itself, as the folders of partitions do.
        let (name, place) = match argument.split_once('=') {
            Some((name, place)) if is_name(name) && !Path::new(argument).exists() => {
                (Some(name.to_owned()), place)
            }
            _ => (None, argument),
        };
        if let Some(upstream) = Upstream::parse(place) {
            let name = name.unwrap_or_else(|| upstream.stream().to_owned());
            return Self::new(name, Origin::Live(upstream));
        }
        if let Some((scheme, _)) = place.split_once("://") {
            return Err(refuse(format!(
                "{scheme}:// is not served: files, folders, patterns and grpc:// are"
            )));
        }
        let path = PathBuf::from(place);
        let pattern = place.contains(['*', '?', '[']);
        if !pattern && !path.exists() {
            return Err(Error::io(path, std::io::ErrorKind::NotFound.into()));
        }
        let format = format.or_else(|| guess(&path)).ok_or_else(|| {
            refuse("its format is unknown: set --format to parquet, arrow or json".to_owned())
        })?;
        let name = name.or_else(|| name_of(&path)).ok_or_else(|| {
            refuse("its name is not valid: use NAME=PATH, with letters, digits, _ . -".to_owned())
        })?;
        Self::new(name, Origin::Files { paths: vec![path], format })
    }

    /// A dataset that clients only read.
    ///
    /// # Errors
    /// [`Error::Config`] for an invalid name.
    pub fn new(name: impl Into<String>, origin: Origin) -> Result<Self> {
        let name = name.into();
        if !is_name(&name) {
            return Err(Error::Config(format!(
                "{name:?} is not a name of a dataset: letters, digits, _ . - and not . first"
            )));
        }
        Ok(Self {
            name,
            origin,
            json: JsonReadOptions::default(),
            writable: false,
            access: FileAccess::Read,
        })
    }

    /// The folder that clients may append to.
    pub fn folder(&self) -> Option<&Path> {
        match &self.origin {
            Origin::Files { paths, .. } if self.writable => match paths.as_slice() {
                [folder] if folder.is_dir() => Some(folder),
                _ => None,
            },
            _ => None,
        }
    }

    fn open(&self) -> Result<Snapshot> {
        match &self.origin {
            Origin::Files { paths, format } => {
                let opened = Snapshot::open(paths, *format, &self.json, self.access);
                match opened {
                    // A folder without files yet.
                    Err(Error::Io { source, .. })
                        if source.kind() == std::io::ErrorKind::NotFound
                            && self.folder().is_some() =>
                    {
                        Ok(Snapshot::empty())
                    }
                    opened => opened,
                }
            }
            Origin::Live(upstream) => Ok(Snapshot {
                rows: None,
                bytes: None,
                content: Content::Live(upstream.clone()),
                ..Snapshot::empty()
            }),
        }
    }
}

/// Whether it is a valid dataset name. Names appear in responses and metrics, never in a path.
fn is_name(name: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
    !name.is_empty()
        && name.len() <= NAME_BYTES_MAX
        && !name.starts_with('.')
        && name.chars().all(allowed)
}

/// `taxi` of `data/taxi.parquet`, `data/taxi/`, `data/taxi/*.parquet`.
fn name_of(path: &Path) -> Option<String> {
    let text = path.to_string_lossy();
    let plain = match text.find(['*', '?', '[']) {
        Some(at) => text.get(..at)?.rsplit_once('/')?.0.to_owned(),
        None => text.into_owned(),
    };
    let path = std::fs::canonicalize(&plain).unwrap_or_else(|_| PathBuf::from(plain));
    let name = path.file_name()?.to_string_lossy().into_owned();
    let name = if path.is_dir() { name } else { name.split('.').next()?.to_owned() };
    is_name(&name).then_some(name)
}

/// The format by file name: the path's, or that of the first file below it.
fn guess(path: &Path) -> Option<Format> {
    if path.is_dir() {
        return [Format::Parquet, Format::Ipc, Format::Json]
            .into_iter()
            .find(|format| arrowsmith::expand_dataset(path, format.extensions()).is_ok());
    }
    Format::of_name(&path.to_string_lossy())
}

/// A dataset, and its states.
#[derive(Debug)]
pub struct Dataset {
    spec: Spec,
    /// The newest first.
    snapshots: RwLock<VecDeque<Arc<Snapshot>>>,
    /// Held while the files are checked.
    refreshing: Mutex<()>,
    /// Held while files are appended, so that no two writers choose one name.
    pub(crate) appending: tokio::sync::Mutex<()>,
}

impl Dataset {
    fn open(spec: Spec) -> Result<Self> {
        let snapshots = RwLock::new(VecDeque::from([Arc::new(spec.open()?)]));
        Ok(Self {
            spec,
            snapshots,
            refreshing: Mutex::default(),
            appending: tokio::sync::Mutex::new(()),
        })
    }

    /// The specification that it was made of.
    pub fn spec(&self) -> &Spec {
        &self.spec
    }

    /// Its newest state.
    pub fn current(&self) -> Arc<Snapshot> {
        let snapshots = self.snapshots.read().unwrap_or_else(PoisonError::into_inner);
        // There is always one: `open` puts it there and `refresh` adds before it removes.
        snapshots.front().map_or_else(|| Arc::new(Snapshot::empty()), Arc::clone)
    }

    /// The state that a ticket was given out for.
    pub fn snapshot(&self, version: u64) -> Option<Arc<Snapshot>> {
        let snapshots = self.snapshots.read().unwrap_or_else(PoisonError::into_inner);
        snapshots.iter().find(|snapshot| snapshot.version == version).cloned()
    }

    /// Checks the files again. Returns whether they have changed.
    ///
    /// # Errors
    /// Errors of opening them; the state then stays as it was.
    pub fn refresh(&self) -> Result<bool> {
        // One at a time: the readers of a file that has changed may all find it at once.
        let _turn = self.refreshing.lock().unwrap_or_else(PoisonError::into_inner);
        if let Origin::Files { paths, format } = &self.spec.origin
            && version_of(paths, *format).is_ok_and(|version| version == self.current().version)
        {
            return Ok(false);
        }
        let fresh = Arc::new(self.spec.open()?);
        let mut snapshots = self.snapshots.write().unwrap_or_else(PoisonError::into_inner);
        if snapshots.front().is_some_and(|snapshot| snapshot.version == fresh.version) {
            return Ok(false);
        }
        snapshots.push_front(fresh);
        snapshots.truncate(SNAPSHOTS_MAX);
        Ok(true)
    }
}

/// The datasets by their names.
#[derive(Debug, Default)]
pub struct Catalog {
    datasets: BTreeMap<String, Arc<Dataset>>,
}

impl Catalog {
    /// Opens every dataset.
    ///
    /// # Errors
    /// The first that cannot be opened, and duplicate names.
    pub fn open(specs: impl IntoIterator<Item = Spec>) -> Result<Self> {
        let mut datasets = BTreeMap::new();
        for spec in specs {
            let name = spec.name.clone();
            if datasets.insert(name.clone(), Arc::new(Dataset::open(spec)?)).is_some() {
                return Err(Error::Config(format!(
                    "two datasets have the name {name:?}: say NAME=PATH"
                )));
            }
        }
        Ok(Self { datasets })
    }

    /// The dataset of this name.
    pub fn get(&self, name: &str) -> Option<&Arc<Dataset>> {
        self.datasets.get(name)
    }

    /// All of them, in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Arc<Dataset>)> {
        self.datasets.iter().map(|(name, dataset)| (name.as_str(), dataset))
    }
}
