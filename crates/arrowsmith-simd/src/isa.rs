// SPDX-License-Identifier: Apache-2.0
//! One token type per instruction set; holding one proves that the CPU has it.
//!
//! An algorithm is written once, generic over [`Isa`], as a [`Kernel`] whose `run` is
//! `#[inline(always)]`; [`Isa::vectorize`] compiles it for the instruction set. [`Level`] is the
//! choice made at run time. `ARROWSMITH_CPU` = `avx512`, `avx2`, `neon` or `portable` forces one;
//! engines refuse any other value.

use std::sync::OnceLock;

use arrowsmith_core::{Error, Result};

use crate::arch;
use crate::column::ColumnIsa;
use crate::ints::{IntList, int_list_scalar};
use crate::lanes::{self, LANES, Literal, Positions};
use crate::stream::{ListStream, StreamProgress};
use crate::{Buf, Input};

/// Masks of the brackets, quotes and backslashes of a window: one bit per byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BracketMasks {
    /// `"`.
    pub quote: u64,
    /// `\`.
    pub backslash: u64,
    /// `{` and `[`.
    pub open: u64,
    /// `}` and `]`.
    pub close: u64,
}

/// An algorithm that is compiled once for each instruction set.
pub trait Kernel {
    /// The result of the algorithm.
    type Output;

    /// The algorithm; implementations mark it `#[inline(always)]`.
    fn run<I: Isa>(self, isa: I) -> Self::Output;
}

/// An instruction set that this CPU has.
pub trait Isa: ColumnIsa + Copy + Send + Sync + std::fmt::Debug + 'static {
    /// Its name in `ARROWSMITH_CPU`.
    const NAME: &'static str;

    /// Whether [`Isa::gather_bits`] takes few cycles, so that skipping in bulk is faster.
    const BULK_SKIP: bool = false;

    /// Runs a kernel compiled for this instruction set.
    fn vectorize<K: Kernel>(self, kernel: K) -> K::Output;

    /// A mask of the digits.
    fn digits(self, window: &[u8; 64]) -> u64;

    /// The bits of `bits` where `mask` is set, packed into the low bits (PEXT).
    #[inline(always)]
    fn gather_bits(self, bits: u64, mut mask: u64) -> u64 {
        let (mut gathered, mut to) = (0, 0);
        while mask != 0 {
            gathered |= (bits >> mask.trailing_zeros() & 1) << to;
            to += 1;
            mask &= mask - 1;
        }
        gathered
    }

    /// The inverse: the low bits of `bits`, moved to the positions set in `mask` (PDEP).
    #[inline(always)]
    fn scatter_bits(self, mut bits: u64, mut mask: u64) -> u64 {
        let mut scattered = 0;
        while mask != 0 {
            scattered |= if bits & 1 != 0 { mask & mask.wrapping_neg() } else { 0 };
            bits >>= 1;
            mask &= mask - 1;
        }
        scattered
    }

    /// A mask of the bytes that end or interrupt a string: `"`, `\`, and those below 0x20.
    fn string_stop(self, window: &[u8; 64]) -> u64;

    /// Masks of brackets, quotes and backslashes.
    fn bracket_masks(self, window: &[u8; 64]) -> BracketMasks;

    /// A mask of the bytes equal to `byte`.
    fn equal_to(self, window: &[u8; 64], byte: u8) -> u64;

    /// A mask of the bytes that are not JSON white space.
    fn not_space(self, window: &[u8; 64]) -> u64;

    /// Whether the two windows are equal in the bytes of `mask`, which has its low bits set.
    fn equal(self, window: &[u8; 64], literal: &[u8; 64], mask: u64) -> bool;

    /// Exclusive-or of each bit with all bits below it: from quotes to the insides of strings.
    fn prefix_xor(self, bits: u64) -> u64;

    /// Reads the integers of an array; see [`crate::ints`]. The default reads one after another.
    #[inline(always)]
    fn int_list(self, input: Input<'_>, pos: usize, out: &mut Buf<u64>, signed: bool) -> IntList {
        int_list_scalar(input, pos, out, signed)
    }

    /// Matches the literal at the positions of `lanes`, advances those that match, and returns
    /// them. `all` predicts whether all eight match.
    #[inline(always)]
    fn literal_lanes(
        self,
        input: Input<'_>,
        pos: &mut Positions,
        literal: &Literal,
        lanes: u8,
        _all: bool,
    ) -> u8 {
        lanes::literal(self, input, pos, literal, lanes)
    }

    /// Reads an integer in each of these lanes; the others are 0. See [`crate::lanes`].
    #[inline(always)]
    fn int_lanes(
        self,
        input: Input<'_>,
        pos: &mut Positions,
        lanes: u8,
        signed: bool,
    ) -> Option<[u64; LANES]> {
        lanes::ints(input, pos, lanes, signed)
    }

    /// Reads a number in each of these lanes, as the bits of an `f64`; the others are 0. See
    /// [`crate::lanes`].
    #[inline(always)]
    fn float_lanes(self, input: Input<'_>, pos: &mut Positions, lanes: u8) -> Option<[u64; LANES]> {
        lanes::floats(input, pos, lanes)
    }

    /// Reads a date `"YYYY-MM-DD"` in each of these lanes, as days since 1970-01-01 in two's
    /// complement; the others are 0. See [`crate::lanes`].
    #[inline(always)]
    fn date_lanes(self, input: Input<'_>, pos: &mut Positions, lanes: u8) -> Option<[u32; LANES]> {
        lanes::dates(input, pos, lanes)
    }

    /// Appends the number of each of these lanes, counted from `first`.
    #[inline(always)]
    fn index_lanes(self, out: &mut Buf<u32>, first: u32, lanes: u8) {
        lanes::indices(out, first, lanes);
    }

    /// Reads records that are one array of integers; see [`crate::stream`]. The default reads none.
    #[inline(always)]
    fn list_stream(
        self,
        _input: Input<'_>,
        _stream: &ListStream,
        pos: usize,
        _values: &mut Buf<u64>,
        _offsets: &mut Buf<i32>,
    ) -> StreamProgress {
        StreamProgress::none(pos)
    }
}

/// The values of `ARROWSMITH_CPU`: the instruction sets of all CPUs.
const NAMES: [&str; 4] = ["avx512", "avx2", "neon", "portable"];

/// The instruction set chosen at run time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Level {
    /// AVX-512 with VBMI2, GFNI and BITALG: Ice Lake, Zen 4 and later.
    #[cfg(target_arch = "x86_64")]
    Avx512(arch::avx512::Avx512),
    /// AVX2 with BMI2 and carry-less multiplication: Haswell, Zen and later.
    #[cfg(target_arch = "x86_64")]
    Avx2(arch::avx2::Avx2),
    /// NEON: every 64-bit Arm.
    #[cfg(target_arch = "aarch64")]
    Neon(arch::neon::Neon),
    /// Plain Rust.
    Portable(arch::portable::Portable),
}

impl Level {
    /// Every level that this CPU has, best first.
    pub fn available() -> Vec<Self> {
        let mut levels = Vec::new();
        #[cfg(target_arch = "x86_64")]
        {
            levels.extend(arch::avx512::Avx512::detect().map(Self::Avx512));
            levels.extend(arch::avx2::Avx2::detect().map(Self::Avx2));
        }
        #[cfg(target_arch = "aarch64")]
        levels.extend(arch::neon::Neon::detect().map(Self::Neon));
        levels.push(Self::Portable(arch::portable::Portable));
        levels
    }

    /// The level in `ARROWSMITH_CPU`, or without it the best one. If this CPU lacks that level, or
    /// the name is unknown, it is the best one too, after a warning. Decided once per process.
    pub fn get() -> Self {
        static LEVEL: OnceLock<Level> = OnceLock::new();
        *LEVEL.get_or_init(|| {
            let levels = Self::available();
            let best = levels.first().copied();
            let best = best.unwrap_or(Self::Portable(arch::portable::Portable));
            let Some(name) = std::env::var_os("ARROWSMITH_CPU") else { return best };
            let forced = levels.iter().find(|level| name == level.name());
            forced.copied().unwrap_or_else(|| {
                // Engines report an unknown name as an error.
                if Self::check_name().is_ok() {
                    let names: Vec<_> = levels.iter().map(|level| level.name()).collect();
                    eprintln!(
                        "arrowsmith: ARROWSMITH_CPU={}: this CPU has {}; using {}",
                        name.display(),
                        names.join(", "),
                        best.name()
                    );
                }
                best
            })
        })
    }

    /// Checks that `ARROWSMITH_CPU`, if set, names an instruction set, on this CPU or another one.
    ///
    /// # Errors
    /// [`Error::Config`] names the accepted values.
    pub fn check_name() -> Result<()> {
        match std::env::var_os("ARROWSMITH_CPU") {
            Some(name) if !NAMES.iter().any(|known| name == *known) => {
                let (name, names) = (name.display(), NAMES.join(", "));
                Err(Error::Config(format!("ARROWSMITH_CPU={name}: expected one of {names}")))
            }
            _ => Ok(()),
        }
    }

    /// Its name in `ARROWSMITH_CPU`.
    pub fn name(self) -> &'static str {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(_) => arch::avx512::Avx512::NAME,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(_) => arch::avx2::Avx2::NAME,
            #[cfg(target_arch = "aarch64")]
            Self::Neon(_) => arch::neon::Neon::NAME,
            Self::Portable(_) => arch::portable::Portable::NAME,
        }
    }

    /// Runs a kernel compiled for this level.
    #[inline]
    pub fn dispatch<K: Kernel>(self, kernel: K) -> K::Output {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(isa) => isa.vectorize(kernel),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(isa) => isa.vectorize(kernel),
            #[cfg(target_arch = "aarch64")]
            Self::Neon(isa) => isa.vectorize(kernel),
            Self::Portable(isa) => isa.vectorize(kernel),
        }
    }
}
