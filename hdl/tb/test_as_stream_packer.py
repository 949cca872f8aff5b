# SPDX-License-Identifier: Apache-2.0
"""cocotb: as_stream_packer puts pieces one after another, with the requested gaps, under
back-pressure."""

import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge


async def sequence(dut, chance, pieces, pauses):
    bytes_ = len(dut.data_i) // 8
    slots = bytes_ // 4
    expected = bytearray()
    work = []
    for index in range(pieces):
        skip = chance.randrange(2)
        count = chance.randrange(1, slots - skip + 1)
        data = bytes(chance.randrange(256) for _ in range(count * 4))
        expected += bytes(4 * skip) + data
        work.append((data, count, skip, index == pieces - 1))
    got = bytearray()
    index = 0
    for _ in range(100 * pieces + 100):
        if len(got) >= len(expected):
            break
        if index < len(work):
            data, count, skip, last = work[index]
            dut.data_i.value = int.from_bytes(data.ljust(bytes_, b"\0"), "little")
            dut.count_i.value = count
            dut.skip_i.value = skip
            dut.last_i.value = int(last)
        dut.valid_i.value = int(index < len(work) and chance.randrange(100) >= pauses)
        dut.ready_i.value = int(chance.randrange(100) >= pauses)
        await RisingEdge(dut.clk_i)
        index += int(bool(dut.valid_i.value) and bool(dut.ready_o.value))
        if dut.valid_o.value and dut.ready_i.value:
            beat = int(dut.data_o.value).to_bytes(bytes_, "little")
            strobe = int(dut.strobe_o.value)
            kept = strobe.bit_count()
            assert strobe == (1 << kept) - 1
            got += beat[:kept]
        await FallingEdge(dut.clk_i)
    dut.valid_i.value = 0
    assert got == expected


@cocotb.test()
async def pieces_of_all_sizes(dut):
    for name in ("clr_i", "valid_i", "ready_i", "data_i", "count_i", "skip_i", "last_i"):
        getattr(dut, name).value = 0
    dut.rst_ni.value = 0
    cocotb.start_soon(Clock(dut.clk_i, 10, unit="ns").start())
    for _ in range(3):
        await FallingEdge(dut.clk_i)
    dut.rst_ni.value = 1
    chance = random.Random(9)
    for round_ in range(60):
        await sequence(dut, chance, chance.randrange(1, 30), chance.choice([0, 30, 70]))
        dut.clr_i.value = 1
        await FallingEdge(dut.clk_i)
        dut.clr_i.value = 0
