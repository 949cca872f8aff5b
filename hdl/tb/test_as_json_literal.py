# SPDX-License-Identifier: Apache-2.0
"""cocotb: as_json_literal decides whether the text at the end of each window is `true`, `false`,
`null` or a number of the JSON grammar."""

import random
import re

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge

from points import Points

LATENCY = 3
NUMBER = re.compile(rb"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
# as_json_pkg's classes of bytes; all others are part of a text that is not a number.
ENDS = b" \t\n\r,:[]{}"
CLASSES = {b'"': 1, b"-": 4, b"+": 9, b".": 10, b"e": 11, b"E": 11, b"0": 13} | {bytes([c]): 0 for c in ENDS} | {b"%d" % d: 12 for d in range(1, 10)}
OTHER = 8
POINTS = Points("true", "false", "null", "number", "not a number", "in quotes", "too long", "longer than a word", "no text", "fraction", "exponent")


def text(chance):
    kind = chance.randrange(8)
    if kind == 0:
        return chance.choice([b"true", b"false", b"null", b"nul", b"xtrue", b"nulll", b"-null", b"1false"])
    if kind == 1:
        return bytes(chance.choice(b"0123456789-+.eE") for _ in range(chance.randrange(1, 9)))
    number = chance.choice([b"", b"", b"-"]) + str(chance.choice([0, chance.randrange(10), chance.getrandbits(chance.randrange(1, 100))])).encode()
    if chance.randrange(2):
        number += b"." + str(chance.getrandbits(chance.randrange(1, 30))).encode()
    if chance.randrange(3) == 0:
        number += chance.choice([b"e", b"E"]) + chance.choice([b"", b"+", b"-"]) + str(chance.randrange(400)).encode()
    if kind == 2:
        # One byte changed.
        at = chance.randrange(len(number))
        number = number[:at] + bytes([chance.choice(b"0123456789-+.eEx")]) + number[at + 1 :]
    return number if kind != 3 else b"0" * chance.randrange(20, 50) + number


@cocotb.test()
async def texts_of_all_kinds(dut):
    window = int(dut.Window.value)
    chance = random.Random(71)
    cocotb.start_soon(Clock(dut.clk_i, 10, unit="ns").start())
    await FallingEdge(dut.clk_i)
    wanted = []
    for _ in range(3000):
        before = bytes(chance.choice(b' ,:[{"1x') for _ in range(window - 1)) + chance.choice([b'"', b":", b" ", b","])
        shown = (before + text(chance) + (b" " if chance.randrange(40) == 0 else b""))[-window:]
        dut.classes_i.value = sum(CLASSES.get(shown[k : k + 1], OTHER) << 4 * k for k in range(window))
        dut.text_i.value = int.from_bytes(shown[-5:], "little")
        end = len(shown)
        while end and CLASSES.get(shown[end - 1 : end], OTHER) >= 4:
            end -= 1
        run = shown[end:]
        wanted.append((run, end > 0 and shown[end - 1 : end] == b'"' and run != b"", end == 0))
        await RisingEdge(dut.clk_i)
        await FallingEdge(dut.clk_i)
        if len(wanted) < LATENCY:
            continue
        run, opened, long = wanted.pop(0)
        assert bool(dut.long_o.value) == long, run
        POINTS.hit("too long", long)
        if long:
            continue
        is_number = bool(NUMBER.fullmatch(run))
        assert bool(dut.number_o.value) == is_number, run
        assert bool(dut.opened_o.value) == opened, run
        for name in ("true", "false", "null"):
            assert bool(getattr(dut, f"{name}_o").value) == (run == name.encode()), (name, run)
            POINTS.hit(name, run == name.encode())
        POINTS.hit("number", is_number)
        POINTS.hit("not a number", not is_number and run)
        POINTS.hit("in quotes", opened)
        POINTS.hit("longer than a word", len(run) > 8)
        POINTS.hit("no text", not run)
        POINTS.hit("fraction", is_number and b"." in run)
        POINTS.hit("exponent", is_number and b"e" in run.lower())
    POINTS.end()
