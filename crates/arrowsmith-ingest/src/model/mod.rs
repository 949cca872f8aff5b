// SPDX-License-Identifier: Apache-2.0
//! A model of the service: parsing, order, settling, spools, directories and rejects as they are,
//! on a disk, with a store and under a clock of the test's.
//!
//! Everything that happens comes from a seed: what is sent and when, which call of the disk fails,
//! when the process or the power ends, which task is polled next. After each end the parts are
//! opened again, and what they hold is compared with what was acknowledged: nothing of that is
//! missing in any sink, nothing is there twice, nothing that was never sent or that was refused,
//! and the records of a connection are in their order. A seed that fails names itself;
//! `ARROWSMITH_MODEL_SEED=N` runs it alone.

mod disk;
mod sent;
mod simulated;
mod spools;
mod stored;
mod stores;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Waker};
use std::time::{Duration, Instant};

use arrowsmith_publish::Publish;
use tokio::sync::{mpsc, oneshot};

use self::disk::SimulatedDisk;
use self::sent::{Fated, SCHEMA, Sent};
use self::simulated::{Chance, Flaky, SimulatedClock};
use self::stores::SimulatedStores;
use crate::config::{Config, Fsync, OnErrorConfig, Size, SpoolConfig, SpoolWhen, StreamConfig};
use crate::disk::Disk;
use crate::job::{Answer, Parsed};
use crate::memory::Memory;
use crate::observe::metrics::Metrics;
use crate::parse::{Decoders, parse};
use crate::publish::order::Order;
use crate::publish::sinks::SinkConfig;
use crate::publish::sinks::directory::{Directory, DirectoryOptions, FileFormat, Storage};
use crate::publish::worker::{QUEUE_MAX, Sink};
use crate::rejects::Rejects;
use crate::sequence::Sequence;
use crate::spool::Spool;
use crate::stream::{Queue, Stream};

/// A record: its connection, and its number there.
type Record = (u64, u64);

/// What a seed makes of the service.
#[derive(Debug)]
struct Settings {
    sinks: usize,
    /// Whether a value that does not fit becomes null.
    nulls: bool,
    /// Maximum number of rows of a message; 0 for no limit.
    message_rows: usize,
    fsync: Fsync,
    format: FileFormat,
    /// Whether rows are in folders by `name`, and the maximum number of folders of a file.
    partitions: Option<usize>,
    /// Whether files go to a store.
    store: bool,
    spool: Option<SpoolWhen>,
    roll_bytes: usize,
    away: u64,
    faults: u64,
    syncs_fail: bool,
}

struct World {
    chance: Chance,
    settings: Settings,
    disk: SimulatedDisk,
    stores: SimulatedStores,
    clock: Arc<SimulatedClock>,
    metrics: Metrics,
    memory: Arc<Memory>,
    sent: BTreeMap<Record, Fated>,
    acknowledged: BTreeSet<Record>,
    /// Those of requests of which nothing is kept.
    refused: BTreeSet<Record>,
    connection: u64,
    /// Whether the power was lost while not everything was synced.
    may_have_lost: bool,
}

/// A process that runs.
struct Process {
    stream: Arc<Stream>,
    decoders: Decoders,
    /// None when it has ended, as the sinks.
    order: Option<Pin<Box<dyn Future<Output = ()>>>>,
    sinks: Vec<Option<Pin<Box<dyn Future<Output = crate::publish::worker::End>>>>>,
    results: Option<mpsc::Sender<oneshot::Receiver<Parsed>>>,
    give_up: Arc<AtomicBool>,
    waiting: VecDeque<(Sent, oneshot::Receiver<Answer>)>,
    next: u64,
}

impl Process {
    fn has_ended(&self) -> bool {
        self.order.is_none() && self.sinks.iter().all(Option::is_none)
    }
}

/// The folder of a sink.
fn out(number: usize) -> PathBuf {
    format!("/out-{number}").into()
}

/// The prefix of a sink, where files go to a store.
fn prefix(number: usize) -> String {
    format!("s3://bucket/{number}")
}

fn spool(number: usize) -> PathBuf {
    format!("/spool/s-{number}").into()
}

impl World {
    fn new(seed: u64) -> Self {
        let mut chance = Chance::new(seed);
        let (format, partitioned) = match chance.below(4) {
            0 => (FileFormat::Parquet, false),
            1 => (FileFormat::Parquet, true),
            _ => (FileFormat::Arrow, false),
        };
        let settings = Settings {
            sinks: 1 + usize::try_from(chance.below(2)).unwrap(),
            nulls: chance.one_of(2),
            message_rows: usize::try_from(chance.below(4)).unwrap(),
            fsync: match chance.below(6) {
                0 => Fsync::Never,
                1 => Fsync::Second,
                _ => Fsync::Always,
            },
            format,
            // A message has at most eight rows.
            partitions: partitioned.then(|| 8 + usize::try_from(chance.below(20)).unwrap()),
            store: chance.one_of(3),
            spool: match chance.below(3) {
                0 => None,
                1 => Some(SpoolWhen::Away),
                _ => Some(SpoolWhen::Always),
            },
            roll_bytes: 1 + usize::try_from(chance.below(20_000)).unwrap(),
            away: [0, 3, 20][usize::try_from(chance.below(3)).unwrap()],
            faults: [0, 300, 60][usize::try_from(chance.below(3)).unwrap()],
            syncs_fail: chance.one_of(2),
        };
        let metrics = Metrics::new().unwrap();
        Self {
            memory: Memory::new(1 << 30, metrics.memory_bytes.clone()),
            disk: SimulatedDisk::new(Chance::new(chance.next())),
            stores: SimulatedStores::new(Chance::new(chance.next())),
            clock: Arc::new(SimulatedClock(Arc::new(Mutex::new(Instant::now())))),
            metrics,
            sent: BTreeMap::new(),
            acknowledged: BTreeSet::new(),
            refused: BTreeSet::new(),
            connection: 0,
            may_have_lost: false,
            settings,
            chance,
        }
    }

    fn options(&self, number: usize) -> DirectoryOptions {
        let by_name = || "name".parse().unwrap();
        DirectoryOptions {
            partition_by: self.settings.partitions.map(|_| by_name()).into_iter().collect(),
            partitions_max: self.settings.partitions.unwrap_or(1),
            state: self.settings.store.then(|| out(number)),
            state_bytes: Size(1 << 20),
            format: self.settings.format,
            roll_bytes: Size(self.settings.roll_bytes),
            fsync: self.settings.fsync,
            codec: "none".to_owned(),
            ..DirectoryOptions::new(match self.settings.store {
                true => prefix(number).into(),
                false => out(number),
            })
        }
    }

    /// Opens everything, as a start of the service does.
    fn start(&mut self) -> Result<Process, String> {
        // The clock is put back to the same time before each start.
        let numbers = Sequence::starting_at(1);
        let config = StreamConfig {
            schema: SCHEMA.to_owned(),
            message_rows: self.settings.message_rows,
            on_error: if self.settings.nulls { OnErrorConfig::Null } else { OnErrorConfig::Reject },
            ..StreamConfig::default()
        };
        let (queue, counts) = (Arc::new(Queue::new(1)), self.metrics.stream("s"));
        let stream = Stream::new("s", &Config::default(), config, counts, queue).unwrap().0;
        let give_up = Arc::new(AtomicBool::new(false));
        let (mut sinks, mut senders) = (Vec::new(), Vec::new());
        for number in 0..self.settings.sinks {
            let (sender, queue) = mpsc::channel(QUEUE_MAX);
            let sink = self.sink(number, &stream, &give_up, queue, &numbers)?;
            sinks.push(Some(Box::pin(sink.run()) as Pin<Box<_>>));
            senders.push(sender);
        }
        let (results, ordered) = mpsc::channel(8);
        let order = Order {
            stream: Arc::clone(&stream),
            results: ordered,
            sinks: senders,
            rejects: self.rejects("s"),
            numbers: Arc::new(numbers),
            last_rejects: Arc::default(),
            clock: self.clock.clone(),
            give_up: Arc::clone(&give_up),
        };
        self.connection += 1;
        tracing::info!(connection = self.connection, "started");
        Ok(Process {
            stream,
            decoders: Decoders::new(),
            order: Some(Box::pin(order.run())),
            sinks,
            results: Some(results),
            give_up,
            waiting: VecDeque::new(),
            next: 0,
        })
    }

    fn rejects(&self, name: &str) -> Rejects {
        let durable = self.settings.fsync == Fsync::Always;
        Rejects::new(Arc::new(self.disk.clone()), "/rejects".into(), name, durable)
    }

    fn sink(
        &mut self,
        number: usize,
        stream: &Arc<Stream>,
        give_up: &Arc<AtomicBool>,
        queue: mpsc::Receiver<crate::publish::worker::Parcel>,
        numbers: &Sequence,
    ) -> Result<Sink, String> {
        let disk: Arc<dyn Disk> = Arc::new(self.disk.clone());
        let spool = match self.settings.spool {
            None => None,
            Some(when) => {
                let spool = Spool::open(Arc::clone(&disk), &spool(number), 1 << 20);
                let spool = spool.map_err(|error| error.to_string())?.with_segments(2000);
                numbers.above(spool.last_sequence());
                let (path, bytes) = ("/spool".into(), Size(1 << 20));
                Some((SpoolConfig { path, bytes, fsync: self.settings.fsync, when }, spool))
            }
        };
        let metrics = self.metrics.sink("s", &format!("directory-{number}"));
        let (stores, waiting) = (Arc::new(self.stores.clone()), metrics.uploads.clone());
        let storage = Storage { disk, stores, waiting };
        let directory = Directory::open(storage, self.options(number), "s");
        let directory = directory.map_err(|error| error.to_string())?;
        numbers.above(directory.stored().unwrap_or(0));
        let open: Box<dyn Publish> = Box::new(Flaky {
            inner: Box::new(directory),
            chance: Chance::new(self.chance.next()),
            away: self.settings.away,
        });
        let name = format!("directory-{number}");
        Ok(Sink {
            // No sink panics: then this would be opened, which fails.
            config: SinkConfig::directory("/dev/null/none"),
            schema: stream.compiled().schema.clone(),
            metrics: Arc::new(metrics),
            rejects: self.rejects(&format!("s.{name}")),
            name,
            latency: None,
            clock: self.clock.clone(),
            give_up: Arc::clone(give_up),
            queue,
            open: Some(open),
            spool,
            stream: Arc::clone(stream),
        })
    }

    /// A connection hands some records over, and a parser takes them.
    fn send(&mut self, process: &mut Process) {
        let Some(results) = &process.results else { return };
        let Ok(place) = results.try_reserve() else { return };
        let nulls = self.settings.nulls;
        let mut sent = Sent::new(&mut self.chance, self.connection, process.next, nulls);
        process.next += sent.records.len() as u64;
        let (job, answer) = sent.job(&process.stream, &self.memory);
        let parsed = parse(&mut process.decoders, &process.stream, vec![job]);
        let (sender, result) = oneshot::channel();
        place.send(result);
        drop(sender.send(parsed));
        self.sent.extend(sent.records.iter().copied());
        process.waiting.push_back((sent, answer));
    }

    /// Does one thing.
    fn step(&mut self, process: &mut Process) {
        let mut context = Context::from_waker(Waker::noop());
        match self.chance.below(8) {
            0 => self.send(process),
            1..=3 => {
                let order = process.order.as_mut();
                if order.is_some_and(|order| order.as_mut().poll(&mut context).is_ready()) {
                    process.order = None;
                }
            }
            4..=6 => {
                let number =
                    usize::try_from(self.chance.below(process.sinks.len() as u64)).unwrap();
                let sink = process.sinks[number].as_mut();
                if sink.is_some_and(|sink| sink.as_mut().poll(&mut context).is_ready()) {
                    process.sinks[number] = None;
                }
            }
            _ => {
                let time = if self.chance.one_of(10) { 11_000 } else { self.chance.below(200) };
                *self.clock.0.lock().unwrap() += Duration::from_millis(time);
            }
        }
        process.waiting.retain_mut(|(sent, answer)| match answer.try_recv() {
            Ok(answer) => {
                let is_kept = sent.answered(&answer);
                let told = if is_kept { &mut self.acknowledged } else { &mut self.refused };
                told.extend(sent.records.iter().map(|(record, _)| *record));
                false
            }
            Err(oneshot::error::TryRecvError::Empty) => true,
            Err(oneshot::error::TryRecvError::Closed) => false,
        });
    }

    /// One life of the process, to a crash or to its end.
    fn live(&mut self, last: bool) {
        let calls = (!last && !self.chance.one_of(6)).then(|| self.chance.below(3000));
        let faults = if last { 0 } else { self.settings.faults };
        // A start may fail or be the end, too.
        if !last && self.chance.one_of(4) {
            self.disk.set(faults, false, Some(self.chance.below(60)));
            let started = self.start();
            let is_over = self.disk.has_crashed();
            drop(started);
            let power_was_lost = is_over && self.chance.one_of(2);
            self.lose(power_was_lost);
        }
        self.disk.set(0, false, None);
        let mut process = self.start().unwrap();
        self.check();
        self.disk.set(faults, !last && self.settings.syncs_fail, calls);
        self.stores.set(faults / 20);
        for _ in 0..self.chance.below(1500) {
            self.step(&mut process);
            if self.disk.has_crashed() {
                drop(process);
                let power_was_lost = self.chance.one_of(2);
                return self.lose(power_was_lost);
            }
        }
        // An end in good order; on a disk that fails it has to end, too.
        process.results = None;
        let mut steps = 0;
        while !(self.disk.has_crashed() || process.has_ended()) {
            self.step(&mut process);
            steps += 1;
            if steps == 5000 {
                assert!(!last, "a service on a good disk does not end");
                process.give_up.store(true, Ordering::Release);
            }
            assert!(steps < 50_000, "a service that is told to give up does not end");
        }
        let crashed = self.disk.has_crashed();
        drop(process);
        let power_was_lost = crashed && self.chance.one_of(2);
        self.lose(power_was_lost);
    }

    fn lose(&mut self, power_was_lost: bool) {
        self.may_have_lost |= power_was_lost && self.settings.fsync != Fsync::Always;
        tracing::info!(power_was_lost, crashed = self.disk.has_crashed(), "the process has ended");
        self.disk.restart(power_was_lost);
    }
}

fn run(seed: u64) {
    let mut world = World::new(seed);
    for _ in 0..1 + world.chance.below(5) {
        world.live(false);
    }
    world.live(true);
    world.disk.set(0, false, None);
    // All is where it belongs: nothing waits in a spool.
    let process = world.start().unwrap();
    world.check();
    drop(process);
    world.check_end();
}

#[test]
fn what_is_acknowledged_is_stored_once_and_in_order() {
    if let Ok(seed) = std::env::var("ARROWSMITH_MODEL_SEED") {
        // What the parts say of it, too.
        let told =
            tracing_subscriber::fmt().with_test_writer().with_max_level(tracing::Level::DEBUG);
        let _told = tracing::subscriber::set_default(told.finish());
        let seed = seed.parse().unwrap();
        println!("{:?}", World::new(seed).settings);
        return run(seed);
    }
    for seed in 0..arrowsmith_testkit::scale::number("ARROWSMITH_MODEL_SEEDS", 120, 20_000) {
        let ended = std::panic::catch_unwind(|| run(seed));
        assert!(
            ended.is_ok(),
            "ARROWSMITH_MODEL_SEED={seed} shows it: {:?}",
            World::new(seed).settings
        );
    }
}
