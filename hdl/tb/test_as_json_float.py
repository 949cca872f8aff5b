# SPDX-License-Identifier: Apache-2.0
"""cocotb: as_json_float yields the nearest double or single of every number that it takes, and
takes all that its header promises."""

import random
import re
import struct
from fractions import Fraction

import cocotb

from converter import convert
from points import Points

POINTS = Points("double", "single", "subnormal", "tie", "minus zero", "underflow", "overflow refused", "digits refused", "exponent refused")
NUMBER = re.compile(r"(-?)(\d+)(?:\.(\d+))?(?:[eE]([-+]?\d+))?\Z")


def nearest(value, bits):
    """Bits of the float nearest to a non-negative number, ties to even, or None if that is
    infinity; and whether it was a tie."""
    mantissa, least, top = (24, -149, 128) if bits == 32 else (53, -1074, 1024)
    if value == 0:
        return 0, False
    exponent = max(value.numerator.bit_length() - value.denominator.bit_length() - mantissa - 1, least)
    while value / Fraction(2) ** exponent >= 2**mantissa:
        exponent += 1
    scaled = value / Fraction(2) ** exponent
    number = round(scaled)
    if number * Fraction(2) ** exponent >= Fraction(2) ** top:
        return None, False
    return number + ((exponent - least) << (mantissa - 1)) if exponent > least else number, scaled.denominator == 2


def expected(text, single):
    minus, whole, fraction, power = NUMBER.match(text).groups()
    digits = int(whole + (fraction or ""))
    if digits >= 10**19:
        POINTS.hit("digits refused")
        return None
    if power and len(power.lstrip("+-")) > 3:
        POINTS.hit("exponent refused")
        return None
    value = Fraction(digits) * Fraction(10) ** (int(power or 0) - len(fraction or ""))
    bits = 32 if single else 64
    found, tie = nearest(value, bits)
    if found is None:
        POINTS.hit("overflow refused")
        return None
    POINTS.hit("single" if single else "double")
    POINTS.hit("tie", tie)
    POINTS.hit("subnormal", 0 < found < 1 << (23 if single else 52))
    POINTS.hit("underflow", found == 0 and digits != 0)
    POINTS.hit("minus zero", found == 0 and bool(minus))
    return found | (1 << (bits - 1) if minus else 0)


def halfway(chance, bits):
    """A decimal text half-way between two floats, if it is short enough."""
    mantissa = 24 if bits == 32 else 53
    value = Fraction(chance.getrandbits(mantissa) | 1 << mantissa | 1, 2) * Fraction(2) ** chance.randrange(-8, 10)
    digits = value * 10**12
    if digits.denominator != 1 or digits.numerator >= 10**19:
        return None
    return f"{digits.numerator}e-12"


def texts(chance):
    for _ in range(6000):
        kind = chance.randrange(8)
        digits = str(chance.randrange(10 ** chance.randrange(1, 20)))
        if kind == 0:
            yield halfway(chance, chance.choice([32, 64])) or digits
            continue
        if kind == 1:
            # Near the smallest and the largest of both formats.
            digits, power = digits[:17], chance.choice([-45, -38, 38, -324, -308, 308]) + chance.randrange(-20, 4)
            yield f"{chance.choice(['', '-'])}{digits}e{power - len(digits) + 1}"
            continue
        if kind == 2:
            value = struct.unpack("<d", chance.randbytes(8))[0]
            yield repr(value) if NUMBER.match(repr(value)) else "0"
            continue
        if kind == 3:
            digits = str(chance.choice([0, 0, 10**19 - 1, 10**19, chance.randrange(10**19, 10**22)]))
        at = chance.randrange(1, len(digits) + 1)
        text = digits[:at] + ("." + digits[at:] if at < len(digits) else "")
        if kind > 4:
            text += chance.choice("eE") + chance.choice(["", "-", "+"]) + str(chance.choice([0, 1, 22, 99, 330, 999, 1000, chance.randrange(400)]))
        yield chance.choice(["", "-"]) + text


@cocotb.test()
async def nearest_of_all_numbers(dut):
    chance = random.Random(17)

    def check(case, found):
        text, single = case
        wanted = expected(text, single)
        assert found == wanted, f"{text}, single: {single}: {found} instead of {wanted}"

    cases = [(text, chance.choice([False, True])) for text in texts(chance) if len(text) < 31]
    await convert(dut, cases, lambda case: (b"," + case[0].encode(), {"single_i": int(case[1])}), check)
    POINTS.end()
