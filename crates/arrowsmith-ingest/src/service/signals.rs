// SPDX-License-Identifier: Apache-2.0
//! Signals that tell a running service to end, or to reload its configuration.

use std::io;

/// What a signal means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Signal {
    End,
    Reload,
}

/// SIGTERM and SIGINT, and SIGHUP for another configuration.
#[cfg(unix)]
pub(crate) struct Signals {
    term: tokio::signal::unix::Signal,
    int: tokio::signal::unix::Signal,
    hup: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    /// Takes them over; to be called inside a runtime.
    pub(crate) fn open() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            term: signal(SignalKind::terminate())?,
            int: signal(SignalKind::interrupt())?,
            hup: signal(SignalKind::hangup())?,
        })
    }

    /// The next one.
    pub(crate) async fn next(&mut self) -> Signal {
        tokio::select! {
            _ = self.term.recv() => Signal::End,
            _ = self.int.recv() => Signal::End,
            _ = self.hup.recv() => Signal::Reload,
        }
    }
}

/// Ctrl-C and Ctrl-Break, a console that is closed, a machine that is shut down. Windows has no
/// equivalent of SIGHUP: a service there is restarted to load another configuration.
#[cfg(windows)]
pub(crate) struct Signals {
    c: tokio::signal::windows::CtrlC,
    pause: tokio::signal::windows::CtrlBreak,
    close: tokio::signal::windows::CtrlClose,
    shutdown: tokio::signal::windows::CtrlShutdown,
}

#[cfg(windows)]
impl Signals {
    /// Takes them over; to be called inside a runtime.
    pub(crate) fn open() -> io::Result<Self> {
        use tokio::signal::windows::{ctrl_break, ctrl_c, ctrl_close, ctrl_shutdown};
        let (c, pause) = (ctrl_c()?, ctrl_break()?);
        Ok(Self { c, pause, close: ctrl_close()?, shutdown: ctrl_shutdown()? })
    }

    /// The next one.
    pub(crate) async fn next(&mut self) -> Signal {
        tokio::select! {
            _ = self.c.recv() => {}
            _ = self.pause.recv() => {}
            _ = self.close.recv() => {}
            _ = self.shutdown.recv() => {}
        }
        Signal::End
    }
}

impl Signals {
    /// Waits for one that ends the service.
    pub(crate) async fn end(&mut self) {
        while self.next().await != Signal::End {}
    }
}
