// SPDX-License-Identifier: Apache-2.0
//! Sizes in bytes: parsed from the command line, and formatted for the summary.

/// Units and their bytes; the largest that is not above the number is shown.
const UNITS: [(&str, u64); 4] =
    [("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];

/// Parses `4096`, `64KiB`, `256 MiB`, `1.5GB`. `K`, `M`, `G`, `T` alone are powers of 1024, with a
/// `B` powers of 1000; case does not matter.
pub fn parse(text: &str) -> Result<u64, String> {
    let refuse =
        || format!("{text:?} is not a size: a number and B, KiB, MiB, GiB, TiB, KB, MB, GB or TB");
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let scale: u64 = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kib" => 1 << 10,
        "m" | "mib" => 1 << 20,
        "g" | "gib" => 1 << 30,
        "t" | "tib" => 1 << 40,
        "kb" => 1_000,
        "mb" => 1_000_000,
        "gb" => 1_000_000_000,
        "tb" => 1_000_000_000_000,
        _ => return Err(refuse()),
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let whole: u64 = whole.parse().map_err(|_| refuse())?;
    let bytes = whole.checked_mul(scale).ok_or_else(|| format!("{text:?} is too large"))?;
    bytes.checked_add(parse_fraction(fraction, scale).ok_or_else(refuse)?).ok_or_else(refuse)
}

/// The part after the point, in bytes, rounded down. Nine digits are enough for any scale here.
fn parse_fraction(digits: &str, scale: u64) -> Option<u64> {
    if digits.is_empty() {
        return Some(0);
    }
    if digits.len() > 9 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let numerator: u64 = digits.parse().ok()?;
    let denominator = 10u64.pow(u32::try_from(digits.len()).ok()?);
    let bytes = u128::from(numerator) * u128::from(scale) / u128::from(denominator);
    u64::try_from(bytes).ok()
}

/// As [`parse`], for sizes that have to fit into `usize`.
pub fn parse_memory(text: &str) -> Result<usize, String> {
    usize::try_from(parse(text)?).map_err(|_| format!("{text:?} is too large for this machine"))
}

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
    fn sizes_are_read() {
        for (text, bytes) in [
            ("0", 0),
            ("4096", 4096),
            ("1B", 1),
            ("64KiB", 65536),
            ("64k", 65536),
            ("64kb", 64000),
            ("256 MiB", 256 << 20),
            ("1.5G", 3 << 29),
            ("0.001kB", 1),
            ("16T", 16 << 40),
        ] {
            assert_eq!(parse(text), Ok(bytes), "{text}");
        }
        for text in ["", "MiB", "-1", "1x", "1.x", "1..2", "1e9", "20000000T", "1.0000000001G"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

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
