# SPDX-License-Identifier: Apache-2.0
"""cocotb: as_parquet_levels yields the levels that an encoder of RLE and bit-packed runs wrote, for
all choices of runs and however tokens are taken; malformed data ends with a fault."""

import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge

from points import Points

POINTS = Points(
    *("run", "packed", "long run header", "bytes after the levels", "short last run", "no levels", "token waited", "window waited"),
    *("empty run refused", "level above 1 refused", "cut refused", "endless header refused"),
)


def varint(number):
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes(out + bytes([number]))


def encode(levels, chance, short=True):
    out, at = bytearray(), 0
    while at < len(levels):
        run = 1
        while at + run < len(levels) and levels[at + run] == levels[at]:
            run += 1
        if run > 8 and chance.randrange(4):
            count = chance.choice([run, run, chance.randrange(1, run + 1)])
            # The last run may declare more than there are.
            more = chance.randrange(1000) if at + count == len(levels) else 0
            out += varint((count + more) << 1) + bytes([levels[at]])
            POINTS.hit("run")
            POINTS.hit("long run header", count + more > 8191)
        else:
            groups = min(chance.choice([1, 2, 8, 9, 40]), (len(levels) - at + 7) // 8)
            part = levels[at : at + groups * 8]
            bits = sum(level << index for index, level in enumerate(part)).to_bytes(groups, "little")
            if short and at + len(part) == len(levels):
                # Bytes after the last level may be missing.
                bits = bits[: (len(part) + 7) // 8]
                groups += chance.randrange(3)
                POINTS.hit("short last run")
            out += varint(groups << 1 | 1) + bits
            count = len(part)
            POINTS.hit("packed")
        at += count
    return bytes(out)


async def decode(dut, chance, data, count, pauses):
    """Levels, the fault, the number of ones counted."""
    dut.clr_i.value = 1
    await FallingEdge(dut.clk_i)
    dut.clr_i.value = 0
    dut.start_i.value = 1
    dut.count_i.value = count
    dut.bytes_i.value = len(data)
    await FallingEdge(dut.clk_i)
    dut.start_i.value = 0
    levels, at, ready = [], 0, False
    for _ in range(60 + 20 * (count + len(data))):
        if dut.idle_o.value:
            break
        # A valid window stays until it moves.
        ready = ready or chance.randrange(100) >= pauses
        POINTS.hit("window waited", not ready)
        dut.window_ready_i.value = int(ready)
        dut.window_i.value = int.from_bytes((data[at : at + 8] + chance.randbytes(8))[:8], "little") if ready else chance.getrandbits(64)
        dut.token_ready_i.value = int(chance.randrange(100) >= pauses)
        await RisingEdge(dut.clk_i)
        if dut.token_valid_o.value and dut.token_ready_i.value:
            token = int(dut.token_o.value)
            number, bits = token >> 64 & 0xFFFFFFFF, token & (1 << 64) - 1
            levels += [bits & 1] * number if token >> 96 else [bits >> k & 1 for k in range(number)]
            assert token >> 96 or not bits >> number
        POINTS.hit("token waited", dut.token_valid_o.value and not dut.token_ready_i.value)
        if dut.move_o.value:
            at, ready = at + int(dut.take_o.value), False
        await FallingEdge(dut.clk_i)
    else:
        raise AssertionError("does not end")
    fault, ones = int(dut.fault_o.value), int(dut.valid_count_o.value)
    assert fault or at == len(data)
    await FallingEdge(dut.clk_i)
    return levels, fault, ones


@cocotb.test()
async def runs_of_all_kinds(dut):
    for name in ("clr_i", "start_i", "count_i", "bytes_i", "window_ready_i", "window_i", "token_ready_i"):
        getattr(dut, name).value = 0
    dut.rst_ni.value = 0
    cocotb.start_soon(Clock(dut.clk_i, 10, unit="ns").start())
    for _ in range(3):
        await FallingEdge(dut.clk_i)
    dut.rst_ni.value = 1
    await FallingEdge(dut.clk_i)
    chance = random.Random(29)
    for _ in range(150):
        levels = []
        for _ in range(chance.randrange(12)):
            length = chance.choice([1, 5, 64, 65, 200, 20000 if chance.randrange(8) == 0 else 3])
            levels += [chance.randrange(2)] * length if chance.randrange(2) else [chance.randrange(2) for _ in range(min(length, 300))]
        more = chance.randbytes(chance.choice([0, 0, 3, 100]))
        data = encode(levels, chance, not more) + more
        POINTS.hit("bytes after the levels", more)
        POINTS.hit("no levels", not levels)
        pauses = chance.choice([0, 0, 50])
        found, fault, ones = await decode(dut, chance, data, len(levels), pauses)
        assert not fault and found == levels, (fault, len(found), len(levels))
        assert ones == sum(levels)
    for _ in range(100):
        levels = [chance.randrange(2) for _ in range(chance.randrange(20, 300))]
        wrong = chance.choice(["empty run", "level above 1", "cut", "endless header"])
        if wrong == "empty run":
            data = b"\0\1" + encode(levels, chance)
        elif wrong == "level above 1":
            data = b"\x10" + bytes([chance.randrange(2, 256)]) + encode(levels, chance)
        elif wrong == "cut":
            data = encode(levels, chance)
            # The position of a header, or of bits that are levels.
            data = data[: chance.randrange(len(data) - 1)]
        else:
            data = b"\xff" * 6 + encode(levels, chance)
        _, fault, _ = await decode(dut, chance, data, len(levels), chance.choice([0, 50]))
        assert fault == 67, (wrong, fault)
        POINTS.hit(f"{wrong} refused")
    POINTS.end()
