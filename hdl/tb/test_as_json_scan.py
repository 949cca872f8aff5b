# SPDX-License-Identifier: Apache-2.0
"""cocotb: as_json_scan classifies every byte as a byte-by-byte model does, however the text is cut
into beats and stalled."""

import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge

NAMES = ["space", "newline", "scalar", "quote", "escape", "bad_string", "bad_utf8", "stop", "stop_ok", "stop_value", "run_bad", "value_end", "null_end"]
OPEN, COMMA, DIGIT, OTHER = range(4)


def utf8_bad(text, at):
    """Whether the byte is invalid after the previous ones: by Python's decoder, prefix by prefix."""
    start = at
    while start > 0 and at - start < 3 and text[start - 1] & 0x80:
        start -= 1
    byte, before = text[at], list(text[max(0, at - 3) : at])
    before = [0] * (3 - len(before)) + before
    due = before[2] >= 0xC2 or before[1] >= 0xE0 or before[0] >= 0xF0
    continues = byte & 0xC0 == 0x80
    if continues != due or byte in (0xC0, 0xC1) or byte >= 0xF5:
        return True
    ranges = {0xE0: (0xA0, 0xBF), 0xED: (0x80, 0x9F), 0xF0: (0x90, 0xBF), 0xF4: (0x80, 0x8F)}
    low, high = ranges.get(before[2], (0, 255))
    return not low <= byte <= high


def model(text):
    rows = []
    escaped, last = False, OTHER
    unicode_ = 0
    for at, byte in enumerate(text):
        char = chr(byte)
        before = text[at - 1] if at else 0x20
        row = dict.fromkeys(NAMES, False)
        row["space"] = char in " \t\r"
        row["newline"] = char == "\n"
        structure = char in ' \t\r\n",:[]{}'
        row["scalar"] = not structure
        row["quote"] = char == '"' and not escaped
        row["escape"] = char == "\\" and not escaped
        row["bad_string"] = (
            byte < 0x20 or (unicode_ > 0 and char not in "0123456789abcdefABCDEF") or (escaped and char not in '"\\/bfnrtu')
        )
        row["bad_utf8"] = utf8_bad(text, at)
        digit, number = char.isdigit() and byte < 0x80, char in "0123456789-"
        number_before = chr(before) in "0123456789-"
        fresh = last in (OPEN, COMMA)
        row["stop"] = not (number or char == "," or row["space"])
        row["stop_ok"] = char == "]" and last in (OPEN, DIGIT)
        row["stop_value"] = fresh
        row["run_bad"] = (char == "-" and not fresh) or (digit and not number_before and not fresh) or (char == "," and last != DIGIT)
        row["value_end"] = not number and chr(before).isdigit() and before < 0x80
        alone = at < 5 or chr(text[at - 5]) in ' \t\r\n",:[]{}'
        row["null_end"] = structure and text[max(0, at - 4) : at] == b"null" and alone
        unicode_ = 4 if escaped and char == "u" else max(0, unicode_ - 1)
        escaped = char == "\\" and not escaped
        if not (row["space"] or row["newline"]):
            last = OPEN if char == "[" else COMMA if char == "," else DIGIT if digit else OTHER
        rows.append(row)
    return rows


def text(chance, length):
    pieces = ['{"a":', "[1,2,-3", ", 4 ]", "null", "\\\\", '\\"', "\\u12aF", "\\u1g", '"', "\n", " ", "\t", "é", "漢", "😀", "-", "0", "12", "]", "[", "x", ","]
    out = b""
    while len(out) < length:
        out += bytes([chance.randrange(256)]) if chance.randrange(12) == 0 else chance.choice(pieces).encode()
    return out[:length]


@cocotb.test()
async def every_byte(dut):
    width = len(dut.space_o)
    dut.clr_i.value = 0
    dut.advance_i.value = 0
    dut.rst_ni.value = 0
    cocotb.start_soon(Clock(dut.clk_i, 10, unit="ns").start())
    for _ in range(3):
        await FallingEdge(dut.clk_i)
    dut.rst_ni.value = 1
    chance = random.Random(3)
    for _ in range(12):
        dut.clr_i.value = 1
        await FallingEdge(dut.clk_i)
        dut.clr_i.value = 0
        data = text(chance, width * chance.randrange(2, 40))
        rows = model(data)
        for at in range(0, len(data), width):
            dut.data_i.value = int.from_bytes(data[at : at + width], "little")
            dut.advance_i.value = 0
            for _ in range(chance.choice([0, 0, 0, 1, 3])):
                await FallingEdge(dut.clk_i)
            dut.advance_i.value = 1
            await FallingEdge(dut.clk_i)
            dut.advance_i.value = 0
            for name in NAMES:
                wanted = sum(rows[at + lane][name] << lane for lane in range(width))
                found = int(getattr(dut, name + "_o").value)
                assert found == wanted, (name, data[max(0, at - 8) : at + width], f"{found:b}", f"{wanted:b}")
