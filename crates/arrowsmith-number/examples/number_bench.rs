// SPDX-License-Identifier: Apache-2.0
//! Nanoseconds per number for this crate, the standard library and fast-float2.
//!
//! `cargo run --release -p arrowsmith-number --example number_bench`. Prints medians of several
//! rounds in which the parsers alternate, because absolute figures drift on shared machines. The
//! numbers are comma-separated in one buffer, as in a JSON array, and their values are summed.

use std::hint::black_box;
use std::time::Instant;

use arrowsmith_number::{
    TimeUnit, parse_decimal128, parse_f32, parse_f64, parse_i64, parse_timestamp, parse_u64,
};
use arrowsmith_workload::SplitMix64;

const NUMBERS: usize = 100_000;
const ROUNDS: usize = 15;

/// A number from 0 to 1, without 1.
fn unit(random: &mut SplitMix64) -> f64 {
    (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

/// Numbers, each followed by a comma, and padding after the last.
struct Text {
    bytes: Vec<u8>,
    starts: Vec<usize>,
}

impl Text {
    fn new(mut number: impl FnMut(&mut SplitMix64) -> String) -> Self {
        let mut random = SplitMix64::new(42);
        let mut text = String::new();
        let mut starts = Vec::new();
        for _ in 0..NUMBERS {
            starts.push(text.len());
            text.push_str(&number(&mut random));
            text.push(',');
        }
        text.push_str(&" ".repeat(64));
        Self { bytes: text.into_bytes(), starts }
    }

    /// Parses the text with `parse`, which returns a value and the length of the number.
    fn walk(&self, parse: impl Fn(&[u8]) -> Option<(f64, usize)>) -> f64 {
        let (mut at, mut sum) = (0, 0.0);
        for _ in 0..NUMBERS {
            let Some((value, len)) = parse(&self.bytes[at..]) else { return f64::NAN };
            sum += value;
            at += len + 1;
        }
        sum
    }
}

impl Text {
    /// As [`Text::walk`], with the starts known beforehand, as from a structural index: parsing a
    /// number does not depend on the length of the previous one.
    fn jump(&self, parse: impl Fn(&[u8]) -> Option<(f64, usize)>) -> f64 {
        let mut sum = 0.0;
        for &start in &self.starts {
            let Some((value, _)) = parse(&self.bytes[start..]) else { return f64::NAN };
            sum += value;
        }
        sum
    }
}

type Contestant<'a> = (&'a str, Box<dyn Fn() -> f64 + 'a>);

fn race(title: &str, contestants: &[Contestant<'_>]) {
    let mut times = vec![Vec::new(); contestants.len()];
    for _ in 0..ROUNDS {
        for ((_, run), times) in contestants.iter().zip(&mut times) {
            let start = Instant::now();
            black_box(run());
            times.push(start.elapsed().as_nanos() as f64 / NUMBERS as f64);
        }
    }
    print!("{title:<28}");
    for ((name, run), times) in contestants.iter().zip(&mut times) {
        times.sort_by(f64::total_cmp);
        let failed = if run().is_nan() { " (failed)" } else { "" };
        print!("  {name} {:6.2} ns{failed}", times[ROUNDS / 2]);
    }
    println!();
}

/// The end of the number, which std and fast-float2 need first.
fn number_end(text: &[u8]) -> usize {
    text.iter().position(|&b| b == b',').unwrap_or(text.len())
}

fn std_f64(text: &[u8]) -> Option<(f64, usize)> {
    let end = number_end(text);
    Some((std::str::from_utf8(&text[..end]).ok()?.parse().ok()?, end))
}

fn floats(title: &str, number: impl FnMut(&mut SplitMix64) -> String) {
    let text = Text::new(number);
    let ours = text.walk(|t| parse_f64(t).ok());
    let std = text.walk(std_f64);
    let verdict = if ours.to_bits() == std.to_bits() { "" } else { "  DIFFERENT SUMS" };
    race(
        &format!("{title}{verdict}"),
        &[
            ("f64", Box::new(|| text.walk(|t| parse_f64(t).ok()))),
            ("by index", Box::new(|| text.jump(|t| parse_f64(t).ok()))),
            ("fast-float2", Box::new(|| text.walk(|t| fast_float2::parse_partial(t).ok()))),
            ("by index", Box::new(|| text.jump(|t| fast_float2::parse_partial(t).ok()))),
            ("std", Box::new(|| text.walk(std_f64))),
            (
                "f32",
                Box::new(|| text.walk(|t| parse_f32(t).ok().map(|(v, len)| (f64::from(v), len)))),
            ),
        ],
    );
}

fn main() {
    floats("canada-like", |r| {
        format!("{}", -60.0 - 80.0 * unit(r) + 1e-14 * (r.next_u64() % 10) as f64)
    });
    floats("-65.613616999999977", |r| format!("{:.15}", -60.0 - 39.0 * unit(r)));
    floats("short, 12.5", |r| format!("{:.1}", 10.0 + 89.0 * unit(r)));
    floats("price, 1.23 to 99999.99", |r| {
        format!("{:.2}", 10f64.powi((r.next_u64() % 6) as i32) * unit(r))
    });
    floats("random(), 0.13436424411240122", |r| format!("{}", unit(r)));
    floats("coordinates, 412345.678901", |r| format!("{:.6}", 400_000.0 + 1e5 * unit(r)));
    floats("integers, 1 to 7 digits", |r| {
        format!("{}", r.next_u64() % 10u64.pow((r.next_u64() % 7) as u32 + 1))
    });
    floats("exponents, 1.2345e-05", |r| format!("{:.4e}", unit(r) * 1e-5));
    floats("scientific, 17 digits", |r| {
        // Exponents of two that an `f32` has too.
        let exponent = 1023 - 100 + r.next_u64() % 200;
        format!("{:e}", f64::from_bits(exponent << 52 | r.next_u64() >> 12))
    });

    let small = Text::new(|r| format!("{}", r.next_u64() % 2047));
    let long = Text::new(|r| format!("{}", r.next_u64()));
    let signed = Text::new(|r| format!("{}", r.next_u64().cast_signed() >> (r.next_u64() % 64)));
    for (title, text) in [("u64 0..2047", &small), ("u64 all bits", &long)] {
        race(
            title,
            &[
                (
                    "u64",
                    Box::new(|| text.walk(|t| parse_u64(t).ok().map(|(v, len)| (v as f64, len)))),
                ),
                (
                    "std",
                    Box::new(|| {
                        text.walk(|t| {
                            let end = number_end(t);
                            let value: u64 = std::str::from_utf8(&t[..end]).ok()?.parse().ok()?;
                            Some((value as f64, end))
                        })
                    }),
                ),
            ],
        );
    }
    race(
        "i64 all lengths",
        &[("i64", Box::new(|| signed.walk(|t| parse_i64(t).ok().map(|(v, len)| (v as f64, len)))))],
    );
    let price = Text::new(|r| format!("{:.2}", 10f64.powi((r.next_u64() % 6) as i32) * unit(r)));
    race(
        "decimal128(15, 2)",
        &[(
            "decimal",
            Box::new(|| {
                price.walk(|t| parse_decimal128(t, 15, 2).ok().map(|(v, len)| (v as f64, len)))
            }),
        )],
    );
    let stamps = Text::new(|r| {
        format!(
            "20{:02}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z",
            r.next_u64() % 100,
            r.next_u64() % 12 + 1,
            r.next_u64() % 28 + 1,
            r.next_u64() % 24,
            r.next_u64() % 60,
            r.next_u64() % 60,
            r.next_u64() % 1_000_000
        )
    });
    race(
        "timestamp, 27 bytes",
        &[(
            "us",
            Box::new(|| {
                stamps.walk(|t| {
                    let found = parse_timestamp(t.get(..27)?, TimeUnit::Microsecond).ok()?;
                    Some((found.value as f64, 27))
                })
            }),
        )],
    );
}
