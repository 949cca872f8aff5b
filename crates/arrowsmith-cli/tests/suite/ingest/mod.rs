// SPDX-License-Identifier: Apache-2.0
//! `arrowsmith ingest` under injected failures: senders that die, disks that fill, `kill -9`.
//!
//! Every test ends with the same checks: every record is accounted for, every acknowledged record
//! has arrived, and memory stayed bounded. The full settings, 50 kills and 10,000 connections:
//! `cargo xtask test full ingest`.

mod access;
mod dashboard;
mod disk;
mod kill;
mod pressure;
#[cfg(feature = "store")]
mod s3;
mod senders;
mod service;
