// SPDX-License-Identifier: Apache-2.0
//! The threads that encode, and what they work on.
//!
//! A column chunk is encoded by one thread at a time, its arrays in their order; its pages are
//! compressed by any thread. So the same bytes come from any number of threads.

use std::collections::VecDeque;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use arrow_array::ArrayRef;
use arrowsmith_core::{Error, Result};

use crate::chunk::{Chunk, Page};
use crate::column::{Encoder, RawPage, Tools};
use crate::options::{Codec, Options};
use crate::schema::Leaf;

/// Locks; a panic elsewhere is reported by [`Pool::error`] and leaves nothing half done that is
/// used after it.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Work for an encoder.
enum Item {
    /// Rows of a column, and their share of the backlog in bytes.
    Rows(ArrayRef, Range<usize>, u64),
    /// There are no more rows.
    End,
}

/// What waits for an encoder.
#[derive(Default)]
struct Inbox {
    items: VecDeque<Item>,
    /// Whether a task is queued or running that will take the items.
    scheduled: bool,
}

/// Pages as they are finished, the dictionary's first.
#[derive(Default)]
struct Pages {
    slots: Vec<Option<Page>>,
    /// Pages that are being compressed.
    open: usize,
    /// The codec, once all pages are known.
    ended: Option<Codec>,
    bloom: Option<Vec<u8>>,
}

/// A column chunk in progress.
pub(crate) struct Column {
    inbox: Mutex<Inbox>,
    encoder: Mutex<Encoder>,
    pages: Mutex<Pages>,
    group: Arc<Progress>,
}

/// How far a row group is.
struct Progress {
    /// Columns that are not complete.
    left: Mutex<usize>,
}

/// A row group in progress.
pub(crate) struct Group {
    pub(crate) columns: Vec<Arc<Column>>,
    pub(crate) rows: usize,
    progress: Arc<Progress>,
}

impl Group {
    pub(crate) fn new(leaves: &[Arc<Leaf>], options: &Arc<Options>) -> Self {
        let progress = Arc::new(Progress { left: Mutex::new(leaves.len()) });
        let column = |leaf| Column::new(leaf, options, &progress);
        let columns = leaves.iter().map(column).collect();
        Self { columns, rows: 0, progress }
    }

    /// A column more, without the rows so far.
    pub(crate) fn add(&self, leaf: &Arc<Leaf>, options: &Arc<Options>) -> Arc<Column> {
        *lock(&self.progress.left) += 1;
        Column::new(leaf, options, &self.progress)
    }

    /// One column less, before the group has ended.
    pub(crate) fn remove(&self) {
        let mut left = lock(&self.progress.left);
        *left = left.saturating_sub(1);
    }

    /// Whether all columns are complete.
    pub(crate) fn is_complete(&self) -> bool {
        *lock(&self.progress.left) == 0
    }
}

impl Column {
    fn new(leaf: &Arc<Leaf>, options: &Arc<Options>, group: &Arc<Progress>) -> Arc<Self> {
        Arc::new(Self {
            inbox: Mutex::default(),
            encoder: Mutex::new(Encoder::new(Arc::clone(leaf), Arc::clone(options))),
            // The first slot is the dictionary's.
            pages: Mutex::new(Pages { slots: vec![None], ..Pages::default() }),
            group: Arc::clone(group),
        })
    }

    /// The chunk, once it is complete.
    pub(crate) fn take(&self) -> Chunk {
        let mut pages = lock(&self.pages);
        let slots = std::mem::take(&mut pages.slots);
        Chunk {
            pages: slots.into_iter().flatten().collect(),
            codec: pages.ended.unwrap_or(Codec::None),
            bloom: pages.bloom.take(),
        }
    }
}

enum Task {
    /// Encode what is in the inbox.
    Encode(Arc<Column>),
    /// Compress a page, of a slot.
    Compress(Arc<Column>, usize, Box<RawPage>, Codec),
}

#[derive(Default)]
struct Queue {
    tasks: VecDeque<Task>,
    /// Bytes that wait: rows, and pages to be compressed.
    backlog: u64,
    error: Option<Error>,
    /// Whether an error has been found; it may have been taken already.
    failed: bool,
    stop: bool,
}

struct Shared {
    options: Arc<Options>,
    threads: usize,
    queue: Mutex<Queue>,
    /// There is a task, or the end.
    work: Condvar,
    /// A task is finished.
    progress: Condvar,
}

/// Threads that encode, for one file or several that are written at the same time by one thread.
/// They end with the last writer that uses them.
#[derive(Clone)]
pub struct Workers(Arc<Threads>);

struct Threads {
    shared: Arc<Shared>,
    handles: Vec<JoinHandle<()>>,
}

impl Workers {
    /// Starts all threads but the calling one. The options are those of every file.
    ///
    /// # Errors
    /// [`Error::Config`] for an option with an invalid value, [`Error::Io`] if no thread can be
    /// started.
    pub fn new(options: Options) -> Result<Self> {
        options.check()?;
        let threads = match options.threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            threads => threads,
        };
        let shared = Arc::new(Shared {
            options: Arc::new(options),
            threads,
            queue: Mutex::default(),
            work: Condvar::new(),
            progress: Condvar::new(),
        });
        let mut threads = Threads { shared, handles: Vec::new() };
        for number in 1..threads.shared.threads {
            let shared = Arc::clone(&threads.shared);
            let builder = std::thread::Builder::new().name(format!("parquet-writer-{number}"));
            threads.handles.push(builder.spawn(move || shared.run())?);
        }
        Ok(Self(Arc::new(threads)))
    }

    /// The options of every file.
    pub(crate) fn options(&self) -> &Arc<Options> {
        &self.0.shared.options
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        lock(&self.shared.queue).stop = true;
        self.shared.work.notify_all();
        for thread in self.handles.drain(..) {
            // A panic has been reported as an error.
            drop(thread.join());
        }
    }
}

/// The threads, as the writer of a file uses them.
pub(crate) struct Pool {
    workers: Workers,
    /// Of the calling thread.
    tools: Tools,
}

impl Pool {
    pub(crate) fn new(workers: Workers) -> Self {
        Self { workers, tools: Tools::default() }
    }

    fn shared(&self) -> &Arc<Shared> {
        &self.workers.0.shared
    }

    /// Queues rows of a column.
    pub(crate) fn push(
        &self,
        column: &Arc<Column>,
        array: ArrayRef,
        rows: Range<usize>,
        bytes: u64,
    ) {
        lock(&self.shared().queue).backlog += bytes;
        self.queue(column, Item::Rows(array, rows, bytes));
    }

    /// Ends a column.
    pub(crate) fn end(&self, column: &Arc<Column>) {
        self.queue(column, Item::End);
    }

    fn queue(&self, column: &Arc<Column>, item: Item) {
        let mut inbox = lock(&column.inbox);
        inbox.items.push_back(item);
        if !inbox.scheduled {
            inbox.scheduled = true;
            drop(inbox);
            self.shared().add(Task::Encode(Arc::clone(column)), 0);
        }
    }

    /// Works on tasks until the backlog is within its limit.
    pub(crate) fn relieve(&mut self) -> Result<()> {
        let shared = self.shared();
        let limit = if shared.threads == 1 { 0 } else { shared.options.backlog_bytes };
        self.help(|queue| queue.backlog <= limit as u64 && (limit > 0 || queue.tasks.is_empty()))
    }

    /// Works on tasks until a row group is complete.
    pub(crate) fn complete(&mut self, group: &Group) -> Result<()> {
        self.help(|_| group.is_complete())
    }

    /// Works on tasks, or waits for others, until a condition is true.
    fn help(&mut self, done: impl Fn(&Queue) -> bool) -> Result<()> {
        let shared = Arc::clone(self.shared());
        let mut queue = lock(&shared.queue);
        loop {
            if queue.failed {
                let again = || Error::Config("the writer has failed before".to_owned());
                return Err(queue.error.take().unwrap_or_else(again));
            }
            if done(&queue) {
                return Ok(());
            }
            queue = match queue.tasks.pop_front() {
                Some(task) => {
                    drop(queue);
                    shared.task(task, &mut self.tools);
                    lock(&shared.queue)
                }
                None => {
                    let waited = shared.progress.wait(queue);
                    waited.unwrap_or_else(PoisonError::into_inner)
                }
            };
        }
    }
}

impl Shared {
    /// A thread: tasks until the end.
    fn run(&self) {
        let mut tools = Tools::default();
        let mut queue = lock(&self.queue);
        while !queue.stop {
            queue = match queue.tasks.pop_front() {
                Some(task) => {
                    drop(queue);
                    self.task(task, &mut tools);
                    lock(&self.queue)
                }
                None => self.work.wait(queue).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }

    fn add(&self, task: Task, bytes: u64) {
        let mut queue = lock(&self.queue);
        queue.backlog += bytes;
        match task {
            // Pages first: they are memory that waits, and of the oldest row group.
            Task::Compress(..) => queue.tasks.push_front(task),
            Task::Encode(_) => queue.tasks.push_back(task),
        }
        drop(queue);
        self.work.notify_one();
        // The calling thread may be waiting for something to do.
        self.progress.notify_one();
    }

    fn task(&self, task: Task, tools: &mut Tools) {
        let result = catch_unwind(AssertUnwindSafe(|| match task {
            Task::Encode(column) => self.encode(&column, tools),
            Task::Compress(column, slot, page, codec) => {
                let bytes = page.body.len() as u64;
                let result = self.compress(&column, slot, *page, codec, tools);
                self.relieved(bytes);
                result
            }
        }));
        let error = match result {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(error),
            Err(_) => Some(Error::Config("a thread of the Parquet writer has panicked".to_owned())),
        };
        if let Some(error) = error {
            let mut queue = lock(&self.queue);
            queue.failed = true;
            queue.error.get_or_insert(error);
            queue.tasks.clear();
        }
        // Under the lock, so that the calling thread does not miss it between looking and waiting.
        let _queue = lock(&self.queue);
        self.progress.notify_one();
    }

    fn relieved(&self, bytes: u64) {
        let mut queue = lock(&self.queue);
        queue.backlog = queue.backlog.saturating_sub(bytes);
        self.progress.notify_one();
    }

    fn encode(&self, column: &Arc<Column>, tools: &mut Tools) -> Result<()> {
        let mut encoder = lock(&column.encoder);
        loop {
            let item = {
                let mut inbox = lock(&column.inbox);
                let item = inbox.items.pop_front();
                inbox.scheduled = item.is_some();
                item
            };
            let mut page = |raw: RawPage, codec: Codec, tools: &mut Tools| {
                self.page(column, raw, codec, tools)
            };
            match item {
                Some(Item::Rows(array, rows, bytes)) => {
                    encoder.push(array, rows, tools, &mut page)?;
                    self.relieved(bytes);
                }
                Some(Item::End) => {
                    let dictionary = encoder.finish(tools, &mut page)?;
                    let codec = encoder.codec();
                    let bloom = encoder.bloom()?;
                    if let Some(raw) = dictionary {
                        let options = &self.options;
                        let page = Page::new(raw, codec, options, &mut tools.compressor)?;
                        lock(&column.pages).slots[0] = Some(page);
                    }
                    let mut pages = lock(&column.pages);
                    pages.ended = Some(codec);
                    pages.bloom = bloom;
                    Self::settle(column, &pages);
                }
                None => return Ok(()),
            }
        }
    }

    /// A page is encoded: compresses it here, where it is still in the cache, unless another thread
    /// has nothing to do.
    fn page(
        &self,
        column: &Arc<Column>,
        raw: RawPage,
        codec: Codec,
        tools: &mut Tools,
    ) -> Result<()> {
        let slot = {
            let mut pages = lock(&column.pages);
            pages.slots.push(None);
            pages.open += 1;
            pages.slots.len() - 1
        };
        let busy = self.threads == 1 || lock(&self.queue).tasks.len() + 1 >= self.threads;
        if busy {
            return self.compress(column, slot, raw, codec, tools);
        }
        let bytes = raw.body.len() as u64;
        self.add(Task::Compress(Arc::clone(column), slot, Box::new(raw), codec), bytes);
        Ok(())
    }

    fn compress(
        &self,
        column: &Arc<Column>,
        slot: usize,
        raw: RawPage,
        codec: Codec,
        tools: &mut Tools,
    ) -> Result<()> {
        let page = Page::new(raw, codec, &self.options, &mut tools.compressor)?;
        let mut pages = lock(&column.pages);
        pages.slots[slot] = Some(page);
        pages.open -= 1;
        Self::settle(column, &pages);
        Ok(())
    }

    /// Counts a column that is complete, once: when its last page is.
    fn settle(column: &Column, pages: &Pages) {
        if pages.open == 0 && pages.ended.is_some() {
            let mut left = lock(&column.group.left);
            *left = left.saturating_sub(1);
        }
    }
}
