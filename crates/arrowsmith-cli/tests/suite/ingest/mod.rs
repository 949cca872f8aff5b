// SPDX-License-Identifier: Apache-2.0
//! `arrowsmith ingest` as a process that things happen to: senders that die, disks that fill, `kill
//! -9`.
//!
//! Every test asks the same at the end: is every record accounted for, did all arrive that were
//! acknowledged, and did memory stay bounded? The full settings, 50 kills and 10,000 connections:
//! `tools/faults`.

mod access;
mod dashboard;
mod disk;
mod kill;
mod pressure;
mod senders;
mod service;
