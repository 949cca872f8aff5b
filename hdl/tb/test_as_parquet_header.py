# SPDX-License-Identifier: Apache-2.0
"""cocotb: as_parquet_header reads page headers as a writer of Thrift's compact protocol makes them,
skips unknown fields, and ends with a fault on an invalid header."""

import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge

from points import Points

TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, STRUCT = 1, 2, 3, 4, 5, 6, 7, 8, 9, 12
POINTS = Points(
    *("v1", "v2", "dictionary", "unknown kind", "long field number", "statistics", "deep", "not compressed", "waited"),
    *("list refused", "missing field refused", "negative refused", "long varint refused", "wide number refused", "too deep refused", "map in long field refused"),
    *("long binary refused", "long id refused", "unknown field"),
)


def varint(number):
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes(out + bytes([number]))


def i32(number):
    return varint((number << 1) ^ (number >> 31) if number >= 0 else (-number << 1) - 1)


def struct(fields, chance, long=False):
    """Fields: number → (type, bytes)."""
    out, last = bytearray(), 0
    for number in sorted(fields):
        kind, body = fields[number]
        if 0 < number - last < 16 and not (long and chance.randrange(3) == 0):
            out.append((number - last) << 4 | kind)
        else:
            POINTS.hit("long field number")
            out += bytes([kind]) + varint(number << 1)
        out += body
        last = number
    return bytes(out + b"\0")


def extra(chance, depth=0):
    """An unknown field."""
    kind = chance.choice([TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, STRUCT, STRUCT, STRUCT])
    body = b""
    if kind == BYTE:
        body = b"\x80"
    elif kind in (I16, I32, I64):
        body = i32(chance.randrange(-(2**14), 2**14)) if kind != I64 else varint(chance.getrandbits(63))
    elif kind == DOUBLE:
        body = chance.randbytes(8)
    elif kind == BINARY:
        body = chance.randbytes(chance.choice([0, 1, 30, 200]))
        body = varint(len(body)) + body
    elif kind == STRUCT:
        if depth == 2:
            POINTS.hit("deep")
            body = b"\0"
        else:
            body = struct({n: extra(chance, depth + 1) for n in chance.sample(range(1, 40), chance.randrange(3))}, chance)
    return kind, body


def header(chance):
    """A header's bytes, and its values."""
    kind = chance.choice([0, 2, 3, 3])
    number = lambda: chance.choice([0, 1, 63, 64, 2**31 - 1, chance.getrandbits(chance.randrange(1, 31))])
    told = {"count": number(), "encoding": chance.randrange(10), "uncompressed": number(), "compressed": number(), "definition": 0, "repetition": 0, "is": 1}
    parts = {1: (I32, i32(told["count"])), 2: (I32, i32(told["encoding"]))}
    if kind == 0:
        parts |= {3: (I32, i32(3)), 4: (I32, i32(3))}
    if kind == 2:
        parts[3] = (chance.choice([TRUE, FALSE]), b"")
    if kind == 3:
        told |= {"definition": number(), "repetition": number()}
        parts = {1: parts[1], 2: (I32, i32(number())), 3: (I32, i32(number())), 4: parts[2], 5: (I32, i32(told["definition"])), 6: (I32, i32(told["repetition"]))}
        if chance.randrange(2):
            told["is"] = chance.randrange(2)
            parts[7] = (TRUE if told["is"] else FALSE, b"")
            POINTS.hit("not compressed", not told["is"])
    if kind != 2 and chance.randrange(2):
        bounds = {n: (BINARY, varint(len(b)) + b) for n, b in ((5, chance.randbytes(8)), (6, chance.randbytes(70)))}
        parts[5 if kind == 0 else 8] = (STRUCT, struct(bounds | {3: (I64, varint(chance.getrandbits(40)))}, chance))
        POINTS.hit("statistics")
    fields = {1: (I32, i32(kind)), 2: (I32, i32(told["uncompressed"])), 3: (I32, i32(told["compressed"]))}
    if chance.randrange(2):
        fields[4] = (I32, i32(-5))
    fields[{0: 5, 2: 7, 3: 8}[kind]] = (STRUCT, parts)
    if chance.randrange(3) == 0:
        POINTS.hit("unknown field")
        fields[chance.choice([9, 40, 3000])] = extra(chance)
    return kind, fields, told


def encode(fields, chance):
    return struct({n: (k, struct(b, chance, True) if isinstance(b, dict) else b) for n, (k, b) in fields.items()}, chance, True)


async def read(dut, chance, data, pauses):
    """The module's outputs for the bytes, and how many it took."""
    dut.start_i.value = 1
    await FallingEdge(dut.clk_i)
    dut.start_i.value = 0
    taken = 0
    for _ in range(40 + 12 * len(data)):
        if dut.done_o.value:
            break
        dut.valid_i.value = int(taken < len(data) and chance.randrange(100) >= pauses)
        POINTS.hit("waited", taken < len(data) and not dut.valid_i.value)
        dut.byte_i.value = data[taken] if taken < len(data) else 0
        await RisingEdge(dut.clk_i)
        taken += int(bool(dut.valid_i.value) and bool(dut.take_o.value))
        await FallingEdge(dut.clk_i)
    else:
        raise AssertionError("does not end")
    dut.valid_i.value = 0
    return taken


def broken(chance):
    """A header with one error, and its name."""
    kind, fields, _ = header(chance)
    where = {0: 5, 2: 7, 3: 8}[kind]
    wrong = chance.choice(
        ["list", "missing field", "negative", "long varint", "wide number", "too deep", "map in long field", "long binary", "long id"]
    )
    if wrong == "list":
        fields[50] = (LIST, b"\x10\0")
    elif wrong == "missing field":
        del fields[chance.choice([1, 2, 3, where])]
    elif wrong == "negative":
        fields[chance.choice([2, 3])] = (I32, i32(-1 - chance.randrange(9)))
    elif wrong == "long varint":
        fields[20] = (I64, b"\xff" * 10 + b"\0")
    elif wrong == "wide number":
        fields[3] = (I32, chance.choice([b"\xff\xff\xff\xff\x1f", b"\x80\x80\x80\x80\x80\x01"]))
    elif wrong == "too deep":
        fields[30] = (STRUCT, bytes([0x1C] * 3) + chance.choice([b"\x1c", b"\x0c\x02"]) + b"\0" * 4)
    elif wrong == "map in long field":
        return wrong, b"\x0b\x02\0"
    elif wrong == "long binary":
        fields[30] = (BINARY, chance.choice([b"\xff\xff\xff\xff\xff\x01", b"\xff\xff\xff\xff\x7f"]))
    else:
        return wrong, b"\x05\xff\xff\xff\xff\0"
    return wrong, encode(fields, chance)


@cocotb.test()
async def all_kinds_of_headers(dut):
    for name in ("clr_i", "start_i", "valid_i", "byte_i"):
        getattr(dut, name).value = 0
    dut.rst_ni.value = 0
    cocotb.start_soon(Clock(dut.clk_i, 10, unit="ns").start())
    for _ in range(3):
        await FallingEdge(dut.clk_i)
    dut.rst_ni.value = 1
    await FallingEdge(dut.clk_i)
    chance = random.Random(23)
    for _ in range(300):
        kind, fields, told = header(chance)
        data = encode(fields, chance)
        taken = await read(dut, chance, data + b"\x15\x06", chance.choice([0, 50]))
        assert taken == len(data) and not dut.fault_o.value, (fields, taken)
        found = {"count": dut.count_o, "encoding": dut.encoding_o, "uncompressed": dut.uncompressed_o, "compressed": dut.compressed_o}
        if kind == 3:
            found |= {"definition": dut.definition_bytes_o, "repetition": dut.repetition_bytes_o, "is": dut.is_compressed_o}
        for name, port in found.items():
            assert int(port.value) == told[name], (name, int(port.value), told)
        assert int(dut.kind_o.value) == {0: 0, 2: 1, 3: 2}[kind] and not dut.other_o.value
        POINTS.hit({0: "v1", 2: "dictionary", 3: "v2"}[kind])
    for _ in range(20):
        fields = {1: (I32, i32(chance.choice([1, 4, 77]))), 2: (I32, i32(9)), 3: (I32, i32(9)), 6: extra(chance)}
        data = encode(fields, chance)
        assert await read(dut, chance, data, 30) == len(data)
        assert dut.other_o.value and not dut.fault_o.value
        POINTS.hit("unknown kind")
    for _ in range(200):
        wrong, data = broken(chance)
        await read(dut, chance, data + b"\0" * 8, chance.choice([0, 50]))
        assert dut.fault_o.value, (wrong, data.hex())
        POINTS.hit(f"{wrong} refused")
        # A start may follow immediately, a clear too.
        dut.clr_i.value = chance.randrange(2)
        await FallingEdge(dut.clk_i)
        dut.clr_i.value = 0
    POINTS.end()
