# SPDX-License-Identifier: Apache-2.0
"""cocotb: as_parquet_snappy agrees with a three-line decoder on all legal elements, under stalls;
malformed data ends with its fault, and the output before it is right. Elements take the cycles that
the module's header states."""

import random

import cocotb
from cocotb.triggers import FallingEdge, RisingEdge

from points import Points
from window import Output, Window, reset, varint

FAULT = 73
BEAT = 64
BROKEN = {
    "offset of 0",
    "offset before the page",
    "offset beyond the history",
    "literal beyond the page",
    "copy beyond the page",
    "cut",
    "more after",
    "another length",
    "endless length",
    "nothing",
    "levels but no values",
}
POINTS = Points(
    *("literal of 1", "literal of 60", "literal of 61", "literal of a beat", "length of 1 byte", "length of 2 bytes", "length of 3 bytes", "length of 4 bytes"),
    *("copy of kind 1", "copy of kind 2", "copy of kind 3", "copy of itself", "copy of one byte", "offset of a beat", "the furthest copy", "copy over the history's end"),
    *("levels before", "levels alone", "empty page", "empty block", "whole beats", "output waited", "window waited"),
    *(f"{name} refused" for name in BROKEN),
)


def literal(data, chance, size=None):
    """Also with more length bytes than needed, which is legal."""
    number = len(data) - 1
    least = 0 if number < 60 else (number.bit_length() + 7) // 8
    size = max(least, chance.choice([0, 0, 0, 1, 2, 3, 4])) if size is None else size
    if size == 0:
        return bytes([number << 2]) + data
    POINTS.hit(f"length of {size} byte{'s' * (size > 1)}")
    return bytes([59 + size << 2]) + number.to_bytes(size, "little") + data


def copy(length, offset, chance, kind=None):
    kinds = [k for k, fits in ((1, 4 <= length <= 11 and offset < 2048), (2, offset < 65536), (3, True)) if fits]
    kind = kind or chance.choice(kinds)
    POINTS.hit(f"copy of kind {kind}")
    if kind == 1:
        return bytes([1 | length - 4 << 2 | offset >> 8 << 5, offset & 0xFF])
    return bytes([kind | length - 1 << 2]) + offset.to_bytes(2 if kind == 2 else 4, "little")


def copied(made, length, offset):
    for _ in range(length):
        made.append(made[-offset])


def elements(chance, count, history):
    """A block without its length, its output, and the cycle limit without back-pressure."""
    block, made, cycles = b"", bytearray(), 0
    for _ in range(count):
        if not made or chance.randrange(3) == 0:
            length = chance.choice([1, 3, 30, 59, 60, 61, 64, 65, 128, 256, 257, chance.randrange(1, 700)])
            data = chance.randbytes(length)
            for name, size in (("1", 1), ("60", 60), ("61", 61), ("a beat", BEAT)):
                POINTS.hit(f"literal of {name}", length == size)
            block += literal(data, chance)
            made += data
            # A head that is not visible until its literal is taken costs a cycle.
            cycles += 1 + (length >= 59) if length <= 60 else 3 + (length + BEAT - 1) // BEAT
        else:
            furthest = min(len(made), history)
            offset = min(furthest, chance.choice([1, 2, 3, 7, 63, 64, 65, furthest, furthest, chance.randrange(1, furthest + 1)]))
            length = chance.choice([1, 4, 11, 12, 63, 64, chance.randrange(1, 65)])
            POINTS.hit("copy of itself", offset < length)
            POINTS.hit("copy of one byte", offset == 1 and length > 1)
            POINTS.hit("offset of a beat", offset == BEAT)
            POINTS.hit("the furthest copy", offset == history)
            POINTS.hit("copy over the history's end", (len(made) - offset) // history != (len(made) - offset + length - 1) // history)
            block += copy(length, offset, chance)
            copied(made, length, offset)
            # A step that copies bytes which are just being output waits.
            while length > 0:
                step = min(length, offset)
                length, offset, cycles = length - step, offset * 2, cycles + 1 + (offset < step + BEAT)
    return block, bytes(made), cycles


async def decompress(dut, chance, data, size, stored, pauses, stalls):
    """The beats that came out as bytes, the fault, and the cycles from start to idle."""
    dut.clr_i.value = 1
    await FallingEdge(dut.clk_i)
    dut.clr_i.value = 0
    dut.start_i.value = 1
    dut.bytes_i.value, dut.stored_i.value, dut.left_i.value = size, stored, len(data)
    await FallingEdge(dut.clk_i)
    dut.start_i.value = 0
    window, beats, out, spent, rest = Window(chance, data, BEAT, pauses), Output(dut), b"", 0, 12
    for _ in range(200 + 40 * (len(data) + size // BEAT)):
        ready, bits = window.show()
        dut.window_ready_i.value, dut.window_i.value = ready, bits
        dut.ready_i.value = int(chance.randrange(100) >= stalls)
        await RisingEdge(dut.clk_i)
        if (beat := beats.taken("data_o")) is not None:
            out += beat[0].to_bytes(BEAT, "little")
        POINTS.hit("output waited", dut.valid_o.value and not dut.ready_i.value)
        POINTS.hit("window waited", not ready and window.left)
        # A malformed element may take more bytes than there are: a window reaches to the end of its
        # message.
        if ready and dut.move_o.value:
            window.take(int(dut.take_o.value))
        await FallingEdge(dut.clk_i)
        spent += not dut.idle_o.value
        # The packer's content comes out, and nothing after it.
        rest -= bool(dut.idle_o.value) and not dut.valid_o.value
        if not rest or int(dut.fault_o.value):
            break
    else:
        raise AssertionError("does not end")
    return out, int(dut.fault_o.value), spent


def broken(chance, history):
    """A malformed page: its name, the block, the page's size, the bytes of levels, and the correct
    start of the output."""
    wrong = chance.choice(sorted(BROKEN))
    block, made, _ = elements(chance, chance.randrange(1, 12), history)
    size, stored, length = len(made), 0, None
    if wrong == "offset of 0":
        block, size = block + copy(9, 0, chance), size + 9
    elif wrong == "offset before the page":
        block, size = block + copy(9, len(made) + chance.choice([1, 2, 3000]), chance, 3), size + 9
    elif wrong == "offset beyond the history":
        more = chance.randbytes(history)
        block, made = block + literal(more, chance), made + more
        block, size = block + copy(9, history + 1, chance, 2), len(made) + 9
    elif wrong == "literal beyond the page":
        # All that the page has room for, and one more byte.
        more = chance.randbytes(chance.choice([1, 60, 100]))
        block, size = block + literal(more, chance), size + len(more) - 1
    elif wrong == "copy beyond the page":
        block, size = block + copy(9, 1, chance), size + chance.randrange(9)
    elif wrong == "more after":
        block += chance.choice([b"\0\0", copy(1, 1, chance, 2)])
    elif wrong == "another length":
        length = max(0, size + chance.choice([-1, 1, 1 << 32]))
    elif wrong == "nothing":
        return wrong, b"", max(size, 1), 0, b""
    elif wrong == "levels but no values":
        return wrong, made, size + 1, size, made
    data = varint(size if length is None else length) + block
    if wrong == "cut":
        data = data[: chance.randrange(len(data))]
        if not data:
            return "nothing", b"", max(size, 1), 0, b""
    elif wrong == "endless length":
        data = b"\xff" * 5 + data
    return wrong, data, size, stored, made


@cocotb.test()
async def pages_of_all_kinds(dut):
    await reset(dut, "clr_i", "start_i", "bytes_i", "stored_i", "left_i", "window_ready_i", "window_i", "ready_i")
    history = int(dut.HistoryBytes.value)
    chance = random.Random(41)
    for index in range(120):
        block, made, cycles = elements(chance, chance.choice([0, 1, 5, 30]), history)
        levels = chance.randbytes(chance.choice([0, 0, 3, BEAT, 200]))
        alone = bool(levels) and chance.randrange(4) == 0
        if alone:
            block, made = b"", b""
        # A page without values may have no block.
        none = not made and not levels and index % 2
        data = levels if alone or none else levels + varint(len(made)) + block
        pauses, stalls = chance.choice([(0, 0), (0, 0), (50, 0), (0, 50), (30, 70)])
        page = levels + made
        out, fault, spent = await decompress(dut, chance, data, len(page), len(levels), pauses, stalls)
        assert not fault, f"fault {fault} in page {index}"
        assert out == page + bytes(-len(page) % BEAT), f"page {index}"
        if not pauses and not stalls:
            assert spent <= 8 + (len(levels) + BEAT - 1) // BEAT + cycles, f"page {index}: {spent} cycles, {cycles} for its elements"
        POINTS.hit("levels before", levels and made)
        POINTS.hit("levels alone", alone)
        POINTS.hit("empty page", none)
        POINTS.hit("empty block", not made and not alone and not none)
        POINTS.hit("whole beats", page and len(page) % BEAT == 0)


@cocotb.test()
async def what_is_malformed_ends(dut):
    await reset(dut, "clr_i", "start_i", "bytes_i", "stored_i", "left_i", "window_ready_i", "window_i", "ready_i")
    history = int(dut.HistoryBytes.value)
    chance = random.Random(43)
    for _ in range(150):
        wrong, data, size, stored, made = broken(chance, history)
        out, fault, _ = await decompress(dut, chance, data, size, stored, chance.choice([0, 40]), chance.choice([0, 40]))
        assert fault == FAULT, (wrong, fault)
        assert made.startswith(out), wrong
        POINTS.hit(f"{wrong} refused")
    POINTS.end()
