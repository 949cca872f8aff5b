# SPDX-License-Identifier: Apache-2.0
"""cocotb: as_stream_window yields every byte of a message once, in order, however bytes are taken
and beats come."""

import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge

PATTERN = 0xEE


async def message(dut, chance, length, offset, gaps, lazy, give_up):
    width = len(dut.beat_i) // 8
    data = bytes(chance.randrange(256) for _ in range(length))
    memory = bytes([PATTERN]) * offset + data
    memory += bytes([PATTERN]) * (-len(memory) % width)
    beats = [memory[at : at + width] for at in range(0, len(memory), width)] if length else []
    while not dut.idle_o.value:
        await FallingEdge(dut.clk_i)
    dut.start_i.value = 1
    dut.offset_i.value = offset
    dut.length_i.value = length
    await FallingEdge(dut.clk_i)
    dut.start_i.value = 0
    seen = bytearray()
    sent = 0
    finishing = False
    for _ in range(50 * (length + width)):
        dut.beat_valid_i.value = int(sent < len(beats) and chance.randrange(100) >= gaps)
        if sent < len(beats):
            dut.beat_i.value = int.from_bytes(beats[sent], "little")
        left = length - len(seen)
        ahead = b""
        if dut.ready_o.value and not finishing:
            assert int(dut.left_o.value) == left
            here = int(dut.window_o.value).to_bytes(width, "little")[: min(width, left)]
            assert here == data[len(seen) : len(seen) + width]
            take = chance.randrange(min(width, left) + 1) if lazy else min(width, left)
            moves = not lazy or chance.randrange(4) > 0
            dut.move_i.value = int(moves)
            # Nothing can be taken after the end.
            dut.take_i.value = width if take == left else take
            further = chance.randrange(2 * width + 1)
            dut.ahead_i.value = further
            ahead = data[len(seen) + further :][:1]
            seen += here[: take if moves else 0]
        done = len(seen) == length or (give_up and len(seen) > length // 2)
        dut.finish_i.value = int(done and not finishing)
        await RisingEdge(dut.clk_i)
        if ahead and dut.ahead_ready_o.value:
            assert int(dut.ahead_o.value) == ahead[0]
        sent += int(bool(dut.beat_valid_i.value) and bool(dut.beat_ready_o.value))
        await FallingEdge(dut.clk_i)
        finishing = finishing or done
        dut.finish_i.value = 0
        dut.take_i.value = 0
        if finishing and dut.idle_o.value:
            break
    dut.beat_valid_i.value = 0
    assert finishing and dut.idle_o.value, "hangs"
    assert sent == len(beats), "requested a different number of beats"


@cocotb.test()
async def messages_of_all_kinds(dut):
    for name in ("start_i", "finish_i", "clr_i", "move_i", "ahead_i", "beat_valid_i", "take_i", "offset_i", "length_i", "beat_i"):
        getattr(dut, name).value = 0
    dut.rst_ni.value = 0
    cocotb.start_soon(Clock(dut.clk_i, 10, unit="ns").start())
    for _ in range(3):
        await FallingEdge(dut.clk_i)
    dut.rst_ni.value = 1
    await FallingEdge(dut.clk_i)
    chance = random.Random(5)
    width = len(dut.beat_i) // 8
    for index in range(300):
        length = chance.choice([0, 1, width - 1, width, width + 1, chance.randrange(200)])
        await message(
            dut, chance, length, chance.randrange(width), chance.choice([0, 40]), index % 3 != 0, index % 5 == 0
        )
