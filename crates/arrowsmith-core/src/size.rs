// SPDX-License-Identifier: Apache-2.0
//! Sizes in bytes as people write them: one grammar for the command line and for configurations.
//! Exact, where libraries go through floating point.

/// Parses `4096`, `64KiB`, `256 MiB`, `1.5GB`. `K`, `M`, `G`, `T`, alone or with an `i`, are powers
/// of 1024, with a `B` alone powers of 1000; case does not matter.
///
/// # Errors
/// Text that is not a size, or too large for 64 bits, in words.
pub fn parse(text: &str) -> Result<u64, String> {
    let refuse =
        || format!("{text:?} is not a size: a number and B, KiB, MiB, GiB, TiB, KB, MB, GB or TB");
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let scale: u64 = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "ki" | "kib" => 1 << 10,
        "m" | "mi" | "mib" => 1 << 20,
        "g" | "gi" | "gib" => 1 << 30,
        "t" | "ti" | "tib" => 1 << 40,
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
///
/// # Errors
/// As [`parse`], and a size that memory of this machine cannot have.
pub fn parse_memory(text: &str) -> Result<usize, String> {
    usize::try_from(parse(text)?).map_err(|_| format!("{text:?} is too large for this machine"))
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
            (" 64 Ki ", 65536),
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
}
