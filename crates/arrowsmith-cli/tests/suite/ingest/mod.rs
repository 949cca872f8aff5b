// SPDX-License-Identifier: Apache-2.0
//! `arrowsmith ingest` under faults: senders that die, disks that fill, `kill -9`.
//!
//! Every test ends with the same checks: every record is accounted for, every acknowledged record
//! has arrived, and memory stayed bounded. The full settings, 50 kills and 10,000 connections:
//! `tools/faults`.

mod access;
mod dashboard;
mod disk;
mod kill;
mod pressure;
#[cfg(feature = "store")]
mod s3;
mod senders;
mod service;
