// SPDX-License-Identifier: Apache-2.0
//! Rates of each stream over the last hour, so that a dashboard opened later shows them.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval};

use super::status::StatusSource;
use crate::receive::stopped;

/// Time from one point to the next.
const STEP: Duration = Duration::from_secs(5);

/// Points that are kept: an hour.
const POINTS_MAX: usize = 720;

/// Counters of a stream at a time: bytes and records received.
type Count = (u64, u64);

/// The points.
#[derive(Debug, Default)]
pub(crate) struct History(Mutex<Points>);

#[derive(Debug, Default)]
struct Points {
    last: Option<(Instant, Vec<Count>)>,
    /// For each step and stream: bytes and records per second.
    rates: VecDeque<Vec<(f64, f64)>>,
}

impl History {
    /// Adds what the counters of all streams are at a time.
    fn add(&self, now: Instant, counts: Vec<Count>) {
        let mut points = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((then, before)) = points.last.take() {
            let seconds = now.saturating_duration_since(then).as_secs_f64().max(1e-3);
            #[expect(clippy::cast_precision_loss, reason = "a line of some pixels")]
            let rate = |now: u64, then: u64| now.saturating_sub(then) as f64 / seconds;
            let one = |(now, then): (&Count, &Count)| (rate(now.0, then.0), rate(now.1, then.1));
            let rates = counts.iter().zip(&before).map(one).collect();
            points.rates.push_back(rates);
            if points.rates.len() > POINTS_MAX {
                points.rates.pop_front();
            }
        }
        points.last = Some((now, counts));
    }

    /// The object of `/v1/status/history.json`, for streams of these names: rates, the newest last.
    pub(crate) fn value(&self, names: &[&str]) -> Value {
        let points = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let of = |stream: usize, which: fn(&(f64, f64)) -> f64| -> Vec<u64> {
            let rates = points.rates.iter().map(|all| all.get(stream).map_or(0.0, which));
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a rate, rounded"
            )]
            rates.map(|rate| rate.round() as u64).collect()
        };
        let streams: Vec<Value> = names
            .iter()
            .enumerate()
            .map(|(number, name)| {
                let (bytes, records) = (of(number, |rate| rate.0), of(number, |rate| rate.1));
                json!({ "name": name, "bytes_per_s": bytes, "records_per_s": records })
            })
            .collect();
        json!({ "step_s": STEP.as_secs(), "streams": streams })
    }
}

/// Adds points until the service ends.
pub(crate) async fn keep(
    history: Arc<History>,
    board: Arc<StatusSource>,
    stop: watch::Receiver<bool>,
) {
    let mut steps = interval(STEP);
    steps.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = steps.tick() => {}
            () = stopped(stop.clone()) => return,
        }
        history.add(Instant::now(), board.received());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_hour_of_rates_is_kept() {
        let history = History::default();
        let begin = Instant::now();
        for step in 0..1000_u64 {
            let now = begin + STEP * u32::try_from(step).unwrap();
            history.add(now, vec![(500 * step, 5 * step), (0, 0)]);
        }
        let value = history.value(&["a", "b"]);
        assert_eq!(value["step_s"], 5);
        let first = &value["streams"][0];
        assert_eq!(first["name"], "a");
        assert_eq!(first["bytes_per_s"].as_array().unwrap().len(), POINTS_MAX);
        assert_eq!(
            (&first["bytes_per_s"][719], &first["records_per_s"][0]),
            (&100.into(), &1.into())
        );
        assert_eq!(value["streams"][1]["bytes_per_s"][5], 0);
    }
}
