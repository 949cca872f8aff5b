// SPDX-License-Identifier: Apache-2.0
//! Sizes in bytes, formatted for the summary; they are parsed by [`arrowsmith_core::size`].

pub use arrowsmith_core::size::{parse, parse_memory};

/// Units and their bytes; the largest that is not above the number is shown.
const UNITS: [(&str, u64); 4] =
    [("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];

/// `512 B`, `4.0 KiB`, `256.0 MiB`.
pub fn display(bytes: u64) -> String {
    for (name, scale) in UNITS {
        if bytes >= scale {
            // Exact to a tenth of the unit.
            let tenths = u128::from(bytes) * 10 / u128::from(scale);
            return format!("{}.{} {name}", tenths / 10, tenths % 10);
        }
    }
    format!("{bytes} B")
}

/// `1234567` as `1,234,567`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 row`, `1,234 rows`.
pub fn counted(number: u64, noun: &str) -> String {
    format!("{} {noun}{}", grouped(number), if number == 1 { "" } else { "s" })
}

/// Bytes per second in a decimal unit: `1.25 GB/s`, `3.40 MB/s`, `0.80 kB/s`.
pub fn per_second(bytes: f64) -> String {
    let (name, scale) = match bytes {
        _ if bytes >= 1e8 => ("GB/s", 1e9),
        _ if bytes >= 1e5 => ("MB/s", 1e6),
        _ => ("kB/s", 1e3),
    };
    format!("{:.2} {name}", bytes / scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_shown() {
        assert_eq!(display(0), "0 B");
        assert_eq!(display(1023), "1023 B");
        assert_eq!(display(1536), "1.5 KiB");
        assert_eq!(display(256 << 20), "256.0 MiB");
        assert_eq!(display(u64::MAX), "16777215.9 TiB");
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1_234_567), "1,234,567");
    }
}
