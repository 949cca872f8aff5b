# SPDX-License-Identifier: Apache-2.0
"""cocotb tests of the queues: as_skid_buffer, as_fifo and as_fifo_block under random gaps and random back-pressure:
every payload arrives once, in order."""

import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge

TRANSFERS = 2_000


async def start(dut):
    dut.rst_ni.value = 0
    dut.clr_i.value = 0
    dut.valid_i.value = 0
    dut.ready_i.value = 0
    cocotb.start_soon(Clock(dut.clk_i, 10, unit="ns").start())
    for _ in range(3):
        await RisingEdge(dut.clk_i)
    await FallingEdge(dut.clk_i)
    dut.rst_ni.value = 1


async def run(dut, gaps, pauses):
    """Sends numbers with the given percentages of gaps and pauses; returns the number of cycles."""
    await start(dut)
    chance = random.Random(gaps * 101 + pauses)
    width = len(dut.data_i)
    sent = [chance.getrandbits(width) for _ in range(TRANSFERS)]
    arrived = []
    index = cycles = 0
    held = None
    while len(arrived) < TRANSFERS:
        cycles += 1
        # An offer stays until it is taken.
        if not dut.valid_i.value and index < TRANSFERS and chance.randrange(100) >= gaps:
            dut.valid_i.value = 1
            dut.data_i.value = sent[index]
        dut.ready_i.value = int(chance.randrange(100) >= pauses)
        await RisingEdge(dut.clk_i)
        taken = bool(dut.valid_i.value and dut.ready_o.value)
        valid, data = bool(dut.valid_o.value), int(dut.data_o.value)
        if held is not None:
            assert valid and data == held, "what was offered changed"
        held = data if valid and not dut.ready_i.value else None
        if valid and dut.ready_i.value:
            arrived.append(data)
        await FallingEdge(dut.clk_i)
        if taken:
            index += 1
            dut.valid_i.value = 0
            if index < TRANSFERS and chance.randrange(100) >= gaps:
                dut.valid_i.value = 1
                dut.data_i.value = sent[index]
    assert arrived == sent
    return cycles


@cocotb.test()
async def without_stalls_a_transfer_a_cycle(dut):
    assert await run(dut, 0, 0) <= TRANSFERS + 4


@cocotb.test()
async def with_gaps_and_pauses(dut):
    for gaps, pauses in [(50, 0), (0, 50), (30, 30), (80, 10), (10, 80)]:
        await run(dut, gaps, pauses)
