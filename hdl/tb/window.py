# SPDX-License-Identifier: Apache-2.0
"""Shared by benches of decoders after an as_stream_window: a clock and reset, numbers as bytes, and
the window itself."""

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge


def varint(number):
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes(out + bytes([number]))


async def reset(dut, *inputs):
    for name in inputs:
        getattr(dut, name).value = 0
    dut.rst_ni.value = 0
    cocotb.start_soon(Clock(dut.clk_i, 10, unit="ns").start())
    for _ in range(3):
        await FallingEdge(dut.clk_i)
    dut.rst_ni.value = 1
    await FallingEdge(dut.clk_i)


class Window:
    """A model of the window: the next bytes of a message, valid in random cycles. A valid window
    stays until it moves; bytes past the end are random."""

    def __init__(self, chance, data, width, pauses):
        self.chance, self.data, self.width, self.pauses = chance, data, width, pauses
        self.at, self.ready = 0, False

    @property
    def left(self):
        return len(self.data) - self.at

    def show(self):
        """Whether it is valid in the next cycle, and its bits."""
        self.ready = self.ready or self.chance.randrange(100) >= self.pauses
        if not self.ready:
            return 0, self.chance.getrandbits(self.width * 8)
        shown = self.data[self.at : self.at + self.width]
        return 1, int.from_bytes(shown + self.chance.randbytes(self.width - len(shown)), "little")

    def take(self, count):
        """Advances, at most to the end."""
        self.at, self.ready = min(self.at + count, len(self.data)), False


class Output:
    """An output stream: takes transfers, and checks that a waiting one does not change unless a
    fault withdraws it."""

    def __init__(self, dut, valid="valid_o", ready="ready_i"):
        self.dut, self.valid, self.ready, self.waits = dut, getattr(dut, valid), getattr(dut, ready), None

    def taken(self, *names):
        """Before a clock edge: the payload if it is taken at that edge, as numbers."""
        if not self.valid.value:
            assert self.waits is None or int(self.dut.fault_o.value), "what was offered is gone"
            return None
        payload = [int(getattr(self.dut, name).value) for name in names]
        assert self.waits in (None, payload), "what waited has changed"
        self.waits = None if self.ready.value else payload
        return payload if self.ready.value else None
