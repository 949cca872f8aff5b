# SPDX-License-Identifier: Apache-2.0
"""cocotb: as_axi_write_mux writes several streams to their buffers, and no more: complete bursts
within 4 KiB, data beyond a capacity dropped and reported, under memory stalls; giving up leaves no
burst open."""

import random

import cocotb
from cocotb.triggers import FallingEdge, RisingEdge

from memory import PAGE, Memory
from points import Points
from window import reset

POINTS = Points(
    *("border of 4 KiB", "short burst", "full burst", "empty message", "last of no bytes", "part of a beat", "overflow", "refused", "given up"),
    *("address waited", "beat waited", "stream waited", "several outstanding", "after the end"),
)
INPUTS = ("start_i", "abort_i", "address_i", "capacity_i", "valid_i", "data_i", "strobe_i", "last_i", "aw_ready_i", "w_ready_i", "b_valid_i", "b_resp_i")


async def session(dut, chance, streams, width, refuse, give_up):
    most = int(dut.BurstBeats.value)
    memory = Memory(chance, width, most, POINTS, refuse)
    address_bits = int(dut.AddressBits.value)
    # Each has its own 64 KiB; most begin shortly before a 4 KiB boundary.
    places = [(s + 1 << 16) + PAGE * chance.randrange(4) + chance.choice([0, PAGE - width * chance.randrange(1, 9)]) for s in range(streams)]
    beats, room = [], []
    for s in range(streams):
        count = chance.choice([0, 1, 3, most, 2 * most, chance.randrange(40)])
        body = [(chance.getrandbits(width * 8), (1 << width) - 1) for _ in range(count)]
        if body and chance.randrange(2):
            used = chance.randrange(width)
            body[-1] = (body[-1][0], (1 << used) - 1)
            POINTS.hit("last of no bytes", not used)
            POINTS.hit("part of a beat", used)
        if not body:
            body = [(0, 0)]
            POINTS.hit("empty message")
        beats.append(body)
        filled = sum(strobe != 0 for _, strobe in body)
        room.append(filled + chance.choice([0, 5, 100]) if chance.randrange(5) else chance.randrange(filled + 1))
    dut.address_i.value = sum(place << address_bits * s for s, place in enumerate(places))
    dut.capacity_i.value = sum(r << 32 * s for s, r in enumerate(room))
    dut.start_i.value = 1
    await FallingEdge(dut.clk_i)
    dut.start_i.value = 0
    pauses, stalls = chance.choice([0, 50]), chance.choice([0, 50, 80])
    sent, offered, over = [0] * streams, [False] * streams, 0
    stop = chance.randrange(5, 100) if give_up else None
    for cycle in range(4000):
        if stop == cycle:
            dut.abort_i.value = 1
        elif stop is not None and cycle > stop:
            dut.abort_i.value = 0
        valid = data = strobe = last = 0
        for s in range(streams):
            if sent[s] < len(beats[s]):
                offered[s] = offered[s] or chance.randrange(100) >= pauses
                bits, marks = beats[s][sent[s]]
                valid |= offered[s] << s
                data |= bits << width * 8 * s
                strobe |= marks << width * s
                last |= (sent[s] == len(beats[s]) - 1) << s
        dut.valid_i.value, dut.data_i.value, dut.strobe_i.value, dut.last_i.value = valid, data, strobe, last
        memory.drive(dut, stalls)
        await RisingEdge(dut.clk_i)
        ready = int(dut.ready_o.value)
        for s in range(streams):
            POINTS.hit("stream waited", valid >> s & 1 and not ready >> s & 1)
            if valid >> s & ready >> s & 1:
                sent[s], offered[s] = sent[s] + 1, False
        memory.sample(dut)
        await FallingEdge(dut.clk_i)
        over = over + 1 if dut.idle_o.value else 0
        if over == 6 and (give_up or all(count == len(body) for count, body in zip(sent, beats))):
            break
    else:
        raise AssertionError("does not end")
    dut.b_valid_i.value = dut.abort_i.value = 0
    memory.end()
    assert bool(dut.error_o.value) == memory.refused
    POINTS.hit("given up", give_up)
    want = {}
    for s in range(streams):
        kept = [beat for beat in beats[s] if beat[1]][: room[s]]
        for k, (bits, marks) in enumerate(kept):
            want |= {places[s] + k * width + byte: bits >> 8 * byte & 0xFF for byte in range(width) if marks >> byte & 1}
        if not give_up:
            beyond = sum(beat[1] != 0 for beat in beats[s]) > room[s]
            assert int(dut.overflow_o.value) >> s & 1 == beyond
            POINTS.hit("overflow", beyond)
            if not beyond:
                assert int(dut.bytes_o.value) >> 32 * s & 0xFFFFFFFF == sum(marks.bit_count() for _, marks in kept)
    if give_up:
        assert memory.bytes.items() <= want.items()
    else:
        assert memory.bytes == want
        # Beats after the end are taken and dropped.
        dut.valid_i.value, dut.strobe_i.value = (1 << streams) - 1, (1 << streams * width) - 1
        await RisingEdge(dut.clk_i)
        assert int(dut.ready_o.value) == (1 << streams) - 1
        await FallingEdge(dut.clk_i)
        dut.valid_i.value = 0
        for _ in range(20):
            await FallingEdge(dut.clk_i)
            assert not dut.aw_valid_o.value and not dut.w_valid_o.value
        POINTS.hit("after the end")


@cocotb.test()
async def buffers_are_written(dut):
    await reset(dut, *INPUTS)
    chance = random.Random(67)
    streams, width = int(dut.Streams.value), int(dut.Bytes.value)
    for index in range(60):
        await session(dut, chance, streams, width, index % 5 == 4, index % 6 == 5)
    POINTS.end()
