// SPDX-License-Identifier: Apache-2.0
//! Encoders of columns to test the decoders with: as simple as possible, not fast.

/// An unsigned variable-length integer.
pub fn varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value.to_le_bytes()[0] | 0x80);
        value >>= 7;
    }
    out.push(value.to_le_bytes()[0]);
}

/// A zigzag-encoded signed integer.
pub fn zigzag(value: i64, out: &mut Vec<u8>) {
    varint((value << 1 ^ value >> 63).cast_unsigned(), out);
}

/// Values of `width` bits, lowest first, padded to a whole byte.
pub fn pack(values: &[u64], width: u32, out: &mut Vec<u8>) {
    let (mut bits, mut count) = (0_u128, 0);
    for &value in values {
        bits |= u128::from(value) << count;
        count += width;
        while count >= 8 {
            out.push(bits.to_le_bytes()[0]);
            bits >>= 8;
            count -= 8;
        }
    }
    if count > 0 {
        out.push(bits.to_le_bytes()[0]);
    }
}

/// The hybrid of runs and packed groups. `runs` has the number of values of each piece, and whether
/// it is packed; a piece that is not packed takes all values that are equal to its first.
pub fn hybrid(values: &[u32], width: u32, runs: &[(bool, u8)]) -> Vec<u8> {
    let (mut out, mut at, mut i) = (Vec::new(), 0, 0);
    while at < values.len() {
        let (packed, size) = runs.get(i % runs.len().max(1)).copied().unwrap_or((true, 3));
        i += 1;
        if packed {
            let count = (usize::from(size) % 20 + 1) * 8;
            let mut piece: Vec<u64> =
                values[at..].iter().take(count).map(|value| u64::from(*value)).collect();
            at += piece.len();
            let groups = piece.len().div_ceil(8);
            piece.resize(groups * 8, 0);
            varint((groups as u64) << 1 | 1, &mut out);
            pack(&piece, width, &mut out);
        } else {
            let same = values[at..].iter().take_while(|value| **value == values[at]).count();
            let count = same.min(usize::from(size) * 5 + 1);
            varint((count as u64) << 1, &mut out);
            out.extend(&values[at].to_le_bytes()[..width.div_ceil(8) as usize]);
            at += count;
        }
    }
    out
}

/// `DELTA_BINARY_PACKED` in blocks of `miniblocks` miniblocks of `miniblock` values. With `bits` =
/// 32, differences wrap around as 32-bit integers do.
pub fn delta(values: &[i64], miniblocks: usize, miniblock: usize, bits: u32) -> Vec<u8> {
    let mut out = Vec::new();
    varint((miniblocks * miniblock) as u64, &mut out);
    varint(miniblocks as u64, &mut out);
    varint(values.len() as u64, &mut out);
    zigzag(values.first().copied().unwrap_or(0), &mut out);
    let wrap = |value: i64| value << (64 - bits) >> (64 - bits);
    let differences: Vec<i64> =
        values.windows(2).map(|pair| wrap(pair[1].wrapping_sub(pair[0]))).collect();
    let mask = u64::MAX >> (64 - bits);
    for block in differences.chunks(miniblocks * miniblock) {
        let least = block.iter().copied().min().unwrap_or(0);
        zigzag(least, &mut out);
        let above: Vec<u64> =
            block.iter().map(|value| value.wrapping_sub(least).cast_unsigned() & mask).collect();
        let width = |part: &[u64]| 64 - part.iter().fold(0, |all, v| all | v).leading_zeros();
        let parts: Vec<&[u64]> = above.chunks(miniblock).collect();
        for i in 0..miniblocks {
            // The width of a miniblock without values may be anything.
            out.push(parts.get(i).map_or(255, |part| width(part).to_le_bytes()[0]));
        }
        for part in parts {
            let mut padded = part.to_vec();
            padded.resize(miniblock, 0);
            pack(&padded, width(part), &mut out);
        }
    }
    out
}

/// Strings with their length before them.
pub fn plain_strings(strings: &[Vec<u8>]) -> Vec<u8> {
    let mut out = Vec::new();
    for string in strings {
        out.extend(u32::try_from(string.len()).unwrap().to_le_bytes());
        out.extend(string);
    }
    out
}

fn lengths(lengths: impl Iterator<Item = usize>, miniblock: usize) -> Vec<u8> {
    let lengths: Vec<i64> = lengths.map(|len| i64::try_from(len).unwrap()).collect();
    delta(&lengths, 4, miniblock, 32)
}

/// Strings after all their lengths.
pub fn delta_length(strings: &[Vec<u8>], miniblock: usize) -> Vec<u8> {
    let mut out = lengths(strings.iter().map(Vec::len), miniblock);
    out.extend(strings.concat());
    out
}

/// Strings without the prefix that they share with the previous one.
pub fn delta_strings(strings: &[Vec<u8>], miniblock: usize) -> Vec<u8> {
    let mut shared = Vec::new();
    let mut before: &[u8] = &[];
    for string in strings {
        shared.push(string.iter().zip(before).take_while(|(a, b)| a == b).count());
        before = string;
    }
    let rest: Vec<Vec<u8>> =
        strings.iter().zip(&shared).map(|(string, shared)| string[*shared..].to_vec()).collect();
    let mut out = lengths(shared.into_iter(), miniblock);
    out.extend(delta_length(&rest, miniblock));
    out
}

/// The first byte of every value, then the second, and so on.
pub fn split(data: &[u8], width: usize) -> Vec<u8> {
    (0..width).flat_map(|k| data.chunks_exact(width).map(move |value| value[k])).collect()
}
