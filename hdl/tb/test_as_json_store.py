# SPDX-License-Identifier: Apache-2.0
"""cocotb: as_json_store writes the beats of many buffers, each to its place and once, as full
bursts within multiples of their size, shorter ones only at a buffer's ends, under memory stalls;
beats beyond a capacity are dropped and reported."""

import random

import cocotb
from cocotb.triggers import FallingEdge, RisingEdge

from memory import Memory
from points import Points
from window import reset

POINTS = Points(
    *("border of 4 KiB", "short burst", "full burst", "address waited", "beat waited", "several outstanding", "refused"),
    *("buffer without beats", "begins in a burst", "full", "waited for a row", "one beat per cycle"),
)
INPUTS = ("clr_i", "set_i", "set_buffer_i", "set_word_i", "set_value_i", "valid_i", "buffer_i", "beat_i", "data_i", "flush_i")
MEMORY = ("aw_ready_i", "w_ready_i", "b_valid_i", "b_resp_i")


async def run(dut, chance, buffers, width, refuse):
    most = int(dut.BurstBeats.value)
    memory = Memory(chance, width, most, POINTS, refuse)
    # Each has its own 64 KiB.
    places = [(b + 1 << 33) + chance.choice([0, 4096 - 64, width * chance.randrange(2 * most)]) for b in range(buffers)]
    counts = [chance.choice([0, 1, most - 1, most, 5 * most, chance.randrange(100)]) for _ in range(buffers)]
    rooms = [count + chance.choice([0, 3]) if chance.randrange(6) else chance.randrange(count + 1) for count in counts]
    for b in range(buffers):
        POINTS.hit("buffer without beats", not counts[b])
        POINTS.hit("begins in a burst", places[b] // width % most)
        for word, value in enumerate((places[b] & 0xFFFFFFFF, places[b] >> 32, rooms[b] * width)):
            dut.set_i.value, dut.set_buffer_i.value, dut.set_word_i.value, dut.set_value_i.value = 1, b, word, value
            await FallingEdge(dut.clk_i)
    dut.set_i.value = 0
    dut.clr_i.value = 1
    await FallingEdge(dut.clk_i)
    dut.clr_i.value = 0
    sent, want, offered, taken = [0] * buffers, {}, None, 0
    pauses, stalls = chance.choice([0, 0, 50]), chance.choice([0, 0, 50, 80])
    # One buffer at a time, or all of them between one another.
    apart = chance.randrange(2)
    for cycle in range(20000):
        left = [b for b in range(buffers) if sent[b] < counts[b]]
        if offered is None and left and chance.randrange(100) >= pauses:
            offered = left[0] if apart else chance.choice(left)
            data = chance.getrandbits(width * 8)
            dut.buffer_i.value, dut.beat_i.value, dut.data_i.value = offered, sent[offered], data
        dut.valid_i.value = int(offered is not None)
        dut.flush_i.value = int(not left and offered is None)
        memory.drive(dut, stalls)
        await RisingEdge(dut.clk_i)
        memory.sample(dut)
        if offered is not None:
            ready = bool(dut.ready_o.value)
            POINTS.hit("waited for a row", not ready)
            if ready:
                if sent[offered] < rooms[offered]:
                    place = places[offered] + sent[offered] * width
                    want |= {place + byte: data >> 8 * byte & 0xFF for byte in range(width)}
                sent[offered], offered, taken = sent[offered] + 1, None, taken + 1
        await FallingEdge(dut.clk_i)
        if dut.idle_o.value:
            assert not left and dut.flush_i.value, "idle before the flush"
            break
    else:
        raise AssertionError("does not end")
    dut.flush_i.value = dut.b_valid_i.value = 0
    memory.end()
    assert memory.bytes == want
    assert bool(dut.error_o.value) == memory.refused
    over = any(count > room for count, room in zip(counts, rooms))
    assert bool(dut.full_o.value) == over
    POINTS.hit("full", over)
    # As few bursts as the buffers' places permit.
    blocks = {(place // (most * width)) for place in want}
    assert memory.bursts == len(blocks)
    if not (pauses or stalls) and taken > 20:
        # Beats of one buffer after another, too: the next burst's come while one is written.
        assert cycle < taken + 3 * most + 2 * buffers + 20, f"{cycle} cycles for {taken} beats"
        POINTS.hit("one beat per cycle")


@cocotb.test()
async def buffers_are_written(dut):
    await reset(dut, *INPUTS, *MEMORY)
    chance = random.Random(27)
    buffers, width = int(dut.Buffers.value), int(dut.Bytes.value)
    for index in range(60):
        await run(dut, chance, buffers, width, index % 5 == 4)
    POINTS.end()
