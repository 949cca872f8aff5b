# SPDX-License-Identifier: Apache-2.0
"""cocotb: as_fifo, by the tests of queues.py."""

from queues import with_gaps_and_pauses, without_stalls_a_transfer_a_cycle

__all__ = ["with_gaps_and_pauses", "without_stalls_a_transfer_a_cycle"]
