// SPDX-License-Identifier: Apache-2.0
//! The time that queries have, and the places of those that are planned.
//!
//! Planning never blocks: it has threads of its own, one per slot. A request that times out is
//! answered at once; the thread continues to the next rule that checks (`deadline`), and only then
//! is its slot free.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use arrowsmith_flight::carried;
use datafusion::common::{DataFusionError, Result as PlanResult};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tonic::Status;

use crate::deadline::Deadline;

/// Time limit for planning a statement; running it has another.
const PLANNING_TIME: Duration = Duration::from_secs(60);

/// Maximum size of all statements that are planned or wait for it, in KiB.
const WAITING_KIB_MAX: usize = 64 << 10;

pub(crate) fn unplanned() -> Status {
    Status::internal("sql: the statement could not be planned")
}

/// That of a statement which is planned from now on, without a caller's.
#[cfg(feature = "fuzzing")]
pub(crate) fn deadline() -> (Deadline, crate::deadline::Waiting) {
    Deadline::new(Instant::now().checked_add(PLANNING_TIME / 2))
}

fn late(all: Duration) -> Status {
    Status::deadline_exceeded(format!("sql: the query took more than {} s", all.as_secs()))
}

/// When a query has to end, for its operators and functions: a join that finds nothing works for
/// long between two points at which a timer could end it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ends(Arc<Mutex<State>>);

#[derive(Debug, Default)]
enum State {
    /// No time is counted.
    #[default]
    Idle,
    /// Work ends at this time; all the time that the query has.
    Until(Instant, Duration),
    /// The query has ended.
    Over,
}

impl Ends {
    /// An error once the time is over.
    pub(crate) fn check(&self) -> PlanResult<()> {
        let reason = match *self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            State::Until(ends, all) if Instant::now() >= ends => late(all),
            State::Over => Status::cancelled("sql: the query has ended"),
            _ => return Ok(()),
        };
        Err(DataFusionError::External(Box::new(carried(reason))))
    }

    fn set(&self, state: State) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = state;
    }
}

/// The time that a query has left. The time for which it waits for its reader is not counted.
pub(crate) struct Clock {
    left: Option<Duration>,
    all: Option<Duration>,
    ends: Ends,
}

impl Drop for Clock {
    fn drop(&mut self) {
        self.ends.set(State::Over);
    }
}

impl Clock {
    pub(crate) fn new(all: Option<Duration>) -> Self {
        Self { left: all, all, ends: Ends::default() }
    }

    /// The same time, for what works for the query.
    pub(crate) fn ends(&self) -> Ends {
        self.ends.clone()
    }

    /// Does work for as long as there is time.
    pub(crate) async fn count<T>(&mut self, work: impl Future<Output = T>) -> Result<T, Status> {
        let (Some(left), Some(all)) = (self.left, self.all) else { return Ok(work.await) };
        let start = Instant::now();
        self.ends.set(start.checked_add(left).map_or(State::Idle, |at| State::Until(at, all)));
        let done = tokio::time::timeout(left, work).await;
        self.ends.set(State::Idle);
        self.left = Some(left.saturating_sub(start.elapsed()));
        done.map_err(|_| late(all))
    }

    /// Runs planning on a thread of its own. After the time limit, or when the request is dropped,
    /// it ends at the next rule; until then it keeps its slot, so that there are never more threads
    /// than slots.
    pub(crate) async fn planned<T: Send + 'static>(
        &mut self,
        planners: &Planners,
        work: impl Future<Output = Result<T, Status>> + Send + 'static,
    ) -> Result<T, Status> {
        let working = Arc::clone(&planners.working);
        let permit = self.count(working.acquire_owned()).await?.map_err(|_| unplanned())?;
        let time = self.left.map_or(PLANNING_TIME, |left| left.min(PLANNING_TIME));
        let (deadline, _waiting) = Deadline::new(Instant::now().checked_add(time));
        let done = self.count(async move {
            let handle = tokio::runtime::Handle::current();
            let thread = tokio::task::spawn_blocking(move || {
                let result = deadline.run(|| handle.block_on(work));
                drop(permit);
                result
            });
            tokio::time::timeout(time, thread).await
        });
        let late = |_| {
            let seconds = time.as_secs_f64();
            Status::deadline_exceeded(format!("sql: planning took more than {seconds:.0} s"))
        };
        done.await?.map_err(late)?.map_err(|_| unplanned())?
    }
}

/// The places of statements that are being planned, and the room of those that wait for one.
#[derive(Clone)]
pub(crate) struct Planners {
    working: Arc<Semaphore>,
    waiting: Arc<Semaphore>,
}

impl Planners {
    pub(crate) fn new(threads: usize) -> Self {
        let working = Arc::new(Semaphore::new(threads));
        Self { working, waiting: Arc::new(Semaphore::new(WAITING_KIB_MAX)) }
    }

    /// Room for the text of a statement, until it has been planned.
    pub(crate) fn waits(&self, sql: &str) -> Result<OwnedSemaphorePermit, Status> {
        let kib = u32::try_from(sql.len().div_ceil(1 << 10).max(1)).unwrap_or(u32::MAX);
        let waiting = Arc::clone(&self.waiting);
        waiting.try_acquire_many_owned(kib).map_err(|_| {
            Status::resource_exhausted("sql: too many statements wait to be planned; try again")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deadline::check;

    /// Endless work that checks the time.
    async fn endless() -> Result<(), Status> {
        while check().is_ok() {
            std::thread::yield_now();
        }
        Err(Status::aborted("it ended by itself"))
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn who_is_late_gives_the_place_back() {
        let planners = Planners::new(1);
        let mut clock = Clock::new(Some(Duration::from_millis(20)));
        let late = clock.planned(&planners, endless()).await.unwrap_err();
        assert!(matches!(late.code(), tonic::Code::DeadlineExceeded | tonic::Code::Aborted));
        let mut clock = Clock::new(None);
        assert_eq!(clock.planned(&planners, async { Ok(7) }).await.unwrap(), 7);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn who_is_gone_gives_the_place_back() {
        let planners = Planners::new(1);
        let (begun, begins) = tokio::sync::oneshot::channel();
        let theirs = planners.clone();
        let caller = tokio::spawn(async move {
            let work = async move {
                let _ = begun.send(());
                endless().await
            };
            Clock::new(None).planned(&theirs, work).await
        });
        begins.await.unwrap();
        caller.abort();
        let mut clock = Clock::new(None);
        assert_eq!(clock.planned(&planners, async { Ok(7) }).await.unwrap(), 7);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_panic_gives_the_place_back() {
        let planners = Planners::new(1);
        let mut clock = Clock::new(None);
        let panics = clock.planned::<()>(&planners, async { panic!("as upstream may") });
        assert_eq!(panics.await.unwrap_err().code(), tonic::Code::Internal);
        assert_eq!(clock.planned(&planners, async { Ok(7) }).await.unwrap(), 7);
    }

    #[test]
    fn what_waits_is_bounded_by_its_text() {
        let planners = Planners::new(1);
        let long = "x".repeat(1 << 20);
        let all: Vec<_> = (0..64).map(|_| planners.waits(&long).unwrap()).collect();
        let refused = planners.waits("select 1").unwrap_err();
        assert_eq!(refused.code(), tonic::Code::ResourceExhausted);
        drop(all);
        assert!(planners.waits(&long).is_ok());
    }
}
