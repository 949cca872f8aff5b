# SPDX-License-Identifier: Apache-2.0
"""cocotb: as_arrow_values writes Arrow's buffers, for random pieces and random back-pressure."""

import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge


async def buffer(dut, chance, pieces, pauses, drive):
    """Feeds the pieces of one buffer and returns the bytes written, until the last beat."""
    bytes_ = len(dut.data_o) // 8
    written = bytearray()
    index = 0
    for _ in range(200 * len(pieces) + 400):
        if index < len(pieces):
            drive(pieces[index])
            dut.last_i.value = int(index == len(pieces) - 1)
        dut.valid_i.value = int(index < len(pieces) and chance.randrange(100) >= pauses)
        dut.ready_i.value = int(chance.randrange(100) >= pauses)
        await RisingEdge(dut.clk_i)
        index += int(bool(dut.valid_i.value) and bool(dut.ready_o.value))
        done = False
        if dut.valid_o.value and dut.ready_i.value:
            strobe = int(dut.strobe_o.value)
            kept = strobe.bit_count()
            done = bool(dut.last_o.value)
            # Bytes without a gap, a full beat unless it is the last.
            assert strobe == (1 << kept) - 1 and (done or kept == bytes_)
            written += int(dut.data_o.value).to_bytes(bytes_, "little")[:kept]
        await FallingEdge(dut.clk_i)
        if done:
            dut.valid_i.value = 0
            assert index == len(pieces)
            return bytes(written)
    raise AssertionError("the buffer does not end")


async def start(dut):
    for name in ("clr_i", "valid_i", "ready_i", "count_i", "last_i"):
        getattr(dut, name).value = 0
    dut.rst_ni.value = 0
    cocotb.start_soon(Clock(dut.clk_i, 10, unit="ns").start())
    for _ in range(3):
        await FallingEdge(dut.clk_i)
    dut.rst_ni.value = 1
    await FallingEdge(dut.clk_i)


@cocotb.test()
async def elements_of_one_size(dut):
    lanes, bits = dut.Lanes.value.to_unsigned(), dut.ElementBits.value.to_unsigned()
    await start(dut)
    chance = random.Random(3)

    def drive(piece):
        # Lanes beyond the count hold random data.
        whole = piece + [chance.randrange(1 << bits) for _ in range(lanes - len(piece))]
        dut.data_i.value = sum(element << (lane * bits) for lane, element in enumerate(whole))
        dut.count_i.value = len(piece)

    for _ in range(40):
        pieces = [
            [chance.randrange(1 << bits) for _ in range(chance.choice([0, 1, lanes, chance.randrange(lanes + 1)]))]
            for _ in range(chance.randrange(1, 40))
        ]
        elements = [element for piece in pieces for element in piece]
        written = await buffer(dut, chance, pieces, chance.choice([0, 30, 70]), drive)
        size = len(elements) * bits // 8 if bits > 1 else (len(elements) + 63) // 64 * 8
        expected = sum(element << (index * bits) for index, element in enumerate(elements)).to_bytes(size, "little")
        assert written == expected
