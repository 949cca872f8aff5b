// SPDX-License-Identifier: Apache-2.0
//! The parts of a stream made from its configuration: queues, order, sinks with their spools.

use std::sync::{Arc, PoisonError};

use arrowsmith_core::{Error, Result};
use arrowsmith_publish::PublishError;
use tokio::sync::mpsc;

use super::stages::Stages;
use crate::config::{Config, Fsync, StreamConfig};
use crate::observe::last_rejects::LastRejects;
use crate::observe::latency::Latency;
use crate::observe::metrics::Metrics;
use crate::observe::status::StreamAndSinks;
use crate::publish::order::Order;
use crate::publish::sinks::{Needs, SinkConfig};
use crate::publish::worker::{QUEUE_MAX, Sink};
use crate::rejects::Rejects;
use crate::sequence::Sequence;
use crate::spool::Spool;
use crate::stream::Stream;
use crate::{clock, disk};

/// Streams under construction.
pub(super) struct Parts<'a> {
    pub(super) stages: &'a mut Stages,
    pub(super) metrics: Arc<Metrics>,
    pub(super) latency: Option<Latency>,
    pub(super) last_rejects: Arc<LastRejects>,
    pub(super) board: Vec<StreamAndSinks>,
}

impl Parts<'_> {
    pub(super) fn add(&mut self, config: &Config, name: &str, stream: &StreamConfig) -> Result<()> {
        let metrics = self.metrics.stream(name);
        let (running, results) =
            Stream::new(name, config, stream.clone(), metrics, Arc::clone(&self.stages.queue))?;
        let numbers = Arc::new(Sequence::begin());
        let spooled = stream.spool.as_ref().is_some_and(|spool| spool.fsync == Fsync::Always);
        // Rejects count as stored: they are to outlive whatever the records would.
        let durable = spooled || stream.sinks.iter().any(SinkConfig::is_durable);
        let removed = running.metrics.removed_rejects_bytes.clone();
        let rejects = |name: &str| {
            let rejects = Rejects::new(disk::system(), stream.rejects.clone(), name, durable);
            match stream.rejects_bytes.0 as u64 {
                0 => rejects,
                bytes_max => rejects.with_limit(bytes_max, removed.clone()),
            }
        };
        let schema = Arc::clone(&running.compiled().schema);
        let mut needs = Needs::default();
        let mut queues = Vec::new();
        let mut shown = Vec::new();
        for (number, sink) in stream.sinks.iter().enumerate() {
            let sink_name = sink.name(number);
            needs = needs.and(sink.needs());
            let metrics = Arc::new(self.metrics.sink(name, &sink_name));
            shown.push((sink_name.clone(), Arc::clone(&metrics)));
            let spool = match &stream.spool {
                None => None,
                Some(config) => {
                    let folder = config.path.join(format!("{name}-{sink_name}"));
                    let spool = Spool::open(disk::system(), &folder, config.bytes.0 as u64);
                    let spool = spool.map_err(|error| Error::io(&folder, error))?;
                    numbers.above(spool.last_sequence());
                    Some((config.clone(), spool))
                }
            };
            let opening = sink.open(name, Arc::clone(&schema), &metrics);
            let open = match self.stages.runtime()?.block_on(opening) {
                Ok(open) => {
                    needs = needs.and(Needs::of(&*open));
                    numbers.above(open.stored().unwrap_or(0));
                    Some(open)
                }
                Err(error @ PublishError::Fatal(_)) => {
                    return Err(Error::Config(format!("stream.{name}, sink {sink_name}: {error}")));
                }
                Err(error) => {
                    tracing::warn!(stream = name, sink = sink_name, %error, "the sink is away; trying again");
                    None
                }
            };
            let (sender, queue) = mpsc::channel(QUEUE_MAX);
            queues.push(sender);
            self.stages.publish(Sink {
                stream: Arc::clone(&running),
                config: sink.clone(),
                name: sink_name.clone(),
                schema: Arc::clone(&schema),
                metrics,
                rejects: rejects(&format!("{name}.{sink_name}")),
                clock: clock::system(),
                latency: self.latency.clone(),
                give_up: Arc::clone(&self.stages.give_up),
                queue,
                open,
                spool,
            })?;
        }
        *running.needs.write().unwrap_or_else(PoisonError::into_inner) = needs;
        self.stages.order(Order {
            stream: Arc::clone(&running),
            results,
            sinks: queues,
            rejects: rejects(name),
            clock: clock::system(),
            numbers,
            last_rejects: Arc::clone(&self.last_rejects),
            give_up: Arc::clone(&self.stages.give_up),
        })?;
        self.board.push((running, shown));
        Ok(())
    }
}
