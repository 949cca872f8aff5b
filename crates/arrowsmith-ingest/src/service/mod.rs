// SPDX-License-Identifier: Apache-2.0
//! [`Service`]: all stages put together, started, reloaded, drained.
//!
//! Receivers are tasks of a Tokio runtime; parsers, the order of a stream, and each sink have
//! threads of their own. How they end is in [`Stages`].

mod build;
mod signals;
mod stages;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use arrowsmith_core::{Error, Result};
use arrowsmith_publish::Slots;
use serde::Serialize;
use tokio::net::TcpListener;

use self::build::Parts;
use self::signals::{Signal, Signals};
use self::stages::Stages;
use crate::compiled::Compiled;
use crate::config::{Config, StreamConfig};
use crate::memory::Memory;
use crate::observe::history;
use crate::observe::latency::Latency;
use crate::observe::metrics::Metrics;
use crate::observe::otlp;
use crate::observe::status::{StatusSource, Texts};
use crate::observe::web::{self, Web};
use crate::receive::http::{self, Intake};
use crate::receive::{Common, follow, server, tcp, tls};
use crate::sequence::Sequence;
use crate::stream::{Stream, group_bytes};

/// Connections that the system keeps while they wait to be taken.
const BACKLOG: u32 = 1024;

/// A service that runs. Dropping it ends it without draining.
pub struct Service {
    config: Config,
    stages: Stages,
    web: Arc<Web>,
    addresses: BTreeMap<String, SocketAddr>,
    /// Another service may have another number.
    started: Instant,
}

/// The counts of all streams at the end.
#[derive(Debug, Clone, Default, Serialize, PartialEq, Eq)]
pub struct Summary {
    /// The streams, by name.
    pub streams: BTreeMap<String, StreamSummary>,
}

/// Counts of the records of a stream: `received = published + rejected + spooled + unpublished`.
#[derive(Debug, Clone, Copy, Default, Serialize, PartialEq, Eq)]
pub struct StreamSummary {
    /// Records met.
    pub received: u64,
    /// Records that every sink has stored.
    pub published: u64,
    /// Records in the rejects, or refused to the client that sent them.
    pub rejected: u64,
    /// Records in the spool of a sink, for the next start.
    pub spooled: u64,
    /// Records that are stored nowhere: a sink was unreachable to the end, and there is no spool.
    /// None of them was acknowledged.
    pub unpublished: u64,
}

impl Summary {
    /// Whether every record is accounted for.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.streams.values().all(|stream| stream.unpublished == 0)
    }
}

impl Service {
    /// Opens everything and begins to receive.
    ///
    /// # Errors
    /// [`Error::Config`] for invalid settings, [`Error::Io`] for an address or folder that cannot
    /// be used. A sink that is unreachable is not an error: it is retried.
    pub fn start(config: Config) -> Result<Self> {
        let config = config.completed();
        config.check()?;
        let mut stages = Stages::new(config.service.threads)?;
        let metrics = Arc::new(Metrics::new()?);
        let memory = config.service.memory.0;
        let common = Arc::new(Common {
            limits: config.limits.clone(),
            memory: Memory::new(memory, metrics.memory_bytes.clone()),
            growing: Memory::new(memory, metrics.memory_bytes.clone()),
            metrics: Arc::clone(&metrics),
            numbers: Sequence::begin(),
            arrow: Memory::new(memory, metrics.arrow_memory_bytes.clone()),
            lines_slots: Slots::new(config.limits.connections),
            http_slots: Slots::new(config.limits.connections),
            stop: stages.stopped(),
        });
        let latency = match &config.service.latency_csv {
            Some(path) => Some(Latency::create(path).map_err(|error| Error::io(path, error))?),
            None => None,
        };
        let mut parts = Parts {
            stages: &mut stages,
            metrics: Arc::clone(&metrics),
            latency,
            last_rejects: Arc::default(),
            board: Vec::new(),
        };
        for (name, stream) in &config.streams {
            parts.add(&config, name, stream)?;
        }
        let Parts { last_rejects, board, .. } = parts;
        let streams: Vec<Arc<Stream>> = board.iter().map(|(s, _)| Arc::clone(s)).collect();
        let web = Arc::new(Web {
            common: Arc::clone(&common),
            board: Arc::new(StatusSource {
                started: Instant::now(),
                metrics,
                memory_bytes_max: memory,
                streams: board,
                rejects: last_rejects,
            }),
            history: Arc::default(),
            admin_token: config.service.admin_token.clone(),
            ready: AtomicBool::new(false),
        });
        let bytes_max = group_bytes(config.service.parsing);
        for _ in 0..config.service.threads.max(1) {
            stages.parse(bytes_max)?;
        }
        let mut this =
            Self { config, stages, web, addresses: BTreeMap::new(), started: Instant::now() };
        this.receive(&common, &streams)?;
        this.web.ready.store(true, Ordering::Release);
        Ok(this)
    }

    /// Opens the listeners and begins.
    fn receive(&mut self, common: &Arc<Common>, streams: &[Arc<Stream>]) -> Result<()> {
        let runtime = self.stages.runtime()?;
        let _inside = runtime.enter();
        let tls = |protocols: &[&[u8]]| {
            self.config.tls.as_ref().map(|tls| tls::acceptor(tls, protocols)).transpose()
        };
        let http_tls = tls(&[b"h2", b"http/1.1"])?;
        let tcp_tls = tls(&[])?;
        for stream in streams {
            for (number, address) in stream.config.tcp.iter().enumerate() {
                let (listener, bound) = listen(address)?;
                self.addresses.insert(format!("tcp/{}/{number}", stream.name), bound);
                let task =
                    tcp::listen(Arc::clone(common), Arc::clone(stream), listener, tcp_tls.clone());
                self.stages.receive(task);
            }
            for address in &stream.config.dial {
                if let Some(authorities) = &stream.config.dial_tls {
                    tls::connector(authorities)?;
                }
                let task = tcp::dial(Arc::clone(common), Arc::clone(stream), address.clone());
                self.stages.receive(task);
            }
            if let Some(state) = &stream.config.follow_state
                && !stream.config.follow.is_empty()
            {
                let (common, stream, state) =
                    (Arc::clone(common), Arc::clone(stream), state.clone());
                self.stages
                    .receive(async move { follow::keep_following(&common, &stream, &state).await });
            }
        }
        let (history, board) = (Arc::clone(&self.web.history), Arc::clone(&self.web.board));
        self.stages.receive(history::keep(history, board, common.stop.clone()));
        let service = &self.config.service;
        if let Some(collector) = &service.otlp {
            let task = otlp::export(Arc::clone(common), collector.clone());
            self.stages.receive(task);
        }
        let streams = streams.iter().map(|s| (s.name.to_string(), Arc::clone(s))).collect();
        let mut routes = http::routes(Intake { common: Arc::clone(common), streams });
        if service.admin.is_empty() {
            routes = routes.merge(web::routes(&self.web));
        } else {
            let (listener, bound) = listen(&service.admin)?;
            self.addresses.insert("admin".to_owned(), bound);
            let admin = web::routes(&self.web);
            let task = server::serve(Arc::clone(common), listener, None, admin);
            self.stages.receive(task);
        }
        if !service.http.is_empty() {
            let (listener, bound) = listen(&service.http)?;
            self.addresses.insert("http".to_owned(), bound);
            let task = server::serve(Arc::clone(common), listener, http_tls, routes);
            self.stages.receive(task);
        }
        Ok(())
    }

    /// The running stream of this name.
    fn stream(&self, name: &str) -> Option<&Arc<Stream>> {
        let mut streams = self.web.board.streams.iter();
        streams.find(|(stream, _)| &*stream.name == name).map(|(stream, _)| stream)
    }

    /// The addresses that are listened on: `http`, `admin`, and `tcp/STREAM/NUMBER`.
    #[must_use]
    pub fn addresses(&self) -> &BTreeMap<String, SocketAddr> {
        &self.addresses
    }

    /// What `/v1/status.json` shows with the admin token.
    #[must_use]
    pub fn status(&self) -> serde_json::Value {
        self.web.status(Texts::All)
    }

    /// Uses the schemas of another configuration for what is received from now on. Other changes
    /// need a restart, and are named in the log.
    ///
    /// # Errors
    /// [`Error::Config`] if it is invalid; then everything stays as it is.
    pub fn reload(&mut self, config: Config) -> Result<()> {
        let config = config.completed();
        config.check()?;
        let mut fresh = Vec::new();
        for (name, stream) in &config.streams {
            let Some(running) = self.stream(name) else {
                tracing::warn!(stream = name, "a new stream needs another start");
                continue;
            };
            let known = self.config.streams.get(name);
            let other = StreamConfig {
                schema: known.map_or_else(String::new, |k| k.schema.clone()),
                ..stream.clone()
            };
            if format!("{other:?}") != format!("{:?}", known.cloned().unwrap_or_default()) {
                tracing::warn!(
                    stream = name,
                    "of what differs, only the schema is taken without another start"
                );
            }
            let with_schema =
                StreamConfig { schema: stream.schema.clone(), ..running.config.clone() };
            if stream.is_auto() && running.compiled().grows {
                continue;
            }
            let compiled = Compiled::new(&with_schema, &self.config.limits)?;
            if compiled.schema != running.compiled().schema {
                fresh.push((Arc::clone(running), compiled, stream.schema.clone()));
            }
        }
        for (running, compiled, schema) in fresh {
            running.replace(compiled);
            if let Some(known) = self.config.streams.get_mut(&*running.name) {
                known.schema = schema;
            }
            tracing::info!(stream = &*running.name, "the stream has another schema");
        }
        Ok(())
    }

    /// Runs until SIGTERM or SIGINT (on Windows: Ctrl-C, Ctrl-Break, the end of the console or of
    /// the machine), and drains. SIGHUP reloads what `read` returns. A second signal ends the
    /// draining.
    ///
    /// # Errors
    /// When signals cannot be had.
    pub fn run(mut self, read: impl Fn() -> Result<Config>) -> Result<Summary> {
        let runtime = self.stages.runtime()?;
        let mut signals = {
            let _inside = runtime.enter();
            Signals::open()?
        };
        while runtime.block_on(signals.next()) == Signal::Reload {
            if let Err(error) = read().and_then(|config| self.reload(config)) {
                tracing::error!(%error, "the configuration stays as it is");
            }
        }
        let give_up = Arc::clone(&self.stages.give_up);
        runtime.spawn(async move {
            signals.end().await;
            give_up.store(true, Ordering::Release);
        });
        Ok(self.drain())
    }

    /// Stops receiving, drains all stages, and ends.
    #[must_use]
    pub fn drain(mut self) -> Summary {
        let limit = self.config.service.drain_seconds.duration();
        tracing::info!(?limit, "draining");
        self.stages.end(limit);
        self.summary()
    }

    fn summary(&self) -> Summary {
        let mut summary = Summary::default();
        for (stream, sinks) in &self.web.board.streams {
            let counts = StatusSource::counts(stream, sinks);
            let done = counts.published + counts.rejected + counts.spooled;
            let one = StreamSummary {
                received: counts.received,
                published: counts.published,
                rejected: counts.rejected,
                spooled: counts.spooled,
                unpublished: counts.received.saturating_sub(done),
            };
            summary.streams.insert(stream.name.to_string(), one);
        }
        tracing::info!(seconds = self.started.elapsed().as_secs_f64(), "ended");
        summary
    }
}

fn listen(address: &str) -> Result<(TcpListener, SocketAddr)> {
    let failed = |error: std::io::Error| Error::io(address, error);
    let found = std::net::ToSocketAddrs::to_socket_addrs(address).map_err(failed)?.next();
    let found = found.ok_or_else(|| Error::Config(format!("{address}: not an address")))?;
    let socket = match found {
        SocketAddr::V4(_) => tokio::net::TcpSocket::new_v4(),
        SocketAddr::V6(_) => tokio::net::TcpSocket::new_v6(),
    };
    let socket = socket.map_err(failed)?;
    socket.set_reuseaddr(true).map_err(failed)?;
    socket.bind(found).map_err(failed)?;
    let listener = socket.listen(BACKLOG).map_err(failed)?;
    let bound = listener.local_addr().map_err(failed)?;
    Ok((listener, bound))
}
