// SPDX-License-Identifier: Apache-2.0
//! Published data and derived figures: sizes of devices, the papers' tables, and the arithmetic
//! between cycles and GB/s.
//!
//! It measures nothing; every figure from here is marked as derived where it is shown.

use arrowsmith_engine_rtl::Interface;
use serde::Serialize;

use crate::stats::float;

/// An FPGA of the papers, with its maker's published sizes.
#[derive(Debug, Clone, Copy)]
pub struct Device {
    /// Its name.
    pub name: &'static str,
    /// Yosys's name of its family.
    pub family: &'static str,
    /// Look-up tables.
    pub luts: u64,
    /// Flip-flops.
    pub flip_flops: u64,
    /// Block RAMs of 36 Kbit.
    pub block_ram_36: u64,
    /// Multipliers.
    pub dsp: u64,
}

/// The JSON paper's larger one.
pub const VU37P: Device = Device {
    name: "VU37P",
    family: "xcup",
    luts: 1_303_680,
    flip_flops: 2_607_360,
    block_ram_36: 2_016,
    dsp: 9_024,
};
/// The Parquet paper's.
pub const VU9P: Device = Device {
    name: "VU9P",
    family: "xcup",
    luts: 1_182_240,
    flip_flops: 2_364_480,
    block_ram_36: 2_160,
    dsp: 6_840,
};
/// The object paper's.
pub const LX110T: Device = Device {
    name: "Virtex-5 LX110T",
    family: "xc5v",
    luts: 69_120,
    flip_flops: 69_120,
    block_ram_36: 148,
    dsp: 64,
};

/// A column of Table I of the JSON paper.
#[derive(Debug, Clone, Copy)]
pub struct JsonPaper {
    /// Its system.
    pub system: &'static str,
    /// Our name of its schema.
    pub workload: &'static str,
    /// Peak GB/s of JSON, end to end.
    pub peak_gb_per_s: f64,
    /// Parsers.
    pub parsers: u32,
    /// Per cent of the device's logic (ALMs, CLBs), shell included.
    pub logic_per_cent: f64,
    /// Per cent of its block RAM.
    pub block_ram_per_cent: f64,
    /// MiB per joule, of the whole system above its idle power.
    pub mib_per_joule: f64,
}

/// Table I of the JSON paper, its FPGA rows.
pub const JSON_PAPER: [JsonPaper; 4] = [
    json_paper("Arria 10 GX, PCIe", "battery", 6.85, 8, 39.0, 30.0, 113.30),
    json_paper("Arria 10 GX, PCIe", "trip", 5.49, 6, 67.0, 42.0, 179.43),
    json_paper("VU37P, OpenCAPI", "battery", 19.42, 32, 47.28, 62.8, 201.42),
    json_paper("VU37P, OpenCAPI", "trip", 10.60, 8, 54.94, 29.66, 439.85),
];

const fn json_paper(
    system: &'static str,
    workload: &'static str,
    peak_gb_per_s: f64,
    parsers: u32,
    logic_per_cent: f64,
    block_ram_per_cent: f64,
    mib_per_joule: f64,
) -> JsonPaper {
    JsonPaper {
        system,
        workload,
        peak_gb_per_s,
        parsers,
        logic_per_cent,
        block_ram_per_cent,
        mib_per_joule,
    }
}

/// A row of Table I of the Parquet paper: one converter, per cent of a VU9P.
#[derive(Debug, Clone, Copy)]
pub struct ParquetPaper {
    /// Type and encoding.
    pub what: &'static str,
    /// Bits of its input.
    pub input_bits: u32,
    /// Per cent of the look-up tables.
    pub luts: f64,
    /// Per cent of the flip-flops.
    pub flip_flops: f64,
    /// Per cent of the block RAM.
    pub block_ram: f64,
}

/// Table I of the Parquet paper.
pub const PARQUET_PAPER: [ParquetPaper; 7] = [
    parquet_paper("int64, plain", 512, 1.18, 1.27, 2.13),
    parquet_paper("int32, delta", 64, 1.46, 1.50, 2.85),
    parquet_paper("int32, delta", 128, 1.55, 1.61, 2.99),
    parquet_paper("int64, delta", 64, 1.68, 1.64, 2.66),
    parquet_paper("int64, delta", 128, 1.76, 1.76, 2.99),
    parquet_paper("int64, delta", 256, 1.90, 1.99, 3.24),
    parquet_paper("utf8, mixed", 128, 2.79, 2.92, 4.47),
];

const fn parquet_paper(
    what: &'static str,
    input_bits: u32,
    luts: f64,
    flip_flops: f64,
    block_ram: f64,
) -> ParquetPaper {
    ParquetPaper { what, input_bits, luts, flip_flops, block_ram }
}

/// Bytes in and out of one simulated run, and its cycles.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Run {
    /// Bytes that the circuit read.
    pub input_bytes: u64,
    /// Bytes of the resulting Arrow arrays.
    pub output_bytes: u64,
    /// Cycles from start to done.
    pub cycles: u64,
    /// Of them, cycles in which a parser had no input.
    pub starved: u64,
    /// Of them, cycles in which there was no room for output.
    pub blocked: u64,
    /// Bursts in which it was written; counted for JSON only.
    pub write_bursts: u64,
}

fn ratio(part: u64, whole: u64) -> f64 {
    float(part) / float(whole.max(1))
}

impl Run {
    /// Bytes read per cycle.
    #[must_use]
    pub fn input_per_cycle(&self) -> f64 {
        ratio(self.input_bytes, self.cycles)
    }

    /// Bytes of Arrow per cycle.
    #[must_use]
    pub fn output_per_cycle(&self) -> f64 {
        ratio(self.output_bytes, self.cycles)
    }

    /// Bytes of Arrow per burst.
    #[must_use]
    pub fn output_per_burst(&self) -> f64 {
        ratio(self.output_bytes, self.write_bursts)
    }

    /// Bytes of Arrow per byte read.
    #[must_use]
    pub fn expansion(&self) -> f64 {
        ratio(self.output_bytes, self.input_bytes)
    }

    /// GB read per second by this many circuits on their own memories.
    #[must_use]
    pub fn gb_per_s(&self, circuits: f64, megahertz: u32) -> f64 {
        circuits * self.input_per_cycle() * f64::from(megahertz) / 1e3
    }

    /// GB that an interface reads per second in full packets, if the output goes back over it: the
    /// link rate limits each way.
    #[must_use]
    pub fn limit_gb_per_s(&self, interface: &Interface) -> f64 {
        interface.payload_gb_per_s() / self.expansion().max(1.0)
    }
}

/// The number of copies of a circuit of `luts` and `block_ram_36` that fit half of a device.
#[must_use]
pub fn fit_half(device: &Device, luts: u64, block_ram_36: u64) -> u64 {
    let logic = device.luts / 2 / luts.max(1);
    let memory = (device.block_ram_36 / 2).checked_div(block_ram_36);
    memory.map_or(logic, |memory| logic.min(memory))
}

/// Per cent of a whole.
#[must_use]
pub fn per_cent(part: u64, whole: u64) -> f64 {
    100.0 * ratio(part, whole)
}

/// Look-up tables per GB/s.
#[must_use]
pub fn luts_per_gb_per_s(luts: u64, gb_per_s: f64) -> f64 {
    float(luts) / gb_per_s
}

/// The clock for a path of this many nanoseconds, in MHz.
#[must_use]
pub fn megahertz(ns: f64) -> f64 {
    1e3 / ns
}

/// Watts of a look-up table with its register per MHz: an eighth of them toggle per cycle, as the
/// maker's estimator assumes.
const LUT_WATTS_PER_MHZ: f64 = 0.1e-6;
/// Watts of a block RAM per MHz.
const BLOCK_RAM_WATTS_PER_MHZ: f64 = 10e-6;

/// Joules per GB read, an estimate: the fabric's dynamic power divided by its throughput. Without
/// the shell, the link and the static power.
#[must_use]
pub fn joules_per_gb(luts: u64, block_ram_36: u64, input_per_cycle: f64) -> f64 {
    let watts_per_mhz =
        float(luts) * LUT_WATTS_PER_MHZ + float(block_ram_36) * BLOCK_RAM_WATTS_PER_MHZ;
    watts_per_mhz * 1e3 / input_per_cycle
}

/// Joules per GB (10^9 bytes) at this many MiB per joule.
#[must_use]
pub fn joules_of(mib_per_joule: f64) -> f64 {
    1e9 / (mib_per_joule * f64::from(1 << 20))
}
