// SPDX-License-Identifier: Apache-2.0
//! Deterministic, seeded test data: the workloads of the benchmarks and of `arrowsmith generate`.
//!
//! It generates the bytes that a source would deliver, and the schema that a plan is compiled from.
//! The same workload, seed and options give the same bytes on every platform, so that a result can
//! be reproduced from its name alone. It never does I/O, never reads a clock and never decodes
//! anything.
//!
//! ```
//! use arrowsmith_workload::{Generator, Workload};
//!
//! let workload: Workload = "battery".parse()?;
//! let mut text = Vec::new();
//! let records = Generator::new(workload, 42, 8).fill(1024, &mut text);
//! assert_eq!(records, text.iter().filter(|&&b| b == b'\n').count() as u64);
//! assert_eq!(workload.schema().field(0).name(), "voltage");
//! # Ok::<(), arrowsmith_workload::UnknownWorkload>(())
//! ```
#![forbid(unsafe_code)]

mod lineitem;
mod logs;
mod mixed;
mod rng;
mod schema;
mod taxi;
mod telemetry;
mod writer;

#[cfg(test)]
mod tests;

use std::fmt;
use std::str::FromStr;

use arrow_schema::Schema;

use crate::mixed::Shape;
pub use crate::rng::SplitMix64;
pub use crate::writer::Layout;
use crate::writer::Writer;

/// Default maximum number of array elements of a `battery` record.
pub const VALUES_MAX_DEFAULT: u32 = 64;

/// The kinds of data that can be generated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Workload {
    /// `{"voltage":[…]}`: uint64 values 0..=2046, 1..=N of them.
    Battery,
    /// The same shape with values over the whole 64 bits.
    BatteryU64,
    /// Trip report with 11 fields, small values: the schema of the tables of the JSON paper.
    Trip,
    /// Trip report with 11 fields, values over the whole 64 bits.
    TripU64,
    /// Trip report with all 19 fields, small values.
    TripFull,
    /// Nested log records: strings, escapes, non-ASCII, nulls, missing and unknown keys.
    Logs,
    /// The 16 columns of TPC-H `lineitem`.
    Lineitem,
    /// The 19 columns of the New York taxi trips (yellow).
    Taxi,
    /// Records with 40 keys of five types, always in the same order: what the other `mixed-*`
    /// workloads are compared with.
    MixedUniform,
    /// The same keys, about half of them in each record.
    MixedSubsets,
    /// The same keys in random order.
    MixedOrders,
    /// Eight kinds of records in turn at random, each with 15 of the keys in an order of its own.
    MixedKinds,
    /// Three kinds of records in runs of 20 to 200.
    MixedBursts,
    /// About half of the keys, and as many that are not in the schema.
    MixedUnknown,
    /// 30 of 200 keys in random order.
    MixedKeys200,
    /// Some of eight nested objects in random order, with some of ten keys in random order.
    MixedNested,
}

impl Workload {
    /// Every workload, in the order in which they are documented.
    pub const ALL: [Self; 16] = [
        Self::Battery,
        Self::BatteryU64,
        Self::Trip,
        Self::TripU64,
        Self::TripFull,
        Self::Logs,
        Self::Lineitem,
        Self::Taxi,
        Self::MixedUniform,
        Self::MixedSubsets,
        Self::MixedOrders,
        Self::MixedKinds,
        Self::MixedBursts,
        Self::MixedUnknown,
        Self::MixedKeys200,
        Self::MixedNested,
    ];

    /// The name that the command line and the results use.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Battery => "battery",
            Self::BatteryU64 => "battery-u64",
            Self::Trip => "trip",
            Self::TripU64 => "trip-u64",
            Self::TripFull => "trip-full",
            Self::Logs => "logs",
            Self::Lineitem => "lineitem",
            Self::Taxi => "taxi",
            Self::MixedUniform => "mixed-uniform",
            Self::MixedSubsets => "mixed-subsets",
            Self::MixedOrders => "mixed-orders",
            Self::MixedKinds => "mixed-kinds",
            Self::MixedBursts => "mixed-bursts",
            Self::MixedUnknown => "mixed-unknown",
            Self::MixedKeys200 => "mixed-keys-200",
            Self::MixedNested => "mixed-nested",
        }
    }

    /// The Arrow schema that every record of this workload matches.
    ///
    /// `logs` and `mixed-unknown` also have keys that are not in the schema; a reader has to skip
    /// them.
    #[must_use]
    pub fn schema(&self) -> Schema {
        schema::of(*self)
    }

    /// Whether `max_values` changes the output.
    #[must_use]
    pub const fn has_max_values(self) -> bool {
        matches!(self, Self::Battery | Self::BatteryU64)
    }
}

impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Workload {
    type Err = UnknownWorkload;

    fn from_str(name: &str) -> Result<Self, UnknownWorkload> {
        let found = Self::ALL.into_iter().find(|workload| workload.name() == name);
        found.ok_or_else(|| UnknownWorkload { name: name.to_owned() })
    }
}

/// The error for a name that is not a [`Workload`]. The message lists all names.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown workload {name:?}; there are {}", Workload::ALL.map(Workload::name).join(", "))]
pub struct UnknownWorkload {
    /// The requested name.
    pub name: String,
}

/// Writes the records of one workload, one after another, without end.
#[derive(Debug, Clone)]
pub struct Generator {
    workload: Workload,
    values_max: u32,
    layout: Layout,
    rng: SplitMix64,
    order: lineitem::Order,
    kinds: mixed::Kinds,
}

impl Generator {
    /// A generator whose output depends only on the three arguments.
    ///
    /// `max_values` bounds the array length of `battery` and `battery-u64` (see
    /// [`Workload::has_max_values`]); 0 counts as 1, because no record of the paper is empty.
    #[must_use]
    pub fn new(workload: Workload, seed: u64, max_values: u32) -> Self {
        Self {
            workload,
            values_max: max_values.max(1),
            layout: Layout::default(),
            rng: SplitMix64::new(seed),
            order: lineitem::Order::default(),
            kinds: mixed::Kinds::default(),
        }
    }

    /// The same values with other white space.
    #[must_use]
    pub fn with_layout(mut self, layout: Layout) -> Self {
        self.layout = layout;
        self
    }

    /// Appends one record and a line feed.
    pub fn next_record(&mut self, out: &mut Vec<u8>) {
        let rng = &mut self.rng;
        let mut json = Writer::new(out, self.layout);
        let mut mixed = |shape| mixed::record(&mut json, rng, shape, &mut self.kinds);
        match self.workload {
            Workload::Battery => telemetry::battery(&mut json, rng, self.values_max, 2046),
            Workload::BatteryU64 => telemetry::battery(&mut json, rng, self.values_max, u64::MAX),
            Workload::Trip => telemetry::trip(&mut json, rng, telemetry::Range::Small),
            Workload::TripU64 => telemetry::trip(&mut json, rng, telemetry::Range::Whole),
            Workload::TripFull => telemetry::trip_full(&mut json, rng),
            Workload::Logs => logs::record(&mut json, rng),
            Workload::Lineitem => lineitem::record(&mut json, rng, &mut self.order),
            Workload::Taxi => taxi::record(&mut json, rng),
            Workload::MixedUniform => mixed(Shape::Uniform),
            Workload::MixedSubsets => mixed(Shape::Subsets),
            Workload::MixedOrders => mixed(Shape::Orders),
            Workload::MixedKinds => mixed(Shape::Kinds),
            Workload::MixedBursts => mixed(Shape::Bursts),
            Workload::MixedUnknown => mixed(Shape::Unknown),
            Workload::MixedKeys200 => mixed(Shape::Many),
            Workload::MixedNested => mixed(Shape::Nested),
        }
        out.push(b'\n');
    }

    /// Appends whole records until at least `bytes_target` bytes have been appended; returns the
    /// number of records.
    pub fn fill(&mut self, bytes_target: usize, out: &mut Vec<u8>) -> u64 {
        let end = out.len().saturating_add(bytes_target);
        let mut records = 0;
        while out.len() < end {
            self.next_record(out);
            records += 1;
        }
        records
    }
}
