# SPDX-License-Identifier: Apache-2.0
"""cocotb: as_arrow_offsets writes a leading zero and the running sum of lengths, and reports an
offset that does not fit."""

import random

import cocotb
from cocotb.triggers import FallingEdge
from test_as_arrow_values import buffer, start


def driver(dut, chance):
    lanes = dut.Lanes.value.to_unsigned()

    def drive(piece):
        # Lanes beyond the count hold random data.
        whole = piece + [chance.getrandbits(32) for _ in range(lanes - len(piece))]
        dut.length_i.value = sum(length << (lane * 32) for lane, length in enumerate(whole))
        dut.count_i.value = len(piece)

    return lanes, drive


@cocotb.test()
async def running_sums(dut):
    await start(dut)
    chance = random.Random(11)
    lanes, drive = driver(dut, chance)
    for _ in range(40):
        pieces = [
            [chance.choice([0, 1, chance.randrange(5000)]) for _ in range(chance.choice([0, 1, lanes]))]
            for _ in range(chance.randrange(1, 40))
        ]
        written = await buffer(dut, chance, pieces, chance.choice([0, 30, 70]), drive)
        offsets = [0]
        for length in (length for piece in pieces for length in piece):
            offsets.append(offsets[-1] + length)
        assert written == b"".join(offset.to_bytes(4, "little") for offset in offsets)
        assert not dut.overflow_o.value


@cocotb.test()
async def offsets_that_do_not_fit_are_told(dut):
    await start(dut)
    chance = random.Random(12)
    lanes, drive = driver(dut, chance)
    for most, lengths, over in [
        ("all that fits", [2**30, 2**30 - 1], False),
        ("one byte more", [2**30, 2**30], True),
        ("at once", [2**31], True),
    ]:
        pieces = [[0] * lanes] + [[length] for length in lengths] + [[]]
        await buffer(dut, chance, pieces, 0, drive)
        assert bool(dut.overflow_o.value) == over, most
        dut.clr_i.value = 1
        await FallingEdge(dut.clk_i)
        dut.clr_i.value = 0
        await FallingEdge(dut.clk_i)
        assert not dut.overflow_o.value
