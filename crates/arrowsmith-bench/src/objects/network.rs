// SPDX-License-Identifier: Apache-2.0
//! Round trips between two network namespaces, joined by a pair of virtual Ethernet devices.

use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{OURS, Options, PAPER, Report};
use crate::install::run;
use crate::namespace::{Namespace, ip};

/// The server's address; both namespaces have no other network.
const SERVER: &str = "10.0.0.2";

/// Round trips of one kind.
#[derive(Debug, Clone, Serialize)]
pub struct Trip {
    /// `raw` Ethernet frames, `udp` or `tcp`.
    pub transport: String,
    /// The server's action: `reflect`, or make and evaluate the tree with [`PAPER`] or [`OURS`].
    pub server: String,
    /// Bytes of a reflected message.
    pub bytes: Option<u32>,
    /// Operations of the tree, if one is sent.
    pub operations: Option<u32>,
    /// Messages in flight; the time is that of all of them.
    pub in_flight: u32,
    /// Percentiles 0 to 100 in microseconds.
    pub percentiles_us: Vec<f64>,
}

impl Trip {
    /// The median in microseconds.
    #[must_use]
    pub fn median_us(&self) -> f64 {
        self.percentiles_us.get(50).copied().unwrap_or_default()
    }
}

/// The output of a client.
#[derive(Deserialize)]
struct Printed {
    valid: bool,
    percentiles_us: Vec<f64>,
}

/// Two namespaces and their link.
struct Line {
    client: Namespace,
    server: Namespace,
}

impl Line {
    fn make() -> Result<Self, String> {
        let make = |end: &str| Namespace::make(format!("asbench{}{end}", std::process::id()));
        let line = Self { client: make("a")?, server: make("b")? };
        let (a, b) = (line.client.name(), line.server.name());
        for words in [
            format!("link add as0 netns {a} type veth peer name as0 netns {b}"),
            format!("-n {a} addr add 10.0.0.1/24 dev as0"),
            format!("-n {b} addr add {SERVER}/24 dev as0"),
            format!("-n {a} link set as0 up"),
            format!("-n {b} link set as0 up"),
        ] {
            ip(&words)?;
        }
        Ok(line)
    }

    fn within(namespace: &Namespace, program: &Path) -> Command {
        let [ip, arguments @ ..] = namespace.prefix();
        let mut command = Command::new(ip);
        command.args(arguments).arg(program);
        command
    }
}

/// A server that is killed with its owner.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Measures all of the paper's round trips.
pub(super) fn measure(
    options: &Options,
    program: &Path,
    report: &mut Report,
    progress: &mut dyn FnMut(&str),
) {
    progress("round trips between two network namespaces");
    let line = match Line::make() {
        Ok(line) => line,
        Err(reason) => return report.missing("network", "", reason),
    };
    let done = reflect(options, program, &line, report)
        .and_then(|()| objects(options, program, &line, report));
    if let Err(reason) = done {
        report.missing("network", "", reason);
    }
}

/// Table 5 and Figs. 14 to 17: messages that are returned unchanged.
fn reflect(
    options: &Options,
    program: &Path,
    line: &Line,
    report: &mut Report,
) -> Result<(), String> {
    // The paper's payloads (Sect. 6.2): those of the smallest and the largest frame.
    for (transport, least, most) in [("raw", 46, 1486), ("udp", 1, 1450), ("tcp", 1, 1435)] {
        let _server = serve(line, program, transport, "reflect")?;
        for bytes in [least, most] {
            let flights: &[u32] = if transport == "raw" { &[1, 2, 3, 4, 5, 6, 7, 8] } else { &[1] };
            for &in_flight in flights {
                let arguments = [transport, "reflect", &bytes.to_string(), &in_flight.to_string()];
                let percentiles_us = ping(line, program, &arguments, options.trips)?;
                report.extra.trips.push(Trip {
                    transport: transport.into(),
                    server: "reflect".into(),
                    bytes: Some(bytes),
                    operations: None,
                    in_flight,
                    percentiles_us,
                });
            }
        }
    }
    Ok(())
}

/// Fig. 19: trees that the server makes and evaluates.
fn objects(
    options: &Options,
    program: &Path,
    line: &Line,
    report: &mut Report,
) -> Result<(), String> {
    for transport in ["udp", "tcp"] {
        for (server, work) in [(PAPER, "paper"), (OURS, "arrowsmith")] {
            let _server = serve(line, program, transport, work)?;
            for &operations in &options.operations {
                let arguments = [transport, "objects", &operations.to_string(), "1"];
                let percentiles_us = ping(line, program, &arguments, options.trips)?;
                report.extra.trips.push(Trip {
                    transport: transport.into(),
                    server: server.into(),
                    bytes: None,
                    operations: Some(operations),
                    in_flight: 1,
                    percentiles_us,
                });
            }
        }
    }
    Ok(())
}

fn serve(line: &Line, program: &Path, transport: &str, work: &str) -> Result<Server, String> {
    let child = Line::within(&line.server, program)
        .args(["serve", transport, work])
        .spawn()
        .map_err(|error| format!("{}: {error}", program.display()))?;
    // The server does not report that it is ready; a client that connects too early fails with an
    // error.
    std::thread::sleep(Duration::from_millis(300));
    Ok(Server(child))
}

fn ping(
    line: &Line,
    program: &Path,
    arguments: &[&str; 4],
    trips: u32,
) -> Result<Vec<f64>, String> {
    let mut command = Line::within(&line.client, program);
    command.arg("ping").args(arguments).arg(trips.to_string()).arg(SERVER);
    let printed = run(&mut command)?;
    let printed: Printed = serde_json::from_slice(&printed).map_err(|error| error.to_string())?;
    if printed.valid {
        Ok(printed.percentiles_us)
    } else {
        Err(format!("{}: an answer was lost or wrong", arguments.join(" ")))
    }
}
