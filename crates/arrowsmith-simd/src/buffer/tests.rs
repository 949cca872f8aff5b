// SPDX-License-Identifier: Apache-2.0
//! Growth, refusal, and the limit of the pool.

use arrowsmith_core::memory;

use super::pool::{POOL_BYTES_MIN, memory_bytes};
use super::*;

#[test]
fn growth_is_charged_and_refused() {
    let mut budget = memory::Budget::new("batch_bytes_max", 64 << 10);
    let mut buf = Buf::<u64>::default();
    let mut bits = BitBuffer::default();
    let refused = budget.run(|| {
        for value in 0.. {
            buf.push(value);
            bits.push(value % 3 == 0);
        }
    });
    assert_eq!(refused.unwrap_err().limit, "batch_bytes_max");
    // While it grows, a buffer exists twice: 16 KiB and 32 KiB fit, 64 KiB do not.
    assert_eq!(buf.len(), 4096);
    assert!(budget.held_bytes() < 40 << 10, "{}", budget.held_bytes());
    assert_eq!(buf.as_slice()[4095], 4095);
    // The full buffer is unchanged, and can be truncated and used again.
    bits.truncate(4096);
    assert_eq!(budget.run(|| buf.truncate(4000)), Ok(()));
    assert_eq!(budget.run(|| buf.push(7)), Ok(()));
    assert_eq!(bits.count_ones(0, 4096), 1366);
    assert_eq!(budget.run(|| drop((buf, bits))), Ok(()));
    assert_eq!(budget.held_bytes(), 0);
}

#[test]
fn sizes_beyond_the_machine_are_refused() {
    let refused = |capacity| Buf::<u64>::try_with_capacity(capacity).unwrap_err();
    for capacity in [usize::MAX, usize::MAX / 8, 1 << 59, 1 << 56] {
        assert_eq!(refused(capacity).limit, "", "{capacity}");
    }
    let mut buf = Buf::<u8>::default();
    buf.push(1);
    let caught = memory::Budget::UNBOUNDED.clone().run(|| buf.push_n(0, usize::MAX - 1));
    assert!(caught.is_err());
    assert_eq!(buf.as_slice(), [1]);
    assert!(BitBuffer::default().try_reserve(usize::MAX).is_err());
}

#[test]
fn the_memory_of_the_machine_is_known() {
    assert!(memory_bytes() > POOL_BYTES_MIN, "{}", memory_bytes());
}
