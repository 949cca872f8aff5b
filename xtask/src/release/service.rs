// SPDX-License-Identifier: Apache-2.0
//! Starts a packaged service in a root folder that contains only the package, as another user, as
//! systemd or a container engine would: sends it a record, stops it, and checks its files.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::shell::{self, Outcome, fail};

/// User and group of the services, arbitrary numbers.
pub const USER: &str = "65532:65532";
/// The state folder of the packages.
pub const STATE: &str = "var/lib/arrowsmith";

/// A program that requires root.
pub fn administrator(program: &str) -> Outcome<Command> {
    if shell::output(Command::new("id").arg("-u"))?.trim() == "0" {
        return Ok(Command::new(program));
    }
    let mut sudo = Command::new("sudo");
    sudo.args(["-n", program]);
    Ok(sudo)
}

/// A program inside a root folder, as the services' user.
pub fn inside(root: &Path) -> Outcome<Command> {
    let mut chroot = administrator("chroot")?;
    chroot.arg(format!("--userspec={USER}")).arg(root);
    Ok(chroot)
}

/// Creates the state folder, owned by the services' user.
pub fn state(root: &Path) -> Outcome {
    let folder = root.join(STATE);
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    shell::output(administrator("chown")?.arg("-R").arg(USER).arg(&folder)).map(drop)
}

/// A port that is free at this moment.
fn free_port() -> Outcome<u16> {
    let listener = TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr());
    listener.map(|address| address.port()).map_err(|error| error.to_string())
}

/// Runs `arrowsmith ingest` with this command line; `health` is the image's health check.
pub fn ingests(root: &Path, line: &[String], health: &[String]) -> Outcome {
    let port = free_port()?;
    let address = format!("127.0.0.1:{port}");
    // On other addresses: those of the package may be in use.
    let mut service = inside(root)?;
    let [program, arguments @ ..] = line else { return fail("no command line") };
    service.arg(program).args(arguments);
    service.args(["--set", &format!("service.http=\"{address}\"")]);
    service.args(["--set", "stream.events.tcp=[\"127.0.0.1:0\"]"]);
    let mut running = Running::start(&mut service)?;
    let mut ask = Vec::from(health);
    ask.push(format!("http://{address}/readyz"));
    let since = Instant::now();
    while !shell::capture(inside(root)?.args(&ask))?.status.success() {
        if since.elapsed() > Duration::from_secs(20) {
            return fail(format!("{line:?} does not become ready\n{}", running.end()?));
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    let record = "{\"time\":\"2026-01-02T03:04:05Z\",\"message\":\"packaged\"}\n";
    let answer = post(&address, "/v1/events", record)?;
    if !answer.starts_with("HTTP/1.1 200") {
        return fail(format!("the service answered {answer:?}\n{}", running.end()?));
    }
    let log = running.end()?;
    if !log.contains("\"published\":1") {
        return fail(format!("the service did not publish the record:\n{log}"));
    }
    if shell::capture(inside(root)?.args(&ask))?.status.success() {
        return fail("the health check succeeds after the service has ended");
    }
    let mut files = shell::files(&root.join(STATE).join("events"));
    // Its internal files have names that readers of datasets ignore.
    files.retain(|path| !shell::leaf(path).starts_with('.'));
    match files.as_slice() {
        [file] if shell::leaf(file).ends_with(".arrow") => Ok(()),
        _ => fail(format!("the service left {files:?}")),
    }
}

/// Runs `arrowsmith serve` with this command line, and reads the dataset `events` back.
pub fn serves(root: &Path, line: &[String]) -> Outcome {
    let [program, ..] = line else { return fail("no command line") };
    let mut service = inside(root)?;
    // On other addresses.
    service.args(line.iter().map(|word| word.replace(":8815", ":0").replace(":9815", ":0")));
    let mut running = Running::start(&mut service)?;
    let first = running.first_line()?;
    let Some(address) = first.strip_prefix("listening on ") else {
        return fail(format!("{line:?} said {first:?}\n{}", running.end()?));
    };
    let mut fetch = inside(root)?;
    fetch.args([program, "fetch", &format!("{}/events", address.trim()), "--to", "ndjson"]);
    let found = shell::output(fetch.args(["--quiet", "-o", "-"]))?;
    running.end()?;
    if found.contains("packaged") && found.lines().count() == 1 {
        return Ok(());
    }
    fail(format!("the server gave {found:?}"))
}

/// A process that is killed if the check fails.
struct Running(Option<Child>);

impl Running {
    fn start(command: &mut Command) -> Outcome<Self> {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().map(|child| Self(Some(child))).map_err(|error| error.to_string())
    }

    /// Its first line on standard output.
    fn first_line(&mut self) -> Outcome<String> {
        let mut line = Vec::new();
        let out = self.0.as_mut().and_then(|child| child.stdout.as_mut()).ok_or("no output")?;
        let mut byte = [0];
        while !line.ends_with(b"\n") && out.read(&mut byte).map_err(|e| e.to_string())? == 1 {
            line.push(byte[0]);
        }
        Ok(String::from_utf8_lossy(&line).into_owned())
    }

    /// Sends SIGTERM, as systemd does, and returns its output; an error if it does not exit with
    /// success.
    fn end(&mut self) -> Outcome<String> {
        let Some(child) = self.0.take() else { return fail("it has ended already") };
        shell::output(administrator("kill")?.args(["-TERM", &child.id().to_string()]))?;
        let output = child.wait_with_output().map_err(|error| error.to_string())?;
        let log = shell::both(&output);
        if output.status.success() { Ok(log) } else { fail(format!("{}\n{log}", output.status)) }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            // An error cannot be reported here.
            drop(child.kill());
            drop(child.wait());
        }
    }
}

fn post(address: &str, path: &str, body: &str) -> Outcome<String> {
    let ask = || {
        let mut stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(Duration::from_secs(20)))?;
        let length = body.len();
        write!(
            stream,
            "POST {path} HTTP/1.1\r\nHost: {address}\r\nContent-Length: {length}\r\n\
             Connection: close\r\n\r\n{body}"
        )?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    };
    ask().map_err(|error: std::io::Error| format!("{address}: {error}"))
}
