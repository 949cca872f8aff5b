// SPDX-License-Identifier: Apache-2.0
//! Checks of a configuration; errors name the setting.

use std::net::{IpAddr, Ipv6Addr};
use std::path::PathBuf;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, SchemaRef};
use arrowsmith_core::{Error, Limits, Result};
use hyper::Uri;

use super::{Config, LayoutConfig, OrderConfig, StreamConfig};
use crate::compiled::Compiled;
use crate::publish::sinks::SinkConfig;
use crate::width::Width;

impl Config {
    /// Checks the settings; opens only the files of schemas.
    ///
    /// # Errors
    /// [`Error::Config`] names the setting.
    pub fn check(&self) -> Result<()> {
        let wrong = |what: String| Err(Error::Config(what));
        if self.streams.is_empty() {
            return wrong(
                "there is no stream: a table [stream.NAME] with a schema is needed".into(),
            );
        }
        if self.service.memory.0 < MEMORY_MIN {
            return wrong(format!("service.memory: has to be {MEMORY_MIN} bytes at least"));
        }
        if self.service.threads > THREADS_MAX {
            return wrong(format!("service.threads: has to be at most {THREADS_MAX}"));
        }
        if let Some(collector) = &self.service.otlp
            && !is_http(collector)
        {
            return wrong(format!("service.otlp: {collector:?} is not http://HOST:PORT"));
        }
        for (name, limit) in [
            ("connections", self.limits.connections),
            ("record_bytes", self.limits.record_bytes.0),
            ("body_bytes", self.limits.body_bytes.0),
            ("depth", self.limits.depth),
        ] {
            if limit == 0 {
                return wrong(format!("limits.{name}: has to be above 0"));
            }
        }
        if self.limits.depth > Limits::DEPTH_MAX {
            return wrong(format!("limits.depth: has to be at most {}", Limits::DEPTH_MAX));
        }
        let most = self.service.memory.0 / 2;
        if self.limits.record_bytes.0 > most || self.limits.body_bytes.0 > most {
            return wrong(format!(
                "limits.record_bytes and limits.body_bytes: have to be at most half of service.memory \
                 ({most} bytes)"
            ));
        }
        if let Some(token) = &self.service.admin_token
            && !is_token(token)
        {
            return wrong("service.admin_token: is empty, or has space around it".into());
        }
        for (name, stream) in &self.streams {
            stream.check(name)?;
            let row = Width::of(stream.plan()?.schema()).row_bytes();
            if row > most as u64 {
                return wrong(format!(
                    "stream.{name}.schema: a row takes {row} bytes of Arrow data, more than half of \
                     service.memory ({most} bytes)"
                ));
            }
            let compiled = match Compiled::new(stream, &self.limits) {
                Ok(compiled) => compiled,
                Err(error) => {
                    return wrong(format!("stream.{name}: {}", error.to_string().trim()));
                }
            };
            let schema = match stream.is_auto() {
                true => grown(&compiled.schema),
                false => compiled.schema,
            };
            for sink in &stream.sinks {
                if let Err(why) = sink.check_schema(&schema) {
                    let auto = match stream.is_auto() {
                        true => "; with schema \"auto\", `types` has to name its type",
                        false => "",
                    };
                    return wrong(format!("stream.{name}.sink: {why}{auto}"));
                }
            }
        }
        let mut rejects: Vec<PathBuf> =
            self.streams.iter().flat_map(|(n, s)| s.reject_files(n)).collect();
        rejects.sort();
        if let Some(pair) = rejects.windows(2).find(|pair| pair[0] == pair[1]) {
            return wrong(format!("{}: two streams have these rejects", pair[0].display()));
        }
        self.check_listeners()
    }

    fn check_listeners(&self) -> Result<()> {
        let wrong = |address: &str, what| Err(Error::Config(format!("{address}: {what}")));
        let streams = self.streams.values().flat_map(StreamConfig::listeners);
        let own = [&self.service.http, &self.service.admin].into_iter().cloned();
        let mut listeners: Vec<String> = streams.chain(own).collect();
        listeners.retain(|address| !address.is_empty());
        let mut known: Vec<(&str, u16)> = Vec::new();
        for address in &listeners {
            let Some((host, port)) = host_and_port(address) else {
                return wrong(address, "is not HOST:PORT to listen at");
            };
            let same = |one: &str, other: &str| one == other || is_any(one) || is_any(other);
            if known.iter().any(|(other, taken)| port == *taken && same(host, other)) {
                return wrong(address, "two listeners have this address");
            }
            if port != 0 {
                known.push((host, port));
            }
        }
        Ok(())
    }
}

/// A schema with a column more than is known: one that grows will have some.
fn grown(schema: &SchemaRef) -> SchemaRef {
    let more = Arc::new(Field::new("", DataType::Null, true));
    let fields = schema.fields().iter().cloned().chain([more]);
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

/// Whether a text is usable as a token: an empty one would admit every client.
fn is_token(text: &str) -> bool {
    !text.is_empty() && text.trim() == text && !text.contains(char::is_control)
}

/// The parts of an address to listen at. IPv6 is in brackets.
fn host_and_port(address: &str) -> Option<(&str, u16)> {
    let (host, port) = address.rsplit_once(':')?;
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let is_host = match bare {
        Some(ip) => ip.parse::<Ipv6Addr>().is_ok(),
        None => !host.is_empty() && !host.contains(|c: char| c == ':' || c.is_whitespace()),
    };
    Some((bare.unwrap_or(host), port.parse().ok()?)).filter(|_| is_host)
}

/// Whether a text is the address of a server that speaks HTTP without TLS.
fn is_http(text: &str) -> bool {
    text.parse::<Uri>().is_ok_and(|uri| uri.scheme_str() == Some("http") && uri.host().is_some())
}

/// Whether a listener at this host takes the connections to every address of the machine.
fn is_any(host: &str) -> bool {
    host.parse::<IpAddr>().is_ok_and(|address| address.is_unspecified())
}

/// Maximum of `service.threads`.
const THREADS_MAX: usize = 1024;

/// Minimum of `service.memory`, in bytes.
const MEMORY_MIN: usize = 4 << 20;

/// Minimum of `rejects_bytes`.
const REJECTS_MIN: usize = 1 << 20;

impl StreamConfig {
    /// The files of rejects of a stream of this name, and of its sinks, without their ending.
    fn reject_files(&self, name: &str) -> Vec<PathBuf> {
        let of_sink =
            |(number, sink): (usize, &SinkConfig)| format!("{name}.{}", sink.name(number));
        let names = self.sinks.iter().enumerate().map(of_sink);
        names.chain([name.to_owned()]).map(|name| self.rejects.join(name)).collect()
    }

    /// Addresses at which connections are taken.
    fn listeners(&self) -> impl Iterator<Item = String> {
        self.tcp.iter().cloned().chain(self.sinks.iter().filter_map(SinkConfig::listener))
    }

    fn check(&self, name: &str) -> Result<()> {
        let wrong =
            |what: &str, why: String| Err(Error::Config(format!("stream.{name}.{what}: {why}")));
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if name.is_empty() || name.starts_with('.') || !name.chars().all(plain) {
            let why =
                "a name has letters, digits, '-', '_' and '.' only, and does not begin with '.'";
            return Err(Error::Config(format!("stream.{name}: {why}")));
        }
        if self.schema.is_empty() {
            return wrong("schema", "is needed; \"auto\" infers it".to_owned());
        }
        if self.is_auto() {
            if self.read.columns.is_some() {
                return wrong("columns", "cannot be selected of schema \"auto\"".to_owned());
            }
            if self.layout == LayoutConfig::BatchOnly {
                let why = "a batch alone does not say which schema of \"auto\" it has";
                return wrong("layout", why.to_owned());
            }
            if let Some(sink) = self.sinks.iter().find(|sink| sink.has_one_schema()) {
                let why = format!("{} has one schema only, and \"auto\" grows", sink.place());
                return wrong("sink", why);
            }
        }
        if let Err(error) = self.plan() {
            return wrong("schema", error.to_string());
        }
        if self.key.is_some() && self.order == OrderConfig::Column {
            return wrong("key", "a keyed stream has its order in metadata".to_owned());
        }
        if let Some(number) = self.tokens.iter().position(|token| !is_token(token)) {
            let why = "is empty, or has space around it or line ends in it";
            return wrong("tokens", format!("number {number} {why}"));
        }
        if self.message_bytes.0 == 0 {
            return wrong("message_bytes", "has to be above 0".to_owned());
        }
        for address in &self.dial {
            if host_and_port(address).is_none_or(|(_, port)| port == 0) {
                return wrong("dial", format!("{address:?} is not HOST:PORT to connect to"));
            }
        }
        for pattern in &self.follow {
            let folder =
                if pattern.ends_with('/') { Some("names a folder, not files") } else { None };
            let faulty = glob::Pattern::new(pattern).err().map(|error| error.msg);
            if let Some(why) = faulty.or(folder) {
                return wrong("follow", format!("{pattern:?}: {why}"));
            }
        }
        let folders = [Some(&self.rejects), self.spool.as_ref().map(|spool| &spool.path)];
        if folders.into_iter().flatten().any(|path| path.as_os_str().is_empty()) {
            return wrong("rejects, spool.path", "a folder needs a name".to_owned());
        }
        if (1..REJECTS_MIN).contains(&self.rejects_bytes.0) {
            return wrong("rejects_bytes", "is at least 1MiB, or 0 for no maximum".to_owned());
        }
        let mut places = Vec::new();
        for sink in &self.sinks {
            if let Err(why) = sink.check() {
                return wrong("sink", why);
            }
            places.extend(sink.places());
        }
        places.sort();
        if let Some(pair) = places.windows(2).find(|pair| pair[0] == pair[1]) {
            return wrong("sink", format!("two go to {}", pair[0]));
        }
        Ok(())
    }
}
