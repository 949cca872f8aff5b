// SPDX-License-Identifier: Apache-2.0
//! Tickets: what a client sends to get its data, sealed so that only this server can have made it.
//!
//! ```text
//!   "AT1"  purpose (1)  expires (8, seconds since 1970, big-endian)  payload …  HMAC-SHA-256 (32)
//! ```
//! The seal covers everything before it. A ticket names datasets and columns, never a path, so that
//! one that could be forged would still open nothing that is not served; the seal keeps conditions,
//! snapshots and bearer tokens as they were handed out. It is not encrypted.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use ring::hmac;
use ring::rand::{SecureRandom, SystemRandom};
use serde::{Deserialize, Serialize};
use tonic::Status;

use crate::query::Query;

const MAGIC: &[u8; 3] = b"AT1";
const HEAD_BYTES: usize = 3 + 1 + 8;
const SEAL_BYTES: usize = 32;

/// Maximum size of a ticket, in bytes: a statement of SQL has up to 1 MiB.
pub const TICKET_BYTES_MAX: usize = (1 << 20) + (4 << 10);

/// The purpose of a seal. Tickets of one purpose are invalid for another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Reading a part of a dataset.
    Read,
    /// A statement of Flight SQL.
    Statement,
    /// A prepared statement.
    Prepared,
    /// A user authenticated by password.
    Bearer,
}

impl Purpose {
    fn code(self) -> u8 {
        match self {
            Self::Read => b'r',
            Self::Statement => b's',
            Self::Prepared => b'p',
            Self::Bearer => b'b',
        }
    }
}

/// One part of the result of a query.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadTicket {
    /// The query.
    pub query: Query,
    /// Which state of the dataset it is read from.
    pub snapshot: u64,
    /// Number of the part, from 0.
    pub part: usize,
    /// How many parts there are.
    pub parts: usize,
}

/// Seals and opens.
#[derive(Clone)]
pub struct Signer {
    key: hmac::Key,
    lifetime: Duration,
}

impl Signer {
    /// With a random key of its own, valid until the process ends.
    ///
    /// # Errors
    /// If the system has no random bytes.
    pub fn random(lifetime: Duration) -> std::io::Result<Self> {
        let mut key = [0; 32];
        SystemRandom::new()
            .fill(&mut key)
            .map_err(|_| std::io::Error::other("the system gives no random bytes"))?;
        Ok(Self::new(&key, lifetime))
    }

    /// With a key that several servers may share, so that each accepts tickets of the others.
    pub fn new(key: &[u8], lifetime: Duration) -> Self {
        Self { key: hmac::Key::new(hmac::HMAC_SHA256, key), lifetime }
    }

    /// When a ticket sealed now expires.
    pub fn expires(&self) -> SystemTime {
        SystemTime::now() + self.lifetime
    }

    /// Seals bytes, for as long as this signer's tickets live.
    pub fn seal(&self, purpose: Purpose, payload: &[u8]) -> Bytes {
        let expires = self.expires().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        self.seal_until(purpose, payload, expires)
    }

    fn seal_until(&self, purpose: Purpose, payload: &[u8], expires: u64) -> Bytes {
        let mut out = Vec::with_capacity(HEAD_BYTES + payload.len() + SEAL_BYTES);
        out.extend_from_slice(MAGIC);
        out.push(purpose.code());
        out.extend_from_slice(&expires.to_be_bytes());
        out.extend_from_slice(payload);
        let seal = hmac::sign(&self.key, &out);
        out.extend_from_slice(seal.as_ref());
        out.into()
    }

    /// The sealed content.
    ///
    /// # Errors
    /// `invalid_argument` for a ticket that this server has not sealed, `failed_precondition` for
    /// an expired one; `unauthenticated` in both cases for bearers.
    pub fn open<'a>(&self, purpose: Purpose, sealed: &'a [u8]) -> Result<&'a [u8], Status> {
        let refuse = |reason: &str, late: bool| match purpose {
            Purpose::Bearer => Status::unauthenticated(format!("token: {reason}")),
            _ if late => Status::failed_precondition(format!("ticket: {reason}")),
            _ => Status::invalid_argument(format!("ticket: {reason}")),
        };
        let unknown = || refuse("not one of this server's", false);
        if sealed.len() > TICKET_BYTES_MAX {
            return Err(refuse("too long", false));
        }
        let body = sealed.len().checked_sub(SEAL_BYTES).ok_or_else(unknown)?;
        let (body, seal) = sealed.split_at_checked(body).ok_or_else(unknown)?;
        hmac::verify(&self.key, body, seal).map_err(|_| unknown())?;
        let (head, payload) = body.split_at_checked(HEAD_BYTES).ok_or_else(unknown)?;
        let (magic, rest) = head.split_at_checked(MAGIC.len()).ok_or_else(unknown)?;
        let (code, expires) = rest.split_first().ok_or_else(unknown)?;
        if magic != MAGIC || *code != purpose.code() {
            return Err(unknown());
        }
        let expires = expires.try_into().map(u64::from_be_bytes).map_err(|_| unknown())?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(u64::MAX, |s| s.as_secs());
        if now >= expires {
            return Err(refuse("expired", true));
        }
        Ok(payload)
    }

    /// Seals a part of a query.
    pub fn read(&self, ticket: &ReadTicket) -> Bytes {
        // Only strings and numbers, which JSON can always represent.
        self.seal(Purpose::Read, &serde_json::to_vec(ticket).unwrap_or_default())
    }

    /// The part of a query that a ticket is for.
    ///
    /// # Errors
    /// As [`Signer::open`].
    pub fn open_read(&self, sealed: &[u8]) -> Result<ReadTicket, Status> {
        let payload = self.open(Purpose::Read, sealed)?;
        let ticket: ReadTicket = serde_json::from_slice(payload)
            .map_err(|_| Status::invalid_argument("ticket: not one of this server's"))?;
        if ticket.part >= ticket.parts {
            return Err(Status::invalid_argument("ticket: no such part"));
        }
        Ok(ticket)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signer() -> Signer {
        Signer::new(b"a key", Duration::from_secs(60))
    }

    fn ticket() -> ReadTicket {
        ReadTicket { query: Query::all("taxi"), snapshot: 7, part: 1, parts: 3 }
    }

    #[test]
    fn what_was_sealed_opens() {
        let sealed = signer().read(&ticket());
        assert_eq!(signer().open_read(&sealed).unwrap(), ticket());
    }

    #[test]
    fn every_changed_bit_is_noticed() {
        let signer = signer();
        let sealed = signer.read(&ticket());
        for bit in 0..sealed.len() * 8 {
            let mut changed = sealed.to_vec();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert!(signer.open_read(&changed).is_err(), "bit {bit}");
        }
        for length in 0..sealed.len() {
            assert!(signer.open_read(&sealed[..length]).is_err());
        }
        assert!(Signer::random(Duration::from_secs(60)).unwrap().open_read(&sealed).is_err());
    }

    #[test]
    fn one_purpose_does_not_pass_for_another() {
        let signer = signer();
        let sealed = signer.seal(Purpose::Statement, b"select 1");
        assert!(signer.open(Purpose::Statement, &sealed).is_ok());
        let bearer = signer.open(Purpose::Bearer, &sealed).unwrap_err();
        assert_eq!(bearer.code(), tonic::Code::Unauthenticated);
    }

    #[test]
    fn an_old_ticket_is_refused() {
        let signer = signer();
        let sealed = signer.seal_until(Purpose::Read, b"{}", 1);
        let error = signer.open_read(&sealed).unwrap_err();
        assert_eq!(error.code(), tonic::Code::FailedPrecondition);
    }
}
