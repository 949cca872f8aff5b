// SPDX-License-Identifier: Apache-2.0
//! Files with small corruptions: a reader must either read or reject them.

use bytes::Bytes;

use super::random::file;
use super::{Ask, Reader};
use crate::random::{Rng, mutate};

/// The file of a seed with a few bytes changed, in the pages or in the footer, or truncated.
#[must_use]
pub fn broken_file(seed: u64) -> Bytes {
    // Small files have a larger share of headers, where corruptions matter most.
    let mut seed_of_file = seed;
    let whole = loop {
        let whole = file(seed_of_file).bytes;
        if whole.len() < 40_000 {
            break whole;
        }
        seed_of_file = seed_of_file.wrapping_add(0x1_0001);
    };
    let rng = &mut Rng::new(seed ^ 0xB20C);
    let mut bytes = whole.to_vec();
    let footer = footer_bytes(&bytes);
    for _ in 0..=rng.below(4) {
        match rng.below(8) {
            0 => {
                let end = bytes.len();
                change(rng, &mut bytes, end - footer.min(end), end);
            }
            1 => bytes.truncate(bytes.len() - rng.below(bytes.len().min(64))),
            2 => mutate(rng, &mut bytes),
            _ => {
                let end = bytes.len().saturating_sub(footer);
                change(rng, &mut bytes, 4.min(end), end);
            }
        }
        if bytes.is_empty() {
            break;
        }
    }
    bytes.into()
}

/// Size of the footer with its length and magic number, from the last bytes.
fn footer_bytes(file: &[u8]) -> usize {
    let length = file.len().checked_sub(8).and_then(|at| file[at..].first_chunk());
    length.map_or(0, |length| usize::try_from(u32::from_le_bytes(*length)).unwrap_or(0) + 8)
}

fn change(rng: &mut Rng, bytes: &mut [u8], start: usize, end: usize) {
    let Some(part) = bytes.get_mut(start..end).filter(|part| !part.is_empty()) else { return };
    let at = rng.below(part.len());
    part[at] = match rng.below(4) {
        0 => part[at] ^ (1 << rng.below(8)),
        1 => 0xFF,
        2 => part[at].wrapping_add(1),
        _ => rng.bits().to_le_bytes()[0],
    };
}

/// Reads the corrupted file of a seed; any error is accepted, and any valid batches.
///
/// # Errors
/// Invalid batches.
pub fn check_seed(reader: &dyn Reader, seed: u64) -> Result<(), String> {
    let bytes = broken_file(seed);
    match reader.read(&bytes, &Ask { batch_rows: Some(1_000), ..Ask::default() }) {
        Ok(rows) => match rows.concat() {
            Ok(_) => Ok(()),
            // Valid parts that are too large together are accepted.
            Err(error) if error.to_lowercase().contains("overflow") => Ok(()),
            Err(error) => Err(format!("{}: broken seed {seed}: {error}", reader.name())),
        },
        Err(_) => Ok(()),
    }
}
