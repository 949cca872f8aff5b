# SPDX-License-Identifier: Apache-2.0
"""cocotb: as_parquet_indices yields the indices that an encoder of RLE and bit-packed runs wrote,
for all widths and choices of runs; malformed data ends with its fault before a wrong index comes
out."""

import random

import cocotb
from cocotb.triggers import FallingEdge, RisingEdge

from points import Points
from window import Window, reset, varint

VALUES, INDEX, DICTIONARY = 69, 71, 72
LOOK = 8
POINTS = Points(
    *("run", "packed", "no bits", "all widths", "run header of 3 bytes", "last run says more", "short last group", "step of less than 8"),
    *("stalled", "window waited", "bytes after"),
    *("no width refused", "impossible width refused", "wide index refused", "empty run refused", "endless header refused", "huge run refused", "cut refused"),
)
INPUTS = ("clr_i", "start_i", "count_i", "window_ready_i", "window_i", "left_i", "move_i")


def encode(indices, width, chance, most=40):
    out, at = bytes([width]), 0
    while at < len(indices) and width:
        run = 1
        while at + run < len(indices) and indices[at + run] == indices[at]:
            run += 1
        if chance.randrange(2) and (run > 3 or chance.randrange(4) == 0):
            # The last run may declare more than there are.
            more = chance.randrange(100000) if at + run == len(indices) and chance.randrange(2) else 0
            POINTS.hit("run")
            POINTS.hit("last run says more", more)
            POINTS.hit("run header of 3 bytes", run + more > 8191)
            out += varint(run + more << 1) + indices[at].to_bytes((width + 7) // 8, "little")
            at += run
        else:
            groups = min(chance.choice([1, 2, 8, most]), (len(indices) - at + 7) // 8)
            part = indices[at : at + groups * 8]
            bits = sum(index << width * k for k, index in enumerate(part)).to_bytes(groups * width, "little")
            at += len(part)
            if at == len(indices) and chance.randrange(2):
                # Bytes after the last index may be missing.
                bits = bits[: (len(part) * width + 7) // 8]
                POINTS.hit("short last group", len(part) % 8)
            POINTS.hit("packed")
            out += varint(groups << 1 | 1) + bits
    return out


def numbers(chance, width, count):
    out = []
    while len(out) < count:
        if chance.randrange(2):
            out += [chance.getrandbits(width)] * chance.choice([2, 8, 9, 50, 9000 if chance.randrange(30) == 0 else 1])
        else:
            out += [chance.getrandbits(width) for _ in range(chance.randrange(1, 100))]
    return out[:count]


async def decode(dut, chance, data, count, pauses, stalls):
    """Indices, and the fault."""
    bits = int(dut.Bits.value)
    dut.clr_i.value = 1
    await FallingEdge(dut.clk_i)
    dut.clr_i.value = 0
    dut.start_i.value = 1
    dut.count_i.value = count
    await FallingEdge(dut.clk_i)
    dut.start_i.value = 0
    window, indices = Window(chance, data, LOOK * bits // 8, pauses), []
    for _ in range(100 + 20 * (count + len(data))):
        if int(dut.fault_o.value) or (dut.idle_o.value and dut.empty_o.value):
            break
        ready, shown = window.show()
        dut.window_ready_i.value, dut.window_i.value, dut.left_i.value = ready, shown, window.left
        dut.move_i.value = int(chance.randrange(100) >= stalls)
        await RisingEdge(dut.clk_i)
        if dut.valid_o.value and dut.move_i.value:
            number, data_o = int(dut.count_o.value), int(dut.data_o.value)
            indices += [data_o >> bits * k & (1 << bits) - 1 for k in range(number)]
            POINTS.hit("step of less than 8", number < LOOK)
        POINTS.hit("stalled", dut.valid_o.value and not dut.move_i.value)
        POINTS.hit("window waited", not ready)
        if dut.move_o.value and int(dut.take_o.value):
            assert ready
            window.take(int(dut.take_o.value))
        await FallingEdge(dut.clk_i)
    else:
        raise AssertionError("does not end")
    fault = int(dut.fault_o.value)
    dut.move_i.value = 0
    return indices, fault, window.left


@cocotb.test()
async def runs_of_all_kinds(dut):
    await reset(dut, *INPUTS)
    bits = int(dut.Bits.value)
    chance = random.Random(31)
    widths = [*range(bits + 1)] * 3
    chance.shuffle(widths)
    for width in widths:
        indices = numbers(chance, width, chance.choice([1, 8, 9, 64, chance.randrange(1, 400)]))
        data = encode(indices, width, chance) + chance.choice([b"", b"", chance.randbytes(50)])
        pauses, stalls = chance.choice([(0, 0), (50, 0), (0, 50), (40, 40)])
        found, fault, left = await decode(dut, chance, data, len(indices), pauses, stalls)
        assert not fault and found == indices, (width, fault, len(found), len(indices))
        POINTS.hit("no bits", width == 0)
        POINTS.hit("bytes after", left)
    POINTS.hit("all widths", set(widths) == set(range(bits + 1)))


@cocotb.test()
async def what_is_malformed_ends(dut):
    await reset(dut, *INPUTS)
    bits = int(dut.Bits.value)
    chance = random.Random(37)
    for _ in range(150):
        width = chance.randrange(1, bits + 1)
        indices = numbers(chance, width, chance.randrange(1, 200))
        right = encode(indices, width, chance)
        wrong = chance.choice(["no width", "impossible width", "wide index", "empty run", "endless header", "huge run", "cut"])
        want, allowed = VALUES, []
        if wrong == "no width":
            data = b""
        elif wrong == "impossible width":
            data, want = bytes([chance.randrange(33, 256)]) + right[1:], INDEX
        elif wrong == "wide index":
            # At 32 bits no index is too wide.
            data, want = bytes([bits + 1]) + right[1:], DICTIONARY if bits < 32 else INDEX
        elif wrong == "empty run":
            data = right[:1] + chance.choice([b"\0", b"\1", b"\x80\0"]) + right[1:]
        elif wrong == "endless header":
            data = right[:1] + chance.choice([b"\xff" * 5, b"\x80" * 6, b"\xff\xff\xff\xff\x7f"]) + right[1:]
        elif wrong == "huge run":
            # A bit-packed run has at most as many groups of 8 as the counter of indices can hold.
            data = right[:1] + varint(chance.choice([1 << 29, (1 << 31) - 1]) << 1 | 1) + right[1:]
        else:
            indices = [chance.getrandbits(width) | 1 << width - 1 for _ in indices]
            data, allowed = encode(indices, width, chance), indices
            # The last byte has a bit of an index, unless a group is padded.
            data = data[: chance.randrange(1, max(2, len(data) - width))]
            if len(data) >= 1 + (len(indices) * width + 7) // 8:
                continue
        found, fault, _ = await decode(dut, chance, data, len(indices), chance.choice([0, 40]), chance.choice([0, 40]))
        if wrong == "cut" and not fault:
            # The truncated bytes were padding.
            assert found == indices
            continue
        assert fault == want, (wrong, fault)
        assert found == allowed[: len(found)], wrong
        POINTS.hit(f"{wrong} refused")
    POINTS.end()
