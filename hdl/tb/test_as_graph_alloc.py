# SPDX-License-Identifier: Apache-2.0
"""cocotb: as_graph_alloc places objects one after another at the alignment of their classes, and
stops at the first fault in message order."""

import random

import cocotb
from cocotb.triggers import FallingEdge, RisingEdge

from points import Points
from window import Window, reset

GOOD, TRUNCATED, UNKNOWN, WRONG, SMALL = 0, 1, 5, 6, 10
POINTS = Points(
    *("one object", "part of a word", "aligned", "full region", "window waited", "two faults"),
    *("truncated", "unknown", "wrong root", "too small", "truncated in an id"),
)


def placed(ids, count, classes, capacity):
    """Code, byte of the fault or end, offsets: objects one after another."""
    at, offsets = 0, []
    for index in range(count):
        if index >= len(ids):
            return TRUNCATED, 4 * index, offsets
        if ids[index] not in classes:
            return UNKNOWN, 4 * index, offsets
        _, root, size, align = classes[ids[index]]
        if index == 0 and not root:
            return WRONG, 0, offsets
        POINTS.hit("aligned", at % align)
        at = -(-at // align) * align
        offsets.append(at)
        at += size
        if at > capacity:
            return SMALL, 4 * index, offsets
    POINTS.hit("full region", at == capacity)
    return GOOD, at, offsets


@cocotb.test()
async def objects_are_placed(dut):
    names = ("start_i", "count_i", "capacity_i", "window_ready_i", "window_i", "left_i", "position_i")
    await reset(dut, *names, *(f"lane_{name}_i" for name in ("known", "root", "type", "size", "align_mask")))
    widths = {"type": "TypeBits", "size": "SizeBits", "align_mask": "AlignBits"}
    bits = {name: int(getattr(dut, width).value) for name, width in widths.items()}
    lanes, offset_bits = int(dut.Lanes.value), int(dut.OffsetBits.value)
    entry_bits = offset_bits + bits["type"]
    chance = random.Random(61)
    for _ in range(300):
        classes = {
            chance.getrandbits(32): (kind, chance.randrange(4) > 0, chance.randrange(1, 1 << bits["size"]), 1 << chance.randrange(bits["align_mask"] + 1))
            for kind in range(1 << bits["type"])
        }
        count = chance.choice([1, 2, lanes, lanes + 1, chance.randrange(1, 60)])
        ids = [chance.choice(list(classes)) for _ in range(count)]
        if chance.randrange(4) == 0:
            ids[chance.randrange(count)] = chance.getrandbits(32)
        cut = chance.randrange(4) == 0
        # Bytes of objects' members follow the list.
        data = b"".join(number.to_bytes(4, "little") for number in ids) + chance.randbytes(40)
        if cut:
            data = data[: chance.randrange(4 * count)]
            POINTS.hit("truncated in an id", len(data) % 4)
        whole = [int.from_bytes(data[at : at + 4], "little") for at in range(0, min(len(data) // 4, count) * 4, 4)]
        most = (1 << offset_bits) - lanes * ((1 << bits["size"]) + (1 << bits["align_mask"])) - 1
        capacity = most
        code, where, offsets = placed(whole, count, classes, capacity)
        if chance.randrange(2):
            end = where if code == GOOD else max(offsets, default=0)
            capacity = min(most, max(0, end + chance.choice([0, 0, -1, -40])))
        code, where, offsets = placed(whole, count, classes, capacity)
        POINTS.hit("two faults", code == SMALL and cut and len(whole) < count)
        dut.start_i.value, dut.count_i.value, dut.capacity_i.value = 1, count, capacity
        dut.window_ready_i.value = 0
        await FallingEdge(dut.clk_i)
        dut.start_i.value = 0
        window, words = Window(chance, data, lanes * 4, chance.choice([0, 50])), []
        for _ in range(40 + 4 * count):
            looked = [int(dut.lane_id_o.value) >> 32 * lane & 0xFFFFFFFF for lane in range(lanes)]
            found = [classes.get(number) for number in looked]
            dut.lane_known_i.value = sum((f is not None) << k for k, f in enumerate(found))
            dut.lane_root_i.value = sum(bool(f and f[1]) << k for k, f in enumerate(found))
            dut.lane_type_i.value = sum(f[0] << bits["type"] * k for k, f in enumerate(found) if f)
            dut.lane_size_i.value = sum(f[2] << bits["size"] * k for k, f in enumerate(found) if f)
            dut.lane_align_mask_i.value = sum(f[3] - 1 << bits["align_mask"] * k for k, f in enumerate(found) if f)
            ready, shown = window.show()
            POINTS.hit("window waited", not ready)
            dut.window_ready_i.value, dut.window_i.value = ready, shown
            dut.left_i.value, dut.position_i.value = window.left, window.at
            await RisingEdge(dut.clk_i)
            if dut.done_o.value:
                break
            if dut.table_write_o.value:
                assert int(dut.table_address_o.value) == len(words)
                words.append(int(dut.table_word_o.value))
            took = int(dut.take_o.value)
            if took:
                assert ready and took <= window.left
                window.take(took)
            await FallingEdge(dut.clk_i)
        else:
            raise AssertionError("does not end")
        assert int(dut.code_o.value) == code, (int(dut.code_o.value), code)
        if code == GOOD:
            assert int(dut.end_o.value) == where
            assert window.at == 4 * count
        else:
            assert int(dut.position_o.value) == where, (code, int(dut.position_o.value), where)
        entries = [word >> entry_bits * lane & (1 << entry_bits) - 1 for word in words for lane in range(lanes)]
        assert len(entries) >= len(offsets)
        for entry, offset, number in zip(entries, offsets, whole):
            assert (entry >> bits["type"], entry & (1 << bits["type"]) - 1) == (offset, classes[number][0])
        POINTS.hit({GOOD: "one object", TRUNCATED: "truncated", UNKNOWN: "unknown", WRONG: "wrong root", SMALL: "too small"}[code], code != GOOD or count == 1)
        POINTS.hit("part of a word", code == GOOD and count % lanes)
        await FallingEdge(dut.clk_i)
        assert not dut.done_o.value
    POINTS.end()
