# SPDX-License-Identifier: Apache-2.0
"""cocotb: as_json_decimal yields number × 10^scale if that is an integer within the precision, and
refuses all else."""

import random
from fractions import Fraction

import cocotb

from converter import convert
from points import Points

POINTS = Points("exact", "negative", "scale below zero", "shifted up", "shifted down", "38 digits", "digits lost refused", "precision refused", "exponent refused")


def expected(text, scale, precision):
    power = text.lower().partition("e")[2]
    if len(power.lstrip("+-")) > 3:
        POINTS.hit("exponent refused")
        return None
    value = Fraction(text) * Fraction(10) ** scale
    if value.denominator != 1:
        POINTS.hit("digits lost refused")
        return None
    if abs(value) >= 10**precision:
        POINTS.hit("precision refused")
        return None
    POINTS.hit("exact")
    POINTS.hit("negative", value < 0)
    POINTS.hit("scale below zero", scale < 0)
    POINTS.hit("shifted up", "." not in text and scale > 0)
    POINTS.hit("shifted down", "e-" in text)
    POINTS.hit("38 digits", abs(value) >= 10**37)
    return int(value) % 2**128


def texts(chance):
    for _ in range(6000):
        digits = str(chance.randrange(10 ** chance.randrange(1, 28)))
        if chance.randrange(3) == 0:
            digits += "0" * chance.randrange(8)
        digits = digits[:28]
        at = chance.randrange(1, len(digits) + 1)
        text = digits[:at] + ("." + digits[at:] if at < len(digits) and chance.randrange(2) else "")
        if chance.randrange(4) == 0:
            text = text[:23] + chance.choice(["e", "E"]) + chance.choice(["", "-", "+"]) + str(chance.choice([0, 1, 5, 12, 40, 999, 1000]))
        text = text.replace(".e", "e").replace(".E", "E").rstrip(".")
        yield chance.choice(["", "-"]) + text


@cocotb.test()
async def exact_or_refused(dut):
    chance = random.Random(18)

    def check(case, found):
        wanted = expected(*case)
        assert found == wanted, f"{case}: {found} instead of {wanted}"

    cases = []
    for text in texts(chance):
        precision = chance.choice([1, 9, 18, 38, 38, chance.randrange(1, 39)])
        cases.append((text, chance.randrange(-8, precision + 1), precision))
    cases = [case for case in cases if len(case[0]) < 31]
    await convert(dut, cases, lambda case: (b" " + case[0].encode(), {"scale_i": case[1] % 256, "precision_i": case[2]}), check)
    POINTS.end()
