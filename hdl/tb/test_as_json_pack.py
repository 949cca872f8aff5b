# SPDX-License-Identifier: Apache-2.0
"""cocotb: as_json_pack keeps the pieces of many buffers apart and in order, under back-pressure,
until after the flush."""

import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge


async def round_(dut, chance, buffers, granule, most, lead, pauses):
    expected = [[0] * lead for _ in range(buffers)]
    touched = [False] * buffers
    got = [[] for _ in range(buffers)]
    beat_bits = len(dut.data_o)
    pieces = []
    for _ in range(chance.randrange(1, 120)):
        buffer = chance.randrange(buffers)
        values = [chance.getrandbits(granule) for _ in range(chance.randrange(1, most + 1))]
        pieces.append((buffer, values))
        expected[buffer] += values
        touched[buffer] = True
    index = 0
    dut.flush_i.value = 0
    for _ in range(40 * len(pieces) + 40 * buffers + 200):
        if index < len(pieces):
            buffer, values = pieces[index]
            dut.buffer_i.value = buffer
            dut.count_i.value = len(values)
            dut.data_i.value = sum(value << (granule * at) for at, value in enumerate(values))
        else:
            dut.flush_i.value = 1
        dut.valid_i.value = int(index < len(pieces) and chance.randrange(100) >= pauses)
        dut.ready_i.value = int(chance.randrange(100) >= pauses)
        await RisingEdge(dut.clk_i)
        index += int(bool(dut.valid_i.value) and bool(dut.ready_o.value))
        if dut.valid_o.value and dut.ready_i.value:
            buffer, data = int(dut.buffer_o.value), int(dut.data_o.value)
            slots = beat_bits // granule
            assert int(dut.beat_o.value) == len(got[buffer]) // slots
            got[buffer] += [data >> (granule * at) & ((1 << granule) - 1) for at in range(slots)]
        done = bool(dut.idle_o.value)
        await FallingEdge(dut.clk_i)
        if done and index == len(pieces):
            break
    else:
        raise AssertionError("does not come to an end")
    for buffer in range(buffers):
        wanted = expected[buffer] if touched[buffer] else []
        assert got[buffer][: len(wanted)] == wanted
        assert not any(got[buffer][len(wanted) :])
        assert len(got[buffer]) - len(wanted) < beat_bits // granule


@cocotb.test()
async def pieces_for_many_buffers(dut):
    for name in ("clr_i", "valid_i", "ready_i", "buffer_i", "data_i", "count_i", "flush_i"):
        getattr(dut, name).value = 0
    dut.rst_ni.value = 0
    cocotb.start_soon(Clock(dut.clk_i, 10, unit="ns").start())
    for _ in range(3):
        await FallingEdge(dut.clk_i)
    dut.rst_ni.value = 1
    chance = random.Random(11)
    granule = int(dut.GranuleBits.value)
    sizes = (int(dut.Buffers.value), granule, int(dut.PieceGranules.value), int(dut.Lead.value))
    for _ in range(40):
        await round_(dut, chance, *sizes, chance.choice([0, 30, 70]))
        dut.clr_i.value = 1
        await FallingEdge(dut.clk_i)
        dut.clr_i.value = 0
