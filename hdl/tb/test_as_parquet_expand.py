# SPDX-License-Identifier: Apache-2.0
"""cocotb: as_parquet_expand puts values at the rows that the levels mark, zeros elsewhere, under
back-pressure on both outputs."""

import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge

from points import Points

POINTS = Points("run of values", "run of nulls", "mixed", "empty message", "waits for values", "bits wait", "data waits", "partial pieces", "cleared")


async def message(dut, chance, pauses, clear=False):
    """One message of tokens and values, taken from both outputs."""
    lanes, width = int(dut.Lanes.value), int(dut.Width.value)
    tokens, levels = [], []
    for _ in range(chance.randrange(12)):
        count = chance.choice([1, lanes, lanes + 1, 64, chance.randrange(1, 65)])
        if chance.randrange(2):
            count = chance.choice([count, 300])
            level = chance.randrange(2)
            tokens.append(1 << 96 | count << 64 | level)
            levels += [level] * count
            POINTS.hit("run of values" if level else "run of nulls")
        else:
            bits = chance.getrandbits(count)
            tokens.append(count << 64 | bits)
            levels += [bits >> k & 1 for k in range(count)]
            POINTS.hit("mixed")
    POINTS.hit("empty message", not levels)
    tokens.append(0)
    values = [chance.randrange(1, 1 << width) for _ in range(sum(levels))]
    pieces, at = [], 0
    while at < len(values):
        count = chance.choice([lanes, lanes, chance.randrange(lanes + 1)])
        pieces.append(values[at : at + count])
        POINTS.hit("partial pieces", len(pieces[-1]) < lanes)
        at += len(pieces[-1])
    pieces.append([])
    rest = iter(values)
    wanted = [next(rest) if level else 0 for level in levels]
    data, bits, token_at, piece_at, ended = [], [], 0, 0, [False, False]
    for cycle in range(200 + 30 * (len(levels) + len(pieces) + len(tokens))):
        if clear and cycle == clear:
            dut.clr_i.value = 1
            for name in ("token_valid_i", "value_valid_i"):
                getattr(dut, name).value = 0
            await FallingEdge(dut.clk_i)
            dut.clr_i.value = 0
            POINTS.hit("cleared")
            return
        dut.token_valid_i.value = int(token_at < len(tokens) and chance.randrange(100) >= pauses)
        dut.token_i.value = tokens[min(token_at, len(tokens) - 1)]
        dut.value_valid_i.value = int(piece_at < len(pieces) and chance.randrange(100) >= pauses)
        piece = pieces[min(piece_at, len(pieces) - 1)]
        dut.value_i.value = sum(value << (width * k) for k, value in enumerate(piece))
        dut.value_count_i.value = len(piece)
        dut.value_last_i.value = int(piece_at == len(pieces) - 1)
        dut.ready_i.value = int(chance.randrange(100) >= pauses)
        dut.bits_ready_i.value = int(chance.randrange(100) >= pauses)
        await RisingEdge(dut.clk_i)
        token_at += int(bool(dut.token_valid_i.value) and bool(dut.token_ready_o.value))
        piece_at += int(bool(dut.value_valid_i.value) and bool(dut.value_ready_o.value))
        POINTS.hit("waits for values", dut.waits_o.value)
        count, last = int(dut.count_o.value) if dut.valid_o.value or dut.bits_valid_o.value else 0, bool(dut.last_o.value)
        if dut.valid_o.value and dut.ready_i.value:
            word = int(dut.data_o.value)
            data += [word >> (width * k) & ((1 << width) - 1) for k in range(count)]
            ended[0] = last
        if dut.bits_valid_o.value and dut.bits_ready_i.value:
            bits += [int(dut.bits_o.value) >> k & 1 for k in range(count)]
            ended[1] = last
        POINTS.hit("bits wait", dut.bits_valid_o.value and not dut.bits_ready_i.value)
        POINTS.hit("data waits", dut.valid_o.value and not dut.ready_i.value)
        await FallingEdge(dut.clk_i)
        if all(ended):
            break
    else:
        raise AssertionError("does not end")
    assert bits == levels
    assert data == wanted


@cocotb.test()
async def values_at_their_rows(dut):
    names = ("clr_i", "token_valid_i", "token_i", "value_valid_i", "value_i", "value_count_i", "value_last_i", "ready_i", "bits_ready_i")
    for name in names:
        getattr(dut, name).value = 0
    dut.rst_ni.value = 0
    cocotb.start_soon(Clock(dut.clk_i, 10, unit="ns").start())
    for _ in range(3):
        await FallingEdge(dut.clk_i)
    dut.rst_ni.value = 1
    await FallingEdge(dut.clk_i)
    chance = random.Random(31)
    for index in range(80):
        await message(dut, chance, chance.choice([0, 30, 70]), chance.randrange(3, 30) if index % 10 == 9 else 0)
    POINTS.end()
