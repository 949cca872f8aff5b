# SPDX-License-Identifier: Apache-2.0
"""cocotb: as_json_integer takes exactly the integers that fit, whatever precedes them."""

import random
import re

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge

CYCLES = 6
INTEGER = re.compile(r"-?(0|[1-9][0-9]*)\Z")


def expected(text, signed, bits):
    if not INTEGER.match(text) or (text[0] == "-" and not signed):
        return None
    value = int(text)
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
    return value if low <= value <= high else None


def numeral(byte):
    """numeral_t: coarse_e, and the lower half of the byte."""
    character = chr(byte)
    coarse = 0 if character in ' \t\r\n",[]{}:' else 1 if character == "-" else 3 if character.isdecimal() else 2
    return coarse << 4 | byte & 15


def texts(chance):
    edges = [0, 1, 127, 128, 129, 255, 256, 32767, 32768, 65535, 2**31, 2**32, 2**63 - 1, 2**63, 2**63 + 1, 2**64 - 1, 2**64]
    for _ in range(3000):
        text = str(chance.choice([chance.choice(edges), chance.randrange(10 ** chance.randrange(1, 21))]))
        kind = chance.randrange(10)
        if kind < 3:
            text = "-" + text
        elif kind == 3:
            at = chance.randrange(len(text) + 1)
            text = text[:at] + chance.choice(["-", "0", ".", "e", "x", "+"]) + text[at:]
        elif kind == 4:
            text = chance.choice(["", "-", "0", "-0", "00", "--1", "1-", "true", "9" * 21, "9" * 30])
        yield text


@cocotb.test()
async def all_kinds_of_text(dut):
    cocotb.start_soon(Clock(dut.clk_i, 10, unit="ns").start())
    chance = random.Random(5)
    waiting = []
    seen = {True: 0, False: 0}
    for text in texts(chance):
        signed, bits = chance.choice([True, False]), chance.choice([8, 16, 32, 64])
        window = (chance.choice(["7", "\"", "12"]) * 21 + chance.choice(["[", ",", " ", ":"]) + text)[-21:]
        dut.text_i.value = sum(numeral(byte) << 6 * at for at, byte in enumerate(window.encode()))
        dut.signed_i.value = int(signed)
        dut.bits_i.value = bits
        waiting.append((text, signed, bits))
        await FallingEdge(dut.clk_i)
        if len(waiting) >= CYCLES:
            text, signed, bits = waiting.pop(0)
            value = expected(text, signed, bits)
            assert bool(dut.ok_o.value) == (value is not None), (text, signed, bits)
            seen[value is not None] += 1
            if value is not None:
                assert int(dut.value_o.value) == value % 2**64, (text, signed, bits)
    assert min(seen.values()) > 500
