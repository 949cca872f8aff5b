// SPDX-License-Identifier: Apache-2.0
//! The simulated memory: latency, bandwidth and pauses, also of the interfaces in the papers. Ports
//! of a circuit share the bandwidth.
//!
//! A profile is a model, not a measurement: rates are those of the link, of which every packet
//! takes its framing; latencies are typical of the link.

/// The memory of a circuit, in its clock cycles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryProfile {
    /// Cycles from an address to its first beat.
    pub read_latency: u32,
    /// Cycles from a last beat to the response.
    pub write_latency: u32,
    /// Bytes that the link moves per 1000 cycles to the circuit, framing included; 0 for no limit.
    pub read_rate: u32,
    /// The same from the circuit.
    pub write_rate: u32,
    /// Packets, where rates are limited.
    pub packet: Packet,
    /// Outstanding bursts per direction and port.
    pub outstanding: u32,
    /// Percentage of cycles in which a channel pauses, at random.
    pub stall_percent: u32,
    /// Seed of the random pauses.
    pub seed: u64,
}

/// How a link splits a burst. A packet has data of one burst only, so that short bursts cost more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet {
    /// Maximum bytes of data.
    pub bytes: u32,
    /// Bytes of the link that it takes besides its data. A burst that is read is requested by a
    /// packet without data, in the other direction; responses to writes take nothing.
    pub framing_bytes: u32,
    /// Data takes entire aligned units of this many bytes.
    pub unit_bytes: u32,
}

/// A link to host memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interface {
    /// Its name.
    pub name: &'static str,
    /// Rate per direction, in millions of bytes per second, framing included.
    pub megabytes_per_second: u32,
    /// Its packets.
    pub packet: Packet,
    /// Read latency, nanoseconds.
    pub read_nanoseconds: u32,
    /// Write latency up to the response, nanoseconds.
    pub write_nanoseconds: u32,
}

/// A header with an address of 64 bits (16 bytes), its start and its checksum (8); data in words.
const PCIE_PACKET: Packet = Packet { bytes: 256, framing_bytes: 24, unit_bytes: 4 };

impl Interface {
    /// PCI Express 3.0, 8 lanes.
    pub const PCIE3_X8: Self = Self {
        name: "PCIe Gen3 x8",
        megabytes_per_second: 7_880,
        packet: PCIE_PACKET,
        read_nanoseconds: 800,
        write_nanoseconds: 400,
    };
    /// OpenCAPI 3.0, 8 lanes of 25 Gb/s. Data is in flits of 64 bytes; control takes a part of one.
    pub const OPENCAPI3: Self = Self {
        name: "OpenCAPI 3",
        megabytes_per_second: 25_000,
        packet: Packet { bytes: 256, framing_bytes: 35, unit_bytes: 64 },
        read_nanoseconds: 400,
        write_nanoseconds: 300,
    };
    /// PCI Express 5.0, 16 lanes.
    pub const PCIE5_X16: Self = Self {
        name: "PCIe Gen5 x16",
        megabytes_per_second: 63_000,
        packet: PCIE_PACKET,
        read_nanoseconds: 700,
        write_nanoseconds: 350,
    };
    /// All of them.
    pub const ALL: [Self; 3] = [Self::PCIE3_X8, Self::OPENCAPI3, Self::PCIE5_X16];

    /// GB of data per second and direction in full packets.
    #[must_use]
    pub fn payload_gb_per_s(&self) -> f64 {
        let Packet { bytes, framing_bytes, .. } = self.packet;
        let full = f64::from(bytes) / f64::from(bytes + framing_bytes);
        f64::from(self.megabytes_per_second) / 1e3 * full
    }

    /// GB per second of reading that it sustains in full packets, for this ratio of bytes written
    /// to bytes read. Requests of reads are not in it: the longer they are, the less they take.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a figure to be shown")]
    pub fn gb_per_s(&self, read: u64, written: u64) -> f64 {
        self.payload_gb_per_s() * (read as f64 / written.max(1) as f64).min(1.0)
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
            packet: self.packet,
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
        packet: PCIE_PACKET,
        outstanding: 64,
        stall_percent: 0,
        seed: 1,
    };

    /// A memory with random pauses, for tests.
    pub fn stalling(percent: u32, seed: u64) -> Self {
        Self { stall_percent: percent, seed, ..Self::IDEAL }
    }

    /// The arguments of `as_memory_model.hpp`.
    pub(crate) fn arguments(&self) -> [String; 10] {
        [
            u64::from(self.read_latency),
            u64::from(self.write_latency),
            u64::from(self.read_rate),
            u64::from(self.write_rate),
            u64::from(self.packet.bytes),
            u64::from(self.packet.framing_bytes),
            u64::from(self.packet.unit_bytes),
            u64::from(self.outstanding),
            u64::from(self.stall_percent),
            self.seed,
        ]
        .map(|number| number.to_string())
    }
}
