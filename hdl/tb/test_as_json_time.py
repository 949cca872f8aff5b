# SPDX-License-Identifier: Apache-2.0
"""cocotb: as_json_time yields the days or units of an ISO 8601 text, in every unit, and refuses all
other text."""

import datetime
import random
import re

import cocotb

from converter import convert
from points import Points

DATE, DAY, STAMP = range(3)
POINTS = Points(
    *("date", "time of day", "timestamp", "date as timestamp", "offset", "Z", "leap day", "second 60", "before 1970", "each unit refused a fraction"),
    *("a unit overflows", "wrong text refused", "no zone refused"),
)
CLOCK = r"(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?"
FORMS = {
    DATE: re.compile(r"(\d{4})-(\d\d)-(\d\d)\Z"),
    DAY: re.compile(CLOCK + r"\Z"),
    STAMP: re.compile(r"(\d{4})-(\d\d)-(\d\d)(?:[Tt ]" + CLOCK + r"(Z|z|[-+]\d\d:\d\d)?)?\Z"),
}


def days_of(year, month, day):
    try:
        days = (datetime.date(int(year), int(month), int(day)) - datetime.date(1970, 1, 1)).days
    except ValueError:
        return None
    POINTS.hit("leap day", (month, day) == ("02", "29"))
    return days


def units_of(hour, minute, second, fraction, unit):
    """Units since midnight."""
    if int(hour) > 23 or int(minute) > 59 or int(second or 0) > 60:
        return None
    nano = int((fraction or "").ljust(9, "0"))
    size = 1000 ** (3 - unit)
    if nano % size:
        POINTS.hit("each unit refused a fraction")
        return None
    POINTS.hit("second 60", second == "60")
    return ((int(hour) * 60 + int(minute)) * 60 + int(second or 0)) * 1000**unit + nano // size


def expected(text, kind, zoned, unit):
    found = FORMS[kind].match(text)
    if not found:
        POINTS.hit("wrong text refused")
        return None
    if kind == DAY:
        units = units_of(*found.groups(), unit)
        POINTS.hit("time of day")
        return units if units is not None and units < 86400 * 1000**unit else None
    days = days_of(*found.groups()[:3])
    if days is None or kind == DATE:
        POINTS.hit("date", days is not None)
        return days if days is None else days % 2**64
    hour, minute, second, fraction, zone = found.groups()[3:]
    if zoned and zone is None:
        POINTS.hit("no zone refused")
        return None
    if hour is None:
        POINTS.hit("date as timestamp")
        hour, minute = "00", "00"
    units = units_of(hour, minute, second, fraction, unit)
    if units is None:
        return None
    if zone and zone not in "Zz":
        hours, minutes = int(zone[1:3]), int(zone[4:])
        if hours > 23 or minutes > 59:
            return None
        units -= (hours * 60 + minutes) * 60 * 1000**unit * (-1 if zone[0] == "-" else 1)
        POINTS.hit("offset")
    POINTS.hit("Z", zone in ("Z", "z"))
    units += days * 86400 * 1000**unit
    if not -(2**63) <= units < 2**63:
        POINTS.hit("a unit overflows")
        return None
    POINTS.hit("timestamp")
    POINTS.hit("before 1970", units < 0)
    return units % 2**64


def texts(chance):
    two = lambda most: f"{chance.randrange(most):02d}"
    for _ in range(12000):
        year = chance.choice([f"{chance.randrange(1600, 2400):04d}", f"{chance.randrange(10000):04d}", "1970", "2000", "1900", "2024"])
        date = f"{year}-{two(14)}-{two(33)}" if chance.randrange(4) == 0 else f"{year}-{chance.randrange(1, 13):02d}-{chance.randrange(1, 29):02d}"
        if chance.randrange(8) == 0:
            date = f"{year}-02-29"
        clock = f"{two(24)}:{two(60)}"
        if chance.randrange(10) == 0:
            clock = f"{two(30)}:{two(70)}"
        if chance.randrange(5):
            clock += ":" + chance.choice([two(60), two(60), two(60), "60", "61"])
            if chance.randrange(2):
                fraction = "".join(chance.choice("0123456789") for _ in range(chance.randrange(1, 10)))
                clock += "." + chance.choice([fraction, fraction[:3], fraction[:3] + "000", fraction[:6], fraction + "0"])
        zone = chance.choice(["", "", "Z", "z", f"{chance.choice('+-')}{two(24)}:{two(60)}", f"+{two(30)}:{two(70)}", "+01", "Zulu"])
        stamp = date + chance.choice(["T", "T", "t", " ", "x"]) + clock + zone
        text = chance.choice([date, clock, stamp, stamp, stamp])
        if chance.randrange(8) == 0:
            at = chance.randrange(len(text))
            text = text[:at] + chance.choice(["", "x", "0", "-", ":", ".", "9"]) + text[at + chance.randrange(2) :]
        yield text


@cocotb.test()
async def all_forms_and_units(dut):
    chance = random.Random(19)

    def check(case, found):
        wanted = expected(*case)
        assert found == wanted, f"{case}: {found} instead of {wanted}"

    cases = []
    for text in texts(chance):
        kind = chance.choice([DATE, DAY]) if len(text) < 16 and chance.randrange(4) else STAMP
        cases.append((text, kind, kind == STAMP and bool(chance.randrange(2)), chance.randrange(4)))
    # The text with its opening quote is in the window, or it is refused.
    window = len(dut.text_i) // 8
    cases = [case for case in cases if len(case[0]) < window]
    await convert(dut, cases, lambda case: (b'"' + case[0].encode(), {"form_i": case[1] << 3 | case[2] << 2 | case[3]}), check)
    POINTS.end()
