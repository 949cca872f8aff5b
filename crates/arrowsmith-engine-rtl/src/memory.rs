// SPDX-License-Identifier: Apache-2.0
//! The simulated memory: latency, bandwidth and pauses, also of the interfaces in the papers. Ports
//! of a circuit share the bandwidth.
//!
//! A profile is a model, not a measurement: rates are those of the link less its framing, latencies
//! are typical of the link.

/// The memory of a circuit, in its clock cycles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryProfile {
    /// Cycles from an address to its first beat.
    pub read_latency: u32,
    /// Cycles from a last beat to the response.
    pub write_latency: u32,
    /// Bytes that can be read per 1000 cycles; 0 for no limit.
    pub read_rate: u32,
    /// Bytes that can be written per 1000 cycles; 0 for no limit.
    pub write_rate: u32,
    /// Outstanding bursts per direction and port.
    pub outstanding: u32,
    /// Percentage of cycles in which a channel pauses, at random.
    pub stall_percent: u32,
    /// Seed of the random pauses.
    pub seed: u64,
}

/// A link to host memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interface {
    /// Its name.
    pub name: &'static str,
    /// Payload rate per direction, in millions of bytes per second.
    pub megabytes_per_second: u32,
    /// Read latency, nanoseconds.
    pub read_nanoseconds: u32,
    /// Write latency up to the response, nanoseconds.
    pub write_nanoseconds: u32,
}

impl Interface {
    /// PCI Express 3.0, 8 lanes: 7.88 GB/s, packets of 256 bytes with 24 of framing.
    pub const PCIE3_X8: Self = Self {
        name: "PCIe Gen3 x8",
        megabytes_per_second: 7_200,
        read_nanoseconds: 800,
        write_nanoseconds: 400,
    };
    /// OpenCAPI 3.0, 8 lanes of 25 Gb/s: 25 GB/s, frames of 64 bytes with control.
    pub const OPENCAPI3: Self = Self {
        name: "OpenCAPI 3",
        megabytes_per_second: 22_000,
        read_nanoseconds: 400,
        write_nanoseconds: 300,
    };
    /// PCI Express 5.0, 16 lanes: 63 GB/s, packets of 256 bytes with 24 of framing.
    pub const PCIE5_X16: Self = Self {
        name: "PCIe Gen5 x16",
        megabytes_per_second: 57_600,
        read_nanoseconds: 700,
        write_nanoseconds: 350,
    };
    /// All of them.
    pub const ALL: [Self; 3] = [Self::PCIE3_X8, Self::OPENCAPI3, Self::PCIE5_X16];

    /// GB per second of reading that it sustains, for this ratio of bytes written to bytes read.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a figure to be shown")]
    pub fn gb_per_s(&self, read: u64, written: u64) -> f64 {
        f64::from(self.megabytes_per_second) / 1e3 * (read as f64 / written.max(1) as f64).min(1.0)
    }

    /// The memory profile of the link at a clock in MHz.
    pub fn at(&self, megahertz: u32) -> MemoryProfile {
        let megahertz = megahertz.max(1);
        let cycles = |nanoseconds: u32| nanoseconds * megahertz / 1000;
        let rate = self.megabytes_per_second * 1000 / megahertz;
        MemoryProfile {
            read_latency: cycles(self.read_nanoseconds),
            write_latency: cycles(self.write_nanoseconds),
            read_rate: rate,
            write_rate: rate,
            outstanding: 128,
            stall_percent: 0,
            seed: 1,
        }
    }
}

impl MemoryProfile {
    /// A memory that takes and delivers a beat per cycle, with block RAM's latency: two cycles.
    pub const IDEAL: Self = Self {
        read_latency: 2,
        write_latency: 2,
        read_rate: 0,
        write_rate: 0,
        outstanding: 64,
        stall_percent: 0,
        seed: 1,
    };

    /// A memory with random pauses, for tests.
    pub fn stalling(percent: u32, seed: u64) -> Self {
        Self { stall_percent: percent, seed, ..Self::IDEAL }
    }

    /// The arguments of `as_memory_model.hpp`.
    pub(crate) fn arguments(&self) -> [String; 7] {
        [
            u64::from(self.read_latency),
            u64::from(self.write_latency),
            u64::from(self.read_rate),
            u64::from(self.write_rate),
            u64::from(self.outstanding),
            u64::from(self.stall_percent),
            self.seed,
        ]
        .map(|number| number.to_string())
    }
}
