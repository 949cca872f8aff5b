// SPDX-License-Identifier: Apache-2.0
//! A model of the service: order, settling, spool, directory and rejects as they are, on a disk and
//! under a clock of the test's.
//!
//! Everything that happens comes from a seed: what is sent and when, which call of the disk fails,
//! when the process or the power ends, who is polled next. After each end the parts are opened
//! again, and what they hold is compared with what was acknowledged: nothing of that is missing,
//! nothing is there twice, nothing that nobody sent, and the records of a connection are in their
//! order. A seed that fails names itself; `ARROWSMITH_MODEL_SEED=N` runs it alone.

mod disk;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use arrow_array::cast::AsArray;
use arrow_array::types::{Int8Type, UInt64Type};
use arrow_array::{ArrayRef, DictionaryArray, RecordBatch, UInt64Array};
use arrow_ipc::reader::FileReader;
use arrowsmith_core::{DataError, ErrorKind, Position, Reject};
use arrowsmith_message::{BoxFuture, Message, Origin, Publish, PublishError, Receipt};
use tokio::sync::{mpsc, oneshot};

use self::disk::SimulatedDisk;
use crate::clock::Clock;
use crate::config::{Config, Fsync, Size, SpoolConfig, SpoolWhen, StreamConfig};
use crate::disk::{Disk, read_all};
use crate::job::{Answer, Fate, Pending, Ticket};
use crate::memory::{Grant, Memory};
use crate::metrics::Metrics;
use crate::numbers::Numbers;
use crate::order::Order;
use crate::parse::Parsed;
use crate::rejects::Rejects;
use crate::resize::Draft;
use crate::sink::{QUEUE_MAX, Sink};
use crate::sinks::SinkConfig;
use crate::sinks::directory::{Directory, DirectoryOptions, FileFormat};
use crate::spool::Spool;
use crate::stream::{Queue, Stream};

/// Numbers that look random and come from a seed (SplitMix64).
#[derive(Debug, Clone)]
pub(crate) struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }

    fn one_of(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }
}

/// A clock that stands until it is moved.
#[derive(Debug, Clone)]
struct SimulatedClock(Arc<Mutex<Instant>>);

impl Clock for SimulatedClock {
    fn now(&self) -> Instant {
        *self.0.lock().unwrap()
    }

    fn sleep_until(&self, at: Instant) -> BoxFuture<'static, ()> {
        // Whoever waits is polled again and again: a time that has come is found then.
        let clock = self.clone();
        Box::pin(std::future::poll_fn(move |_| {
            if at <= clock.now() { Poll::Ready(()) } else { Poll::Pending }
        }))
    }
}

/// A directory that is away at times.
struct Flaky {
    inner: Box<dyn Publish>,
    chance: Chance,
    away: u64,
}

impl Publish for Flaky {
    fn publish<'a>(
        &'a mut self,
        message: &'a Message,
    ) -> BoxFuture<'a, Result<Receipt, PublishError>> {
        if self.away > 0 && self.chance.one_of(self.away) {
            return Box::pin(std::future::ready(Err(PublishError::retry("away"))));
        }
        self.inner.publish(message)
    }

    fn flush(&mut self) -> BoxFuture<'_, Result<(), PublishError>> {
        self.inner.flush()
    }

    fn close(self: Box<Self>) -> BoxFuture<'static, Result<(), PublishError>> {
        self.inner.close()
    }

    fn stored(&self) -> Option<u64> {
        self.inner.stored()
    }

    fn needs_payload(&self) -> bool {
        false
    }

    fn in_flight_max(&self) -> usize {
        self.inner.in_flight_max()
    }
}

/// A record: its connection, and its number there.
type Record = (u64, u64);

/// What a seed makes of the service.
#[derive(Debug)]
struct Settings {
    fsync: Fsync,
    format: FileFormat,
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
    clock: Arc<SimulatedClock>,
    metrics: Metrics,
    sent: BTreeSet<Record>,
    acknowledged: BTreeSet<Record>,
    /// Those that are no rows.
    rejects: BTreeSet<Record>,
    connection: u64,
    /// Whether the power was lost while not everything was synced.
    may_have_lost: bool,
}

/// A process that runs.
struct Process {
    order: Pin<Box<dyn Future<Output = ()>>>,
    sink: Pin<Box<dyn Future<Output = crate::sink::End>>>,
    order_ended: bool,
    sink_ended: bool,
    results: Option<mpsc::Sender<oneshot::Receiver<Parsed>>>,
    give_up: Arc<AtomicBool>,
    waiting: VecDeque<(Vec<Record>, oneshot::Receiver<Answer>)>,
    next: u64,
}

const OUT: &str = "/out";

impl World {
    fn new(seed: u64) -> Self {
        let mut chance = Chance(seed);
        let settings = Settings {
            fsync: match chance.below(6) {
                0 => Fsync::Never,
                1 => Fsync::Second,
                _ => Fsync::Always,
            },
            format: if chance.one_of(3) { FileFormat::Parquet } else { FileFormat::Arrow },
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
        Self {
            disk: SimulatedDisk::new(Chance(chance.next())),
            clock: Arc::new(SimulatedClock(Arc::new(Mutex::new(Instant::now())))),
            metrics: Metrics::new().unwrap(),
            sent: BTreeSet::new(),
            acknowledged: BTreeSet::new(),
            rejects: BTreeSet::new(),
            connection: 0,
            may_have_lost: false,
            settings,
            chance,
        }
    }

    fn options(&self) -> DirectoryOptions {
        DirectoryOptions {
            format: self.settings.format,
            roll_bytes: Size(self.settings.roll_bytes),
            fsync: self.settings.fsync,
            codec: "none".to_owned(),
            ..DirectoryOptions::new(OUT)
        }
    }

    /// Opens everything, as a start of the service does.
    fn start(&mut self) -> Result<Process, String> {
        let disk: Arc<dyn Disk> = Arc::new(self.disk.clone());
        // The clock is put back to the same time before each start.
        let numbers = Numbers::starting_at(1);
        let spool = match self.settings.spool {
            None => None,
            Some(when) => {
                let path = Path::new("/spool/s-directory");
                let spool = Spool::open(Arc::clone(&disk), path, 1 << 20);
                let spool = spool.map_err(|error| error.to_string())?.with_segments(2000);
                numbers.above(spool.last_sequence());
                let config = SpoolConfig {
                    path: "/spool".into(),
                    bytes: Size(1 << 20),
                    fsync: self.settings.fsync,
                    when,
                };
                Some((config, spool))
            }
        };
        let directory = Directory::open(Arc::clone(&disk), self.options(), "s");
        let directory = directory.map_err(|error| error.to_string())?;
        numbers.above(directory.stored().unwrap_or(0));
        let open: Box<dyn Publish> = Box::new(Flaky {
            inner: Box::new(directory),
            chance: Chance(self.chance.next()),
            away: self.settings.away,
        });
        let rejects = |name: &str| {
            let durable = self.settings.fsync == Fsync::Always;
            Rejects::new(Arc::clone(&disk), "/rejects".into(), name, durable)
        };
        let config = StreamConfig { schema: "n: int64".to_owned(), ..StreamConfig::default() };
        let queue = Arc::new(Queue::new(1));
        let counts = self.metrics.stream("s");
        let stream = Stream::new("s", &Config::default(), config, counts, queue).unwrap().0;
        let give_up = Arc::new(AtomicBool::new(false));
        let (sender, queue) = mpsc::channel(QUEUE_MAX);
        let (results, ordered) = mpsc::channel(8);
        let sink = Sink {
            config: SinkConfig::directory("never-opened"),
            name: "directory".to_owned(),
            schema: stream.compiled().schema.clone(),
            metrics: Arc::new(self.metrics.sink("s", "directory")),
            rejects: rejects("s.directory"),
            latency: None,
            clock: self.clock.clone(),
            give_up: Arc::clone(&give_up),
            queue,
            open: Some(open),
            spool,
            stream: Arc::clone(&stream),
        };
        let order = Order {
            stream,
            results: ordered,
            sinks: vec![sender],
            rejects: rejects("s"),
            numbers: Arc::new(numbers),
            last_rejects: Arc::default(),
            clock: self.clock.clone(),
            give_up: Arc::clone(&give_up),
        };
        self.connection += 1;
        tracing::info!(connection = self.connection, "started");
        Ok(Process {
            order: Box::pin(order.run()),
            sink: Box::pin(sink.run()),
            order_ended: false,
            sink_ended: false,
            results: Some(results),
            give_up,
            waiting: VecDeque::new(),
            next: 0,
        })
    }

    /// A connection hands some records over.
    fn send(&mut self, process: &mut Process) {
        let Some(results) = &process.results else { return };
        let Ok(place) = results.try_reserve() else { return };
        let connection = self.connection;
        let mut records = Vec::new();
        let mut parsed = Parsed::default();
        for _ in 0..self.chance.below(3) {
            let rows = 1 + self.chance.below(4);
            let numbers: Vec<u64> = (process.next..process.next + rows).collect();
            process.next += rows;
            let batch = batch(connection, &numbers);
            let origins = vec![Origin {
                connection,
                first: numbers[0],
                last: numbers[numbers.len() - 1],
                rows: numbers.len(),
            }];
            parsed.drafts.push(Draft { batch, payload: bytes::Bytes::new(), origins, key: None });
            records.extend(numbers.into_iter().map(|number| (connection, number)));
        }
        if self.chance.one_of(5) {
            parsed.rejects.push(reject(connection, process.next));
            records.push((connection, process.next));
            self.rejects.insert((connection, process.next));
            process.next += 1;
        }
        let (reply, answer) = oneshot::channel();
        parsed.pending.push(pending(Ticket::Request(reply), self.grant()));
        let (sender, result) = oneshot::channel();
        place.send(result);
        drop(sender.send(parsed));
        self.sent.extend(&records);
        process.waiting.push_back((records, answer));
    }

    fn grant(&self) -> Grant {
        let memory = Memory::new(1 << 20, self.metrics.memory_bytes.clone());
        let mut grant = std::pin::pin!(memory.grant(1));
        match grant.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(grant) => grant.unwrap(),
            Poll::Pending => unreachable!("there is enough"),
        }
    }

    /// Does one thing.
    fn step(&mut self, process: &mut Process) {
        let mut context = Context::from_waker(Waker::noop());
        match self.chance.below(8) {
            0 => self.send(process),
            1..=3 if !process.order_ended => {
                process.order_ended = process.order.as_mut().poll(&mut context).is_ready();
            }
            4..=6 if !process.sink_ended => {
                process.sink_ended = process.sink.as_mut().poll(&mut context).is_ready();
            }
            _ => {
                let time = if self.chance.one_of(10) { 11_000 } else { self.chance.below(200) };
                *self.clock.0.lock().unwrap() += Duration::from_millis(time);
            }
        }
        process.waiting.retain_mut(|(records, answer)| match answer.try_recv() {
            Ok(answer) => {
                if answer.fate() == Fate::Stored {
                    self.acknowledged.extend(records.iter());
                }
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
        for _ in 0..self.chance.below(1500) {
            self.step(&mut process);
            if self.disk.has_crashed() {
                drop(process);
                let power_was_lost = self.chance.one_of(2);
                return self.lose(power_was_lost);
            }
        }
        // An end in good order; on a disk that fails it may not take for ever.
        process.results = None;
        let mut steps = 0;
        while !(self.disk.has_crashed() || process.order_ended && process.sink_ended) {
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

    /// Looks at what is stored. Whatever was left of parts has been completed.
    fn check(&self) {
        if self.may_have_lost {
            // Files may be torn: nothing was promised. That the service starts is all.
            return;
        }
        let files = self.files();
        let mut places: BTreeMap<Record, String> = BTreeMap::new();
        let mut last: BTreeMap<u64, u64> = BTreeMap::new();
        for (name, records) in files {
            for record in records {
                assert!(self.sent.contains(&record), "{name}: {record:?} was not sent");
                let other = places.insert(record, name.clone());
                assert!(other.is_none(), "{name}: {record:?} is in {other:?} too");
                let before = last.insert(record.0, record.1);
                assert!(before < Some(record.1), "{name}: {record:?} is behind {before:?}");
            }
        }
        let mut stored: BTreeSet<Record> = places.into_keys().collect();
        stored.extend(self.spooled());
        stored.extend(self.rejected());
        let missing: Vec<(&Record, bool)> = self
            .acknowledged
            .difference(&stored)
            .map(|record| (record, self.rejects.contains(record)))
            .collect();
        assert!(missing.is_empty(), "acknowledged and not stored (or rejected): {missing:?}");
    }

    fn files(&self) -> Vec<(String, Vec<Record>)> {
        let mut names = self.disk.list(Path::new(OUT)).unwrap();
        names.sort();
        let extension =
            if self.settings.format == FileFormat::Arrow { ".arrow" } else { ".parquet" };
        names.retain(|name| name.ends_with(extension));
        let read = |name: String| {
            let bytes = read_all(&self.disk, &PathBuf::from(OUT).join(&name)).unwrap();
            let records = match self.settings.format {
                FileFormat::Arrow => {
                    let reader = FileReader::try_new(std::io::Cursor::new(bytes), None).unwrap();
                    reader.flat_map(|batch| records(&batch.unwrap())).collect()
                }
                FileFormat::Parquet => {
                    use parquet::arrow::arrow_reader::ParquetRecordBatchReader;
                    let bytes = bytes::Bytes::from(bytes);
                    let reader = ParquetRecordBatchReader::try_new(bytes, 1024).unwrap();
                    reader.flat_map(|batch| records(&batch.unwrap())).collect()
                }
            };
            (name, records)
        };
        names.into_iter().map(read).collect()
    }

    fn spooled(&self) -> Vec<Record> {
        if self.settings.spool.is_none() {
            return Vec::new();
        }
        // A look at a copy of the files, not at the spool that is open.
        let copy = SimulatedDisk::new(Chance(0));
        let folder = Path::new("/spool/s-directory");
        for name in self.disk.list(folder).unwrap() {
            let bytes = read_all(&self.disk, &folder.join(&name)).unwrap();
            copy.create_new(&folder.join(&name)).unwrap().write_all(&bytes).unwrap();
        }
        let mut spool = Spool::open(Arc::new(copy), folder, 1 << 20).unwrap();
        let mut all = Vec::new();
        while let Some((message, _)) = spool.next().unwrap() {
            all.extend(records(&message.batch));
        }
        all
    }

    fn rejected(&self) -> Vec<Record> {
        let folder = Path::new("/rejects");
        let mut all = Vec::new();
        for name in self.disk.list(folder).unwrap() {
            let text = read_all(&self.disk, &folder.join(&name)).unwrap();
            for line in text.split(|byte| *byte == b'\n') {
                // The last line may be half of one until something is added.
                let Ok(line) = serde_json::from_slice::<serde_json::Value>(line) else { continue };
                let text = line["text"].as_str().unwrap_or_default();
                if let Some((connection, number)) = text.split_once(':') {
                    all.push((connection.parse().unwrap(), number.parse().unwrap()));
                }
            }
        }
        all
    }
}

fn batch(connection: u64, numbers: &[u64]) -> RecordBatch {
    let names = numbers.iter().map(|number| format!("value {}", number % 200));
    let names: DictionaryArray<Int8Type> =
        names.collect::<Vec<_>>().iter().map(String::as_str).collect();
    let columns: [(&str, ArrayRef); 3] = [
        ("connection", Arc::new(UInt64Array::from(vec![connection; numbers.len()]))),
        ("number", Arc::new(UInt64Array::from(numbers.to_vec()))),
        ("name", Arc::new(names)),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.map(|(name, column)| (name, column, true)))
        .unwrap()
}

fn records(batch: &RecordBatch) -> Vec<Record> {
    let column = |at| batch.column(at).as_primitive::<UInt64Type>().values();
    let names = arrow_cast::cast(batch.column(2), &arrow_schema::DataType::Utf8).unwrap();
    let rows = column(0).iter().zip(column(1)).zip(names.as_string::<i32>());
    let rows = rows.map(|((connection, number), name)| {
        assert_eq!(name.unwrap(), format!("value {}", number % 200));
        (*connection, *number)
    });
    rows.collect()
}

fn reject(connection: u64, number: u64) -> Reject {
    let error = DataError {
        kind: ErrorKind::Syntax,
        position: Position::default(),
        path: String::new(),
        expected: String::new(),
        found: String::new(),
        hint: None,
    };
    let record = format!("{connection}:{number}").into_bytes();
    Reject { error, record, kept_as_null: false }
}

fn pending(ticket: Ticket, grant: Grant) -> Pending {
    let answer = Answer::new(0, 0, false, 0);
    Pending { ticket, records: 0, bytes: 0, answer, grants: (grant, None) }
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
    if world.may_have_lost {
        return;
    }
    let mut stored: BTreeSet<Record> =
        world.files().into_iter().flat_map(|(_, records)| records).collect();
    stored.extend(world.rejected());
    let missing: Vec<&Record> = world.acknowledged.difference(&stored).collect();
    if world.settings.spool.is_none() || world.settings.away == 0 {
        assert!(missing.is_empty(), "acknowledged and nowhere at the end: {missing:?}");
    }
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
    for seed in 0..arrowsmith_testkit::scale::number("ARROWSMITH_MODEL_SEEDS", 200, 20_000) {
        let ended = std::panic::catch_unwind(|| run(seed));
        assert!(
            ended.is_ok(),
            "ARROWSMITH_MODEL_SEED={seed} shows it: {:?}",
            World::new(seed).settings
        );
    }
}
