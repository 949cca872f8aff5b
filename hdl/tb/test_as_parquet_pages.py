# SPDX-License-Identifier: Apache-2.0
"""cocotb: as_parquet_pages splits a column chunk into the descriptors of its pages and their beats,
compressed or not; malformed data ends with its fault at the position of its header, and giving up
leaves no beat in flight."""

import random

import cocotb
from cocotb.triggers import FallingEdge, RisingEdge

from points import Points
from test_as_parquet_header import FALSE, I32, STRUCT, TRUE, encode, extra, i32
from test_as_parquet_snappy import elements
from window import Output, reset, varint

BEAT = 64
V1, DICTIONARY, V2 = range(3)
HEADER, PAGE, ENCODING, LEVELS, SNAPPY, COUNT = 64, 65, 66, 67, 73, 74
POINTS = Points(
    *("v1", "dictionary", "v2", "other kind", "no values", "no bytes", "shared beat", "no chunk", "bytes after"),
    *("beat waited", "page waited", "body waited", "header over beats", "given up"),
    *("cut in a header refused", "cut in a page refused", "ends early refused", "sizes differ refused", "levels beyond the page refused"),
    *("wide encoding refused", "repetition refused", "too many values refused", "malformed header refused"),
)
COMPRESSED = ("v2 with levels", "v2 not compressed", "malformed block refused")
INPUTS = ("clr_i", "start_i", "offset_i", "length_i", "values_i", "beat_valid_i", "beat_i", "page_ready_i", "body_ready_i")


def header(chance, told):
    """A page header with the given fields, and some that are ignored."""
    kind = told["kind"]
    count, encoding = (I32, i32(told["count"])), (I32, i32(told["encoding"]))
    parts = {
        V1: {1: count, 2: encoding, 3: (I32, i32(3)), 4: (I32, i32(3))},
        DICTIONARY: {1: count, 2: encoding},
        V2: {1: count, 2: (I32, i32(0)), 3: count, 4: encoding, 5: (I32, i32(told["definition"])), 6: (I32, i32(told["repetition"]))},
    }.get(kind)
    fields = {1: (I32, i32({V1: 0, DICTIONARY: 2, V2: 3}.get(kind, kind))), 2: (I32, i32(told["bytes"])), 3: (I32, i32(told["stored"]))}
    if parts and kind == V2 and not told["is"]:
        parts[7] = (FALSE, b"")
    elif parts and kind == V2 and chance.randrange(2):
        parts[7] = (TRUE, b"")
    if parts:
        fields[{V1: 5, DICTIONARY: 7, V2: 8}[kind]] = (STRUCT, parts)
    if chance.randrange(3) == 0:
        fields[chance.choice([4, 30])] = (I32, i32(7)) if chance.randrange(2) else extra(chance)
    return encode(fields, chance)


def page(chance, snappy, wrong=None):
    """Its header's fields, its bytes as stored, and its bytes as output."""
    kind = chance.choice([V1, V1, DICTIONARY, V2, V2, 77])
    if wrong:
        kind = {"levels beyond the page": V2, "repetition": V2, "too many values": V1, "malformed block": V1}.get(wrong, chance.choice([V1, V2]))
    told = {"kind": kind, "count": chance.choice([0, 1, 900]), "encoding": chance.randrange(10), "definition": 0, "repetition": 0, "is": True}
    block, made, _ = elements(chance, chance.choice([0, 1, 8]), 1024)
    if not snappy:
        stored = made
    elif kind == V2:
        levels = chance.randbytes(chance.choice([0, 9, 70]))
        told["is"] = chance.randrange(3) > 0
        stored, made = (levels + varint(len(made)) + block if told["is"] else levels + made), levels + made
        told["definition"] = len(levels)
        POINTS.hit("v2 with levels", levels)
        POINTS.hit("v2 not compressed", not told["is"])
    else:
        stored = varint(len(made)) + block
    told |= {"bytes": len(made), "stored": len(stored)}
    if wrong:
        told["count"] = max(told["count"], 2)
    if wrong == "sizes differ":
        # The compressed size may be any below 2^31, so its negative is in the header.
        told["bytes"] += 1 if not snappy or not told["is"] else 0
        if snappy and told["is"]:
            told["stored"] = 1 << 30
    elif wrong == "levels beyond the page":
        told["definition"] = max(len(made), len(stored)) + 1
    elif wrong == "wide encoding":
        told["encoding"] = chance.choice([16, 1 << 20])
    elif wrong == "repetition":
        told["definition"], told["repetition"] = 0, min(1, len(made), len(stored))
    elif wrong == "malformed block":
        stored = bytes([0xFF] * 5) + stored
        told["stored"] = len(stored)
    return told, stored, made


def chunk(chance, snappy, wrong=None):
    """A chunk's bytes, its values, the expected pages, and the position of the fault; None if it
    happens to have none."""
    data, values, pages, place = b"", 0, [], 0
    count = chance.randrange(1, 5)
    for index in range(count + 1 if wrong else count):
        now = wrong if index == count else None
        told, stored, made = page(chance, snappy, now)
        place = len(data)
        head = header(chance, told)
        if now == "malformed header":
            head = chance.choice([b"\x19\x10", b"\x00", b"\xff" * 7]) + head[1:]
        if now == "cut in a header":
            data += head[: chance.randrange(1, len(head))]
            values += 1
            break
        data += head
        known = told["kind"] in (V1, V2, DICTIONARY)
        # A page of no values is not output, unless it is a dictionary.
        if not now and known and (told["kind"] == DICTIONARY or told["count"]):
            pages.append((told, place, len(data), stored, made))
        if known and told["kind"] != DICTIONARY:
            values += told["count"] - (now == "too many values")
        data += stored
        if now == "cut in a page":
            # The header declares more than the chunk has.
            data = data[:-1] if stored else data
            place = place if stored else None
        if now == "repetition" and not told["repetition"]:
            place = None
        if not now:
            POINTS.hit({V1: "v1", V2: "v2", DICTIONARY: "dictionary"}.get(told["kind"], "other kind"))
            POINTS.hit("no values", told["kind"] in (V1, V2) and not told["count"])
            POINTS.hit("no bytes", not stored)
    if wrong == "ends early":
        place, values = len(data), values + 1
    return data, values, pages, place


def wanted(told, place, at, stored, made, offset, memory, snappy):
    """A page's descriptor, and its beats."""
    descriptor = (told["kind"], told["encoding"], told["count"], told["bytes"], told["definition"], place, 0 if snappy else (offset + at) % BEAT)
    if snappy:
        return descriptor, [int.from_bytes(made[k : k + BEAT], "little") for k in range(0, len(made), BEAT)]
    first, last = (offset + at) // BEAT, (offset + at + len(stored) - 1) // BEAT
    return descriptor, [memory[k] for k in range(first, last + 1)] if stored else []


def fields(word):
    """page_t, the last field lowest."""
    widths = (2, 4, 32, 32, 32, 32, 6)
    out = []
    for width in reversed(widths):
        out.append(word & (1 << width) - 1)
        word >>= width
    # The length of levels is output for V2 only.
    if out[-1] != V2:
        out[2] = 0
    return tuple(reversed(out))


async def read(dut, chance, data, values, offset, pauses, stalls, give_up=None):
    """Descriptors, beats, fault and position."""
    dut.clr_i.value = 1
    await FallingEdge(dut.clk_i)
    dut.clr_i.value = 0
    whole = chance.randbytes(offset) + data
    whole += chance.randbytes(-len(whole) % BEAT)
    memory = [int.from_bytes(whole[k : k + BEAT], "little") for k in range(0, len(whole), BEAT)] if data else []
    dut.start_i.value = 1
    dut.offset_i.value, dut.length_i.value, dut.values_i.value = offset, len(data), values
    await FallingEdge(dut.clk_i)
    dut.start_i.value = 0
    descriptors, beats, sent, offered, rest = [], [], 0, False, 8
    page_out, body_out = Output(dut, "page_valid_o", "page_ready_i"), Output(dut, "body_valid_o", "body_ready_i")
    for cycle in range(400 + 60 * len(data)):
        dut.clr_i.value = int(cycle == give_up)
        offered = offered or (sent < len(memory) and chance.randrange(100) >= pauses)
        dut.beat_valid_i.value = int(offered)
        dut.beat_i.value = memory[sent] if offered else chance.getrandbits(BEAT * 8)
        dut.page_ready_i.value, dut.body_ready_i.value = (int(chance.randrange(100) >= stalls) for _ in range(2))
        await RisingEdge(dut.clk_i)
        over = give_up is not None and cycle > give_up
        if not over:
            if (descriptor := page_out.taken("page_o")) is not None:
                descriptors.append(fields(descriptor[0]))
            if (beat := body_out.taken("body_o")) is not None:
                beats.append(beat[0])
        else:
            assert not dut.page_valid_o.value and not dut.body_valid_o.value
        POINTS.hit("page waited", page_out.waits)
        POINTS.hit("body waited", body_out.waits)
        POINTS.hit("beat waited", sent < len(memory) and not offered)
        if dut.beat_valid_i.value and dut.beat_ready_o.value:
            sent, offered = sent + 1, False
        await FallingEdge(dut.clk_i)
        # A descriptor and a beat may still wait when all input is read.
        rest -= bool(dut.idle_o.value) and not dut.page_valid_o.value and not dut.body_valid_o.value
        if not rest:
            break
    else:
        raise AssertionError("does not end")
    assert sent == len(memory), "beats are left"
    return descriptors, beats, memory, int(dut.fault_o.value), int(dut.position_o.value)


@cocotb.test()
async def chunks_of_all_kinds(dut):
    await reset(dut, *INPUTS)
    snappy = bool(int(dut.Snappy.value))
    if snappy:
        POINTS.hits |= dict.fromkeys(COMPRESSED, 0)
    chance = random.Random(73)
    for index in range(60):
        data, values, pages, _ = chunk(chance, snappy)
        if not values:
            # With no values requested, nothing is read.
            POINTS.hit("no chunk")
            pages = []
        # After the last data page nothing is read either.
        while values and pages and pages[-1][0]["kind"] == DICTIONARY:
            pages.pop()
        more = chance.randbytes(chance.choice([0, 0, 5, 200]))
        POINTS.hit("bytes after", more)
        offset = chance.randrange(BEAT)
        pauses, stalls = chance.choice([(0, 0), (50, 0), (0, 50), (40, 70)])
        descriptors, beats, memory, fault, _ = await read(dut, chance, data + more, values, offset, pauses, stalls)
        want = [wanted(*one, offset, memory, snappy) for one in pages]
        assert not fault, (index, fault)
        assert descriptors == [descriptor for descriptor, _ in want], index
        assert beats == [beat for _, body in want for beat in body], index
        for (_, place, at, _, _), (after, *_) in zip(pages, want):
            POINTS.hit("header over beats", (offset + place) // BEAT != (offset + at - 1) // BEAT)
        POINTS.hit("shared beat", any((offset + at + len(stored)) % BEAT for _, _, at, stored, _ in pages[:-1]))


@cocotb.test()
async def what_is_malformed_ends(dut):
    await reset(dut, *INPUTS)
    snappy = bool(int(dut.Snappy.value))
    chance = random.Random(79)
    faults = {"cut in a header": HEADER, "cut in a page": PAGE, "ends early": COUNT, "sizes differ": PAGE, "levels beyond the page": PAGE}
    faults |= {"wide encoding": ENCODING, "repetition": LEVELS, "too many values": COUNT, "malformed header": HEADER}
    faults |= {"malformed block": SNAPPY} if snappy else {}
    for index in range(12 * len(faults)):
        wrong = list(faults)[index % len(faults)]
        data, values, pages, place = chunk(chance, snappy, wrong)
        if place is None:
            continue
        offset = chance.randrange(BEAT)
        descriptors, beats, memory, fault, position = await read(dut, chance, data, values, offset, chance.choice([0, 40]), chance.choice([0, 40]))
        want = [wanted(*one, offset, memory, snappy) for one in pages]
        if wrong in ("ends early", "malformed block"):
            # The descriptor of the last page was output.
            descriptors, beats = descriptors[: len(pages)], beats[: sum(len(body) for _, body in want)]
        assert (fault, position) == (faults[wrong], place), (wrong, fault, position, place)
        assert descriptors == [descriptor for descriptor, _ in want], wrong
        assert beats == [beat for _, body in want for beat in body], wrong
        POINTS.hit(f"{wrong} refused")
    for _ in range(30):
        data, values, _, _ = chunk(chance, snappy)
        await read(dut, chance, data, max(values, 1), chance.randrange(BEAT), 30, 30, chance.randrange(max(2, len(data) // 2)))
        POINTS.hit("given up")
    POINTS.end()
