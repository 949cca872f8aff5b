# SPDX-License-Identifier: Apache-2.0
"""cocotb: as_bit_unpack yields the numbers that were packed, of every width, in order and with
their side-band data, however it advances."""

import random

import cocotb
from cocotb.triggers import FallingEdge, RisingEdge

from points import Points
from window import reset

POINTS = Points("width of 0", "full width", "gap", "stalled", "widths side by side", "forgotten")


@cocotb.test()
async def numbers_of_every_width(dut):
    await reset(dut, "clr_i", "move_i", "valid_i", "data_i", "width_i", "user_i")
    bits, lanes, user_bits = (int(getattr(dut, name).value) for name in ("Width", "Lanes", "UserBits"))
    chance = random.Random(59)
    wanted, before = [], None
    for cycle in range(3000):
        width = chance.choice([0, bits, chance.randrange(bits + 1)])
        numbers = [chance.getrandbits(width) for _ in range(lanes)]
        packed = sum(number << width * k for k, number in enumerate(numbers))
        # Bits after the numbers are random.
        packed |= chance.getrandbits(lanes * bits) >> width * lanes << width * lanes
        user, valid = chance.getrandbits(user_bits), chance.randrange(3) > 0
        dut.valid_i.value, dut.data_i.value, dut.width_i.value, dut.user_i.value = valid, packed, width, user
        dut.move_i.value = move = chance.randrange(3) > 0
        dut.clr_i.value = clear = chance.randrange(200) == 0
        await RisingEdge(dut.clk_i)
        assert bool(dut.empty_o.value) == (not wanted)
        if dut.valid_o.value and move:
            found = int(dut.data_o.value)
            assert ([found >> bits * k & (1 << bits) - 1 for k in range(lanes)], int(dut.user_o.value)) == wanted.pop(0)
        POINTS.hit("stalled", dut.valid_o.value and not move)
        if move and valid:
            wanted.append((numbers, user))
            POINTS.hit("width of 0", width == 0)
            POINTS.hit("full width", width == bits)
            POINTS.hit("widths side by side", before not in (None, width))
            before = width
        POINTS.hit("gap", move and not valid and wanted)
        if clear:
            POINTS.hit("forgotten", wanted)
            wanted.clear()
        await FallingEdge(dut.clk_i)
    POINTS.end()
